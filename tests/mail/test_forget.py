"""Forgotten messages leave no words, weights or free pages in the file."""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np
import pytest

from suffice.mail import MailFilter
from suffice.mail.features import extract_features
from tests.mail.samples import message, stream

SECRET = message("secret", "kumquat kumquats lunch cheap")


@pytest.fixture
def mine(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mail:
        yield mail


def texts(path: Path, mail: MailFilter) -> bytes:
    """Return the content of a filter's files, raw and decompressed."""
    raw = b"".join(each.read_bytes() for each in path.parent.glob(path.name + "*"))
    store = mail.store()
    packed = [row[0] for table in ("names", "journal") for row in store.query(f"SELECT {COLUMN[table]} FROM {table}")]
    return raw + b"".join(zlib.decompress(each) for each in packed)


COLUMN = {"names": "data", "journal": "features"}


@pytest.mark.parametrize("folded", [False, True])
def test_words_of_forgotten_messages_only_are_deleted(mine, folded):
    mine.learn_all(stream(60))
    mine.learn(SECRET, "ham")
    if folded:
        mine.store().compact()
    assert b"kumquat" in texts(mine.path, mine)
    before = len(mine.store().state())
    assert mine.forget(SECRET)
    assert b"kumquat" not in texts(mine.path, mine)
    assert len(mine.store().state()) < before
    hashes = np.frombuffer(extract_features([SECRET]).hashes(0), np.uint64)
    kept = set(np.frombuffer(mine.store().state().columns()["hashes"], np.uint64).tolist())
    names = extract_features([SECRET]).tokens(0)
    assert {name for name, code in zip(names, hashes.tolist(), strict=True) if code not in kept} == {
        "kumquat",
        "kumquats",
        "message-id:secret@example.org",
    }


def test_a_filter_that_forgot_everything_equals_a_new_one(mine):
    pairs = stream(30)
    mine.learn_all(pairs)
    assert all(mine.forget_all(data for data, _ in pairs))
    assert not mine.forget(pairs[0][0])
    columns = mine.store().state().columns()
    assert len(columns["hashes"]) == 0
    assert not np.frombuffer(columns["gram_weights"], np.float32).any()
    assert mine.classify(SECRET).log_odds == 0
    assert mine.store().names() == b""


def test_weights_of_shared_words_stay(mine):
    mine.learn_all(stream(60))
    mine.learn(SECRET, "ham")
    assert mine.forget(SECRET)
    extracted = extract_features([message("x", "lunch")])
    place = extracted.tokens(0).index("lunch")
    assert mine.store().state().seen(extracted, 0)[2 * place] > 0

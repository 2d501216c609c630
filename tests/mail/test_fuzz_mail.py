"""Laws of feature extraction on random mail."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice import _native
from suffice.demo import mailbox as demo
from suffice.mail.features import extract_features
from suffice.mail.mailboxes import Message
from suffice.mail.mailboxes.streams import read_messages
from suffice.mail.message import identify_message
from tests.mail.hostile import HOSTILE, bad_mail, mails, mutated

DEMO = [each.data for which in ("ham", "spam") for each in read_messages([demo(which)]) if isinstance(each, Message)]
#: Header fields of mail programs and filters, which are not features.
IGNORED = [
    b"Status: RO",
    b"X-Status: A",
    b"X-Keywords: $Junk\n\tmore",
    b"X-UID: 17",
    b"X-Bogosity: Spam, tests=bogofilter, spamicity=1.000000",
    b"X-Suffice: spam; p=0.9980; log-odds=6.20",
    b"X-Suffice-Score: 1",
    b"X-Mozilla-Status: 0001",
    b"Content-Length: 17",
    b"Lines: 3",
]


def small() -> st.SearchStrategy[bytes]:
    """Return the small kinds of bad mail; a function, since it generates all kinds."""
    return st.sampled_from([raw for name in HOSTILE if len(raw := bad_mail(name)) < 20_000])


def sent() -> st.SearchStrategy[bytes]:
    """Return messages of all kinds, most of them damaged."""
    seeds = st.integers(0, 2**32).map(Random)
    return mails() | st.builds(mutated, mails() | st.deferred(small) | st.sampled_from(DEMO), seeds)


def known(raw: bytes) -> tuple[list[str], list[int], list[tuple[str, str]]]:
    """Return all features of a message."""
    found = extract_features([raw])
    return found.tokens(0), found.grams(0), found.trouble(0)


def check(raw: bytes) -> None:
    tokens, grams, trouble = known(raw)
    assert known(raw) == (tokens, grams, trouble)
    assert len(set(tokens)) == len(tokens) <= 8192
    assert len(set(grams)) == len(grams) <= 3500
    assert all(0 <= gram < 1 << 18 for gram in grams)
    assert not any(re.search(r"[\x00-\x20\x7f]", token) for token in tokens)
    assert all(tokens)
    assert {f"trouble:{what}" for what, _ in trouble} - {"trouble:tokens"} == {
        token for token in tokens if re.fullmatch(r"trouble:[a-z0-9_-]+", token)
    }
    packed = extract_features([raw]).packed(0)
    again = _native.mail.Letters.unpacked([packed])
    assert again.tokens(0) == tokens
    assert sorted(again.grams(0)) == sorted(grams)
    assert again.hashes(0) == extract_features([raw]).hashes(0)
    assert again.packed(0) == packed
    assert again.trouble(0) == []
    assert len(identify_message(raw)) == 16


@given(sent())
def test_feature_extraction_keeps_its_laws(raw):
    check(raw)


@pytest.mark.slow
@settings(max_examples=5000)
@given(sent())
def test_feature_extraction_keeps_its_laws_on_many_messages(raw):
    check(raw)


@given(sent(), st.lists(st.sampled_from(IGNORED), max_size=4))
def test_header_fields_of_mail_programs_are_not_features(raw, fields):
    raw = b"Subject: x\n" + raw
    more = b"".join(each + b"\n" for each in fields) + raw
    tokens, grams, trouble = known(raw)
    assert known(more) == (tokens, grams, trouble)


@given(st.lists(st.sampled_from(IGNORED), max_size=4), st.integers(0, len(DEMO) - 1))
def test_header_fields_of_mail_programs_at_the_end_are_not_features(fields, which):
    head, blank, body = DEMO[which].partition(b"\n\n")
    assert known(b"\n".join([head, *fields]) + blank + body) == known(DEMO[which])


@given(mails())
def test_line_ends_make_no_difference(raw):
    raw = b"Subject: x\n" + raw.replace(b"\r", b"")
    assert known(raw.replace(b"\n", b"\r\n")) == known(raw)


@given(sent(), st.integers(0, 100))
def test_an_mbox_separator_makes_no_difference(raw, day):
    raw = b"Subject: x\n" + raw
    assert known(b"From a@example.org day %d\n" % day + raw) == known(raw)


@given(st.lists(sent(), max_size=8))
def test_batches_have_the_features_of_single_messages(raw):
    together = extract_features(raw, threads=3)
    assert len(together) == len(raw)
    assert [(together.tokens(i), together.grams(i), together.trouble(i)) for i in range(len(raw))] == list(
        map(known, raw)
    )


@given(sent(), st.integers(0, 2**32))
def test_damaged_bytes_are_refused_or_are_a_message(raw, seed):
    damaged = mutated(extract_features([raw]).packed(0), Random(seed))
    state = _native.mail.State(2)
    try:
        found = _native.mail.Letters.unpacked([damaged])
    except ValueError:
        return
    assert all(0 <= gram < 1 << 18 for gram in found.grams(0))
    state.learn(found, 0, 1, 1.0, 1, 1)
    assert len(state.scores(found, 1)) == 1


@pytest.mark.parametrize("damaged", [b"", b"\x01", b"\x01a", b"\x00\x01", b"\xff" * 12, b"\x00\x01\xff\xff\xff\x7f"])
def test_invalid_packed_features_are_refused(damaged):
    with pytest.raises(ValueError, match="damaged"):
        _native.mail.Letters.unpacked([damaged])


@pytest.mark.parametrize("damaged", [b"\x01a\tb\n\x00", b"\x01a b\n\x00", b"\x01\n\x00", b"\x01a\n\x00 and more"])
def test_packed_features_that_cannot_occur_are_refused(damaged):
    with pytest.raises(ValueError, match="damaged"):
        _native.mail.Letters.unpacked([damaged])


@given(st.binary(max_size=60))
def test_any_bytes_are_accepted_as_mail(raw):
    check(raw)


@given(st.lists(sent(), min_size=1, max_size=6), st.lists(st.integers(0, 1), min_size=6, max_size=6))
def test_scores_are_finite_for_any_mail(raw, labels):
    found = extract_features(raw)
    state = _native.mail.State(2)
    state.learn_all(found, list(range(len(raw))), labels[: len(raw)], 1.0, 1)
    assert state.messages == [labels[: len(raw)].count(0), labels[: len(raw)].count(1)]
    scores = state.scores(found, 2)
    assert all(abs(score) < 1e6 for score in scores)
    for i in range(len(raw)):
        total, counts, tokens, grams = state.score(found, i)[0]
        assert total == scores[i]
        parts = [*state.contributions(found, i, 0), *(part for _, part in state.lines(found, i, raw[i], 0))]
        assert sum(parts) + state.intercept(found, i, 0) == pytest.approx(total, abs=1e-6)
        assert all(abs(number) < 1e6 for number in (counts, tokens, grams))

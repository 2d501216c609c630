"""The file of a filter: compaction, pruning, names, permissions, and damaged files."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import stat
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from suffice.mail import MailError, MailFilter
from suffice.mail.features import extract_features
from suffice.mail.health import diagnose
from suffice.mail.store import JOURNAL, Store
from tests.mail.samples import TOPICS, counted, filter_file, message, stream
from tests.rights import open_folder, without_rights

posix = pytest.mark.needs("posix")
SPAM = message("new", TOPICS["spam"])


@pytest.fixture
def mine(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mail:
        yield mail


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """The file of a filter with a base, names, a journal and messages."""
    return filter_file(tmp_path_factory.mktemp("whole"), 400, 20)


# Compaction and pruning


@pytest.mark.parametrize(
    "count", [JOURNAL - 1, JOURNAL, JOURNAL + 1, pytest.param(2 * JOURNAL, marks=pytest.mark.slow)]
)
def test_a_full_journal_is_compacted(mine, tmp_path, count):
    pairs = stream(count)
    for data, label in pairs:
        mine.learn(data, label)
    assert mine.store().query("SELECT COUNT(*) FROM journal") == [(count % JOURNAL,)]
    with MailFilter(tmp_path / "bulk.db") as bulk:
        bulk.learn_all(pairs)
        assert counted(mine.store()) == counted(bulk.store())


def test_compaction_changes_no_result(mine):
    for data, label in stream(60):
        mine.learn(data, label)
    with MailFilter(mine.path) as reader:
        reader.classify(SPAM)
        before = mine.store().state().columns()
        verdict = mine.classify(SPAM)
        mine.store().compact()
        for each in (mine, reader, MailFilter(mine.path)):
            assert each.store().state().columns() == before
            assert each.classify(SPAM) == verdict
            each.close()


def test_names_belong_to_tokens(mine):
    pairs = stream(JOURNAL + 30)
    for data, label in pairs:
        mine.learn(data, label)
    mine.store().compact()
    extracted = extract_features([data for data, _ in pairs])
    expected = {token for i in range(len(extracted)) for token in extracted.tokens(i)}
    names = mine.store().names().decode().splitlines()
    assert Counter(names) == Counter(expected)
    assert len(mine.store().state()) == len(expected)


def pruned(mail: MailFilter, most: int, count: int = 40) -> None:
    mail.store(create=True).put_setting("tokens", most)
    for i in range(count):
        mail.learn(message(i, " ".join(f"w{i}x{k}" for k in range(30)) + " lunch"), "ham")
    mail.store().compact()


def test_tokens_are_pruned_at_the_limit(mine):
    pruned(mine, 200)
    assert len(mine.store().state()) <= 200
    extracted = extract_features([message("x", "lunch w0x1")])
    seen = dict(zip(extracted.tokens(0), mine.store().state().seen(extracted, 0)[::2], strict=True))
    assert seen["lunch"] == 40
    assert seen["w0x1"] == 0


def test_the_size_of_the_file_is_bounded(mine):
    mine.store(create=True).put_setting("tokens", 1000)
    for part in range(4):
        mine.learn_all(
            (message(f"{part}.{i}", " ".join(f"p{part}w{i}x{k}" for k in range(100))), "ham") for i in range(300)
        )
    store = mine.store()
    assert len(store.state()) <= 1000
    names = store.names().splitlines()
    assert len(names) <= 2 * 1000 + 10_000
    assert store.get_setting("names") == len(names)
    assert store.state().known(b"header:subject\n") == b"header:subject\n"


def test_the_file_shrinks_after_pruning(mine):
    mine.learn_all((message(i, " ".join(f"w{i}x{k}" for k in range(100))), "ham") for i in range(200))
    store = mine.store()
    store.query("PRAGMA wal_checkpoint(TRUNCATE)")
    before = mine.path.stat().st_size
    store.put_setting("tokens", 100)
    store.compact()
    store.query("PRAGMA wal_checkpoint(TRUNCATE)")
    assert mine.path.stat().st_size < before - 500_000
    assert store.query("PRAGMA freelist_count") == [(0,)]


def test_a_token_learned_again_has_one_name(mine):
    pruned(mine, 200)
    known = set(mine.store().state().known(mine.store().names()).decode().splitlines())
    gone = next(word for word in (f"w{i}x1" for i in range(40)) if word not in known)
    for i in range(30):
        mine.learn(message(f"again{i}", gone), "ham")
    mine.store().compact()
    names = mine.store().state().known(mine.store().names()).decode().splitlines()
    assert names.count(gone) == 1


# Permissions


@posix
def test_only_its_owner_can_read_a_filter(tmp_path):
    before = os.umask(0)
    try:
        with MailFilter(tmp_path / "deep" / "er" / "mail.db") as mail:
            mail.learn(message(1), "ham")
            files = list((tmp_path / "deep" / "er").iterdir())
            assert len(files) == 3, "with SQLite's own notes beside it"
            assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
            assert stat.S_IMODE((tmp_path / "deep" / "er").stat().st_mode) == 0o700
    finally:
        os.umask(before)


def site(place: Path) -> Path:
    path = place / "site.db"
    with MailFilter(path) as mail:
        mail.learn_all(stream(300))
    path.chmod(0o644)
    return path


@posix
@pytest.mark.parametrize("folder", [0o555, 0o777])
def test_a_read_only_file_is_read(folder):
    with open_folder() as place:
        path = site(place)
        path.chmod(0o444)
        place.chmod(folder)
        with MailFilter(path) as mail:
            assert without_rights(lambda: mail.classify(SPAM).label) == "spam"
            assert without_rights(lambda: mail.mark(SPAM).label) == "spam"
            for work in (
                lambda: mail.learn(SPAM, "spam"),
                lambda: mail.learn_all([(SPAM, "spam")]),
                lambda: mail.forget(SPAM),
            ):
                with pytest.raises(MailError, match=r"site\.db cannot be written: check its permissions"):
                    without_rights(work)
            assert "wrong" in without_rights(lambda: [each.level for each in diagnose(mail)])


@posix
def test_read_only_users_see_changes_of_the_owner():
    with open_folder() as place:
        path = place / "site.db"
        with MailFilter(path) as owner:
            owner.learn_all(stream(300))
            for each in place.iterdir():
                each.chmod(0o644)
            place.chmod(0o555)
            with MailFilter(path) as reader:
                assert without_rights(lambda: reader.classify(SPAM).label) == "spam"
                assert without_rights(lambda: sum(reader.store().state().messages)) == 300


@posix
def test_a_read_only_folder_is_reported():
    with open_folder() as place:
        place.chmod(0o555)
        with pytest.raises(MailError, match=r"new\.db cannot be created: Permission denied"):
            without_rights(lambda: MailFilter(place / "new.db").learn(SPAM, "spam"))
        with pytest.raises(MailError, match=r"mail\.db cannot be created: Permission denied"):
            without_rights(lambda: MailFilter(place / "deep" / "mail.db").learn(SPAM, "spam"))


@posix
def test_an_unreadable_file_is_reported():
    with open_folder() as place:
        path = site(place)
        path.chmod(0o000)
        with pytest.raises(MailError, match=r"site\.db cannot be read: permission denied"):
            without_rights(lambda: MailFilter(path).classify(SPAM))


@contextmanager
def longest_file(size: int) -> Iterator[None]:
    """Limit the size of files, like a full disk."""
    import resource  # POSIX only

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@posix
def test_no_filter_is_created_on_a_full_disk(tmp_path):
    with longest_file(1000), pytest.raises(MailError, match=r"mail\.db cannot be created: "):
        MailFilter(tmp_path / "mail.db").learn(SPAM, "spam")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_learned_on_a_full_disk(mine):
    mine.learn_all(stream(20))
    before = counted(mine.store())
    mine.store().execute("PRAGMA max_page_count = 1")  # below the size of the file
    with pytest.raises(MailError, match=r"mail\.db cannot be written: the disk is full"):
        mine.learn_all(stream(2000, 1))
    assert counted(mine.store()) == before


def test_a_filter_is_created_on_a_file_system_without_hard_links(mine, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    mine.learn(SPAM, "spam")
    assert [path.name for path in mine.path.parent.glob("*mail.db")] == ["mail.db"]
    assert sum(mine.store().state().messages) == 1


# Files that are not filters


def other_database(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()


def no_tables(path: Path) -> None:
    other_database(path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE notes")
    connection.close()


def later_format(path: Path) -> None:
    Store(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()


STRANGE = {
    "empty": (lambda path: path.write_bytes(b""), "is empty, so it is not a filter: restore a copy, or remove"),
    "of no tables": (no_tables, "is not a filter of suffice"),
    "not a database": (lambda path: path.write_bytes(b"From: ann\n" * 900), "cannot be read as a filter"),
    "short": (lambda path: path.write_bytes(b"Subject: x\n"), "cannot be read as a filter"),
    "of another program": (other_database, "is not a filter of suffice: name another file"),
    "later format": (later_format, "was written by a later version of suffice .*: update suffice"),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_a_file_that_is_not_a_filter_is_refused_and_unchanged(tmp_path, kind):
    make, reason = STRANGE[kind]
    path = tmp_path / "mail.db"
    make(path)
    before = path.read_bytes()
    with MailFilter(path) as mail:
        with pytest.raises(MailError, match=reason) as refused:
            mail.classify(SPAM)
        assert str(path) in str(refused.value)
        with pytest.raises(MailError, match=reason):
            mail.learn(SPAM, "spam")
    assert path.read_bytes() == before
    with MailFilter(path) as mail:
        assert "wrong" in [each.level for each in diagnose(mail)]


def test_a_missing_filter_is_reported(tmp_path):
    for path in (tmp_path / "mail.db", tmp_path / "none" / "mail.db"):
        with MailFilter(path) as mail:
            for work in (mail.classify, mail.explain, mail.forget, mail.mark, mail.learned_as):
                with pytest.raises(
                    MailError, match=r"there is no filter at .*mail\.db: suffice mail learn creates one"
                ):
                    work(SPAM)
            assert not path.exists()


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(MailError, match=str(tmp_path)):
        MailFilter(tmp_path).classify(SPAM)


# Damage


def damaged(path: Path, data: bytes) -> MailFilter:
    for each in path.parent.glob(path.name + "*"):
        each.unlink()
    path.write_bytes(data)
    return MailFilter(path)


@pytest.mark.parametrize("share", [0.0001, 0.002, 0.01, 0.5, 0.99])
def test_a_truncated_file_is_reported(tmp_path, whole, share):
    with damaged(tmp_path / "mail.db", whole[: int(share * len(whole))]) as mail:
        with pytest.raises(MailError, match=str(mail.path)):
            mail.classify(SPAM)
        with pytest.raises(MailError, match=str(mail.path)):
            mail.learn(SPAM, "spam")
        assert "wrong" in [each.level for each in diagnose(mail)]


def complaint(mail: MailFilter) -> str:
    """Return the error message for a damaged file; None if there is none."""
    try:
        mail.learn(message("x"), "ham")
        mail.classify(SPAM)
    except MailError as error:
        return str(error)
    return ""


def test_a_damaged_page_is_reported_with_file_and_cure(tmp_path, whole):
    """Either the page was not needed, or the error names the file and the diagnosis finds the damage."""
    rng = random.Random(0)
    with damaged(tmp_path / "mail.db", whole) as sound:
        complaint(sound)
        expected = sound.store().state().columns()
    reported = 0
    pages = len(whole) // 4096
    for page in [0, 1, 2, 3, *rng.sample(range(4, pages), 25)]:
        data = whole[: page * 4096] + rng.randbytes(4096) + whole[(page + 1) * 4096 :]
        with damaged(tmp_path / "mail.db", data) as mail:
            said = complaint(mail)
            if said:
                reported += 1
                assert str(mail.path) in said
                assert "wrong" in [each.level for each in diagnose(mail)]
            else:
                assert mail.store().state().columns() == expected
    assert reported > 20


NAN = struct.pack("<3d", *[float("nan")] * 3)
INSIDE = {
    "a message in the journal": ("UPDATE journal SET features = x'00112233'",),
    "settings": ("UPDATE settings SET value = 'junk'",),
    "classes": ("DELETE FROM settings WHERE name = 'classes'",),
    "a table": ("DROP TABLE learned",),
    "a column": ("DELETE FROM base WHERE part = 'hashes'",),
    "a column cut": ("UPDATE base SET data = substr(data, 1, 40) WHERE part = 'counts'",),
    "numbers": ("UPDATE base SET data = ? || substr(data, 25) WHERE part = 'counts'", b"\xff" * 24),
    "mix": ("UPDATE base SET data = ? WHERE part = 'mix'", NAN),
}


@pytest.mark.parametrize("what", INSIDE)
def test_damaged_values_are_reported_with_file_and_cure(tmp_path, whole, what):
    with damaged(tmp_path / "mail.db", whole) as mail:
        mail.store().execute(*INSIDE[what])
    with damaged(tmp_path / "mail.db", (tmp_path / "mail.db").read_bytes()) as mail:
        assert str(mail.path) in complaint(mail)
        assert "wrong" in [each.level for each in diagnose(mail)]


@pytest.mark.parametrize("part", ["counts", "weights", "gram_weights", "hashes"])
def test_a_damaged_column_is_found(tmp_path, whole, part):
    with damaged(tmp_path / "mail.db", whole) as mail:
        column = mail.store().query("SELECT data FROM base WHERE part = ?", part)[0][0]
        at = next(i for i in range(len(column) // 2, len(column)) if column[i])
        noisy = column[:at] + bytes([column[at] ^ 1]) + column[at + 1 :]  # the last bit of a number
        mail.store().execute("UPDATE base SET data = ? WHERE part = ?", noisy, part)
    with damaged(tmp_path / "mail.db", (tmp_path / "mail.db").read_bytes()) as mail:
        assert str(mail.path) in complaint(mail)
        assert "wrong" in [each.level for each in diagnose(mail)]

"""The ledger of a sorted Maildir in a filter's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from suffice.mail import MailFilter
from suffice.mail.ledger import StoredLedger
from suffice.mail.message import identify_message
from suffice.mail.sorter import INBOX, FilterJudge
from tests.mail.samples import TOPICS, counted, message, stream

ONE, TWO = identify_message(message(1)).hex(), identify_message(message(2)).hex()


@pytest.fixture
def mine(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mail:
        yield mail


@pytest.fixture
def ledger(mine, tmp_path):
    return StoredLedger(mine, tmp_path / "box")


def test_the_folder_of_a_message_is_stored(mine, ledger, tmp_path):
    assert ledger.folder_of(ONE) is None
    ledger.set_folder(ONE, INBOX)
    ledger.set_folder(ONE, "Junk")
    ledger.set_folder(TWO, "\tJunk")
    ledger.flush()
    with MailFilter(mine.path) as other:
        again = StoredLedger(other, tmp_path / "box")
        assert (again.folder_of(ONE), again.folder_of(TWO)) == ("Junk", "\tJunk")
        again.set_folder(ONE, "")
    assert ledger.folder_of(ONE) is None


def test_each_mailbox_has_its_own_ledger(mine, ledger, tmp_path):
    other = StoredLedger(mine, tmp_path / "another")
    ledger.set_folder(ONE, "Junk")
    ledger.add_file("Junk", "key", ONE)
    assert other.folder_of(ONE) is None
    assert other.known_files("Junk") == {}


def test_the_ledger_does_not_depend_on_the_spelling_of_the_path(mine, tmp_path, monkeypatch):
    (tmp_path / "box").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "box")
    monkeypatch.chdir(tmp_path)
    StoredLedger(mine, Path("box")).set_folder(ONE, "Junk")
    for name in (tmp_path / "box", tmp_path / "link", Path("link"), Path("box", "..", "box")):
        assert StoredLedger(mine, name).folder_of(ONE) == "Junk"


def test_files_are_added_and_removed(ledger):
    ledger.add_file(INBOX, "", "")
    ledger.add_file(INBOX, "a", ONE)
    ledger.add_file(INBOX, "b", TWO)
    ledger.add_file("Junk", "a", TWO)
    ledger.add_file(INBOX, "a", TWO)
    assert ledger.known_files(INBOX) == {"": "", "a": TWO, "b": TWO}
    ledger.remove_files(INBOX, ["a", "none"])
    assert ledger.known_files(INBOX) == {"": "", "b": TWO}
    assert ledger.known_files("Junk") == {"a": TWO}


def test_marked_spam_is_known_to_the_ledger(mine, ledger):
    mine.learn_all(stream(300))
    spam, ham = message("s", TOPICS["spam"]), message("h", TOPICS["ham"])
    assert not ledger.was_marked(identify_message(spam).hex())
    assert [mine.mark(data).label for data in (spam, ham)] == ["spam", "ham"]
    assert ledger.was_marked(identify_message(spam).hex())
    assert not ledger.was_marked(identify_message(ham).hex())
    assert ledger.folder_of(identify_message(spam).hex()) is None


def test_filter_judge_judges_and_learns(mine):
    mine.learn_all(stream(300))
    judge = FilterJudge(mine)
    spam = message("s", TOPICS["spam"])
    label, probability = judge.verdict(spam)
    assert (label, probability) == ("spam", mine.classify(spam).probability)
    assert judge.identity(spam) == judge.identity(b"Received: x\r\n" + spam.replace(b"\n", b"\r\n"))
    before = counted(mine.store())
    assert judge.learn(spam, "ham")
    assert mine.learned_as(spam) == "ham"
    judge.learn(spam, "ham")
    mine.forget(spam)
    assert counted(mine.store()) == before

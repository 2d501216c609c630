"""What a filter's file knows of a Maildir's messages, as sorting needs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from suffice.mail import MailFilter
from suffice.mail.filing import INBOX
from suffice.mail.identity import identity
from suffice.mail.ledger import FilterJudge, StoredLedger
from tests.mail.samples import TOPICS, counted, message, stream

ONE, TWO = identity(message(1)).hex(), identity(message(2)).hex()


@pytest.fixture
def mine(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mail:
        yield mail


@pytest.fixture
def ledger(mine, tmp_path):
    return StoredLedger(mine, tmp_path / "box")


def test_where_a_message_was_put_is_known_to_the_next_process(mine, ledger, tmp_path):
    assert ledger.filed(ONE) is None
    ledger.file(ONE, INBOX)
    ledger.file(ONE, "Junk")
    ledger.file(TWO, "\tJunk")
    ledger.flush()
    with MailFilter(mine.path) as other:
        again = StoredLedger(other, tmp_path / "box")
        assert (again.filed(ONE), again.filed(TWO)) == ("Junk", "\tJunk")
        again.file(ONE, "")
    assert ledger.filed(ONE) is None


def test_every_mailbox_has_its_own(mine, ledger, tmp_path):
    other = StoredLedger(mine, tmp_path / "another")
    ledger.file(ONE, "Junk")
    ledger.settle("Junk", "key", ONE)
    assert other.filed(ONE) is None
    assert other.settled("Junk") == {}


def test_a_mailbox_is_the_same_whatever_way_it_is_named(mine, tmp_path, monkeypatch):
    (tmp_path / "box").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "box")
    monkeypatch.chdir(tmp_path)
    StoredLedger(mine, Path("box")).file(ONE, "Junk")
    for name in (tmp_path / "box", tmp_path / "link", Path("link"), Path("box", "..", "box")):
        assert StoredLedger(mine, name).filed(ONE) == "Junk"


def test_files_are_settled_and_unsettled(ledger):
    ledger.settle(INBOX, "", "")
    ledger.settle(INBOX, "a", ONE)
    ledger.settle(INBOX, "b", TWO)
    ledger.settle("Junk", "a", TWO)
    ledger.settle(INBOX, "a", TWO)
    assert ledger.settled(INBOX) == {"": "", "a": TWO, "b": TWO}
    ledger.unsettle(INBOX, ["a", "none"])
    assert ledger.settled(INBOX) == {"": "", "b": TWO}
    assert ledger.settled("Junk") == {"a": TWO}


def test_what_was_marked_on_its_way_is_known(mine, ledger):
    mine.learn_all(stream(300))
    spam, ham = message("s", TOPICS["spam"]), message("h", TOPICS["ham"])
    assert not ledger.marked(identity(spam).hex())
    assert [mine.mark(data).label for data in (spam, ham)] == ["spam", "ham"]
    assert ledger.marked(identity(spam).hex())
    assert not ledger.marked(identity(ham).hex())
    assert ledger.filed(identity(spam).hex()) is None


def test_a_filter_as_a_judge(mine):
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

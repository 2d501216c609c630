"""suffice mail begin: the first training of a filter, on a Maildir with unsorted spam in its inbox."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

import pytest

from suffice.mail import MailFilter
from suffice.mail.mailboxes.maildir import Maildir
from tests.cli.command import done, refused
from tests.mail.samples import TOPICS, message

pytestmark = pytest.mark.needs("posix")
_NUMBERS = itertools.count()


def deliver(box: Maildir, label: str, names: Iterable[int], flags: str = "S") -> None:
    for name in names:
        file = box.path / "cur" / f"{next(_NUMBERS):06}.host:2,{flags}"
        file.write_bytes(message(f"{label}{name}", TOPICS[label]))


@pytest.fixture
def box(tmp_path: Path) -> Maildir:
    """An inbox with 40 messages of spam and 10 answered ones, a spam folder and an archive of two years."""
    box = Maildir(tmp_path / "Maildir", create=True)
    deliver(box, "spam", range(40))
    deliver(box, "ham", range(10), "RS")
    deliver(box, "ham", range(10, 15), "FS")
    deliver(box, "ham", range(100, 120))
    deliver(box.folder("Junk"), "spam", range(100, 160))
    deliver(box.folder("Archives.2025"), "ham", range(200, 210))
    deliver(box.folder("Archives.2026"), "ham", range(210, 220))
    return box


def test_the_inbox_is_not_learned_and_its_spam_is_moved(box: Maildir, tmp_path: Path) -> None:
    mine = tmp_path / "mail.db"
    deliver(box.folder("Friends"), "ham", range(300, 303), "R")
    deliver(box.folder("Friends"), "work", range(3))
    deliver(box.folder("Trash"), "work", range(10, 13), "F")
    ran = done("mail", "begin", box.path, "--filter", mine)
    assert ran.lines[:-1] == [
        "spam      60  Junk, all",
        "ham       15  INBOX, answered or flagged",
        "ham       10  Archives.2025, all",
        "ham       10  Archives.2026, all",
        "ham        3  Friends, answered or flagged",
    ]
    assert sorted(ran.lines[-1].removeprefix("learned ").split(", ")) == ["38 ham", "60 spam"]
    assert ran.err.splitlines()[-1].endswith(f"suffice mail sort {box.path} --dry-run")
    found = done("mail", "sort", box.path, "--json", "--filter", mine).json
    assert (len(found["moved"]), found["kept"]) == (40, 35)


def test_folders_beside_the_inbox_are_used(box: Maildir, tmp_path: Path) -> None:
    for name in ("Junk", "Archives.2025", "Archives.2026"):
        folder = box.folder(name)
        folder.path.rename(tmp_path / name)
    words = ("--spam-folder", "../Junk", "--dry-run", "--json", "--filter", tmp_path / "mail.db")
    found = done("mail", "begin", box.path, *words).json["examples"]
    assert [(each["folder"], each["messages"]) for each in found] == [
        (str(tmp_path / "Junk"), 60),
        ("INBOX", 15),
        (str(tmp_path / "Archives.2025"), 10),
        (str(tmp_path / "Archives.2026"), 10),
    ]


def test_sent_mail_is_learned_beside_as_much_received_ham(box: Maildir, tmp_path: Path) -> None:
    words = ("mail", "begin", box.path, "--dry-run", "--filter", tmp_path / "mail.db")
    deliver(box.folder("Sent"), "ham", range(400, 480))
    assert {"class": "ham", "folder": "Sent", "which": "all", "messages": 35} in done(*words, "--json").json["examples"]
    for folder in ("Archives.2025", "Archives.2026"):
        for entry in box.folder(folder).entries():
            Path(entry.path).unlink()
    assert "there are 15 messages of received ham, but 20 are needed" in refused(*words, "-q", code=3)
    assert not (tmp_path / "mail.db").exists()


def test_the_latest_messages_are_learned_and_neither_class_prevails(box: Maildir, tmp_path: Path) -> None:
    for entry in box.folder("Junk").entries()[20:]:
        Path(entry.path).unlink()
    deliver(box.folder("Archive"), "ham", range(1000, 1300))
    done("mail", "begin", box.path, "--yes", "-q", "--filter", tmp_path / "mail.db")
    with MailFilter(tmp_path / "mail.db") as mail:
        assert mail.store().verdict_inputs().counts == {"ham": 200, "spam": 20}
        learned = [mail.learned_as(message(f"ham{name}", TOPICS["ham"])) for name in (1, 1000, 1299)]
    assert learned == ["ham", None, "ham"]


def test_a_mailbox_without_enough_spam_is_refused(box: Maildir, tmp_path: Path) -> None:
    words = ("mail", "begin", box.path, "-q", "--filter", tmp_path / "mail.db")
    assert "name the folder of spam with --spam-folder" in refused(*words, "--spam-folder", "Spam", code=3)
    for entry in box.folder("Junk").entries()[19:]:
        Path(entry.path).unlink()
    assert "there are 19 messages of spam, but 20 are needed" in refused(*words, code=3)

"""suffice mail begin on a Dovecot server: the first training by flags and folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from suffice.mail import MailFilter
from tests.cli.command import done, refused
from tests.mail.imap.dovecot import SPECIAL, User
from tests.mail.imap.test_sort import ham, sort, spam, work

pytestmark = pytest.mark.needs("imap")


def append(user: User, folder: str, messages: list[bytes], *flags: bytes) -> None:
    with user.client() as client:
        if not client.folder_exists(folder):
            client.create_folder(folder)
        for data in messages:
            client.append(folder, data, flags)


def test_ham_is_found_by_flags_and_folders(ann: User, tmp_path: Path) -> None:
    ann.deliver(*map(spam, range(12)), *map(work, range(3)))
    append(ann, "INBOX", list(map(ham, range(12))), rb"\Seen", rb"\Answered")
    append(ann, "INBOX", [ham("flagged")], rb"\Flagged")
    append(ann, "INBOX", [work("deleted")], rb"\Answered", rb"\Deleted")
    ann.deliver(*map(spam, range(100, 125)), folder=SPECIAL)
    ann.deliver(*map(ham, range(200, 210)), folder="Archives.2026")
    ann.deliver(*map(ham, range(300, 340)), folder="Sent Items")
    append(ann, "Trash", [work("trashed")], rb"\Answered")
    append(ann, "Friends", [ham("friend")], rb"\Answered")
    mine = tmp_path / "mail.db"
    words = ("mail", "begin", ann.address(), "--filter", mine, *ann.options)
    found = done(*words, "--json").json
    assert {(each["class"], each["folder"], each["messages"]) for each in found["examples"]} == {
        ("spam", SPECIAL, 25),
        ("ham", "INBOX", 13),
        ("ham", "Archives.2026", 10),
        ("ham", "Friends", 1),
        ("ham", "Sent Items", 24),
    }
    assert found["classes"] == {"spam": 25, "ham": 48}
    with MailFilter(mine) as mail:
        assert mail.learned_as(ham("flagged")) == "ham"
        assert mail.learned_as(spam(1)) is None
    assert len(sort(ann, mine, "--yes")["moved"]) == 12


def test_a_mailbox_without_a_spam_folder_is_refused(ann: User, tmp_path: Path) -> None:
    words = ("mail", "begin", ann.address(), "--filter", tmp_path / "mail.db", *ann.options)
    assert "name the folder of spam with --spam-folder" in refused(*words, code=3)

"""suffice mail sort on a Dovecot server: moves, learning from moves, state, undo, the first run."""

from __future__ import annotations

import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from imaplib import IMAP4
from pathlib import Path
from typing import Any

import keyring
import keyring.backend
import pytest
from imapclient import IMAPClient
from imapclient.exceptions import IMAPClientError

from suffice.mail import MailFilter
from suffice.mail.imap import connection, folders
from suffice.mail.imap.address import ImapAddress
from suffice.mail.imap.errors import LoginError
from tests.cli.command import done, refused, suffice
from tests.mail.imap.dovecot import PASSWORD, SPECIAL, User
from tests.mail.recipes import terminal
from tests.mail.samples import TOPICS, message, stream

pytestmark = pytest.mark.needs("imap")
#: Extensions of servers with MOVE; without it; and with neither MOVE nor UIDPLUS.
FULL, NO_MOVE, PLAIN = ("UIDPLUS", "MOVE", "IDLE"), ("UIDPLUS",), ("NOTHING",)


def spam(name: object) -> bytes:
    return message(f"spam{name}", TOPICS["spam"])


def ham(name: object) -> bytes:
    return message(f"ham{name}", TOPICS["ham"])


def work(name: object) -> bytes:
    return message(f"work{name}", TOPICS["work"])


def sort(user: User, mine: Path, *words: object, folder: str = "INBOX") -> dict[str, Any]:
    address = user.address(folder)
    found: dict[str, Any] = done("mail", "sort", address, "--json", "--filter", mine, *user.options, *words).json
    return found


@pytest.mark.parametrize("extensions", [FULL, NO_MOVE, PLAIN], ids=["move", "no move", "no uidplus"])
def test_spam_is_moved_and_nothing_is_lost(
    new_user: Callable[..., User], mine: Path, extensions: tuple[str, ...]
) -> None:
    user = new_user(*extensions)
    user.deliver(*map(spam, range(4)), *map(ham, range(4)))
    dry = sort(user, mine, "--dry-run")
    assert (len(dry["moved"]), dry["kept"]) == (4, 4)
    assert len(user.texts()) == 8
    found = sort(user, mine)
    assert (len(found["moved"]), found["kept"], found["learned"], found["failed"]) == (4, 4, [], 0)
    assert user.texts("Junk") == sorted(map(spam, range(4)))
    assert user.texts("INBOX", "UNDELETED") == sorted(map(ham, range(4)))
    assert len(user.texts("INBOX")) == (8 if extensions == PLAIN else 4)
    again = sort(user, mine)
    assert (again["moved"], again["kept"], again["learned"]) == ([], 0, [])


def test_a_server_that_cannot_expunge_single_messages_is_explained(new_user: Callable[..., User], mine: Path) -> None:
    user = new_user(*PLAIN)
    user.deliver(spam(1))
    ran = suffice("mail", "sort", user.address(), "--filter", mine, *user.options)
    assert ran.code == 0
    assert "marked as deleted" in ran.err


def test_deletions_of_others_are_not_expunged(new_user: Callable[..., User], mine: Path) -> None:
    user = new_user(*NO_MOVE)
    user.deliver(ham(1), spam(1))
    with user.client() as client:
        client.select_folder("INBOX")
        client.add_flags([1], [rb"\Deleted"])
    sort(user, mine)
    assert user.texts("INBOX", "DELETED") == [ham(1)]
    assert user.texts("Junk") == [spam(1)]


@pytest.mark.parametrize("extensions", [FULL, PLAIN], ids=["full", "no uidplus"])
def test_moves_of_the_user_are_learned(new_user: Callable[..., User], mine: Path, extensions: tuple[str, ...]) -> None:
    user = new_user(*extensions)
    user.deliver(spam(1), spam(2), spam(3), ham(1), ham(2))
    sort(user, mine)
    user.move(spam(1), "Junk", "INBOX")
    user.move(spam(2), "Junk", "Friends")
    user.move(spam(3), "Junk", "Trash")
    user.move(ham(1), "INBOX", "Junk", expunge=False)
    learned = sort(user, mine)["learned"]
    assert sorted((each["where"].partition(";")[0], each["class"]) for each in learned) == [
        ("Friends", "ham"),
        ("INBOX", "ham"),
        ("Junk", "spam"),
    ]
    with MailFilter(mine) as mail:
        assert [mail.learned_as(each) for each in (spam(1), spam(2), spam(3), ham(1))] == ["ham", "ham", None, "spam"]
    assert sort(user, mine)["learned"] == []
    assert user.texts("INBOX", "UNDELETED") == sorted([spam(1), ham(2)])


@pytest.mark.parametrize("extensions", [FULL, PLAIN], ids=["full", "no uidplus"])
def test_a_message_that_the_user_moves_again_and_again_is_learned_each_time(
    new_user: Callable[..., User], mine: Path, extensions: tuple[str, ...]
) -> None:
    user = new_user(*extensions)
    user.deliver(spam(1), ham(1))
    sort(user, mine)
    assert sort(user, mine, "--undo", "LAST")["restored"] == 1
    assert sort(user, mine)["learned"] == []
    for source, target, label in (("INBOX", "Junk", "spam"), ("Junk", "INBOX", "ham"), ("INBOX", "Junk", "spam")):
        user.move(spam(1), source, target)
        assert [each["class"] for each in sort(user, mine)["learned"]] == [label]
    assert user.texts("Junk", "UNDELETED") == [spam(1)]


def test_messages_of_other_classes_and_unsure_ones_have_folders(ann: User, mine: Path) -> None:
    ann.deliver(spam(1), work(1), ham(1), message("odd", "nothing of note"))
    found = sort(ann, mine, "--folder", "work", "Büro/Пример", "--unsure-folder", "Unklar & so")
    assert sorted(each["folder"] for each in found["moved"]) == ["Büro.Пример", "Junk", "Unklar & so"]
    assert ann.texts("Büro.Пример") == [work(1)]
    assert ann.texts() == [ham(1)]
    assert sort(ann, mine, "--folder", "work", "Büro/Пример", "--unsure-folder", "Unklar & so")["moved"] == []


def test_the_servers_folder_of_spam_is_used(ann: User, mine: Path) -> None:
    ann.deliver(spam(0), folder=SPECIAL)
    ann.deliver(spam(1))
    assert [each["folder"] for each in sort(ann, mine)["moved"]] == [SPECIAL]
    assert ann.texts(SPECIAL) == [spam(0), spam(1)]


def validity(user: User, folder: str) -> int:
    with user.client() as client:
        return int(client.select_folder(folder)[b"UIDVALIDITY"])


def renumber(user: User, *folders: str) -> None:
    """Delete the server's lists of folders; new ones have another UIDVALIDITY, which is the time in seconds."""
    before = {folder: validity(user, folder) for folder in folders}
    time.sleep(1.1)
    box = user.server.place / "mail" / user.name
    for name in box.rglob("dovecot*"):
        name.unlink()
    assert all(validity(user, folder) != number for folder, number in before.items())


def test_a_renumbered_folder_is_neither_judged_nor_learned_again(ann: User, mine: Path) -> None:
    ann.deliver(spam(1), ham(1), ham(2))
    sort(ann, mine)
    ann.move(ham(2), "INBOX", "Junk")
    renumber(ann, "INBOX", "Junk")
    ann.deliver(spam(1))  # again: it did not come from the spam folder
    found = sort(ann, mine)
    assert (len(found["moved"]), found["kept"]) == (1, 0)
    assert [each["class"] for each in found["learned"]] == ["spam"]


def test_a_dry_run_does_not_record_the_new_numbers_of_a_folder(ann: User, mine: Path) -> None:
    ann.deliver(spam(1), ham(1))
    sort(ann, mine)
    renumber(ann, "INBOX", "Junk")
    before = settled(mine)
    found = sort(ann, mine, "--dry-run")
    assert (found["moved"], found["learned"], found["kept"]) == ([], [], 0)
    assert settled(mine) == before


def settled(mine: Path) -> list[tuple[object, ...]]:
    with MailFilter(mine) as mail:
        return [row for table in ("settled", "filed") for row in mail.store().query(f"SELECT * FROM {table}")]


@pytest.mark.parametrize("is_new_one_there", [False, True], ids=["missing", "created anew"])
def test_messages_of_a_spam_folder_that_was_renamed_are_not_learned(
    ann: User, mine: Path, is_new_one_there: bool
) -> None:
    ann.deliver(spam(1), spam(2), ham(1))
    sort(ann, mine)
    with ann.client() as client:
        client.rename_folder("Junk", "Old advertisements")
        if is_new_one_there:
            client.create_folder("Junk")
    ann.deliver(spam(3))
    for _ in range(2):
        assert sort(ann, mine)["learned"] == []
    assert ann.texts("Junk") == [spam(3)]
    ann.move(spam(3), "Junk", "Friends")
    assert [each["class"] for each in sort(ann, mine)["learned"]] == ["ham"]


def test_two_sorted_folders_do_not_learn_what_the_other_moved(ann: User, mine: Path) -> None:
    for folder in ("INBOX", "Lists"):
        ann.deliver(ham(f"in {folder}"), folder=folder)
        sort(ann, mine, folder=folder)
    ann.deliver(spam(1), spam(2), folder="Lists")
    assert len(sort(ann, mine, folder="Lists")["moved"]) == 2
    assert sort(ann, mine)["learned"] == []
    ann.deliver(spam(3), folder="Junk")  # from another program
    for folder in ("INBOX", "Lists"):
        assert [each["class"] for each in sort(ann, mine, folder=folder)["learned"]] == ["spam"] * (folder == "INBOX")
    with ann.client() as client:
        client.select_folder("Junk")
        client.add_flags(client.search(), [rb"\Seen"])
    for name, target in ((1, "INBOX"), (2, "Lists")):
        ann.move(spam(name), "Junk", target)
    for folder in ("INBOX", "Lists"):
        found = sort(ann, mine, folder=folder)
        assert (found["moved"], {each["class"] for each in found["learned"]} <= {"ham"}) == ([], True)
    with MailFilter(mine) as mail:
        assert [mail.learned_as(spam(name)) for name in (1, 2)] == ["ham", "ham"]


@contextmanager
def read_only(user: User, folder: str) -> Iterator[None]:
    """Take the right to change a folder from a server."""
    place = user.server.place / "mail" / user.name / ("" if folder == "INBOX" else f".{folder}")
    places = [place / "cur", place / "new", place / "tmp", place]
    for each in places:
        each.chmod(0o555)
    try:
        yield
    finally:
        for each in places:
            each.chmod(0o755)


@pytest.mark.parametrize("extensions", [FULL, NO_MOVE, PLAIN], ids=["move", "no move", "no uidplus"])
def test_spam_stays_in_a_folder_that_may_not_be_changed(
    new_user: Callable[..., User], mine: Path, extensions: tuple[str, ...]
) -> None:
    user = new_user(*extensions)
    user.deliver(spam(1), ham(1))
    user.deliver(spam(0), folder="Junk")
    for folder in ("INBOX", "Junk"):
        with read_only(user, folder):
            ran = suffice("mail", "sort", user.address(), "--filter", mine, *user.options)
        assert ran.code == 3
        assert "1 messages could not be moved" in ran.err
        assert ("permits no changes" in ran.err) == (folder == "INBOX")
        assert (user.texts(), user.texts("Junk")) == ([ham(1), spam(1)], [spam(0)])
    assert len(sort(user, mine)["moved"]) == 1


def test_other_folders_that_may_not_be_changed_are_read(ann: User, mine: Path, tmp_path: Path) -> None:
    ann.deliver(spam(1), ham(1))
    sort(ann, mine)
    ann.deliver(*map(ham, range(5, 9)), folder="Shared")
    ann.move(spam(1), "Junk", "Shared")
    with read_only(ann, "Shared"):
        found = sort(ann, mine)
        assert ([each["class"] for each in found["learned"]], found["skipped"]) == (["ham"], [])
        words = ("mail", "learn", "--ham", ann.address("Shared"), "--filter", tmp_path / "new.db")
        assert done(*words, *ann.options).out == "learned 5 ham\n"


def test_messages_stay_unread_and_recent_for_mail_programs(ann: User, mine: Path) -> None:
    ann.deliver(ham(1), ham(2))
    sort(ann, mine)
    with ann.client() as client:
        client.select_folder("INBOX")
        flags = [each[b"FLAGS"] for each in client.fetch(client.search(), ["FLAGS"]).values()]
    assert flags == [(rb"\Recent",)] * 2


@pytest.mark.parametrize("extensions", [FULL, NO_MOVE, PLAIN], ids=["move", "no move", "no uidplus"])
def test_flags_keywords_and_dates_are_kept(
    new_user: Callable[..., User], mine: Path, extensions: tuple[str, ...]
) -> None:
    user, date = new_user(*extensions), datetime(2001, 2, 3, 4, 5, 6)
    given = [(spam(1), (rb"\Flagged", b"$label1")), (spam(2), (rb"\Seen", rb"\Answered"))]
    with user.client() as client:
        for data, flags in given:
            client.append("INBOX", data.replace(b"\n", b"\r\n"), flags, date)
    sort(user, mine)
    with user.client() as client:
        client.select_folder("Junk")
        found = client.fetch(client.search(), ["FLAGS", "INTERNALDATE"]).values()
    assert [set(each[b"FLAGS"]) - {rb"\Recent"} for each in found] == [set(flags) for _, flags in given]
    assert [each[b"INTERNALDATE"] for each in found] == [date, date]


def test_undo_moves_back_what_the_last_run_moved(ann: User, mine: Path) -> None:
    ann.deliver(spam(1), spam(2))
    sort(ann, mine)
    ann.deliver(spam(3), spam(4), ham(1))
    assert sort(ann, mine)["run"] == 2
    ann.move(spam(4), "Junk", "Trash")
    assert sort(ann, mine, "--undo", "LAST") == {"run": 2, "restored": 1, "missing": 1, "failed": []}
    assert ann.texts() == sorted([spam(3), ham(1)])
    found = sort(ann, mine)
    assert (found["moved"], found["learned"]) == ([], [])
    assert sort(ann, mine, "--undo", "1")["restored"] == 2
    assert "nothing to undo" in refused(
        "mail", "sort", ann.address(), "--undo", "LAST", "--filter", mine, *ann.options, code=3
    )


@pytest.mark.parametrize("extensions", [("MOVE",), PLAIN], ids=["move", "no uidplus"])
def test_undo_finds_messages_without_their_uids(
    new_user: Callable[..., User], mine: Path, extensions: tuple[str, ...]
) -> None:
    user = new_user(*extensions)
    given = [spam(1), spam(2), spam(2)]
    user.deliver(*given)
    sort(user, mine)
    assert sort(user, mine, "--undo", "LAST")["restored"] == 3
    assert user.texts("Junk", "UNDELETED") == []
    assert user.texts("INBOX", "UNDELETED") == given


def test_the_first_run_asks_before_it_moves_more_than_ten(ann: User, mine: Path) -> None:
    ann.deliver(*map(spam, range(11)), ham(1))
    ann.deliver(*map(ham, range(5, 9)), folder="Junk")
    words = ("mail", "sort", ann.address(), "--filter", mine, *ann.options)
    before = settled(mine)
    dry = done(*words, "--dry-run")
    assert "11 would be moved, 1 kept" in dry.out
    assert dry.err.startswith("without --yes, the run asks before it moves 11 messages")
    for strangers in ((), ("--learn-strangers",)):
        ran = suffice(*words, *strangers)
        assert (ran.code, ran.raw) == (3, b"")
        assert "the run would move 11 messages, and nothing was moved" in ran.err
        *moves, _ = ran.err.splitlines()
        assert len(moves) == 11
        assert all(re.fullmatch(r"would be moved to Junk \(p=0\.\d+\)  note", line) for line in moves)
        assert len(ann.texts()) == 12
        assert settled(mine) == before
    assert sort(ann, mine, "--yes", "--dry-run")["kept"] == 1
    assert len(sort(ann, mine, "--yes")["moved"]) == 11
    ann.deliver(*map(spam, range(20, 31)))
    assert len(sort(ann, mine)["moved"]) == 11


def test_again_asks_and_judges_what_was_judged_before(ann: User, mine: Path, tmp_path: Path) -> None:
    young = tmp_path / "young.db"
    with MailFilter(young) as mail:
        mail.learn_all((each(number), label) for number in range(30) for each, label in ((ham, "ham"), (work, "work")))
    ann.deliver(*map(spam, range(11)), ham("new"))
    assert sort(ann, young, "--force")["kept"] == 12
    with MailFilter(young) as mail:
        mail.learn_all(stream(300, classes=("ham", "spam", "work")))
    assert sort(ann, young)["moved"] == []
    words = ("mail", "sort", ann.address(), "--again", "--filter", young, *ann.options)
    assert "the run would move 11 messages" in suffice(*words).err
    found = done(*words, "--json", "--yes").json
    assert (len(found["moved"]), found["kept"]) == (11, 1)
    found = sort(ann, young)
    assert (found["moved"], found["learned"], found["kept"]) == ([], [], 0)


@pytest.mark.needs("posix")
@pytest.mark.parametrize(("answer", "count"), [("n", 0), ("y", 11)])
def test_the_question_of_the_first_run_is_shown_on_a_terminal(ann: User, mine: Path, answer: str, count: int) -> None:
    ann.deliver(*map(spam, range(11)), ham(1))
    command = [sys.executable, "-m", "suffice", "mail", "sort", ann.address(), "--filter", str(mine), *ann.options]
    question = "Nothing was moved yet. Move 11 messages? [y/N]: "
    written = terminal.run(command, dict(os.environ), answers={question: f"{answer}\n"})
    after = written.partition(question)[2]
    assert re.match(rf"{answer}\s", after)  # nothing overwrites it
    assert ("nothing was moved" if answer == "n" else "11 moved, 1 kept") in after
    assert len(ann.texts("Junk")) == count


def test_a_folder_other_than_the_inbox_is_sorted(ann: User, mine: Path) -> None:
    ann.deliver(spam(1), folder="Lists")
    ann.deliver(spam(2))
    assert len(sort(ann, mine, folder="Lists")["moved"]) == 1
    assert ann.texts("Junk") == [spam(1)]
    assert ann.texts() == [spam(2)]
    ann.move(spam(1), "Junk", "INBOX")
    assert [each["class"] for each in sort(ann, mine, folder="Lists")["learned"]] == ["ham"]


def test_a_folder_is_learned(ann: User, mine: Path) -> None:
    ann.deliver(*map(ham, range(30)), folder="Grüße")
    place = ann.address("Gr%C3%BC%C3%9Fe")
    assert done("mail", "learn", place, "--ham", "--filter", mine, *ann.options).out == "learned 30 ham\n"
    assert done("mail", "learn", "--ham", place, "--json", "--filter", mine, *ann.options).json["known"] == 30
    assert ann.texts("Grüße", "SEEN") == []


def test_a_long_message_has_the_verdict_of_its_file(ann: User, mine: Path) -> None:
    long = message("long", (TOPICS["spam"] + "\n") * 20_000)
    ann.deliver(long)
    (moved,) = sort(ann, mine)["moved"]
    with MailFilter(mine) as mail:
        assert mail.classify(long).probability == moved["p"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--password-command", "echo wrong"], "refused the login"),
        (["--password-command", "false"], "failed with exit code 1"),
        (["--password-command", "true"], "printed nothing"),
        (["--token-command", "echo token"], "refused the login"),
        ([], "there is no password"),
    ],
)
def test_a_login_that_fails_says_why(ann: User, mine: Path, words: list[str], why: str) -> None:
    ca = ["--ca-file", str(ann.server.certificate)]
    assert why in refused("mail", "sort", ann.address(), "--filter", mine, *words, *ca, code=3)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (IMAP4.abort("socket error: EOF"), "the connection to 127.0.0.1 failed: socket error: EOF"),
        (IMAP4.error("[UNAVAILABLE] Temporary failure"), "127.0.0.1 accepts no login now: [UNAVAILABLE]"),
    ],
)
def test_a_login_that_was_not_checked_is_no_refusal(
    ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, why: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(IMAP4, "authenticate", fail)
    assert why in refused("mail", "sort", ann.address(), "--filter", mine, *ann.options, code=3)


def test_a_certificate_that_is_not_trusted_is_refused(ann: User, mine: Path) -> None:
    words = ann.options[:2]
    address = ann.address().replace("imaps", "imap").replace(str(ann.server.port), str(ann.server.starttls_port))
    for each in (ann.address(), address):
        why = refused("mail", "sort", each, "--filter", mine, *words, code=3)
        assert why.startswith("error: the certificate of 127.0.0.1 is not valid (self-signed certificate")
        assert "STARTTLS" not in why


def test_starttls_encrypts_the_other_port(ann: User, mine: Path) -> None:
    ann.deliver(spam(1))
    address = ann.address().replace("imaps", "imap").replace(str(ann.server.port), str(ann.server.starttls_port))
    assert len(done("mail", "sort", address, "--json", "--filter", mine, *ann.options).json["moved"]) == 1


def test_the_password_of_the_environment_is_used(ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ann.deliver(spam(1))
    monkeypatch.setenv("SUFFICE_IMAP_PASSWORD", PASSWORD)
    found = done("mail", "sort", ann.address(), "--json", "--filter", mine, *ann.options[2:]).json
    assert len(found["moved"]) == 1


@pytest.mark.parametrize(
    "address",
    [
        "imaps://ann:hunter2@localhost/INBOX",
        "imaps://ann:12#hunter2@localhost/INBOX",
        "imaps://ann:hunter2/1@localhost/INBOX",
        "imap://ann:%07hunter2@localhost/?",
        "imaps://:hunter2@localhost",
    ],
)
def test_a_password_in_the_address_is_refused_and_not_repeated(mine: Path, address: str) -> None:
    sentence = refused("mail", "sort", address, "--filter", mine, code=3)
    assert "hunter2" not in sentence
    assert "--password-command" in sentence or "write imaps://USER@HOST/FOLDER" in sentence


def test_an_address_of_ipv6_is_written_with_brackets() -> None:
    address = ImapAddress.parse("imaps://ann@[::1]:9993/Junk")
    assert (str(address), address.account) == ("imaps://ann@[::1]:9993/Junk", "ann@[::1]:9993")
    assert ImapAddress.parse(str(address)) == address


def test_a_password_that_login_cannot_send_is_explained(ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IMAPClient, "has_capability", lambda *_: False)  # without AUTH=PLAIN, LOGIN is used
    sentence = refused("mail", "sort", ann.address(), "--filter", mine, *ann.options, code=3)
    assert "the password has letters outside ASCII" in sentence
    assert PASSWORD not in sentence


def test_a_password_that_the_server_repeats_is_not_shown(
    ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: IMAPClient, user: str, password: str) -> None:
        raise IMAPClientError(f"no user {user} with password {password}")

    monkeypatch.setattr(IMAPClient, "plain_login", refuse)
    sentence = refused("mail", "sort", ann.address(), "--filter", mine, *ann.options, code=3)
    assert "with password ********" in sentence
    monkeypatch.setenv("SUFFICE_TRACEBACK", "1")
    with pytest.raises(LoginError) as raised:
        suffice("mail", "sort", ann.address(), "--json", "--filter", mine, *ann.options)
    assert PASSWORD not in "".join(traceback.format_exception(raised.value))


def test_a_password_of_the_keyring_is_used(ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keyring.core.init_backend()  # so that the next line can be undone
    monkeypatch.setattr(keyring.core, "_keyring_backend", Keys({("suffice", f"{ann.name}@127.0.0.1"): PASSWORD}))
    ann.deliver(spam(1))
    words = ("mail", "sort", ann.address(), "--json", "--filter", mine, *ann.options[2:])
    assert len(done(*words).json["moved"]) == 1
    monkeypatch.setattr(keyring.core, "_keyring_backend", Keys({}))
    assert "there is no password" in refused(*words, code=3)


class Keys(keyring.backend.KeyringBackend):  # type: ignore[misc]
    """A keyring in memory."""

    priority = 0.1

    def __init__(self, passwords: dict[tuple[str, str], str]) -> None:
        super().__init__()
        self.passwords = passwords

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError

    def delete_password(self, service: str, username: str) -> None:
        raise NotImplementedError


@pytest.mark.needs("posix")
def test_a_password_is_asked_once_for_several_folders(ann: User, tmp_path: Path) -> None:
    for folder in ("One", "Two"):
        ann.deliver(ham(folder), folder=folder)
    words = ["mail", "learn", "--ham", ann.address("One"), ann.address("Two"), "--filter", str(tmp_path / "new.db")]
    command = [sys.executable, "-m", "suffice", *words, *ann.options[2:]]
    environment = {**os.environ, "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    written = terminal.run(command, environment, answers={"Password of": PASSWORD + "\n"})
    assert written.count("Password of") == 1
    assert "learned 2 ham" in written
    assert PASSWORD not in written


@pytest.mark.parametrize("extensions", [FULL, NO_MOVE, PLAIN, (*FULL, "ESEARCH")], ids=str)
def test_folders_with_many_messages_are_listed_and_moved_in_parts(
    new_user: Callable[..., User], mine: Path, extensions: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "NAMED", 2)
    monkeypatch.setattr(folders, "SEARCHED", 3)
    user = new_user(*extensions)
    user.deliver(*map(spam, range(5)), *map(ham, range(5)))
    with user.client() as client:
        client.select_folder("INBOX")
        client.add_flags([10], [rb"\Deleted"])
    found = sort(user, mine)
    assert (len(found["moved"]), found["kept"]) == (5, 4)
    assert user.texts("Junk") == sorted(map(spam, range(5)))
    assert sort(user, mine, "--undo", "LAST")["restored"] == 5
    assert user.texts("INBOX", "UNDELETED") == sorted([*map(spam, range(5)), *map(ham, range(4))])


def test_a_spam_folder_that_the_server_does_not_mark_is_found_by_its_name(
    new_user: Callable[..., User], mine: Path
) -> None:
    user = new_user(*PLAIN)
    user.deliver(folder="Spam")
    user.deliver(spam(1))
    assert [each["folder"] for each in sort(user, mine)["moved"]] == ["Spam"]


def test_a_folder_is_found_whatever_its_case(ann: User, mine: Path) -> None:
    ann.deliver(folder="Werbung")
    ann.deliver(spam(1))
    assert [each["folder"] for each in sort(ann, mine, "--spam-folder", "werbung")["moved"]] == ["Werbung"]
    ann.deliver(folder="werbung")
    ann.deliver(spam(2))
    assert [each["folder"] for each in sort(ann, mine, "--spam-folder", "werbung")["moved"]] == ["werbung"]


def test_folders_may_have_any_name(ann: User, mine: Path) -> None:
    names = ['Qu"ote', "Back\\slash", "100%", "St*r", "R&D", "&", "😀", "日本語", " blanks ", "INBOX/Spam", "#?"]
    for number, name in enumerate(names):
        ann.deliver(spam(number))
        found = sort(ann, mine, "--spam-folder", name)
        assert [each["folder"] for each in found["moved"]] == [name.replace("/", ".")]
        assert ann.texts(name.replace("/", ".")) == [spam(number)]
        assert sort(ann, mine, "--spam-folder", name, "--undo", "LAST")["restored"] == 1
        ann.move(spam(number), "INBOX", "Trash")


def test_a_folder_whose_name_cannot_be_decoded_is_skipped_with_a_reason(
    ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = IMAPClient.list_folders
    more = [((rb"\HasNoChildren",), b".", name) for name in (b"R&D", "Café".encode())]
    ann.deliver(spam(1))
    monkeypatch.setattr(IMAPClient, "list_folders", lambda self: listed(self) + more)
    found = sort(ann, mine)
    assert len(found["moved"]) == 1
    assert [each["where"] for each in found["skipped"]] == [r"Caf\xc3\xa9", "R&D"]
    assert "modified UTF-7" in found["skipped"][0]["why"]


def test_a_missing_folder_is_refused_with_the_names_of_those_that_exist(ann: User, mine: Path) -> None:
    ann.deliver(ham(1), folder="Friends")
    for words in (("sort", ann.address("Freinds")), ("learn", ann.address("Freinds"), "--ham")):
        sentence = refused("mail", *words, "--filter", mine, *ann.options, code=3)
        assert "there is no folder 'Freinds' on 127.0.0.1: it has Friends, INBOX" in sentence


def test_the_wrong_kind_of_port_is_explained(ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_TIMEOUT", 0.5)
    words = ("--filter", mine, *ann.options)
    assert "write imap://" in refused("mail", "sort", ann.address(port=ann.server.starttls_port), *words, code=3)
    assert "write imaps://" in refused("mail", "sort", ann.address().replace("imaps", "imap"), *words, code=3)


def test_addresses_that_cannot_be_meant_are_refused_with_a_cure(mine: Path, tmp_path: Path) -> None:
    for address, cure in (
        ("imaps://ann@localhost/50%fe", "write % as %25"),
        ("ann@localhost/INBOX", "imaps://USER@HOST/FOLDER"),
        ("imaps://ann@localhost:99999/INBOX", "write imaps://USER@HOST/FOLDER"),
    ):
        assert cure in refused("mail", "sort", address, "--filter", mine, code=3)
    words = ("mail", "sort", "imaps://ann@localhost/INBOX", "--undo", "LAST", "--filter", mine)
    assert "cannot be used together" in refused(*words, "--watch", code=3)


def test_commands_that_read_files_say_what_reads_a_server(ann: User, mine: Path) -> None:
    assert "learn and sort" in refused("mail", "classify", ann.address(), "--filter", mine, code=3)

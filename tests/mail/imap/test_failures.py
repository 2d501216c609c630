"""Connections that are cut, processes that are killed and other clients at work: no message is lost."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from suffice.mail import MailFilter
from suffice.mail.imap import folders, ledger
from suffice.mail.mailboxes import Entry
from tests.cli.command import done, refused, suffice
from tests.mail.imap.dovecot import CuttingProxy, Dovecot, User
from tests.mail.imap.test_sort import FULL, NO_MOVE, PLAIN, ham, sort, spam, validity
from tests.mail.samples import stream
from tests.requirements import require
from tests.rights import open_folder, without_rights

pytestmark = pytest.mark.needs("imap")
SPAM, HAM = [spam(i) for i in range(3)], [ham(i) for i in range(3)]
#: Runs a command, and ends the process without any cleanup before its n-th request to the server.
KILLED = """
import os, sys
from suffice.cli import main
from suffice.mail.imap.connection import ImapConnection
left, call = int(sys.argv.pop(1)), ImapConnection.call
def counted(self, request):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
    return call(self, request)
ImapConnection.call = counted
main()
"""


@pytest.fixture
def proxy(ann: User) -> Iterator[Callable[[User], CuttingProxy]]:
    opened: list[CuttingProxy] = []

    def start(user: User) -> CuttingProxy:
        opened.append(CuttingProxy(user.server.port))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def check(user: User, mine: Path, learned: object) -> None:
    """Assert that after one more run, every message is once where it belongs, and nothing was learned."""
    assert learned == []
    assert user.texts("Junk", "UNDELETED") == SPAM
    assert user.texts("INBOX", "UNDELETED") == HAM


def cut_points(total: int, count: int) -> list[int]:
    chance = random.Random(7)
    return sorted(chance.sample(range(total), count))


@pytest.mark.parametrize("extensions", [FULL, NO_MOVE, PLAIN], ids=["move", "no move", "no uidplus"])
@pytest.mark.parametrize("count", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_a_cut_connection_loses_nothing(
    new_user: Callable[..., User],
    proxy: Callable[[User], CuttingProxy],
    mine: Path,
    trained: bytes,
    extensions: tuple[str, ...],
    count: int,
) -> None:
    total = 0
    for number in range(count + 1):
        user = new_user(*extensions)
        user.deliver(*SPAM, *HAM)
        between = proxy(user)
        words = ("mail", "sort", user.address(port=between.port), "--json", "--filter", mine, *user.options)
        between.limit = cut_points(total, count)[number - 1] if number else None
        ran = suffice(*words)
        if number:
            assert ran.code in (0, 3), ran.err
            assert "internal" not in ran.err
            between.limit = None
            ran = suffice(*words)
        assert ran.code == 0, ran.err
        total = total or between.passed
        check(user, mine, ran.json["learned"])
        mine.write_bytes(trained)


@pytest.mark.parametrize("count", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_a_cut_connection_keeps_what_was_learned(
    ann: User, proxy: Callable[[User], CuttingProxy], tmp_path: Path, count: int
) -> None:
    pairs = stream(20, seed=3)
    for label in ("spam", "ham"):
        ann.deliver(*(data for data, name in pairs if name == label), folder=label)
    between, total = proxy(ann), 0
    for number in range(count + 1):
        mine = tmp_path / f"{number}.db"
        folders = [f"--{label}={ann.address(label, port=between.port)}" for label in ("spam", "ham")]
        words = ("mail", "learn", *folders, "--json", "--filter", mine, *ann.options)
        between.limit = cut_points(total, count)[number - 1] if number else None
        ran = suffice(*words)
        if number:
            assert ran.code == 0 or ran.err.startswith("error: the connection to")
            between.limit = None
            ran = suffice(*words)
        assert ran.json["learned"] + ran.json["known"] == 20
        total = total or between.passed
        with MailFilter(mine) as mail:
            assert all(mail.learned_as(data) == label for data, label in pairs)


@pytest.mark.parametrize("extensions", [FULL, NO_MOVE, PLAIN], ids=["move", "no move", "no uidplus"])
@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_process_loses_nothing(
    new_user: Callable[..., User], mine: Path, trained: bytes, extensions: tuple[str, ...], step: int
) -> None:
    for left in range(step - 1, 200, step):
        user = new_user(*extensions)
        user.deliver(*SPAM, *HAM)
        words = ["mail", "sort", user.address(), "--json", "--filter", str(mine), *user.options]
        ran = subprocess.run(
            [sys.executable, "-c", KILLED, str(left), *words], capture_output=True, timeout=60, check=False
        )
        assert ran.returncode in (0, 9), ran.stderr
        check(user, mine, sort(user, mine)["learned"])
        mine.write_bytes(trained)
        if ran.returncode == 0:
            break
    else:
        pytest.fail("the command never ended by itself")


def test_a_leftover_that_is_marked_as_deleted_is_expunged_by_the_next_run(
    new_user: Callable[..., User], mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from imapclient import IMAPClient

    def fail(*_: object) -> None:
        raise ConnectionResetError

    user = new_user(*NO_MOVE)
    user.deliver(spam(1))
    with monkeypatch.context() as patched:
        patched.setattr(IMAPClient, "uid_expunge", fail)
        assert suffice("mail", "sort", user.address(), "--filter", mine, *user.options).code == 3
    assert user.texts() == user.texts("Junk") == [spam(1)]
    assert sort(user, mine)["moved"] == []
    assert user.texts() == []
    assert user.texts("Junk") == [spam(1)]


@pytest.mark.parametrize("extensions", [FULL, NO_MOVE, PLAIN], ids=["move", "no move", "no uidplus"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_an_undo_that_is_interrupted_loses_nothing(
    new_user: Callable[..., User],
    mine: Path,
    monkeypatch: pytest.MonkeyPatch,
    extensions: tuple[str, ...],
    when: str,
) -> None:
    from imapclient import IMAPClient

    user, command = new_user(*extensions), "move" if extensions == FULL else "copy"
    transfer = getattr(IMAPClient, command)

    def fail(*words: object) -> None:
        if when == "after":
            transfer(*words)
        raise ConnectionResetError

    user.deliver(*SPAM, *HAM)
    sort(user, mine)
    words = ("mail", "sort", user.address(), "--json", "--undo", "LAST", "--filter", mine, *user.options)
    with monkeypatch.context() as patched:
        patched.setattr(IMAPClient, command, fail)
        assert suffice(*words).code == 3
    assert done(*words).json["restored"] == (3 if when == "before" else 0)
    assert user.texts("INBOX", "UNDELETED") == sorted([*SPAM, *HAM])
    assert user.texts("Junk", "UNDELETED") == []
    found = sort(user, mine)
    assert (found["moved"], found["learned"]) == ([], [])


def test_a_message_that_is_moved_back_after_an_undo_that_failed_is_learned(
    ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from imapclient import IMAPClient

    def fail(*_: object) -> None:
        raise ConnectionResetError

    ann.deliver(spam(1), ham(1))
    sort(ann, mine)
    with monkeypatch.context() as patched:
        patched.setattr(IMAPClient, "move", fail)
        assert suffice("mail", "sort", ann.address(), "--undo", "LAST", "--filter", mine, *ann.options).code == 3
    assert sort(ann, mine)["learned"] == []
    ann.move(spam(1), "Junk", "INBOX")
    assert [each["class"] for each in sort(ann, mine)["learned"]] == ["ham"]


def test_a_message_delivered_twice_is_not_taken_for_a_leftover(
    new_user: Callable[..., User], mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from imapclient import IMAPClient

    def fail(*_: object) -> None:
        raise ConnectionResetError

    user = new_user(*NO_MOVE)
    user.deliver(spam(1))
    sort(user, mine)
    user.deliver(spam(1))
    with monkeypatch.context() as patched:
        patched.setattr(IMAPClient, "copy", fail)
        assert suffice("mail", "sort", user.address(), "--filter", mine, *user.options).code == 3
    sort(user, mine)
    assert user.texts("INBOX") + user.texts("Junk") == [spam(1), spam(1)]


def test_a_message_that_the_user_moved_before_an_interrupted_run_is_not_learned(
    ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from imapclient import IMAPClient

    def fail(*_: object) -> None:
        raise ConnectionResetError

    ann.deliver(ham(1), folder="Friends")
    ann.deliver(ham(2))
    sort(ann, mine)
    ann.deliver(spam(1))
    with monkeypatch.context() as patched:
        patched.setattr(IMAPClient, "move", fail)
        assert suffice("mail", "sort", ann.address(), "--filter", mine, *ann.options).code == 3
    ann.move(spam(1), "INBOX", "Friends")
    found = sort(ann, mine)
    assert (found["moved"], found["learned"]) == ([], [])


def test_a_folder_that_is_full_is_reported_and_nothing_is_lost(ann: User, mine: Path) -> None:
    ann.deliver(spam(1), ham(1))
    place = ann.server.place / "mail" / ann.name / ".Junk"
    ann.deliver(folder="Junk")
    place.joinpath("tmp").rename(place / "other")
    place.joinpath("tmp").write_text("no folder")
    ran = suffice("mail", "sort", ann.address(), "--filter", mine, *ann.options)
    assert ran.code == 3
    assert "1 messages could not be moved" in ran.err
    assert ann.texts() == sorted([spam(1), ham(1)])


def take(user: User, message: bytes, source: str, target: str) -> None:
    """Move a message at once, as another mail program does on a server with MOVE."""
    with user.client() as client:
        client.select_folder(source)
        found = client.fetch(client.search("UNDELETED"), ["BODY.PEEK[]"])
        (uid,) = [uid for uid, each in found.items() if each[b"BODY[]"] == message.replace(b"\n", b"\r\n")]
        client._imap.uid("MOVE", str(uid), target)  # noqa: SLF001


def do_after(patched: pytest.MonkeyPatch, command: str, action: Callable[[], object]) -> None:
    """Do something when a command of IMAPClient has ended for the first time."""
    from imapclient import IMAPClient

    original, actions = getattr(IMAPClient, command), [action]

    def run(*args: object, **options: object) -> object:
        found = original(*args, **options)
        if actions:
            actions.pop()()
        return found

    patched.setattr(IMAPClient, command, run)


@pytest.mark.parametrize("extensions", [NO_MOVE, PLAIN], ids=["no move", "no uidplus"])
def test_a_copy_that_another_client_takes_at_once_is_neither_lost_nor_refused_with_the_others(
    new_user: Callable[..., User], mine: Path, monkeypatch: pytest.MonkeyPatch, extensions: tuple[str, ...]
) -> None:
    user = new_user(*extensions)
    user.deliver(*SPAM)
    for folder in ("Junk", "Work"):
        user.deliver(folder=folder)
    with monkeypatch.context() as patched:
        do_after(patched, "copy", lambda: take(user, SPAM[1], "Junk", "Work"))
        ran = suffice("mail", "sort", user.address(), "--json", "--filter", mine, *user.options)
    assert user.texts("Work") == [SPAM[1]]
    assert user.texts("Junk") == [SPAM[0], SPAM[2]]
    if extensions == NO_MOVE:  # the server has named the copy: the message is where the other client put it
        assert ran.code == 0
        assert user.texts() == []
    else:
        assert ran.code == 3
        assert "its copy in Junk cannot be found: nothing was deleted" in str(ran.json["skipped"])
        assert user.texts("INBOX", "UNDELETED") == [SPAM[1]]
    assert len(ran.json["moved"]) == 3 - ran.json["failed"]
    assert [each["class"] for each in sort(user, mine)["learned"]] == ["ham"] * (extensions == NO_MOVE)


@pytest.mark.parametrize("extensions", [NO_MOVE, PLAIN], ids=["no move", "no uidplus"])
def test_a_message_that_another_client_takes_while_it_is_copied_is_reported(
    new_user: Callable[..., User], mine: Path, monkeypatch: pytest.MonkeyPatch, extensions: tuple[str, ...]
) -> None:
    user = new_user(*extensions)
    user.deliver(*SPAM)
    user.deliver(folder="Work")
    with monkeypatch.context() as patched:
        do_after(patched, "copy", lambda: take(user, SPAM[1], "INBOX", "Work"))
        ran = suffice("mail", "sort", user.address(), "--json", "--filter", mine, *user.options)
    assert (ran.code, len(ran.json["moved"]), ran.json["failed"]) == (3, 2, 1)
    assert "while it was copied: a copy is in Junk" in ran.json["skipped"][0]["why"]
    assert user.texts("INBOX", "UNDELETED") == []
    assert user.texts("Work") == [SPAM[1]]
    found = sort(user, mine)
    assert (found["moved"], found["learned"]) == ([], [])


@pytest.mark.parametrize("extensions", [NO_MOVE, PLAIN], ids=["no move", "no uidplus"])
def test_a_message_is_not_deleted_if_the_server_says_that_it_was_copied_but_it_was_not(
    new_user: Callable[..., User], mine: Path, monkeypatch: pytest.MonkeyPatch, extensions: tuple[str, ...]
) -> None:
    from imapclient import IMAPClient

    user = new_user(*extensions)
    user.deliver(*SPAM)
    with monkeypatch.context() as patched:
        patched.setattr(IMAPClient, "copy", lambda *_: None)
        if extensions == NO_MOVE:
            number = validity(user, "INBOX")
            patched.setattr(folders, "_parse_copy_uids", lambda *_: {1: f"{number}.1", 2: "9.9", 3: "8.8"})
        ran = suffice("mail", "sort", user.address(), "--json", "--filter", mine, *user.options)
    assert (ran.code, ran.json["moved"], ran.json["failed"]) == (3, [], 3)
    assert user.texts("INBOX", "UNDELETED") == SPAM
    assert len(sort(user, mine)["moved"]) == 3


@pytest.mark.parametrize("extensions", [FULL, NO_MOVE], ids=["move", "no move"])
def test_changes_of_another_client_at_the_same_time_lose_nothing(
    new_user: Callable[..., User], mine: Path, extensions: tuple[str, ...]
) -> None:
    user = new_user(*extensions)
    given = [data for data, _ in stream(60, seed=5)]
    user.deliver(*given)
    user.deliver(folder="Junk")
    user.deliver(folder="Work")
    twice = 0
    stop = threading.Event()
    mover = threading.Thread(target=shuffle_mail, args=(user, stop))
    mover.start()
    try:
        for number in range(8):
            more = [data for data, _ in stream(5, seed=100 + number)]
            given += more
            user.deliver(*more)
            ran = suffice("mail", "sort", user.address(), "--json", "--yes", "--filter", mine, *user.options)
            # Without MOVE, a message that the other client moves while it is copied is in two folders, and reported.
            copied = [each for each in ran.json["skipped"] if "while it was copied" in each["why"]]
            twice += len(copied)
            assert ran.code == (3 if extensions == NO_MOVE and copied else 0), ran.err
    finally:
        stop.set()
        mover.join()
    here = [text for folder in ("INBOX", "Junk", "Work") for text in user.texts(folder, "UNDELETED")]
    assert set(here) == set(given)
    # Dovecot makes two of a message that two clients move at the same moment. If the other client takes one that is
    # marked as deleted already, the mark is on its copy.
    assert len(here) <= len(given) + twice + 5


def shuffle_mail(user: User, stop: threading.Event) -> None:
    """Move messages between folders until told to stop."""
    chance = random.Random(3)
    folders = ("INBOX", "Junk", "Work")
    with user.client() as client:
        while not stop.is_set():
            source, target = chance.sample(folders, 2)
            client.select_folder(source)
            uids = client.search("UNDELETED")
            if uids:
                client._imap.uid("MOVE", str(chance.choice(uids)), target)  # noqa: SLF001


def test_a_message_that_the_server_cannot_read_is_skipped_and_the_others_are_not(
    ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from imapclient import IMAPClient
    from imapclient.exceptions import IMAPClientError

    fetch = IMAPClient.fetch

    def fail(self: IMAPClient, uids: list[int], what: list[str]) -> object:
        if 2 in uids and "BODY.PEEK[]" in what[0]:
            raise IMAPClientError("fetch failed: [SERVERBUG] Internal error")
        return fetch(self, uids, what)

    ann.deliver(*SPAM)
    monkeypatch.setattr(IMAPClient, "fetch", fail)
    words = ("--json", "--filter", mine, *ann.options)
    learned = done("mail", "learn", ann.address(), "--spam", *words).json
    assert (learned["learned"], [each["where"][-6:] for each in learned["skipped"]]) == (2, [";UID=2"])
    found = done("mail", "sort", ann.address(), *words).json
    assert (len(found["moved"]), [each["where"] for each in found["skipped"]]) == (2, ["INBOX;UID=2"])
    assert "[SERVERBUG]" in found["skipped"][0]["why"]


def test_a_message_that_is_moved_back_after_the_inbox_was_listed_is_learned_by_the_next_run(
    ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.deliver(*SPAM)
    sort(ann, mine)
    listed, targets = folders.ImapFolder.entries, iter(["INBOX"])

    def entries(self: folders.ImapFolder) -> list[Entry]:
        found = listed(self)
        for target in targets:
            ann.move(SPAM[0], "Junk", target)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(folders.ImapFolder, "entries", entries)
        assert sort(ann, mine)["learned"] == []
    found = sort(ann, mine)
    assert ([each["class"] for each in found["learned"]], found["moved"]) == (["ham"], [])
    ann.move(SPAM[1], "Junk", "Trash")
    assert sort(ann, mine)["learned"] == []
    ann.deliver(SPAM[1])  # again: it did not come from the spam folder
    found = sort(ann, mine)
    assert (found["learned"], len(found["moved"]) + found["kept"]) == ([], 1)


@pytest.mark.parametrize("extensions", [FULL, NO_MOVE], ids=["move", "no move"])
def test_two_runs_at_the_same_time_lose_nothing(
    new_user: Callable[..., User], mine: Path, extensions: tuple[str, ...]
) -> None:
    user = new_user(*extensions)
    spams, hams = sorted(map(spam, range(40))), sorted(map(ham, range(20)))
    user.deliver(*spams, *hams)
    words = ["mail", "sort", user.address(), "--json", "--yes", "--filter", str(mine), *user.options]
    command = [sys.executable, "-m", "suffice", *words]
    both = [subprocess.Popen(command, stdout=-1, stderr=-1, text=True) for _ in range(2)]
    for each in both:
        _, err = each.communicate(timeout=60)
        assert each.returncode == 0, err
    assert sort(user, mine)["learned"] == []
    assert user.texts("Junk") == spams
    assert user.texts() == hams


def test_a_run_does_not_wait_for_another_without_end(ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ann.deliver(spam(1))
    monkeypatch.setattr(ledger, "WAIT", 0.3)
    words = ("mail", "sort", ann.address(), "--filter", mine, *ann.options)
    with MailFilter(mine) as mail, ledger.exclude_other_runs(mail):
        assert "another run with the same filter has not ended" in refused(*words, code=3)
        assert "1 would be moved" in done(*words, "--dry-run").out
    assert "1 moved" in done(*words).out


def test_a_filter_that_cannot_be_written_is_refused_and_nothing_is_moved(ann: User, trained: bytes) -> None:
    ann.deliver(spam(1))
    with open_folder() as place:
        place.joinpath("mail.db").write_bytes(trained)
        place.chmod(0o555)
        words = ("mail", "sort", ann.address(), "--filter", place / "mail.db", *ann.options)
        for more in ((), ("--dry-run",)):
            why = without_rights(lambda: refused(*words, *more, code=3))  # noqa: B023  (called at once)
            assert f"{place / 'mail.db'} cannot be written: check its permissions" in why
    assert ann.texts() == [spam(1)]


@pytest.mark.parametrize("words", [[], ["--undo", "LAST"], ["--watch"]], ids=str)
def test_without_a_filter_no_server_is_connected_and_no_filter_created(tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "none.db"
    sentence = refused("mail", "sort", "imaps://ann@host.invalid/INBOX", *words, "--filter", path, code=3)
    assert "there is no filter" in sentence
    assert not path.exists()


@pytest.mark.slow
def test_five_thousand_messages_are_sorted(new_user: Callable[..., User], mine: Path) -> None:
    user = new_user(*FULL)
    spams = [spam(i) for i in range(2_500)]
    hams = [ham(i) for i in range(2_500)]
    with user.client() as client:
        for start in range(0, 2_500, 100):
            some = [each.replace(b"\n", b"\r\n") for each in (*spams[start:][:100], *hams[start:][:100])]
            for each in some:
                client.append("INBOX", each)
    found = sort(user, mine, "--yes")
    assert (len(found["moved"]), found["kept"]) == (2_500, 2_500)
    assert user.texts() == sorted(hams)
    assert user.texts("Junk") == sorted(spams)
    assert sort(user, mine, "--undo", "LAST")["restored"] == 2_500
    assert len(user.texts()) == 5_000


@pytest.fixture
def own_server() -> Iterator[Dovecot]:
    require("imap")
    server = Dovecot()
    yield server
    server.remove()


def test_a_server_that_is_restarted_between_runs_changes_nothing(own_server: Dovecot, mine: Path) -> None:
    user = own_server.new_user()
    user.deliver(*SPAM, *HAM)
    sort(user, mine)
    own_server.stop()
    ran = suffice("mail", "sort", user.address(), "--filter", mine, *user.options)
    assert ran.code == 3
    assert "whether the server runs" in ran.err
    own_server.start()
    found = sort(user, mine)
    assert (found["moved"], found["kept"], found["learned"]) == ([], 0, [])

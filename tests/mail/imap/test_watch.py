"""suffice mail sort --watch on a server: IDLE, polling, and new connections."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from suffice.mail import MailFilter
from suffice.mail.imap import watcher
from suffice.mail.imap.address import ImapAddress
from suffice.mail.imap.connection import ImapConnection
from suffice.mail.imap.credentials import Credentials
from suffice.mail.imap.errors import ConnectionLostError
from suffice.mail.imap.folders import ImapFolder
from suffice.mail.imap.ledger import ImapLedger
from suffice.mail.sorter import FilterJudge, SortResult, sort_mailbox
from tests.mail.imap.dovecot import PASSWORD, Dovecot, User
from tests.mail.imap.test_sort import FULL, PLAIN, ham, spam
from tests.mail.recipes.servers import wait
from tests.requirements import require

pytestmark = pytest.mark.needs("imap")
#: Runs a command with short intervals.
SHORT = """
from suffice.cli import main
from suffice.mail.imap import watcher
watcher.POLL, watcher.IDLE, watcher.STEP, watcher.LONGEST_DELAY = 0.1, 2.0, 0.2, 0.4
main()
"""


@contextmanager
def watching(user: User, mine: Path) -> Iterator[subprocess.Popen[str]]:
    words = ["mail", "sort", user.address(), "--watch", "--filter", str(mine), *user.options]
    with subprocess.Popen([sys.executable, "-c", SHORT, *words], stdout=-1, stderr=-1, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)


def wait_for(user: User, folder: str, *messages: bytes) -> None:
    wait(lambda: user.texts(folder, "UNDELETED") == sorted(messages), lambda: str(user.texts(folder)))


def wait_until_learned(mine: Path, message: bytes, label: str) -> None:
    with MailFilter(mine) as mail:
        wait(lambda: mail.learned_as(message) == label, lambda: f"not learned as {label}")


@pytest.mark.parametrize("extensions", [FULL, PLAIN], ids=["idle", "no idle"])
def test_mail_is_sorted_and_moves_are_learned_as_they_happen(
    new_user: Callable[..., User], mine: Path, extensions: tuple[str, ...]
) -> None:
    user = new_user(*extensions)
    user.deliver(spam(1), ham(1))
    with watching(user, mine) as process:
        wait_for(user, "Junk", spam(1))
        user.deliver(spam(2), ham(2))
        wait_for(user, "Junk", spam(1), spam(2))
        user.move(spam(1), "Junk", "INBOX")
        wait_until_learned(mine, spam(1), "ham")
        user.move(ham(1), "INBOX", "Junk")
        wait_until_learned(mine, ham(1), "spam")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert out.count("moved to Junk") == 2
    assert user.texts("INBOX", "UNDELETED") == sorted([spam(1), ham(2)])


def test_a_move_to_a_folder_that_is_new_is_learned_until_an_interrupt(ann: User, mine: Path) -> None:
    ann.deliver(spam(1))
    with watching(ann, mine) as process:
        wait_for(ann, "Junk", spam(1))
        ann.move(spam(1), "Junk", "Friends")
        wait_until_learned(mine, spam(1), "ham")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err.partition(":")[0]) == (130, "interrupted")


def test_a_connection_is_opened_again_after_a_restart_of_the_server(mine: Path) -> None:
    require("imap")
    server = Dovecot()
    try:
        user = server.new_user()
        user.deliver(spam(1))
        with watching(user, mine) as process:
            wait_for(user, "Junk", spam(1))
            server.stop()
            server.start()
            user.deliver(spam(2))
            wait_for(user, "Junk", spam(1), spam(2))
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate(timeout=30)
        assert process.returncode == 0, err
        assert "trying again in" in err
    finally:
        server.remove()


class Delays(threading.Event):
    """An event that records for how long a program waits, and is set after fourteen times."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout or 0.0)
        if len(self.seconds) == 14:
            self.set()
        return self.is_set()


def test_delays_before_new_connections_double_up_to_five_minutes_and_vary(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> ImapConnection:
        raise ConnectionLostError("the server is down")

    delays, first = Delays(), MagicMock()
    first.resolve.side_effect = ConnectionLostError("cut")
    connections = iter([lambda: first])
    monkeypatch.setattr(watcher, "stop_on_signals", lambda: nullcontext(delays))
    remarks: list[str] = []
    watcher.watch_imap_folder(lambda: next(connections, fail)(), lambda _: None, remarks.append)
    shares = [seconds / min(300, 2 ** (number + 1)) for number, seconds in enumerate(delays.seconds)]
    assert all(0.25 <= share <= 0.75 for share in shares)
    assert len(set(shares)) == 14
    assert remarks[1].startswith("the server is down; trying again in ")


def test_a_wrong_password_ends_the_watch_at_once(ann: User, mine: Path) -> None:
    words = ["mail", "sort", ann.address(), "--watch", "--filter", str(mine), "--password-command", "echo wrong"]
    command = [sys.executable, "-c", SHORT, *words, "--ca-file", str(ann.server.certificate)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert ran.returncode == 3
    assert "refused the login" in ran.stderr
    assert "wrong" not in ran.stderr


def test_a_message_that_keeps_the_connection_open_is_no_change(mine: Path) -> None:
    require("imap")
    server = Dovecot(more="imap_idle_notify_interval = 1s")
    try:
        user = server.new_user()
        credentials = Credentials(f"cat {server.place / 'password'}")
        with ImapConnection(ImapAddress.parse(user.address()), credentials, str(server.certificate)) as connection:
            connection.select("INBOX")
            connection.begin_idle()
            assert not connection.wait(2.0)
            user.deliver(ham(1))
            assert connection.wait(20.0)
            connection.call(connection.client.idle_done)
    finally:
        server.remove()


def test_folders_that_have_not_changed_are_recognised_by_one_request(
    ann: User, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        ann.deliver(ham(number), folder=f"Folder {number}")
    ann.deliver(spam(0), folder="Junk")
    monkeypatch.setenv("SUFFICE_IMAP_PASSWORD", PASSWORD)
    requests: list[object] = []
    call = ImapConnection.call

    def count(self: ImapConnection, request: Callable[[], object]) -> object:
        requests.append(request)
        return call(self, request)

    monkeypatch.setattr(ImapConnection, "call", count)
    address = ImapAddress.parse(ann.address())
    with MailFilter(mine) as mail, ImapConnection(address, Credentials(), str(ann.server.certificate)) as connection:
        box = ImapFolder(connection, "INBOX")

        def sort() -> SortResult:
            requests.clear()
            return sort_mailbox(box, FilterJudge(mail), ImapLedger(mail, box))

        sort()
        assert len(requests) > 3 * 8
        assert sort() == SortResult()
        assert len(requests) < 8
        ann.deliver(spam(1))
        assert len(sort().moved) == 1
        assert len(requests) < 16
        ann.move(spam(1), "Junk", "Folder 3")
        assert [each.label for each in sort().learned] == ["ham"]


def test_a_missing_folder_ends_the_watch(ann: User, mine: Path) -> None:
    words = ["mail", "sort", ann.address("Nowhere"), "--watch", "--filter", str(mine), *ann.options]
    ran = subprocess.run([sys.executable, "-c", SHORT, *words], capture_output=True, text=True, timeout=30, check=False)
    assert ran.returncode == 3
    assert "there is no folder 'Nowhere'" in ran.stderr

"""Sorting with mbsync: messages moved locally are moved on the server, with isync and Dovecot."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from suffice.mail.mailboxes.maildir import Maildir
from suffice.mail.sorter import sort_mailbox
from tests.mail.test_sorter import FileLedger, WordJudge
from tests.requirements import find_program, require

_DOVECOT = """
protocols = imap
ssl = no
disable_plaintext_auth = no
listen = 127.0.0.1
base_dir = {place}/run
state_dir = {place}/run
log_path = {place}/dovecot.log
mail_location = maildir:{place}/server
first_valid_uid = 1
{users}
passdb {{
  driver = static
  args = password=secret
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={place}/home
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
}}
service anvil {{
  chroot =
}}
"""
_MBSYNC = """
IMAPAccount test
Host 127.0.0.1
Port {port}
User me
Pass secret
SSLType None
AuthMechs LOGIN

IMAPStore far
Account test

MaildirStore near
{store}

Channel all
Far :far:
Near :near:
Patterns *
Create Both
Expunge Both
SyncState *
"""
#: The inbox, the setting of mbsync, and the spam folder relative to the inbox.
_LAYOUTS = {
    "beside": ("INBOX", "Path {near}/\nInbox {near}/INBOX\nSubFolders Verbatim", "../Junk"),
    "below": (".", "Inbox {near}\nSubFolders Maildir++", "Junk"),
}


class Server:
    """A Dovecot server with mbsync."""

    def __init__(self, place: Path, layout: str) -> None:
        inbox, store, self.junk = _LAYOUTS[layout]
        self.place, self.near = place, place / "near"
        self.near.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        root = os.geteuid() == 0
        uid, gid = (65534, 65534) if root else (os.getuid(), os.getgid())
        me = Path("~").expanduser().owner()
        users = "" if root else f"default_internal_user = {me}\ndefault_login_user = {me}"
        for name in ("server", "home", "run", "server/new", "server/cur", "server/tmp"):
            (place / name).mkdir()
            if root and name != "run":
                os.chown(place / name, uid, gid)
        conf = place / "dovecot.conf"
        conf.write_text(_DOVECOT.format(place=place, port=port, uid=uid, gid=gid, users=users))
        self._mbsyncrc = place / "mbsyncrc"
        self._mbsyncrc.write_text(_MBSYNC.format(port=port, store=store.format(near=self.near)))
        self.process = subprocess.Popen([str(find_program("dovecot")), "-F", "-c", str(conf)])
        until = time.monotonic() + 20
        while not _listens(port) and time.monotonic() < until:
            time.sleep(0.05)
        self.sync()
        self.box = Maildir(self.near / inbox)

    def deliver(self, words: str) -> None:
        name = self.place / "server/tmp/1"
        name.write_text(f"Subject: hello\nMessage-ID: <{words}@example.org>\n\n{words}\n")
        if os.geteuid() == 0:
            os.chown(name, 65534, 65534)
        name.rename(self.place / "server/new" / f"{time.time_ns()}.{words.split()[0]}")

    def sync(self) -> None:
        ran = subprocess.run(
            [str(find_program("mbsync")), "-c", self._mbsyncrc, "-a"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert "duplicate" not in ran.stderr.casefold()

    def on_server(self) -> dict[str, list[str]]:
        """Return the first words of the messages in each folder of the server."""
        return self._words({"INBOX": self.place / "server", "Junk": self.place / "server/.Junk"})

    def here(self) -> dict[str, list[str]]:
        """Return the first words of the messages in each folder here."""
        return self._words({"INBOX": self.box.path, "Junk": self.box.locate(self.junk)})

    def _words(self, folders: dict[str, Path]) -> dict[str, list[str]]:
        return {
            name: sorted(
                each.read_text().split("\n\n")[1].strip()
                for part in ("new", "cur")
                if (place / part).is_dir()
                for each in (place / part).iterdir()
            )
            for name, place in folders.items()
        }


def _listens(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(params=list(_LAYOUTS))
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    require("mbsync")
    place = Path(tempfile.mkdtemp(prefix="suffice-mbsync-"))
    place.chmod(0o755)  # Dovecot reads it as another user
    started = Server(place, request.param)
    yield started
    started.process.send_signal(signal.SIGTERM)
    started.process.wait(timeout=20)
    shutil.rmtree(place)


def test_messages_moved_by_sort_are_moved_on_the_server(server: Server, tmp_path: Path) -> None:
    judge, ledger = WordJudge(tmp_path / "judge.db"), FileLedger(tmp_path / "ledger.db")
    for words in ("money one", "lunch", "money two"):
        server.deliver(words)
    server.sync()
    assert len(sort_mailbox(server.box, judge, ledger, spam_folder=server.junk).moved) == 2
    server.deliver("money three")
    for _ in range(2):  # the second sync sees the names given by the first
        server.sync()
        sort_mailbox(server.box, judge, ledger, spam_folder=server.junk)
    server.sync()
    expected = {"INBOX": ["lunch"], "Junk": ["money one", "money three", "money two"]}
    assert server.here() == expected
    assert server.on_server() == expected

    junk = Maildir(server.box.locate(server.junk))
    restored = next(entry for entry in junk.entries() if b"money two" in Path(entry.path).read_bytes())
    junk.move(restored, server.box, seen=True)
    server.sync()
    assert [label for _, label in sort_mailbox(server.box, judge, ledger, spam_folder=server.junk).learned] == ["ham"]
    server.sync()
    assert server.on_server() == {"INBOX": ["lunch", "money two"], "Junk": ["money one", "money three"]}

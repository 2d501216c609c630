"""Dovecot and Postfix with their own settings in their own folders; those of the machine are not changed."""

from __future__ import annotations

import imaplib
import os
import shlex
import shutil
import signal
import smtplib
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from string import Template

from tests.mail.recipes.page import ROOT, Home, block, executable, replaced
from tests.requirements import find_program

if sys.platform != "win32":
    import grp
    import pwd

PLACE = Path(__file__).parent
LDA = "/usr/lib/dovecot/dovecot-lda"
#: Folder of the scripts in the recipe for Dovecot.
SCRIPTS = "/etc/dovecot/suffice"


def free_port() -> int:
    """Return a free port."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port: int = server.getsockname()[1]
        return port


def wait(until: Callable[[], object], what: Callable[[], str]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + 30
    while not until():
        assert time.monotonic() < end, what()
        time.sleep(0.05)


def listens(port: int) -> bool:
    """Return whether a server listens on a port."""
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


class Dovecot:
    """A Dovecot server that runs as one user, not as root, with the recipe of the page.

    Where root runs the tests, root's files are another user's within a namespace: Dovecot gives no mail to root.
    """

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.port = free_port()
        self.log = folder / "log"
        self._settings = folder / "dovecot.conf"
        self._scripts = folder / "scripts"
        user = pwd.getpwnam("dovecot") if os.getuid() == 0 else pwd.getpwuid(os.getuid())
        self._as: list[str] = []
        if os.getuid() == 0:
            self._as = ["unshare", "--user", f"--map-user={user.pw_uid}", f"--map-group={user.pw_gid}"]
        for each in (self._scripts, folder / "run", folder / "state"):
            each.mkdir(parents=True)
        values = {"user": user.pw_name, "group": grp.getgrgid(user.pw_gid).gr_name, "port": self.port}
        values |= {"uid": user.pw_uid, "gid": user.pw_gid, "folder": folder, "home": home.path}
        self._settings.write_text(Template((PLACE / "dovecot.conf").read_text()).substitute(values))
        recipe = block("/etc/dovecot/conf.d/99-suffice.conf")
        (folder / "suffice.conf").write_text(replaced(recipe, {SCRIPTS: self._scripts}))
        for name in ("mark", "correct"):
            executable(self._scripts / name, replaced(home.recipe(f"{SCRIPTS}/{name}"), {"timeout 8": "timeout 4"}))
        for name in ("deliver", "spam", "ham"):
            self.compile(name)

    def compile(self, name: str, which: int = 0) -> None:
        """Install and compile a script."""
        script = self._scripts / f"{name}.sieve"
        script.write_text(block(f"{SCRIPTS}/{name}.sieve", which))
        subprocess.run([*self._as, "sievec", "-c", self._settings, script], check=True, timeout=30)

    def deliver(self, message: bytes) -> None:
        """Deliver a message like a mail server."""
        command = [*self._as, LDA, "-c", str(self._settings), "-d", "nora"]
        subprocess.run(command, input=message, check=True, capture_output=True, timeout=60)

    def move(self, old: str, new: str) -> None:
        """Move all messages of a folder to another, like a mail program."""
        with imaplib.IMAP4("127.0.0.1", self.port, timeout=30) as client:
            client.login("nora", "secret")
            client.create(new)
            assert client.select(old)[0] == "OK"
            assert client.uid("MOVE", "1:*", new)[0] == "OK"

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the server."""
        with subprocess.Popen([*self._as, str(find_program("dovecot")), "-F", "-c", str(self._settings)]) as process:
            try:
                wait(lambda: listens(self.port), self.log.read_text)
                yield
            finally:
                process.terminate()


def reachable(folder: Path) -> str:
    """Return commands that let other users run this Python, whatever its path.

    Of a folder that is closed to them, they then see the one within it that they need, and nothing else.
    """
    lines = []
    for needed in dict.fromkeys((Path(sys.base_prefix), Path(sys.prefix), ROOT)):
        closed = next((each for each in reversed(needed.parents) if not each.stat().st_mode & 0o001), None)
        if closed is not None:
            stand_in = folder / "open" / closed.name
            within = stand_in / needed.relative_to(closed)
            within.mkdir(parents=True)
            lines += [f"mount --bind {shlex.quote(str(needed))} {within}", f"mount --rbind {stand_in} {closed}"]
    return "\n".join(lines)


class Postfix:
    """A Postfix server in a namespace with its own /etc/postfix; needs root.

    Parameters
    ----------
    home
        A home in the folder, which others can read.
    folder
        A folder that others can read.
    """

    def __init__(self, home: Home, folder: Path) -> None:
        self.home = home
        self.port = free_port()
        self.log = folder / "log"
        self.mark = folder / "mark"
        self._folder = folder
        user = pwd.getpwnam("nobody")
        settings = folder / "postfix"
        shutil.copytree("/etc/postfix", settings, symlinks=True)
        for name in ("queue", "data"):
            (folder / name).mkdir()
        shutil.chown(folder / "data", "postfix")
        values = {"folder": folder, "uid": user.pw_uid, "gid": user.pw_gid}
        (settings / "main.cf").write_text(Template((PLACE / "main.cf").read_text()).substitute(values))
        subprocess.run(["postconf", "-c", settings, "-F", "*/*/chroot=n"], check=True, timeout=30)
        subprocess.run(["postconf", "-c", settings, "-MX", "smtp/inet"], check=True, timeout=30)
        places = {"smtp      inet  n       -       y": f"{self.port} inet n - n", "user=suffice": "user=nobody"}
        entries = block("/etc/postfix/master.cf")
        entries = replaced(entries, {**places, "/usr/local/lib/suffice/mark": self.mark})
        with (settings / "master.cf").open("a") as file:
            file.write(entries)
        mark = home.recipe("/usr/local/lib/suffice/mark")
        executable(self.mark, replaced(mark, {"/var/lib/suffice/mail.db": home.filter}))
        for place in (home.path, *home.path.rglob("*")):
            os.chown(place, user.pw_uid, user.pw_gid)

    def send(self, message: bytes) -> None:
        """Send a message by SMTP."""
        with smtplib.SMTP("127.0.0.1", self.port, timeout=30) as client:
            client.sendmail("sender@example.com", ["nora@example.org"], message)

    def carry(self, message: bytes) -> bytes:
        """Send a message by SMTP, and return it as delivered."""
        before = set(self.home.files())
        self.send(message)
        wait(lambda: set(self.home.files()) - before, self.log.read_text)
        (arrived,) = set(self.home.files()) - before
        return arrived.read_bytes()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the server."""
        commands = (
            f"set -e\n{reachable(self._folder)}\nmount --bind {self._folder}/postfix /etc/postfix\npostfix start\n"
        )
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", commands], capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        master = int((self._folder / "queue" / "pid" / "master.pid").read_text())
        try:
            wait(lambda: listens(self.port), self.log.read_text)
            yield
        finally:
            os.kill(master, signal.SIGTERM)
            wait(lambda: not listens(self.port), self.log.read_text)

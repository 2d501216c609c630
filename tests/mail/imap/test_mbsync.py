"""The recipe of the page for mbsync: what sort moves is moved on the server, and what is moved there is learned."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from suffice.mail.mailboxes.maildir import Maildir
from tests.mail.imap.dovecot import User
from tests.mail.imap.test_sort import ham, spam
from tests.mail.recipes.page import Home, block, replaced, shell

pytestmark = pytest.mark.needs("mbsync")
#: The inbox, and what is different from the recipe: in its settings, and in its command.
LAYOUTS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "beside": ("Mail/INBOX", {}, {}),
    "below": (
        "Maildir",
        {"Path ~/Mail/\nInbox ~/Mail/INBOX\nSubFolders Verbatim": "Inbox ~/Maildir\nSubFolders Maildir++"},
        {"~/Mail/INBOX --spam-folder ../Junk": "~/Maildir"},
    ),
}


@pytest.mark.parametrize("layout", ["beside", pytest.param("below", marks=pytest.mark.slow)])
def test_mail_is_moved_on_the_server_and_moves_there_are_learned(
    ann: User, mine: Path, tmp_path: Path, layout: str
) -> None:
    inbox, settings, command = LAYOUTS[layout]
    sync = prepare(ann, Home(tmp_path / "home", mine), settings, command)
    ann.deliver(spam(1), ham(1), spam(2), ham(2))
    assert sync() == (2, [])
    assert (ann.texts(), ann.texts("Junk")) == ([ham(1), ham(2)], [spam(1), spam(2)])

    ann.deliver(spam(3))
    ann.move(spam(1), "Junk", "INBOX")
    ann.move(ham(1), "INBOX", "Junk")
    assert sync() == (1, ["ham", "spam"])
    assert (ann.texts(), ann.texts("Junk")) == ([ham(2), spam(1)], [ham(1), spam(2), spam(3)])

    box = Maildir(tmp_path / "home" / inbox)
    junk = Maildir(box.locate("../Junk" if layout == "beside" else "Junk"))
    (restored,) = [entry for entry in junk.entries() if b"<spam2@" in Path(entry.path).read_bytes()]
    junk.move(restored, box, seen=True)
    assert sync() == (0, ["ham"])
    assert sync() == (0, [])
    assert (ann.texts(), ann.texts("Junk")) == ([ham(2), spam(1), spam(2)], [ham(1), spam(3)])


def prepare(
    user: User, home: Home, settings: dict[str, str], command: dict[str, str]
) -> Callable[[], tuple[int, list[str]]]:
    """Install the recipe; return a function that runs it, and returns the number of moves and the learned classes."""
    places = {
        "Host imap.example.org": f"Host localhost\nPort {user.server.port}\nCertificateFile {user.server.certificate}",
        "ann@example.org": user.name,
        "~/.config/suffice/imap-password": str(user.server.place / "password"),
    }
    (home.path / ".mbsyncrc").write_text(replaced(block("~/.mbsyncrc"), {**places, **settings}))
    (home.path / "Mail").mkdir()
    home.environment["PATH"] = f"{home.path}{os.pathsep}{home.environment['PATH']}"
    line = replaced(shell("mbsync -a &&"), command)

    def run() -> tuple[int, list[str]]:
        done = home.run("/bin/sh", "-c", line)
        assert done.returncode == 0, done.stderr
        assert b"duplicate" not in done.stderr.lower()
        lines = done.stdout.decode().splitlines()
        learned = sorted(each.split()[2] for each in lines if each.startswith("learned as "))
        return sum(each.startswith("moved to ") for each in lines), learned

    return run

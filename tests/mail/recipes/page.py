"""The recipes of the pages, and home folders to run them in."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from suffice.mail import MailFilter
from suffice.mail.health import status

ROOT = Path(__file__).parents[3]
PAGES = ("mail/recipes.md", "from-bogofilter.md")
PAGE = "\n".join((ROOT / "docs" / page).read_text(encoding="utf-8") for page in PAGES)
COMMAND = "/opt/suffice/bin/suffice"
FILTER = ".local/share/suffice/mail.db"
_NUMBERS = itertools.count(1)
_NAMED = re.compile(r"^`([^`\n]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def block(name: str, which: int = 0) -> str:
    """Return the content of a file by the pages."""
    found: list[str] = [text for title, text in _NAMED.findall(PAGE) if title == name]
    return found[which]


def shell(words: str) -> str:
    """Return the one block of commands that contains some words."""
    found: list[str] = [text for text in _SHELL.findall(PAGE) if words in text]
    assert len(found) == 1, words
    return found[0]


def replaced(text: str, places: Mapping[str, object]) -> str:
    """Return a text with paths replaced; each must occur in it."""
    for old, new in places.items():
        assert old in text, f"{old} is not in the recipe"
        text = text.replace(old, str(new))
    return text


def executable(path: Path, text: str) -> Path:
    """Write a file that all users can execute."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


class Home:
    """A home folder with a Maildir, a trained filter and the command.

    Parameters
    ----------
    path
        The folder, which is made.
    learned
        A filter's file, which is copied.
    """

    def __init__(self, path: Path, learned: Path) -> None:
        self.path = path
        self.filter = path / FILTER
        self.maildir = path / "Maildir"
        self.filter.parent.mkdir(parents=True)
        shutil.copy(learned, self.filter)
        self.filter.chmod(0o600)
        for part in ("tmp", "new", "cur"):
            (self.maildir / part).mkdir(parents=True)
        self.command = executable(path / "suffice", f'#!/bin/sh\nexec "{sys.executable}" -m suffice "$@"\n')
        self.environment = {"HOME": str(path), "PATH": os.environ["PATH"], "TERM": "xterm"}

    def recipe(self, name: str, which: int = 0) -> str:
        """Return the content of a file by the page, with the command of this home folder."""
        return block(name, which).replace(COMMAND, str(self.command))

    def rules(self, name: str) -> Path:
        """Write a file of rules of the page. The user that runs them has another home folder, so this one is named."""
        file = self.path / Path(name).name
        file.write_text(f'HOME="{self.path}"\n' + self.recipe(name))
        file.chmod(0o600)
        return file

    def run(
        self, *command: str | Path, message: bytes = b"", user: int | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command in this home folder, as another user if one is given."""
        return subprocess.run(
            command,
            input=message,
            env=self.environment,
            cwd=self.path,
            capture_output=True,
            timeout=60,
            check=False,
            user=user,
            extra_groups=None if user is None else (),
        )

    def marked(self, message: bytes) -> bytes:
        """Return a message with the filter's field."""
        return self.run(self.command, "mail", "filter", "-e", message=message).stdout

    def folder(self, name: str = "") -> list[bytes]:
        """Return the messages in a folder of the Maildir."""
        return [file.read_bytes() for file in self.files(name)]

    def files(self, name: str = "") -> list[Path]:
        """Return the files of the messages in a folder of the Maildir."""
        return sorted(file for part in ("new", "cur") for file in (self.maildir / name / part).glob("*"))

    def put(self, message: bytes, name: str = "") -> Path:
        """Add a message to a folder of the Maildir, like a mail program."""
        file = self.path / f"{next(_NUMBERS)}.1.here"
        file.write_bytes(message)
        return self.move(file, name)

    def move(self, file: Path, name: str) -> Path:
        """Move a message to a folder of the Maildir, like a mail program that has displayed it."""
        for part in ("tmp", "new", "cur"):
            (self.maildir / name / part).mkdir(parents=True, exist_ok=True)
        return file.rename(self.maildir / name / "cur" / (file.name.partition(":")[0] + ":2,S"))

    def learned(self) -> dict[str, int]:
        """Return the number of learned messages of each class."""
        with MailFilter(self.filter) as own:
            return status(own).learned

    def fail(self, how: str) -> None:
        """Make the filter fail from now on."""
        if how == "missing":
            self.filter.unlink()
        elif how == "damaged":
            self.filter.write_bytes(b"\0garbage" * 1000)
        elif how == "not there":
            self.command.unlink()
        else:
            executable(self.command, '#!/bin/sh\necho "X-Suffice: spam; p=1"\nhead -c 100\nkill -9 $$\n')


#: Failures of a filter; the last one is killed after writing half of a message.
FAILURES = ("missing", "damaged", "not there", "killed")

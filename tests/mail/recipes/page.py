"""The recipes as they stand on the page, and homes of users in which they are tried."""

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
PAGE = (ROOT / "docs" / "mail" / "recipes.md").read_text(encoding="utf-8")
COMMAND = "/opt/suffice/bin/suffice"
FILTER = ".local/share/suffice/mail.db"
_NUMBERS = itertools.count(1)
_NAMED = re.compile(r"^`([^`\n]+)`[^\n]*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def block(name: str, which: int = 0) -> str:
    """Return what the page says is in a file."""
    found: list[str] = [text for title, text in _NAMED.findall(PAGE) if title == name]
    return found[which]


def shell(words: str) -> str:
    """Return the one block of commands that has some words in it."""
    found: list[str] = [text for text in _SHELL.findall(PAGE) if words in text]
    assert len(found) == 1, words
    return found[0]


def replaced(text: str, places: Mapping[str, object]) -> str:
    """Return a text with other places in it. Each must be there: a recipe without them is not what is tested."""
    for old, new in places.items():
        assert old in text, f"{old} is not in the recipe"
        text = text.replace(old, str(new))
    return text


def executable(path: Path, text: str) -> Path:
    """Write a file that may be run by all."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


class Home:
    """A home with a Maildir, a filter that has learned, and the command.

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
        """Return what the page says is in a file, with the command of this home."""
        return block(name, which).replace(COMMAND, str(self.command))

    def rules(self, name: str) -> Path:
        """Write a file of rules as the page has it. Who runs them lives elsewhere, so this home is named in it."""
        file = self.path / Path(name).name
        file.write_text(f'HOME="{self.path}"\n' + self.recipe(name))
        file.chmod(0o600)
        return file

    def run(self, *command: str | Path, message: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """Run a command in this home."""
        return subprocess.run(
            command, input=message, env=self.environment, cwd=self.path, capture_output=True, timeout=60, check=False
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
        """Put a message into a folder of the Maildir, as a mail program would."""
        file = self.path / f"{next(_NUMBERS)}.1.here"
        file.write_bytes(message)
        return self.move(file, name)

    def move(self, file: Path, name: str) -> Path:
        """Move a message into a folder of the Maildir, as a mail program would that has shown it."""
        for part in ("tmp", "new", "cur"):
            (self.maildir / name / part).mkdir(parents=True, exist_ok=True)
        return file.rename(self.maildir / name / "cur" / (file.name.partition(":")[0] + ":2,S"))

    def learned(self) -> dict[str, int]:
        """Return how many messages of each class the filter has learned."""
        with MailFilter(self.filter) as own:
            return status(own).learned

    def fail(self, how: str) -> None:
        """Let the filter fail from now on."""
        if how == "missing":
            self.filter.unlink()
        elif how == "damaged":
            self.filter.write_bytes(b"\0garbage" * 1000)
        elif how == "not there":
            self.command.unlink()
        else:
            executable(self.command, '#!/bin/sh\necho "X-Suffice: spam; p=1"\nhead -c 100\nkill -9 $$\n')


#: Ways in which a filter fails. The last is killed when it has written half of a message.
FAILURES = ("missing", "damaged", "not there", "killed")

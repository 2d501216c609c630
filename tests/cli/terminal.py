"""A command on a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path
from typing import NamedTuple

from tests.cli.command import COMMAND

#: What moves the cursor or sets a colour.
ESCAPE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")
#: What sets a colour: bold, dim and plain are none.
COLOUR = re.compile(rb"\x1b\[[0-9;]*(?:3[0-8]|9[0-7])[0-9;]*m")


class Shown(NamedTuple):
    """What a command showed."""

    code: int
    screen: bytes  # what went to the terminal
    out: bytes  # what went to standard output, where that was a file


def on_terminal(*words: object, out: Path | None = None, columns: int = 100, **environment: str) -> Shown:
    """Run a command whose standard error is a terminal, and its standard output too unless that goes to a file."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "FORCE_COLOR")}
    stdout = theirs if out is None else os.open(out, os.O_WRONLY | os.O_CREAT)
    command = subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=theirs,
        env={**plain, "TERM": "xterm-256color", **environment},
    )
    os.close(theirs)
    if out is not None:
        os.close(stdout)
    screen = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    return Shown(command.wait(timeout=60), screen, b"" if out is None else out.read_bytes())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how a terminal that nobody writes to any more ends
        return b""

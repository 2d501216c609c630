"""A command on a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from suffice.cli import main

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
    ours, theirs = _open_terminal(columns)
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    settings = {**plain, "TERM": "xterm-256color", "COLUMNS": str(columns), **environment}
    with ThreadPoolExecutor(1) as pool:
        screen = pool.submit(_read_all, ours)
        with ExitStack() as streams:
            error = streams.enter_context(os.fdopen(theirs, "w", encoding="utf-8"))
            answer = error if out is None else streams.enter_context(out.open("w", encoding="utf-8"))
            given = streams.enter_context(Path(os.devnull).open(encoding="utf-8"))
            arguments = ["suffice", *map(str, words)]
            streams.enter_context(patch.multiple(sys, argv=arguments, stdin=given, stdout=answer, stderr=error))
            streams.enter_context(patch.dict(os.environ, settings, clear=True))
            with pytest.raises(SystemExit) as left:
                main()
        seen = screen.result(60)
    os.close(ours)
    return Shown(left.value.code, seen, b"" if out is None else out.read_bytes())


def on_terminal_of_unnamed_width(*words: object, columns: int) -> Shown:
    """Run a command on a terminal whose width no variable names: the streams of this process tell it meanwhile."""
    terminal = _open_terminal(columns)
    kept = [os.dup(stream) for stream in range(3)]
    try:
        for stream in range(3):
            os.dup2(terminal[1], stream)
        return on_terminal(*words, columns=columns, COLUMNS="")
    finally:
        for stream, old in enumerate(kept):
            os.dup2(old, stream)
        for descriptor in (*terminal, *kept):
            os.close(descriptor)


def _open_terminal(columns: int) -> tuple[int, int]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    return ours, theirs


def _read_all(terminal: int) -> bytes:
    return b"".join(iter(lambda: _read(terminal), b""))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # how a terminal that nobody writes to any more ends
        return b""

"""The command line, run in this process or in one of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO
from unittest.mock import patch

from suffice.cli import main

#: Starts the command in a process of its own.
COMMAND = [sys.executable, "-m", "suffice"]


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        """What went to standard output."""
        return self.raw.decode()

    @property
    def json(self) -> Any:
        """What standard output holds, as JSON without extensions such as NaN."""
        return json.loads(self.raw, parse_constant=_refused)

    @property
    def lines(self) -> list[str]:
        """The lines of standard output."""
        return self.out.splitlines()


def _refused(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def suffice(*words: object, stdin: bytes = b"", stdout: TextIO | None = None) -> Ran:
    """Run a command in this process, with a standard output that is kept, or one that is given."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    with (
        patch.multiple(sys, argv=["suffice", *map(str, words)], stdin=given, stdout=stdout or out, stderr=err),
        patch.dict(os.environ, {"COLUMNS": "100"}),
    ):
        try:
            main()
        except SystemExit as left:
            code = left.code
    assert isinstance(code, int)
    return Ran(code, out.buffer.getvalue(), err.buffer.getvalue().decode())  # type: ignore[attr-defined]


def done(*words: object, stdin: bytes = b"") -> Ran:
    """Run a command that must work."""
    ran = suffice(*words, stdin=stdin)
    assert ran.code == 0, ran.err
    return ran


def refused(*words: object, code: int, stdin: bytes = b"") -> str:
    """Run a command that must not work, and return its one sentence, which names its cause and cure."""
    ran = suffice(*words, stdin=stdin)
    assert ran.code == code, (ran.code, ran.err)
    assert ran.raw == b"", "an error leaves no answer"
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err
    sentence = ran.err.removesuffix("\n")
    assert "\n" not in sentence, sentence
    assert sentence.startswith("error: "), sentence
    return sentence


def process(*words: object, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own."""
    settings: dict[str, Any] = {"capture_output": True, "timeout": 60, **how}
    return subprocess.run([*COMMAND, *map(str, words)], check=False, **settings)


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    """Return a file that holds a text."""
    path.write_bytes(text.encode(encoding))
    return path

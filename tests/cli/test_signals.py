"""Ctrl-C, and pipes that are closed early."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from suffice.cli import app
from suffice.mail import MailFilter
from tests.cli.command import COMMAND, process, suffice, written

pytestmark = pytest.mark.needs("posix")

#: Commands whose processes take seconds to start.
MORE = [("info", "MODEL"), ("predict", "MODEL", "TABLE"), ("sample", "MODEL", "-n", "50000")]


@pytest.fixture(scope="module")
def long_table(place: Path, houses: Path) -> Path:
    """400,000 houses, which take a while."""
    header, *rows = houses.read_text(encoding="utf-8").splitlines(keepends=True)
    path = place / "long.csv"
    path.write_text(header + "".join(rows) * 500, encoding="utf-8")
    return path


#: How a command ends that is interrupted: by itself, or, where a library sends the signal once more, by the signal. A
#: shell reports 130 for both.
INTERRUPTED = (130, -signal.SIGINT)


def started(*words: object, **settings: Any) -> subprocess.Popen[bytes]:
    """Start a command in a group of its own: a library may send the signal of Ctrl-C again, to the whole process."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
    return subprocess.Popen([*COMMAND, *map(str, words)], start_new_session=True, **pipes)


def interrupt(command: subprocess.Popen[bytes], begun: Callable[[], bool]) -> None:
    """Press Ctrl-C as soon as the command has begun, and check what it says."""
    end = time.monotonic() + 60
    while not begun() and command.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    assert command.poll() is None, "the command was done before it could be interrupted"
    os.killpg(command.pid, signal.SIGINT)
    out, err = command.communicate(timeout=60)
    assert command.returncode in INTERRUPTED, err
    assert (out, err.strip()) == (b"", b"interrupted: no file was changed")


def test_control_c_while_predicting(nb: Path, long_table: Path, tmp_path: Path) -> None:
    old = written(tmp_path / "answers.csv", "old")
    interrupt(started("predict", nb, long_table, "--explain", "-o", old), lambda: any(tmp_path.glob(".suffice-*")))
    assert list(tmp_path.iterdir()) == [old]
    assert old.read_text() == "old"


@pytest.mark.slow
def test_control_c_while_fitting(long_table: Path, tmp_path: Path) -> None:
    old = written(tmp_path / "m.suffice", "old")
    end = time.monotonic() + 4
    interrupt(started("fit", long_table, "-t", "sold_fast", "-o", old), lambda: time.monotonic() > end)
    assert list(tmp_path.iterdir()) == [old]
    assert old.read_text() == "old"


def test_control_c_leaves_nothing_of_standard_input(long_table: Path, tmp_path: Path) -> None:
    settings = {"stdin": subprocess.PIPE, "env": {**os.environ, "TMPDIR": str(tmp_path)}}
    command = started("fit", "-", "-t", "sold_fast", **settings)
    assert command.stdin is not None
    command.stdin.write(long_table.read_bytes()[:1_000_000])
    command.stdin.flush()
    interrupt(command, lambda: any(tmp_path.iterdir()))
    assert list(tmp_path.iterdir()) == []


def raise_keyboard_interrupt(number: int, frame: FrameType | None) -> None:
    """Do what Python's own handler does, as Spark's does after it has cancelled its jobs."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("handler", [signal.default_int_handler, raise_keyboard_interrupt])
def test_control_c_that_a_library_turns_into_an_error_of_its_own_is_still_one(
    handler: Callable[[int, FrameType | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted_query(**settings: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None

    monkeypatch.setattr(app.suffice, "main", interrupted_query)
    before = signal.signal(signal.SIGINT, handler)
    try:
        ran = suffice("info", "model")
        after = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (ran.code, ran.err) == (130, "interrupted: no file was changed\n")
    assert after is handler


KEPT = "interrupted: what was learned is kept; run the command again to continue\n"


@pytest.mark.parametrize(("command", "is_kept"), [("learn --spam", True), ("status", False)])
def test_control_c_says_whether_what_was_learned_is_kept(
    command: str, is_kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **settings: object) -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(MailFilter, "store", interrupted)
    ran = suffice("mail", *command.split(), "--filter", tmp_path / "mail.db", stdin=b"Subject: x\n\ny\n")
    assert (ran.code, ran.raw) == (130, b"")
    assert ran.err == (KEPT if is_kept else "interrupted\n")


def test_a_table_for_a_pipe_that_is_closed_is_no_failure(nb: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    with os.fdopen(theirs, "w", encoding="utf-8") as out:
        ran = suffice("info", nb, stdout=out)
    assert (ran.code, ran.err) == (0, "")


def test_a_pipe_that_is_closed_early(nb: Path, houses: Path) -> None:
    ours, theirs = os.pipe()

    def read_a_little() -> bytes:
        with os.fdopen(ours, "rb", buffering=0) as pipe:
            return pipe.read(10)

    with ThreadPoolExecutor(1) as reader, os.fdopen(theirs, "w", encoding="utf-8") as out:
        first = reader.submit(read_a_little)
        ran = suffice("predict", nb, houses, "--probabilities", "--keep-all", stdout=out)
    assert (ran.code, ran.err) == (0, "")
    assert len(first.result()) == 10


@pytest.mark.parametrize(
    "words", [("completion", "bash"), *(pytest.param(words, marks=pytest.mark.slow) for words in MORE)], ids=" ".join
)
def test_a_pipe_that_nobody_reads(nb: Path, houses: Path, words: tuple[str, ...]) -> None:
    """A process ends as if its output had been read, and says nothing, also while Python closes its files."""
    given = [str({"MODEL": nb, "TABLE": houses}.get(word, word)) for word in words]
    ours, theirs = os.pipe()
    os.close(ours)
    ran = process(*given, stdout=theirs, stderr=subprocess.PIPE, capture_output=False)
    os.close(theirs)
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("words", [("predict", "MODEL", "TABLE"), ("info", "MODEL")], ids=" ".join)
def test_a_closed_standard_output_is_named(nb: Path, houses: Path, words: tuple[str, ...]) -> None:
    given = [str({"MODEL": nb, "TABLE": houses}.get(word, word)) for word in words]
    command = [*COMMAND, *given]
    ran = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (2, b"error: standard output is closed\n")


def test_an_output_that_lacks_characters_shows_their_codes(tmp_path: Path) -> None:
    cells = "".join(f"{row * 7 % 31}.5,{'yes' if row % 2 else 'no'} €\n" for row in range(60))
    (tmp_path / "t.csv").write_text("größe,y\n" + cells, encoding="utf-8")
    model = tmp_path / "m.suffice"
    given = ["fit", str(tmp_path / "t.csv"), "-t", "y", "-m", "nb", "-o", str(model)]
    ran = process(*given, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert ran.returncode == 0
    assert b"gr\xf6\xdfe" in ran.stdout
    assert rb"yes \u20ac" in ran.stdout
    assert model.exists()

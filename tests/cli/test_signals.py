"""Ctrl-C, and pipes that are closed early."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from suffice.cli import app
from tests.cli.command import COMMAND, suffice, written

pytestmark = pytest.mark.needs("posix")


@pytest.fixture(scope="module")
def long_table(place: Path, houses: Path) -> Path:
    """400,000 houses, which take a while."""
    header, *rows = houses.read_text(encoding="utf-8").splitlines(keepends=True)
    path = place / "long.csv"
    path.write_text(header + "".join(rows) * 500, encoding="utf-8")
    return path


def interrupted(*words: object, begun: Path | None = None, seconds: float = 2.0) -> tuple[int, bytes, bytes]:
    """Run a command in a group of its own, and press Ctrl-C when a file appears, or after a time."""
    command = subprocess.Popen(
        [*COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    end = time.monotonic() + (30 if begun is not None else seconds)
    while command.poll() is None and time.monotonic() < end:
        if begun is not None and any(begun.glob(".suffice-*")):
            break
        time.sleep(0.01)
    assert command.poll() is None, "the command was done before it could be interrupted"
    os.killpg(command.pid, signal.SIGINT)
    out, err = command.communicate(timeout=60)
    return command.returncode, out, err


def test_control_c_while_predicting(nb: Path, long_table: Path, tmp_path: Path) -> None:
    old = written(tmp_path / "answers.csv", "old")
    code, out, err = interrupted("predict", nb, long_table, "--explain", "-o", old, begun=tmp_path)
    assert code == 130
    assert out == b""
    assert b"stopped" in err
    assert b"Traceback" not in err
    assert err.strip().count(b"\n") == 0
    assert list(tmp_path.iterdir()) == [old]
    assert old.read_text() == "old"


def test_control_c_while_fitting(long_table: Path, tmp_path: Path) -> None:
    old = written(tmp_path / "m.suffice", "old")
    code, out, err = interrupted("fit", long_table, "-t", "sold_fast", "-o", old, seconds=4)
    assert (code, out) == (130, b"")
    assert b"stopped" in err
    assert b"Traceback" not in err
    assert list(tmp_path.iterdir()) == [old]
    assert old.read_text() == "old"


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
    assert (ran.code, ran.err) == (130, "stopped: files are as they were\n")
    assert after is handler


@pytest.mark.slow
def test_control_c_leaves_nothing_of_standard_input(long_table: Path, tmp_path: Path) -> None:
    command = subprocess.Popen(
        [*COMMAND, "fit", "-", "-t", "sold_fast"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert command.stdin is not None
    command.stdin.write(long_table.read_bytes()[:1_000_000])
    command.stdin.flush()
    end = time.monotonic() + 30
    while not list(tmp_path.iterdir()) and time.monotonic() < end:
        time.sleep(0.05)
    os.killpg(command.pid, signal.SIGINT)
    _, err = command.communicate(timeout=60)
    assert command.returncode == 130, err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words", [("predict", "MODEL", "TABLE"), pytest.param(("sample", "MODEL", "-n", "50000"), marks=pytest.mark.slow)]
)
def test_a_pipe_that_is_closed_early(nb: Path, houses: Path, words: tuple[str, ...], tmp_path: Path) -> None:
    given = [str({"MODEL": nb, "TABLE": houses}.get(word, word)) for word in words]
    with (tmp_path / "err").open("wb") as err:
        command = subprocess.Popen([*COMMAND, *given], stdout=subprocess.PIPE, stderr=err)
        assert command.stdout is not None
        first = command.stdout.read(10)
        command.stdout.close()
        assert command.wait(timeout=60) == 0
    assert len(first) == 10
    assert (tmp_path / "err").read_bytes() == b""


@pytest.mark.slow
def test_a_pipe_that_nobody_reads(nb: Path, tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    ran = subprocess.run([*COMMAND, "info", str(nb)], stdout=theirs, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(theirs)
    assert (ran.returncode, ran.stderr) == (0, b"")

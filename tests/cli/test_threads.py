"""The command within a program that runs it in a thread of its own."""

from __future__ import annotations

import sys
from threading import Thread

import pytest

from suffice.cli.app import run


def test_the_command_runs_in_a_thread(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["suffice", "--version"])
    codes: list[object] = []

    def call() -> None:
        try:
            run()
        except SystemExit as error:
            codes.append(error.code)

    thread = Thread(target=call)
    thread.start()
    thread.join()
    assert codes == [0]
    assert "suffice" in capsys.readouterr().out

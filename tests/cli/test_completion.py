"""Shell completion of commands, options, columns and kinds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import BashComplete

from suffice.cli.app import COMMANDS
from suffice.cli.app import suffice as group
from tests.cli.command import Ran, done, refused
from tests.requirements import require


def completed(*words: object, incomplete: str = "") -> list[str]:
    """Return what may follow some words."""
    shell = BashComplete(group, {}, "suffice", "_SUFFICE_COMPLETE")
    return [item.value for item in shell.get_completions([str(word) for word in words], incomplete)]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: str) -> None:
    script = done("completion", shell).out
    assert f"_SUFFICE_COMPLETE={shell}_complete" in script
    assert "suffice" in script


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_accepts_its_script(shell: str) -> None:
    require(shell)
    script = done("completion", shell).raw
    check = subprocess.run([shell, "-n"], input=script, capture_output=True, check=False, timeout=30)
    assert (check.returncode, check.stderr) == (0, b"")


def test_other_shells_are_refused() -> None:
    sentence = refused("completion", "tcsh", code=2)
    assert "'tcsh'" in sentence
    assert all(shell in sentence for shell in ("bash", "zsh", "fish"))


def test_no_shell_is_refused_in_one_sentence() -> None:
    assert "bash" in refused("completion", code=2)


@pytest.mark.parametrize(
    ("words", "place", "expected"),
    [
        ("suffice ev", 1, "plain,evaluate"),
        ("suffice fit t.csv --tar", 3, "plain,--target"),
        ("suffice fit t.csv --model gda", 4, "plain,gda\nplain,gda-full"),
    ],
)
def test_bash_is_answered(words: str, place: int, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = answered(monkeypatch, _SUFFICE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(place))
    assert ran.out.strip() == expected


def test_zsh_and_fish_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"COMP_WORDS": "suffice expl", "COMP_CWORD": "1"}
    zsh = answered(monkeypatch, _SUFFICE_COMPLETE="zsh_complete", **asked)
    assert zsh.lines[:2] == ["plain", "explain"]
    fish = answered(monkeypatch, _SUFFICE_COMPLETE="fish_complete", **{**asked, "COMP_CWORD": "expl"})
    assert fish.out.startswith("plain,explain")


def answered(monkeypatch: pytest.MonkeyPatch, **asked: str) -> Ran:
    """Return what a shell is told that asks by variables."""
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    return done()


def test_commands() -> None:
    assert completed() == list(COMMANDS)
    assert completed(incomplete="m") == ["merge", "mail"]
    assert completed("text") == ["fit", "predict", "explain", "evaluate", "update"]


def test_columns_come_from_the_header(houses: Path) -> None:
    columns = houses.read_text(encoding="utf-8").splitlines()[0].split(",")
    for option in ("--target", "-t", "--ignore"):
        assert completed("fit", houses, option) == columns
    assert completed("fit", houses, "--target", incomplete="r") == ["rooms"]
    assert completed("compare", houses, "--target", incomplete="he") == ["heating"]


def test_kinds_follow_columns(houses: Path) -> None:
    assert completed("fit", houses, "--kind", incomplete="bu") == ["built="]
    assert completed("fit", houses, "--kind", incomplete="built=c") == ["built=count", "built=category"]
    assert len(completed("fit", houses, "--kind", incomplete="built=")) == 7


def test_models_and_tasks() -> None:
    assert completed("fit", "t.csv", "-m", incomplete="lo") == ["logistic", "local"]
    assert completed("fit", "t.csv", "--task") == ["classes", "numbers", "counts"]


def test_columns_to_keep_are_completed(nb: Path, houses: Path) -> None:
    assert completed("predict", nb, houses, "--keep", incomplete="dist") == ["district"]


def test_a_table_that_is_not_there_completes_nothing(tmp_path: Path) -> None:
    assert completed("fit", tmp_path / "none.csv", "--target") == []
    assert completed("fit", "-", "--target") == []


def test_a_damaged_table_completes_nothing_and_says_nothing(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(b"no parquet")
    assert completed("fit", damaged, "--target") == []


@pytest.mark.needs("bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(("--target", "vie"), "viewings", marks=pytest.mark.slow),
        (("--kind", "built=cat"), "built=category"),  # the script keeps bash from breaking words at =
    ],
)
def test_bash_completes_for_real(houses: Path, tmp_path: Path, words: tuple[str, ...], expected: str) -> None:
    """A shell that has read the script completes a column, and a kind."""
    program = tmp_path / "suffice"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m suffice "$@"\n')
    program.chmod(0o755)
    script = tmp_path / "completion.bash"
    script.write_bytes(done("completion", "bash").raw)
    ask = (
        f"source {script}; COMP_WORDS=(suffice fit {houses} {' '.join(words)}); COMP_CWORD={2 + len(words)}; "
        'COMPREPLY=(); _suffice_completion suffice; [[ $COMP_WORDBREAKS != *=* ]] && echo "${COMPREPLY[@]}"'
    )
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    ran = subprocess.run(["bash", "-c", ask], capture_output=True, check=True, timeout=60, env=path)
    assert ran.stdout.decode().strip() == expected

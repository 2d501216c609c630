"""How the command starts: fast, with help for every command, and nothing read that is not needed."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from suffice.cli.app import COMMANDS
from suffice.cli.app import suffice as group
from suffice.cli.version import find_commit
from tests.cli.command import done, process, suffice

#: Libraries that take long to read.
SLOW = ("numpy", "scipy", "sklearn", "pyarrow", "duckdb", "matplotlib", "pandas", "suffice.tables.model")


class Unimportable:
    """Raises where the commands are imported."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def find_spec(self, name: str, *_: object) -> None:
        if name == "suffice.cli.app":
            raise self.error


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (ModuleNotFoundError(name="click"), 2, "error: the command needs click: pip install 'suffice[cli]'\n"),
    ],
)
def test_commands_that_cannot_be_imported(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "suffice.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Unimportable(error), *sys.meta_path])
    ran = suffice("--version")
    assert (ran.code, ran.out, ran.err) == (code, "", said)


def test_a_missing_module_of_our_own_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "suffice.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Unimportable(ModuleNotFoundError(name="suffice.none")), *sys.meta_path])
    with pytest.raises(ModuleNotFoundError):
        suffice("--version")


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("fit", "--help"), ("text", "fit", "--help")])
def test_help_reads_no_slow_library(words: tuple[str, ...]) -> None:
    script = (
        "import sys, atexit\n"
        f"atexit.register(lambda: sys.stderr.write(' '.join(each for each in {SLOW} if each in sys.modules)))\n"
        f"sys.argv = {['suffice', *words]}\n"
        "from suffice.cli import main\n"
        "main()"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, timeout=60)
    assert ran.stderr == b""
    assert ran.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str) -> None:
    for flag in ("--help", "-h"):
        help_text = done(name, flag).out
        assert help_text.startswith(f"Usage: suffice {name}")
        assert all(len(line) <= 100 and line == line.rstrip() for line in help_text.splitlines())
    summary = next(line for line in done("--help").lines if line.startswith(f"  {name} "))
    assert len(summary.split()) > 2


def test_every_option_says_what_it_does() -> None:
    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        assert command.help
        for parameter in command.params:
            assert not isinstance(parameter, click.Option) or parameter.help, f"{name} {parameter.opts}"


def test_the_version_is_the_package_s() -> None:
    assert re.fullmatch(
        rf"suffice {re.escape(version('suffice'))}( \([0-9a-f]{{12}}(-dirty)?\))?\n", done("--version").out
    )


def test_the_commit_is_the_recorded_one_or_that_of_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "src" / "suffice"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    assert find_commit(package) == ""
    git = ("git", "-C", tmp_path, "-c", "user.name=n", "-c", "user.email=e@x")
    subprocess.run([*git, "init", "--quiet"], check=True)
    assert find_commit(package) == ""
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message=m"], check=True)
    subprocess.run([*git, "tag", "v1"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:12]
    assert find_commit(package) == head
    (package / "__init__.py").write_text("# changed\n")
    assert find_commit(package) == f"{head}-dirty"
    (package / "commit.txt").write_text("0123456789ab\n")
    assert find_commit(package) == "0123456789ab"
    (package / "commit.txt").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_commit(package) == ""


def test_without_a_command_there_is_help() -> None:
    ran = suffice()
    assert ran.code == 2
    assert "Commands:" in ran.out + ran.err


def test_the_installed_command_is_the_module() -> None:
    from importlib.metadata import entry_points

    (found,) = entry_points(group="console_scripts", name="suffice")
    assert found.value == "suffice.cli:main"
    assert process("--version").stdout.decode() == done("--version").out

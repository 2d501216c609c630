"""The commands by name, and how errors leave the program: 0, fine; 1, the data says no; 2, misuse."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

import click

#: Where each command lives, in the order in which they are listed.
COMMANDS = {
    "fit": "fitting",
    "predict": "predicting",
    "evaluate": "evaluating",
    "compare": "comparing",
    "explain": "explaining",
    "report": "reporting",
    "info": "describing",
    "sql": "scoring",
    "sample": "drawing",
    "impute": "drawing",
    "outliers": "drawing",
    "update": "algebra",
    "merge": "algebra",
    "forget": "algebra",
    "text": "text",
    "mail": "mail",
    "demo": "tour",
    "completion": "completing",
}


class Later(click.Group):
    """Commands whose modules are read when they are called."""

    #: Where each command lives in a package, in the order in which they are listed, and how the functions' names end.
    known: Mapping[str, str]
    package: str
    ending = ""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.known)

    def get_command(self, context: click.Context, name: str) -> click.Command:
        """Return a command that is known."""
        module = importlib.import_module(f"{self.package}.{self.known[name]}")
        command: click.Command = getattr(module, name + self.ending)
        return command

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        """Return the command that is asked for, or say which may be meant."""
        check_command(args, self.known, context)
        return super().resolve_command(context, args)


class Commands(Later):
    """All of them."""

    known, package = COMMANDS, "suffice.cli"

    def invoke(self, context: click.Context) -> Any:
        """Run a command. Whoever reads our output may have had enough of it: that is no failure."""
        try:
            return super().invoke(context)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from None


def check_command(args: list[str], known: Iterable[str], context: click.Context) -> None:
    """Raise where there is no such command, and say which may be meant."""
    if args and args[0] not in known and not args[0].startswith("-"):
        from suffice.tables.errors import nearest

        raise click.UsageError(f"there is no command {args[0]!r}{nearest(args[0], known)}", context)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="suffice", prog_name="suffice")
def suffice() -> None:
    """Learn from tables and text with models you can read.

    A table is a file (CSV, TSV, Parquet, Arrow, JSON lines; .gz and .zst too), a folder or a glob of such files
    (folders called column=value are columns), a URL of them (s3://, gs://), a table of a database (file.duckdb::name,
    file.sqlite::name, postgresql://...::name), or - for standard input. A model is a file, or a URL.
    """


def run() -> NoReturn:
    """Run a command, and leave with a code and at most one sentence."""
    interrupts: list[int] = []
    try:
        with _record_interrupts(interrupts):
            code = suffice.main(prog_name="suffice", standalone_mode=False)
    except click.ClickException as error:
        _say(" ".join(error.format_message().split()))
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(_report_interrupt())
    except Exception as error:
        # A library that is interrupted may raise an error of its own instead of Python's.
        sys.exit(_report_interrupt() if interrupts else _complain(error))
    sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def _record_interrupts(seen: list[int]) -> Iterator[None]:
    """Append each SIGINT to a list, and handle it as before."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _report_interrupt() -> int:
    """Say that the command was interrupted, and return the exit code."""
    from suffice.cli.output import say

    say("stopped: files are as they were")
    return 130


def _complain(error: Exception) -> int:
    """Say what went wrong in one sentence, and return the exit code."""
    from suffice.tables.errors import MissingExtraError, UsageError

    if os.environ.get("SUFFICE_TRACEBACK"):
        raise error
    if isinstance(error, FileNotFoundError):
        if error.filename is None or "there is" in str(error):
            _say(f"{error.strerror}: {error.filename}" if error.strerror else str(error))
        else:
            _say(f"there is no file {error.filename}: check its name and folder")
        return 2
    if isinstance(error, OSError):
        _say(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
        return 1
    if isinstance(error, UsageError | MissingExtraError):
        _say(str(error))
        return 2
    if isinstance(error, ValueError | TypeError | ArithmeticError | MemoryError):
        _say(str(error) or type(error).__name__)
        return 1
    _say(
        f"something went wrong in suffice itself ({type(error).__name__}: {error}): SUFFICE_TRACEBACK=1 shows where; "
        "please report it"
    )
    return 1


def _say(sentence: str) -> None:
    from suffice.cli.output import say

    say(sentence, "error")

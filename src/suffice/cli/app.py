"""The commands by name, and the exit codes: 0 success, 1 the data is refused, 2 wrong usage, 130 interrupted."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

#: The commands in the order of the help; each has the module of its name.
COMMANDS = (
    "fit",
    "predict",
    "evaluate",
    "compare",
    "explain",
    "summary",
    "report",
    "info",
    "sql",
    "export",
    "sample",
    "impute",
    "outliers",
    "update",
    "merge",
    "forget",
    "text",
    "mail",
    "demo",
    "completion",
)


class LazyGroup(click.Group):
    """A group that imports the module of a command when the command is called."""

    #: The commands in the order of the help, the package of their modules, and the suffix of their functions' names.
    names: Sequence[str]
    package: str
    suffix = ""

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.names)

    def get_command(self, context: click.Context, name: str) -> click.Command:
        """Import a command."""
        module = importlib.import_module(f"{self.package}.{name}")
        command: click.Command = getattr(module, name + self.suffix)
        return command

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        """Return the command of the arguments; raise with the closest name if there is none."""
        check_command(args, self.names, context)
        return super().resolve_command(context, args)


class Commands(LazyGroup):
    """The commands of ``suffice``."""

    names, package = COMMANDS, "suffice.cli"

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        """Return the command; with a closed standard output, only ``mail`` runs: a mail filter handles that."""
        if sys.stdout is None and args[:1] != ["mail"]:
            raise click.ClickException("standard output is closed")
        return super().resolve_command(context, args)

    def invoke(self, context: click.Context) -> Any:
        """Run a command. A reader that closes the pipe early, such as ``head``, is no error."""
        prepare_streams()
        try:
            return super().invoke(context)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from None


def prepare_streams() -> None:
    """Replace a closed standard error, and let both streams write what their encoding lacks: no output is refused."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def check_command(args: list[str], known: Iterable[str], context: click.Context) -> None:
    """Raise if the first argument is an unknown command, with the closest name."""
    if args and args[0] not in known and not args[0].startswith("-"):
        from suffice.tables.errors import nearest

        raise click.UsageError(f"there is no command {args[0]!r}{nearest(args[0], known)}", context)


def _print_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from suffice.cli.version import print_version

        print_version(context)


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show version and commit.",
)
def suffice() -> None:
    """Fit, apply and explain models of tables, text and mail.

    TABLE is a file (CSV, TSV, Parquet, Arrow, JSON lines; also .gz and .zst), a folder or a glob of such files (folders
    named column=value become columns), a URL (s3://, gs://), a table in a database (file.duckdb::name,
    file.sqlite::name, postgresql://...::name), or - for standard input. MODEL is a file or a URL.

    Exit codes: 0 success, 1 the data is refused, 2 wrong usage, 130 interrupted.
    """


def run() -> NoReturn:
    """Run a command, and exit with its code; an error is one sentence on standard error."""
    interrupts: list[int] = []
    try:
        with _record_interrupts(interrupts):
            code = suffice.main(prog_name="suffice", standalone_mode=False)
    except click.ClickException as error:
        _print_error(" ".join(error.format_message().split()))
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(_report_interrupt())
    except Exception as error:
        # A library that is interrupted may raise its own error instead of KeyboardInterrupt.
        sys.exit(_report_interrupt() if interrupts else _report_error(error))
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
    """Print that the command was interrupted, and return the exit code."""
    from suffice.cli.output import say

    say("interrupted: no file was changed")
    return 130


def _report_error(error: Exception) -> int:
    """Print an error as one sentence, and return the exit code."""
    from suffice.tables.errors import MissingExtraError, UsageError

    if os.environ.get("SUFFICE_TRACEBACK"):
        raise error
    if isinstance(error, FileNotFoundError):
        if error.filename is None or "there is" in str(error):
            _print_error(f"{error.strerror}: {error.filename}" if error.strerror else str(error))
        else:
            _print_error(f"there is no file {error.filename}: check its name and folder")
        return 2
    if isinstance(error, OSError):
        _print_error(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
        return 1
    if isinstance(error, UsageError | MissingExtraError):
        _print_error(str(error))
        return 2
    if isinstance(error, ValueError | TypeError | ArithmeticError | MemoryError):
        _print_error(str(error) or type(error).__name__)
        return 1
    _print_error(describe_internal_error(error))
    return 1


def describe_internal_error(error: Exception) -> str:
    """Return the message of an error that is a fault of suffice."""
    return (
        f"internal error ({type(error).__name__}: {error}): please report it, with the traceback that "
        "SUFFICE_TRACEBACK=1 prints"
    )


def _print_error(sentence: str) -> None:
    from suffice.cli.output import say

    say(sentence, "error")

"""suffice mail: a spam filter. Heavy imports are inside functions, so that a message is judged soon after the start."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from suffice.cli.app import Later

#: Where each command lives, in the order in which they are listed.
COMMANDS = {
    "learn": "learning",
    "classify": "judging",
    "filter": "judging",
    "correct": "learning",
    "forget": "learning",
    "sort": "sorting",
    "explain": "explaining",
    "status": "status",
    "doctor": "status",
    "settings": "settings",
    "evaluate": "evaluating",
    "dump": "moving",
    "load": "moving",
    "merge": "moving",
    "demo": "demo",
}
#: What a command leaves with: as bogofilter does.
SPAM, HAM, UNSURE, ERROR = 0, 1, 2, 3


class MailCommands(Later):
    """Commands whose errors leave with 3."""

    known, package, ending = COMMANDS, "suffice.cli.mail", "_command"

    def make_context(self, *given: Any, **more: Any) -> click.Context:
        """Read the options of the group: misuse leaves with 3, too."""
        try:
            return super().make_context(*given, **more)
        except click.exceptions.NoArgsIsHelpError as error:
            sys.stdout.write(error.format_message() + "\n")
            raise click.exceptions.Exit(ERROR) from error
        except click.UsageError as error:
            complain(error)
            raise click.exceptions.Exit(ERROR) from error

    def invoke(self, context: click.Context) -> Any:
        """Run a command. 0 to 2 are verdicts, so whatever goes wrong leaves with 3."""
        try:
            _check_streams(context)
            return super().invoke(context)
        except (click.exceptions.Exit, BrokenPipeError):
            raise
        except (click.Abort, KeyboardInterrupt):
            stays = context.invoked_subcommand in ("learn", "correct", "forget", "sort")
            sys.stderr.write("stopped: what was learned stays; run it again to go on\n" if stays else "stopped\n")
            raise click.exceptions.Exit(130) from None
        except Exception as error:
            complain(error)
            raise click.exceptions.Exit(ERROR) from error


def _check_streams(context: click.Context) -> None:
    """See to it that there is a place for errors, and one for answers."""
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    # The filter sees to it by itself, since a message must not be lost.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # names of files need not be text
    if sys.stdout is None and context._protected_args[:1] != ["filter"]:
        raise click.ClickException("standard output is closed")


def complain(error: Exception) -> None:
    """Say what went wrong in one sentence."""
    if os.environ.get("SUFFICE_TRACEBACK"):
        raise error
    if isinstance(error, click.ClickException):
        sentence = " ".join(error.format_message().split())
    elif isinstance(error, OSError) and error.strerror and error.filename is not None:
        sentence = f"{error.strerror}: {error.filename}"
    elif isinstance(error, OSError | ValueError | MemoryError | ImportError):
        sentence = str(error) or type(error).__name__
    else:
        sentence = (
            f"something went wrong in suffice itself ({type(error).__name__}: {error}): SUFFICE_TRACEBACK=1 shows "
            "where; please report it"
        )
    sys.stderr.write(f"error: {sentence}\n")


@click.group(cls=MailCommands)
def mail() -> None:
    """Keep spam out of a mailbox: learn from your own mail, file, explain, take corrections.

    MAIL is a message, an mbox, a Maildir, an MH folder, or a folder of any of them; .gz too; - is standard input. The
    filter is one file in your data folder, unless --filter or $SUFFICE_MAIL names another.

    Commands that judge leave with 0 for spam, 1 for ham, 2 for unsure and 3 for an error; the others with 0 or 3.
    """

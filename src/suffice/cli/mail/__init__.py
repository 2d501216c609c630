"""suffice mail: a spam filter. Modules are imported by the commands that need them, to start quickly."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from suffice.cli.app import LazyGroup, describe_internal_error

#: The commands in the order of the help text; each is in the module of its name.
COMMANDS = (
    "begin",
    "learn",
    "classify",
    "filter",
    "correct",
    "forget",
    "sort",
    "explain",
    "status",
    "doctor",
    "settings",
    "evaluate",
    "dump",
    "load",
    "merge",
    "demo",
)
#: Exit codes, those of bogofilter.
SPAM, HAM, UNSURE, ERROR = 0, 1, 2, 3


class MailCommands(LazyGroup):
    """The commands of suffice mail. The exit code of any error is 3, since 0 to 2 are verdicts."""

    names, package, suffix = COMMANDS, "suffice.cli.mail", "_command"

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the options of the group."""
        try:
            return super().make_context(*args, **kwargs)
        except click.exceptions.NoArgsIsHelpError as error:
            sys.stdout.write(error.format_message() + "\n")
            raise click.exceptions.Exit(ERROR) from error
        except click.UsageError as error:
            print_error(error)
            raise click.exceptions.Exit(ERROR) from error

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        """Return the command. With a closed standard output, only ``filter`` runs: it handles that by itself."""
        if sys.stdout is None and args[:1] != ["filter"]:
            raise click.ClickException("standard output is closed")
        return super().resolve_command(context, args)

    def invoke(self, context: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(context)
        except (click.exceptions.Exit, BrokenPipeError):
            raise
        except (click.Abort, KeyboardInterrupt):
            is_kept = context.invoked_subcommand in ("begin", "learn", "correct", "forget", "sort")
            kept = "interrupted: what was learned is kept; run the command again to continue\n"
            sys.stderr.write(kept if is_kept else "interrupted\n")
            raise click.exceptions.Exit(130) from None
        except Exception as error:
            print_error(error)
            raise click.exceptions.Exit(ERROR) from error


def _is_connection_error(error: Exception) -> bool:
    """Return whether an error is one of mail servers, without importing their modules."""
    module = sys.modules.get("suffice.mail.imap.errors")
    return module is not None and isinstance(error, module.ConnectionLostError | module.LoginError)


def print_error(error: Exception) -> None:
    """Print an error as one sentence; raise it if ``SUFFICE_TRACEBACK`` is set."""
    if os.environ.get("SUFFICE_TRACEBACK"):
        raise error
    if isinstance(error, click.ClickException):
        sentence = " ".join(error.format_message().split())
    elif isinstance(error, OSError) and error.strerror and error.filename is not None:
        sentence = f"{error.strerror}: {error.filename}"
    elif isinstance(error, OSError | ValueError | MemoryError | ImportError) or _is_connection_error(error):
        sentence = str(error) or type(error).__name__
    else:
        sentence = describe_internal_error(error)
    sys.stderr.write(f"error: {sentence}\n")


@click.group(cls=MailCommands)
def mail() -> None:
    """Filter spam with a filter that learns from your own mail.

    MAIL is a message, an mbox, a Maildir, an MH folder, or a folder of any of them, also compressed (.gz, .bz2, .xz);
    - is standard input; learn and sort also take a folder on a mail server, imaps://USER@HOST/FOLDER. The filter is one
    file in your data folder, unless --filter or $SUFFICE_MAIL names another.

    Exit codes: 0 spam, 1 ham, 2 unsure for classify and filter; 0 success for other commands; 3 error.
    """

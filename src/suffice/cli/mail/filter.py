"""suffice mail filter: pass a message through, with the verdict in a header field."""

from __future__ import annotations

import os
import sys

import click

from suffice.cli.mail.classify import learn_verdict, train_option
from suffice.cli.mail.options import exit_code, exit_option, filter_options, json_option, open_filter, read_stdin


class PassThrough(click.Command):
    """A command that passes standard input through even if its options are wrong."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the options; on an error, pass the message through first."""
        try:
            return super().parse_args(context, args)
        except click.UsageError:
            _write_message(read_stdin())
            raise


@click.command("filter", cls=PassThrough)
@filter_options
@train_option
@exit_option
@json_option
def filter_command(path: str | None, shared: tuple[str, ...], train: bool, exit_zero: bool, as_json: bool) -> None:
    """Add the verdict to a message as a header field.

    The message is copied from standard input to standard output with the field X-Suffice at the top. Fields of that
    name that it had are removed. On any error the message is passed through without the field, and the exit code is 3.
    With --json, the verdict is also written to standard error.
    """
    message = read_stdin()
    if not message:
        raise click.ClickException("there is no message on standard input")
    line = None
    try:
        from suffice.mail.message import format_header_field

        with open_filter(path, shared) as chosen:
            verdict = chosen.mark(message)
            line = format_header_field(verdict)
            if train:
                learn_verdict(chosen, message, verdict)
    finally:
        _write_message(message, line)
    if as_json:
        import json

        sys.stderr.write(json.dumps(verdict.as_dict()) + "\n")
    if not exit_zero:
        raise click.exceptions.Exit(exit_code(verdict))


def _write_message(message: bytes, line: str | None = None) -> None:
    """Write the message with the header field; exit with 3 if it cannot be written."""
    from suffice.cli.mail import ERROR
    from suffice.mail.message import set_header_field

    try:
        if sys.stdout is None:
            raise OSError("standard output is closed")
        sys.stdout.buffer.write(set_header_field(message, line))
        sys.stdout.buffer.flush()
    except OSError as error:
        sys.stderr.write(f"error: the message could not be passed through: {error.strerror or error}\n")
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(ERROR) from error

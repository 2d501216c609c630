"""Options and input of the mail commands."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import click

from suffice.cli.options import json_option as json_option
from suffice.cli.options import quiet_option as quiet_option

if TYPE_CHECKING:
    from suffice.mail import MailFilter, Verdict
    from suffice.mail.mailboxes import Message

F = TypeVar("F", bound=Callable[..., Any])

path_option = click.option(
    "--filter",
    "path",
    type=click.Path(readable=False),
    envvar="SUFFICE_MAIL",
    metavar="FILE",
    help="The filter's file. [default: in your data folder]",
)
shared_option = click.option(
    "--shared",
    multiple=True,
    type=click.Path(readable=False),
    metavar="FILE",
    help="A shared filter to add to this one, such as a site's; it is only read. Can be repeated.",
)


def filter_options(command: F) -> F:
    """Add the options that name the filters."""
    return path_option(shared_option(command))


def imap_options(command: F) -> F:
    """Add the options of connections to a mail server."""
    for option in (
        click.option("--ca-file", type=click.Path(), metavar="FILE", help="Certificates to verify the server's with."),
        click.option("--token-command", metavar="COMMAND", help="Prints an OAuth 2 token (XOAUTH2)."),
        click.option(
            "--password-command",
            metavar="COMMAND",
            help="Prints the password. [default: $SUFFICE_IMAP_PASSWORD, or the keyring]",
        ),
    ):
        command = option(command)
    return command


def connect_imap(address: str, password_command: str | None, token_command: str | None, ca_file: str | None) -> Any:
    """Return a connection to the server of an address."""
    from suffice.mail.imap.address import ImapAddress
    from suffice.mail.imap.connection import ImapConnection
    from suffice.mail.imap.credentials import Credentials

    if password_command and token_command:
        raise click.UsageError("--password-command and --token-command cannot be used together")
    ask = _ask_password if sys.stdin is not None and sys.stdin.isatty() else None
    return ImapConnection(ImapAddress.parse(address), Credentials(password_command, token_command, ask), ca_file)


@cache
def _ask_password(question: str) -> str:
    answer: str = click.prompt(question, hide_input=True, err=True)
    return answer


which_option = click.option(
    "--train",
    type=click.Choice(["all", "error", "near"]),
    default="all",
    show_default=True,
    help="Messages to learn: all; error: wrong or unsure verdicts; near: also verdicts that are not certain.",
)
exit_option = click.option("-e", "exit_zero", is_flag=True, help="Exit with 0 whatever the verdict.")


def open_filter(path: str | None, shared: tuple[str, ...] = ()) -> MailFilter:
    """Return the filter that the options name."""
    from suffice.mail import MailFilter

    return MailFilter(path, shared=shared)


def read_stdin() -> bytes:
    """Return standard input."""
    return b"" if sys.stdin is None else sys.stdin.buffer.read()


def read_stdin_messages() -> list[Message]:
    """Return the messages on standard input: one, or those of an mbox."""
    from suffice.mail.mailboxes.mbox import split_messages

    data = read_stdin()
    if not data.strip():
        raise click.ClickException("there is no message on standard input")
    try:
        return split_messages(data)
    except ValueError as error:
        raise click.ClickException(f"standard input is {error}") from None


def read_one_message(path: str | None) -> bytes:
    """Return the message of a file, the one that ``file:number`` names, or that on standard input."""
    from suffice.mail.mailboxes import Message
    from suffice.mail.mailboxes.streams import read_messages

    if path is None or path == "-":
        message, *others = read_stdin_messages()
        if others:
            raise click.ClickException(f"standard input has {1 + len(others)} messages: give one of them")
        return message.data
    file, _, number = path.rpartition(":")
    is_numbered = number.isdecimal() and not os.path.lexists(path)
    found: list[Message] = []
    why = f"there is no message {path}"
    for each in read_messages([file if is_numbered else path]):
        if not isinstance(each, Message):
            why = f"{each.where}: {each.why}"
        elif not is_numbered:
            found.append(each)
        elif each.where == path or (int(number) == 1 and each.where == file):
            return each.data
    if is_numbered or not found:
        raise click.ClickException(why)
    if len(found) > 1:
        raise click.ClickException(f"{path} has {len(found)} messages: name one of them, such as {found[0].where}")
    return found[0].data


def terminal_width() -> int | None:
    """Return the width of the terminal; None if standard output is not one."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def iterate_messages(paths: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Return the messages of files and folders with their locations; print a remark for each skipped file."""
    if not paths or "-" in paths:
        yield from ((message.where, message.data) for message in read_stdin_messages())
    if all(path == "-" for path in paths):
        return
    from suffice.mail.mailboxes import Message
    from suffice.mail.mailboxes.streams import read_messages

    for found in read_messages([path for path in paths if path != "-"]):
        if isinstance(found, Message):
            yield found.where, found.data
        else:
            print_remark(f"skipped {found.where}: {found.why}")


def write_json(value: Any, *, lines: bool = False) -> None:
    """Write a value to standard output as JSON, on one line if ``lines``; in ASCII if the encoding requires it."""
    import json

    indent = None if lines else 2
    value = _replace_non_finite(value)
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeError:
        text = json.dumps(value, indent=indent)
    sys.stdout.write(text + "\n")


def _replace_non_finite(value: Any) -> Any:
    """Return a value with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _replace_non_finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_non_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_remark(sentence: str) -> None:
    """Write a remark to standard error; control characters of file names and mail are escaped."""
    from suffice.printable import printable

    sys.stderr.write(printable(sentence) + "\n")


def exit_code(verdict: Verdict) -> int:
    """Return the exit code of a verdict."""
    from suffice.cli.mail import HAM, SPAM, UNSURE

    return {"spam": SPAM, "unsure": UNSURE}.get(verdict.label, HAM)

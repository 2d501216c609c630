"""Options that the commands for mail share."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from suffice.cli.options import json_option as json_option
from suffice.cli.options import quiet_option as quiet_option

if TYPE_CHECKING:
    from suffice.mail import MailFilter, Verdict
    from suffice.mail.boxes import Letter

F = TypeVar("F", bound=Callable[..., Any])

place_option = click.option(
    "--filter",
    "place",
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
    help="A filter below this one, such as a whole site's; it is only read. May be repeated.",
)


def filter_options(command: F) -> F:
    """Add what says which filters are asked."""
    return place_option(shared_option(command))


which_option = click.option(
    "--train",
    type=click.Choice(["all", "error", "near"]),
    default="all",
    show_default=True,
    help="Which messages to learn: all; those the filter is wrong about or unsure of; or less than certain of.",
)
exit_option = click.option("-e", "exit_zero", is_flag=True, help="Leave with 0 whatever the verdict.")


def opened(place: str | None, shared: tuple[str, ...] = ()) -> MailFilter:
    """Return the filter that is meant."""
    from suffice.mail import MailFilter

    return MailFilter(place, shared=shared)


def given() -> bytes:
    """Return what is on standard input."""
    return b"" if sys.stdin is None else sys.stdin.buffer.read()


def given_messages() -> list[Letter]:
    """Return the messages on standard input: one, or those of an mbox."""
    from suffice.mail.boxes import split

    data = given()
    if not data.strip():
        raise click.ClickException("there is no message on standard input")
    try:
        return split(data)
    except ValueError as error:
        raise click.ClickException(f"standard input is {error}") from None


def the_message(path: str | None) -> bytes:
    """Return the message in a file, or the one of several that ``file:number`` names, or that on standard input."""
    from suffice.mail.boxes import Letter, letters

    if path is None or path == "-":
        message, *others = given_messages()
        if others:
            raise click.ClickException(f"standard input holds {1 + len(others)} messages: give one of them")
        return message.data
    place, _, number = path.rpartition(":")
    within = number.isdecimal() and not os.path.lexists(path)
    found: list[Letter] = []
    why = f"there is no message {path}"
    for each in letters([place if within else path]):
        if not isinstance(each, Letter):
            why = f"{each.where}: {each.why}"
        elif not within:
            found.append(each)
        elif each.where == path or (int(number) == 1 and each.where == place):
            return each.data
    if within or not found:
        raise click.ClickException(why)
    if len(found) > 1:
        raise click.ClickException(f"{path} holds {len(found)} messages: name one of them, such as {found[0].where}")
    return found[0].data


def terminal_width() -> int | None:
    """Return how wide the terminal is, if there is one."""
    import shutil

    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def messages(paths: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Return the messages in files and folders, each with where it was found; what is skipped is said."""
    from suffice.mail.boxes import Letter, letters

    if not paths or "-" in paths:
        yield from ((letter.where, letter.data) for letter in given_messages())
    for found in letters([path for path in paths if path != "-"]):
        if isinstance(found, Letter):
            yield found.where, found.data
        else:
            remark(f"skipped {found.where}: {found.why}")


def write_json(value: Any, *, lines: bool = False) -> None:
    """Write a value to standard output as JSON, on one line if there will be many; in ASCII where it must be."""
    import json

    indent = None if lines else 2
    value = _plain(value)
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeError:
        text = json.dumps(value, indent=indent)
    sys.stdout.write(text + "\n")


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: what is no number is null."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def remark(sentence: str) -> None:
    """Write a remark to standard error; it may hold names of files, or parts of mail."""
    from suffice.printable import printable

    sys.stderr.write(printable(sentence) + "\n")


def code_of(verdict: Verdict) -> int:
    """Return what a verdict leaves with."""
    from suffice.cli.mail import HAM, SPAM, UNSURE

    return {"spam": SPAM, "unsure": UNSURE}.get(verdict.label, HAM)

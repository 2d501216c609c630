"""suffice mail dump, load, merge: what a filter knows, as text, from file to file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from suffice.cli.mail.options import json_option, opened, place_option, write_json


@click.command("dump")
@place_option
def dump_command(place: str | None) -> None:
    """Write all a filter knows to standard output, as text."""
    from suffice.mail.portable import dump

    with opened(place) as chosen:
        for line in dump(chosen):
            sys.stdout.buffer.write(line.encode() + b"\n")


@click.command("load")
@click.argument("file", type=click.Path(), default="-")
@place_option
@json_option
def load_command(file: str, place: str | None, as_json: bool) -> None:
    """Add a dump to a filter: one of ours, or what bogoutil -d writes. Without FILE, it is read from standard input."""
    from suffice.mail.portable import load

    if file == "-" and sys.stdin is None:
        raise click.ClickException("there is no dump on standard input")
    source = sys.stdin.buffer if file == "-" else Path(file).open("rb")  # noqa: SIM115
    with source, opened(place) as chosen:
        found = load(chosen, (line.decode("utf-8", "replace") for line in source))
    _report(found, as_json)


@click.command("merge")
@click.argument("others", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@place_option
@json_option
def merge_command(others: tuple[str, ...], place: str | None, as_json: bool) -> None:
    """Add what other filters have learned to this one. They stay as they are."""
    from suffice.mail.portable import merge

    with opened(place) as chosen:
        for found in merge(chosen, [opened(other) for other in others]):
            _report(found, as_json)


def _report(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        return write_json(found, lines=True)
    both = f"; {found['both']:,} of them had been learned here, too, and now count twice" if found["both"] else ""
    unknown = f"; {found['unknown']:,} tokens have no counterpart here" if found.get("unknown") else ""
    sys.stdout.write(f"added {found['messages']:,} messages with {found['tokens']:,} tokens{both}{unknown}\n")
    return None

"""suffice mail load: add a text dump to a filter."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from suffice.cli.mail.options import json_option, open_filter, path_option, write_json


@click.command("load")
@click.argument("file", type=click.Path(), default="-")
@path_option
@json_option
def load_command(file: str, path: str | None, as_json: bool) -> None:
    """Add a text dump to a filter. The dump is of suffice mail dump or bogoutil -d, in FILE or on standard input."""
    from suffice.mail.dump import load_dump

    if file == "-" and sys.stdin is None:
        raise click.ClickException("there is no dump on standard input")
    source = sys.stdin.buffer if file == "-" else Path(file).open("rb")  # noqa: SIM115
    with source, open_filter(path) as chosen:
        found = load_dump(chosen, (line.decode("utf-8", "replace") for line in source))
    print_added(found, as_json)


def print_added(found: dict[str, int], as_json: bool) -> None:
    """Print what was added to a filter."""
    if as_json:
        return write_json(found, lines=True)
    both = f"; {found['both']:,} of them had been learned here before, and count twice now" if found["both"] else ""
    unknown = f"; {found['unknown']:,} tokens have no counterpart and were left out" if found.get("unknown") else ""
    sys.stdout.write(f"added {found['messages']:,} messages with {found['tokens']:,} tokens{both}{unknown}\n")
    return None

"""suffice mail dump: write a filter as text."""

from __future__ import annotations

import sys

import click

from suffice.cli.mail.options import open_filter, path_option


@click.command("dump")
@path_option
def dump_command(path: str | None) -> None:
    """Write a filter as text. The dump goes to standard output."""
    from suffice.mail.dump import dump_filter

    with open_filter(path) as chosen:
        for line in dump_filter(chosen):
            sys.stdout.buffer.write(line.encode() + b"\n")

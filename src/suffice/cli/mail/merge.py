"""suffice mail merge: add other filters to a filter."""

from __future__ import annotations

import click

from suffice.cli.mail.load import print_added
from suffice.cli.mail.options import json_option, open_filter, path_option


@click.command("merge")
@click.argument("others", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@path_option
@json_option
def merge_command(others: tuple[str, ...], path: str | None, as_json: bool) -> None:
    """Add other filters to a filter. The others do not change."""
    from suffice.mail.dump import merge_filters

    with open_filter(path) as chosen:
        for found in merge_filters(chosen, [open_filter(other) for other in others]):
            print_added(found, as_json)

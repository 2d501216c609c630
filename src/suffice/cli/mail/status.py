"""suffice mail status: what a filter has learned."""

from __future__ import annotations

import sys

import click

from suffice.cli.mail.options import filter_options, json_option, open_filter, write_json


@click.command("status")
@filter_options
@json_option
def status_command(path: str | None, shared: tuple[str, ...], as_json: bool) -> None:
    """Show what a filter has learned. Counts by class, date, size, and whether that is enough to filter."""
    from suffice.mail.health import status

    with open_filter(path, shared) as chosen:
        found = status(chosen)
    if as_json:
        return write_json(found.as_dict())
    low, high = found.cuts
    lines = [
        ("filter", str(found.path)),
        ("learned", ", ".join(f"{count:,} {name}" for name, count in found.learned.items())),
        ("last learned", found.last or "never"),
        ("tokens", f"{found.tokens:,}"),
        ("size", f"{found.size / 1e6:,.1f} MB"),
        ("unsure", f"from {low:g} up to {high:g}"),
        ("", found.advice),
    ]
    sys.stdout.write("".join(f"{name:<13} {value}".rstrip() + "\n" for name, value in lines))
    return None

"""suffice mail status, suffice mail doctor: what was learned, and whether all is well."""

from __future__ import annotations

import sys

import click

from suffice.cli.mail.options import filter_options, json_option, opened, write_json


@click.command("status")
@filter_options
@json_option
def status_command(place: str | None, shared: tuple[str, ...], as_json: bool) -> None:
    """Say how many messages of each class were learned, when last, and whether the filter is ready to act."""
    from suffice.mail.health import status

    with opened(place, shared) as chosen:
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


@click.command("doctor")
@filter_options
@json_option
def doctor_command(place: str | None, shared: tuple[str, ...], as_json: bool) -> None:
    """Check permissions, the database and what was learned; leave with 3 if something is wrong."""
    from suffice.cli.mail import ERROR
    from suffice.mail.health import examine

    with opened(place, shared) as chosen:
        findings = examine(chosen)
    if as_json:
        write_json([{"level": each.level, "what": each.what, "cure": each.cure} for each in findings])
    else:
        for each in findings:
            cure = f"\n        {each.cure}" if each.cure else ""
            sys.stdout.write(f"{each.level:<7} {each.what}{cure}\n")
    if any(each.level == "wrong" for each in findings):
        raise click.exceptions.Exit(ERROR)

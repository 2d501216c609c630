"""suffice mail doctor: check a filter and its file."""

from __future__ import annotations

import sys

import click

from suffice.cli.mail.options import filter_options, json_option, open_filter, write_json


@click.command("doctor")
@filter_options
@json_option
def doctor_command(path: str | None, shared: tuple[str, ...], as_json: bool) -> None:
    """Check permissions, disk space, database and training of a filter. The exit code is 3 if something is wrong."""
    from suffice.cli.mail import ERROR
    from suffice.mail.health import diagnose

    with open_filter(path, shared) as chosen:
        findings = diagnose(chosen)
    if as_json:
        write_json([{"level": each.level, "what": each.what, "cure": each.cure} for each in findings])
    else:
        for each in findings:
            cure = f"\n        {each.cure}" if each.cure else ""
            sys.stdout.write(f"{each.level:<7} {each.what}{cure}\n")
    if any(each.level == "wrong" for each in findings):
        raise click.exceptions.Exit(ERROR)

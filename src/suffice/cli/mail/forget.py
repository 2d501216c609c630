"""suffice mail forget: undo learning."""

from __future__ import annotations

import sys

import click

from suffice.cli.mail.options import (
    iterate_messages,
    json_option,
    open_filter,
    path_option,
    print_remark,
    quiet_option,
    write_json,
)


@click.command("forget")
@click.argument("mail", nargs=-1, type=click.Path(), metavar="[MAIL]...")
@path_option
@json_option
@quiet_option
def forget_command(mail: tuple[str, ...], path: str | None, as_json: bool, quiet: bool) -> None:
    """Forget messages that were learned. The counts are then as if they had never been learned.

    Words that no other message has are deleted from the file. The regression weights of words that other messages have
    are not restored.
    """
    with open_filter(path) as chosen:
        found = chosen.forget_all(data for _, data in iterate_messages(mail))
    if not found:
        raise click.ClickException("no mail was found")
    if as_json:
        write_json({"forgotten": sum(found), "unknown": len(found) - sum(found)})
    elif not quiet:
        sys.stdout.write(f"forgot {sum(found):,}; {len(found) - sum(found):,} had not been learned\n")
        if any(found):
            print_remark(
                "note: regression weights of words that other messages have are not restored; only learning again in a "
                "new file does that"
            )

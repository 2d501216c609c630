"""suffice mail explain: the contributions of tokens to a verdict."""

from __future__ import annotations

import sys

import click

from suffice.cli.mail.options import (
    filter_options,
    json_option,
    open_filter,
    read_one_message,
    terminal_width,
    write_json,
)


@click.command("explain")
@click.argument("message", required=False, type=click.Path(), metavar="[MESSAGE]")
@filter_options
@click.option("--class", "label", metavar="NAME", help="Class to explain. [default: spam]")
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="Number of tokens to show.")
@click.option("--html", type=click.Path(), metavar="FILE", help="Write an HTML page.")
@json_option
def explain_command(
    message: str | None,
    path: str | None,
    shared: tuple[str, ...],
    label: str | None,
    top: int,
    html: str | None,
    as_json: bool,
) -> None:
    """Explain the verdict on a message. The contributions of its tokens add up to the log-odds."""
    from suffice.mail.explanation import explain

    with open_filter(path, shared) as chosen:
        why = explain(chosen, read_one_message(message), label)
    if html is not None:
        from pathlib import Path

        from suffice.store.atomic_file import atomic_file

        if not Path(html).absolute().parent.is_dir():
            raise click.ClickException(f"there is no folder to write {html} to")

        with atomic_file(html, mode=0o600) as file:  # it contains words of the message
            file.write_text(why.html_page(top), encoding="utf-8")
    if as_json:
        write_json(why.to_dict(top))
    elif html is None:
        sys.stdout.write(why.text(top, terminal_width()) + "\n")

"""suffice mail settings: show or change the settings of a filter."""

from __future__ import annotations

import sys

import click

from suffice.cli.mail.options import json_option, open_filter, path_option, write_json


@click.command("settings")
@path_option
@click.option("--ham-cut", type=float, metavar="P", help="A message is ham below this probability of spam.")
@click.option("--spam-cut", type=float, metavar="P", help="A message is spam from this probability of spam on.")
@click.option("--half-life", metavar="DAYS", help="Days in which the weight of a learned message halves, or never.")
@click.option("--tokens", type=click.IntRange(min=1000), help="Largest number of tokens that are kept.")
@json_option
def settings_command(
    path: str | None,
    ham_cut: float | None,
    spam_cut: float | None,
    half_life: str | None,
    tokens: int | None,
    as_json: bool,
) -> None:
    """Show the settings of a filter, or change them."""
    from suffice.mail.settings import change_settings, parse_half_life

    with open_filter(path) as chosen:
        if any(value is not None for value in (ham_cut, spam_cut, half_life, tokens)):
            days = None if half_life is None else parse_half_life(half_life)
            change_settings(chosen, ham_cut, spam_cut, days, tokens)
        store = chosen.store()
        settings = store.settings()
        found = {
            "ham_cut": chosen.cuts[0],
            "spam_cut": chosen.cuts[1],
            "half_life": settings.half_life or "never",
            "tokens": settings.tokens,
            "classes": list(settings.classes),
        }
    if as_json:
        return write_json(found)
    for name, value in found.items():
        shown = ", ".join(value) if isinstance(value, list) else value
        sys.stdout.write(f"{name.replace('_', '-'):<10} {shown}\n")
    return None

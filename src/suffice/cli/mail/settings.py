"""suffice mail settings: how a filter decides and forgets."""

from __future__ import annotations

import sys

import click

from suffice.cli.mail.options import json_option, opened, place_option, write_json


@click.command("settings")
@place_option
@click.option("--ham-cut", type=float, metavar="P", help="Below this probability of spam a message is ham.")
@click.option("--spam-cut", type=float, metavar="P", help="From this probability on it is spam.")
@click.option("--half-life", metavar="DAYS", help="Days in which what was learned loses half its weight, or never.")
@click.option("--tokens", type=click.IntRange(min=1000), help="How many tokens are kept at most.")
@json_option
def settings_command(
    place: str | None,
    ham_cut: float | None,
    spam_cut: float | None,
    half_life: str | None,
    tokens: int | None,
    as_json: bool,
) -> None:
    """Show or change how a filter decides and forgets."""
    from suffice.mail.settling import change, days

    with opened(place) as chosen:
        if any(value is not None for value in (ham_cut, spam_cut, half_life, tokens)):
            change(chosen, ham_cut, spam_cut, None if half_life is None else days(half_life), tokens)
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

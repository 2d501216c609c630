"""suffice update, merge and forget: the algebra of models, on files."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.options import (
    json_option,
    loaded,
    model_argument,
    model_output_option,
    opened,
    quiet_option,
    save,
    table_argument,
    table_options,
)


@click.command()
@model_argument
@table_argument
@model_output_option("Where to save the model; in its own place otherwise.")
@table_options
@quiet_option
def update(model: str, table: str, output: str | None, quiet: bool, **how: Any) -> None:
    """Learn the rows of TABLE as well: the model's sums are exactly those of all rows.

    What was chosen by held-out rows, such as the temperature that calibrates probabilities, stays as it was.
    """
    from suffice.cli.output import counted, say, watching

    fitted = loaded(model)
    before = fitted.rows_
    with watching(quiet) as watch:
        fitted.update(opened(table, **how), watch)
    save(fitted, output or model)
    say(f"{counted(fitted.rows_ - before, 'row')} learnt, {fitted.rows_:,} in all; saved to {output or model}")


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL MODEL...")
@model_output_option("Where to save the model.", required=True)
@quiet_option
def merge(models: tuple[str, ...], output: str, quiet: bool) -> None:
    """Merge models that were fitted apart into the model of all their rows."""
    from suffice.cli.output import counted, say

    if len(models) < 2:
        raise click.UsageError("name two models or more to merge")
    whole = loaded(models[0])
    for path in models[1:]:
        whole = whole + loaded(path)
    save(whole, output)
    say(f"{len(models)} models of {counted(whole.rows_, 'row')} in all, saved to {output}")


@click.command()
@model_argument
@table_argument
@model_output_option("Where to save the model; in its own place otherwise.")
@table_options
@json_option
@quiet_option
def forget(model: str, table: str, output: str | None, as_json: bool, quiet: bool, **how: Any) -> None:
    """Unlearn the rows of TABLE: what is left is what the other rows teach.

    Prints a certificate: how many rows were taken out of the sums, and to how many digits. Whether these rows were ever
    learned can only be told where the model keeps a ledger of its rows (suffice fit --ledger); without one, rows are
    refused only where counts or spreads would become negative.
    """
    from datetime import UTC, datetime

    from suffice.cli.output import print_line, show_json, watching

    fitted = loaded(model)
    source = opened(table, **how)
    with watching(quiet) as watch:
        found = fitted.forget(source, watch)
    save(fitted, output or model)
    about = {
        "model": output or model,
        "table": source.name,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows_forgotten": int(found["rows"]),
        "rows_left": int(found["left"]),
        "digits_kept": round(found["digits_kept"], 1),
        "verified": bool(found["verified"]),
    }
    if as_json:
        show_json(about)
        return
    print_line("certificate of forgetting", "bold")
    for name, value in about.items():
        shown = ("yes" if value else "no") if isinstance(value, bool) else value
        print_line(f"  {name.replace('_', ' '):<15} {shown}")
    digits = f"to {about['digits_kept']} of 15.9 digits of each column's spread"
    if about["verified"]:
        print_line(
            f"  each of these rows is in the ledger of rows learned: the sums are those of the other "
            f"{about['rows_left']:,} rows, {digits}"
        )
    else:
        print_line(f"  the sums of these rows were taken out of the model's, {digits};")
        print_line("  that these rows were learned was not verified: the model keeps no ledger (suffice fit --ledger)")

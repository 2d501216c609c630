"""suffice forget: rows are subtracted from a model."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.files import load_model, open_table, save_model
from suffice.cli.options import (
    json_option,
    model_argument,
    model_output_option,
    quiet_option,
    table_argument,
    table_options,
)


@click.command()
@model_argument
@table_argument
@model_output_option("File or URL to save the model to.", show_default="MODEL")
@table_options
@json_option
@quiet_option
def forget(model: str, table: str, output: str | None, as_json: bool, quiet: bool, **options: Any) -> None:
    """Subtract the rows of TABLE from MODEL.

    The sums of the model become those of the other rows. Prints a certificate: the number of rows that were
    subtracted, and the precision of the sums in digits. A model with a ledger of its rows (suffice fit --ledger)
    refuses rows that it never learned; without a ledger, rows are refused only where a count or a variance would
    become negative.
    """
    from datetime import UTC, datetime

    from suffice.cli.output import print_line, progress_bar, show_json

    fitted = load_model(model)
    source = open_table(table, **options)
    with progress_bar(quiet) as watch:
        found = fitted.forget(source, watch)
    save_model(fitted, output or model)
    certificate = {
        "model": output or model,
        "table": source.name,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "rows_forgotten": int(found["rows"]),
        "rows_left": int(found["left"]),
        "digits_kept": round(found["digits_kept"], 1),
        "verified": bool(found["verified"]),
    }
    if as_json:
        show_json({**certificate, **({"note": fitted.temperature_note} if fitted.temperature_note else {})})
        return
    print_line("certificate of forgetting", "bold")
    for name, value in certificate.items():
        shown = ("yes" if value else "no") if isinstance(value, bool) else value
        print_line(f"  {name.replace('_', ' '):<15} {shown}")
    digits = f"to {certificate['digits_kept']} of 15.9 digits of the spread of each column"
    if certificate["verified"]:
        print_line(
            f"  every row is in the ledger of learned rows: the sums are those of the other "
            f"{certificate['rows_left']:,} rows, {digits}"
        )
    else:
        print_line(f"  the rows were subtracted from the sums of the model, {digits};")
        print_line("  not verified that the model learned these rows: it has no ledger (suffice fit --ledger)")
    if fitted.temperature_note:
        print_line(f"  {fitted.temperature_note}")

"""suffice update: a model learns the rows of another table."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.files import load_model, open_table, save_model
from suffice.cli.options import model_argument, model_output_option, quiet_option, table_argument, table_options


@click.command()
@model_argument
@table_argument
@model_output_option("File or URL to save the model to.", show_default="MODEL")
@table_options
@quiet_option
def update(model: str, table: str, output: str | None, quiet: bool, **options: Any) -> None:
    """Add the rows of TABLE to MODEL.

    The sums of the model become exactly those of all rows. Settings that were chosen on held-out rows, such as the
    temperature of the probabilities, do not change.
    """
    from suffice.cli.output import counted, progress_bar, say

    fitted = load_model(model)
    before = fitted.rows_
    with progress_bar(quiet) as watch:
        fitted.update(open_table(table, **options), watch)
    save_model(fitted, output or model)
    say(f"{counted(fitted.rows_ - before, 'row')} learned, {fitted.rows_:,} in total; saved to {output or model}")

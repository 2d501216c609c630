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

    The sums of the model become exactly those of all rows, which may be of new classes. Settings that were chosen on
    held-out rows, such as the temperature of the probabilities, do not change.
    """
    from suffice.cli.output import counted, progress_bar, say
    from suffice.tables.errors import listed

    fitted = load_model(model)
    before, classes, columns = fitted.rows_, set(fitted._labels), set(fitted.schema_.columns)
    with progress_bar(quiet) as watch:
        fitted.update(open_table(table, **options), watch)
    save_model(fitted, output or model)
    for what, more in (
        ("classes", [name for name in fitted._labels if name not in classes]),
        ("columns, which did not vary before,", [name for name in fitted.schema_.columns if name not in columns]),
    ):
        if more:
            say(f"new {what} are learned: {listed(more)}")
    say(f"{counted(fitted.rows_ - before, 'row')} learned, {fitted.rows_:,} in total; saved to {output or model}")
    if fitted.temperature_note:
        say(fitted.temperature_note)

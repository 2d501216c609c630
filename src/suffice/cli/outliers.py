"""suffice outliers: unusual rows."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.files import key_columns, load_model, open_table
from suffice.cli.options import json_option, model_argument, table_argument, table_options


@click.command()
@model_argument
@table_argument
@click.option("-n", "count", type=click.IntRange(1), default=10, show_default=True, help="Number of rows.")
@table_options
@json_option
def outliers(model: str, table: str, count: int, as_json: bool, **options: Any) -> None:
    """List the most unusual rows of TABLE.

    These are the rows with the lowest density under MODEL, each with its least probable cells.
    """
    from suffice.cli.output import show_json, show_table
    from suffice.tables import outliers as find_outliers

    fitted = load_model(model)
    source = open_table(table, **options)
    found = find_outliers(fitted, source, count)
    if as_json:
        show_json([{**vars(each), "row": each.row + 1} for each in found])
        return
    keys = key_columns(fitted, source.schema().names)
    show_table(
        ["row", *keys, "log p(row)", "most unusual cells"],
        [
            [
                f"{each.row + 1:,}",
                *(each.cells[key] for key in keys),
                f"{each.log_evidence:.1f}",
                "; ".join(f"{name} = {each.cells.get(name.partition('.')[0])}" for name, _ in each.strange),
            ]
            for each in found
        ],
    )

"""suffice impute: missing cells filled in."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.files import load_model, open_table, read_blocks, warn_of_formulas
from suffice.cli.options import (
    model_argument,
    output_option,
    quiet_option,
    safe_csv_option,
    seed_option,
    table_argument,
    table_options,
)


@click.command()
@model_argument
@table_argument
@output_option("File to write.", show_default="standard output")
@click.option("--draw", is_flag=True, help="Draw cells from their distribution instead of the expected value.")
@seed_option()
@table_options
@safe_csv_option
@quiet_option
def impute(
    model: str, table: str, output: str | None, draw: bool, seed: int, safe_csv: bool, quiet: bool, **options: Any
) -> None:
    """Fill in the missing cells of TABLE.

    Each is estimated from the other cells of its row.
    """
    import numpy as np

    from suffice.cli.output import counted, progress_bar, say
    from suffice.tables.imputation import impute_batch
    from suffice.tables.table_writer import open_writer, restore_integers

    fitted = load_model(model)
    source = open_table(table, **options)
    schema = fitted.schema_.with_separators(source.numbers)
    random = np.random.default_rng(seed) if draw else None
    filled = done = 0
    with progress_bar(quiet) as watch, open_writer(output, safe=safe_csv) as writer:
        for batch, block in read_blocks(fitted, source):
            whole, count = impute_batch(fitted, batch, block, schema, random)
            writer.write(restore_integers(whole, source.whole))
            filled += count
            done += batch.num_rows
            if watch is not None:
                watch("reading", done, source.rows())
    warn_of_formulas(writer, output, safe_csv)
    say(f"{counted(filled, 'cell')} of {counted(done, 'row')} filled in" + (f"; written to {output}" if output else ""))

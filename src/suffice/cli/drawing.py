"""suffice sample, impute and outliers: what the model's description of the rows is good for."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.options import (
    json_option,
    loaded,
    model_argument,
    opened,
    output_option,
    quiet_option,
    safe_csv_option,
    table_argument,
    table_options,
    warn_of_formulas,
)

#: Rows that are drawn at a time.
_DRAWN = 10_000


@click.command()
@model_argument
@click.option("-n", "count", type=click.IntRange(0), default=10, show_default=True, help="How many rows.")
@click.option("--seed", type=int, help="For the same rows again.")
@output_option("Where to write; standard output otherwise.")
@safe_csv_option
def sample(model: str, count: int, seed: int | None, output: str | None, safe_csv: bool) -> None:
    """Draw rows from what MODEL has learnt."""
    import numpy as np
    import pyarrow as pa

    from suffice.tables.cells import combine_chunks
    from suffice.tables.table_writer import open_writer

    fitted = loaded(model)
    random = np.random.default_rng(seed)
    with open_writer(output, safe=safe_csv) as writer:
        for start in range(0, max(count, 1), _DRAWN):
            found = fitted.sample(min(_DRAWN, count - start), random)
            writer.write(
                pa.RecordBatch.from_arrays([combine_chunks(each) for each in found.columns], schema=found.schema)
            )
    warn_of_formulas(writer, output, safe_csv)


@click.command()
@model_argument
@table_argument
@output_option("Where to write; standard output otherwise.")
@click.option("--draw", is_flag=True, help="Draw cells from their distribution instead of taking the expected ones.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of what is drawn.")
@table_options
@safe_csv_option
@quiet_option
def impute(
    model: str, table: str, output: str | None, draw: bool, seed: int, safe_csv: bool, quiet: bool, **how: Any
) -> None:
    """Fill in the missing cells of TABLE by what the other cells of their row suggest."""
    import numpy as np

    from suffice.cli.output import counted, say, watching
    from suffice.cli.predicting import batches_of
    from suffice.tables.imputation import impute_batch
    from suffice.tables.table_writer import open_writer, restore_integers

    fitted = loaded(model)
    source = opened(table, **how)
    random = np.random.default_rng(seed) if draw else None
    filled = done = 0
    with watching(quiet) as watch, open_writer(output, safe=safe_csv) as writer:
        for batch, block in batches_of(fitted, source):
            whole, count = impute_batch(fitted, batch, block, random)
            writer.write(restore_integers(whole, source.whole))
            filled += count
            done += batch.num_rows
            if watch is not None:
                watch("reading", done, source.rows())
    warn_of_formulas(writer, output, safe_csv)
    say(f"{counted(filled, 'cell')} of {counted(done, 'row')} filled in" + (f"; written to {output}" if output else ""))


@click.command()
@model_argument
@table_argument
@click.option("-n", "count", type=click.IntRange(1), default=10, show_default=True, help="How many rows.")
@table_options
@json_option
def outliers(model: str, table: str, count: int, as_json: bool, **how: Any) -> None:
    """Find the rows of TABLE that are least like those that MODEL has learnt."""
    from suffice.cli.output import show_json, show_table
    from suffice.cli.predicting import keys_of
    from suffice.tables import outliers as found_in

    fitted = loaded(model)
    source = opened(table, **how)
    found = found_in(fitted, source, count)
    if as_json:
        show_json([{**vars(each), "row": each.row + 1} for each in found])
        return
    keys = keys_of(fitted, source.schema().names)
    show_table(
        ["row", *keys, "log p(row)", "strangest cells"],
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

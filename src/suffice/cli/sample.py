"""suffice sample: synthetic rows."""

from __future__ import annotations

import click

from suffice.cli.files import load_model, warn_of_formulas
from suffice.cli.options import model_argument, output_option, safe_csv_option, seed_option

#: Rows of a batch.
_BATCH = 10_000


@click.command()
@model_argument
@click.option("-n", "count", type=click.IntRange(0), default=10, show_default=True, help="Number of rows.")
@seed_option(None)
@output_option("File to write.", show_default="standard output")
@safe_csv_option
def sample(model: str, count: int, seed: int | None, output: str | None, safe_csv: bool) -> None:
    """Draw random rows from the distribution of MODEL."""
    import numpy as np
    import pyarrow as pa

    from suffice.tables.cells import combine_chunks
    from suffice.tables.table_writer import open_writer

    fitted = load_model(model)
    random = np.random.default_rng(seed)
    with open_writer(output, safe=safe_csv) as writer:
        for start in range(0, max(count, 1), _BATCH):
            rows = fitted.sample(min(_BATCH, count - start), random)
            writer.write(
                pa.RecordBatch.from_arrays([combine_chunks(each) for each in rows.columns], schema=rows.schema)
            )
    warn_of_formulas(writer, output, safe_csv)

"""suffice predict: the predictions for the rows of a table."""

from __future__ import annotations

from typing import Any

import click

from suffice.cli.files import is_formula, key_columns, load_model, open_table, read_blocks, warn_of_formulas
from suffice.cli.options import (
    complete_column,
    model_argument,
    output_option,
    quiet_option,
    safe_csv_option,
    table_argument,
    table_options,
)

#: Share of the cells of a column outside of the range of the fit, above which a note is given.
_OUTSIDE = 0.1


@click.command()
@model_argument
@table_argument
@output_option("File to write (.csv, .tsv, .parquet, .arrow, .jsonl; .csv.gz).", show_default="standard output")
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    show_default="identifiers",
    help="Column of TABLE to copy to the output; may be repeated.",
    shell_complete=complete_column,
)
@click.option("--keep-all", is_flag=True, help="Copy all columns.")
@click.option("--probabilities", is_flag=True, help="Add the probability of each class.")
@click.option("--explain", is_flag=True, help="Add the three largest contributions to each prediction.")
@table_options
@safe_csv_option
@quiet_option
def predict(
    model: str,
    table: str,
    output: str | None,
    keep: tuple[str, ...],
    keep_all: bool,
    probabilities: bool,
    explain: bool,
    safe_csv: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Predict the target of each row of TABLE.

    Columns that identify rows are copied to the output: identifiers that the model ignores, and columns that it does
    not know.
    """
    from suffice.cli.output import counted, progress_bar, say
    from suffice.tables.errors import UsageError, listed
    from suffice.tables.table_writer import open_writer, restore_integers

    fitted = load_model(model, formulas=True)
    if is_formula(fitted):
        _predict_formula(fitted, open_table(table, **options), output, keep, keep_all, probabilities, explain, safe_csv)
        return
    if probabilities and fitted.schema_.task != "classes":
        raise UsageError(f"the model predicts {fitted.schema_.task}, not classes: leave out --probabilities")
    source = open_table(table, **options)
    names = source.schema().names
    _check_kept(keep, names)
    kept = names if keep_all else list(keep) or key_columns(fitted, names)
    expected, done = source.rows(), 0
    unseen: dict[str, set[str]] = {}
    outside: dict[str, list[int]] = {}
    with progress_bar(quiet) as watch, open_writer(output, safe=safe_csv) as writer:
        for batch, block in read_blocks(fitted, source):
            shown = restore_integers(batch, source.whole)
            writer.write(_predict_batch(fitted, shown, block, kept, probabilities, explain))
            _add_unseen(fitted, block, unseen)
            _add_outside(fitted, block, outside)
            done += batch.num_rows
            if watch is not None:
                watch("reading", done, expected)
    if quiet:
        return
    warn_of_formulas(writer, output, safe_csv)
    for column, found in unseen.items():
        say(f"column {column!r} has categories that the model has not seen: {listed(sorted(found), 5)}", "warning")
    for column, (cells, known) in outside.items():
        if cells > _OUTSIDE * known:
            low, high = fitted.ranges_[column]
            say(
                f"column {column!r}: {cells:,} of {known:,} cells are outside of the range of the fit, {low:g} to "
                f"{high:g}: check their unit and notation",
                "warning",
            )
    if output is not None:
        say(f"{counted(done, 'row')} written to {output}")


def _check_kept(keep: tuple[str, ...], names: list[str]) -> None:
    from suffice.tables.errors import UsageError, listed, nearest

    for name in keep:
        if name not in names:
            raise UsageError(f"there is no column {name!r} to keep; there are {listed(names)}{nearest(name, names)}")


def _predict_formula(
    model: Any,
    source: Any,
    output: str | None,
    keep: tuple[str, ...],
    keep_all: bool,
    probabilities: bool,
    explain: bool,
    safe_csv: bool,
) -> None:
    """Write the predictions of a formula's model; columns that the formula does not read are copied."""
    from suffice.cli.formulas import predict_formula, warnings_as_notes
    from suffice.cli.output import counted, say
    from suffice.tables.errors import UsageError
    from suffice.tables.table_writer import open_writer

    if probabilities and not model.has_classes:
        raise UsageError(f"the model predicts the number {model.target}: leave out --probabilities")
    names = source.schema().names
    _check_kept(keep, names)
    kept = names if keep_all else list(keep) or [name for name in names if name not in model.column_kinds_]
    unknown = 0
    with warnings_as_notes(), open_writer(output, safe=safe_csv) as writer:
        for batch, gaps in predict_formula(model, source, kept, probabilities, explain):
            writer.write(batch)
            unknown += gaps
    warn_of_formulas(writer, output, safe_csv)
    if unknown:
        say(f"{counted(unknown, 'row')} with missing cells have no prediction", "warning")
    if output is not None:
        say(f"{counted(writer.rows, 'row')} written to {output}")


def _predict_batch(model: Any, batch: Any, block: Any, kept: list[str], probabilities: bool, explain: bool) -> Any:
    """Return the predictions for a batch, with the columns that are copied."""
    import pyarrow as pa

    from suffice.tables.arrow_arrays import from_numbers, from_strings, from_values

    taken = {"prediction", "probability", "reasons"}
    columns: dict[str, Any] = {(f"{name} (given)" if name in taken else name): batch.column(name) for name in kept}
    predictions = model.predictor_.predict(block)
    if model.schema_.task == "classes":
        codes = model.decide(predictions)
        columns["prediction"] = from_values(model.classes_[codes].tolist())
        columns["probability"] = from_numbers(predictions[range(len(codes)), codes])
        if probabilities:
            labels = enumerate(model._labels)
            columns.update({f"p({label})": from_numbers(predictions[:, code]) for code, label in labels})
    else:
        columns["prediction"] = from_numbers(predictions)
    if explain:
        from suffice.tables.explanation import explain_rows

        columns["reasons"] = from_strings([describe_contributions(row) for row in explain_rows(model, block, batch)])
    return pa.RecordBatch.from_pydict(columns)


def describe_contributions(row: Any) -> str:
    """Return the largest contributions to a prediction."""
    return "; ".join(f"{row.describe(each)} ({each.effect:+.2f})" for each in row.contributions[:3])


def _add_outside(model: Any, block: Any, outside: dict[str, list[int]]) -> None:
    """Count the cells outside of the range of the fit, and the known cells, of each column of numbers."""
    import numpy as np

    for feature, column in zip(block.features, block.columns, strict=True):
        if feature.kind == "numeric" and feature.part is None and feature.name in model.ranges_:
            low, high = model.ranges_[feature.name]
            counts = outside.setdefault(feature.name, [0, 0])
            counts[0] += int(((column < low) | (column > high)).sum())
            counts[1] += int((~np.isnan(column)).sum())


def _add_unseen(model: Any, block: Any, unseen: dict[str, set[str]]) -> None:
    """Collect the categories that the model has not seen, by column."""
    known = model.description_.levels()
    for feature, column in zip(block.features, block.columns, strict=True):
        if feature.kind == "category":
            found = {str(name) for name in column.vocabulary} - set(known[feature.name])
            if found:
                unseen.setdefault(feature.name, set()).update(found)

"""suffice predict: a model and a table in, answers out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from suffice.cli.options import (
    complete_column,
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


@click.command()
@model_argument
@table_argument
@output_option("Where to write (.csv, .tsv, .parquet, .arrow, .jsonl; .csv.gz); standard output otherwise.")
@click.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="A column of the table to keep; may be repeated.",
    shell_complete=complete_column,
)
@click.option("--keep-all", is_flag=True, help="Keep all columns.")
@click.option("--probabilities", is_flag=True, help="Write the probability of every class.")
@click.option("--explain", is_flag=True, help="Write the strongest reasons for each answer.")
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
    **how: Any,
) -> None:
    """Predict the target of each row of TABLE.

    Columns that name rows are kept: those that the model ignores as identifiers, and those that it does not know.
    """
    from suffice.cli.output import counted, say, watching
    from suffice.tables.errors import UsageError, listed, nearest
    from suffice.tables.table_writer import open_writer, restore_integers

    fitted = loaded(model)
    if probabilities and fitted.schema_.task != "classes":
        raise UsageError(f"the model predicts {fitted.schema_.task}, which have no probabilities: leave them out")
    source = opened(table, **how)
    names = source.schema().names
    for name in keep:
        if name not in names:
            raise UsageError(f"there is no column {name!r} to keep; there are {listed(names)}{nearest(name, names)}")
    kept = names if keep_all else list(keep) or keys_of(fitted, names)
    expected, done = source.rows(), 0
    strange: dict[str, set[str]] = {}
    with watching(quiet) as watch, open_writer(output, safe=safe_csv) as writer:
        for batch, block in batches_of(fitted, source):
            shown = restore_integers(batch, source.whole)
            writer.write(_answered(fitted, shown, block, kept, probabilities, explain))
            _note_strange(fitted, block, strange)
            done += batch.num_rows
            if watch is not None:
                watch("reading", done, expected)
    if quiet:
        return
    warn_of_formulas(writer, output, safe_csv)
    for column, found in strange.items():
        say(f"column {column!r} holds {listed(sorted(found), 5)}, which the model has never seen", "warning")
    if output is not None:
        say(f"{counted(done, 'row')} written to {output}")


def batches_of(model: Any, source: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the batches of a table and what the model sees of them; one without rows where there are none."""
    import pyarrow as pa

    from suffice.tables.encoding import Block

    some = False
    for batch, block in model.blocks(source):
        some = True
        yield batch, block
    if not some:
        schema = source.schema()
        batch = pa.RecordBatch.from_arrays([pa.array([], type=kind) for kind in schema.types], schema=schema)
        yield batch, Block.of(batch, model.schema_)


def keys_of(model: Any, names: list[str]) -> list[str]:
    """Return the columns that name rows."""
    schema = model.schema_
    known = {field.name for field in schema.fields if field.kind != "ignore" or "identifier" not in field.why}
    return [name for name in names if name not in known]


def _answered(model: Any, batch: Any, block: Any, kept: list[str], probabilities: bool, explain: bool) -> Any:
    """Return the answers to a batch, beside the columns that are kept."""
    import pyarrow as pa

    taken = {"prediction", "probability", "reasons"}
    columns: dict[str, Any] = {(f"{name} (given)" if name in taken else name): batch.column(name) for name in kept}
    answers = model.predictor_.answers(block)
    if model.schema_.task == "classes":
        columns["prediction"] = pa.array(model.named(answers).tolist())
        columns["probability"] = pa.array(answers.max(axis=1))
        if probabilities:
            columns.update({f"p({label})": pa.array(answers[:, code]) for code, label in enumerate(model._labels)})
    else:
        columns["prediction"] = pa.array(answers)
    if explain:
        from suffice.tables.explanation import explain_rows

        columns["reasons"] = pa.array([_reasons(row) for row in explain_rows(model.predictor_, block, batch)])
    return pa.RecordBatch.from_pydict(columns)


def _reasons(row: Any) -> str:
    return "; ".join(f"{row.describe(each)} ({each.effect:+.2f})" for each in row.contributions[:3])


def _note_strange(model: Any, block: Any, strange: dict[str, set[str]]) -> None:
    """Take down the categories that the model has never seen."""
    known = model.description_.levels()
    for feature, column in zip(block.features, block.columns, strict=True):
        if feature.kind == "category":
            found = {str(name) for name in column.vocabulary} - set(known[feature.name])
            if found:
                strange.setdefault(feature.name, set()).update(found)

"""Models of formulas on the command line: fit, predict, explain, describe."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

#: Commands that take the file of a formula's model.
COMMANDS = "predict, evaluate, explain, summary, info"


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings as notes, each once."""
    from suffice.cli.output import say

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(str(each.message) for each in caught):
        say(message, "warning")


def fit_formula(source: Any, formula: str, settings: dict[str, Any]) -> Any:
    """Return the model of a formula, fitted to the rows of a source."""
    from suffice.formula import fit

    with warnings_as_notes():
        return fit(formula, source, **{name: value for name, value in settings.items() if value is not None})


def summary_as_json(model: Any, level: float = 0.95) -> dict[str, Any]:
    """Return the summary of a model as JSON shows it."""
    return {
        "formula": model.formula,
        "classes": list(model.classes_) if model.has_classes else None,
        "rows": model.rows_,
        "rows_with_missing_cells": model.dropped_rows_,
        "dropped_columns": model.dropped_columns_,
        "summary": model.summary(level).to_dict(),
    }


def describe_formula(model: Any, size: int) -> None:
    """Print what the file of a model holds."""
    from suffice.cli.output import print_line

    print_line(f"{type(model.estimator_).__name__}: {model.formula}", "bold")
    classes = f" (classes: {', '.join(map(str, model.classes_))})" if model.has_classes else ""
    print_line(f"  predicts  {model.target}{classes}")
    left_out = f", {model.dropped_rows_:,} with missing cells left out" if model.dropped_rows_ else ""
    print_line(f"  learned   {model.rows_:,} rows{left_out}")
    print_line(f"  file      {size / 1000:,.0f} kB")
    print_line(f"  commands  {COMMANDS}")
    for kind in ("number", "category"):
        names = [name for name, each in model.column_kinds_.items() if each == kind]
        if names:
            print_line(f"  {kind:<9} {', '.join(names)}")
    for name, coding in model.design.codings().items():
        print_line(f"  levels    {name}: {', '.join(map(str, coding.levels))}")


def predict_formula(
    model: Any, source: Any, kept: Sequence[str], probabilities: bool, explain: bool
) -> Iterator[tuple[Any, int]]:
    """Yield batches of predictions with the columns that are copied, and how many rows each misses a prediction of."""
    import numpy as np
    import pyarrow as pa

    from suffice.cli.predict import describe_contributions
    from suffice.formula.cells import Table
    from suffice.tables.table_writer import restore_integers

    table = Table(source)
    table.check_columns(model.columns_to_predict)
    first = 0
    for batch in source.batches():
        cells = table.read_batch(batch, model.columns_to_predict, first)
        found = model.predict_cells(cells)
        unknown = np.isnan(found.reshape(len(found), -1)).any(axis=1)
        shown = restore_integers(batch, source.whole)
        taken = {"prediction", "probability", "reasons"}
        columns: dict[str, Any] = {(f"{name} (given)" if name in taken else name): shown.column(name) for name in kept}
        if model.has_classes:
            names = [None if gap else model.classes_[code] for gap, code in zip(unknown, _best(found), strict=True)]
            columns["prediction"] = pa.array(names, type=None if not all(unknown) else pa.string())
            columns["probability"] = pa.array(found.max(axis=1), mask=unknown)
            if probabilities:
                for code, label in enumerate(model.classes_):
                    columns[f"p({label})"] = pa.array(found[:, code], mask=unknown)
        else:
            columns["prediction"] = pa.array(found, mask=unknown)
        if explain:
            reasons: list[str | None] = [None] * len(found)
            rows = np.flatnonzero(~unknown)
            for row, each in zip(rows, model.explain_cells(cells.take(rows)), strict=True):
                reasons[row] = describe_contributions(each)
            columns["reasons"] = pa.array(reasons, type=pa.string())
        yield pa.RecordBatch.from_pydict(columns), int(unknown.sum())
        first += batch.num_rows


def _best(probabilities: Any) -> Any:
    import numpy as np

    return np.nan_to_num(probabilities, nan=-1.0).argmax(axis=1)


def explain_formula(model: Any, source: Any, count: int, numbers: Sequence[int]) -> list[Any]:
    """Return the explanations of some rows of a table."""
    import numpy as np

    from suffice.formula.cells import Table
    from suffice.tables.errors import TableError

    table = Table(source)
    table.check_columns(model.columns_to_predict)
    wanted = sorted({number - 1 for number in numbers}) or list(range(count))
    found: list[Any] = []
    rows = 0
    for cells in table.batches(model.columns_to_predict):
        here = np.array([row - cells.first for row in wanted if 0 <= row - cells.first < cells.rows], dtype=np.intp)
        found.extend(model.explain_cells(cells.take(here)))
        rows = cells.first + cells.rows
        if rows > wanted[-1]:
            break
    if numbers and len(found) < len(wanted):
        raise TableError(f"{source.name} has {rows} rows: there is no row {wanted[-1] + 1}")
    if not rows:
        raise TableError(f"{source.name} has no rows")
    return found


def row_of_arguments(model: Any, given: dict[str, Any]) -> Any:
    """Return one row as a table: a cell for each column that predictions need."""
    import pyarrow as pa

    from suffice.tables.errors import UsageError, listed, nearest

    needed = model.columns_to_predict
    for name in given:
        if name not in model.column_kinds_:
            raise UsageError(f"the formula has no column {name!r}; it reads {listed(needed)}{nearest(name, needed)}")
    columns = {}
    for name in needed:
        value = given.get(name)
        if value is None:
            raise UsageError(f"the formula reads {name!r}: give {name}=VALUE")
        if model.column_kinds_[name] == "number":
            try:
                columns[name] = pa.array([float(value)])
            except (TypeError, ValueError):
                raise UsageError(f"{name} must be a number; got {json.dumps(value)}") from None
        else:
            columns[name] = pa.array([str(value)])
    return pa.table(columns)

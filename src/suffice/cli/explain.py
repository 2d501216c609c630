"""suffice explain: the contribution of each column to a prediction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from suffice.cli.files import is_formula, load_model, open_table
from suffice.cli.options import json_option, model_argument, table_options


@click.command()
@model_argument
@click.argument("rows", nargs=-1, required=True, metavar="TABLE|ROW")
@click.option("-n", "count", type=click.IntRange(1), default=5, show_default=True, help="Number of rows of TABLE.")
@click.option("--row", "numbers", type=click.IntRange(1), multiple=True, help="Row of TABLE, from 1; may be repeated.")
@table_options
@json_option
def explain(
    model: str, rows: tuple[str, ...], count: int, numbers: tuple[int, ...], as_json: bool, **options: Any
) -> None:
    """Explain the predictions for rows of TABLE, or for one ROW.

    Prints the contribution of each column to the log-odds (or to the expected number); the contributions and the
    prior add up to the total. ROW is JSON, '{"area": 90, "street": "calm"}', or cells: area=90 street=calm. Other
    columns are missing.
    """
    from suffice.cli.output import print_line, show_json

    fitted = load_model(model, formulas=True)
    if is_formula(fitted):
        from suffice.cli.formulas import explain_formula, row_of_arguments

        if _is_table(rows):
            found = explain_formula(fitted, open_table(rows[0], **options), count, numbers)
        else:
            found = fitted.explain(row_of_arguments(fitted, _given_cells(rows)))
    elif _is_table(rows):
        found = _explain_table(fitted, rows[0], count, numbers, options)
    else:
        found = fitted.explain(_parse_row(fitted, rows))
    if as_json:
        show_json([_as_json(each) for each in found])
        return
    for each in found:
        if _is_table(rows):
            print_line(f"row {each.row + 1}", "dim")
        print_line(str(each))


def _as_json(explanation: Any) -> dict[str, Any]:
    found = explanation.to_dict()
    return {
        "row": found["row"] + 1,
        **{name: found[name] for name in ("prediction", "probability", "against", "base", "total")},
        "reasons": [
            {"column": each["feature"], "value": each["value"], "effect": each["effect"]}
            for each in found["contributions"]
        ],
        "unit": found["unit"],
    }


def _is_table(rows: tuple[str, ...]) -> bool:
    text = rows[0]
    return len(rows) == 1 and not text.lstrip().startswith("{") and ("=" not in text or Path(text).exists())


def _explain_table(model: Any, table: str, count: int, numbers: tuple[int, ...], options: dict[str, Any]) -> list[Any]:
    from dataclasses import replace

    import pyarrow as pa

    from suffice.tables import TableError
    from suffice.tables.explanation import explain_rows

    wanted = sorted({number - 1 for number in numbers}) or list(range(count))
    found: list[Any] = []
    rows = 0
    for batch, block in model.blocks(open_table(table, **options)):
        rows = block.first + batch.num_rows
        here = [row - block.first for row in wanted if 0 <= row - block.first < batch.num_rows]
        if here:
            table_rows = pa.Table.from_batches([batch.slice(row, 1) for row in here]).combine_chunks()
            some = explain_rows(model, block[here], table_rows)
            found.extend(replace(each, row=block.first + row) for each, row in zip(some, here, strict=True))
        if rows > wanted[-1]:
            break
    if not rows:
        raise TableError(f"{table} has no rows")
    if numbers and len(found) < len(wanted):
        raise TableError(f"{table} has {rows} rows: there is no row {wanted[-1] + 1}")
    return found


def _parse_row(model: Any, cells: tuple[str, ...]) -> Any:
    """Return the row of the arguments as an Arrow table, with a cell for each column of the model."""
    import pyarrow as pa

    from suffice.tables.arrow_arrays import from_values
    from suffice.tables.errors import UsageError, listed, nearest

    given = _given_cells(cells)
    columns = model.schema_.columns
    known = {*columns, *(field.name for field in model.schema_.fields)}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise UsageError(
            f"the model has no column {unknown[0]!r}; its columns are {listed(columns)}{nearest(unknown[0], columns)}"
        )
    return pa.table({name: from_values([given.get(name)]) for name in columns})


def _given_cells(cells: tuple[str, ...]) -> dict[str, Any]:
    """Return the cells of the arguments: JSON, or COLUMN=VALUE."""
    from suffice.tables.errors import UsageError

    if cells[0].lstrip().startswith("{"):
        try:
            given: Any = json.loads(" ".join(cells))
        except json.JSONDecodeError as error:
            raise UsageError(f'{cells[0]!r} is not a JSON object ({error}); write {{"column": value, ...}}') from None
    else:
        pairs = [cell.partition("=") for cell in cells]
        wrong = [cell for cell, (_, equals, _) in zip(cells, pairs, strict=True) if not equals]
        if wrong:
            raise UsageError(f"{wrong[0]!r} is neither a table nor COLUMN=VALUE")
        given = {name: value if value != "" else None for name, _, value in pairs}
    return dict(given)

"""suffice explain: why a row is given its answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from suffice.cli.options import json_option, loaded, model_argument, opened, table_options


@click.command()
@model_argument
@click.argument("rows", nargs=-1, required=True, metavar="TABLE|ROW")
@click.option("-n", "count", type=click.IntRange(1), default=5, show_default=True, help="How many rows of a table.")
@click.option(
    "--row", "places", type=click.IntRange(1), multiple=True, help="A row of the table, from 1; may be repeated."
)
@table_options
@json_option
def explain(model: str, rows: tuple[str, ...], count: int, places: tuple[int, ...], as_json: bool, **how: Any) -> None:
    """Say why rows are given their answers: what each column adds.

    ROW is written as JSON, '{"area": 90, "street": "calm"}', or as cells: area=90 street=calm. Columns that are left
    out are missing.
    """
    from suffice.cli.output import print_line, show_json

    fitted = loaded(model)
    found = _of_table(fitted, rows[0], count, places, how) if _is_table(rows) else fitted.explain(_row(fitted, rows))
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


def _of_table(model: Any, table: str, count: int, places: tuple[int, ...], how: dict[str, Any]) -> list[Any]:
    import pyarrow as pa

    from suffice.tables import TableError
    from suffice.tables.explanation import explain_rows

    wanted = sorted({place - 1 for place in places}) or list(range(count))
    found: list[Any] = []
    rows = 0
    for batch, block in model.blocks(opened(table, **how)):
        rows = block.first + batch.num_rows
        here = [place - block.first for place in wanted if 0 <= place - block.first < batch.num_rows]
        if here:
            some = explain_rows(model.predictor_, block[here], batch.take(pa.array(here)))
            found.extend(_at(each, block.first + place) for each, place in zip(some, here, strict=True))
        if rows > wanted[-1]:
            break
    if not rows:
        raise TableError(f"{table} has no rows: there is nothing to explain")
    if places and len(found) < len(wanted):
        raise TableError(f"the table has {rows} rows: there is no row {wanted[-1] + 1}")
    return found


def _at(explanation: Any, row: int) -> Any:
    from dataclasses import replace

    return replace(explanation, row=row)


def _row(model: Any, cells: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return one row, with a cell for each column that the model reads."""
    from suffice.tables.errors import UsageError, listed, nearest

    if cells[0].lstrip().startswith("{"):
        try:
            given: Any = json.loads(" ".join(cells))
        except json.JSONDecodeError as error:
            raise UsageError(f'{cells[0]!r} is no JSON object ({error}); write {{"column": value, ...}}') from None
    else:
        pairs = [cell.partition("=") for cell in cells]
        wrong = [cell for cell, (_, equals, _) in zip(cells, pairs, strict=True) if not equals]
        if wrong:
            raise UsageError(f"{wrong[0]!r} is neither a table nor a cell, COLUMN=VALUE")
        given = {name: value if value != "" else None for name, _, value in pairs}
    columns = model.schema_.columns
    strange = [
        name for name in given if name not in columns and name not in {each.name for each in model.schema_.fields}
    ]
    if strange:
        raise UsageError(
            f"the model knows no column {strange[0]!r}; it reads {listed(columns)}{nearest(strange[0], columns)}"
        )
    return [{name: given.get(name) for name in columns}]

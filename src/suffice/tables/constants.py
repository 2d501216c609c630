"""Columns that do not vary in the rows learned so far: their sums follow from their one cell and the class weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.tables.cells import cell_type, combine_chunks
from suffice.tables.encoding import Block, encode_column, encode_names, encode_values
from suffice.tables.errors import TableError
from suffice.tables.schema import Cell, Field, Schema, infer_schema
from suffice.tables.sources.base import arrow

if TYPE_CHECKING:
    import pyarrow as pa

#: Copies of the two cells that the kind of a column is inferred from, at most.
_COPIES = 1000


def encode_constants(schema: Schema, cells: Mapping[str, tuple[Cell, ...]]) -> Block:
    """Return one row of the features of some columns: the cell of all rows, or a missing one.

    Examples
    --------
    >>> schema = Schema((Field("site", "category", "name"), Field("age", "numeric", "whole")), "sold", "classes")
    >>> row = encode_constants(schema, {"site": ("north",), "age": ()})
    >>> row.columns[0].vocabulary.names, row.columns[1]
    (('north',), array([nan]))
    """
    pa = arrow()
    columns: list[Any] = []
    for field in schema.predictors:
        if field.name in cells:
            column = pa.array(cells[field.name]) if cells[field.name] else pa.nulls(1)
            columns += encode_column(column, field, 0, schema.missing)
    return Block(tuple(each for each in schema.features if each.column in cells), tuple(columns), 1)


def find_varying(batch: pa.RecordBatch, schema: Schema) -> dict[str, Any]:
    """Return the columns of a batch that differ from the one cell of all rows so far, by name."""
    found = {}
    for name, cells in schema.constants.items():
        if name not in batch.schema.names:
            continue
        column = batch.column(name)
        if cell_type(column.type) != "other":
            seen = encode_names(column, schema.missing)
            is_same = (seen.codes < 0).all() if not cells else (seen.codes == 0).all()
            if is_same and (not cells or seen.vocabulary == encode_values(cells).vocabulary):
                continue
        found[name] = column
    return found


def infer_field(name: str, cells: tuple[Cell, ...], rows: int, column: Any, schema: Schema) -> Field:
    """Return a column that is no longer constant, with the kind that is inferred from all its cells.

    Parameters
    ----------
    name
        The column.
    cells
        The cell of the rows so far; empty if none is known.
    rows
        Number of these rows.
    column
        The cells of further rows, an Arrow array.
    schema
        The schema of the model.

    Examples
    --------
    >>> schema = Schema((Field("site", "ignore", "name", constant=("north",)),), "sold", "classes")
    >>> infer_field("site", ("north",), 50, arrow().array(["south"] * 50), schema).kind
    'category'
    """
    pa = arrow()
    column = combine_chunks(column)
    copies = max(1, min(rows, _COPIES))
    own = pa.array(list(cells) * copies) if cells else pa.nulls(copies)
    own, column = _alike(own, column)
    both = pa.chunked_array([own, column])
    classes = pa.array((np.arange(len(both)) % 2 == 0).tolist())  # a target, and a column that is never ignored
    table = pa.table({name: both, schema.target: classes, f"{name} {schema.target}": classes})
    field = infer_schema(table, schema.target, task="classes", missing=schema.missing).field(name)
    if field.is_uncertain and field.kind != "category":
        shown = repr(cells[0]) if cells else "missing"
        raise TableError(f"column {name!r} is {shown} in all rows so far; {field.note}: fit again to all rows")
    return field


def _alike(one: Any, two: Any) -> tuple[Any, Any]:
    """Return two Arrow arrays as arrays of one type: that of one of them, or strings."""
    pa = arrow()
    for kind in (two.type, one.type):
        try:
            return one.cast(kind), two.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return one.cast(pa.string()), two.cast(pa.string())


def unite_fields(one: Schema, two: Schema, rows: tuple[int, int]) -> tuple[dict[str, Field], dict[str, Field]]:
    """Return the fields that the models of two tables take for columns that do not vary in the rows of one of them.

    Such a column is read as the other model reads it; if it does not vary in either of them, and their cells differ, as
    is inferred from both cells.
    """
    pa = arrow()
    ours, theirs = ({field.name: field for field in schema.fields} for schema in (one, two))
    changed: tuple[dict[str, Field], dict[str, Field]] = ({}, {})
    for name in dict.fromkeys([*one.constants, *two.constants]):
        mine, other = ours.get(name), theirs.get(name)
        if mine is None or other is None:
            place, field = (0, mine) if mine is not None else (1, other)
            assert field is not None
            changed[place][name] = replace(field, why="some tables lack this column", constant=None)
        elif mine.constant is None:
            changed[1][name] = mine
        elif other.constant is None:
            changed[0][name] = other
        elif mine.constant != other.constant:
            copies = min(rows[1], _COPIES)
            column = pa.array(list(other.constant) * copies) if other.constant else pa.nulls(copies)
            field = infer_field(name, mine.constant, rows[0], column, one)
            changed[0][name] = changed[1][name] = field
    return changed

"""Conversion of Spark columns to arrays, and of results to Spark columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark

from suffice.data.dataset import Piece
from suffice.data.workers import Failure

#: Rows are taken together until they hold this many cells: small batches cost more than they hold.
CELLS = 1 << 20

#: A thing on a worker, after the number of its partition and its place there.
Placed = tuple[int, int, Any]


def check_features(kinds: dict[str, spark.DataType]) -> None:
    """Raise where a column of the features is of a type that no model reads."""
    for name, kind in kinds.items():
        if isinstance(kind, spark.ArrayType) and len(kinds) > 1:
            raise TypeError(
                f"column {name!r} holds arrays, and there are others: give one column of arrays, or plain ones"
            )
        if kind.typeName() in ("udt", "vector", "vectorudt") or isinstance(kind, spark.UserDefinedType):
            raise TypeError(
                f"column {name!r} holds vectors of MLlib: turn them into arrays with "
                "pyspark.ml.functions.vector_to_array"
            )
        if isinstance(kind, spark.MapType | spark.StructType | spark.BinaryType):
            raise TypeError(f"column {name!r} is of type {kind.simpleString()}: give numbers, names, texts or arrays")


def pieces(
    names: tuple[str, ...], columns: dict[str, list[str]], batches: Iterable[pa.RecordBatch]
) -> Iterator[Placed]:
    """Yield rows, some batches of Arrow at a time; the last column says of which partition they are."""
    for part, mine in itertools.groupby(runs(batches), key=itemgetter(0)):
        for place, held in enumerate(_some_at_a_time(batch for _, batch in mine)):
            piece = read(pa.Table.from_batches(held).drop_columns("part").rename_columns(names), columns)
            if isinstance(piece, Failure):
                piece.error.add_note(f"in partition {part}, counted from 0")
            else:
                piece["place"] = part, place
            yield part, place, piece


def runs(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield batches whose rows are of one partition, and its number."""
    for batch in batches:
        parts = batch.column("part").to_numpy()
        for start, stop in pairwise([0, *(np.flatnonzero(np.diff(parts)) + 1), len(parts)]):
            if stop > start:
                yield int(parts[start]), batch.slice(start, stop - start)


def _some_at_a_time(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Yield lists of batches that hold enough cells to be worth a sum of their own."""
    held: list[pa.RecordBatch] = []
    cells = 0
    for batch in batches:
        held.append(batch)
        cells += batch.num_rows * batch.num_columns
        if cells >= CELLS:
            yield held
            held, cells = [], 0
    if held:
        yield held


def read(table: pa.Table, columns: dict[str, list[str]]) -> Piece | Failure:
    """Return rows as a piece: X as a data frame, or an array where it came as arrays; the others as columns."""
    try:
        piece: Piece = {}
        for key, names in columns.items():
            if key == "X":
                piece[key] = _features(table, names)
            else:
                found = [_column(table.column(name)) for name in names]
                piece[key] = found[0] if len(found) == 1 else np.stack([np.asarray(each) for each in found], axis=1)
        if "X" not in piece:
            piece["X"] = np.empty((table.num_rows, 0))
        return piece
    except Exception as error:
        return Failure(error.with_traceback(None))


def _features(table: pa.Table, names: list[str]) -> Any:
    if len(names) == 1 and pa.types.is_list(table.schema.field(names[0]).type):
        return _wide(names[0], table.column(names[0]).combine_chunks())
    return pd.DataFrame({name: _column(table.column(name)) for name in names}, copy=False)


def _wide(name: str, column: Any) -> Any:
    """Return a column of arrays as rows of numbers."""
    column = column if isinstance(column, pa.Array) else pa.concat_arrays(column.chunks)
    if column.null_count:
        raise ValueError(f"column {name!r} holds null where an array of numbers should be")
    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(lengths) > 1:
        raise ValueError(f"column {name!r} holds arrays of different lengths, such as {lengths[0]} and {lengths[1]}")
    return np.asarray(_column(column.flatten())).reshape(len(column), lengths[0])


def _column(column: Any) -> Any:
    """Return a column as pandas holds it: decimals as floats, whole numbers exactly even beside nulls."""
    kind = column.type
    if pa.types.is_decimal(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    if pa.types.is_integer(kind) and column.null_count:
        return pd.Series(column.to_pandas(types_mapper={kind: pd.Int64Dtype()}.get))
    if pa.types.is_boolean(kind) and column.null_count:
        return pd.Series(column.to_pandas(types_mapper={kind: pd.BooleanDtype()}.get))
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()
    return column.to_pandas()


def stand_in(kinds: dict[str, spark.DataType]) -> Any:
    """Return a made-up row of the kind that columns hold; None for a column of arrays."""
    if len(kinds) == 1 and isinstance(next(iter(kinds.values())), spark.ArrayType):
        return None
    return pd.DataFrame({name: _cell(kind) for name, kind in kinds.items()})


def _cell(kind: spark.DataType) -> Any:
    if isinstance(kind, spark.StringType):
        return pd.Series(["1"])  # it passes as a number, too: what is none is told of a real cell, on a worker
    if isinstance(kind, spark.BooleanType):
        return np.array([True])
    if isinstance(kind, spark.IntegralType):
        return np.array([1], dtype=np.int64)
    return np.array([1.0])


def answer_type(example: Any) -> spark.DataType:
    """Return Spark's type of a result."""
    array = np.asarray(example)
    if array.dtype.kind == "b":
        cell: spark.DataType = spark.BooleanType()
    elif array.dtype.kind in "iu":
        cell = spark.LongType()
    elif array.dtype.kind == "f":
        cell = spark.DoubleType()
    else:
        cell = spark.StringType()
    return spark.ArrayType(cell) if array.ndim == 2 else cell


def as_answer(answer: Any) -> pa.Array:
    """Return results as an Arrow column."""
    array = np.asarray(answer)
    if array.dtype.kind in "OU":
        return pa.array([str(each) for each in array.tolist()], pa.string())
    if array.dtype.kind in "iu":
        array = array.astype(np.int64)
    if array.ndim == 1:
        return pa.array(array)
    flat = pa.array(np.ascontiguousarray(array, dtype=np.float64).reshape(-1))
    return pa.ListArray.from_arrays(np.arange(0, array.size + 1, array.shape[1], dtype=np.int32), flat)

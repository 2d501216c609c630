"""Rows that differ in two features only: as the user's rows are, in a data frame of the same library or an array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw
import numpy as np

from suffice.generative.columns import Column, data_frame, read_columns
from suffice.plots.inputs import Array
from suffice.statistics.base import FloatArray

#: How far the grid goes beyond the rows, as a share of their range.
_MARGIN = 0.05


@dataclass(frozen=True, eq=False)
class Grid:
    """All pairs of values of two features, the others held."""

    first: FloatArray  # (a,)
    second: FloatArray  # (b,)
    rows: Any  # (b a, d), the first feature changing fastest
    held: dict[str, Any]  # what the other features are held at

    @classmethod
    def over(cls, X: Any, names: Sequence[str], places: tuple[int, int], held: Mapping[int, Any], size: int) -> Self:
        """Return the grid over the range of X in two features."""
        if size < 2:
            raise ValueError(f"grid must be 2 or more; got {size!r}")
        dense = X.toarray() if hasattr(X, "toarray") else X
        table = read_columns(dense)
        for place in held:
            if place in places:
                raise ValueError(f"feature {names[place]!r} is drawn: it cannot be held")
        plain = isinstance(dense, np.ndarray) and dense.dtype.kind == "f"
        first, second = (_values(table[place], names[place], size, not plain) for place in places)
        across, up = (each.reshape(-1) for each in np.meshgrid(first, second))
        kept = {place: held.get(place, _usual(column)) for place, column in enumerate(table) if place not in places}
        columns = [
            across if place == places[0] else up if place == places[1] else kept[place] for place in range(len(table))
        ]
        rows = _like(dense, columns, len(across))
        return cls(
            first.astype(np.float64),
            second.astype(np.float64),
            rows,
            {names[place]: value for place, value in kept.items()},
        )


def _values(column: Column, name: str, size: int, may_count: bool) -> Array:
    """Return the values of a feature that are tried; whole ones where all cells are, as it may be a count.

    In data frames, whole numbers beside missing cells are often kept as floats.
    """
    cells = column.cells
    if column.type not in ("int", "float"):
        raise ValueError(f"feature {name!r} holds {_TYPES.get(column.type, column.type)}: a boundary needs numbers")
    cells = cells[np.isfinite(cells)]
    if not cells.size:
        raise ValueError(f"feature {name!r} has no number at all: choose another")
    low, high = cells.min(), cells.max()
    if column.type == "int" or (may_count and (cells == np.floor(cells)).all()):
        whole = np.unique(np.linspace(low, max(high, low + 1), size).round().astype(np.int64))
        return np.asarray(whole.astype(cells.dtype))
    margin = _MARGIN * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, size)


_TYPES = {"bool": "True and False", "str": "strings", "label": "categories", "mixed": "cells of several types"}


def _usual(column: Column) -> Any:
    """Return the median of numbers (of whole ones, one that occurs), or else the most frequent cell; None of none."""
    cells = column.cells
    if not len(cells):
        return None
    if column.type == "float":
        return float(np.median(cells))
    if column.type == "int":
        return int(np.quantile(cells, 0.5, method="lower"))
    values, counts = np.unique(cells.astype(str), return_counts=True)
    most = values[int(np.argmax(counts))]
    return next(cell for cell in cells.tolist() if str(cell) == most)


def _like(X: Any, columns: list[Any], rows: int) -> Any:
    """Return columns, each an array or one value for all rows, as what X is."""
    frame = data_frame(X)
    if frame is not None:
        series = [
            _series(frame[:, place], name, values, rows)
            for place, (name, values) in enumerate(zip(frame.columns, columns, strict=True))
        ]
        return nw.DataFrame.from_dict({each.name: each for each in series}).to_native()
    types = {type(value) for value in columns if not isinstance(value, np.ndarray)}
    plain = isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and types <= {int, float, bool}
    table = np.empty((rows, len(columns)), dtype=X.dtype if plain and X.dtype.kind != "b" else object)
    for place, values in enumerate(columns):
        table[:, place] = values
    return table


def _series(like: Any, name: str, values: Any, rows: int) -> Any:
    """Return a column of a data frame, of the type that it has there wherever that can hold the values."""
    backend = like.implementation
    if isinstance(values, np.ndarray):
        dtype = like.dtype if like.dtype.is_numeric() else nw.Float64()
        return nw.new_series(name, values.tolist(), dtype=dtype, backend=backend)
    is_between = like.dtype.is_integer() and values != int(values)  # a whole column held at a number that is not
    return nw.new_series(name, [values] * rows, dtype=nw.Float64() if is_between else like.dtype, backend=backend)

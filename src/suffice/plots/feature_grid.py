"""Grid of rows over two features, of the same type as the user's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import narwhals as nw
import numpy as np

from suffice.data.frames import data_frame
from suffice.generative.columns import Column, read_columns
from suffice.plots.inputs import Array
from suffice.statistics.base import FloatArray

#: Extension of the grid beyond the range of the rows, as a share of the range.
_MARGIN = 0.05


@dataclass(frozen=True, eq=False)
class FeatureGrid:
    """All pairs of grid values of two features, with the other features held constant."""

    first: FloatArray  # (a,)
    second: FloatArray  # (b,)
    rows: Any  # (b a, d), the first feature varies fastest
    held: dict[str, Any]  # constant values of the other features

    @classmethod
    def over(cls, X: Any, names: Sequence[str], axes: tuple[int, int], held: Mapping[int, Any], size: int) -> Self:
        """Return the grid over the range of X in two features.

        Parameters
        ----------
        X
            Rows.
        names
            Feature names.
        axes
            Indices of the two features.
        held
            Constant values of other features, by index.
        size
            Number of values of each feature.
        """
        if size < 2:
            raise ValueError(f"grid must be 2 or more; got {size!r}")
        dense = X.toarray() if hasattr(X, "toarray") else X
        table = read_columns(dense)
        for index in held:
            if index in axes:
                raise ValueError(f"feature {names[index]!r} is an axis of the plot: it cannot be held constant")
        is_float_array = isinstance(dense, np.ndarray) and dense.dtype.kind == "f"
        first, second = (_grid_values(table[index], names[index], size, not is_float_array) for index in axes)
        first_cells, second_cells = (each.reshape(-1) for each in np.meshgrid(first, second))
        constants = {
            index: held.get(index, _typical_value(column)) for index, column in enumerate(table) if index not in axes
        }
        columns = [
            first_cells if index == axes[0] else second_cells if index == axes[1] else constants[index]
            for index in range(len(table))
        ]
        return cls(
            first.astype(np.float64),
            second.astype(np.float64),
            _make_rows(dense, columns, len(first_cells)),
            {names[index]: value for index, value in constants.items()},
        )


def _grid_values(column: Column, name: str, size: int, may_count: bool) -> Array:
    """Return the grid values of a feature; integers where all cells are integers, as the feature may be a count.

    In data frames, integers beside missing cells are often stored as floats.
    """
    cells = column.cells
    if column.type not in ("int", "float"):
        contents = _CONTENTS.get(column.type, column.type)
        raise ValueError(f"feature {name!r} holds {contents}: a decision boundary needs numbers")
    cells = cells[np.isfinite(cells)]
    if not cells.size:
        raise ValueError(f"feature {name!r} has no finite number: choose another")
    low, high = cells.min(), cells.max()
    if column.type == "int" or (may_count and (cells == np.floor(cells)).all()):
        integers = np.unique(np.linspace(low, max(high, low + 1), size).round().astype(np.int64))
        return np.asarray(integers.astype(cells.dtype))
    margin = _MARGIN * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, size)


_CONTENTS = {"bool": "True and False", "str": "strings", "label": "categories", "mixed": "cells of several types"}


def _typical_value(column: Column) -> Any:
    """Return the median of numbers (of integers, one that occurs), else the most frequent cell; None of no cells."""
    cells = column.cells
    if not len(cells):
        return None
    if column.type == "float":
        return float(np.median(cells))
    if column.type == "int":
        return int(np.quantile(cells, 0.5, method="lower"))
    values, counts = np.unique(cells.astype(str), return_counts=True)
    most_frequent = values[int(np.argmax(counts))]
    return next(cell for cell in cells.tolist() if str(cell) == most_frequent)


def _make_rows(X: Any, columns: list[Any], n_rows: int) -> Any:
    """Return rows of the type of X from columns, each an array or one value for all rows."""
    frame = data_frame(X)
    if frame is not None:
        series = [
            _make_series(frame[:, index], name, values, n_rows)
            for index, (name, values) in enumerate(zip(frame.columns, columns, strict=True))
        ]
        return nw.DataFrame.from_dict({each.name: each for each in series}).to_native()
    types = {type(value) for value in columns if not isinstance(value, np.ndarray)}
    is_numeric = isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and types <= {int, float, bool}
    table = np.empty((n_rows, len(columns)), dtype=X.dtype if is_numeric and X.dtype.kind != "b" else object)
    for index, values in enumerate(columns):
        table[:, index] = values
    return table


def _make_series(like: Any, name: str, values: Any, n_rows: int) -> Any:
    """Return a column of a data frame, of the dtype of ``like`` where that can represent the values."""
    backend = like.implementation
    if isinstance(values, np.ndarray):
        dtype = like.dtype if like.dtype.is_numeric() else nw.Float64()
        return nw.new_series(name, values.tolist(), dtype=dtype, backend=backend)
    is_fraction = like.dtype.is_integer() and values != int(values)  # an integer column held at a fraction
    return nw.new_series(name, [values] * n_rows, dtype=nw.Float64() if is_fraction else like.dtype, backend=backend)

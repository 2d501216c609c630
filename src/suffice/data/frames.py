"""Data frames of any library (pandas, Polars, Arrow and others) through narwhals, without importing another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.kernels.libraries import is_sparse

if TYPE_CHECKING:
    import narwhals as nw


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A matrix whose columns have names: rows that estimators take, without a library of data frames.

    Examples
    --------
    >>> rows = NamedMatrix(np.zeros((3, 2)), ("age", "race[black]"))
    >>> rows.shape, rows[:1].shape
    ((3, 2), (1, 2))
    """

    values: npt.NDArray[np.float64]  # (n, d)
    names: tuple[str, ...]  # (d,)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows and columns."""
        return self.values.shape

    def __getitem__(self, rows: Any) -> NamedMatrix:
        return NamedMatrix(self.values[rows], self.names)


def data_frame(x: Any) -> nw.DataFrame[Any] | None:
    """Return a data frame in memory, of any library; None where x is none.

    Examples
    --------
    >>> data_frame([[1.0]])
    """
    if isinstance(x, np.ndarray | list | NamedMatrix) or is_sparse(x):
        return None
    import narwhals as nw  # slow to import, and rows of arrays do not need it

    frame = nw.from_native(x, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def is_masked(x: Any) -> bool:
    """Whether x is a masked array of NumPy.

    Examples
    --------
    >>> is_masked(np.zeros(1))
    False
    """
    # Looked up, not imported: a masked array exists only where numpy.ma was imported, and few rows need it.
    return isinstance(x, np.ndarray) and type(x) is not np.ndarray and hasattr(x, "mask")


def fill_masked(x: Any) -> Any:
    """Return the rows of a masked array with NaN, or None among other cells than floats, where the mask is set.

    Anything else is returned as it is.

    Examples
    --------
    >>> fill_masked(np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])).tolist()
    [[1, None], [3, 4]]
    """
    if not is_masked(x):
        return x
    masked = np.ma.getmaskarray(x)
    if x.dtype.kind == "f":
        return x.filled(np.nan)
    cells = np.asarray(x.data)
    if masked.any():
        cells = cells.astype(object)
        cells[masked] = None
    return cells


def as_frame(x: Any) -> Any:
    """Return a batch of Arrow as a table, and what pandas alone reads as its data frame; anything else as it is."""
    if type(x).__module__.partition(".")[0] == "pyarrow" and hasattr(x, "schema") and not hasattr(x, "to_batches"):
        import pyarrow as pa

        return pa.Table.from_batches([x])
    return x.to_pandas() if callable(getattr(x, "to_pandas", None)) and data_frame(x) is None else x


def column_names(x: Any) -> list[Any] | None:
    """Return the names of the columns of a data frame; None where x is none."""
    frame = data_frame(x)
    return None if frame is None else list(frame.columns)


def select_columns(x: Any, names: Sequence[str]) -> Any:
    """Return the columns of a data frame with these names, in their order; x as it is where it has others."""
    frame = data_frame(x)
    if frame is None or not set(names) <= set(frame.columns):
        return x
    return frame.select(list(names)).to_native()


def cells_of(x: Any) -> Any:
    """Return the cells of a data frame as a list of rows, and of a series as an array; anything else as it is."""
    frame = data_frame(x)
    if frame is None:
        return x.to_numpy() if hasattr(x, "iloc") else x
    return frame.rows()


def split_columns(x: Any, name: str | list[str]) -> Any:
    """Return a column of a data frame, or several: of pandas as its series or data frame, of others as an array."""
    if hasattr(x, "iloc"):
        return x[name]
    import narwhals as nw

    frame = nw.from_native(x, eager_only=True)
    return frame[name].to_numpy() if isinstance(name, str) else frame.select(name).to_numpy()


def numbers_of(frame: nw.DataFrame[Any]) -> npt.NDArray[Any] | None:
    """Return the cells of a data frame of numbers, (n, d), NaN where one is missing; None where a column holds others.

    Examples
    --------
    >>> import narwhals as nw
    >>> import pyarrow as pa
    >>> numbers_of(nw.from_native(pa.table({"a": [1.5, None], "b": [True, False]}), eager_only=True))
    array([[1.5, 1. ],
           [nan, 0. ]])
    """
    import narwhals as nw

    columns = []
    for series in frame.iter_columns():
        if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
            return None
        exact = series.dtype == nw.Boolean or series.dtype.is_integer()
        if series.dtype.is_decimal() or (exact and series.null_count()):
            series = series.cast(nw.Float64)
        columns.append(np.asarray(series.to_numpy()))
    cells = np.empty(frame.shape, dtype=np.result_type(*columns) if columns else np.float64)
    for place, column in enumerate(columns):
        cells[:, place] = column
    return cells


def stack_frames(frames: Sequence[Any]) -> Any:
    """Return the rows of several data frames of one library as one."""
    if hasattr(frames[0], "iloc"):
        import pandas as pd

        return pd.concat(frames, ignore_index=True)
    import narwhals as nw

    return nw.concat([nw.from_native(each, eager_only=True) for each in frames]).to_native()

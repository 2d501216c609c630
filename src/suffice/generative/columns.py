"""Columns of a table for MixedNB: cell types, inferred kinds, and conversion to arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Integral, Real
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.column_kinds import FEATURE_KINDS, IGNORE, TRUTH_WORDS, CellType, InferredKind, infer_kind
from suffice.data.frames import data_frame
from suffice.generative.categories import is_known
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import is_foreign, is_sparse
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray

Name = str | int
Column1D = npt.NDArray[Any]
Known = npt.NDArray[np.bool_]

#: Types of the cells of a column, as the inference of kinds names them. A column of another type has no kind.
_CELL_TYPES: dict[str, CellType] = {
    "bool": "truth",
    "int": "number",
    "float": "number",
    "str": "name",
    "mixed": "name",
    "label": "name",
    "nothing": "nothing",
}
_SINGLE = (str, bool, np.bool_, Real, Decimal, NoneType)
_MISSING = ("NAType", "NaTType")  # a data frame's own


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table, before it has a kind."""

    name: Name  # its position where the table has no names
    type: str  # what its cells are; "label": of a categorical type
    values: Column1D  # (n,); a cell that is not known may be anything
    known: Known  # (n,)

    @property
    def cells(self) -> Column1D:
        """The cells that are known."""
        return self.values[self.known]

    def row_of(self, cell: int) -> int:
        """Return the row of a known cell."""
        return int(np.flatnonzero(self.known)[cell])


# Reading.


def read_columns(X: Any) -> list[Column]:
    """Return the columns of a data frame, an array or a list of rows, checking its shape.

    Examples
    --------
    >>> [(column.type, column.known.tolist()) for column in read_columns([["red", 2], ["blue", None]])]
    [('str', [True, True]), ('int', [True, False])]
    """
    X = validation.plain_rows(X)
    frame = data_frame(X)
    if frame is not None:
        if 0 in frame.shape:
            raise ValueError(f"X must have rows (samples) and columns (features); its shape is {frame.shape}")
        named = all(isinstance(name, str) for name in frame.columns)
        return [_of_series(name if named else j, frame[:, j]) for j, name in enumerate(frame.columns)]
    if is_sparse(X):
        raise TypeError("sparse data was passed: a table has columns of many kinds, cell by cell; use X.toarray()")
    if hasattr(X, "collect"):
        raise TypeError(f"X is a {type(X).__name__}, whose rows are not there yet: use X.collect()")
    if len(getattr(X, "shape", ())) < 2:
        from suffice.validation import one_dimension_error  # imported where it is needed: commands start without it

        error = one_dimension_error(X)
        if error is not None:
            raise error
    # Cells of a list keep their types: beside a string, NumPy would make strings of numbers.
    table = to_host(X) if is_foreign(X) else X if hasattr(X, "dtype") else np.asarray(X, dtype=object)
    _check_lengths(table)
    from sklearn.utils.validation import check_array

    table = check_array(table, dtype=None, ensure_all_finite=False)
    return [_of_array(j, table[:, j]) for j in range(table.shape[1])]


def _check_lengths(table: Any) -> None:
    """Refuse rows of different lengths in the reader's words."""
    if table.ndim == 1 and len(table) and all(isinstance(row, list | tuple) for row in table):
        row = next(row for row in range(len(table)) if len(table[row]) != len(table[0]))
        raise ValueError(f"row {row} of X has {len(table[row])} cells, row 0 has {len(table[0])}")


def _of_series(name: Name, series: Any) -> Column:
    import narwhals as nw

    known = ~np.asarray(series.is_null().to_numpy(), dtype=bool)
    if series.dtype in (nw.Categorical, nw.Enum):
        return Column(name, "label", _boxed(series.to_list()), known)
    if series.dtype in (nw.String, nw.Object, nw.Unknown):
        return _of_objects(name, _boxed(series.to_list()), known)
    if series.dtype == nw.Boolean or series.dtype.is_integer():
        empty = False if series.dtype == nw.Boolean else 0
        filled = series if known.all() else series.fill_null(empty)
        return _of_array(name, np.asarray(filled.to_numpy()), known)
    if series.dtype.is_numeric():
        return _of_array(name, np.asarray(series.cast(nw.Float64).to_numpy()))
    return Column(name, str(series.dtype), np.empty(len(known), dtype=object), known)


def _of_array(name: Name, values: Column1D, known: Known | None = None) -> Column:
    if values.dtype.kind in "OU":
        return _of_objects(name, values.astype(object), known)
    types = {"b": "bool", "i": "int", "u": "int", "f": "float"}
    known = is_known(values) if known is None else known
    return Column(name, types.get(values.dtype.kind, str(values.dtype)), values, known)


def _of_objects(name: Name, values: Column1D, known: Known | None) -> Column:
    """Return a column of Python objects, which is of the type that all of them are."""
    for each in set(map(type, (values if known is None else values[known]).tolist())):
        if not issubclass(each, _SINGLE) and each.__name__ not in _MISSING:
            return Column(name, each.__name__, values, np.ones(len(values), dtype=bool))
    known = is_known(values) if known is None else known
    types = {_type(each) for each in set(map(type, values[known].tolist()))}
    if not types:
        return Column(name, "nothing", values, known)
    if types == {"bool"}:
        return Column(name, "bool", np.where(known, values, False).astype(bool), known)
    if types == {"int"} and all(abs(value) < 2**63 for value in values[known]):
        return Column(name, "int", np.where(known, values, 0).astype(np.int64), known)
    if types <= {"int", "float"}:
        return Column(name, "float", np.where(known, values, np.nan).astype(np.float64), known)
    return Column(name, "str" if types == {"str"} else "mixed", values, known)


def _type(each: type) -> str:
    if issubclass(each, bool | np.bool_):
        return "bool"
    return "str" if issubclass(each, str) else "int" if issubclass(each, Integral) else "float"


def _boxed(values: list[Any]) -> Column1D:
    """Return a list of anything, lists too, as a column of objects."""
    return np.fromiter(values, dtype=object, count=len(values))


# Kinds.


def check_kinds(wanted: Any) -> None:
    """Raise where the kinds that a user wants for columns are none."""
    if wanted is None:
        return
    if not isinstance(wanted, Mapping):
        raise TypeError(f"columns must be a dictionary from column to kind, or None; got {wanted!r}")
    for name, kind in wanted.items():
        if kind not in (*FEATURE_KINDS, IGNORE):
            raise ValueError(f"columns[{name!r}] is {kind!r}; the kinds of columns are {[*FEATURE_KINDS, IGNORE]}")


def infer_kinds(columns: Sequence[Column], wanted: Mapping[Name, str] | None) -> dict[Name, str]:
    """Return the kind of each column: the one that the user wants, or else the inferred one.

    Examples
    --------
    >>> infer_kinds(read_columns([["red", 2.5], ["blue", 3.5]]), None)
    {0: 'category', 1: 'numeric'}
    """
    wanted = wanted or {}
    names = [column.name for column in columns]
    strange = [name for name in wanted if name not in names]
    if strange:
        have = f"0 to {len(names) - 1}" if names[0] == 0 else str(names)
        raise ValueError(f"columns has {strange[0]!r}, which is no column of X; the columns of X are {have}")
    inferred = {column.name: _infer(column) for column in columns if column.name not in wanted}
    kinds = {name: wanted[name] if name in wanted else inferred[name].kind for name in names}
    if set(kinds.values()) == {IGNORE}:
        why = "; ".join(f"column {name!r} is {each.why}" for name, each in inferred.items())
        cure = f" ({why}): give columns={{{next(iter(inferred))!r}: 'numeric'}}" if why else ""
        raise ValueError(f"all columns are ignored: there is nothing to learn from{cure}")
    return kinds


def _infer(column: Column) -> InferredKind:
    _check_type(column)
    known = int(column.known.sum())
    cells: Any = column.cells
    is_categorical = column.type in ("label", "mixed")
    cell_type: CellType = _CELL_TYPES[column.type]
    if cell_type == "number":
        cells = cells if cells.dtype.kind in "iu" else cells.astype(np.float64)
        cells = cells[np.isfinite(cells)]
        if known and not len(cells):
            return InferredKind("numeric")  # infinite cells are refused where they are read
    else:
        cells = list({cell.strip() if isinstance(cell, str) else cell for cell in cells.tolist()})
    return infer_kind(cell_type, known, cells, name=str(column.name), is_complete=False, is_categorical=is_categorical)


def _check_type(column: Column) -> None:
    if column.type not in _CELL_TYPES:
        raise TypeError(
            f"column {column.name!r} holds {column.type}, which no kind of column describes: convert it to numbers or "
            f"strings, or give columns={{{column.name!r}: {IGNORE!r}}}"
        )


# Cells, as their kind reads them.


def numbers(column: Column, kind: str) -> FloatArray:
    """Return the cells of a numeric, count or boolean column, (n,), NaN where they are missing."""
    _check_type(column)
    if kind == "boolean" and column.values.dtype.kind == "O":
        column = replace(column, values=_boxed([_read_truth_word(cell) for cell in column.values.tolist()]))
    if column.values.dtype.kind == "O":
        _check_cells(column, lambda value: not isinstance(value, str), f"not a number, as the kind {kind!r} needs")
    cells = np.array(column.cells, dtype=np.float64)
    for bad, cure in _offences(cells, kind):
        if bad.any():
            at = int(np.argmax(bad))
            raise ValueError(f"column {column.name!r} holds {cells[at]:g} in row {column.row_of(at)}; {cure}")
    read = np.full(len(column.values), np.nan)
    read[column.known] = cells
    return read


def _read_truth_word(cell: Any) -> Any:
    """Return True or False for a word such as yes or no; other cells as they are."""
    return TRUTH_WORDS.get(cell.strip().casefold(), cell) if isinstance(cell, str) else cell


def _offences(cells: FloatArray, kind: str) -> Iterator[tuple[Known, str]]:
    """Yield which cells are none of a kind, and the cure."""
    yield np.isinf(cells), "it must be finite, or NaN where it is missing"
    if kind == "count":
        yield cells < 0, "a count is 0 or more: give the column the kind 'numeric'"
        yield cells != np.floor(cells), "a count is a whole number: give the column the kind 'numeric'"
    if kind == "boolean":
        yield (cells != 0) & (cells != 1), "a boolean is True or False, 1 or 0: give the column another kind"


def names(column: Column) -> tuple[Labels, npt.NDArray[np.int64]]:
    """Return the names in a category column, and the code of each cell, (n,), -1 where it is missing."""
    _check_type(column)
    codes = np.full(len(column.values), -1, dtype=np.int64)
    found, codes[column.known] = Labels.discover(column.cells)
    # 1.0 and 1 name the same category.
    plain = (int(name) if isinstance(name, float) and name.is_integer() else name for name in found)
    return Labels(tuple(plain)), codes


def texts(column: Column) -> list[str]:
    """Return the texts of a column, empty where they are missing."""
    _check_type(column)
    _check_cells(column, lambda value: isinstance(value, str), "not a text")
    return [str(text) if known else "" for text, known in zip(column.values, column.known, strict=True)]


def _check_cells(column: Column, is_fine: Callable[[Any], bool], lack: str) -> None:
    for cell, value in enumerate(column.cells.tolist()):
        if not is_fine(value):
            raise ValueError(
                f"column {column.name!r} holds {value!r} in row {column.row_of(cell)}, which is {lack}: convert the "
                "column, or give it another kind"
            )

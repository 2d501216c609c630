"""The cells that a formula reads from any table, in batches: numbers with NaN, or codes of categories."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import narwhals as nw
import numpy as np
import numpy.typing as npt

from suffice.data.frames import data_frame
from suffice.formula.errors import FormulaError
from suffice.statistics.base import FloatArray
from suffice.tables.cells import missing_numbers, to_floats
from suffice.tables.errors import TableError, listed, nearest
from suffice.tables.sources import Source, open_table

#: A level of a category: text, a number, or True and False.
Level = str | float | int | bool
#: The kind of a column.
Kind = Literal["number", "category"]


@dataclass(frozen=True, eq=False)
class Categories:
    """A column of categories."""

    codes: npt.NDArray[np.intp]  # (n,), positions in the levels; -1 for a missing cell
    levels: tuple[Level, ...]
    ordered: bool = False  # whether the order of the levels is the user's

    def __getitem__(self, places: Any) -> Categories:
        return Categories(self.codes[places], self.levels, self.ordered)


Cell = FloatArray | Categories


@dataclass(frozen=True, eq=False)
class Cells:
    """Some rows of a table, of the columns that a formula reads."""

    columns: Mapping[str, Cell]
    rows: int
    first: int = 0  # the position of the first row in the table
    places: npt.NDArray[np.intp] | None = None  # (n,), the position of each row after the first; None for all
    noted: dict[str, str] = field(default_factory=dict)  # warnings by cause, shared by the blocks of a batch

    def missing(self) -> dict[str, int]:
        """Return the number of missing cells of each column."""
        return {name: int(np.count_nonzero(_is_missing(cells))) for name, cells in self.columns.items()}

    def incomplete(self) -> npt.NDArray[np.bool_]:
        """Return which rows have a missing cell, (n,)."""
        found = np.zeros(self.rows, dtype=bool)
        for cells in self.columns.values():
            found |= _is_missing(cells)
        return found

    def complete(self) -> Cells:
        """Return the rows without missing cells."""
        drop = self.incomplete()
        return self.take(np.flatnonzero(~drop)) if drop.any() else self

    def take(self, places: npt.NDArray[np.intp]) -> Cells:
        """Return some of the rows."""
        columns = {name: cells[places] for name, cells in self.columns.items()}
        return Cells(columns, len(places), self.first, places if self.places is None else self.places[places])

    def block(self, start: int, stop: int) -> Cells:
        """Return a range of the rows, without a copy."""
        rows = slice(start, min(stop, self.rows))
        columns = {name: cells[rows] for name, cells in self.columns.items()}
        count = rows.stop - rows.start
        if self.places is None:
            return Cells(columns, count, self.first + start, None, self.noted)
        return Cells(columns, count, self.first, self.places[rows], self.noted)

    def position(self, row: int) -> int:
        """Return the position of a row in the table, from 0."""
        return self.first + (row if self.places is None else int(self.places[row]))


def _is_missing(cells: Cell) -> npt.NDArray[np.bool_]:
    return cells.codes < 0 if isinstance(cells, Categories) else np.isnan(cells)


class Table:
    """A table that a formula reads: a data frame in memory, or a source that is read in batches.

    Parameters
    ----------
    data
        A data frame of any library, or what :func:`suffice.tables.open_table` takes.
    """

    def __init__(self, data: Any) -> None:
        self._frame = None if isinstance(data, Source) else data_frame(data)
        self._source = open_table(data) if self._frame is None else None
        if self._source is not None:
            self._source.check_same_columns()
            self._schema = nw.from_native(self._source.schema().empty_table(), eager_only=True).schema
        else:
            assert self._frame is not None
            self._schema = self._frame.schema
        self._read: dict[str, Cell] = {}  # columns of a frame in memory
        self.names = list(self._schema)
        self.is_in_memory = self._frame is not None

    @property
    def title(self) -> str:
        """The name of the table in messages."""
        return "the data frame" if self._source is None else self._source.name

    def check_columns(self, names: Sequence[str], role: str = "the formula") -> None:
        """Raise for an unknown column, with the closest name, or one of a kind that formulas do not read."""
        for name in names:
            if name not in self._schema:
                raise FormulaError(
                    f"{role} names the column {name!r}, which is not in {self.title}; it has {listed(self.names)}"
                    f"{nearest(name, self.names)}"
                )
            kind = self._schema[name]
            if kind.is_temporal() or kind.is_nested() or kind == nw.Binary:
                what = "dates or times" if kind.is_temporal() else str(kind)
                raise TableError(
                    f"column {name!r} has {what}: a formula reads numbers and categories; convert the column to "
                    "numbers, such as days, or drop it"
                )

    def kind(self, name: str) -> Kind:
        """Return the kind of a column: numbers, or categories (texts, booleans, categorical types)."""
        found = self._schema[name]
        if found == nw.Object and self._frame is not None:
            return "number" if _all_numbers(self._frame[name]) else "category"
        return "number" if found.is_numeric() or found == nw.Unknown else "category"

    def batches(self, names: Sequence[str]) -> Iterator[Cells]:
        """Yield the cells of some columns in batches; a data frame in memory is one batch."""
        kinds = {name: self.kind(name) for name in names}
        if self._frame is not None:
            for name in names:
                if name not in self._read:
                    self._read[name] = _read(self._frame[name], kinds[name], ())
            yield Cells({name: self._read[name] for name in names}, len(self._frame))
            return
        assert self._source is not None
        first = 0
        for batch in self._source.batches(list(names)):
            if batch.num_rows:
                yield self.read_batch(batch, names, first)
                first += batch.num_rows

    def read_batch(self, batch: Any, names: Sequence[str], first: int) -> Cells:
        """Return some columns of a batch of the source, given the position of its first row."""
        assert self._source is not None
        columns = {
            name: _read_arrow(batch.column(batch.schema.names.index(name)), self.kind(name), self._source.missing)
            for name in names
        }
        return Cells(columns, batch.num_rows, first)


def _all_numbers(column: Any) -> bool:
    cells = [cell for cell in column.to_list() if cell is not None and cell == cell]
    return bool(cells) and all(
        isinstance(cell, int | float | np.number) and not isinstance(cell, bool) for cell in cells
    )


def _read(column: Any, kind: Kind, missing: Sequence[str]) -> Cell:
    """Return the cells of a column of a data frame."""
    native, dtype = column.to_native(), column.dtype
    if kind == "number":
        if dtype.is_decimal() or (dtype != nw.Object and not dtype.is_float() and column.null_count()):
            column = column.cast(nw.Float64)
        return np.ascontiguousarray(np.asarray(column.to_numpy(), dtype=np.float64))
    if dtype == nw.Object:
        _check_booleans(column.name, column.to_list())
    if hasattr(native, "iloc"):
        return _pandas_categories(native, dtype)
    if dtype == nw.Object or importlib.util.find_spec("pyarrow") is None:
        return _categories_of(column.to_list())
    ordered = list(map(str, dtype.categories)) if dtype == nw.Enum else None
    found = _read_arrow(column.to_arrow(), kind, missing)
    assert isinstance(found, Categories)
    return found if ordered is None else _recoded(found.codes, found.levels, ordered)


def _check_booleans(name: str, cells: Sequence[Any]) -> None:
    """Raise if cells of Python objects hold True and 1, or False and 0, which are equal: they would be one level."""
    kinds = bool | np.bool_
    booleans = {cell for cell in cells if isinstance(cell, kinds)}
    for cell in cells:
        if not isinstance(cell, kinds) and isinstance(cell, int | float | np.number) and cell in booleans:
            raise TableError(
                f"column {name!r} has both {bool(cell)} and {cell}, which are equal in Python and would be one level: "
                "convert the column to one type, such as texts"
            )


def _pandas_categories(series: Any, dtype: Any) -> Categories:
    import pandas as pd

    if dtype in (nw.Categorical, nw.Enum):
        levels = [_level(each) for each in series.cat.categories]
        codes = series.cat.codes.to_numpy().astype(np.intp)
        return _without_blanks(codes, levels, ordered=True)
    codes, found = pd.factorize(series, use_na_sentinel=True)
    return _without_blanks(codes.astype(np.intp, copy=False), [_level(each) for each in found])


def _read_arrow(column: Any, kind: Kind, missing: Sequence[str]) -> Cell:
    """Return the cells of an Arrow column; cells equal to a mark of ``missing`` are missing."""
    import pyarrow as pa

    if kind == "number":
        numbers = to_floats(column)
        marks = missing_numbers(missing)
        return np.where(np.isin(numbers, marks), np.nan, numbers) if marks else numbers
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    coded = column.dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    if isinstance(coded, pa.ChunkedArray):  # without rows
        return Categories(np.zeros(0, dtype=np.intp), ())
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
    return _without_blanks(codes, [_level(each) for each in coded.dictionary.to_pylist()], missing)


def _categories_of(cells: Sequence[Any]) -> Categories:
    """Return a list of cells as categories."""
    places: dict[Any, int] = {}
    codes = np.array([-1 if cell is None else places.setdefault(cell, len(places)) for cell in cells], dtype=np.intp)
    return _without_blanks(codes, [_level(each) for each in places])


def _without_blanks(
    codes: npt.NDArray[np.intp], levels: Sequence[Level | None], missing: Sequence[str] = (), ordered: bool = False
) -> Categories:
    """Return categories in which blank texts and the marks of ``missing`` are missing."""
    known = [
        level
        for level in levels
        if level is not None and not (isinstance(level, str) and level.strip() in ("", *missing))
    ]
    if len(known) == len(levels):
        return Categories(codes, tuple(known), ordered)
    return _recoded(codes, levels, known, ordered)


def _recoded(
    codes: npt.NDArray[np.intp], levels: Sequence[Level | None], wanted: Sequence[Level], ordered: bool = True
) -> Categories:
    """Return the same cells with other levels; cells of levels that are not among them are missing."""
    places = {level: place for place, level in enumerate(wanted)}
    moved = np.array([*(-1 if each is None else places.get(each, -1) for each in levels), -1], dtype=np.intp)
    return Categories(moved[codes], tuple(wanted), ordered)


def _level(value: Any) -> Level | None:
    """Return a cell as a level: a text, a plain number or a boolean; None if it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float) else str(value)


def sorted_levels(levels: Sequence[Level]) -> tuple[Level, ...]:
    """Return levels in order: numbers by size, texts by their characters, numbers before texts.

    Examples
    --------
    >>> sorted_levels([10, "b", 9, "a"])
    (9, 10, 'a', 'b')
    """
    return tuple(sorted(levels, key=lambda level: (isinstance(level, str), level)))


def add_counts(one: dict[Any, int], two: dict[Any, int]) -> dict[Any, int]:
    """Return the counts of both.

    Examples
    --------
    >>> add_counts({"a": 1}, {"a": 2, "b": 1})
    {'a': 3, 'b': 1}
    """
    return {key: one.get(key, 0) + two.get(key, 0) for key in {**one, **two}}

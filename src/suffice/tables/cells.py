"""Arrow columns: the type of their cells, and cells as floats, dates and parts of dates."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.column_kinds import CellType, is_whole
from suffice.statistics.base import FloatArray
from suffice.tables.arrow_arrays import find_known, from_numbers, from_strings, is_number, to_numbers
from suffice.tables.sources.base import arrow

if TYPE_CHECKING:
    import pyarrow as pa

#: Decimals of at most this many digits, and powers of ten up to this one, are exact in a 64-bit float.
_EXACT_DIGITS, _EXACT_POWER = 15, 22
#: Microseconds.
_HOUR, _DAY = 3_600_000_000, 86_400_000_000
_MONTHS = tuple(f"{month:02}" for month in range(1, 13))
_HOURS = tuple(f"{hour:02}" for hour in range(24))
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DATE = re.compile(r"\d{4}-\d\d-\d\d($|[ T]\d\d:)")
_ZONE = re.compile(r":\d\d(\.\d+)?(Z|[+-]\d\d(:?\d\d)?)$")


def mark_missing(table: pa.Table, missing: tuple[str, ...]) -> pa.Table:
    """Return a table with null for every missing cell: blank strings, NaN, and the strings and numbers in ``missing``.

    Columns of strings that are all dates become columns of dates.
    """
    import pyarrow.compute as pc

    pa = arrow()
    marks = from_strings(["", *missing])
    numbers = missing_numbers(missing)
    for place, name in enumerate(table.schema.names):
        if cell_type(table.schema.types[place]) == "name":
            cells = pc.utf8_trim_whitespace(table.column(place).cast(pa.string()))
            cells = pc.if_else(pc.is_in(cells, marks), pa.NULL, cells)
            table = table.set_column(place, name, parse_dates(cells) or cells)
        elif arrow().types.is_floating(table.schema.types[place]):
            cells = table.column(place)
            table = table.set_column(place, name, pc.if_else(pc.is_nan(cells), pa.NULL, cells))
        if arrow().types.is_time(table.schema.types[place]):
            table = table.set_column(place, name, to_hours(table.column(place)))
        if numbers and cell_type(table.schema.types[place]) in ("number", "whole"):
            cells = table.column(place)
            is_missing = pc.is_in(cells.cast(pa.float64(), safe=False), from_numbers(np.array(numbers)))
            table = table.set_column(place, name, pc.if_else(is_missing, pa.NULL, cells))
    return table


def parse_dates(column: Any) -> Any:
    """Return strings as dates, or as timestamps in UTC; None unless all of them are ISO 8601 dates."""
    pa = arrow()
    first = column.drop_null()[:1]
    if not len(first) or not _DATE.match(first[0].as_py()):
        return None
    has_zone = _ZONE.search(first[0].as_py()) and len(first[0].as_py()) > len("2000-12-31")
    try:
        moments = column.cast(pa.timestamp("us", "UTC") if has_zone else pa.timestamp("us")).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
    return as_days(moments)


def as_days(moments: Any) -> Any:
    """Return timestamps as dates if all of them are midnights; else as they are."""
    return moments.cast(arrow().date32()) if are_days(moments) else moments


def are_days(moments: Any) -> bool:
    """Whether all timestamps of a column are midnights, in UTC."""
    return not (_to_microseconds(combine_chunks(moments.drop_null())) % _DAY).any()


def missing_numbers(missing: Iterable[str]) -> list[float]:
    """Return the numbers among the strings that stand for a missing cell.

    Examples
    --------
    >>> missing_numbers(["?", "-999", "nan"])
    [-999.0]
    """
    found = []
    for mark in missing:
        try:
            number = float(mark)
        except ValueError:
            continue
        found += [number] if math.isfinite(number) else []
    return found


def cell_type(kind: Any) -> CellType:
    """Return the cell type of an Arrow type."""
    types = arrow().types
    if types.is_dictionary(kind):
        return cell_type(kind.value_type)
    if types.is_boolean(kind):
        return "truth"
    if types.is_integer(kind):
        return "whole"
    if types.is_floating(kind) or types.is_decimal(kind) or types.is_time(kind):  # times of day are hours
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "name"
    if types.is_date(kind):
        return "date"
    if types.is_timestamp(kind):
        return "moment"
    return "nothing" if types.is_null(kind) else "other"


def column_cell_type(column: Any) -> CellType:
    """Return the cell type of a column: floats that are all whole are "whole"."""
    found = cell_type(column.type)
    return "whole" if found == "number" and is_whole(finite_numbers(column)) else found


def finite_numbers(column: Any) -> FloatArray:
    """Return the finite cells of a column of numbers."""
    cells = to_floats(column.drop_null())
    return cells[np.isfinite(cells)]


def known_integers(column: Any) -> npt.NDArray[Any]:
    """Return the known cells of a column of integers."""
    return to_numbers(combine_chunks(column.drop_null()))


def to_floats(column: Any) -> FloatArray:
    """Return a column of numbers as the nearest 64-bit floats, NaN where a cell is missing; times of day as hours.

    Arrow's own conversion of decimals is often off by the last digit.

    Examples
    --------
    >>> from decimal import Decimal
    >>> to_floats(arrow().array([Decimal("0.07"), Decimal("0.29"), None])).tolist()
    [0.07, 0.29, nan]
    """
    pa = arrow()
    cells = combine_chunks(column)
    if pa.types.is_time(cells.type):
        cells = to_hours(cells)
    kind = cells.type
    is_decimal = pa.types.is_decimal(kind)
    is_exact = is_decimal and kind.precision <= _EXACT_DIGITS and 0 <= kind.scale <= _EXACT_POWER
    if is_decimal and not is_exact:
        cells = cells.cast(pa.string())
    if not is_number(cells.type):
        cells = cells.cast(pa.float64(), safe=False)
    found: FloatArray = np.asarray(to_numbers(cells), dtype=np.float64)
    known = find_known(cells)
    if known is not None:
        found = np.where(known, found, np.nan)
    if is_exact:
        unit = 10.0**kind.scale  # exact, as is the whole number of units: their quotient is rounded once
        found = np.rint(found * unit) / unit
    return found


def to_hours(column: Any) -> Any:
    """Return times of day, or timestamps of 1 January 1970, as hours since midnight, in Arrow.

    Examples
    --------
    >>> from datetime import time
    >>> to_hours(arrow().array([time(8, 30), None])).to_pylist()
    [8.5, None]
    """
    import pyarrow.compute as pc

    pa = arrow()
    if pa.types.is_time(column.type):
        column = column.cast(pa.time64("us"), safe=False)
    return pc.divide(column.cast(pa.int64()).cast(pa.float64()), float(_HOUR))


def split_dates(column: Any) -> tuple[FloatArray, dict[str, tuple[npt.NDArray[np.int64], Sequence[str]]]]:
    """Return the time of dates in days since 1970, and their month, weekday and hour: codes, -1 for null, with names.

    Examples
    --------
    >>> from datetime import date
    >>> time, parts = split_dates(arrow().array([date(2024, 12, 31), None]))
    >>> time, [names[codes[0]] for codes, names in parts.values()], parts["month"][0]
    (array([20088.,    nan]), ['12', 'Tue', '00'], array([11, -1]))
    """
    cells = combine_chunks(column)
    moments, known = _to_microseconds(cells), find_known(cells)
    time = moments / float(_DAY)
    if known is not None:
        moments, time = np.where(known, moments, 0), np.where(known, time, np.nan)
    days = moments // _DAY
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
    weekdays = (days + 3) % 7  # 1 January 1970 was a Thursday
    hours = moments // _HOUR % 24
    parts = (("month", months, _MONTHS), ("weekday", weekdays, _WEEKDAYS), ("hour", hours, _HOURS))
    return time, {part: (codes if known is None else np.where(known, codes, -1), names) for part, codes, names in parts}


def _to_microseconds(cells: Any) -> npt.NDArray[np.int64]:
    """Return dates or timestamps, in UTC, as microseconds since 1970."""
    pa = arrow()
    if pa.types.is_date32(cells.type):
        return np.asarray(to_numbers(cells.view(pa.int32())), dtype=np.int64) * _DAY
    unit = "ms" if pa.types.is_date64(cells.type) else cells.type.unit if pa.types.is_timestamp(cells.type) else ""
    if not unit:  # no cell is known
        return np.zeros(len(cells), dtype=np.int64)
    counts = to_numbers(cells.view(pa.int64()))
    return np.asarray(counts // 1000 if unit == "ns" else counts * {"s": 10**6, "ms": 10**3, "us": 1}[unit])


def combine_chunks(column: Any) -> Any:
    """Return a column, chunked or not, as one array."""
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    return column.chunk(0) if hasattr(column, "chunks") else column

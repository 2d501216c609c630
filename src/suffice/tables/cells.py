"""Arrow columns: what their cells are, and cells as numbers, dates and names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.statistics.base import FloatArray
from suffice.tables.sources.base import arrow

if TYPE_CHECKING:
    import pyarrow as pa

#: How false and true are written.
TRUTHS = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"), ("0", "1"), ("off", "on"))
TRUTH_WORDS = {word: truth == 1 for words in TRUTHS for truth, word in enumerate(words)}
#: Whole numbers of so many decimal digits are exact in a 64-bit float, and so are powers of ten up to this one.
_EXACT_DIGITS, _EXACT_POWER = 15, 22
_DATE = re.compile(r"\d{4}-\d\d-\d\d($|[ T]\d\d:)")
_ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)$")


def without(table: pa.Table, missing: tuple[str, ...]) -> pa.Table:
    """Return a table in which what stands for nothing is missing: some names and numbers, blanks alone, and NaN."""
    import pyarrow.compute as pc

    pa = arrow()
    gaps = pa.array(["", *missing])
    marks = numeric_marks(missing)
    for place, name in enumerate(table.schema.names):
        if type_of(table.schema.types[place]) == "name":
            cells = pc.utf8_trim_whitespace(table.column(place).cast(pa.string()))
            cells = pc.if_else(pc.is_in(cells, gaps), None, cells)
            table = table.set_column(place, name, as_dates(cells) or cells)
        elif arrow().types.is_floating(table.schema.types[place]):
            cells = table.column(place)
            table = table.set_column(place, name, pc.if_else(pc.is_nan(cells), None, cells))
        if marks and type_of(table.schema.types[place]) in ("number", "whole"):
            cells = table.column(place)
            marked = pc.is_in(cells.cast(pa.float64(), safe=False), pa.array(marks))
            table = table.set_column(place, name, pc.if_else(marked, None, cells))
    return table


def as_dates(column: Any) -> Any:
    """Return names as dates or moments where all of them are written as such, year first; None where not."""
    pa = arrow()
    first = column.drop_null()[:1]
    if not len(first) or not _DATE.match(first[0].as_py()):
        return None
    zoned = _ZONE.search(first[0].as_py()) and len(first[0].as_py()) > len("2000-12-31")
    try:
        moments = column.cast(pa.timestamp("us", "UTC") if zoned else pa.timestamp("us")).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
    return moments.cast(pa.date32()) if len(first[0].as_py()) == len("2000-12-31") else moments


def numeric_marks(missing: Iterable[str]) -> list[float]:
    """Return the numbers among the names that stand for nothing.

    Examples
    --------
    >>> numeric_marks(["?", "-999", "nan"])
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


def type_of(kind: Any) -> str:
    """Return what the cells of an Arrow type are, in a word."""
    types = arrow().types
    if types.is_dictionary(kind):
        return type_of(kind.value_type)
    if types.is_boolean(kind):
        return "truth"
    if types.is_integer(kind):
        return "whole"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "name"
    if types.is_date(kind):
        return "date"
    if types.is_timestamp(kind):
        return "moment"
    return "nothing" if types.is_null(kind) else "other"


def head_type(column: Any) -> str:
    """Return what the cells of a column are, in a word: numbers that are all whole are whole, however they are held."""
    found = type_of(column.type)
    if found != "number":
        return found
    cells = numbers_of(column)
    return "whole" if len(cells) and (cells == np.floor(cells)).all() else "number"


def numbers_of(column: Any) -> FloatArray:
    """Return the known cells of a column of numbers."""
    cells = as_floats(column.drop_null())
    return cells[np.isfinite(cells)]


def as_floats(column: Any) -> FloatArray:
    """Return a column of numbers as the nearest 64-bit floats, NaN where a cell is missing.

    Arrow's own conversion of decimals is often off by the last digit.

    Examples
    --------
    >>> from decimal import Decimal
    >>> as_floats(arrow().array([Decimal("0.07"), Decimal("0.29"), None])).tolist()
    [0.07, 0.29, nan]
    """
    pa = arrow()
    cells = flat(column)
    kind = cells.type
    is_decimal = pa.types.is_decimal(kind)
    is_exact = is_decimal and kind.precision <= _EXACT_DIGITS and 0 <= kind.scale <= _EXACT_POWER
    if is_decimal and not is_exact:
        cells = cells.cast(pa.string())
    found: FloatArray = flat(cells.cast(pa.float64(), safe=False)).to_numpy(zero_copy_only=False)
    if is_exact:
        unit = 10.0**kind.scale  # exact, as is the whole number of units: their quotient is rounded once
        found = np.rint(found * unit) / unit
    return found


def date_parts(column: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of dates, each a column: the day they stand for, month, weekday and hour."""
    import pyarrow.compute as pc

    pa = arrow()
    moments = flat(column.cast(pa.timestamp("us"), safe=False))
    yield "time", pc.divide(moments.cast(pa.int64()).cast(pa.float64()), 86400e6)
    yield "month", pc.utf8_lpad(pc.month(moments).cast(pa.string()), 2, padding="0")
    yield "weekday", pa.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]).take(pc.day_of_week(moments))
    yield "hour", pc.utf8_lpad(pc.hour(moments).cast(pa.string()), 2, padding="0")


def flat(column: Any) -> Any:
    """Return a column in one piece."""
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    return column.chunk(0) if hasattr(column, "chunks") else column

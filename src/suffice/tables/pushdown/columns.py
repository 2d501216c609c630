"""Features of a table as SQL expressions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from suffice.kernels.sql.dialect import Dialect, quoted
from suffice.statistics import Labels
from suffice.tables.cells import cell_type, missing_numbers
from suffice.tables.design_matrix import Levels, Number, Term
from suffice.tables.encoding import CodedColumn, KindError, encode_truths, encode_values
from suffice.tables.pushdown.database import PushdownError
from suffice.tables.schema import Feature, Field, Schema
from suffice.tables.sources.base import arrow

#: Weekdays in the numbering of databases, Monday first.
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MICROSECONDS = 86400e6


@dataclass
class SqlColumns:
    """Features of a table as SQL expressions.

    Parameters
    ----------
    schema
        The schema of the table.
    types
        Arrow types of the columns by name.
    dialect The SQL dialect.
    """

    schema: Schema
    types: dict[str, Any]
    dialect: Dialect
    #: For grouped features: the SQL literals of the cells of each name; those of missing cells under None.
    cells: dict[str, dict[str | None, list[Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for feature in self.schema.features:
            if feature.kind != "text":
                self._check(feature)

    def _check(self, feature: Feature) -> None:
        """Raise if a database would read cells differently from :mod:`suffice.tables.encoding`."""
        kind = cell_type(self.types[feature.column])
        wrong = {"numeric": "name", "count": "name"}.get(feature.kind)
        if feature.part is not None and kind not in ("date", "moment"):
            raise self._pushdown_error(feature, "holds dates as strings")
        if self.schema.field(feature.column).is_time_of_day:
            raise self._pushdown_error(feature, "holds times of day")
        if kind == "name" and self.schema.field(feature.column).format is not None:
            raise self._pushdown_error(feature, "holds numbers as strings")
        if kind in ("number", "whole") and missing_numbers(self.schema.missing):
            raise self._pushdown_error(feature, "holds numbers that stand for missing cells")
        if kind == wrong:
            raise self._pushdown_error(feature, "holds numbers as strings")
        if feature.part is None and feature.kind == "category" and kind == "moment":
            raise self._pushdown_error(feature, "holds moments, whose names a database writes otherwise")
        zoned = getattr(self.types[feature.column], "tz", None)
        if zoned and self.dialect.name == "duckdb":
            raise self._pushdown_error(feature, "holds moments with a time zone")

    def _pushdown_error(self, feature: Feature, why: str) -> PushdownError:
        return PushdownError(
            f"column {feature.column!r} {why}: cast it in a query to have sums taken in the database, or have rows read"
        )

    def field(self, feature: Feature) -> Field:
        """Return the column of a feature."""
        return self.schema.field(feature.column)

    def raw(self, feature: Feature) -> str:
        """Return the expression that a feature is grouped by: the cell, or the number of a part of a date."""
        column = quoted(feature.column)
        if feature.part is None:
            return column
        return sql_date_part(self._moment(feature), feature.part, self.dialect)

    def _moment(self, feature: Feature) -> str:
        column = quoted(feature.column)
        return f"({column} at time zone 'UTC')" if getattr(self.types[feature.column], "tz", None) else column

    def number(self, feature: Feature) -> str:
        """Return a feature as a number: 0 for false, 1 for true."""
        if feature.kind == "boolean":
            return self._truth(feature)
        raw = self.raw(feature)
        if cell_type(self.types[feature.column]) == "truth":
            return f"{raw}::int"
        return raw

    def known_number(self, feature: Feature) -> str:
        """Return a feature as a number, NULL for NaN."""
        number = self.number(feature)
        floats = (
            cell_type(self.types[feature.column]) == "number" and feature.part is None and feature.kind != "boolean"
        )
        return self.dialect.known(f"{number}::float8") if floats else f"({number})::float8"

    def _truth(self, feature: Feature) -> str:
        raw = self.raw(feature)
        if cell_type(self.types[feature.column]) == "truth":
            return f"{raw}::int"
        known = [(truth, self.cells[feature.name].get(truth, [])) for truth in ("1", "0")]
        cases = [f"when {self._among(raw, cells)} then {truth}" for truth, cells in known if cells]
        return f"case {' '.join(cases)} end" if cases else "null::int"

    def _among(self, raw: str, cells: Iterable[Any]) -> str:
        """Return the condition that a cell is one of a list."""
        values = [self.dialect.value(cell) for cell in cells if cell is not None]
        return f"{raw} in ({', '.join(values)})" if values else "false"

    def is_missing(self, feature: Feature) -> str:
        """Return the condition that a grouped cell is missing."""
        raw = self.raw(feature)
        return f"({raw} is null or {self._among(raw, self.cells[feature.name].get(None, []))})"

    # Grouped cells.

    def names(self, feature: Feature, cells: list[Any]) -> CodedColumn:
        """Return distinct cells as category names, and store the cells of each name."""
        if feature.part is not None:
            shown = [None if cell is None else date_part_name(feature.part, int(cell)) for cell in cells]
        else:
            shown = list(cells)
        if feature.kind == "boolean":
            found = self._names_of_truths(feature, shown)
        else:
            found = encode_values(shown, self.schema.missing)
        kept: dict[str | None, list[Any]] = {}
        for cell, code in zip(cells, found.codes.tolist(), strict=True):
            kept.setdefault(None if code < 0 else str(found.vocabulary.names[code]), []).append(cell)
        self.cells[feature.name] = kept
        return found

    def _names_of_truths(self, feature: Feature, cells: list[Any]) -> CodedColumn:
        """Return boolean cells as the names 0 and 1."""
        pa, kind = arrow(), cell_type(self.types[feature.column])
        column = pa.array([_plain(cell) for cell in cells], type=pa.string() if kind == "name" else None)
        try:
            values = encode_truths(column, self.field(feature), cell_type(column.type), 0, self.schema.missing)
        except KindError as error:
            before, _, after = str(error).partition(" in row ")  # distinct cells have no row numbers
            raise KindError(f"{before}{after.lstrip('0123456789')}", error.column, error.cure) from None
        codes = np.where(np.isnan(values), -1, values).astype(np.int64)
        return CodedColumn(Labels(("0", "1")), codes)

    def is_level(self, feature: Feature, level: str) -> str:
        """Return the condition that a cell has a name."""
        return self._among(self.raw(feature), self.cells[feature.name].get(level, []))


class SqlFeatures(Protocol):
    """Features of a design matrix as SQL expressions."""

    @property
    def dialect(self) -> Dialect:
        """The SQL dialect."""

    def known_number(self, feature: Feature) -> str:
        """Return a feature as a number, NULL for missing cells."""

    def is_level(self, feature: Feature, level: str) -> str:
        """Return the condition that a cell has a name."""

    def is_missing(self, feature: Feature) -> str:
        """Return the condition that a cell is missing."""


def term_columns(term: Term, feature: Feature, cells: SqlFeatures) -> tuple[list[str], list[bool]]:
    """Return the columns of a term in the design matrix, and which of them are indicators (0 or 1)."""
    number = cells.dialect.number
    if isinstance(term, Number):
        known = cells.known_number(feature)
        z = f"coalesce(({known} - {number(term.centre)}) / {number(term.scale)}, {number(0)})"
        gap = [f"case when {known} is null then 1 else 0 end"] if term.gaps else []
        return [z, *gap], [False, *(True for _ in gap)]
    assert isinstance(term, Levels)
    columns = [f"case when {cells.is_level(feature, level)} then 1 else 0 end" for level in term.shown]
    if term.gaps:
        columns.append(f"case when {cells.is_missing(feature)} then 1 else 0 end")
    return columns, [True] * len(columns)


def sql_date_part(moment: str, part: str, dialect: Dialect) -> str:
    """Return a part of a date as a number; the time is in days since 1970, equal to the last digit to Python's."""
    since = (
        f"epoch_us({moment}::timestamp)"
        if dialect.name == "duckdb"
        else (f"(extract(epoch from {moment}::timestamp) * 1000000)")
    )
    return {
        "month": f"extract(month from {moment})::int",
        "weekday": f"extract(isodow from {moment})::int",
        "hour": f"extract(hour from {moment})::int",
        "time": f"({since}::float8 / {dialect.number(_MICROSECONDS)})",
    }[part]


def date_part_numbers(part: str) -> dict[str, int]:
    """Return the number of each name of a part of a date.

    Examples
    --------
    >>> date_part_numbers("weekday")["Sun"]
    7
    """
    ends = {"month": (1, 12), "weekday": (1, 7), "hour": (0, 23)}[part]
    return {date_part_name(part, number): number for number in range(ends[0], ends[1] + 1)}


def date_part_name(part: str, number: int) -> str:
    """Return the name of a part of a date."""
    return _DAYS[number - 1] if part == "weekday" else f"{number:02d}"


def _plain(cell: Any) -> Any:
    """Return a cell as Arrow represents it."""
    return cell if cell is None or isinstance(cell, str | int | float | bool) else float(cell)

"""Rows of a database as a batch: SQL expressions in place of arrays."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Relation:
    """Columns of a table or query, (n, d), in the place of an array.

    Parameters
    ----------
    source
        The expression after FROM: a quoted table, or a named query in parentheses.
    columns
        One SQL expression for each feature. NULL, and NaN, is a missing cell.
    rows
        Number of rows.
    position
        An expression of the place of a row, from 0: then a part of the rows can be summed, and complaints name a row.
    indicators
        Features that are 0 or 1 and nothing else: their sums are exact as they are.
    names
        What the features are called in complaints, where rows have no places.

    Examples
    --------
    >>> Relation('"sales"', ('"price"', '"price" - "cost"'), 100).shape
    (100, 2)
    """

    source: str
    columns: tuple[str, ...]
    rows: int
    position: str | None = None
    indicators: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.rows, len(self.columns)


@dataclass(frozen=True)
class Expression:
    """One column, (n,), in the place of an array: class codes, targets or weights."""

    sql: str
    rows: int

    @property
    def shape(self) -> tuple[int]:
        """Rows."""
        return (self.rows,)

"""Errors about tables, and the texts that their messages share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

from suffice.errors import MissingExtraError as MissingExtraError

_USERINFO = re.compile(r"(\w:/{1,2})\S*@")
_PASSWORD = re.compile(r"\b(password|passwd|pwd|sslpassword)(\s*=\s*)('[^']*'|[^\s&]+)", re.IGNORECASE)


class TableError(ValueError):
    """A table, or one of its columns, that cannot be used as it is; the message says how to fix it."""


class CellError(TableError):
    """A cell of a column of numbers that is no number."""

    def __init__(self, message: str, column: str) -> None:
        super().__init__(message)
        self.column = column


class UsageError(TableError):
    """An invalid argument: the name of a column, a kind, a model or an output file."""


def digits_error(column: str | None, error: ArithmeticError) -> TableError:
    """Return the error about a column whose sums would be rounding noise after a subtraction."""
    if column is None:
        return TableError(f"{error}; nothing was forgotten")
    return TableError(
        f"without these rows too few digits would be left of column {column!r}: they hold nearly all of its spread, or "
        "what remains nearly depends on other columns: nothing was forgotten; fit again to the rows that remain"
    )


def squares_underflow(column: str, size: float) -> TableError:
    """Return the error about a column of numbers whose squares underflow: it would be taken for a constant."""
    return TableError(
        f"the sums of squares of column {column!r} underflow float64: its values are of size {size:g}; rescale it"
    )


def time_of_day_error(column: str) -> TableError:
    """Return the error about the export of a model that reads times of day."""
    return TableError(
        f"column {column!r} has times of day, which only suffice reads as hours: use predict, or convert them to "
        "numbers and fit again"
    )


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the known name closest to an unknown one.

    Examples
    --------
    >>> nearest("incme", ["age", "income"])
    "; did you mean 'income'?"
    >>> nearest("colour", ["age", "income"])
    ''
    """
    folded = {each.casefold().strip(): each for each in known}
    found = difflib.get_close_matches(name.casefold().strip(), list(folded), n=1)
    return f"; did you mean {folded[found[0]]!r}?" if found else ""


def listed(names: Iterable[Any], most: int = 8) -> str:
    """Return the first few names in one line.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    names = [repr(str(name)) for name in names]
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def tell_titles(above: Iterable[Any]) -> str:
    """Return what the user is told about rows above the names of columns.

    Examples
    --------
    >>> tell_titles(["Sales of the north", "in €", "draft"])
    "the rows above the names of the columns are left out ('Sales of the north', 'in €' and 1 more)"
    """
    return f"the rows above the names of the columns are left out ({listed(above, 2)})"


def kind_cure(column: str, kind: str) -> str:
    """Return how to set the kind of a column, on the command line and in Python.

    Examples
    --------
    >>> kind_cure("zip", "category")
    "give --kind zip=category (columns={'zip': 'category'} in Python)"
    """
    return f"give --kind {column}={kind} (columns={{{column!r}: {kind!r}}} in Python)"


def masked(text: str) -> str:
    """Return text with the user names and passwords of URLs masked.

    Examples
    --------
    >>> masked("there is no file postgresq://bob:secret@host/db"), masked("host=here password=secret")
    ('there is no file postgresq://***@host/db', 'host=here password=***')
    """
    return _PASSWORD.sub(r"\1\2***", _USERINFO.sub(r"\1***@", text))

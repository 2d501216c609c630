"""The distinct values of a column, and which of them each row holds, in a few passes and without a sort of the rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.integer[Any]]

#: Up to this many distinct values, comparing all rows with each in turn beats hashing them.
FEW = 16
#: So many rows are looked at first, to see whether the values are few.
GLANCE = 256


def distinct(values: Iterable[Any]) -> tuple[list[Any], Codes]:
    """Return the distinct values of a column, and for each row the place of its value among them.

    What hashes and compares as equal is one value. Integers and floats come in their order, all else in that of the
    rows. Where the values are 0 to k - 1 in int64 already, the codes are the column itself, not a copy.

    Examples
    --------
    >>> distinct(["spam", "ham", "spam"])
    (['spam', 'ham'], array([0, 1, 0]))
    >>> column = np.array([0, 2, 1])
    >>> distinct(column)[1] is column
    True
    """
    if not hasattr(values, "__array__"):
        return _hashed(values if isinstance(values, list) else list(values))
    column = np.asarray(values)
    column = column if column.ndim == 1 else column.reshape(-1)
    if column.size:
        match column.dtype.kind:
            case "b":
                found, codes = _integers(column.astype(np.int64))
                return [bool(value) for value in found], codes
            case "i" | "u":
                return _integers(column)
            case "f" if not np.isnan(column.min()):
                return _compared(column, column[:, None]) or _sorted(column)
            case "U" if column.itemsize:
                word = np.uint64 if column.itemsize % 8 == 0 else np.uint32
                words = np.ascontiguousarray(column).view(word).reshape(len(column), -1)
                return _compared(column, words) or _hashed(column.tolist())
            case "S" | "c" | "m" | "M" | "V":  # one is enough to be refused
                return [column[0]], np.zeros(len(column), dtype=np.int64)
    return _hashed(column.tolist())


def _integers(column: npt.NDArray[Any]) -> tuple[list[Any], Codes]:
    """Return distinct integers by a table of all between the least and the greatest."""
    least, greatest = int(column.min()), int(column.max())
    if greatest - least >= max(1024, 2 * len(column)):
        return _sorted(column)
    # Narrow types are widened first: the distance from the least may not fit into them.
    above = column if column.itemsize == 8 else column.astype(np.int64)
    above = (above - least if least else above).astype(np.int64, copy=False)
    present = np.bincount(above) > 0
    found = (np.flatnonzero(present).astype(object) + least).tolist()
    return found, above if present.all() else (np.cumsum(present) - 1)[above]


def _compared(column: npt.NDArray[Any], words: npt.NDArray[Any]) -> tuple[list[Any], Codes] | None:
    """Return distinct values by comparing all rows with each, or None where there are more than a few.

    ``words``, (n, m), are the numbers that make up each value.
    """
    if len(np.unique(words[:GLANCE], axis=0)) > FEW:
        return None
    codes, seen = np.zeros(len(column), dtype=np.uint8), np.zeros(len(column), dtype=np.bool_)
    firsts: list[int] = []  # the rows that show a value first
    row = 0
    while not seen[row]:
        if len(firsts) == FEW:
            return None
        same = words[:, 0] == words[row, 0]
        for place in range(1, words.shape[1]):
            same &= words[:, place] == words[row, place]
        codes += same.view(np.uint8) * np.uint8(len(firsts))  # several times as fast as an assignment under a mask
        seen |= same
        firsts.append(row)
        row = int(np.argmin(seen))
    return [column[first] for first in firsts], codes


def _sorted(column: npt.NDArray[Any]) -> tuple[list[Any], Codes]:
    found, codes = np.unique(column, return_inverse=True)
    return found.tolist(), codes


class _Numbers(dict[Any, int]):
    """Numbers its keys from 0 as they are asked for."""

    def __missing__(self, key: Any) -> int:
        number = self[key] = len(self)
        return number


def _hashed(column: list[Any]) -> tuple[list[Any], Codes]:
    numbers = _Numbers()
    codes = np.fromiter(map(numbers.__getitem__, column), dtype=np.int64, count=len(column))
    return list(numbers), codes

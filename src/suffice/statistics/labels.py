"""Class vocabularies: which classes a statistic has seen, and how two vocabularies become one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import lt
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.text import from_bytes, to_bytes

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


Label = str | int | float | bool


def _plain(label: Any, at: str = "") -> Label:
    """Return a label as a plain Python value, refusing what has no stable name; ``at`` says where it stands."""
    is_time = isinstance(label, np.datetime64 | np.timedelta64)  # .item() of nanoseconds is an int
    value = label.item() if isinstance(label, np.generic) and not is_time else label
    if not isinstance(value, str | int | float | bool):
        raise TypeError(
            f"a class label must be a str, int, float or bool; got {label!r} of type {type(label).__name__}{at}"
        )
    if value != value:
        raise ValueError(f"a class label must not be NaN{at}: drop the rows without a label, or name the class")
    return value


def _read(labels: Iterable[Any]) -> tuple[list[Label], Codes]:
    """Return the distinct labels of rows as plain values, and the place of each row's label among them."""
    labels = labels if hasattr(labels, "__array__") else list(labels)
    try:
        values, codes = distinct(labels)
    except TypeError:  # something cannot be hashed, and so is no label: the loop below refuses it
        values = list(labels)
        codes = np.arange(len(values))
    plain = []
    for place, value in enumerate(values):
        try:
            plain.append(_plain(value))
        except (TypeError, ValueError):
            _plain(value, f" in y[{int(np.argmax(codes == place))}]")
    return plain, codes


def _translated(codes: Codes, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the codes with each in its new place; the same array where all are in place already."""
    if np.array_equal(places, np.arange(len(places))):
        return codes.astype(np.int64, copy=False)
    return places[codes]


def _order(label: Label) -> tuple[bool, Any]:
    """Numbers first, in their order; then words in theirs."""
    return isinstance(label, str), label


@dataclass(frozen=True)
class Labels:
    """A sorted vocabulary of distinct classes.

    Parameters
    ----------
    names
        The classes, sorted: numbers before words. Use :meth:`of` for any order, with repetition.

    Examples
    --------
    >>> both, mine, theirs = Labels.of(["spam", "ham"]).union(Labels.of(["work", "spam"]))
    >>> both.names
    ('ham', 'spam', 'work')
    >>> mine, theirs
    (array([0, 1]), array([1, 2]))
    """

    names: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        keys = [_order(_plain(name)) for name in self.names]
        if not all(map(lt, keys, keys[1:])):
            raise ValueError(f"class labels must be distinct and sorted; got {self.names!r} (use Labels.of)")

    @classmethod
    def of(cls, labels: Iterable[Any]) -> Labels:
        """Return the vocabulary of labels that may repeat and come in any order."""
        return cls.discover(labels)[0]

    @classmethod
    def discover(cls, labels: Iterable[Any]) -> tuple[Labels, npt.NDArray[np.int64]]:
        """Return the vocabulary of the rows' labels, and the code (position) of each row's label in it.

        Codes are the array of labels itself, not a copy, where it holds exactly 0 to k - 1 in int64.

        >>> Labels.discover(["spam", "ham", "spam"])
        (Labels(names=('ham', 'spam')), array([1, 0, 1]))
        """
        seen, codes = _read(labels)
        found = cls(tuple(sorted(dict.fromkeys(seen), key=_order)))
        return found, _translated(codes, found.find(seen))

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.names)

    def positions(self, wanted: Labels) -> npt.NDArray[np.intp]:
        """Return where each wanted class stands in this vocabulary."""
        places = self.find(wanted.names)
        if places.size and places.min() < 0:
            missing = wanted.names[int(np.argmax(places < 0))]
            raise KeyError(f"unknown class {missing!r}; known: {list(self.names)!r}")
        return places.astype(np.intp, copy=False)

    def find(self, names: Iterable[Label]) -> npt.NDArray[np.int64]:
        """Return the position of each name, -1 for unknown names.

        >>> Labels.of(["ham", "spam"]).find(["spam", "eggs"])
        array([ 1, -1])
        """
        place = {name: index for index, name in enumerate(self.names)}
        return np.array([place.get(name, -1) for name in names], dtype=np.int64)

    def union(self, other: Labels) -> tuple[Labels, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the joint vocabulary, and where the classes of each side stand in it."""
        theirs = self.find(other.names)
        if not theirs.size or theirs.min() >= 0:  # nothing new, as in most batches of a stream
            return self, np.arange(len(self)), theirs.astype(np.intp, copy=False)
        both = Labels.of((*self.names, *other.names))
        return both, both.positions(self), both.positions(other)

    def encode(self, labels: Any) -> npt.NDArray[np.int64]:
        """Return the code (position) of each row's label.

        >>> Labels.of(["ham", "spam"]).encode(["spam", "ham", "spam"])
        array([1, 0, 1])
        """
        seen, codes = _read(labels)
        places = self.find(seen)
        if places.size and places.min() < 0:
            row = int(np.argmax(places[codes] < 0))
            raise ValueError(f"y[{row}] is {seen[codes[row]]!r}, which is no known class; known: {list(self.names)!r}")
        return _translated(codes, places)

    def to_array(self) -> npt.NDArray[np.uint8]:
        """Return the vocabulary as the bytes of a JSON list."""
        return to_bytes(self.names)

    @classmethod
    def from_array(cls, array: npt.NDArray[np.uint8]) -> Labels:
        """Return the vocabulary that :meth:`to_array` wrote."""
        names = from_bytes("labels", np.asarray(array))
        if not isinstance(names, list):
            raise ValueError(f"class labels must be a JSON list; got {type(names).__name__}")
        return cls(tuple(names))


#: The vocabulary of rows that are not told apart.
ONE_CLASS = Labels((0,))

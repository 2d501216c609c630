"""Class vocabularies: which classes a statistic has seen, and how two vocabularies become one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import lt
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.distinct import Codes, distinct
from suffice.statistics.text import from_bytes, to_bytes

Label = str | int | float | bool


def _plain(label: Any, at: str = "") -> Label:
    """Return a label as a plain Python value, refusing what has no stable name; ``at`` says where it stands."""
    value = label.item() if isinstance(label, np.generic) else label
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
        return found, _translated(codes, found._places(seen))

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.names)

    def positions(self, wanted: Labels) -> npt.NDArray[np.intp]:
        """Return where each wanted class stands in this vocabulary."""
        places = self._places(wanted.names)
        if places.size and places.min() < 0:
            missing = wanted.names[int(np.argmax(places < 0))]
            raise KeyError(f"unknown class {missing!r}; known: {list(self.names)!r}")
        return places.astype(np.intp, copy=False)

    def _places(self, names: Iterable[Label]) -> npt.NDArray[np.int64]:
        """Return where names stand in this vocabulary, -1 for those that do not."""
        place = {name: index for index, name in enumerate(self.names)}
        return np.array([place.get(name, -1) for name in names], dtype=np.int64)

    def union(self, other: Labels) -> tuple[Labels, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the joint vocabulary, and where the classes of each side stand in it."""
        theirs = self._places(other.names)
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
        places = self._places(seen)
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

"""Class vocabularies: which classes a statistic has seen, and how two vocabularies become one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Label = str | int | float | bool


def _plain(label: Any) -> Label:
    """Return a label as a plain Python value, refusing what has no stable name."""
    value = label.item() if isinstance(label, np.generic) else label
    if not isinstance(value, str | int | float | bool):
        raise TypeError(
            f"a class label must be a str, int, float or bool; got {label!r} of type {type(label).__name__}"
        )
    if value != value:
        raise ValueError("a class label must not be NaN: drop the rows without a label, or name the class")
    return value


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
        if list(self.names) != sorted(dict.fromkeys(map(_plain, self.names)), key=_order):
            raise ValueError(f"class labels must be distinct and sorted; got {self.names!r} (use Labels.of)")

    @classmethod
    def of(cls, labels: Iterable[Any]) -> Labels:
        """Return the vocabulary of labels that may repeat and come in any order."""
        seen = np.unique(labels) if isinstance(labels, np.ndarray) and labels.dtype.kind in "biufU" else labels
        return cls(tuple(sorted(dict.fromkeys(map(_plain, seen)), key=_order)))

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.names)

    def positions(self, wanted: Labels) -> npt.NDArray[np.intp]:
        """Return where each wanted class stands in this vocabulary."""
        place = {name: index for index, name in enumerate(self.names)}
        missing = [name for name in wanted if name not in place]
        if missing:
            raise KeyError(f"unknown class {missing[0]!r}; known: {list(self.names)!r}")
        return np.array([place[name] for name in wanted], dtype=np.intp)

    def union(self, other: Labels) -> tuple[Labels, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the joint vocabulary, and where the classes of each side stand in it."""
        both = self if self.names == other.names else Labels.of((*self.names, *other.names))
        return both, both.positions(self), both.positions(other)

    def encode(self, labels: Any) -> npt.NDArray[np.int64]:
        """Return the code (position) of each row's label.

        >>> Labels.of(["ham", "spam"]).encode(["spam", "ham", "spam"])
        array([1, 0, 1])
        """
        distinct, inverse = np.unique(np.asarray(labels), return_inverse=True)
        place = {name: index for index, name in enumerate(self.names)}
        codes = np.array([place.get(_plain(name), -1) for name in distinct], dtype=np.int64)[inverse.reshape(-1)]
        if codes.size and codes.min() < 0:
            row = int(np.argmax(codes < 0))
            unknown = distinct[inverse.reshape(-1)[row]]
            raise ValueError(f"y[{row}] is {_plain(unknown)!r}, which is no known class; known: {list(self.names)!r}")
        return codes

    def to_array(self) -> npt.NDArray[np.uint8]:
        """Return the vocabulary as the bytes of a JSON list."""
        return np.frombuffer(json.dumps(self.names).encode(), dtype=np.uint8)

    @classmethod
    def from_array(cls, array: npt.NDArray[np.uint8]) -> Labels:
        """Return the vocabulary that :meth:`to_array` wrote."""
        if array.dtype != np.uint8:
            raise ValueError(f"class labels must be stored as uint8; got {array.dtype}")
        names = json.loads(array.tobytes().decode())
        if not isinstance(names, list):
            raise ValueError(f"class labels must be a JSON list; got {type(names).__name__}")
        return cls(tuple(names))


#: The vocabulary of rows that are not told apart.
ONE_CLASS = Labels((0,))

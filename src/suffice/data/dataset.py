"""Dataset: rows in parts, wherever they live. Models are fitted through this interface alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

R = TypeVar("R")

#: X and what belongs to its rows, by the name of the argument that brings it; and the "place" of the part in the order
#: of all, where parts are numbered.
Piece = dict[str, Any]


class Dataset(ABC):
    """Rows in parts and in order: in memory, in files, on the workers of a cluster.

    A part is a dictionary with ``"X"`` and what belongs to its rows (``"y"``, ``"sample_weight"``, ``"offset"`` and so
    on, by the names of the arguments of ``fit``), or what a function made of such a part. Every estimator takes a
    dataset in the place of X. A backend implements the methods below. The functions that it is given pickle, so that
    they can be sent to other processes.
    """

    #: Whether parts are worked on in this process, so that a model's own settings for threads apply to them.
    is_in_process: ClassVar[bool] = False

    @property
    def is_rereadable(self) -> bool:
        """Whether the parts can be read several times."""
        return True

    @property
    def in_memory(self) -> Any:
        """The only part, where all rows are one part in this process; None otherwise."""
        return None

    @abstractmethod
    def map_parts(self, function: Callable[[Any], Any]) -> Self:
        """Return the results of a function of each part; nothing need be computed before they are asked for."""

    @abstractmethod
    def reduce(self, add: Callable[[R, R], R]) -> R | None:
        """Return the sum of all parts, added in an order that does not change; parts that are None are skipped.

        None where there are no parts.
        """

    @abstractmethod
    def iterate(self) -> Iterator[Any]:
        """Yield the parts in order, in this process; those that are None are skipped."""

    @abstractmethod
    def fold(self, function: Callable[[R, Any], R], state: R) -> R:
        """Return the state after ``state = function(state, part)``, part by part in order."""

    @abstractmethod
    def persist(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> tuple[Self, Any]:
        """Return the parts, computed once and kept between passes, and the sum of a function of each part."""

    def rereadable(self) -> Self:
        """Return the same parts, which can be read several times; they are kept where they could not be."""
        return self

    @abstractmethod
    def release(self) -> None:
        """Delete what :meth:`persist` or :meth:`rereadable` keeps."""

    @abstractmethod
    def map_rows(self, function: Callable[[Any], Any], name: str, features: Sequence[str] | None = None) -> Any:
        """Return one answer for each row, as a collection of the kind that X is, computed when it is asked for.

        Parameters
        ----------
        function
            Returns the answers for the rows of one part.
        name
            The column of the answers, where a collection has named columns.
        features
            The columns that X is to have in the parts; all by default. Other columns remain in the result where
            a collection has columns.
        """

    @abstractmethod
    def example(self) -> Any:
        """Return one row or more of the kind that X has in every part: of the rows, or invented."""

    @abstractmethod
    def select(self, *names: str) -> Self:
        """Return the same rows with these entries of the parts alone."""


def columns_of_piece(x: Any, also: Piece, named: dict[str, str | list[str]]) -> Piece:
    """Return X with the entries that belong to its rows, some of which may be columns of X.

    Parameters
    ----------
    x
        Rows, with columns that are no features where some are named.
    also
        One entry per row, by the name of the argument that brings it.
    named
        The column of X, or the columns, that are such an entry.
    """
    if named:
        there = list(getattr(x, "columns", ()))
        for name in listed(named.values()):
            if name not in there:
                raise ValueError(f"X has no column {name!r}; its columns are {there}")
        also = {**also, **{key: x[column] for key, column in named.items()}}
        x = x.drop(columns=listed(named.values()))
    for key, value in also.items():
        if length(value) != length(x):
            raise ValueError(f"X has {length(x)} rows in this part and {key} has {length(value)}")
    return {"X": x, **also}


def listed(names: Iterable[str | list[str]]) -> list[str]:
    """Return all names, each once.

    Examples
    --------
    >>> listed(["y", ["a", "y"]])
    ['y', 'a']
    """
    return list(dict.fromkeys(name for each in names for name in ([each] if isinstance(each, str) else each)))


def length(x: Any) -> int:
    """Return how many rows there are.

    Examples
    --------
    >>> length([1, 2]), length(np.zeros((3, 1)))
    (2, 3)
    """
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def first_rows(x: Any) -> Any:
    """Return the first two rows of an array, a list or a data frame, and all of anything else.

    Examples
    --------
    >>> first_rows([[1.0], [2.0], [3.0]])
    [[1.0], [2.0]]
    """
    if hasattr(x, "iloc"):
        return x.iloc[:2]
    return x[:2] if isinstance(x, list | np.ndarray) else x  # a sparse matrix may be broken: it is checked first


def stand_in(x: Any, beside: Iterable[str]) -> Piece:
    """Return an invented part: X, and ones for everything that belongs to its rows."""
    return {"X": x, **{name: np.ones(len(x) if isinstance(x, list) else x.shape[0]) for name in beside}}


class ArrayDataset(Dataset):
    """One part in memory: arrays of NumPy, torch and the like, CSR matrices, data frames.

    Examples
    --------
    >>> data = ArrayDataset({"X": [[1.0], [2.0]], "y": [0, 1]})
    >>> data.map_parts(lambda part: len(part["X"])).in_memory
    2
    """

    is_in_process = True

    def __init__(self, part: Any) -> None:
        self._part = part

    @property
    def in_memory(self) -> Any:
        """The part."""
        return self._part

    def map_parts(self, function: Callable[[Any], Any]) -> Self:
        """Return the result of a function of the part, which is computed at once."""
        return type(self)(function(self._part))

    def reduce(self, add: Callable[[R, R], R]) -> R | None:
        """Return the part."""
        part: R | None = self._part
        return part

    def iterate(self) -> Iterator[Any]:
        """Yield the part."""
        if self._part is not None:
            yield self._part

    def fold(self, function: Callable[[R, Any], R], state: R) -> R:
        """Return ``function(state, part)``."""
        return state if self._part is None else function(state, self._part)

    def persist(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> tuple[Self, Any]:
        """Return this dataset, which is in memory already, and a function of its part."""
        return self, None if self._part is None else function(self._part)

    def release(self) -> None:
        """Keep the arrays: they are the user's."""

    def map_rows(self, function: Callable[[Any], Any], name: str, features: Sequence[str] | None = None) -> Any:
        """Return the answers for the rows."""
        return function(self._part)

    def example(self) -> Any:
        """Return the first rows."""
        return first_rows(self._part["X"])

    def select(self, *names: str) -> Self:
        """Return the same rows with these entries alone."""
        return type(self)({name: value for name, value in self._part.items() if name in names})

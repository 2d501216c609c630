"""Rows that are in this process, all of them in one part."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeVar

from suffice.data.dataset import Dataset, first_rows

R = TypeVar("R")


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

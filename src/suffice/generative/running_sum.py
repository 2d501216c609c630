"""The sum that a classifier keeps: rows still to be added to it, and the model that was last read from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice.kernels import Batch
from suffice.kernels.libraries import is_sparse
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray

R = TypeVar("R")

#: Rows are held until they have this many values: adding to the sum costs at least as much as reading these.
_MOST_HELD = 1 << 16
#: A batch with more values than this is summed at once.
_SMALL = 1 << 12


class RunningSum:
    """A sum that grows by small batches.

    Adding one row to a sum over fifty thousand words changes few of them but copies all, and reading a model from the
    sum takes as many logarithms. So small batches are held until the sum is asked for or they are enough, and the model
    that was read is kept until the sum or a setting changes.

    Parameters
    ----------
    labels
        The classes.
    statistics
        The sum: it has ``+`` and ``remove``.
    fixed
        Whether the classes were announced: others are then refused.
    model
        The model that was read from the sum.
    """

    def __init__(self, labels: Labels, statistics: Any, fixed: bool = False, model: Any = None) -> None:
        self.labels = labels
        self.fixed = fixed
        self._statistics = statistics
        self._held: list[Any] = []
        self._held_size = 0
        self._sum_held: Callable[[list[Any], Labels], Any] | None = None
        self._model = model

    def copied(self) -> RunningSum:
        """Return a copy that grows on its own."""
        return RunningSum(self.labels, self.statistics, self.fixed, self._model)

    def __getstate__(self) -> dict[str, Any]:
        return {"labels": self.labels, "statistics": self.statistics, "fixed": self.fixed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def statistics(self) -> Any:
        """The sum over all rows."""
        if self._held:
            assert self._sum_held is not None
            self._statistics = self._statistics + self._sum_held(self._held, self.labels)
            self._held, self._held_size = [], 0
        return self._statistics

    def replace(self, labels: Labels, statistics: Any) -> None:
        """Hold another sum."""
        self.labels, self._statistics = labels, statistics
        self._held, self._held_size, self._model = [], 0, None

    def add_later(self, rows: Any, size: int, sum_held: Callable[[list[Any], Labels], Any]) -> None:
        """Hold validated rows, whose codes are of these labels.

        Parameters
        ----------
        rows
            One item of the list that ``sum_held`` is called with.
        size
            About how many values they have.
        sum_held
            Returns the sum over all rows that are held.
        """
        self._held.append(rows)
        self._held_size += size + 64  # the cost of holding a batch
        self._sum_held, self._model = sum_held, None
        if self._held_size >= _MOST_HELD:
            _ = self.statistics

    @property
    def is_read(self) -> bool:
        """Whether nothing has changed since a model was read from the sum."""
        return self._model is not None

    def model(self, read: Callable[[Any], R]) -> R:
        """Return the model that is read from the sum, reading it once."""
        if self._model is None:
            self._model = read(self.statistics)
        model: R = self._model
        return model

    def unread(self) -> None:
        """Drop the model that was read: a setting has changed."""
        self._model = None


class HeldRows(NamedTuple):
    """Rows of an array or of CSR that are held until they are summed."""

    cells: Any  # a dense array, or the stored values, columns and row lengths of CSR
    shape: tuple[int, int]
    codes: npt.NDArray[np.int64]
    weight: FloatArray | None

    @property
    def weights(self) -> FloatArray:
        """One weight per row."""
        return np.ones(self.shape[0]) if self.weight is None else self.weight

    def dense(self) -> npt.NDArray[Any]:
        """Return the rows as an array."""
        if not isinstance(self.cells, tuple):
            return np.asarray(self.cells)
        data, indices, lengths = self.cells
        ends = np.concatenate([[0], np.cumsum(lengths)])
        return np.asarray(sparse.csr_array((data, indices, ends), shape=self.shape).toarray())


def is_small(x: Any) -> bool:
    """Whether rows are few enough to be held."""
    return (isinstance(x, np.ndarray) or is_sparse(x)) and count_values(x) <= _SMALL


def count_values(x: Any) -> int:
    """Return about how many values an array or CSR holds."""
    return int(x.nnz) + int(x.shape[0]) if is_sparse(x) else int(x.size)


def copy_rows(x: Any, codes: npt.NDArray[np.int64], weight: FloatArray | None) -> HeldRows:
    """Return a copy of rows; of CSR without the cost of another matrix object."""
    cells = (x.data.copy(), x.indices.copy(), np.diff(x.indptr)) if is_sparse(x) else x.copy()
    return HeldRows(cells, x.shape, codes.copy(), None if weight is None else weight.copy())


def stack_held(held: list[HeldRows]) -> Batch:
    """Return rows that are held as one batch."""
    codes = np.concatenate([rows.codes for rows in held])
    weight = None
    if any(rows.weight is not None for rows in held):
        weight = np.concatenate([rows.weights for rows in held])
    if not all(isinstance(rows.cells, tuple) for rows in held):
        return Batch(np.concatenate([rows.dense() for rows in held]), codes, weight)
    data, indices, lengths = (np.concatenate(parts) for parts in zip(*(rows.cells for rows in held), strict=True))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    x = sparse.csr_array((data, indices, ends), shape=(len(codes), held[0].shape[1]))
    return Batch(x, codes, weight)

"""What a model has learnt: a sum, a few rows still to be added to it, and what was last read from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice.generative.joint import Joint
from suffice.kernels import Batch
from suffice.kernels.libraries import is_sparse
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray

#: Rows are kept back until they hold this many values: adding a sum costs as much as reading this many at least.
_ENOUGH = 1 << 16
#: A batch with more values than this is summed at once.
_SMALL = 1 << 12


class RunningSum:
    """A growing sum.

    Adding one row to a sum over fifty thousand words would touch every one of them, and reading it would take as many
    logarithms. So small batches wait here until the sum is asked for or there are enough of them, and what was read is
    kept until something changes.
    """

    def __init__(self, labels: Labels, statistics: Statistics, fixed: bool = False, joint: Joint | None = None) -> None:
        self.labels = labels
        self.fixed = fixed  # whether the classes were announced: others are then refused
        self._statistics = statistics
        self._waiting: list[_Held] = []
        self._held = 0
        self._summarise: Callable[[Batch, Labels], Statistics] | None = None
        self._joint = joint

    def copied(self) -> RunningSum:
        """Return a memory that grows on its own."""
        return RunningSum(self.labels, self.statistics, self.fixed, self._joint)

    def __getstate__(self) -> dict[str, Any]:
        return {"labels": self.labels, "statistics": self.statistics, "fixed": self.fixed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def statistics(self) -> Statistics:
        """The sum over all rows."""
        if self._waiting:
            waiting, summarise = self._waiting, self._summarise
            assert summarise is not None  # whoever waits has said how to be summed
            self._statistics = self._statistics + summarise(_stacked(waiting), self.labels)
            self._waiting, self._held = [], 0
        return self._statistics

    def replace(self, labels: Labels, statistics: Statistics) -> None:
        """Hold another sum."""
        self.labels, self._statistics = labels, statistics
        self._waiting, self._held, self._joint = [], 0, None

    def add_later(
        self,
        x: Any,
        codes: npt.NDArray[np.int64],
        weight: FloatArray | None,
        summarise: Callable[[Batch, Labels], Statistics],
    ) -> None:
        """Take rows in, checked already, whose codes are of these labels; they are copied."""
        self._waiting.append(_Held(_copied(x), x.shape, codes.copy(), None if weight is None else weight.copy()))
        self._held += _values(x) + 64  # holding a batch costs something, too
        self._summarise, self._joint = summarise, None
        if self._held >= _ENOUGH:
            _ = self.statistics

    @property
    def is_read(self) -> bool:
        """Whether nothing has changed since the sum was last read."""
        return self._joint is not None

    def joint(self, read: Callable[[Statistics], Joint]) -> Joint:
        """Return what is read from the sum, reading it once."""
        if self._joint is None:
            self._joint = read(self.statistics)
        return self._joint

    def unread(self) -> None:
        """Forget what was read: a setting has changed."""
        self._joint = None


def is_small(x: Any) -> bool:
    """Whether rows are few enough to wait."""
    return (isinstance(x, np.ndarray) or is_sparse(x)) and _values(x) <= _SMALL


def _values(x: Any) -> int:
    return int(x.nnz) + int(x.shape[0]) if is_sparse(x) else int(x.size)


class _Held(NamedTuple):
    """Rows that wait."""

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


def _copied(x: Any) -> Any:
    """Return a copy of the cells, without the cost of making another matrix of them."""
    return (x.data.copy(), x.indices.copy(), np.diff(x.indptr)) if is_sparse(x) else x.copy()


def _stacked(waiting: list[_Held]) -> Batch:
    """Return rows that wait as one batch."""
    codes = np.concatenate([held.codes for held in waiting])
    weight = None
    if any(held.weight is not None for held in waiting):
        weight = np.concatenate([held.weights for held in waiting])
    if not all(isinstance(held.cells, tuple) for held in waiting):
        return Batch(np.concatenate([held.dense() for held in waiting]), codes, weight)
    data, indices, lengths = (np.concatenate(parts) for parts in zip(*(held.cells for held in waiting), strict=True))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    x = sparse.csr_array((data, indices, ends), shape=(len(codes), waiting[0].shape[1]))
    return Batch(x, codes, weight)

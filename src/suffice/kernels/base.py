"""Engine: sums statistics over batches with its kernels, or applies a function to each batch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from suffice.kernels.batch import Batch
from suffice.kernels.protocol import Kernels
from suffice.statistics.base import Statistics

S = TypeVar("S", bound=Statistics)
R = TypeVar("R")
A = TypeVar("A")


class Engine(ABC):
    """Where batches live, and which kernels sum one of them. Models receive an engine and never ask which."""

    kernels: Kernels  #: what sums one batch, or a part of it

    @property
    def n_jobs(self) -> int | None:
        """The number of threads that was given, if one was."""
        return None

    def accumulate(self, summarise: Callable[[Batch, Kernels], S], batches: Batch | Iterable[Batch]) -> S:
        """Return the sum of the statistics of all batches.

        Parameters
        ----------
        summarise
            Turns rows into a statistic with the engine's kernels; ``SomeStatistic.over(...)`` makes one.
        batches
            One batch, or any number of them; they may come from a generator larger than memory.
        """
        total: S | None = None
        for statistic in self.map(summarise, batches):
            total = statistic if total is None else total + statistic
        if total is None:
            raise ValueError("no batches: there is nothing to sum")
        return total

    def map(self, function: Callable[[Batch, Kernels], R], batches: Batch | Iterable[Batch]) -> Iterator[R]:
        """Yield the results of a function of rows and kernels, in the order of the rows.

        An engine may cut a batch into parts and yield one result for each.
        """
        return self._map(function, [batches] if isinstance(batches, Batch) else batches)

    def fold(self, function: Callable[[A, Batch, Kernels], A], state: A, batches: Batch | Iterable[Batch]) -> A:
        """Return the state after ``state = function(state, batch, kernels)``, batch by batch.

        For what must see rows one after another: no batch is split, and the next is read when one is done.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.kernels import ThreadEngine
        >>> batches = (Batch(np.zeros((rows, 1))) for rows in (2, 3))
        >>> ThreadEngine().fold(lambda seen, batch, kernels: [*seen, batch.rows], [], batches)
        [2, 3]
        """
        for number, batch in enumerate([batches] if isinstance(batches, Batch) else batches):
            state = named(partial(function, state), batch, self.kernels, number)
        return state

    @abstractmethod
    def _map(self, function: Callable[[Batch, Kernels], R], batches: Iterable[Batch]) -> Iterator[R]:
        """Yield the results in order, holding no more batches at a time than are being worked on."""


def named(function: Callable[[Batch, Kernels], R], batch: Batch, kernels: Kernels, number: int) -> R:
    """Return function(batch, kernels), adding the batch's number to an error."""
    try:
        return function(batch, kernels)
    except Exception as error:
        error.add_note(f"in batch {number}, counted from 0")
        raise

"""Rows as a model's kernels read them, wherever they live: what a regression's objective is summed over."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from suffice.data.dataset import ArrayDataset, Dataset
from suffice.data.sample import draw_rows, merge_samples
from suffice.kernels.engine import Batch, Engine, Execution, ThreadEngine, default_engine, engine_for
from suffice.kernels.libraries import is_foreign, taken
from suffice.kernels.protocol import Kernels
from suffice.statistics.base import Statistics

S = TypeVar("S", bound=Statistics)
R = TypeVar("R")
A = TypeVar("A")

#: Of rows on a device, no more than this many are drawn: the positions are drawn on the host.
_MOST_DRAWN = 1 << 20


@dataclass(frozen=True, eq=False)
class EncodedDataset:
    """A dataset whose parts are batches: validated rows, with class codes or targets in y.

    Examples
    --------
    >>> from suffice.statistics import DiagonalMoments
    >>> data = EncodedDataset.of_batch(Batch(np.array([[1.0], [3.0]])))
    >>> data.n_rows, data.sum(DiagonalMoments.over()).mean
    (2, array([[2.]]))
    """

    parts: Dataset  #: of Batch
    engine_for_part: Callable[[Batch], Engine]  #: what sums a part where it is
    n_rows: int
    n_features: int
    counted_weight: float | None = None  #: the weight of all rows; None where it is still to be summed
    held_sample: Batch | None = (
        None  #: some of the rows; weights tell how many each stands for. None for rows in memory
    )

    @classmethod
    def of_batch(cls, batch: Batch, engine: Engine | Execution | None = None) -> EncodedDataset:
        """Return rows in memory."""
        return cls(ArrayDataset(batch), partial(_engine_here, engine), batch.rows, batch.features)

    @classmethod
    def of_parts(cls, parts: Dataset, engine: Engine | Execution | None = None) -> EncodedDataset:
        """Return a dataset of batches, which are computed and kept from here on."""
        if parts.in_memory is not None:
            return cls.of_batch(parts.in_memory, engine)
        summary: Summary | None
        kept, summary = parts.persist(Summary.of, Summary.plus)
        if summary is None:
            raise no_rows()
        return cls(
            kept, engine_for_parts(parts, engine), summary.rows, summary.features, summary.weight, summary.batch()
        )

    @property
    def batch(self) -> Batch | None:
        """All rows, where they are in memory; None otherwise."""
        batch: Batch | None = self.parts.in_memory
        return batch

    @cached_property
    def weight(self) -> float:
        """The weight of all rows."""
        if self.counted_weight is not None:
            return self.counted_weight
        batch = self.parts.in_memory
        weight = batch.weight
        return float(batch.rows) if weight is None else float(weight[batch.start : batch.stop].sum())

    @property
    def some_rows(self) -> Batch:
        """All rows, where they are in memory; otherwise a sample, whose weights tell how many rows each stands for."""
        found: Batch = self.parts.in_memory if self.held_sample is None else self.held_sample
        return found

    def sum(self, summarise: Callable[[Batch, Kernels], S]) -> S:
        """Return the sum of the statistics of all rows: one pass."""
        total: S | None = self.parts.map_parts(partial(_sum_part, self.engine_for_part, summarise)).reduce(operator.add)
        if total is None:
            raise no_rows()
        return total

    def map(self, function: Callable[[Batch, Kernels], R]) -> Iterator[R]:
        """Yield the results of a function of rows and kernels, in the order of the rows: one pass.

        A part may be cut, with one result for each of its pieces.
        """
        for results in self.parts.map_parts(partial(_map_part, self.engine_for_part, function)).iterate():
            yield from results

    def fold(self, function: Callable[[A, Batch, Kernels], A], state: A) -> A:
        """Return the state after all rows, batch after batch in order: one pass."""
        return self.parts.fold(partial(_fold_part, self.engine_for_part, function), state)

    def reduce(self, function: Callable[[Batch, Engine], R]) -> R:
        """Return the sum of a function of each part and its engine: one pass."""
        total: R | None = self.parts.map_parts(partial(_reduce_part, self.engine_for_part, function)).reduce(
            operator.add
        )
        if total is None:
            raise no_rows()
        return total

    def transform(self, function: Callable[[Batch, Engine], Batch], persist: bool = False) -> EncodedDataset:
        """Return other batches of the same rows, computed in each pass; or once, and kept."""
        parts = self.parts.map_parts(partial(_reduce_part, self.engine_for_part, function))
        if self.held_sample is None:
            batch = parts.in_memory
            return replace(self, parts=parts, n_rows=batch.rows, n_features=batch.features, counted_weight=None)
        sample = function(self.held_sample, default_engine())
        found = replace(self, parts=parts, n_features=sample.features, held_sample=sample)
        if persist:
            found = replace(found, parts=parts.persist(_nothing, operator.add)[0])
        return found

    def sample(self, count: int, strided: bool = False) -> EncodedDataset:
        """Return about ``count`` rows from all over the dataset, in memory.

        With ``strided``, rows at equal distances are taken, which copies nothing of an array of NumPy. Otherwise one
        row of each stretch is drawn, so that a period in the rows does not matter.
        """
        rows = self.some_rows
        if self.held_sample is not None:
            return EncodedDataset.of_batch(rows).sample(count, strided)
        if is_foreign(rows.x):
            count = min(count, _MOST_DRAWN)
        every = max(rows.rows // max(count, 1), 1)
        if strided and isinstance(rows.x, np.ndarray):
            some = slice(rows.start + every // 2, rows.stop, every)
            y, weight, offset = (None if c is None else c[some] for c in (rows.y, rows.weight, rows.offset))
            return self._with(Batch(rows.x[some], y, weight, offset))
        places = rows.start + every * np.arange(rows.rows // every)
        places += np.random.default_rng(0).integers(0, every, len(places))
        return self._with(Batch(*(taken(column, places) for column in (rows.x, rows.y, rows.weight, rows.offset))))

    def _with(self, batch: Batch) -> EncodedDataset:
        return EncodedDataset(ArrayDataset(batch), self.engine_for_part, batch.rows, batch.features)

    def release(self) -> None:
        """Delete what is kept of the parts between passes."""
        self.parts.release()


class Summary(NamedTuple):
    """What is known of batches after the first pass over them."""

    rows: int
    features: int
    weight: float
    sample: Any

    @classmethod
    def of(cls, batch: Batch) -> Summary:
        """Return what is known of one batch."""
        columns = {"X": batch.x, "y": batch.y, "weight": batch.weight, "offset": batch.offset}
        weight = float(batch.rows if batch.weight is None else batch.weight.sum())
        return cls(batch.rows, batch.features, weight, draw_rows(columns))

    def plus(self, other: Summary) -> Summary:
        """Return the same of both."""
        sample = merge_samples(self.sample, other.sample)
        return Summary(self.rows + other.rows, self.features, self.weight + other.weight, sample)

    def batch(self) -> Batch:
        """Return the sample as a batch, whose weights tell how many rows each stands for."""
        columns, stands_for = self.sample
        weight = stands_for if columns["weight"] is None else columns["weight"] * stands_for
        return Batch(columns["X"], columns["y"], weight, columns["offset"])


def no_rows() -> ValueError:
    """Return the error about a dataset without rows."""
    return ValueError("no partition has any rows: there is nothing to learn from")


def engine_for_parts(parts: Dataset, given: Engine | Execution | None) -> Callable[[Batch], Engine]:
    """Return which engine sums a part: the one that a model was given, or else what reads the rows.

    A worker uses one thread by default: a cluster gives each of its workers a share of the cores already.
    """
    is_given = given is not None and given != Execution()
    return partial(_engine_here, given) if parts.is_in_process or is_given else _engine_of_worker


def model_for_parts(model: Any, parts: Dataset) -> Any:
    """Return a copy of a model whose engine sums parts where they are; see :func:`engine_for_parts`."""
    if parts.is_in_process or any(getattr(model, name, None) is not None for name in ("n_jobs", "device")):
        return model
    copied = copy.copy(model)
    copied.n_jobs = 1
    return copied


@cache
def _one_thread() -> ThreadEngine:
    return ThreadEngine(threads=1)


def _engine_here(given: Engine | Execution | None, batch: Batch) -> Engine:
    return engine_for(given, batch.x)


def _engine_of_worker(_: Batch) -> Engine:
    return _one_thread()


def _sum_part(engine: Callable[[Batch], Engine], summarise: Callable[[Batch, Kernels], S], batch: Batch) -> S:
    return engine(batch).accumulate(summarise, batch)


def _map_part(engine: Callable[[Batch], Engine], function: Callable[[Batch, Kernels], R], batch: Batch) -> list[R]:
    return list(engine(batch).map(function, batch))


def _fold_part(
    engine: Callable[[Batch], Engine], function: Callable[[A, Batch, Kernels], A], state: A, batch: Batch
) -> A:
    return engine(batch).fold(function, state, batch)


def _reduce_part(engine: Callable[[Batch], Engine], function: Callable[[Batch, Engine], R], batch: Batch) -> R:
    return function(batch, engine(batch))


def _nothing(_: Any) -> None:
    return None

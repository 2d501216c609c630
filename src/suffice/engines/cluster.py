"""Batches that live on the workers of a cluster, and the engine that sums them there."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from suffice.engines.base import Engine
from suffice.engines.batch import Batch
from suffice.engines.choice import engine_for
from suffice.engines.kernels import Kernels
from suffice.engines.spread import Spread
from suffice.engines.thinning import drawn, together
from suffice.engines.threads import ThreadEngine
from suffice.statistics.base import Statistics

S = TypeVar("S", bound=Statistics)
R = TypeVar("R")
A = TypeVar("A")


@dataclass(frozen=True, eq=False)
class Shards:
    """Batches of rows, held by the workers of a cluster: what a :class:`Batch` is to rows that are here."""

    batches: Spread  #: of Batch
    rows: int
    features: int
    total: float  #: the weight of the rows
    sample: Batch  #: some of the rows, here; weights tell what each stands for

    @classmethod
    def of(cls, batches: Spread) -> Shards:
        """Return batches, which are made and held by the workers from here on."""
        counted: Counted | None
        kept, counted = batches.kept(Counted.of, Counted.plus)
        if counted is None:
            raise ValueError("no partition has any rows: there is nothing to learn from")
        return cls(kept, counted.rows, counted.features, counted.weight, counted.batch())

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches, fetched: for an engine that sums here."""
        return self.batches.results()

    def released(self) -> None:
        """Let the workers go of the batches."""
        self.batches.released()

    def remade(self, function: Callable[[Batch], Batch], keep: bool = False) -> Shards:
        """Return other batches of the same rows: made anew each time they are asked for, unless they are to be kept."""
        made = self.batches.each(function)
        if keep:
            return Shards.of(made)
        sample = function(self.sample)
        return Shards(made, self.rows, sample.features, self.total, sample)


class Counted(NamedTuple):
    """What is told of batches when they are made."""

    rows: int
    features: int
    weight: float
    sample: Any

    @classmethod
    def of(cls, batch: Batch) -> Counted:
        """Return what there is to tell of one batch."""
        columns = {"X": batch.x, "y": batch.y, "weight": batch.weight, "offset": batch.offset}
        weight = float(batch.rows if batch.weight is None else batch.weight.sum())
        return cls(batch.rows, batch.features, weight, drawn(columns))

    def plus(self, other: Counted) -> Counted:
        """Return the same of both."""
        sample = together(self.sample, other.sample)
        return Counted(self.rows + other.rows, self.features, self.weight + other.weight, sample)

    def batch(self) -> Batch:
        """Return the sample as a batch, whose weights tell what each row stands for."""
        columns, stands_for = self.sample
        weight = stands_for if columns["weight"] is None else columns["weight"] * stands_for
        return Batch(columns["X"], columns["y"], weight, columns["offset"])


class ClusterEngine(Engine):
    """Sums batches on the workers that hold them; only sums travel, along a tree.

    Models choose it by themselves for rows of a cluster, or of a stream.

    Parameters
    ----------
    of_parts
        Which engine sums a part; by default that of a worker, which uses one thread.
    """

    def __init__(self, of_parts: Callable[[Batch], Engine] | None = None) -> None:
        self.kernels: Kernels = here().kernels
        self.of_parts = worker_engine if of_parts is None else of_parts

    def accumulate(self, summarise: Callable[[Batch, Kernels], S], batches: Batch | Iterable[Batch]) -> S:
        """Return the sum of the statistics of all batches; see :meth:`Engine.accumulate`."""
        if not isinstance(batches, Shards):
            return here().accumulate(summarise, batches)
        total: S | None = batches.batches.each(partial(_summed, self.of_parts, summarise)).total(operator.add)
        assert total is not None  # there are no shards without rows
        return total

    def fold(self, function: Callable[[A, Batch, Kernels], A], state: A, batches: Batch | Iterable[Batch]) -> A:
        """Return the state after all batches, one after another; see :meth:`Engine.fold`."""
        if not isinstance(batches, Shards):
            return here().fold(function, state, batches)
        return batches.batches.fold(partial(_folded, self.of_parts, function), state)

    def _map(self, function: Callable[[Batch, Kernels], R], batches: Iterable[Batch]) -> Iterator[R]:
        if not isinstance(batches, Shards):
            return here()._map(function, batches)
        parts = batches.batches.each(partial(_mapped, self.of_parts, function)).results()
        return (result for part in parts for result in part)


def remade(rows: Any, function: Callable[[Batch], Batch], keep: bool = False) -> Any:
    """Return what a function makes of a batch, here or on the workers that hold it.

    Examples
    --------
    >>> import numpy as np
    >>> remade(Batch(np.zeros((3, 2))), lambda batch: Batch(batch.x[:2])).rows
    2
    """
    return rows.remade(function, keep) if isinstance(rows, Shards) else function(rows)


def engine_of(given: Engine | None, rows: Any) -> Engine:
    """Return the engine that sums a batch, or a cluster's: the one a model was given, or else what reads the rows."""
    if not isinstance(rows, Shards):
        return engine_for(given, rows.x)
    return ClusterEngine(partial(_engine_here, given) if rows.batches.is_here else None)


def engine_of_parts(engine: Engine) -> Callable[[Batch], Engine]:
    """Return which engine sums a batch, or a part of a cluster's rows where it is."""
    return engine.of_parts if isinstance(engine, ClusterEngine) else partial(_this, engine)


def worker_engine(_: Batch) -> Engine:
    """Return a worker's engine: the cluster gives each worker its share of cores already."""
    return there()


def _engine_here(given: Engine | None, batch: Batch) -> Engine:
    return engine_for(given, batch.x)


def _this(engine: Engine, _: Batch) -> Engine:
    return engine


@cache
def here() -> ThreadEngine:
    """Return the engine of rows that are here."""
    return ThreadEngine()


@cache
def there() -> ThreadEngine:
    """Return a worker's engine: the cluster gives each worker its share of cores already."""
    return ThreadEngine(threads=1)


def _summed(engine: Callable[[Batch], Engine], summarise: Callable[[Batch, Kernels], S], batch: Batch) -> S:
    return engine(batch).accumulate(summarise, batch)


def _mapped(engine: Callable[[Batch], Engine], function: Callable[[Batch, Kernels], R], batch: Batch) -> list[R]:
    return list(engine(batch).map(function, batch))


def _folded(engine: Callable[[Batch], Engine], function: Callable[[A, Batch, Kernels], A], state: A, batch: Batch) -> A:
    return engine(batch).fold(function, state, batch)

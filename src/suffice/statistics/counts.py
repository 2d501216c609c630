"""Counts per class: how often events, presences and categories occurred."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice.statistics.base import (
    Cost,
    FloatArray,
    KnownCells,
    Removal,
    Statistics,
    check_factor,
    digits_lost,
    less,
    placed,
)
from suffice.statistics.labels import ONE_CLASS, Labels


@dataclass(frozen=True, eq=False)
class ClassCounts(Statistics):
    """Rows and counts of each class. Whole numbers are exact up to 2**53."""

    labels: Labels
    rows: FloatArray  # (k,) weight of the rows of each class
    counts: FloatArray  # (k, d)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        if self.counts.ndim != 2:
            raise ValueError(f"counts must have shape (classes, features); got {self.counts.shape}")
        classes = len(self.labels)
        return {"rows": (classes,), "counts": (classes, self.counts.shape[1])}

    @classmethod
    def zero(cls) -> Self:
        """Return the counts over no rows."""
        return cls(Labels(), np.zeros(0), np.zeros((0, 0)))

    @classmethod
    def cost_of(cls, batch: Any, labels: Labels = ONE_CLASS, *what: Any) -> Cost:
        """Return the cost of a (k, d) table."""
        return Cost(batch.size, len(labels) * batch.features)

    @property
    def weight(self) -> float:
        """The total weight of the rows."""
        return float(self.rows.sum())

    @property
    def features(self) -> int:
        """How many features a row has."""
        return int(self.counts.shape[1])

    def aligned(self, labels: Labels) -> Self:
        """Return the same counts over a vocabulary that holds these classes and perhaps more."""
        if labels == self.labels:
            return self
        places = labels.positions(self.labels)
        moved = {name: placed(array, places, len(labels)) for name, array in self._arrays().items()}
        return self._with(labels=labels, **moved)

    def _paired(self, other: Self) -> tuple[Self, Self]:
        here, there = self.counts.shape[1], other.counts.shape[1]
        if here != there:
            raise ValueError(f"counts of {here} and of {there} features do not go together")
        labels, _, _ = self.labels.union(other.labels)
        return self.aligned(labels), other.aligned(labels)

    def _plus(self, other: Self) -> Self:
        one, two = self._paired(other)
        added = two._arrays()
        return one._with(**{name: array + added[name] for name, array in one._arrays().items()})

    def _minus(self, other: Self) -> Removal:
        whole, part = self._paired(other)
        before, gone = whole._arrays(), part._arrays()
        left = {name: less(name, before[name], gone[name]) for name in before}
        lost = max(digits_lost(before[name], gone[name], left[name]) for name in before)
        return Removal(whole._with(**left), lost)

    def scaled(self, factor: float) -> Self:
        """Return the counts with every row's weight multiplied by ``factor``."""
        factor = check_factor(factor)
        return self._with(**{name: array * factor for name, array in self._arrays().items()})


@dataclass(frozen=True, eq=False)
class CellCounts(KnownCells, ClassCounts):
    """Counts of single cells, some of which may be missing."""

    weights_field = "rows"
    table_field = "counts"

    def _paired(self, other: Self) -> tuple[Self, Self]:
        one, two = super()._paired(other)
        return one._observing(two)

    def _minus(self, other: Self) -> Removal:
        left, lost, _ = super()._minus(other)
        if left.misses_cells:  # where no cell is left, nor is the rounding of its count
            left = left._with(counts=np.where(left.cells > 0, left.counts, 0.0))
        return Removal(left, lost)


class EventCounts(CellCounts):
    """How often each event occurred in each class: the multinomial event model's memory, and the Poisson's.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> words = np.array([[2, 0, 1], [0, 3, 0]])
    >>> labels = Labels.of(["ham", "spam"])
    >>> ThreadEngine().accumulate(EventCounts.over(labels), [Batch(words, np.array([1, 0]))]).counts
    array([[0., 3., 0.],
           [2., 0., 1.]])
    """

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS, missing: bool = False) -> Self:
        """Return the counts of one batch, whose y holds codes into ``labels``; with ``missing``, NaN is skipped."""
        return cls(labels, *kernels.event_counts(batch, len(labels), missing))


class PresenceCounts(CellCounts):
    """In how many rows of each class a feature is present: the multivariate Bernoulli event model's memory.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> answers = np.array([[1.0, 0.0], [np.nan, 1.0]])
    >>> seen = ThreadEngine().accumulate(PresenceCounts.over(Labels((0,)), 0.5, True), Batch(answers))
    >>> seen.counts, seen.observed
    (array([[1., 1.]]), array([[1., 2.]]))
    """

    @classmethod
    def of(
        cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS, threshold: float = 0.0, missing: bool = False
    ) -> Self:
        """Return the counts of one batch; a feature is present where x is above the threshold.

        With ``missing``, NaN is skipped.
        """
        return cls(labels, *kernels.presence_counts(batch, len(labels), threshold, missing))


@dataclass(frozen=True, eq=False)
class CategoryCounts(ClassCounts):
    """How often each category of each feature occurred in each class; ``counts`` holds the features side by side.

    The counts of a feature sum to the weight of the rows in which it is known.
    """

    sizes: tuple[int, ...] = ()  # categories of each feature; they sum to the columns of counts

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        shapes = super()._shapes()
        if any(size < 0 for size in self.sizes) or sum(self.sizes) != self.counts.shape[1]:
            raise ValueError(f"sizes {self.sizes} must sum to the {self.counts.shape[1]} columns of counts")
        return shapes

    @property
    def features(self) -> int:
        """How many features a row has."""
        return len(self.sizes)

    def _paired(self, other: Self) -> tuple[Self, Self]:
        if self.sizes != other.sizes:
            raise ValueError(f"features of {self.sizes} and of {other.sizes} categories do not go together")
        return super()._paired(other)

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels, sizes: tuple[int, ...], missing: bool = False) -> Self:
        """Return the counts of one batch, whose x holds codes 0 to sizes[j] - 1 in column j.

        With ``missing``, NaN and negative codes are skipped.
        """
        rows, counts = kernels.category_counts(batch, len(labels), sizes, missing)
        return cls(labels, rows, counts, sizes)

    @classmethod
    def cost_of(cls, batch: Any, labels: Labels, sizes: tuple[int, ...], *what: Any) -> Cost:  # type: ignore[override]
        """Return the cost of a (k, sum of sizes) table."""
        return Cost(batch.size, len(labels) * sum(sizes))

    def feature(self, index: int) -> FloatArray:
        """Return the counts of one feature's categories, (k, size)."""
        start = sum(self.sizes[:index])
        return self.counts[:, start : start + self.sizes[index]]

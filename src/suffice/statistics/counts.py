"""Counts per class: how often events, presences and categories occurred."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.statistics.base import FloatArray, Removal, Statistics, check_factor, check_shape, digits_lost, less
from suffice.statistics.labels import ONE_CLASS, Labels


@dataclass(frozen=True, eq=False)
class ClassCounts(Statistics):
    """Rows and counts of each class. Whole numbers are exact up to 2**53."""

    labels: Labels
    rows: FloatArray  # (k,) weight of the rows of each class
    counts: FloatArray  # (k, d)

    def _validate(self) -> None:
        if self.counts.ndim != 2:
            raise ValueError(f"counts must have shape (classes, features); got {self.counts.shape}")
        check_shape("rows", self.rows, (len(self.labels),))
        check_shape("counts", self.counts, (len(self.labels), self.counts.shape[1]))

    @classmethod
    def zero(cls) -> Self:
        """Return the counts over no rows."""
        return cls(Labels(), np.zeros(0), np.zeros((0, 0)))

    @property
    def weight(self) -> float:
        """The total weight of the rows."""
        return float(self.rows.sum())

    def aligned(self, labels: Labels) -> Self:
        """Return the same counts over a vocabulary that holds these classes and perhaps more."""
        if labels == self.labels:
            return self
        places = labels.positions(self.labels)
        rows, counts = np.zeros(len(labels)), np.zeros((len(labels), self.counts.shape[1]))
        rows[places], counts[places] = self.rows, self.counts
        return replace(self, labels=labels, rows=rows, counts=counts)

    def _paired(self, other: Self) -> tuple[Self, Self]:
        here, there = self.counts.shape[1], other.counts.shape[1]
        if here != there:
            raise ValueError(f"counts of {here} and of {there} features do not go together")
        labels, _, _ = self.labels.union(other.labels)
        return self.aligned(labels), other.aligned(labels)

    def _plus(self, other: Self) -> Self:
        one, two = self._paired(other)
        return replace(one, rows=one.rows + two.rows, counts=one.counts + two.counts)

    def _minus(self, other: Self) -> Removal:
        whole, part = self._paired(other)
        left = replace(
            whole, rows=less("rows", whole.rows, part.rows), counts=less("counts", whole.counts, part.counts)
        )
        lost = max(digits_lost(whole.rows, part.rows, left.rows), digits_lost(whole.counts, part.counts, left.counts))
        return Removal(left, lost)

    def scaled(self, factor: float) -> Self:
        """Return the counts with every row's weight multiplied by ``factor``."""
        factor = check_factor(factor)
        return replace(self, rows=self.rows * factor, counts=self.counts * factor)


class EventCounts(ClassCounts):
    """How often each event occurred in each class: the multinomial event model's memory, and the Poisson's.

    Examples
    --------
    >>> from suffice.engines import Batch, ThreadEngine
    >>> words = np.array([[2, 0, 1], [0, 3, 0]])
    >>> labels = Labels.of(["ham", "spam"])
    >>> ThreadEngine().accumulate(EventCounts.over(labels), [Batch(words, np.array([1, 0]))]).counts
    array([[0., 3., 0.],
           [2., 0., 1.]])
    """

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS) -> Self:
        """Return the counts of one batch, whose y holds codes into ``labels``."""
        return cls(labels, *kernels.event_counts(batch, len(labels)))


class PresenceCounts(ClassCounts):
    """In how many rows of each class a feature is present: the multivariate Bernoulli event model's memory."""

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS, threshold: float = 0.0) -> Self:
        """Return the counts of one batch; a feature is present where x is above the threshold."""
        return cls(labels, *kernels.presence_counts(batch, len(labels), threshold))


@dataclass(frozen=True, eq=False)
class CategoryCounts(ClassCounts):
    """How often each category of each feature occurred in each class; ``counts`` holds the features side by side."""

    sizes: tuple[int, ...] = ()  # categories of each feature; they sum to the columns of counts

    def _validate(self) -> None:
        super()._validate()
        if any(size < 0 for size in self.sizes) or sum(self.sizes) != self.counts.shape[1]:
            raise ValueError(f"sizes {self.sizes} must sum to the {self.counts.shape[1]} columns of counts")

    def _paired(self, other: Self) -> tuple[Self, Self]:
        if self.sizes != other.sizes:
            raise ValueError(f"features of {self.sizes} and of {other.sizes} categories do not go together")
        return super()._paired(other)

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels, sizes: tuple[int, ...]) -> Self:
        """Return the counts of one batch, whose x holds codes 0 to sizes[j] - 1 in column j."""
        rows, counts = kernels.category_counts(batch, len(labels), sizes)
        return cls(labels, rows, counts, sizes)

    def feature(self, index: int) -> FloatArray:
        """Return the counts of one feature's categories, (k, size)."""
        start = sum(self.sizes[:index])
        return self.counts[:, start : start + self.sizes[index]]

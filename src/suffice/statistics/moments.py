"""Centred moments of each class: variances, covariances, or one covariance that all classes share."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import (
    Cost,
    FloatArray,
    KnownCells,
    NegativeEvidenceError,
    Removal,
    Statistics,
    check_factor,
    digits_lost,
    less,
    placed,
    product_work,
)
from suffice.statistics.labels import ONE_CLASS, Labels

EPSILON = float(np.finfo(np.float64).eps)
#: Rows that a kernel adds up one after the other, about.
_BLOCK = 4096.0


@dataclass(frozen=True, eq=False)
class ClassMoments(Statistics):
    """Weight, mean and spread about the mean, per class.

    Sums merge by Chan's rule: two groups spread about their common mean as much as each about its own, plus what lies
    between the means. Nothing is ever squared far from a mean, so an offset of 1e8 costs no digits.
    """

    labels: Labels
    weights: FloatArray  # (k,)
    mean: FloatArray  # (k, d)
    spread: FloatArray  # sums of centred squares or products, in the subclass's shape

    kernel: ClassVar[str]  # the name of the kernel that sums one batch

    @staticmethod
    @abstractmethod
    def spread_shape(classes: int, features: int) -> tuple[int, ...]:
        """Return the shape of the spread."""

    @staticmethod
    @abstractmethod
    def _products(rows: FloatArray) -> FloatArray:
        """Return the products of one (k, d) row per class with itself, in the shape of the spread."""

    @staticmethod
    @abstractmethod
    def _variances(spread: FloatArray) -> FloatArray:
        """Return the part of a spread that cannot be negative: its squares."""

    # How the spread follows the classes; one that all classes share overrides these three.

    def _moved(self, places: npt.NDArray[np.intp], classes: int) -> FloatArray:
        """Return the spread with the classes at their places in a larger vocabulary."""
        return placed(self.spread, places, classes)

    def _kept(self, left: FloatArray) -> FloatArray:
        """Return the spread without the classes or cells of which no weight, (k, 1) or (k, d), is left."""
        keep = (left > 0).reshape(*left.shape, *(1 for _ in self.spread.shape[2:]))
        return np.where(keep, self.spread, 0.0)

    @staticmethod
    def _collected(per_class: FloatArray) -> FloatArray:
        """Return (k, d) squares in the shape of the variances."""
        return per_class

    @staticmethod
    def _every(per_class: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return whether something holds, of (k, d) for which it does, in the shape of the variances."""
        return per_class

    @abstractmethod
    def _cleared(self, squares: npt.NDArray[np.bool_]) -> FloatArray:
        """Return the spread with 0 for some squares, and for the products of their features with others."""

    # Where cells are missing, the weight behind a mean is the cell's; a kind that allows it overrides these two.

    def _weighings(self) -> dict[str, FloatArray]:
        """Return the fields that are sums of weights, by name."""
        return {"weights": self.weights}

    @property
    def _behind(self) -> FloatArray:
        """The weight behind each mean, (k, 1), or (k, d) where cells differ."""
        return self.weights[:, None]

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        if self.mean.ndim != 2:
            raise ValueError(f"mean must have shape (classes, features); got {self.mean.shape}")
        classes, features = len(self.labels.names), self.mean.shape[1]
        return {
            "weights": (classes,),
            "mean": (classes, features),
            "spread": self.spread_shape(classes, features),
        }

    @classmethod
    def zero(cls) -> Self:
        """Return the moments of no rows."""
        return cls(Labels(), np.zeros(0), np.zeros((0, 0)), np.zeros(cls.spread_shape(0, 0)))

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS) -> Self:
        """Return the moments of one batch, whose y holds codes into ``labels``."""
        return cls(labels, *getattr(kernels, cls.kernel)(batch, len(labels.names)))

    @classmethod
    def cost_of(cls, batch: Any, labels: Labels = ONE_CLASS, *what: Any) -> Cost:
        """Return the cost of the spread: with products, those of all pairs of features."""
        shape = cls.spread_shape(len(labels), batch.features)
        products = product_work(batch.rows, batch.features) if shape[-2:] == (batch.features,) * 2 else 0
        return Cost(batch.size + products, math.prod(shape))

    @property
    def features(self) -> int:
        """How many features a row has."""
        return int(self.mean.shape[1])

    @property
    def weight(self) -> float:
        """The total weight of the rows."""
        return float(self.weights.sum())

    def aligned(self, labels: Labels) -> Self:
        """Return the same sums over a vocabulary that holds these classes and perhaps more."""
        if labels == self.labels:
            return self
        places, classes = labels.positions(self.labels), len(labels)
        weighings = {name: placed(array, places, classes) for name, array in self._weighings().items()}
        mean, spread = placed(self.mean, places, classes), self._moved(places, classes)
        return self._with(labels=labels, mean=mean, spread=spread, **weighings)

    def _paired(self, other: Self) -> tuple[Self, Self]:
        if self.features != other.features:
            raise ValueError(f"sums over {self.features} and over {other.features} features do not go together")
        labels, _, _ = self.labels.union(other.labels)
        return self.aligned(labels), other.aligned(labels)

    def _plus(self, other: Self) -> Self:
        one, two = self._paired(other)
        added = two._weighings()
        weighings = {name: array + added[name] for name, array in one._weighings().items()}
        behind = one._behind + two._behind
        share = two._behind / np.where(behind > 0, behind, 1.0)
        apart = two.mean - one.mean
        # A class with no weight on one side has a share of 0 or 1: its mean comes over from the other side unrounded.
        mean = np.where(share == 1, two.mean, one.mean + share * apart)
        spread = one.spread + two.spread
        spread += self._products(np.sqrt(one._behind * share) * apart)
        return one._with(mean=mean, spread=spread, **weighings)

    def _minus(self, other: Self) -> Removal:
        whole, part = self._paired(other)
        total, taken = whole._weighings(), part._weighings()
        weighings = {name: less(name, total[name], taken[name]) for name in total}
        left = whole._with(**weighings)
        behind = left._behind
        share = part._behind / np.where(whole._behind > 0, whole._behind, 1.0)
        growth = np.where(behind > 0, whole._behind / np.where(behind > 0, behind, 1.0), 0.0)
        apart = (whole.mean - part.mean) * growth  # from the mean of what goes to the mean of what stays
        mean = np.where(growth > 0, whole.mean + share * apart, 0.0)
        before, gone = whole._kept(behind), part._kept(behind)
        between = self._products(np.sqrt(behind * share) * apart)
        left = left._with(mean=mean, spread=before - gone - between)
        # What rounding may have done to the squares: to their terms, and to the means between which they are taken. The
        # mean of the whole was rounded at the size of the means that it was merged from, which may be far larger.
        rounded = np.maximum(np.abs(whole.mean) + np.abs(part.mean), np.abs(mean))
        blur = EPSILON * rounded * growth * (share > 0)
        doubt = self._collected(behind * share * blur * (2 * np.abs(apart) + blur))
        doubt = doubt + EPSILON * self._variances(before + gone + between)
        check_squares(self._variances(before), self._variances(left.spread), doubt, whole.weight)
        left, noise = left._without_noise(whole, part, self._variances(before), doubt)
        lost = max(1.0, noise.max(initial=1.0))
        place = (int(np.argmax(noise.reshape(-1, self.features).max(axis=0, initial=1.0))),) if noise.size else ()
        counted = max(digits_lost(total[name], taken[name], weighings[name]) for name in total)
        return Removal(left, max(float(np.log10(lost)), counted), place)

    def _without_noise(self, whole: Self, part: Self, before: FloatArray, doubt: FloatArray) -> tuple[Self, FloatArray]:
        """Return this difference with 0 for squares that are within rounding of 0, and how noisy each square is.

        Noise is in units of a rounding, relative to the square itself. A square within rounding of 0 has no digits; its
        noise is relative to the spread that the feature has left over all classes, and there is none where the mean is
        within rounding of 0 too: then all rows that are left have a 0 there.

        Parameters
        ----------
        whole, part
            What this is the difference of.
        before
            The squares before, of what still has rows.
        doubt
            What one rounding may have done to each of them.
        """
        tolerance = slack(whole.weight) * doubt
        squares = self._variances(self.spread)
        gone = (before > 0) & (squares <= tolerance)
        behind = self._behind
        size = sum((each._behind * _root_mean_square(each) for each in (whole, part)), np.zeros(1))
        blur = slack(whole.weight) * EPSILON * size / np.where(behind > 0, behind, 1.0)
        zero = gone & self._every((np.abs(self.mean) <= blur) | (behind == 0))
        left = self._with(mean=np.where(zero, 0.0, self.mean), spread=self._cleared(gone))
        pooled = np.broadcast_to(left._pooled_squares(), gone.shape)
        shared = tolerance / np.where(pooled > 0, EPSILON * pooled, 1.0)
        shared = np.where(pooled > 0, np.minimum(shared, 1 / EPSILON), 1 / EPSILON)
        own = np.where(gone, 1.0, relative_noise(before, squares, doubt))
        return left, np.where(gone & ~zero, shared, own)

    def _pooled_squares(self) -> FloatArray:
        """Return the squares of each feature about its mean over all classes, (d,)."""
        behind = self._behind
        total = behind.sum(axis=0)
        mean = (behind * self.mean).sum(axis=0) / np.where(total > 0, total, 1.0)
        within = self._variances(self.spread).reshape(-1, self.features).sum(axis=0)
        return np.asarray(within + (behind * (self.mean - mean) ** 2).sum(axis=0))

    def scaled(self, factor: float) -> Self:
        """Return the moments with every row's weight multiplied by ``factor``."""
        factor = check_factor(factor)
        mean = self.mean if factor > 0 else np.zeros_like(self.mean)
        weighings = {name: array * factor for name, array in self._weighings().items()}
        return self._with(mean=mean, spread=self.spread * factor, **weighings)


def slack(weight: float) -> float:
    """Return how many roundings a sum over rows of this weight may be off by.

    Within a block of rows they may all go the same way, as where one value is added again and again; blocks are merged.
    """
    return float(8 * np.sqrt(1 + weight) + min(weight, _BLOCK))


def check_squares(before: FloatArray, left: FloatArray, doubt: FloatArray, weight: float, what: str = "spread") -> None:
    """Raise where squares that are left are negative past any doubt.

    Parameters
    ----------
    before, left
        The squares before and after rows were taken out.
    doubt
        What one rounding may have done to each.
    weight
        Of the rows that the squares were summed over.
    what
        What they are called.
    """
    past = left + slack(weight) * doubt
    if np.any(past < 0):
        place = tuple(int(index) for index in np.unravel_index(int(np.argmin(past)), left.shape))
        raise NegativeEvidenceError(
            f"the {what} at {place} would be {left[place]:g}, of {before[place]:g}: these rows were never in the sum"
        )


def relative_noise(before: FloatArray, left: FloatArray, doubt: FloatArray) -> FloatArray:
    """Return how far squares that are left may be off, in units of a rounding of each."""
    doubtful = (before > 0) & (doubt > 0)  # what never varied still does not, exactly
    left = np.where(doubtful, np.maximum(left, doubt), 1.0)
    return np.asarray(np.where(doubtful, doubt, EPSILON) / (EPSILON * left))


def _root_mean_square(moments: ClassMoments) -> FloatArray:
    """Return the root of the mean square of each class and feature about 0, (k, d)."""
    behind = np.where(moments._behind > 0, moments._behind, 1.0)
    return np.asarray(np.sqrt(np.maximum(moments._variances(moments.spread), 0.0) / behind + moments.mean**2))


@dataclass(frozen=True, eq=False)
class DiagonalMoments(KnownCells, ClassMoments):
    """Means and centred sums of squares of each feature, per class: what Gaussian naive Bayes remembers.

    Those of a cell are over the rows in which it is known, and 0 where there are none.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> heights = np.array([[150.0], [160.0], [180.0]])
    >>> batch = Batch(heights, np.array([0, 0, 1]))
    >>> moments = ThreadEngine().accumulate(DiagonalMoments.over(Labels.of(["short", "tall"])), [batch])
    >>> moments.weights, moments.mean.ravel(), moments.spread.ravel()
    (array([2., 1.]), array([155., 180.]), array([50.,  0.]))
    """

    kernel = "diagonal_moments"
    weights_field = "weights"
    table_field = "mean"

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS, missing: bool = False) -> Self:
        """Return the moments of one batch, whose y holds codes into ``labels``; with ``missing``, NaN is skipped."""
        return cls(labels, *getattr(kernels, cls.kernel)(batch, len(labels.names), missing))

    def pooled(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean and variance of each feature over the rows of all classes, (d,): within and between classes.

        Both are of the rows in which the feature is known; 0 where there are none.

        Examples
        --------
        >>> DiagonalMoments(Labels((0, 1)), np.ones(2), np.array([[1.0], [3.0]]), np.zeros((2, 1))).pooled()
        (array([2.]), array([1.]))
        """
        if not self.weights.sum() > 0:
            raise ValueError("there are no rows in any class: nothing can be estimated")
        observed = self.observed  # (k, d)
        total = observed.sum(axis=0)
        total = np.where(total > 0, total, 1.0)
        # Averaged about one class's mean, so that a large offset costs no digits.
        anchor = np.take_along_axis(self.mean, observed.argmax(axis=0)[None, :], axis=0)[0]
        mean = anchor + (observed * np.where(observed > 0, self.mean - anchor, 0.0)).sum(axis=0) / total
        between = (observed * (self.mean - mean) ** 2).sum(axis=0)
        return mean, (self.spread.sum(axis=0) + between) / total

    @property
    def _behind(self) -> FloatArray:
        return self.cells if self.misses_cells else self.weights[:, None]

    def _weighings(self) -> dict[str, FloatArray]:
        return {"weights": self.weights, "cells": self.cells}

    def _paired(self, other: Self) -> tuple[Self, Self]:
        one, two = super()._paired(other)
        return one._observing(two)

    @staticmethod
    def spread_shape(classes: int, features: int) -> tuple[int, ...]:
        """Return (k, d)."""
        return classes, features

    @staticmethod
    def _products(rows: FloatArray) -> FloatArray:
        return rows * rows

    @staticmethod
    def _variances(spread: FloatArray) -> FloatArray:
        return spread

    def _cleared(self, squares: npt.NDArray[np.bool_]) -> FloatArray:
        return np.where(squares, 0.0, self.spread)


class TiedMoments(ClassMoments):
    """Means per class and one scatter about them for all classes: what linear discriminant analysis remembers."""

    kernel = "tied_moments"

    @staticmethod
    def spread_shape(classes: int, features: int) -> tuple[int, ...]:
        """Return (d, d)."""
        return features, features

    @staticmethod
    def _products(rows: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("ki,kj->ij", rows, rows))  # no BLAS, whose threads would wait in the engine's way

    @staticmethod
    def _variances(spread: FloatArray) -> FloatArray:
        return np.diagonal(spread)

    def _moved(self, places: npt.NDArray[np.intp], classes: int) -> FloatArray:
        return self.spread

    def _kept(self, left: FloatArray) -> FloatArray:
        return self.spread if np.any(left > 0) else np.zeros_like(self.spread)

    @staticmethod
    def _collected(per_class: FloatArray) -> FloatArray:
        return np.asarray(per_class.sum(axis=0))

    @staticmethod
    def _every(per_class: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        return np.asarray(per_class.all(axis=0))

    def _cleared(self, squares: npt.NDArray[np.bool_]) -> FloatArray:
        return np.where(squares[:, None] | squares[None, :], 0.0, self.spread)


class FullMoments(ClassMoments):
    """Means and scatter of each class: what quadratic discriminant analysis remembers."""

    kernel = "full_moments"

    @staticmethod
    def spread_shape(classes: int, features: int) -> tuple[int, ...]:
        """Return (k, d, d)."""
        return classes, features, features

    @staticmethod
    def _products(rows: FloatArray) -> FloatArray:
        return rows[:, :, None] * rows[:, None, :]

    @staticmethod
    def _variances(spread: FloatArray) -> FloatArray:
        return np.diagonal(spread, axis1=1, axis2=2)

    def _cleared(self, squares: npt.NDArray[np.bool_]) -> FloatArray:
        return np.where(squares[:, :, None] | squares[:, None, :], 0.0, self.spread)

    def tied(self) -> TiedMoments:
        """Return the same rows' moments with one scatter for all classes."""
        return TiedMoments(self.labels, self.weights, self.mean, np.asarray(self.spread.sum(axis=0)))

    def diagonal(self) -> DiagonalMoments:
        """Return the same rows' moments without the products of different features."""
        return DiagonalMoments(self.labels, self.weights, self.mean, self._variances(self.spread))


def never_varies(mean: FloatArray, variance: FloatArray) -> npt.NDArray[np.bool_]:
    """Return where a variance is no more than the rounding of its mean.

    Examples
    --------
    >>> never_varies(np.array([0.0, 1e8, 1e8]), np.array([0.0, 1e-15, 1.0]))
    array([ True,  True, False])
    """
    return variance <= (4 * EPSILON * np.abs(mean)) ** 2

"""Centred moments of each class: variances, covariances, or one covariance that all classes share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import (
    ALL_DIGITS,
    Cost,
    KnownCells,
    Statistics,
    check_factor,
    placed,
    product_work,
)
from suffice.statistics.labels import ONE_CLASS, Labels
from suffice.statistics.rounding import (
    EPSILON,
    NO_BOUNDS,
    NO_ERROR,
    REFIT,
    TOLERANCE,
    UNKNOWN,
    Bounds,
    FloatArray,
    LostDigitsError,
    NegativeEvidenceError,
    Weighed,
    bounds_of_difference,
    bounds_of_sum,
    error_of_sum,
    is_exact,
    least_weight,
    sum_error,
    weight_left,
)

#: Rows that are summed one after another, where that is not known.
DEPTH = 4096.0
#: The error of a spread of 0, relative to the variance that smoothing adds, up to which it is taken as constant.
_CONSTANT = 0.1


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
    weights_error: FloatArray = field(default_factory=lambda: NO_ERROR, kw_only=True)  # (k,)
    # (4, k, d), as Bounds; (4, 0, 0) for one batch, whose depth gives them
    bounds: FloatArray = field(default_factory=lambda: NO_BOUNDS, kw_only=True)
    depth: float = field(default=DEPTH, kw_only=True)  # rows of a batch that were summed one after another, at most
    least: float = field(default=1.0, kw_only=True)  # the least weight of a row; 0 if it is not known
    forgotten: float = field(default=0.0, kw_only=True)  # the weight of the rows that were taken out

    _bound_fields = frozenset({"weights_error", "bounds", "depth", "least", "forgotten"})

    kernel: ClassVar[str]  # the name of the kernel that sums one batch
    _shares_spread: ClassVar[bool] = False  # whether all classes have one spread

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

    def _squares(self) -> FloatArray:
        """Return the squares of each class and feature, (k, d); a share of them where classes have them together."""
        return self._variances(self.spread)

    # Where cells are missing, the weight behind a mean is the cell's; a kind that allows it overrides these two.

    _weighings: ClassVar[tuple[str, ...]] = ("weights",)  # the fields that are sums of weights

    @property
    def _behind(self) -> FloatArray:
        """The weight behind each mean, (k, 1), or (k, d) where cells differ."""
        return self.weights[:, None]

    @property
    def _behind_error(self) -> FloatArray:
        """The bound of its error relative to itself."""
        return _relative(self.weights_error, self.weights)[:, None]

    def __post_init__(self) -> None:
        fields = vars(self)
        if self.weights_error is NO_ERROR:
            fields["weights_error"] = np.zeros(np.shape(self.weights))
        super().__post_init__()

    @property
    def _weighed(self) -> Weighed:
        return Weighed(self._behind, self._behind_error, self.mean, self._squares(), self.error, self._shares_spread)

    @property
    def error(self) -> Bounds:
        """The bounds of the rounding error of means and spread."""
        if self.bounds.size:
            return Bounds(*self.bounds)
        return Bounds.of_batch(self.depth, self._behind, self.mean, self._squares())

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        if self.mean.ndim != 2:
            raise ValueError(f"mean must have shape (classes, features); got {self.mean.shape}")
        classes, features = len(self.labels.names), self.mean.shape[1]
        return {
            "weights": (classes,),
            "mean": (classes, features),
            "spread": self.spread_shape(classes, features),
            "weights_error": (classes,),
            "bounds": (4, classes, features) if self.bounds.size else (4, 0, 0),
        }

    @classmethod
    def zero(cls) -> Self:
        """Return the moments of no rows."""
        return cls(Labels(), np.zeros(0), np.zeros((0, 0)), np.zeros(cls.spread_shape(0, 0)))

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS) -> Self:
        """Return the moments of one batch, whose y holds codes into ``labels``."""
        return cls(labels, *getattr(kernels, cls.kernel)(batch, len(labels.names)))._with_bounds(batch, kernels)

    def _with_bounds(self, batch: Any, kernels: Any) -> Self:
        """Return the moments of one batch with the bounds of their error, for the engine's depth of summation."""
        depth = kernels.depth(batch, len(self.labels))
        errors = {}
        if batch.weight is not None:
            sums = [getattr(self, name) for name in self._weighings]
            found = sum_error(is_exact((batch.weight,), *sums), depth, *sums)
            errors = {f"{name}_error": error for name, error in zip(self._weighings, found, strict=True)}
        vars(self).update(depth=depth, least=least_weight(batch.weight))  # it was just made
        return self._with(**errors) if errors else self

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
        names = [each for name in self._weighings for each in (name, f"{name}_error")]
        moved = {name: placed(getattr(self, name), places, classes) for name in ("mean", *names)}
        if self.bounds.size:
            moved["bounds"] = np.stack([placed(each, places, classes) for each in self.bounds])
        return self._with(labels=labels, spread=self._moved(places, classes), **moved)

    def _paired(self, other: Self) -> tuple[Self, Self]:
        if self.features != other.features:
            raise ValueError(f"sums over {self.features} and over {other.features} features do not go together")
        labels, _, _ = self.labels.union(other.labels)
        return self.aligned(labels), other.aligned(labels)

    def _plus(self, other: Self) -> Self:
        one, two = self._paired(other)
        weighings = {}
        for name in self._weighings:
            mine, theirs = getattr(one, name), getattr(two, name)
            errors = getattr(one, f"{name}_error"), getattr(two, f"{name}_error")
            weighings[name], weighings[f"{name}_error"] = mine + theirs, error_of_sum(mine, theirs, *errors)
        behind = one._behind + two._behind
        share = two._behind / np.where(behind > 0, behind, 1.0)
        apart = two.mean - one.mean
        # A class with no weight on one side has a share of 0 or 1: its mean comes over from the other side unrounded.
        mean = np.where(share == 1, two.mean, one.mean + share * apart)
        spread = one.spread + two.spread
        spread += self._products(np.sqrt(one._behind * share) * apart)
        depths = [each.depth for each in (one, two) if each.weight > 0] or [one.depth, two.depth]
        if one.bounds.size or two.bounds.size or (one.weight > 0 and two.weight > 0):
            weighings["bounds"] = np.stack(bounds_of_sum(one._weighed, two._weighed, mean))
        return one._with(
            mean=mean,
            spread=spread,
            depth=max(depths),
            least=min(one.least, two.least),
            forgotten=one.forgotten + two.forgotten,
            **weighings,
        )

    def _minus(self, other: Self) -> Self:
        whole, part = self._paired(other)
        least, weighings = min(whole.least, part.least), {}
        for name in self._weighings:
            errors = getattr(whole, f"{name}_error") + getattr(part, f"{name}_error")
            left, error = weight_left(getattr(whole, name), getattr(part, name), errors, least, self._name_of(name))
            weighings[name], weighings[f"{name}_error"] = left, error
        rest = whole._with(**weighings)
        behind = rest._behind
        stays = behind > 0
        self._check_all_gone(whole, part, stays)
        share = part._behind / np.where(whole._behind > 0, whole._behind, 1.0)
        growth = np.where(stays, whole._behind / np.where(stays, behind, 1.0), 0.0)
        apart = (whole.mean - part.mean) * growth  # from the mean of what goes to the mean of what stays
        mean = np.where(stays, whole.mean + share * apart, 0.0)
        spread = whole._kept(behind) - part._kept(behind) - self._products(np.sqrt(behind * share) * apart)
        bounds = bounds_of_difference(whole._weighed, part._weighed, behind, rest._behind_error, mean)
        squares, error = self._variances(spread), self._square_error(bounds)
        if (squares < -error).any():
            *code, feature = (int(index) for index in np.unravel_index(int(np.argmin(squares + error)), squares.shape))
            where = f" in class {whole.labels.names[code[0]]!r}" if code and len(whole.labels) > 1 else ""
            raise NegativeEvidenceError(
                f"the spread of feature {feature}{where} would be {squares[(*code, feature)]:g}: these rows were never "
                "in the sum"
            )
        nowhere = np.abs(mean) <= bounds.mean  # within rounding of 0
        bounds = bounds._replace(mean=np.where(nowhere, 2 * bounds.mean, bounds.mean))
        remaining = rest._with(
            mean=np.where(nowhere, 0.0, mean),
            spread=self._with_squares(spread, np.maximum(squares, 0.0)),
            bounds=np.stack(bounds),
            least=least,
            forgotten=whole.forgotten + part.forgotten + part.weight,
        )
        return remaining._without_noise()

    @staticmethod
    def _check_all_gone(whole: ClassMoments, part: ClassMoments, stays: npt.NDArray[np.bool_]) -> None:
        """Raise where as much weight as there is goes, but not with the mean that there is."""
        gone = ~stays & (part._behind > 0) & (whole._behind > 0)
        if not gone.any():
            return
        unsure = whole._behind_error + part._behind_error  # of weights, which shift a mean by a share of its distance
        level = np.maximum(np.abs(whole.mean), np.abs(part.mean))
        error = whole.error.mean + part.error.mean + (unsure + 4 * EPSILON) * level
        differs = gone & (np.abs(whole.mean - part.mean) > error)
        if differs.any():
            code, feature = (int(index) for index in np.unravel_index(int(np.argmax(differs)), differs.shape))
            where = "" if len(whole.labels) == 1 else f" of class {whole.labels.names[code]!r}"
            raise NegativeEvidenceError(
                f"all rows{where} would be gone, but the mean of feature {feature} is {whole.mean[code, feature]:g}, "
                f"and that of the rows to take out {part.mean[code, feature]:g}: these rows were never in the sum"
            )

    def _without_noise(self) -> Self:
        """Return the moments with 0 for squares that are within their error of 0."""
        squares, error = self._variances(self.spread), self.error
        noise = squares <= self._square_error(error)
        moved = np.broadcast_to(np.where(noise, squares, 0.0), error.terms.shape)
        return self._with(
            spread=self._with_squares(self.spread, np.where(noise, 0.0, squares)),
            bounds=np.stack(error._replace(terms=error.terms + moved)),
        )

    def _name_of(self, name: str) -> Callable[[tuple[int, ...]], str]:
        """Return what a place in a field of weights is called."""
        return lambda place: f"{name}[{', '.join(map(str, place))}]"

    @staticmethod
    def _square_error(bounds: Bounds) -> FloatArray:
        """Return the bounds of the error of the squares, in the shape of the variances."""
        return bounds.squares()

    @abstractmethod
    def _with_squares(self, spread: FloatArray, squares: FloatArray) -> FloatArray:
        """Return a spread with other squares."""

    def scaled(self, factor: float) -> Self:
        """Return the moments with every row's weight multiplied by ``factor``."""
        factor = check_factor(factor)
        if factor == 1:
            return self
        weighings = {}
        for name in self._weighings:
            weighings[name] = scaled = getattr(self, name) * factor
            weighings[f"{name}_error"] = getattr(self, f"{name}_error") * factor + 0.5 * EPSILON * scaled
        mean = self.mean if factor > 0 else np.zeros_like(self.mean)
        error, squares = self.error, self._squares() * factor
        bounds = Bounds(
            error.mean * (factor > 0), error.terms * factor + EPSILON * squares, *(part * factor for part in error[2:])
        )
        return self._with(
            mean=mean,
            spread=self.spread * factor,
            bounds=np.stack(bounds),
            least=self.least * factor,
            forgotten=self.forgotten * factor,
            **weighings,
        )

    def transformed(self, A: FloatArray, b: FloatArray) -> Self:
        """Return the moments of the rows A x + b, for A of shape (e, d): of a spread of products."""
        size, width = np.abs(A), A.shape[1]
        mean = self.mean @ A.T + b
        rounded = (0.5 * EPSILON * (width + 2)) * (np.abs(self.mean) @ size.T + np.abs(b))
        mean = np.where(np.abs(mean) <= rounded, 0.0, mean)
        error = self.error
        # Errors are at most products of roots, which |A| combines as A combines the columns.
        terms, across, shift = (np.sqrt(part) @ size.T for part in error[1:])
        own = np.sqrt(self._squares()) @ size.T
        bounds = Bounds(
            error.mean @ size.T + 2 * rounded, terms**2 + (width + 2) * EPSILON * own**2, across**2, shift**2
        )
        known = (self.weights > 0)[:, None]
        spread = A @ self.spread @ A.T
        return self._with(
            mean=np.where(known, mean, 0.0),
            spread=(spread + np.swapaxes(spread, -1, -2)) / 2,
            bounds=np.stack([np.where(known, each, 0.0) for each in bounds]),
        )

    def _unbounded(self) -> Self:
        return self._with(
            least=0.0, **{f"{name}_error": np.full(getattr(self, name).shape, UNKNOWN) for name in self._weighings}
        )

    def check_digits(self, variance: FloatArray, means_alone: bool = False) -> None:
        """Raise if rows were taken out, and a mean or variance that is left may be off by more than the tolerance.

        Parameters
        ----------
        variance
            The variances of the model that is read from the sum, (k, d).
        means_alone
            Whether the model reads no more than the means.
        """
        if not self.forgotten:
            return
        behind, error = self._behind, self.error
        behind = np.where(behind > 0, behind, 1.0)
        blur = (error.mean / TOLERANCE) ** 2
        if not means_alone:
            # What varies no more than rounding is constant if its error is below the variance that smoothing adds.
            tolerance = np.where(self._squares() > 0, TOLERANCE, _CONSTANT)
            blur = np.maximum(blur, error.squares() / behind / tolerance)
        unsure = ~(blur <= variance)
        if unsure.any():
            code, feature = (int(index) for index in np.unravel_index(int(np.argmax(unsure)), unsure.shape))
            raise self.lost_digits(feature, code)

    def lost_digits(self, feature: int, code: int | None = None) -> LostDigitsError:
        """Return the error that the digits of a feature are lost, in one class or in all."""
        error, which = self.error, slice(None) if code is None else slice(code, code + 1)
        mean, squares = error.mean[which, feature].max(initial=0.0), error.squares()[which, feature].sum()
        where = "" if code is None or len(self.labels) == 1 else f" in class {self.labels.names[code]!r}"
        weight = float(np.broadcast_to(self._behind, self.mean.shape)[which, feature].sum())
        left = float(self._squares()[which, feature].sum())
        return LostDigitsError(
            f"without the rows that were taken out, too few digits are left of feature {feature}{where}: its mean is "
            f"known to {mean:.2g} and its variance, {left / max(weight, 1e-300):.2g}, to "
            f"{squares / max(weight, 1e-300):.2g}: {REFIT}",
            (feature,),
        )

    def digits_kept(self) -> float:
        """Return to how many decimal digits the sum is known at least: means in standard deviations, and spreads."""
        if not self.forgotten:
            return ALL_DIGITS
        behind, error = self._behind, self.error
        rows = np.maximum(behind.sum(axis=0), 1e-300)
        mean = (behind * self.mean).sum(axis=0) / rows
        squares = self._squares().sum(axis=0) + (behind * (self.mean - mean) ** 2).sum(axis=0)
        blur = error.squares().max(axis=0, initial=0.0)
        varies = squares > blur  # features that do not are constant, or models that read them are refused
        lost = np.maximum(
            error.mean.max(axis=0, initial=0.0) / np.sqrt(np.where(varies, squares, 1.0) / rows),
            blur / np.where(varies, squares, 1.0),
        )
        return float(min(ALL_DIGITS, max(0.0, -np.log10(max(lost[varies].max(initial=0.0), EPSILON)))))


def _relative(error: FloatArray, value: FloatArray) -> FloatArray:
    """Return an error relative to a value, finite; 0 where the value is 0."""
    if not error.any():
        return error
    return np.asarray(np.where(value > 0, np.minimum(error, value / EPSILON) / np.where(value > 0, value, 1.0), 0.0))


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
        return cls(labels, *getattr(kernels, cls.kernel)(batch, len(labels.names), missing))._with_bounds(
            batch, kernels
        )

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

    _weighings = ("weights", "cells")
    _bound_fields = ClassMoments._bound_fields | {"cells_error"}

    @property
    def _behind(self) -> FloatArray:
        return self.cells if self.misses_cells else self.weights[:, None]

    @property
    def _behind_error(self) -> FloatArray:
        return _relative(self.cells_error, self.cells) if self.misses_cells else super()._behind_error

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

    def _with_squares(self, spread: FloatArray, squares: FloatArray) -> FloatArray:
        return squares


class TiedMoments(ClassMoments):
    """Means per class and one scatter about them for all classes: what linear discriminant analysis remembers."""

    kernel = "tied_moments"
    _shares_spread = True

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

    def _squares(self) -> FloatArray:
        share = self.weights / max(float(self.weights.sum()), 1e-300)
        return np.asarray(share[:, None] * np.diagonal(self.spread))

    @staticmethod
    def _square_error(bounds: Bounds) -> FloatArray:
        return np.asarray(bounds.pooled().squares()[0])

    def _with_squares(self, spread: FloatArray, squares: FloatArray) -> FloatArray:
        spread = np.array(spread)
        np.fill_diagonal(spread, squares)
        return spread


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

    def _with_squares(self, spread: FloatArray, squares: FloatArray) -> FloatArray:
        spread, diagonal = np.array(spread), np.arange(self.features)
        spread[:, diagonal, diagonal] = squares
        return spread

    def tied(self) -> TiedMoments:
        """Return the same rows' moments with one scatter for all classes."""
        return TiedMoments(
            self.labels, self.weights, self.mean, np.asarray(self.spread.sum(axis=0)), **self._rounding()
        )

    def diagonal(self) -> DiagonalMoments:
        """Return the same rows' moments without the products of different features."""
        return DiagonalMoments(self.labels, self.weights, self.mean, self._variances(self.spread), **self._rounding())

    def _rounding(self) -> dict[str, Any]:
        """Return the fields with bounds of rounding errors."""
        return {name: getattr(self, name) for name in sorted(ClassMoments._bound_fields)}


def never_varies(mean: FloatArray, variance: FloatArray) -> npt.NDArray[np.bool_]:
    """Return where a variance is no more than the rounding of its mean.

    Examples
    --------
    >>> never_varies(np.array([0.0, 1e8, 1e8]), np.array([0.0, 1e-15, 1.0]))
    array([ True,  True, False])
    """
    return variance <= (4 * EPSILON * np.abs(mean)) ** 2

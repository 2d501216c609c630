"""Bounds of the rounding error of centred moments, which travel with the sum.

With u = 2**-53, a class of n rows has, in each column, a bound dm of the error of its mean m, and r, U and V, for which

    |error of S_ij| <= sqrt(r_i r_j) + sqrt(U_i V_j) + sqrt(U_j V_i).

- One batch: products are summed about a reference so near the mean that they come to at most 9 S (the kernels'
  contract), D rows one after another: r = 9 u (D + 4) S. The mean is off by u |m| and by the rounding of the sum of the
  deviations, which are at most 3 sqrt(S / n) on average; where S is 0, nothing was rounded. U = V = 0.
- a + b: with w = n_a n_b / n, g = m_b - m_a and d = dm_a + dm_b + 2 u |g|, the term w g_i g_j is off by at most
  w (|g_i| d_j + d_i |g_j| + d_i d_j) <= sqrt(U_i V_j) + sqrt(U_j V_i) with U = w (|g| + d)**2 and V = w d**2. The
  roundings of all terms, a few u, and the relative errors of the weights go to r. By Cauchy and Schwarz r, U and V add.
- a - b: the same with g between the means of b and of what is left: that between a and b, times n / n_left, as d is.
  r, U and V still add: what was taken out took its error along, and left its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)
#: Whole numbers up to here are exact.
EXACT = 2.0**53
#: What a fitted model may be off by, after rows were taken out of its sum: means in standard deviations, variances and
#: counts relative to themselves, coefficients relative to themselves or to their standard errors.
TOLERANCE = 1e-6
#: What to do where digits were lost.
REFIT = "fit the remaining rows instead"
#: The error of weights and counts of which no bound is known; finite, so that files hold it.
UNKNOWN = 1e300
#: Sums of fractions that are whole by chance, below this, are as good as exact.
_SURELY_WHOLE = 2.0**33


class NegativeEvidenceError(ValueError):
    """Rows were to be removed that the sum does not hold."""


class LostDigitsError(ArithmeticError):
    """Too few digits are left of a sum from which rows were taken: the remaining rows must be summed again.

    Parameters
    ----------
    message
        What was lost.
    place
        Where: (feature,), or (part, feature) of several statistics; () where it is not a feature.
    """

    def __init__(self, message: str, place: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.place = place


def is_exact(summed: tuple[Any, ...], *sums: FloatArray) -> bool:
    """Whether sums are whole numbers that were added without rounding.

    Parameters
    ----------
    summed
        The arrays that were summed, such as weights. They are looked at only where the sums are large: those of
        fractions are not whole otherwise, but by chance, and then hardly rounded.
    """
    largest = max((float(each.max(initial=0.0)) for each in sums), default=0.0)
    if not largest < EXACT or not all((each == np.rint(each)).all() for each in sums):
        return False
    return largest < _SURELY_WHOLE or all(map(all_whole, summed))


def all_whole(values: Any) -> bool:
    """Whether an array holds whole numbers; False where that cannot be seen."""
    if values is None or getattr(getattr(values, "dtype", None), "kind", "") in ("i", "u", "b"):
        return True
    return isinstance(values, np.ndarray) and bool((values == np.rint(values)).all())


def least_weight(weight: Any) -> float:
    """Return the least weight of a row that weighs anything; 0 where that is not known.

    Examples
    --------
    >>> least_weight(None), least_weight(np.array([0.5, 0.0, 2.0]))
    (1.0, 0.5)
    """
    if weight is None:
        return 1.0
    try:
        positive = weight[weight > 0]
        return float(positive.min()) if len(positive) else float(np.finfo(np.float64).max)
    except (TypeError, AttributeError, IndexError):  # a column of a database
        return 0.0


def sum_error(exact: bool, depth: float, *sums: FloatArray) -> list[FloatArray]:
    """Return the bound of the error of each of some sums of numbers that are not negative."""
    return [np.zeros(each.shape) if exact else (0.5 * EPSILON * (depth + 4)) * each for each in sums]


def error_of_sum(one: FloatArray, two: FloatArray, one_error: FloatArray, two_error: FloatArray) -> FloatArray:
    """Return the bound of the error of ``one + two``, of numbers that are not negative, given those of both."""
    error, total = one_error + two_error, one + two
    if not (error.any() or total.max(initial=0.0) >= EXACT):
        return error
    rounds = (one > 0) & (two > 0) & ((error > 0) | (total >= EXACT))
    return np.where(rounds, error + 0.5 * EPSILON * total, error)


def difference(
    whole: FloatArray, part: FloatArray, error: FloatArray, name_of: Callable[[tuple[int, ...]], str]
) -> tuple[FloatArray, FloatArray]:
    """Return ``whole - part`` of sums that are not negative, and the bound of its error; within its error of 0 it is 0.

    Parameters
    ----------
    error
        The bound of the error of both together.
    name_of
        What a place is called, by its indices.
    """
    left = whole - part
    error = np.where((error > 0) | (whole >= EXACT), error + 0.5 * EPSILON * np.abs(left), 0.0)
    if left.size and (left < -error).any():
        place = tuple(int(index) for index in np.unravel_index(int(np.argmin(left + error)), left.shape))
        raise NegativeEvidenceError(
            f"{name_of(place)} would be {whole[place]:g} - {part[place]:g} < 0: these rows were never in the sum"
        )
    unclear = left <= error
    return np.where(unclear, 0.0, left), np.where(unclear & (error > 0), error + np.abs(left), error)


def weight_left(
    whole: FloatArray, part: FloatArray, error: FloatArray, least: float, name_of: Callable[[tuple[int, ...]], str]
) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the rows that are left, 0 where none are; raise where that cannot be told.

    Parameters
    ----------
    error
        The bound of the error of both together.
    least
        The least weight of a row; 0 if it is not known.
    name_of
        What a place is called, by its indices.
    """
    left, error = difference(whole, part, error, name_of)
    unclear = (error > TOLERANCE * left) & ~((left == 0) & (2 * error < least))
    if unclear.any():
        place = tuple(int(index) for index in np.unravel_index(int(np.argmax(unclear)), left.shape))
        raise LostDigitsError(
            f"{name_of(place)} would be {whole[place]:g} - {part[place]:g} = {left[place]:g}, with a rounding error of "
            f"up to {error[place]:.2g}: {REFIT}"
        )
    return left, np.where(left > 0, error, 0.0)


def _frozen(*shape: int) -> FloatArray:
    array = np.zeros(shape)
    array.flags.writeable = False
    return array


#: Fields of sums of which no error is known, or none was made.
NO_ERROR, NO_ERRORS, NO_BOUNDS = _frozen(0), _frozen(0, 0), _frozen(4, 0, 0)


class Bounds(NamedTuple):
    """Bounds of the error of moments, of each class and column, (k, d)."""

    mean: FloatArray
    terms: FloatArray  # r
    across: FloatArray  # U
    shift: FloatArray  # V

    @classmethod
    def of_batch(cls, depth: float, weights: FloatArray, mean: FloatArray, squares: FloatArray) -> Bounds:
        """Return the bounds of one batch, of which ``depth`` rows are summed one after another."""
        roundings = (depth + 4) * EPSILON
        deviation = np.sqrt(np.maximum(squares, 0.0)) / np.sqrt(np.where(weights > 0, weights, 1.0))
        off = np.where(squares > 0, 0.5 * EPSILON * np.abs(mean) + (2 * roundings) * deviation, 0.0)
        zeros = np.broadcast_to(0.0, mean.shape)
        return cls(off, (4.5 * roundings) * squares, zeros, zeros)

    def squares(self) -> FloatArray:
        """Return the bounds of the error of the sums of squares, (k, d)."""
        return np.asarray(self.terms + 2 * np.sqrt(self.across) * np.sqrt(self.shift))

    def products(self) -> FloatArray:
        """Return the bounds of the error of the products of each class, (k, d, d)."""
        terms, across, shift = np.sqrt(self.terms), np.sqrt(self.across), np.sqrt(self.shift)
        mixed = across[:, :, None] * shift[:, None, :]
        return np.asarray(terms[:, :, None] * terms[:, None, :] + mixed + mixed.swapaxes(1, 2))

    def pooled(self) -> Bounds:
        """Return the bounds of the sum of the scatters of all classes; the mean's are the largest."""
        added = (part.sum(axis=0, keepdims=True) for part in self[1:])
        return Bounds(self.mean.max(axis=0, keepdims=True, initial=0.0), *added)


class Weighed(NamedTuple):
    """Moments of classes beside their bounds."""

    weights: FloatArray  # (k, 1) or (k, d)
    weight_error: FloatArray  # bound of the error of the weights, relative to them
    mean: FloatArray  # (k, d)
    squares: FloatArray  # (k, d), the sums of squares, or a share of them where classes have them together
    bounds: Bounds
    shared: bool = False  # whether all classes have one spread


def bounds_of_sum(one: Weighed, two: Weighed, mean: FloatArray) -> Bounds:
    """Return the bounds of merged moments, whose mean is given, (k, d)."""
    both = (one.weights > 0) & (two.weights > 0)
    share = np.where(both, two.weights / np.where(both, one.weights + two.weights, 1.0), 0.0)
    weight = one.weights * share
    unsure = one.weight_error + two.weight_error
    return _bounds_between(one, two, mean, both, share, 1 - share, 1.0, weight, unsure)


def bounds_of_difference(
    whole: Weighed, part: Weighed, left: FloatArray, left_error: FloatArray, mean: FloatArray
) -> Bounds:
    """Return the bounds of the moments that are left, of weights with relative errors, all (k, 1) or (k, d)."""
    both = (left > 0) & (part.weights > 0)
    behind = np.where(both, left, 1.0)
    share, growth = np.where(both, part.weights / behind, 0.0), np.where(both, whole.weights / behind, 1.0)
    weight = np.where(both, part.weights / growth, 0.0)
    unsure = part.weight_error + left_error
    bounds = _bounds_between(whole, part, mean, both, share, growth, growth, weight, unsure)
    stays = left > 0
    spread = np.any(stays) if whole.shared else stays
    return Bounds(np.where(stays, bounds.mean, 0.0), *(np.where(spread, each, 0.0) for each in bounds[1:]))


def _bounds_between(
    one: Weighed,
    two: Weighed,
    mean: FloatArray,
    both: npt.NDArray[np.bool_],
    share: FloatArray,
    growth: FloatArray,
    stretch: FloatArray | float,
    weight: FloatArray,
    unsure: FloatArray,
) -> Bounds:
    """Return the bounds where the mean moves by a share of the distance between two means.

    Parameters
    ----------
    one, two
        The moments that are added, or the second taken out of the first.
    mean
        The resulting mean.
    both
        Where there are rows to add or take out, and rows beside them.
    share, growth
        The factors of the errors of the second mean and of the first in that of the result.
    stretch, weight
        The factor of the distance that is squared, and of its square in the spread.
    unsure
        The relative error of the weights.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # what a bound that overflows belongs to is refused
        apart = np.abs(two.mean - one.mean)
        gap = stretch * apart
        moved = growth * one.bounds.mean + share * (two.bounds.mean + apart * (3 * EPSILON + unsure))
        kept = np.where(one.weights > 0, one.bounds.mean, two.bounds.mean)
        doubt = stretch * (one.bounds.mean + two.bounds.mean) + EPSILON * gap
        rounded = EPSILON * (one.squares + two.squares) + (5 * EPSILON + 4 * unsure) * (weight * gap * gap)
        return Bounds(
            np.where(both, moved + 0.5 * EPSILON * np.abs(mean) * (apart > 0), kept),
            one.bounds.terms + two.bounds.terms + np.where(both | one.shared, rounded, 0.0),
            one.bounds.across + two.bounds.across + weight * (gap + doubt) ** 2,
            one.bounds.shift + two.bounds.shift + weight * doubt * doubt,
        )

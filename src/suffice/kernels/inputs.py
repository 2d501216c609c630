"""Inputs of kernels: readings, parameters of scores, and the checks that all sets of kernels share."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from suffice.kernels import errors

if TYPE_CHECKING:
    from suffice.kernels.protocol import FloatArray

#: Devices read a number that is smaller, and no longer has all its digits, as 0.
_LEAST = float(np.finfo(np.float64).tiny)
#: The exponent, to base 10, of the least sum of squares that keeps its digits.
_LEAST_EXPONENT = -305
#: Sums of squares above this have all digits.
_FAR_FROM_TINY = 1e-200
#: A spread that is a smaller share of the mean may be its rounding.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)

What = Literal["joint", "log_posterior", "posterior", "evidence", "best"]


@dataclass(frozen=True, eq=False)
class Reading:
    """What to make of the joint log-probabilities log p(x, y) of a row.

    A score of -inf says that the class cannot have produced the row.

    Parameters
    ----------
    what
        ``"joint"`` leaves them as they are, (n, k). ``"posterior"`` and ``"log_posterior"`` tell how likely each class
        is, (n, k). ``"evidence"`` is log p(x), (n,). ``"best"`` is the first of the likeliest classes, (n,) int64.
    temperature
        The posterior is proportional to p(x, y) ** (1 / temperature). Nothing else depends on it.
    prior
        The posterior of a row that no class can have produced, (k,); uniform where it is None.

    Examples
    --------
    >>> from suffice.kernels.array_kernels import ArrayKernels
    >>> scores = np.log([[0.1, 0.3], [0.2, 0.2]])
    >>> ArrayKernels().read_scores(scores, Reading("posterior")).round(6)
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    >>> ArrayKernels().read_scores(scores, Reading("best"))
    array([1, 0])
    """

    what: What = "joint"
    temperature: float = 1.0
    prior: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.what not in get_args(What):
            raise ValueError(f"what must be one of {', '.join(get_args(What))}; got {self.what!r}")
        if not _LEAST <= self.temperature < math.inf:
            raise ValueError(f"temperature must be finite and greater than 0; got {self.temperature:g}")
        if self.prior is None:
            return
        prior = np.ascontiguousarray(self.prior, dtype=np.float64)
        if prior.ndim != 1:
            raise ValueError(f"prior must have shape (k,); got {prior.shape}")
        bad = np.flatnonzero(~((prior >= 0) & (prior < math.inf)))
        if bad.size:
            raise ValueError(f"prior[{bad[0]}] is {prior[bad[0]]:g}; probabilities must be finite and not negative")
        if not math.isclose(prior.sum(), 1, rel_tol=1e-6):
            raise ValueError(f"prior must sum to 1; yours sums to {prior.sum():g}")
        object.__setattr__(self, "prior", prior)

    def prior_over(self, classes: int) -> FloatArray:
        """Return the posterior of a row that no class can have produced, (k,).

        >>> Reading().prior_over(2)
        array([0.5, 0.5])
        """
        if self.prior is None:
            return np.full(classes, 1 / classes)
        if self.prior.shape != (classes,):
            raise ValueError(f"prior must have shape ({classes},); got {self.prior.shape}")
        return self.prior


#: The joint log-probabilities as they are.
JOINT = Reading()


class LinearParameters(NamedTuple):
    """One sum of features, or of presences, per class."""

    coef: FloatArray  # (k, d)
    intercept: FloatArray  # (k,), -inf where a class is impossible
    missing: FloatArray | None  # (k, d), what a NaN adds; None where NaN is an error
    threshold: float | None  # x counts as 1 above it and 0 below; None where x counts as it is


class DiagonalParameters(NamedTuple):
    """One Gaussian per class and feature."""

    mean: FloatArray  # (k, d)
    variance: FloatArray  # (k, d)
    intercept: FloatArray  # (k,)


class QuadraticParameters(NamedTuple):
    """One Gaussian per class."""

    mean: FloatArray  # (k, d)
    whitener: FloatArray  # (k, d, d), lower triangular: what is above the diagonal is not read
    intercept: FloatArray  # (k,)


class CategoryParameters(NamedTuple):
    """One table of log-probabilities per feature."""

    tables: FloatArray  # (sum of sizes, k), features one under another
    sizes: list[int]  # of each feature
    intercept: FloatArray  # (k,)


def linear_parameters(
    features: int,
    coef: npt.ArrayLike,
    intercept: npt.ArrayLike,
    threshold: float | None,
    missing: npt.ArrayLike | None,
) -> LinearParameters:
    """Return the parameters of linear scores."""
    slopes, level = _floats(coef), _floats(intercept)
    check_coef(slopes, level, features)
    _check_finite("coef", slopes)
    _check_log_probabilities("intercept", level)
    if threshold is not None:
        check_threshold(threshold)
    if missing is None:
        return LinearParameters(slopes, level, None, threshold)
    gaps = _floats(missing)
    _check_shape("missing", gaps, slopes.shape)
    _check_finite("missing", gaps)
    return LinearParameters(slopes, level, gaps, threshold)


def diagonal_parameters(
    features: int, mean: npt.ArrayLike, variance: npt.ArrayLike, intercept: npt.ArrayLike
) -> DiagonalParameters:
    """Return the parameters of Gaussian scores with one variance per feature."""
    parameters = DiagonalParameters(_floats(mean), _floats(variance), _floats(intercept))
    classes = _check_log_probabilities("intercept", parameters.intercept)
    _check_shape("mean", parameters.mean, (classes, features))
    _check_shape("variance", parameters.variance, (classes, features))
    _check_finite("mean", parameters.mean)
    _check_finite("variance", parameters.variance)
    _check_entries("variance", parameters.variance, parameters.variance > 0, "variances must be above 0")
    return parameters


def quadratic_parameters(
    features: int, mean: npt.ArrayLike, whitener: npt.ArrayLike, intercept: npt.ArrayLike
) -> QuadraticParameters:
    """Return the parameters of Gaussian scores with a covariance per class."""
    parameters = QuadraticParameters(_floats(mean), _floats(whitener), _floats(intercept))
    classes = _check_log_probabilities("intercept", parameters.intercept)
    _check_shape("mean", parameters.mean, (classes, features))
    _check_shape("whitener", parameters.whitener, (classes, features, features))
    _check_finite("mean", parameters.mean)
    _check_finite("whitener", parameters.whitener)
    return parameters


def category_parameters(
    features: int, tables: npt.ArrayLike, sizes: Sequence[int], intercept: npt.ArrayLike
) -> CategoryParameters:
    """Return the parameters of the scores of categories."""
    check_sizes(sizes, features)
    parameters = CategoryParameters(_floats(tables), [int(size) for size in sizes], _floats(intercept))
    classes = _check_log_probabilities("intercept", parameters.intercept)
    _check_shape("tables", parameters.tables, (sum(parameters.sizes), classes))
    _check_log_probabilities("tables", parameters.tables)
    return parameters


def _floats(values: npt.ArrayLike) -> FloatArray:
    return np.ascontiguousarray(values, dtype=np.float64)


def _check_shape(name: str, array: FloatArray, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise errors.wrong_shape(name, str(shape), array.shape)


def _check_finite(name: str, array: FloatArray) -> None:
    _check_entries(name, array, np.isfinite(array), "it must be finite")


def _check_log_probabilities(name: str, array: FloatArray) -> int:
    """Raise where an entry is NaN or inf (-inf says impossible), or there is none; return the length."""
    if array.ndim == 1 and array.size == 0:
        raise ValueError(f"{name} must name at least one class; it is empty")
    _check_entries(name, array, array < np.inf, "it must be finite, or -inf for what is impossible")
    return len(array)


def _check_entries(name: str, array: npt.NDArray[Any], valid: npt.NDArray[np.bool_], rule: str) -> None:
    """Raise about the first entry that is not valid.

    >>> _check_entries("coef", np.array([1.0, np.inf]), np.array([True, False]), "it must be finite")
    Traceback (most recent call last):
    ValueError: coef[1] is inf; it must be finite
    """
    if not valid.all():
        place = tuple(int(index) for index in np.argwhere(~valid)[0])
        raise ValueError(f"{errors.entry_name(name, place)} is {array[place]:g}; {rule}")


def check_classes(classes: int, y: Any) -> None:
    """Raise where the number of classes makes no sense, or nothing says which class a row belongs to."""
    if classes < 1:
        raise ValueError(f"classes must be at least 1; got {classes}")
    if y is None and classes > 1:
        raise ValueError(f"y is needed: it says which of the {classes} classes each row belongs to")
    if y is not None and len(y.shape) != 1:
        raise errors.wrong_shape("y", f"({y.shape[0]},)", y.shape)


def count_targets(y: Any) -> int:
    """Return the number of targets of a row; raise without y."""
    if y is None:
        raise errors.missing_targets()
    return 1 if len(y.shape) == 1 else int(y.shape[1])


def check_sizes(sizes: Sequence[int], features: int, least: int = 1) -> None:
    """Raise where the numbers of categories do not fit the features."""
    if len(sizes) != features:
        raise ValueError(f"sizes must name {features} features; got {len(sizes)}")
    for feature, size in enumerate(sizes):
        if size < least:
            raise ValueError(f"sizes must be at least {least}; feature {feature} has {size}")


def check_threshold(threshold: float) -> None:
    """Raise if the threshold is NaN."""
    if math.isnan(threshold):
        raise ValueError(f"threshold must be a number; got {threshold:g}")


def check_theta(theta: npt.NDArray[Any], parameters: int) -> None:
    """Raise where theta has not one row per parameter and one column per predictor."""
    if theta.ndim != 2 or theta.shape[0] != parameters or theta.shape[1] == 0:
        raise errors.wrong_shape("theta", f"({parameters}, t)", theta.shape)


def check_queries(queries: Any, rows: Any, one_target: bool = False) -> None:
    """Raise where a batch of queries does not fit the rows that are to answer them."""
    if queries.features != rows.features:
        raise ValueError(f"queries have {queries.features} features and rows have {rows.features}")
    targets = count_targets(rows.y)
    if one_target and targets != 1:
        raise errors.wrong_shape("y", f"({rows.y.shape[0]},)", rows.y.shape)
    if queries.y is not None and len(queries.y.shape) != 1:
        raise errors.wrong_shape("y", f"({queries.y.shape[0]},)", queries.y.shape)


def check_left_out(places: npt.NDArray[np.int64], queries: Any, rows: Any) -> None:
    """Raise where a query is to do without a row that there is not."""
    bad = np.flatnonzero((places != -1) & ((places < rows.start) | (places >= rows.stop)))
    if bad.size:
        at, allowed = queries.start + bad[0], f"{rows.start} to {rows.stop - 1}, or -1"
        raise ValueError(f"y[{at}] is {places[bad[0]]}; the row to do without must be {allowed}")


def check_local_theta(theta: npt.NDArray[Any], queries: int, parameters: int) -> None:
    """Raise where theta has not one row per query and one column per column of the local design."""
    if theta.shape != (queries, parameters):
        raise errors.wrong_shape("theta", f"({queries}, {parameters})", theta.shape)


def check_coef(coef: npt.NDArray[Any], intercept: npt.NDArray[Any], features: int) -> None:
    """Raise where coef and intercept fit neither the features nor each other."""
    if coef.ndim != 2 or coef.shape[1] != features:
        raise errors.wrong_shape("coef", f"(k, {features})", coef.shape)
    if intercept.shape != (coef.shape[0],):
        raise errors.wrong_shape("intercept", f"({coef.shape[0]},)", intercept.shape)


def check_mean(mean: npt.NDArray[np.float64], classes: int, features: int) -> None:
    """Raise if there is not one finite mean for every class."""
    if mean.shape != (classes, features):
        raise errors.wrong_shape("mean", f"({classes}, {features})", mean.shape)
    for place in np.argwhere(~np.isfinite(mean)):
        raise errors.NonFiniteError("mean", tuple(place), mean[tuple(place)])


def check_scores(scores: Any) -> None:
    """Raise if scores are not (n, k) with at least one class."""
    shape = getattr(scores, "shape", None)
    if shape is None or len(shape) != 2 or shape[1] == 0:
        raise ValueError(f"scores must have shape (n, k), with at least one class; got {shape and tuple(shape)}")


def check_offset(offset: Any, predictors: int) -> None:
    """Raise where a two-dimensional offset has not one column per predictor."""
    if offset is not None and len(offset.shape) == 2 and offset.shape[1] != predictors:
        raise errors.wrong_shape("offset", f"({offset.shape[0]}, {predictors})", offset.shape)


def check_overflow(weights: npt.ArrayLike, *sums: npt.NDArray[np.float64], features: int | None = None) -> None:
    """Raise where finite rows gave sums that are not finite.

    Parameters
    ----------
    weights
        The finished weights.
    sums
        Finished sums whose last axis runs over the features, then (past ``features``) over the targets; of a scatter
        the diagonal, since one feature that overflows spoils its products with all others.
    features
        How many features there are; all columns are features where it is None.

    Examples
    --------
    >>> check_overflow(np.array([2.0]), np.array([[1.0, np.inf]]))
    Traceback (most recent call last):
    OverflowError: the sums of x overflow float64; rescale feature 1
    """
    if not np.all(np.isfinite(weights)):
        raise OverflowError("the sums of weight overflow float64; rescale the weights")
    overflowed = [column for each in sums for column in np.argwhere(~np.isfinite(each))[:, -1].tolist()]
    if not overflowed:
        return
    known = np.asarray(weights, dtype=np.float64)
    if ((known > 0) & (known < _LEAST)).any():  # the inverse of such a weight is inf
        raise errors.weights_underflow(float(known[known > 0].min()))
    column = min(overflowed)
    if features is None or column < features:
        raise errors.feature_overflow(column)
    raise OverflowError(f"the sums of y overflow float64; rescale target {column - features}")


def underflows(weight: npt.ArrayLike, size: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return where sums of squares of values of a size, of rows of a weight, keep too few digits, or none.

    Examples
    --------
    >>> underflows([1.0, 1.0, 1e-300], [1e-150, 1e-160, 1e-120])
    array([False,  True,  True])
    """
    with np.errstate(divide="ignore"):
        exponent = np.log10(np.minimum(weight, 1.0)) + 2 * np.log10(size)  # of logarithms, none underflows
    return np.asarray(exponent < _LEAST_EXPONENT)


def check_underflow(weight: npt.ArrayLike, mean: FloatArray, variance: FloatArray, features: int | None = None) -> None:
    """Raise where a column may vary, but the sum of its squares underflows; and where a variance overflows.

    Parameters
    ----------
    weight
        The weight of the rows, or of those of each column, (d,).
    mean, variance
        Those of each column, (d,).
    features
        How many columns are features, before the targets; all columns where it is None.

    Examples
    --------
    >>> check_underflow(3.0, np.array([1.0, 2e-160]), np.array([1.0, 0.0]))
    Traceback (most recent call last):
    suffice.kernels.errors.UnderflowError: the sums of squares of feature 1 underflow float64: ...
    """
    if variance.size and (np.asarray(weight) * variance).min() > _FAR_FROM_TINY and variance.max() < np.inf:
        return  # most columns, at once
    if (overflowed := ~np.isfinite(variance)).any():
        check_overflow(1.0, np.where(overflowed, np.inf, 0.0), features=features)
    size, spread, weight = np.abs(mean), np.sqrt(variance), np.broadcast_to(weight, mean.shape)
    is_small = ((size > 0) & underflows(weight, size)) | (spread > _ROUNDING * size)
    lost = (weight > 0) & is_small & underflows(weight, spread)
    if lost.any():
        column = int(np.argmax(lost))
        is_target = features is not None and column >= features
        name = ("target", column - (features or 0)) if is_target else ("feature", column)
        raise errors.UnderflowError(*name, max(size[column], spread[column]), weight[column])


@cache
def host_memory() -> int:
    """Return the bytes of memory of this machine; if unknown, the address space."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 47


def check_host_memory(shape: tuple[int, ...], what: str, *lengths: int) -> None:
    """Raise where an array of float64 with these lengths, made of rows X of this shape, cannot fit in memory.

    Examples
    --------
    >>> check_host_memory((3, 1 << 60), "one number for each column", 1 << 60)
    Traceback (most recent call last):
    ValueError: X has shape (3, 1152921504606846976): one number for each column would need 8,589,934,592 GiB, ...
    """
    needed = 8 * math.prod(map(int, lengths))
    if needed > host_memory():
        raise ValueError(
            f"X has shape {tuple(map(int, shape))}: {what} would need {needed / 2**30:,.0f} GiB, and this machine has "
            f"{host_memory() / 2**30:,.1f} GiB; drop columns that are 0 in every row, or hash features into fewer"
        )

"""The parameters of scores, checked once for every set of kernels: float64, of one shape with the rows, in range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.kernels import errors

if TYPE_CHECKING:
    from suffice.kernels.protocol import FloatArray


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


def linear(
    features: int,
    coef: npt.ArrayLike,
    intercept: npt.ArrayLike,
    threshold: float | None,
    missing: npt.ArrayLike | None,
) -> LinearParameters:
    """Return the parameters of linear scores."""
    slopes, level = _floats(coef), _floats(intercept)
    errors.check_coef(slopes, level, features)
    _check_finite("coef", slopes)
    _check_log_probabilities("intercept", level)
    if threshold is not None:
        errors.check_threshold(threshold)
    if missing is None:
        return LinearParameters(slopes, level, None, threshold)
    gaps = _floats(missing)
    _check_shape("missing", gaps, slopes.shape)
    _check_finite("missing", gaps)
    return LinearParameters(slopes, level, gaps, threshold)


def diagonal(
    features: int, mean: npt.ArrayLike, variance: npt.ArrayLike, intercept: npt.ArrayLike
) -> DiagonalParameters:
    """Return the parameters of Gaussian scores with one variance per feature."""
    parameters = DiagonalParameters(_floats(mean), _floats(variance), _floats(intercept))
    classes = _check_log_probabilities("intercept", parameters.intercept)
    _check_shape("mean", parameters.mean, (classes, features))
    _check_shape("variance", parameters.variance, (classes, features))
    _check_finite("mean", parameters.mean)
    _check_finite("variance", parameters.variance)
    errors.check_entries("variance", parameters.variance, parameters.variance > 0, "variances must be above 0")
    return parameters


def quadratic(
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


def categories(
    features: int, tables: npt.ArrayLike, sizes: Sequence[int], intercept: npt.ArrayLike
) -> CategoryParameters:
    """Return the parameters of the scores of categories."""
    errors.check_sizes(sizes, features)
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
    errors.check_entries(name, array, np.isfinite(array), "it must be finite")


def _check_log_probabilities(name: str, array: FloatArray) -> int:
    """Raise where an entry is NaN or inf (-inf says impossible), or there is none; return the length."""
    if array.ndim == 1 and array.size == 0:
        raise ValueError(f"{name} must name at least one class; it is empty")
    errors.check_entries(name, array, array < np.inf, "it must be finite, or -inf for what is impossible")
    return len(array)

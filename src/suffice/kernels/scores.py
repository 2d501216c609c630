"""Scores of rows and classes: the parameters they are computed from, and what is read from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from suffice.kernels import errors

if TYPE_CHECKING:
    from suffice.kernels.protocol import FloatArray

#: Devices read a number that is smaller, and no longer has all its digits, as 0.
_LEAST = float(np.finfo(np.float64).tiny)

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

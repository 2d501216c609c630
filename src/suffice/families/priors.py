"""Priors for estimates from counts and moments: Laplace smoothing, shrinkage of covariances, ridge penalty."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.families.base import require
from suffice.statistics.base import FloatArray
from suffice.statistics.labels import Labels


def check_alpha(alpha: npt.ArrayLike, features: int) -> FloatArray:
    """Return a smoothing strength as one number per feature; raise if it is negative, NaN or infinite.

    Examples
    --------
    >>> check_alpha(0.5, 3)
    array([0.5, 0.5, 0.5])
    """
    strength = np.asarray(alpha, dtype=np.float64)
    require("alpha", strength, (strength >= 0) & (strength < np.inf), "it must be a finite number, 0 or more")
    if strength.shape not in ((), (features,)):
        raise ValueError(f"alpha must be one number or one per feature, ({features},); its shape is {strength.shape}")
    return np.broadcast_to(strength, (features,))


def require_evidence(
    labels: Labels, evidence: FloatArray, what: str, noun: str = "rows", cure: str = "give alpha > 0"
) -> None:
    """Raise ValueError for the first class with no evidence, data or prior, (k,), for an estimate.

    Examples
    --------
    >>> import numpy as np
    >>> require_evidence(Labels(("ham", "spam")), np.array([3.0, 0.0]), "mean is")
    Traceback (most recent call last):
    ...
    ValueError: class 'spam' has no rows: its mean is undefined; give alpha > 0
    """
    if evidence.size == 0:
        raise ValueError(f"there are no classes and no {noun}: fit rows first")
    if (evidence <= 0).any():
        label = labels.names[int(np.argmax(evidence <= 0))]
        raise ValueError(f"class {label!r} has no {noun}: its {what} undefined; {cure}")


def require_known(labels: Labels, evidence: FloatArray, what: str) -> None:
    """Raise ValueError for the first class and feature, (k, d), with neither a known cell nor a prior.

    Examples
    --------
    >>> import numpy as np
    >>> require_known(Labels(("ham", "spam")), np.array([[1.0], [0.0]]), "mean is")
    Traceback (most recent call last):
    ...
    ValueError: feature 0 is missing in every row of class 'spam': its mean is undefined; give alpha > 0, or drop the \
feature
    """
    if (evidence <= 0).any():
        row, feature = np.unravel_index(int(np.argmax(evidence <= 0)), evidence.shape)
        where = f"feature {feature} is missing in every row of class {labels.names[int(row)]!r}"
        raise ValueError(f"{where}: its {what} undefined; give alpha > 0, or drop the feature")


def require_spread(labels: Labels, fine: npt.NDArray[np.bool_], what: str) -> None:
    """Raise ValueError for the first class and feature, (k, d), whose values do not vary.

    Examples
    --------
    >>> import numpy as np
    >>> require_spread(Labels(("ham", "spam")), np.array([[True], [False]]), "shape is")
    Traceback (most recent call last):
    ...
    ValueError: feature 0 does not vary in class 'spam': its shape is undefined; give alpha > 0, or drop the feature
    """
    if not fine.all():
        row, feature = np.unravel_index(int(np.argmin(fine)), fine.shape)
        label = labels.names[int(row)]
        cure = "give alpha > 0, or drop the feature"
        raise ValueError(f"feature {feature} does not vary in class {label!r}: its {what} undefined; {cure}")


def smoothing_strength(alpha: Any, features: int) -> float | FloatArray:
    """Return a smoothing strength, one number or one per feature, (d,); raise if it is negative, NaN or infinite."""
    return alpha if type(alpha) is float and 0 <= alpha < np.inf else check_alpha(alpha, features)


def laplace(counts: npt.ArrayLike, alpha: npt.ArrayLike) -> FloatArray:
    """Return the shares of the last axis after adding ``alpha`` to each count: (c + alpha) / sum(c + alpha).

    Examples
    --------
    >>> laplace([[3.0, 0.0], [0.0, 0.0]], alpha=1)
    array([[0.8, 0.2],
           [0.5, 0.5]])
    """
    smoothed = np.asarray(counts, dtype=np.float64) + np.asarray(alpha, dtype=np.float64)
    total = smoothed.sum(axis=-1, keepdims=True)
    require("the total", total[..., 0], total[..., 0] > 0, "shares of nothing are undefined; give alpha > 0")
    return np.asarray(smoothed / total)


def pseudo_mean(mean: FloatArray, weight: FloatArray, base: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the mean of ``weight`` rows and ``alpha`` pseudo-observations whose mean is ``base``.

    Examples
    --------
    >>> import numpy as np
    >>> pseudo_mean(np.array([4.0]), np.array([3.0]), np.array([0.0]), np.array([1.0]))
    array([3.])
    """
    share = alpha / (weight + alpha)
    return np.where(weight > 0, mean + share * (base - mean), base)  # without rows the mean is undefined


def shrink_covariance(covariance: npt.ArrayLike, shrinkage: npt.ArrayLike) -> FloatArray:
    """Return (1 - s) S + s m I, where m is the mean variance, for S in the last two axes.

    Examples
    --------
    >>> shrink_covariance([[4.0, 2.0], [2.0, 2.0]], 0.5)
    array([[3.5, 1. ],
           [1. , 2.5]])
    """
    matrix = np.asarray(covariance, dtype=np.float64)
    share = np.asarray(shrinkage, dtype=np.float64)
    require("shrinkage", share, (share >= 0) & (share <= 1), "it must be between 0 and 1, or 'oas'")
    share = share[..., None, None]
    level = np.trace(matrix, axis1=-2, axis2=-1)[..., None, None] / matrix.shape[-1]
    return np.asarray((1 - share) * matrix + share * level * np.eye(matrix.shape[-1]))


def oas_shrinkage(covariance: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
    """Return the oracle approximating shrinkage of covariances of n Gaussian rows (Chen et al., 2010).

    Examples
    --------
    >>> round(float(oas_shrinkage([[4.0, 1.0], [1.0, 2.0]], 28)), 9)
    0.5
    """
    matrix = np.asarray(covariance, dtype=np.float64)
    level = np.trace(matrix, axis1=-2, axis2=-1) / matrix.shape[-1]
    # Divided by the mean variance first: squares of small or large values would underflow or overflow.
    relative = matrix / np.where(level > 0, level, 1.0)[..., None, None]
    power = (relative**2).mean(axis=(-2, -1))
    rest = (np.asarray(n, dtype=np.float64) + 1) * (power - 1 / matrix.shape[-1])
    return np.asarray(np.where(rest > 0, np.minimum((power + 1) / np.where(rest > 0, rest, 1.0), 1.0), 1.0))


def ledoit_wolf_shrinkage(covariance: npt.ArrayLike, n: npt.ArrayLike, quartic: npt.ArrayLike) -> FloatArray:
    """Return the Ledoit-Wolf shrinkage (2004) of maximum likelihood covariances of n rows of any distribution.

    Parameters
    ----------
    covariance
        S, (..., d, d).
    n
        The weight of the rows of each covariance, (...).
    quartic
        The sum of the fourth powers of the rows' distances from their mean, (...).

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [0.0, -1.0], [2.0, 0.0], [-3.0, -1.0]])
    >>> round(float(ledoit_wolf_shrinkage(x.T @ x / 4, 4, ((x**2).sum(axis=1) ** 2).sum())), 9)
    0.87195122
    """
    matrix, count = np.asarray(covariance, dtype=np.float64), np.asarray(n, dtype=np.float64)
    features = matrix.shape[-1]
    level = np.trace(matrix, axis1=-2, axis2=-1) / features
    # Divided by the mean variance first, twice and not once by its square: powers of small or large values would
    # underflow or overflow.
    unit, rows = np.where(level > 0, level, 1.0), np.where(count > 0, count, 1.0)
    relative = matrix / unit[..., None, None]
    fourth = np.asarray(quartic, dtype=np.float64) / unit / unit / rows
    # The mean distance of the rows' products from S, over the distance of S from the sphere.
    noise = np.maximum(fourth - (relative**2).sum(axis=(-2, -1)), 0.0) / rows
    apart = ((relative - np.eye(features)) ** 2).sum(axis=(-2, -1))
    return np.asarray(np.where(noise > 0, np.minimum(noise, apart) / np.where(apart > 0, apart, 1.0), 0.0))


class Penalty(NamedTuple):
    """A penalty that is subtracted from a log-likelihood: value, gradient, and the diagonal of the Hessian."""

    value: float
    gradient: FloatArray  # the shape of theta
    curvature: FloatArray  # the shape of theta


def ridge(theta: npt.ArrayLike, strength: npt.ArrayLike) -> Penalty:
    """Return the ridge penalty, the sum of strength theta^2 / 2: minus the log of a Gaussian prior of that precision.

    ``strength`` broadcasts against theta; 0 leaves an intercept without a penalty.

    Examples
    --------
    >>> ridge([3.0, 1.0], [0.0, 2.0])
    Penalty(value=1.0, gradient=array([0., 2.]), curvature=array([0., 2.]))
    """
    coefficients, force = np.asarray(theta, dtype=np.float64), np.asarray(strength, dtype=np.float64)
    require("strength", force, (force >= 0) & (force < np.inf), "it must be a finite number, 0 or more")
    curvature = np.broadcast_to(force, coefficients.shape).copy()
    gradient = curvature * coefficients
    return Penalty(float((gradient * coefficients).sum() / 2), gradient, curvature)

"""What is said about a fit as a whole: likelihoods, deviances, dispersion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from suffice.discriminative.objective import Likelihood
from suffice.engines import Batch
from suffice.families import Multinomial, Response
from suffice.solvers import Newton
from suffice.statistics.base import FloatArray

#: Families with a dispersion of their own, which is estimated: the others' is 1.
DISPERSED = ("gaussian", "gamma")


@dataclass(frozen=True)
class Facts:
    """What a fit says about itself, besides its coefficients."""

    rows: float  #: the weight of the rows
    log_likelihood: float
    null_log_likelihood: float
    deviance: float
    null_deviance: float
    dispersion: float
    rank: int  #: how many parameters the rows determine

    def plain(self) -> dict[str, Any]:
        """Return the facts as plain values."""
        return asdict(self)

    @property
    def df_residual(self) -> float:
        """The rows that are left to tell the noise by."""
        return max(self.rows - self.rank, 0.0)


def facts_of(likelihood: Likelihood, theta: FloatArray, value: float, rank: int, constant: float = 0.0) -> Facts:
    """Return the facts of a fit.

    Parameters
    ----------
    value
        The log-likelihood at theta, without the penalty and the terms that do not depend on theta.
    constant
        The log-likelihood's terms that the family does not know of, such as binomial coefficients.
    """
    rows, response, weight = likelihood.rows, likelihood.response, likelihood.weight
    y, weights = np.asarray(rows.y), rows.weight
    best = _saturated(response, y, weights)
    null = null_value(likelihood)
    deviance, null_deviance = (float(np.maximum(2 * (best - each), 0.0)) for each in (value, null))
    free = weight - rank
    name = response.family.name
    if name == "gaussian":
        # From the residuals themselves: at a mean of 1e8 the difference of likelihoods has no digits left.
        deviance = _total((y - likelihood.means(theta)) ** 2, weights)
        if rows.offset is None:
            null_deviance = _total((y - np.average(y, weights=weights)) ** 2, weights)
        dispersion = deviance / free if free > 0 else np.nan
        full = [gaussian_log_likelihood(weight, each) for each in (deviance, null_deviance)]
    elif name == "gamma":
        dispersion = _pearson(likelihood, theta) / free if free > 0 else np.nan
        sums = [_total(np.log(y), weights), weight]
        full = [_gamma(best - each / 2, dispersion, *sums) for each in (deviance, null_deviance)]
    else:
        dispersion = 1.0
        base = constant + _base(response, y, weights)
        full = [value + base, null + base]
    return Facts(weight, full[0], full[1], deviance, null_deviance, float(dispersion), rank)


def null_value(likelihood: Likelihood) -> float:
    """Return the log-likelihood of the best model without features, offsets and an intercept kept."""
    rows, response = likelihood.rows, likelihood.response
    y = np.asarray(rows.y)
    if rows.offset is None and response.family is Multinomial:
        counts = np.bincount(y, weights=rows.weight).astype(np.float64)
        return float((counts[counts > 0] * np.log(counts[counts > 0] / counts.sum())).sum())
    if rows.offset is None and y.ndim == 1 and response.predictors(1) == 1:
        mean = np.average(y, weights=rows.weight)
        start = response.start(mean)  # the value is linear in y: one row with the mean stands for all
        return likelihood.weight * float(response.curve(start[None, :], np.array([mean])).value[0])
    bare = Batch(np.empty((len(y), 0)), y, rows.weight, rows.offset)
    targets = int(y.max()) + 1 if response.family is Multinomial else (y.shape[1] if y.ndim == 2 else 1)
    start = np.zeros((1, response.predictors(targets)))
    only = Likelihood(likelihood.engine, bare, response, intercept=True)
    if response.family is not Multinomial:
        mean = np.average(y, axis=0, weights=rows.weight)
        start[0] = response.start(mean, np.average((y - mean) ** 2, axis=0, weights=rows.weight))
    return Newton().minimise(only, start).log_likelihood


def _total(values: FloatArray, weights: FloatArray | None) -> float:
    return float(values.sum() if weights is None else weights @ values)


def _summed(function: Callable[[Any], Any], y: FloatArray, weights: FloatArray | None) -> float:
    """Return the sum of a function of the targets; of counts, it is asked once for each that occurs."""
    if y.ndim == 1 and y.min(initial=0.0) >= 0 and y.max(initial=0.0) < len(y):
        counts = y.astype(np.int64)
        if np.array_equal(counts, y):
            often = np.bincount(counts, weights=weights)
            seen = np.flatnonzero(often)
            return float(often[seen] @ function(seen.astype(np.float64)))
    return _total(function(y), weights)


def _saturated(response: Response, y: Any, weights: FloatArray | None) -> float:
    """Return the log-likelihood of a model that predicts every row; that of classes, or of 0 and 1, is 0."""
    name = response.family.name
    if name in ("beta", "dirichlet"):
        return np.nan  # their densities have no bound
    if name == "multinomial" or (name == "bernoulli" and bool(((y == 0) | (y == 1)).all())):
        return 0.0
    return _summed(response.saturated, y, weights)


def _base(response: Response, y: Any, weights: FloatArray | None) -> float:
    """Return the sum of log b(y)."""
    return 0.0 if response.family.name in ("multinomial", "bernoulli") else _summed(response.log_base, y, weights)


def gaussian_log_likelihood(weight: float, deviance: float) -> float:
    """Return the log-likelihood of Gaussian targets at the variance that makes it largest, from the sum of squares.

    Examples
    --------
    >>> round(gaussian_log_likelihood(10.0, 10.0), 4)
    -14.1894
    """
    with np.errstate(divide="ignore"):
        return float(-0.5 * weight * (np.log(2 * np.pi * deviance / weight) + 1))


def _gamma(value: float, dispersion: float, log_y: float, weight: float) -> float:
    """Return the log-likelihood of gamma targets of shape 1 / dispersion, from its value at unit shape."""
    if not dispersion > 0:
        return np.nan
    shape = 1 / dispersion
    return float(shape * value + weight * (shape * np.log(shape) - gammaln(shape)) + (shape - 1) * log_y)


def _pearson(likelihood: Likelihood, theta: FloatArray) -> float:
    """Return the sum of squared residuals, each over the variance that the family gives its mean."""
    rows, response = likelihood.rows, likelihood.response
    mean = likelihood.means(theta)
    y = np.asarray(rows.y)
    return _total((y - mean) ** 2 / response.unit_variance(mean), rows.weight)

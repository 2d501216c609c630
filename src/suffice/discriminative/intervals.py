"""Standard errors of linear predictors, and intervals of means and of new observations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from suffice.discriminative.cumulative import has_distribution, predictive_quantiles
from suffice.families import Response
from suffice.families.links import Inverse, Link, NegativeInverse, Power, array_namespace
from suffice.kernels.array_blocks import to_host
from suffice.statistics.base import FloatArray

#: Rows in a block of quantiles.
_ROWS = 4096


def check_of(of: str) -> None:
    """Raise if an interval is not of a mean or an observation."""
    if of not in ("mean", "observation"):
        raise ValueError(f"of must be 'mean' or 'observation'; got {of!r}")


def critical_value(level: float, df: float) -> float:
    """Return the half-width of an interval in standard errors.

    Examples
    --------
    >>> round(critical_value(0.95, np.inf), 3), round(critical_value(0.95, 10.0), 3)
    (1.96, 2.228)
    """
    return float(stats.t.isf((1 - level) / 2, df) if np.isfinite(df) else stats.norm.isf((1 - level) / 2))


def mean_interval(response: Response, predictor: Any, reach: Any) -> tuple[Any, Any]:
    """Return the ends of intervals of means: those of the predictors, (n, 1), mapped through the inverse link.

    Examples
    --------
    >>> low, high = mean_interval(Response.of("poisson"), np.zeros((1, 1)), np.array([np.log(2.0)]))
    >>> low.round(6), high.round(6)
    (array([0.5]), array([2.]))
    """
    xp = array_namespace(predictor)
    least, most = _domain(response.link)
    ends = [xp.clip(predictor[:, :1] + sign * reach[:, None], min=least, max=most) for sign in (-1.0, 1.0)]
    rest = predictor[:, 1:]
    with np.errstate(divide="ignore"):
        one, two = (response.mean(xp.concat([end, rest], axis=1)) for end in ends)
    low, high = support_of(response)
    return xp.clip(xp.minimum(one, two), min=low), xp.clip(xp.maximum(one, two), max=high)


def support_of(response: Response) -> tuple[float, float]:
    """Return the ends of the range of the mean.

    Examples
    --------
    >>> support_of(Response.of("gamma")), support_of(Response.of("bernoulli"))
    ((0.0, inf), (0.0, 1.0))
    """
    if response.family.name in ("bernoulli", "multinomial", "beta", "dirichlet"):
        return 0.0, 1.0
    return (0.0 if response.likelihood.positive_targets else -np.inf), np.inf


def _domain(link: Link) -> tuple[float | None, float | None]:
    """Return the ends of the range of the predictor; None where it is unbounded."""
    if isinstance(link, Power | Inverse):
        return 0.0, None
    return None, 0.0 if isinstance(link, NegativeInverse) else None


def observation_interval(
    response: Response, predictor: FloatArray, error: FloatArray, dispersion: float, df: float, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of intervals of new observations, (n,), of one trial and weight 1.

    For a gaussian response with the identity link, Student's t interval about the mean. For others, quantiles of the
    family's distribution, averaged over that of the predictor.
    """
    if response.name == "gaussian/identity":
        reach = critical_value(level, df) * np.sqrt(error**2 + dispersion)
        return predictor - reach, predictor + reach
    ends: tuple[list[FloatArray], list[FloatArray]] = ([np.empty(0)], [np.empty(0)])
    for start in range(0, len(predictor), _ROWS):
        some = slice(start, start + _ROWS)
        for end, share in zip(ends, ((1 - level) / 2, (1 + level) / 2), strict=True):
            limits = predictor[some], error[some], dispersion, df, support_of(response)
            end.append(predictive_quantiles(response, share, *limits))
    return np.concatenate(ends[0]), np.concatenate(ends[1])


def check_observations(response: Response, dispersion: str | float) -> None:
    """Raise if new observations have no interval."""
    name = response.family.name
    if name in ("bernoulli", "multinomial"):
        raise ValueError("an observation is a class, which has no interval: give of='mean', for its probability")
    if response.likelihood.is_discrete and dispersion != "family":
        raise ValueError(
            f"a quasi-likelihood, {name} with dispersion={dispersion!r}, has no distribution of observations: give "
            "of='mean', or a family such as NegativeBinomial"
        )
    if not has_distribution(response):
        raise ValueError(f"the distribution function of {response.name} is unknown: give of='mean'")


def mean_errors(response: Response, predictor: Any, error: Any) -> Any:
    """Return the standard errors of means, (n, 1), by the delta method."""
    _, slope = response.link.mean_and_slope(predictor[:, 0])
    return abs(slope) * error


def on_host(column: Any) -> FloatArray:
    """Return an array of any library as float64 NumPy.

    Examples
    --------
    >>> on_host(np.array([1]))
    array([1.])
    """
    return np.asarray(to_host(column), dtype=np.float64)

"""Distribution functions of responses: for quantile residuals, and for intervals of new observations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from suffice.families import Response, Tweedie
from suffice.statistics.base import FloatArray

#: Largest count up to which the probabilities of a user's family are summed.
LARGEST_COUNT = 1 << 20
#: Numbers in a block of these sums.
_BLOCK = 1 << 20


class Tails(NamedTuple):
    """Log-probabilities of both tails, each with the value itself, and whether the value has a positive probability."""

    log_below: FloatArray  # log P(Y <= y)
    log_above: FloatArray  # log P(Y >= y)


def has_distribution(response: Response) -> bool:
    """Whether the distribution function of a response is known.

    Examples
    --------
    >>> has_distribution(Response.of("gamma")), has_distribution(Response.of("dirichlet"))
    (True, False)
    """
    name = response.family.name
    known = name in _DISTRIBUTIONS or name in ("bernoulli", "tweedie", "beta")
    own_counts = response.likelihood.is_discrete and not isinstance(response.family, type)
    return known or own_counts


def tails(response: Response, y: Any, mean: Any, dispersion: Any = 1.0, trials: Any = None) -> Tails:
    """Return log P(Y <= y) and log P(Y >= y) of a response with these means.

    Parameters
    ----------
    y, mean, dispersion
        Arrays that broadcast. The dispersion of a beta response is one over its precision.
    trials
        The number of trials of proportions (bernoulli).

    Examples
    --------
    >>> below, above = tails(Response.of("poisson"), 2.0, 3.0)
    >>> np.exp([below, above]).round(4)
    array([0.4232, 0.8009])
    """
    y, mean, dispersion = (np.asarray(each, dtype=np.float64) for each in (y, mean, dispersion))
    name = response.family.name
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if name == "bernoulli":
            count = np.ones_like(y) if trials is None else np.asarray(trials, dtype=np.float64)
            return _discrete(stats.binom(np.round(count), mean), np.round(count * y))
        if name == "tweedie":
            return _tweedie(response.family, y, mean, dispersion)
        if name in _DISTRIBUTIONS:
            found = _DISTRIBUTIONS[name](response.family, mean, dispersion)
            if response.likelihood.is_discrete:
                return _discrete(found, y)
            return Tails(found.logcdf(y), found.logsf(y))
        if name == "beta":
            beta = stats.beta(mean / dispersion, (1 - mean) / dispersion)
            return Tails(beta.logcdf(y), beta.logsf(y))
        if has_distribution(response):
            return _summed(response, y, mean)
    raise ValueError(f"the distribution function of {response.name} is unknown: it has no quantiles")


#: The scipy distribution of each family, given means and dispersions.
_DISTRIBUTIONS: dict[str, Any] = {
    "gaussian": lambda family, mean, phi: stats.norm(mean, np.sqrt(phi)),
    "gamma": lambda family, mean, phi: stats.gamma(1 / phi, scale=mean * phi),
    "exponential": lambda family, mean, phi: stats.expon(scale=mean),
    "inverse_gaussian": lambda family, mean, phi: stats.invgauss(mean * phi, scale=1 / phi),
    "poisson": lambda family, mean, phi: stats.poisson(mean),
    "negative_binomial": lambda family, mean, phi: stats.nbinom(family.theta, family.theta / (family.theta + mean)),
}


def _share_below(response: Response, y: FloatArray, mean: FloatArray, dispersion: float) -> FloatArray:
    """Return P(Y <= y), by a vectorised function if there is one."""
    name = response.family.name
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if name == "gamma":
            return np.asarray(special.gammainc(1 / dispersion, np.maximum(y, 0.0) / (mean * dispersion)))
        if name == "poisson":
            return np.asarray(special.pdtr(y, mean))
        if name == "gaussian":
            return np.asarray(special.ndtr((y - mean) / np.sqrt(dispersion)))
        if name == "exponential":
            return np.asarray(-np.expm1(-np.maximum(y, 0.0) / mean))
    return np.asarray(np.exp(tails(response, y, mean, dispersion).log_below))


def _discrete(law: Any, y: FloatArray) -> Tails:
    return Tails(law.logcdf(y), law.logsf(y - 1))


def _tweedie(family: Any, y: FloatArray, mean: FloatArray, phi: FloatArray) -> Tails:
    """Return the tails of a compound Poisson-gamma distribution, summed over the Poisson count."""
    assert isinstance(family, Tweedie)
    p = family.power
    shape = np.broadcast_shapes(y.shape, mean.shape, phi.shape)
    y, mean, phi = (np.broadcast_to(each, shape).ravel() for each in (y, mean, phi))
    rate, scale = mean ** (2 - p) / (phi * (2 - p)), phi * (p - 1) * mean ** (p - 1)
    below, above = np.empty(len(y)), np.empty(len(y))
    order = np.argsort(rate)
    width = int(rate.max(initial=0.0) + 10 * np.sqrt(rate.max(initial=0.0)) + 20)
    for block in np.array_split(order, max(1, len(y) * width // _BLOCK)):
        if not len(block):
            continue
        centre = rate[block]
        low = max(int(centre.min() - 10 * np.sqrt(centre.min())) - 20, 0)
        j = np.arange(low, int(centre.max() + 10 * np.sqrt(centre.max())) + 20, dtype=np.float64)
        chance = stats.poisson.pmf(j, centre[:, None])
        amounts = np.maximum(j, 1.0) * (2 - p) / (p - 1)
        at = (y[block] / scale[block])[:, None]
        # A count of 0 gives the value 0: P(0 <= y) = 1 for all y, P(0 >= y) = 1 for y = 0 only.
        below[block] = (chance * np.where(j == 0, 1.0, special.gammainc(amounts, at))).sum(axis=1)
        no_amount = np.where(at > 0, 0.0, 1.0)
        above[block] = (chance * np.where(j == 0, no_amount, special.gammaincc(amounts, at))).sum(axis=1)
    return Tails(np.log(below).reshape(shape), np.log(above).reshape(shape))


def _summed(response: Response, y: FloatArray, mean: FloatArray) -> Tails:
    """Return the tails of counts of a user's family, by the sum of its probabilities."""
    shape = np.broadcast_shapes(y.shape, mean.shape)
    y, mean = np.broadcast_to(y, shape).ravel(), np.broadcast_to(mean, shape).ravel()
    most = int(y.max(initial=0.0))
    if most > LARGEST_COUNT:
        raise ValueError(f"y = {most} is too large: the distribution function of {response.name} is a sum over counts")
    counts = np.arange(most + 1, dtype=np.float64)
    below, at = np.empty(len(y)), np.empty(len(y))
    for block in np.array_split(np.arange(len(y)), max(1, len(y) * (most + 1) // _BLOCK)):
        family: Any = response.family
        chance = np.exp(family.log_likelihood(counts[None, :], mean[block, None]))
        place = y[block].astype(np.intp)
        sums, rows = np.cumsum(chance, axis=1), np.arange(len(block))
        below[block], at[block] = sums[rows, place], chance[rows, place]
    above = np.maximum(1 - below, 0.0) + at
    return Tails(np.log(np.minimum(below, 1.0)).reshape(shape), np.log(np.minimum(above, 1.0)).reshape(shape))


def predictive_quantiles(
    response: Response,
    share: float,
    predictor: FloatArray,
    error: FloatArray,
    dispersion: float,
    df: float,
    support: tuple[float, float],
) -> FloatArray:
    """Return quantiles of new observations, (n,), whose predictors have a standard error.

    The distribution function is that of the response, averaged over Student's distribution of the predictor by
    Gauss-Hermite quadrature.

    Parameters
    ----------
    share
        The probability P(Y <= quantile).
    predictor, error
        The linear predictor of each row and its standard error, (n,).
    df
        The degrees of freedom of the error; infinity if it is normal.
    support
        The ends of the range of the means.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    nodes, weights = nodes[weights > 1e-18], weights[weights > 1e-18] / np.sqrt(2 * np.pi)
    if np.isfinite(df):  # Student's quantiles as a smooth function of a normal variable
        nodes = np.where(nodes < 0, 1.0, -1.0) * stats.t.ppf(stats.norm.cdf(-np.abs(nodes)), df)
    z = predictor[:, None] + error[:, None] * nodes
    mean = np.asarray(response.mean(z.reshape(-1, 1))).reshape(z.shape)
    mean = np.clip(mean, *support)
    centre = np.asarray(response.mean(predictor[:, None]))

    def shares(y: FloatArray) -> FloatArray:
        return np.asarray(_share_below(response, y[:, None], mean, dispersion) @ weights)

    discrete = response.likelihood.is_discrete
    spread = np.sqrt(dispersion * np.asarray(response.unit_variance(centre))) + np.abs(mean[:, [0, -1]]).max(axis=1) + 1
    low = np.zeros(len(z)) if support[0] == 0 else centre - spread
    high = centre + spread
    for _ in range(60):
        short = shares(high) < share
        if not short.any():
            break
        high = np.where(short, centre + 2 * (high - centre), high)
    for _ in range(60 if support[0] != 0 else 0):
        long = shares(low) > share
        if not long.any():
            break
        low = np.where(long, centre + 2 * (low - centre), low)
    if discrete:  # the smallest count whose cumulative probability is large enough
        low, high = np.full(len(z), -1.0), np.ceil(high)
        while (high - low > 1).any():
            middle = np.floor((low + high) / 2)
            enough = shares(middle) >= share
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.asarray(high)
    at_end = shares(low) >= share  # 0 may have a positive probability
    high = np.where(at_end, low, high)
    return _root(lambda y: shares(y) - share, low, high)


def _root(function: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the roots of increasing functions between low and high, by Ridders' method."""
    below, above = function(low), function(high)
    found = high
    for _ in range(60):
        middle = (low + high) / 2
        value = function(middle)
        root = np.sqrt(np.maximum(value**2 - below * above, np.finfo(np.float64).tiny))
        before, found = found, middle + (middle - low) * -value / root
        at = function(found)
        ends = [(middle, value), (found, at)]
        for place, height in ends:
            under = (height < 0) & (place > low)
            low, below = np.where(under, place, low), np.where(under, height, below)
            over = (height >= 0) & (place < high)
            high, above = np.where(over, place, high), np.where(over, height, above)
        if (np.abs(found - before) <= 1e-12 * np.abs(found)).all() or (low == high).all():
            break
    return found

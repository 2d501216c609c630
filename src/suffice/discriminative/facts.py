"""Facts about a fit: likelihoods, deviances, dispersion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.discriminative.encoding import has_fractions
from suffice.discriminative.objective import NegativeLogLikelihood, target_moments
from suffice.families import Bernoulli, Gamma, Gaussian, Multinomial, Response
from suffice.families.bernoulli import log_choose
from suffice.families.links import array_namespace
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.solvers import Newton
from suffice.statistics.base import FloatArray

#: Families whose targets, times the trials or the exposure, are counts.
COUNTS = ("bernoulli", "poisson")
#: A target is a whole number if it is within this share of one; a share times its trials within this distance.
WHOLE_TARGET, WHOLE_COUNT = 1e-7, 1e-3
#: Families whose log-likelihood is computed at dispersion = deviance / rows, as in R.
AT_DEVIANCE = ("gaussian", "gamma", "inverse_gaussian")


@dataclass(frozen=True)
class Facts:
    """Facts about a fit, besides its coefficients."""

    rows: float  #: number of observations: the sum of the sample weights, a row of several trials counted once
    log_likelihood: float
    null_log_likelihood: float
    deviance: float
    null_deviance: float
    dispersion: float
    rank: int  #: number of identified parameters
    fractional: int = 0  #: number of rows whose count of events, or of successes, is not a whole number

    def plain(self) -> dict[str, Any]:
        """Return the facts as plain values."""
        return asdict(self)

    @property
    def df_residual(self) -> float:
        """Residual degrees of freedom."""
        return max(self.rows - self.rank, 0.0)


def estimates_dispersion(response: Response, dispersion: str | float) -> bool:
    """Whether the dispersion is estimated, so that tests use Student's t.

    Examples
    --------
    >>> poisson = Response.of("poisson")
    >>> [estimates_dispersion(poisson, each) for each in ("family", "pearson", 2.0)]
    [False, True, False]
    """
    return dispersion == "pearson" or (dispersion == "family" and response.likelihood.has_dispersion)


def known_dispersion(dispersion: str | float) -> float | None:
    """Return a dispersion that is given as a number; None where it is estimated, or the family's.

    Examples
    --------
    >>> known_dispersion("family"), known_dispersion(2)
    (None, 2.0)
    """
    return None if isinstance(dispersion, str) else float(dispersion)


def check_dispersion(response: Response, dispersion: str | float) -> None:
    """Raise if a family has no dispersion of the requested kind."""
    if dispersion != "family" and not (response.likelihood.has_deviance and response.family is not Multinomial):
        raise ValueError(
            f"dispersion={dispersion!r} is for families with one predictor a row; that of {response.name} is 1: give "
            "dispersion='family'"
        )


def facts_of(
    likelihood: NegativeLogLikelihood,
    theta: FloatArray,
    value: float,
    rank: int,
    weights: str = "frequency",
    dispersion: str | float = "family",
) -> Facts:
    """Return the facts of a fit.

    Parameters
    ----------
    value
        The log-likelihood at theta, without the penalty and the terms that do not depend on theta.
    weights
        The meaning of row weights: ``"frequency"``, or another of
        :data:`~suffice.discriminative.base.WEIGHTS`.
    dispersion
        ``"family"``, ``"pearson"`` or a number.

    Notes
    -----
    The dispersion of standard errors is Pearson's statistic over the residual degrees of freedom. The log-likelihood of
    the families in :data:`AT_DEVIANCE` is computed at dispersion = deviance / rows, as in R (the maximum likelihood
    estimate for a gaussian and an inverse gaussian), that of other families with a dispersion at the dispersion of
    standard errors. Quasi-likelihoods (counts or classes with a dispersion) have none.
    """
    response, pinned = likelihood.response, likelihood.pinned(theta) if likelihood.symmetric else theta
    check_dispersion(response, dispersion)
    wanted = response.likelihood.has_dispersion or dispersion == "pearson"
    what = partial(_terms, response, pinned, likelihood.intercept, weights, wanted)
    terms = likelihood.data.sum(what)
    best = terms.saturated if response.likelihood.has_deviance else np.nan
    null = _null_value(likelihood, terms) if likelihood.intercept else _at_zero(likelihood, pinned, _value)
    deviance, null_deviance = np.maximum(2 * (best - np.array([value, null])), 0.0).tolist()
    if response.family is Gaussian:
        # From the residuals: the difference of likelihoods cancels, and at a mean of 1e8 no digit is left.
        deviance = terms.pearson
        if not likelihood.intercept:
            null_deviance = _at_zero(likelihood, pinned, Response.deviance)
        elif not terms.offset:
            null_deviance = float(terms.spread[0])
    free = terms.rows - rank
    estimated = terms.pearson / free if free > 0 else np.nan
    known = known_dispersion(dispersion)
    found = known if known is not None else float(estimated) if wanted else 1.0
    if response.family is Gaussian:
        full = [
            gaussian_log_likelihood(terms.rows, each, terms.log_weight, known) for each in (deviance, null_deviance)
        ]
    elif response.likelihood.has_dispersion:
        both = deviance, null_deviance
        at = [known or (each / likelihood.weight if response.family.name in AT_DEVIANCE else found) for each in both]
        bases = {each: _base_at(likelihood, each, terms.logs) if each > 0 else np.nan for each in set(at)}
        full = [
            (best - each / 2) / scale + bases[scale] if scale > 0 else np.nan
            for each, scale in zip(both, at, strict=True)
        ]
    elif dispersion == "family" or known == 1:
        full = [value + terms.base, null + terms.base]
    else:
        full = [np.nan, np.nan]
    return Facts(terms.rows, full[0], full[1], deviance, null_deviance, found, rank, terms.fractional)


def _at_zero(
    likelihood: NegativeLogLikelihood, theta: FloatArray, measure: Callable[[Response, Any, Any], Any]
) -> float:
    """Return the sum of a measure of rows whose predictors are their offsets; NaN if these are out of range."""
    what = partial(_measured_at_zero, measure, likelihood.response, theta.shape[1])
    total = float(sum(likelihood.data.map(what)))
    return total if np.isfinite(total) else np.nan


def _measured_at_zero(
    measure: Callable[[Response, Any, Any], Any], response: Response, predictors: int, part: Batch, _: Any
) -> float:
    y = to_host(part.y[part.start : part.stop])
    weights = None if part.weight is None else to_host(part.weight[part.start : part.stop])
    z = np.zeros((len(y), predictors))
    if part.offset is not None:
        z = z + to_host(part.offset[part.start : part.stop]).reshape(len(y), -1)
    return _total(measure(response, z, y), weights)


def _value(response: Response, z: FloatArray, y: Any) -> Any:
    return response.curve(z, y).value


def _null_value(likelihood: NegativeLogLikelihood, terms: _Terms) -> float:
    """Return the log-likelihood of the null model: an intercept, if there is one, and offsets."""
    response, counts = likelihood.response, terms.counts
    if not terms.offset and response.family is Multinomial:
        return float((counts[counts > 0] * np.log(counts[counts > 0] / counts.sum())).sum())
    mean = terms.mean
    if not terms.offset and likelihood.predictors == len(mean) == 1:
        # The value is linear in y: one row with the mean is enough.
        if mean[0] >= 0 or response.link.name == "identity":
            return likelihood.weight * float(response.saturated(mean)[0])
        start = response.start(mean[0])  # other links have no negative means
        return likelihood.weight * float(response.curve(start[None, :], mean).value[0])
    targets = len(counts) if response.family is Multinomial else len(mean)
    start = np.zeros((1, response.predictors(targets)))
    only = NegativeLogLikelihood(likelihood.data.transform(_without_features), response, intercept=True)
    if response.family is not Multinomial:
        each = mean if response.vector_targets else mean[0]
        start[0] = response.start(each, (terms.spread / terms.weight).reshape(np.shape(each)))
    return -Newton().minimise(only, start).value


def _without_features(batch: Batch, _: Any) -> Batch:
    """Return rows without features."""
    return Batch(np.empty((batch.x.shape[0], 0)), batch.y, batch.weight, batch.offset, batch.start, batch.stop)


@dataclass(frozen=True, eq=False)
class _Terms:
    """Sums over the rows of a fit."""

    weight: float  #: of the rows
    mean: FloatArray  #: (k,), of y
    spread: FloatArray  #: (k,), the sum of squares of y about its mean
    counts: FloatArray  #: total weight of each class, for a multinomial family
    offset: bool  #: whether rows have offsets
    rows: float  #: total weight, a row of several trials counted once
    saturated: float  #: log-likelihood of the saturated model
    base: float  #: terms of the log-likelihood that do not depend on theta
    logs: float  #: the sum of log y, for a gamma family
    log_weight: float  #: the sum of the logs of precision weights, for a gaussian family
    pearson: float  #: Pearson's statistic, the sum of (y - mean)² / V(mean), if a dispersion is estimated
    fractional: int = 0  #: number of rows whose count is not a whole number

    def __add__(self, other: _Terms) -> _Terms:
        """Return the terms of both."""
        weight = self.weight + other.weight
        away, share = other.mean - self.mean, other.weight / weight if weight > 0 else 0.0
        longest = max(len(self.counts), len(other.counts))
        mine, theirs = (np.pad(each.counts, (0, longest - len(each.counts))) for each in (self, other))
        return _Terms(
            weight=weight,
            mean=self.mean + share * away,
            spread=self.spread + other.spread + share * self.weight * away**2,
            counts=mine + theirs,
            offset=self.offset or other.offset,
            rows=self.rows + other.rows,
            saturated=self.saturated + other.saturated,
            base=self.base + other.base,
            logs=self.logs + other.logs,
            log_weight=self.log_weight + other.log_weight,
            pearson=self.pearson + other.pearson,
            fractional=self.fractional + other.fractional,
        )


def _terms(
    response: Response, theta: FloatArray, intercept: bool, weighing: str, dispersed: bool, part: Batch, kernels: Any
) -> _Terms:
    """Return the terms of a batch."""
    name = response.family.name
    y, weights = part.y[part.start : part.stop], None if part.weight is None else part.weight[part.start : part.stop]
    classes, there = name == "multinomial", not isinstance(part.y, np.ndarray)
    if there and name not in ("bernoulli", "multinomial"):
        y, there = to_host(y), False
    weight = float(y.shape[0] if weights is None else weights.sum())
    mean = variance = np.zeros(y.shape[1:])
    if weight > 0 and not classes:
        mean, variance = target_moments(y, weights)
    counts: npt.NDArray[Any] = np.empty(0)
    if classes:
        counts = kernels.class_weights(part, theta.shape[1] + 1) if there else np.bincount(y, weights=weights)
    trials = None if part.trials is None else to_host(part.trials[part.start : part.stop])
    often = weights if trials is None or weights is None else to_host(weights) / trials
    terms = _Terms(
        weight=weight,
        mean=np.atleast_1d(mean),
        spread=np.atleast_1d(variance * weight),
        counts=counts.astype(np.float64),
        offset=part.offset is not None,
        rows=float(y.shape[0] if often is None else often.sum()),
        saturated=_saturated(response, y, weights),
        base=_base(response, y, weights)
        if trials is None or classes or (weighing != "frequency" and name != "bernoulli")
        else _base_of_means(name, to_host(y), trials, often),
        logs=_total(np.log(y), weights) if response.family is Gamma else 0.0,
        log_weight=float(np.log(trials).sum()) if trials is not None and response.family is Gaussian else 0.0,
        pearson=0.0,
        fractional=_count_fractions(y, trials) if name in COUNTS else 0,
    )
    if not dispersed:
        return terms
    coef, level = (theta[1:], theta[0]) if intercept else (theta, np.zeros(theta.shape[1]))
    z = kernels.linear_scores(replace(part, y=None, offset=None), np.ascontiguousarray(coef.T), level)
    z = z if isinstance(z, np.ndarray) else to_host(z)
    if part.offset is not None:
        z = z + part.offset[part.start : part.stop].reshape(len(y), -1)
    y, weights = to_host(y), None if weights is None else to_host(weights)
    return replace(terms, pearson=_total(response.pearson(np.asarray(response.mean(z)), y), weights))


def _count_fractions(y: Any, trials: FloatArray | None) -> int:
    """Return in how many rows neither the target nor its product with the trials is a whole number.

    Examples
    --------
    >>> _count_fractions(np.array([1.0, 2.5, 1 / 3]), np.array([1.0, 1.0, 3.0]))
    1
    """
    if not has_fractions(y):
        return 0
    y = np.asarray(to_host(y), dtype=np.float64)
    counts = y if trials is None else y * trials
    off = np.abs(y - np.round(y)) > WHOLE_TARGET * np.maximum(np.abs(y), 1.0)
    return int((off & (np.abs(counts - np.round(counts)) > (0.0 if trials is None else WHOLE_COUNT))).sum())


def _total(values: FloatArray, weights: FloatArray | None) -> float:
    return float(values.sum() if weights is None else weights @ values)


def _summed(function: Callable[[Any], Any], y: FloatArray, weights: FloatArray | None) -> float:
    """Return the sum of a function of the targets; for counts, it is computed once for each distinct value."""
    if y.ndim == 1 and y.min(initial=0.0) >= 0 and y.max(initial=0.0) < len(y):
        counts = y.astype(np.int64)
        if np.array_equal(counts, y):
            often = np.bincount(counts, weights=weights)
            seen = np.flatnonzero(often)
            return float(often[seen] @ function(seen.astype(np.float64)))
    return _total(function(y), weights)


def _saturated(response: Response, y: Any, weights: FloatArray | None) -> float:
    """Return the log-likelihood of the saturated model, which predicts every y; 0 for classes, or 0 and 1."""
    if response.family is Multinomial or not response.likelihood.has_deviance:
        return 0.0
    if response.family is Bernoulli and bool(array_namespace(y).all((y == 0) | (y == 1))):
        return 0.0
    return _summed(response.saturated, to_host(y), weights)


def _base(response: Response, y: Any, weights: FloatArray | None) -> float:
    """Return the sum of log b(y); 0 if it depends on the dispersion."""
    if response.family in (Multinomial, Bernoulli) or response.likelihood.has_dispersion:
        return 0.0
    return _summed(response.log_base, y, weights)


def _base_at(likelihood: NegativeLogLikelihood, dispersion: float, logs: float) -> float:
    """Return the sum of log b(y) at a dispersion, from the sum of log y or from the targets."""
    total = likelihood.response.likelihood.total_log_base(likelihood.weight, logs, dispersion)
    if total is None:
        what = partial(_base_of_part, likelihood.response, dispersion)
        total = float(sum(likelihood.data.map(what)))
    return total


def _base_of_part(response: Response, dispersion: float, part: Batch, _: Any) -> float:
    y = to_host(part.y[part.start : part.stop])
    weights = None if part.weight is None else to_host(part.weight[part.start : part.stop])
    return _total(response.log_base(y, dispersion), weights)


def _base_of_means(name: str, y: FloatArray, trials: FloatArray, often: FloatArray | None) -> float:
    """Return the terms without theta of counts given as means: successes over trials, events over exposures."""
    from scipy.special import gammaln, xlogy  # slow to import, and few rows need them

    counts = trials * y
    if name == "bernoulli":
        return _total(log_choose(trials, counts), often)
    return _total(xlogy(counts, trials) - gammaln(counts + 1), often)


def gaussian_log_likelihood(
    rows: float, deviance: float, log_weight: float = 0.0, variance: float | None = None
) -> float:
    """Return the log-likelihood of Gaussian targets at a variance, by default the maximum likelihood estimate.

    Parameters
    ----------
    rows
        Number of observations.
    deviance
        Weighted sum of squares of the residuals.
    log_weight
        Sum of the logs of precision weights.
    variance
        If it is known.

    Examples
    --------
    >>> round(gaussian_log_likelihood(10.0, 10.0), 4)
    -14.1894
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.float64(deviance) / rows if variance is None else variance
        squares = rows if variance is None else deviance / variance
        return float(0.5 * (log_weight - rows * np.log(2 * np.pi * best) - squares))

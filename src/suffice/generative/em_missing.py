"""Expectation maximisation for rows with missing cells: maximises the likelihood of the known cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.families import MultivariateGaussian
from suffice.families.multivariate_gaussian import SingularGaussian
from suffice.generative.correlated import patterns
from suffice.generative.joint import Joint
from suffice.kernels import Batch
from suffice.kernels.engine import engine_for
from suffice.kernels.libraries import dense
from suffice.monitoring import report
from suffice.selection.rows import Rows
from suffice.statistics import DiagonalMoments, FullMoments, Statistics
from suffice.statistics.base import FloatArray

STEPS = 500
#: Steps end when one of them moves no mean by more than this many standard deviations, and no covariance by more than
#: this share. The log-likelihood is flat at its maximum: it would stop them too early.
TOLERANCE = 1e-8


def learn(model: Any, rows: Rows) -> tuple[Statistics, list[float]]:
    """Return the expected sums over rows with missing cells, and the log-likelihood after each step.

    Each step fills the missing cells of a row with what its class's Gaussian expects given the known ones, sums, and
    adds the variance that the filled cells are expected to have about it.
    """
    x = dense(rows.x)
    if np.isinf(x).any():
        row, column = np.argwhere(np.isinf(x))[0]
        raise ValueError(f"X[{row}, {column}] is {x[row, column]:g}; it must be finite, or NaN where it is missing")
    known = ~np.isnan(x)
    if known.all():
        return model._sum(rows.x, rows.codes, rows.weight, rows.labels), []
    centre = np.where(known, x, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    x = x - centre  # about zero, an offset of the columns costs no digits of the log-likelihood
    groups = [(pattern, members) for pattern, members in patterns(known)]
    gaussians = _start(model, rows, x)
    statistics: Statistics | None = None
    trace: list[float] = []
    for _ in range(STEPS):
        candidate = _expected(model, rows, x, groups, gaussians)
        conditional = model._conditional(candidate)
        value = _log_likelihood(model, Joint(rows.labels, model._prior(candidate), conditional), rows, x)
        if trace and not value >= trace[-1]:
            break  # shrinkage does not maximise the likelihood: such a step is not taken
        change = _change(gaussians, conditional.family)
        statistics, gaussians = candidate, conditional.family
        trace.append(value)
        report(len(trace), len(x), -value)
        if change <= TOLERANCE:
            break
    moments: Any = statistics  # the first step is always taken
    return replace(moments, mean=moments.mean + centre), trace


def _change(before: MultivariateGaussian, after: MultivariateGaussian) -> float:
    """Return the largest change of Gaussians: means in standard deviations, covariances relative to these."""
    deviation = np.sqrt(np.diagonal(after.covariance, axis1=-2, axis2=-1))  # (d,) or (k, d)
    deviation = np.where(deviation > 0, deviation, 1.0)
    products = deviation[..., :, None] * deviation[..., None, :]
    means = np.abs(after.mu - before.mu) / deviation
    covariances = np.abs(after.covariance - before.covariance) / products
    return float(max(means.max(initial=0.0), covariances.max(initial=0.0)))


def _start(model: Any, rows: Rows, x: FloatArray) -> MultivariateGaussian:
    """Return the Gaussians of the known cells, as if features were independent."""
    engine = engine_for(model._engine, x)
    moments = engine.accumulate(DiagonalMoments.over(rows.labels, True), Batch(x, rows.codes, rows.weight))
    observed = moments.observed
    if not (observed.sum(axis=0) > 0).all():
        feature = int(np.argmin(observed.sum(axis=0) > 0))
        raise ValueError(f"feature {feature} is missing in every row: nothing can be learned about it; drop it")
    overall = (observed * moments.mean).sum(axis=0) / observed.sum(axis=0)
    mean = np.where(observed > 0, moments.mean, overall)
    variance = moments.spread.sum(axis=0) / observed.sum(axis=0)
    variance = np.where(variance > 0, variance, 1.0)
    return MultivariateGaussian(mean, np.diag(variance))


def _expected(model: Any, rows: Rows, x: FloatArray, groups: list[Any], gaussians: MultivariateGaussian) -> Statistics:
    """Return the sums over the filled rows, with the expected spread of what was filled in."""
    filled = x.copy()
    doubt = np.zeros((len(rows.labels), x.shape[1], x.shape[1]))
    for known, members in groups:
        if known.all():
            continue
        for code in np.unique(rows.codes[members]):
            own = members[rows.codes[members] == code]
            filled[np.ix_(own, ~known)], left = _filled(x[np.ix_(own, known)], known, gaussians, code)
            doubt[np.ix_([code], ~known, ~known)] += rows.weights[own].sum() * left
    moments: Any = model._sum(filled, rows.codes, rows.weight, rows.labels)
    total = doubt if isinstance(moments, FullMoments) else doubt.sum(axis=0)
    filled_in: Statistics = replace(moments, spread=moments.spread + total)
    return filled_in


def _filled(
    values: FloatArray, known: npt.NDArray[np.bool_], gaussians: MultivariateGaussian, code: int
) -> tuple[FloatArray, FloatArray]:
    """Return the expected missing cells given the known ones, (n, missing), and their covariance."""
    covariance = gaussians.covariance if gaussians.covariance.ndim == 2 else gaussians.covariance[code]
    mean, gone = gaussians.mu[code], ~known
    if not known.any():
        return np.tile(mean, (len(values), 1)), covariance
    within, across = covariance[np.ix_(known, known)], covariance[np.ix_(known, gone)]
    singular = isinstance(gaussians, SingularGaussian)
    slope = np.linalg.pinv(within, hermitian=True) @ across if singular else np.linalg.solve(within, across)
    left = covariance[np.ix_(gone, gone)] - covariance[np.ix_(gone, known)] @ slope
    return mean[gone] + (values - mean[known]) @ slope, (left + left.T) / 2


def expected(x: FloatArray, posterior: FloatArray, joint: Joint) -> FloatArray:
    """Return rows with missing cells replaced by their expectation over all classes."""
    filled = x.copy()
    conditional: Any = joint.conditional
    for known, members in patterns(~np.isnan(x)):
        if known.all():
            continue
        guess = np.zeros((len(members), int((~known).sum())))
        for code in range(len(joint.labels)):
            if isinstance(conditional.family, MultivariateGaussian):
                cells, _ = _filled(x[np.ix_(members, known)], known, conditional.family, code)
            else:
                cells = conditional.family.mu[code][~known]
            guess += posterior[members, code][:, None] * cells
        filled[np.ix_(members, ~known)] = guess
    return filled


def _log_likelihood(model: Any, joint: Joint, rows: Rows, x: FloatArray) -> float:
    scores = model._score_features(joint, x, "joint")
    return float(rows.weights @ scores[np.arange(len(rows)), rows.codes])

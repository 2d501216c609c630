"""Divergence between the classes of a generative model, feature by feature."""

from __future__ import annotations

import numpy as np

from suffice.generative.conditional import Conditional
from suffice.generative.correlated import Correlated
from suffice.generative.event_models import Arrivals, Categories, Presences, Words
from suffice.generative.family_nb import Members
from suffice.generative.independent import Independent
from suffice.generative.product import Texts
from suffice.statistics.base import FloatArray

#: Lower bound of probabilities before the logarithm.
_MIN_PROBABILITY = 1e-12


def class_divergences(conditional: Conditional, prior: FloatArray) -> FloatArray:
    """Return the symmetric Kullback-Leibler divergence between classes for each feature, (d,).

    It is the expected log-odds that a cell of the feature adds. In an exponential family with natural parameters eta
    and means m of the sufficient statistics, the symmetric divergence of two classes is (eta_1 - eta_2)'(m_1 - m_2);
    its mean over all pairs of classes, weighted by their priors, is the covariance of eta and m over classes.

    Parameters
    ----------
    conditional
        p(x | y).
    prior
        p(y), (k,).
    """
    match conditional:
        case Independent():
            return _normal_divergences(conditional.family.mu, conditional.family.sigma2, prior)
        case Correlated():
            variance = np.diagonal(conditional.family.covariance, axis1=-2, axis2=-1)
            mu = conditional.family.mu
            return _normal_divergences(mu, np.broadcast_to(variance, mu.shape), prior)
        case Words():
            return covariance_over_classes(safe_log(conditional.family.p), conditional.family.p, prior)
        case Presences():
            eta = safe_log(conditional.family.p) - safe_log(conditional.family.q)
            return covariance_over_classes(eta, conditional.family.p, prior)
        case Arrivals():
            return covariance_over_classes(safe_log(conditional.family.rate), conditional.family.rate, prior)
        case Members():
            return covariance_over_classes(conditional.coef, conditional.mean, prior)
        case Categories():
            tables = [np.exp(table[:-1]).T for table in conditional.tables]
            return np.array([covariance_over_classes(safe_log(p), p, prior).sum() for p in tables])
    assert isinstance(conditional, Texts)
    pairs = zip(conditional.p, conditional.lengths.T, strict=True)
    return np.array([covariance_over_classes(safe_log(p), lengths[:, None] * p, prior).sum() for p, lengths in pairs])


def _normal_divergences(mean: FloatArray, variance: FloatArray, prior: FloatArray) -> FloatArray:
    centred = mean - prior @ mean  # squares of means far from zero would cancel the digits of the variances
    linear = covariance_over_classes(centred / variance, centred, prior)
    return linear + covariance_over_classes(-0.5 / variance, centred**2 + variance, prior)


def covariance_over_classes(a: FloatArray, b: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the covariance, over classes, of two numbers per class and feature, (k, d) each, as (d,)."""
    return np.asarray(prior @ ((a - prior @ a) * (b - prior @ b)))


def safe_log(p: FloatArray) -> FloatArray:
    """Return the logarithm of probabilities, finite at 0."""
    return np.asarray(np.log(np.maximum(p, _MIN_PROBABILITY)))

"""p(x | y) of independent Gaussian features, and its estimate from sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.families import Gaussian
from suffice.families.priors import smoothing_strength
from suffice.generative.conditional import DENSITIES, Conditional, Contributions, Theta, read_distances
from suffice.kernels import Batch
from suffice.kernels.inputs import JOINT, Reading, check_underflow
from suffice.kernels.libraries import dense
from suffice.kernels.protocol import Kernels
from suffice.statistics import DiagonalMoments
from suffice.statistics.base import FloatArray
from suffice.statistics.moments import never_varies
from suffice.statistics.rounding import EPSILON

#: Smoothing is a share of the largest variance, but of no more than this many times the feature's own: a feature in
#: small units is not drowned by one in large units.
_OWN_SCALE = 1e3


def added_variance(statistics: DiagonalMoments, share: float) -> FloatArray:
    """Return the smoothing that is added to the variances of each feature, (d,)."""
    mean, variance = statistics.pooled()
    variance = np.where(never_varies(mean, variance), 0.0, variance)
    return added_to_variance(variance, share)


def added_to_variance(variance: FloatArray, share: float) -> FloatArray:
    """Return what is added to variances whose features, on the last axis, have these variances over all rows."""
    largest = variance.max(axis=-1, keepdims=True, initial=0.0)
    return np.asarray(np.where(variance > 0, share * np.minimum(largest, _OWN_SCALE * variance), share * largest))


def smoothed(statistics: DiagonalMoments, share: float, alpha: Any) -> Independent:
    """Return the Gaussian of each class and feature, with smoothed variances.

    A feature that never varies does not separate classes, and has the variance 1 (or the smoothing's) in each. For
    a class, or a feature in it, that was never seen, mean and variance are those of all rows.

    Raises
    ------
    LostDigitsError
        If rows were taken out, and a mean may be off by more than the tolerance, in standard deviations, or a variance,
        relative to itself. Whether a feature that hardly varies is constant must be known, too.
    """
    strength = smoothing_strength(alpha, statistics.mean.shape[1])
    observed = statistics.observed
    with np.errstate(over="ignore", invalid="ignore"):  # raised as an error
        pooled_mean, pooled_variance = statistics.pooled()
    check_underflow(observed.sum(axis=0), pooled_mean, pooled_variance)
    seen = observed > 0
    constant = never_varies(pooled_mean, pooled_variance)
    variance = (statistics.spread + strength * pooled_variance) / np.where(seen, observed + strength, 1.0)
    added = added_to_variance(np.where(constant, 0.0, pooled_variance), share)
    mean = np.where(seen, statistics.mean, pooled_mean)
    variance = np.where(seen, variance, pooled_variance) + added
    variance = np.where(constant, np.where(added > 0, added, 1.0), variance)
    statistics.check_digits(np.where(constant & (added <= 0), (4 * EPSILON * mean) ** 2, variance))
    fine = ~never_varies(mean, variance) | constant
    if not fine.all():
        code, feature = np.unravel_index(int(np.argmin(fine)), fine.shape)
        label = statistics.labels.names[int(code)]
        raise ValueError(
            f"feature {feature} does not vary in class {label!r}: its variance is 0; give var_smoothing or alpha > 0, "
            "or drop the feature"
        )
    return Independent(mean, variance)


@dataclass(frozen=True, eq=False)
class Independent(Conditional):
    """Independent Gaussian features. A missing cell is integrated out: its factor is 1."""

    mean: FloatArray  # (k, d)
    variance: FloatArray  # (k, d), above 0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean).all() and np.isfinite(self.variance).all()):
            _ = self.family  # raises an error with the position and the value

    @cached_property
    def family(self) -> Gaussian:
        """The Gaussians, (k, d)."""
        return Gaussian(self.mean, self.variance)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.mean)

    @property
    def theta(self) -> Theta | None:
        """The linear form, where all classes have the same variances."""
        mu, sigma2 = self.mean, self.variance
        if not (sigma2 == sigma2[0]).all():
            return None
        return Theta(mu / sigma2, -0.5 * (mu**2 / sigma2).sum(axis=1))

    @property
    def apart(self) -> Theta | None:
        """The linear form of the means about their centre."""
        if self.theta is None:
            return None
        centre = self.mean.mean(axis=0)
        coef = (self.mean - centre) / self.variance
        return Theta(coef, -0.5 * ((self.mean - centre) * coef).sum(axis=1) - coef @ centre)

    def scores(self, batch: Batch, kernels: Kernels, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return a reading of the sum of the Gaussian log-densities."""
        if reading.what in DENSITIES:
            return kernels.diagonal_scores(batch, self.mean, self.variance, intercept, reading)
        joint = kernels.diagonal_scores(batch, self.mean, self.variance, intercept, JOINT)
        return read_distances(joint, batch, kernels, reading)

    def contributions(self, x: Any) -> Contributions:
        """Return the log-density of every cell."""
        values = dense(x)
        known = ~np.isnan(values)
        parts = [
            np.where(known, Gaussian(mu, sigma2).log_prob(np.where(known, values, 0.0)), 0.0)
            for mu, sigma2 in zip(self.mean, self.variance, strict=True)
        ]
        return Contributions(parts, np.zeros((len(values), self.classes)))

    def sample(self, codes: npt.NDArray[np.int64], random: np.random.Generator, **how: Any) -> Any:
        """Return rows."""
        noise = random.standard_normal((len(codes), self.mean.shape[1]))
        return self.mean[codes] + np.sqrt(self.variance[codes]) * noise

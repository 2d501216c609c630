"""The gamma family: positive amounts, waiting times until several events."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy

from suffice.families import links
from suffice.families.base import TINY, Distribution, RandomState, Size, positive, positive_root, require
from suffice.families.exponential import ExponentialLikelihood
from suffice.families.priors import (
    check_alpha,
    pseudo_mean,
    require_evidence,
    require_spread,
)
from suffice.statistics.base import FloatArray
from suffice.statistics.rounding import EPSILON

if TYPE_CHECKING:
    from suffice.statistics.moments import DiagonalMoments


def solve_shape(gap: FloatArray) -> FloatArray:
    """Return the shape with log(shape) - digamma(shape) = gap > 0, by Newton's method from Minka's approximation.

    Examples
    --------
    >>> import numpy as np
    >>> solve_shape(np.log([0.001, 1e3]) - scipy.special.digamma([0.001, 1e3])).round(6)
    array([1.e-03, 1.e+03])
    """
    root = np.sqrt((gap - 3) ** 2 + 24 * gap)
    # Two forms of one root of a quadratic: each cancels where the other does not.
    start = np.where(gap < 3, (3 - gap + root) / (12 * gap), 2 / np.maximum(gap - 3 + root, TINY))

    def excess(shape: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.log(shape) - scipy.special.digamma(shape) - gap, 1 / shape - scipy.special.polygamma(1, shape)

    return positive_root(excess, start)


class GammaLikelihood(ExponentialLikelihood):
    """-y / mu - log mu, at unit dispersion."""

    name = "gamma"
    has_dispersion = True
    target_words = "a finite number above 0"

    def legal_targets(self, xp: Any, y: Any) -> Any:
        """Return which targets are positive."""
        return (y > 0) & xp.isfinite(y)

    def log_base(self, xp: Any, y: Any, dispersion: float = 1.0) -> Any:
        """Return the log density without its terms in the mean, at the shape 1 / dispersion."""
        shape = 1 / dispersion
        return (shape - 1) * xp.log(y) + (shape * math.log(shape) - math.lgamma(shape))

    def total_log_base(self, weight: float, log_y: float, dispersion: float) -> float:
        """Return the sum of log b(y)."""
        shape = 1 / dispersion
        return float(weight * (shape * np.log(shape) - scipy.special.gammaln(shape)) + (shape - 1) * log_y)


@dataclass(frozen=True, init=False, eq=False)
class Gamma(Distribution):
    """y > 0 with a shape and a rate. eta = (shape - 1, -rate), T = (log y, y).

    At unit dispersion its regression is that of the exponential distribution.

    Parameters
    ----------
    shape, rate
        The mean is shape / rate, the variance shape / rate^2.

    Examples
    --------
    >>> Gamma(2.0, 1.0).log_prob([1.0, 2.0]).round(3)
    array([-1.   , -1.307])
    """

    shape: FloatArray
    rate: FloatArray

    name = "gamma"
    row_likelihood = GammaLikelihood()
    support = "a finite number above 0"
    canonical_link = links.negative_inverse
    _inner = 1.0

    def __init__(self, shape: npt.ArrayLike, rate: npt.ArrayLike = 1.0) -> None:
        form, speed = np.broadcast_arrays(positive("shape", shape), positive("rate", rate))
        self._hold(shape=form, rate=speed)

    @staticmethod
    def sufficient(y: npt.ArrayLike) -> FloatArray:
        """Return (log y, y)."""
        values = np.asarray(y, dtype=np.float64)
        return np.stack([np.log(values), values], axis=-1)

    @staticmethod
    def sufficient_columns(x: npt.ArrayLike) -> FloatArray:
        """Return the columns whose moments :meth:`estimate` takes: log x_1 to log x_d, then x_1 to x_d, (n, 2d)."""
        rows = np.asarray(x, dtype=np.float64)
        require("x", rows, (rows > 0) & (rows < np.inf), f"a gamma value must be {Gamma.support}")
        return np.concatenate([np.log(rows), rows], axis=1)

    @staticmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return log Gamma(shape) - shape log(rate)."""
        member = Gamma.from_natural(eta)
        return np.asarray(scipy.special.gammaln(member.shape) - member.shape * np.log(member.rate))

    @staticmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return (E log y, E y)."""
        member = Gamma.from_natural(eta)
        return np.stack(
            [scipy.special.digamma(member.shape) - np.log(member.rate), member.shape / member.rate], axis=-1
        )

    @staticmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return the covariance of (log y, y)."""
        member = Gamma.from_natural(eta)
        cross = 1 / member.rate
        rows = [
            np.stack([scipy.special.polygamma(1, member.shape), cross], axis=-1),
            np.stack([cross, member.shape / member.rate**2], axis=-1),
        ]
        return np.stack(rows, axis=-2)

    @property
    def natural(self) -> FloatArray:
        """(shape - 1, -rate)."""
        return np.stack([self.shape - 1, -self.rate], axis=-1)

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the distribution with this natural parameter."""
        one, two = np.moveaxis(np.asarray(eta, dtype=np.float64), -1, 0)
        return cls(one + 1, -two)

    @classmethod
    def estimate(cls, statistics: DiagonalMoments, alpha: npt.ArrayLike = 0.0) -> Self:
        """Return shape and rate of each class and feature, (k, d), from moments of :meth:`sufficient_columns`.

        ``alpha`` is a number of pseudo-observations from the exponential with the feature's mean over all rows.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics.labels import Labels
        >>> from suffice.statistics.moments import DiagonalMoments
        >>> columns = Gamma.sufficient_columns([[1.0], [2.0], [4.0]])
        >>> mean = columns.mean(axis=0, keepdims=True)
        >>> Gamma.estimate(DiagonalMoments(Labels((0,)), np.array([3.0]), mean, np.zeros((1, 2)))).shape.round(3)
        array([[3.401]])
        """
        features = statistics.mean.shape[1] // 2
        strength = check_alpha(alpha, features)
        require_evidence(statistics.labels, statistics.weights + strength.min(initial=np.inf), "shape is")
        pooled_mean = statistics.pooled()[0][features:]
        base = np.concatenate([np.log(pooled_mean) + scipy.special.digamma(1.0), pooled_mean])
        mean = pseudo_mean(statistics.mean, statistics.weights[:, None], base, np.tile(strength, 2))
        mean_log, mean = mean[:, :features], mean[:, features:]
        gap = np.log(mean) - mean_log  # 0 up to rounding if all values are equal
        require_spread(statistics.labels, gap > 4 * EPSILON * (1 + np.abs(mean_log)), "shape is")
        shape = solve_shape(gap)
        return cls(shape, shape / mean)

    def sample(self, size: Size = (), random_state: RandomState = None) -> npt.NDArray[Any]:
        """Return draws, clipped at the smallest normal number."""
        drawn = np.random.default_rng(random_state).standard_gamma(self.shape, self._draws(size)) / self.rate
        return np.maximum(drawn, TINY)

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return (y > 0) & (y < np.inf)

    def _log_density(self, y: FloatArray) -> FloatArray:
        log_y = np.log(y)
        body = self.shape * (log_y + np.log(self.rate)) - self.rate * y
        return np.asarray(body - log_y - scipy.special.gammaln(self.shape))

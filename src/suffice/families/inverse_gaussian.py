"""The inverse Gaussian family: positive amounts with a long tail, the time a drift takes to reach a level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from suffice.families import links
from suffice.families.base import TINY, Distribution, RandomState, Size, positive, require
from suffice.families.links import Link
from suffice.families.priors import check_alpha, pseudo_mean, require_evidence, require_spread
from suffice.families.row_likelihood import LARGEST_LOG_MEAN, LinkForm, PowerLinkLikelihood, Terms, over
from suffice.statistics.base import FloatArray
from suffice.statistics.rounding import EPSILON

if TYPE_CHECKING:
    from suffice.statistics.moments import DiagonalMoments

_LOG_2PI = math.log(2 * math.pi)


def _terms(rate: Any, log_slope: Any) -> Terms:
    """Return -1 / (2 mu^2) and 1 / mu, from 1 / mu and the derivative of log mu."""
    return Terms(-rate * rate / 2, rate, rate * rate * log_slope, -rate * log_slope)


def _log(xp: Any, z: Any) -> Terms:
    rate = xp.exp(-xp.clip(z, min=-LARGEST_LOG_MEAN, max=LARGEST_LOG_MEAN))  # its cube must not overflow
    return _terms(rate, xp.ones_like(z))


def _inverse(xp: Any, z: Any) -> Terms:
    return _terms(z, -over(xp, z))


def _identity(xp: Any, z: Any) -> Terms:
    rate = over(xp, z)
    return _terms(rate, rate)


class InverseGaussianLikelihood(PowerLinkLikelihood):
    """-y / (2 mu^2) + 1 / mu, at unit dispersion."""

    name = "inverse_gaussian"
    forms: ClassVar[dict[str, LinkForm]] = {
        "log": LinkForm(_log),
        "identity": LinkForm(_identity, low=0.0, closed=False),
        "inverse": LinkForm(_inverse, low=0.0, closed=False),
    }
    has_dispersion = True
    value_has_units = True
    positive_targets = True
    zero_targets = False
    target_words = "a finite number above 0"

    def legal_targets(self, xp: Any, y: Any) -> Any:
        """Return which targets are positive."""
        return (y > 0) & xp.isfinite(y)

    def terms_of_mean(self, xp: Any, mean: Any, log_mean: Any, log_slope: Any) -> Terms:
        """Return -1 / (2 mu^2) and 1 / mu."""
        return _terms(1 / mean, log_slope)

    def information(self, terms: Terms) -> Any:
        """Return the squared derivative of the log of the mean, over the mean."""
        return terms.b_slope * (terms.b_slope / terms.b)

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return the cube of the mean."""
        return mean * mean * mean

    def saturated(self, xp: Any, y: Any) -> Any:
        """Return 1 / (2 y)."""
        return 0.5 / y

    def log_base(self, xp: Any, y: Any, dispersion: float = 1.0) -> Any:
        """Return the log density without its terms in the mean, at the shape 1 / dispersion."""
        return -(1 / (dispersion * y) + _LOG_2PI + math.log(dispersion) + 3 * xp.log(y)) / 2

    def deviance(self, xp: Any, link: Link, z: Any, y: Any) -> Any:
        """Return (y - mu)^2 / (mu^2 y)."""
        away = y / self.mean(xp, link, z) - 1  # the difference of values would cancel
        return away * away / y


@dataclass(frozen=True, init=False, eq=False)
class InverseGaussian(Distribution):
    """y > 0 with a mean and a shape. eta = (-shape / (2 mu^2), -shape / 2), T = (y, 1 / y).

    A regression predicts mu; one over the shape is the dispersion, and the variance is mu^3 times it.

    Parameters
    ----------
    mu
        The mean.
    shape
        The variance is mu^3 / shape.

    Examples
    --------
    >>> InverseGaussian(1.0, 2.0).log_prob([1.0, 2.0]).round(3)
    array([-0.572, -2.112])
    """

    mu: FloatArray
    shape: FloatArray

    name = "inverse_gaussian"
    row_likelihood = InverseGaussianLikelihood()
    support = "a finite number above 0"
    mean_range = (0.0, np.inf)
    canonical_link = links.inverse_squared  # eta at unit dispersion is -1/2 of it
    _inner = 1.0

    def __init__(self, mu: npt.ArrayLike, shape: npt.ArrayLike = 1.0) -> None:
        centre, form = np.broadcast_arrays(positive("mu", mu), positive("shape", shape))
        self._hold(mu=centre, shape=form)

    @staticmethod
    def sufficient(y: npt.ArrayLike) -> FloatArray:
        """Return (y, 1 / y)."""
        values = np.asarray(y, dtype=np.float64)
        return np.stack([values, 1 / values], axis=-1)

    @staticmethod
    def sufficient_columns(x: npt.ArrayLike) -> FloatArray:
        """Return the columns whose moments :meth:`estimate` takes: x_1 to x_d, then 1 / x_1 to 1 / x_d, (n, 2d)."""
        rows = np.asarray(x, dtype=np.float64)
        require("x", rows, (rows > 0) & (rows < np.inf), f"an inverse_gaussian value must be {InverseGaussian.support}")
        return np.concatenate([rows, 1 / rows], axis=1)

    @staticmethod
    def log_base(y: npt.ArrayLike) -> FloatArray:
        """Return -log(2 pi y^3) / 2."""
        return np.asarray(-(_LOG_2PI + 3 * np.log(np.asarray(y, dtype=np.float64))) / 2)

    @staticmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return -shape / mu - log(shape) / 2."""
        member = InverseGaussian.from_natural(eta)
        return np.asarray(-member.shape / member.mu - np.log(member.shape) / 2)

    @staticmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return (E y, E 1 / y)."""
        member = InverseGaussian.from_natural(eta)
        return np.stack([member.mu, 1 / member.mu + 1 / member.shape], axis=-1)

    @staticmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return the covariance of (y, 1 / y)."""
        member = InverseGaussian.from_natural(eta)
        cross = -member.mu / member.shape
        rows = [
            np.stack([member.mu**3 / member.shape, cross], axis=-1),
            np.stack([cross, (1 / member.mu + 2 / member.shape) / member.shape], axis=-1),
        ]
        return np.stack(rows, axis=-2)

    @property
    def natural(self) -> FloatArray:
        """(-shape / (2 mu^2), -shape / 2)."""
        return np.stack([-self.shape / (2 * self.mu**2), -self.shape / 2], axis=-1)

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the distribution with this natural parameter."""
        one, two = np.moveaxis(np.asarray(eta, dtype=np.float64), -1, 0)
        return cls(np.sqrt(two / one), -2 * two)

    @classmethod
    def estimate(cls, statistics: DiagonalMoments, alpha: npt.ArrayLike = 0.0) -> Self:
        """Return mean and shape of each class and feature, (k, d), from moments of :meth:`sufficient_columns`.

        ``alpha`` is a number of pseudo-observations whose mean and standard deviation are the feature's mean over all
        rows.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics.labels import Labels
        >>> from suffice.statistics.moments import DiagonalMoments
        >>> columns = InverseGaussian.sufficient_columns([[1.0], [2.0], [4.0]])
        >>> mean = columns.mean(axis=0, keepdims=True)
        >>> InverseGaussian.estimate(DiagonalMoments(Labels((0,)), np.array([3.0]), mean, np.zeros((1, 2)))).shape
        array([[6.46153846]])
        """
        features = statistics.mean.shape[1] // 2
        strength = check_alpha(alpha, features)
        require_evidence(statistics.labels, statistics.weights + strength.min(initial=np.inf), "shape is")
        pooled_mean = statistics.pooled()[0][:features]
        base = np.concatenate([pooled_mean, 2 / pooled_mean])
        both = pseudo_mean(statistics.mean, statistics.weights[:, None], base, np.tile(strength, 2))
        mean, mean_inverse = both[:, :features], both[:, features:]
        gap = mean_inverse - 1 / mean  # 0 up to rounding if all values are equal
        require_spread(statistics.labels, gap > 4 * EPSILON * mean_inverse, "shape is")
        return cls(mean, 1 / gap)

    def sample(self, size: Size = (), random_state: RandomState = None) -> npt.NDArray[Any]:
        """Return draws, clipped at the smallest normal number."""
        drawn = np.random.default_rng(random_state).wald(self.mu, self.shape, self._draws(size))
        return np.maximum(drawn, TINY)

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return (y > 0) & (y < np.inf)

    def _log_density(self, y: FloatArray) -> FloatArray:
        away = y / self.mu - 1
        return np.asarray((np.log(self.shape) - self.shape * away * away / y) / 2 + self.log_base(y))

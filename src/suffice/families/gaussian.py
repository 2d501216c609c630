"""The Gaussian families: unknown mean and variance, or unknown mean and known variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from suffice.families import links
from suffice.families.base import Distribution, RandomState, Size, finite, positive
from suffice.families.links import LARGEST_EXPONENT, Link
from suffice.families.priors import (
    check_alpha,
    pseudo_mean,
    require_evidence,
    require_known,
    require_spread,
)
from suffice.families.row_likelihood import LinkForm, PowerLinkLikelihood, Terms
from suffice.statistics.base import FloatArray
from suffice.statistics.moments import never_varies

if TYPE_CHECKING:
    from suffice.statistics.moments import DiagonalMoments

LOG_2PI = math.log(2 * math.pi)


def _gaussian_identity(xp: Any, z: Any) -> Terms:
    return Terms(z, -z * z / 2, xp.ones_like(z), -z)


def _gaussian_log(xp: Any, z: Any) -> Terms:
    mean = xp.exp(xp.clip(z, max=LARGEST_EXPONENT / 2 - 1))  # its square must not overflow
    return Terms(mean, -mean * mean / 2, mean, -mean * mean)


class GaussianLikelihood(PowerLinkLikelihood):
    """y mu - mu^2 / 2, at unit variance."""

    name = "gaussian"
    forms: ClassVar[dict[str, LinkForm]] = {"identity": LinkForm(_gaussian_identity), "log": LinkForm(_gaussian_log)}
    compiled_links = frozenset({"identity"})
    has_dispersion = True
    value_has_units = True
    low = -math.inf
    target_words = "a finite number"

    def terms_of_mean(self, xp: Any, mean: Any, log_mean: Any, log_slope: Any) -> Terms:
        """Return mu and -mu^2 / 2."""
        return Terms(mean, -mean * mean / 2, mean * log_slope, -mean * mean * log_slope)

    def has_zero_mean(self, xp: Any, y: Any) -> Any:
        """Return True for all targets."""
        return xp.isfinite(y)

    def information(self, terms: Terms) -> Any:
        """Return the squared derivative of the mean."""
        return terms.a_slope * terms.a_slope

    def legal_targets(self, xp: Any, y: Any) -> Any:
        """Return which targets are finite."""
        return xp.isfinite(y)

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return 1."""
        return xp.ones_like(mean)

    def saturated(self, xp: Any, y: Any) -> Any:
        """Return y^2 / 2."""
        return y * y / 2

    def log_base(self, xp: Any, y: Any, dispersion: float = 1.0) -> Any:
        """Return the log density of y about 0."""
        return -(y * y / dispersion + LOG_2PI + math.log(dispersion)) / 2

    def deviance(self, xp: Any, link: Link, z: Any, y: Any) -> Any:
        """Return (y - mu)^2."""
        away = y - self.mean(xp, link, z)  # squares of large y would cancel
        return away * away


@dataclass(frozen=True, init=False, eq=False)
class _Normal(Distribution):
    """Base class of both Gaussian families: mean, variance, density."""

    mu: FloatArray
    sigma2: FloatArray

    support = "a finite number"
    canonical_link = links.identity

    def __init__(self, mu: npt.ArrayLike, sigma2: npt.ArrayLike = 1.0) -> None:
        centre, square = np.broadcast_arrays(finite("mu", mu), positive("sigma2", sigma2))
        self._hold(mu=centre, sigma2=square)

    def sample(self, size: Size = (), random_state: RandomState = None) -> npt.NDArray[Any]:
        """Return draws."""
        noise = np.random.default_rng(random_state).standard_normal(self._draws(size))
        return np.asarray(self.mu + np.sqrt(self.sigma2) * noise)

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return np.isfinite(y)

    def _log_density(self, y: FloatArray) -> FloatArray:
        return -0.5 * ((y - self.mu) ** 2 / self.sigma2 + np.log(self.sigma2) + LOG_2PI)


class Gaussian(_Normal):
    """y ~ N(mu, sigma2). eta = (mu / sigma2, -1 / (2 sigma2)), T = (y, y^2).

    A regression predicts mu; the variance is the dispersion.

    Parameters
    ----------
    mu, sigma2
        The mean and the variance.

    Examples
    --------
    >>> Gaussian(0.0, 4.0).log_prob([0.0, 2.0]).round(3)
    array([-1.612, -2.112])
    >>> Gaussian.from_natural([0.5, -0.125])
    Gaussian(mu=array(2.), sigma2=array(4.))
    """

    name = "gaussian"
    row_likelihood = GaussianLikelihood()

    @staticmethod
    def sufficient(y: npt.ArrayLike) -> FloatArray:
        """Return (y, y^2)."""
        values = np.asarray(y, dtype=np.float64)
        return np.stack([values, values**2], axis=-1)

    @staticmethod
    def log_base(y: npt.ArrayLike) -> FloatArray:
        """Return -log(2 pi) / 2."""
        return np.full(np.shape(y), -LOG_2PI / 2)

    @staticmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return -eta_1^2 / (4 eta_2) - log(-2 eta_2) / 2."""
        one, two = np.moveaxis(np.asarray(eta, dtype=np.float64), -1, 0)
        return np.asarray(-(one**2) / (4 * two) - 0.5 * np.log(-2 * two))

    @staticmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return (E y, E y^2)."""
        member = Gaussian.from_natural(eta)
        return np.stack([member.mu, member.mu**2 + member.sigma2], axis=-1)

    @staticmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return the covariance of (y, y^2)."""
        member = Gaussian.from_natural(eta)
        mu, sigma2 = member.mu, member.sigma2
        cross = 2 * mu * sigma2
        rows = [np.stack([sigma2, cross], axis=-1), np.stack([cross, 2 * sigma2**2 + 4 * mu**2 * sigma2], axis=-1)]
        return np.stack(rows, axis=-2)

    @property
    def natural(self) -> FloatArray:
        """(mu / sigma2, -1 / (2 sigma2))."""
        return np.stack([self.mu / self.sigma2, -0.5 / self.sigma2], axis=-1)

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the distribution with this natural parameter."""
        one, two = np.moveaxis(np.asarray(eta, dtype=np.float64), -1, 0)
        sigma2 = 1 / positive("-2 eta[..., 1]", -2 * two)
        return cls(one * sigma2, sigma2)

    @classmethod
    def estimate(cls, statistics: DiagonalMoments, alpha: npt.ArrayLike = 0.0) -> Self:
        """Return the mean and variance of each class and feature, (k, d).

        ``alpha`` smooths the variance and not the mean: it is a number of pseudo-observations about the mean of the
        class, with the variance of the feature over all rows, so each feature is smoothed on its own scale. With alpha,
        a class in which the feature is always missing gets the distribution of the feature over all rows; a feature
        that is constant, or missing everywhere, has variance 1 in each class.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics.labels import Labels
        >>> from suffice.statistics.moments import DiagonalMoments
        >>> one = DiagonalMoments(Labels(("ham",)), np.array([4.0]), np.array([[1.0]]), np.array([[8.0]]))
        >>> Gaussian.estimate(one)
        Gaussian(mu=array([[1.]]), sigma2=array([[2.]]))
        """
        strength = check_alpha(alpha, statistics.mean.shape[1])
        require_evidence(statistics.labels, statistics.weights + strength.min(initial=np.inf), "mean is")
        evidence = statistics.observed + strength
        require_known(statistics.labels, evidence, "mean is")
        pooled_mean, pooled_variance = statistics.pooled()
        sigma2 = (statistics.spread + strength * pooled_variance) / evidence
        sigma2 = np.where((strength > 0) & never_varies(pooled_mean, pooled_variance), 1.0, sigma2)
        mu = np.where(statistics.observed > 0, statistics.mean, pooled_mean)
        statistics.check_digits(sigma2)
        require_spread(statistics.labels, ~never_varies(mu, sigma2), "variance is")
        return cls(mu, sigma2)


class GaussianKnownVariance(_Normal):
    """y ~ N(mu, sigma2) where sigma2 is known. eta = mu / sigma2, T = y, a = sigma2 eta^2 / 2.

    Class-level methods take the known variance as ``known``, by default 1.

    Parameters
    ----------
    mu, sigma2
        The mean and the known variance.

    Examples
    --------
    >>> float(GaussianKnownVariance.mean(3.0))
    3.0
    """

    name = "gaussian_known_variance"

    @staticmethod
    def log_base(y: npt.ArrayLike, known: npt.ArrayLike = 1.0) -> FloatArray:
        """Return the log density of y at mu = 0."""
        return GaussianKnownVariance(0.0, known).log_prob(y)

    @staticmethod
    def log_partition(eta: npt.ArrayLike, known: npt.ArrayLike = 1.0) -> FloatArray:
        """Return sigma2 eta^2 / 2."""
        return np.asarray(known, dtype=np.float64) * np.asarray(eta, dtype=np.float64) ** 2 / 2

    @staticmethod
    def mean(eta: npt.ArrayLike, known: npt.ArrayLike = 1.0) -> FloatArray:
        """Return mu."""
        return np.asarray(known, dtype=np.float64) * np.asarray(eta, dtype=np.float64)

    @staticmethod
    def variance(eta: npt.ArrayLike, known: npt.ArrayLike = 1.0) -> FloatArray:
        """Return sigma2."""
        return np.asarray(known, dtype=np.float64) * np.ones(np.shape(eta))

    @property
    def natural(self) -> FloatArray:
        """The ratio mu / sigma2."""
        return np.asarray(self.mu / self.sigma2)

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike, known: npt.ArrayLike = 1.0) -> Self:
        """Return the distribution with this natural parameter and known variance."""
        return cls(cls.mean(eta, known), known)

    @classmethod
    def estimate(cls, statistics: DiagonalMoments, alpha: npt.ArrayLike = 0.0, known: npt.ArrayLike = 1.0) -> Self:
        """Return the mean of each class and feature, (k, d).

        ``alpha`` is a number of pseudo-observations at the feature's mean over all rows.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics import DiagonalMoments, Labels
        >>> two = DiagonalMoments(Labels(("a", "b")), np.ones(2), np.array([[1.0], [3.0]]), np.zeros((2, 1)))
        >>> GaussianKnownVariance.estimate(two, alpha=1).mu.ravel()
        array([1.5, 2.5])
        """
        strength = check_alpha(alpha, statistics.mean.shape[1])
        require_evidence(statistics.labels, statistics.weights + strength.min(initial=np.inf), "mean is")
        require_known(statistics.labels, statistics.observed + strength, "mean is")
        pooled_mean, _ = statistics.pooled()
        statistics.check_digits(np.broadcast_to(known, statistics.mean.shape), means_alone=True)
        return cls(pseudo_mean(statistics.mean, statistics.observed, pooled_mean, strength), known)

"""The exponential distribution: waiting times until an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from suffice.families import links
from suffice.families.base import Distribution, RandomState, Size, positive
from suffice.families.links import Link
from suffice.families.priors import (
    check_alpha,
    pseudo_mean,
    require_evidence,
    require_known,
    require_spread,
)
from suffice.families.row_likelihood import LinkForm, PowerLinkLikelihood, Terms, over
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.statistics.moments import DiagonalMoments


def _gamma_negative_inverse(xp: Any, z: Any) -> Terms:
    return Terms(z, xp.log(-z), xp.ones_like(z), -over(xp, -z))


def _gamma_inverse(xp: Any, z: Any) -> Terms:
    return Terms(-z, xp.log(z), -xp.ones_like(z), over(xp, z))


def _gamma_log(xp: Any, z: Any) -> Terms:
    rate = links.log.mean(-z)
    return Terms(-rate, -z, rate, -xp.ones_like(z))


def _gamma_identity(xp: Any, z: Any) -> Terms:
    rate = over(xp, z)
    return Terms(-rate, -xp.log(z), rate * rate, -rate)


class ExponentialLikelihood(PowerLinkLikelihood):
    """-y / mu - log mu."""

    name = "exponential"
    compiled_links = frozenset({"log"})
    positive_targets = True
    zero_targets = False  # a y of 0 is legal, but its likelihood is unbounded
    forms: ClassVar[dict[str, LinkForm]] = {
        "negative_inverse": LinkForm(_gamma_negative_inverse, high=0.0, closed=False),
        "inverse": LinkForm(_gamma_inverse, low=0.0, closed=False),
        "log": LinkForm(_gamma_log),
        "identity": LinkForm(_gamma_identity, low=0.0, closed=False),
    }

    def terms_of_mean(self, xp: Any, mean: Any, log_mean: Any, log_slope: Any) -> Terms:
        """Return -1 / mu and -log mu."""
        return Terms(-1 / mean, -log_mean, log_slope / mean, -log_slope)

    def slope_share(self, link: Link) -> float:
        """Return 1 under the log link, where the observed curvature is y / mu."""
        return float(link is links.log)

    def information(self, terms: Terms) -> Any:
        """Return the squared derivative of the log of the mean."""
        return terms.b_slope * terms.b_slope

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return the squared mean."""
        return mean * mean

    def saturated(self, xp: Any, y: Any) -> Any:
        """Return -1 - log y, infinite at 0, where the density is unbounded."""
        return -1 - xp.log(y)


@dataclass(frozen=True, init=False, eq=False)
class Exponential(Distribution):
    """y is a waiting time at a rate. eta = -rate, T = y, a = -log(-eta).

    Parameters
    ----------
    rate
        One over the expected time.

    Examples
    --------
    >>> Exponential(2.0).log_prob([0.0, 1.0, -1.0]).round(3)
    array([ 0.693, -1.307,   -inf])
    """

    rate: FloatArray

    name = "exponential"
    row_likelihood = ExponentialLikelihood()
    mean_range = (0.0, np.inf)
    support = "a finite number, 0 or more"
    canonical_link = links.negative_inverse

    def __init__(self, rate: npt.ArrayLike) -> None:
        self._hold(rate=positive("rate", rate))

    @staticmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return -log(-eta)."""
        return np.asarray(-np.log(np.negative(eta)))

    @staticmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return -1 / eta."""
        return np.asarray(links.negative_inverse.mean(eta))

    @staticmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return 1 / eta^2."""
        return np.asarray(links.negative_inverse.mean_and_slope(eta)[1])

    @property
    def natural(self) -> FloatArray:
        """Minus the rate."""
        return -self.rate

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the distribution with this natural parameter, which is negative."""
        return cls(positive("-eta", np.negative(eta)))

    @classmethod
    def estimate(cls, statistics: DiagonalMoments, alpha: npt.ArrayLike = 0.0) -> Self:
        """Return one over the mean of each class and feature, (k, d).

        ``alpha`` is a number of pseudo-observations at the feature's mean over all rows.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics.labels import Labels
        >>> from suffice.statistics.moments import DiagonalMoments
        >>> Exponential.estimate(DiagonalMoments(Labels((0,)), np.ones(1), np.array([[4.0]]), np.zeros((1, 1))))
        Exponential(rate=array([[0.25]]))
        """
        strength = check_alpha(alpha, statistics.mean.shape[1])
        require_evidence(statistics.labels, statistics.weights + strength.min(initial=np.inf), "mean is")
        require_known(statistics.labels, statistics.observed + strength, "mean is")
        pooled_mean, _ = statistics.pooled()
        base = np.where(statistics.observed.sum(axis=0) > 0, pooled_mean, 1.0)  # without rows the rate is arbitrary
        mean = pseudo_mean(statistics.mean, statistics.observed, base, strength)
        require_spread(statistics.labels, mean > 0, "mean is 0 and its rate is")
        return cls(1 / mean)

    def sample(self, size: Size = (), random_state: RandomState = None) -> npt.NDArray[Any]:
        """Return drawn times."""
        return np.asarray(np.random.default_rng(random_state).standard_exponential(self._draws(size)) / self.rate)

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return (y >= 0) & (y < np.inf)

    def _log_density(self, y: FloatArray) -> FloatArray:
        return np.log(self.rate) - self.rate * y

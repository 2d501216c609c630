"""The Poisson family: counts of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from suffice.families import links
from suffice.families.base import Distribution, RandomState, Size, require
from suffice.families.gamma_functions import log_gamma
from suffice.families.priors import check_alpha, require_evidence, require_known
from suffice.families.row_likelihood import LinkForm, PowerLinkLikelihood, Terms, over, times
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.statistics.counts import EventCounts


def _poisson_log(xp: Any, z: Any) -> Terms:
    mean = links.log.mean(z)
    return Terms(z, -mean, xp.ones_like(z), -mean)


def _poisson_identity(xp: Any, z: Any) -> Terms:
    return Terms(xp.log(z), -z, over(xp, z), -xp.ones_like(z))


class PoissonLikelihood(PowerLinkLikelihood):
    """y log mu - mu. The weight of a rate is its exposure."""

    name = "poisson"
    compiled_links = frozenset({"log"})
    is_discrete = True
    value_has_units = True
    positive_targets = True
    separating_links = ("log",)
    forms: ClassVar[dict[str, LinkForm]] = {
        "log": LinkForm(_poisson_log),
        "identity": LinkForm(_poisson_identity, low=0.0),
    }

    def terms_of_mean(self, xp: Any, mean: Any, log_mean: Any, log_slope: Any) -> Terms:
        """Return log mu and -mu."""
        return Terms(log_mean, -mean, log_slope, -mean * log_slope)

    def information(self, terms: Terms) -> Any:
        """Return the squared derivative of the mean over the mean."""
        return -terms.a_slope * terms.b_slope

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return the mean."""
        return mean

    def saturated(self, xp: Any, y: Any) -> Any:
        """Return y log y - y."""
        return times(xp, y, xp.log(y)) - y

    def log_base(self, xp: Any, y: Any, dispersion: float = 1.0) -> Any:
        """Return -log y!."""
        return -log_gamma(xp, y + 1)


@dataclass(frozen=True, init=False, eq=False)
class Poisson(Distribution):
    """y is a count of events with an expected number. eta = log rate, T = y, a = e^eta.

    Parameters
    ----------
    rate
        The expected count; at 0 every count is 0.

    Examples
    --------
    >>> Poisson(2.0).log_prob([0, 2]).round(3)
    array([-2.   , -1.307])
    """

    rate: FloatArray

    name = "poisson"
    row_likelihood = PoissonLikelihood()
    mean_range = (0.0, np.inf)
    is_discrete = True
    support = "a whole number, 0 or more"
    canonical_link = links.log

    def __init__(self, rate: npt.ArrayLike) -> None:
        expected = np.asarray(rate, dtype=np.float64)
        require("rate", expected, (expected >= 0) & (expected < np.inf), "it must be a finite number, 0 or more")
        self._hold(rate=expected)

    @staticmethod
    def log_base(y: npt.ArrayLike) -> FloatArray:
        """Return -log y!."""
        import scipy  # slow to import, and few rows need it

        return np.asarray(-scipy.special.gammaln(np.asarray(y, dtype=np.float64) + 1))

    @staticmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return e^eta."""
        return np.asarray(links.log.mean(eta))

    @staticmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return e^eta."""
        return np.asarray(links.log.mean(eta))

    @staticmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return e^eta."""
        return np.asarray(links.log.mean(eta))

    @property
    def natural(self) -> FloatArray:
        """The log of the rate."""
        return np.asarray(links.log.link(self.rate))

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the distribution with this log-rate."""
        return cls(cls.mean(eta))

    @classmethod
    def estimate(cls, statistics: EventCounts, alpha: npt.ArrayLike = 0.0) -> Self:
        """Return (counts + alpha) / (rows + alpha) of each class and feature, (k, d); rows are those where it is known.

        ``alpha`` is a gamma prior worth that many rows at rate 1; one number, or one per feature.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics import EventCounts, Labels
        >>> seen = EventCounts(Labels(("day",)), rows=np.array([4.0]), counts=np.array([[10.0, 0.0]]))
        >>> Poisson.estimate(seen, alpha=1).rate
        array([[2.2, 0.2]])
        """
        strength = check_alpha(alpha, statistics.counts.shape[1])
        require_evidence(statistics.labels, statistics.rows + strength.min(initial=np.inf), "rate is")
        statistics.check_digits(strength)
        evidence = statistics.observed + strength
        require_known(statistics.labels, evidence, "rate is")
        return cls((statistics.counts + strength) / evidence)

    def sample(self, size: Size = (), random_state: RandomState = None) -> npt.NDArray[Any]:
        """Return drawn counts."""
        return np.asarray(np.random.default_rng(random_state).poisson(self.rate, self._draws(size)))

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return np.asarray((y >= 0) & (y < np.inf) & (y == np.floor(y)))

    def _log_density(self, y: FloatArray) -> FloatArray:
        import scipy  # slow to import, and few rows need it

        return np.asarray(scipy.special.xlogy(y, self.rate) - self.rate - scipy.special.gammaln(y + 1))

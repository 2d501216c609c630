"""The Bernoulli family: binary outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from suffice.families import links
from suffice.families.base import TINY, Distribution, RandomState, Size, require
from suffice.families.links import normal_functions
from suffice.families.priors import check_alpha, require_evidence, require_known
from suffice.families.row_likelihood import LinkForm, ScalarLikelihood, Terms, over, times
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.statistics.counts import PresenceCounts


def _log_share(part: FloatArray, rest: FloatArray) -> FloatArray:
    """Return log(part) where part + rest = 1, accurate at both ends: near 1 it is computed from the rest."""
    log_part = np.log(part, out=np.full_like(part, -np.inf), where=part > 0)
    return np.log1p(-rest, out=log_part, where=rest < 0.5)


def log_choose(trials: npt.ArrayLike, events: npt.ArrayLike) -> FloatArray:
    """Return log C(trials, events), the constant term of the binomial log-likelihood.

    A regression of proportions with the trials as weights omits it, as it does not depend on the predictor.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_choose([4.0, 4.0], [0.0, 2.0])).round(12)
    array([1., 6.])
    """
    import scipy  # slow to import, and few rows need it

    all_trials, happened = np.asarray(trials, dtype=np.float64), np.asarray(events, dtype=np.float64)
    legal = (happened >= 0) & (happened <= all_trials) & (all_trials < np.inf)
    require("events", np.broadcast_to(happened, legal.shape), legal, "events must be between 0 and the trials")
    return np.asarray(-scipy.special.betaln(all_trials - happened + 1, happened + 1) - np.log1p(all_trials))


def _bernoulli_logit(xp: Any, z: Any) -> Terms:
    rest = xp.log1p(xp.exp(-xp.abs(z)))  # exponent <= 0: cannot overflow
    p, q = links.logit.mean(z), links.logit.mean(-z)
    return Terms(xp.clip(z, max=0.0) - rest, xp.clip(-z, max=0.0) - rest, q, -p)


def _bernoulli_probit(xp: Any, z: Any) -> Terms:
    normal, root2 = normal_functions(z), math.sqrt(2)
    # density / distribution function, by erfcx: both underflow, their ratio does not
    a_slope, b_slope = (math.sqrt(2 / math.pi) / normal.erfcx(side / root2) for side in (-z, z))
    return Terms(normal.log_ndtr(z), normal.log_ndtr(-z), a_slope, -b_slope)


def _bernoulli_cloglog(xp: Any, z: Any) -> Terms:
    rate = xp.clip(links.log.mean(z), min=TINY)
    p = -xp.expm1(-rate)
    # log(1 - exp(-rate)) is log(rate) - rate / 2 for small rates, where rate itself underflows
    return Terms(xp.where(z < -30, z - rate / 2, xp.log(p)), -rate, rate * xp.exp(-rate) / p, -rate)


def _bernoulli_cauchit(xp: Any, z: Any) -> Terms:
    p, slope = links.cauchit.mean_and_slope(z)
    q = links.cauchit.mean(-z)
    return Terms(_log_of_tail(xp, p, q), _log_of_tail(xp, q, p), slope / p, -slope / q)


def _log_of_tail(xp: Any, part: Any, rest: Any) -> Any:
    """Return log(part), where part + rest = 1, from the smaller of both."""
    return xp.where(part < 0.5, xp.log(part), xp.log1p(-xp.clip(rest, max=0.5)))


def _bernoulli_log(xp: Any, z: Any) -> Terms:
    q = -xp.expm1(z)
    return Terms(z, xp.log(q), xp.ones_like(z), -xp.exp(z) * over(xp, q))


def _bernoulli_identity(xp: Any, z: Any) -> Terms:
    return Terms(xp.log(z), xp.log1p(-z), over(xp, z), -over(xp, 1 - z))


class BernoulliLikelihood(ScalarLikelihood):
    """y log p + (1 - y) log q. The weight of a proportion is its number of trials."""

    name = "bernoulli"
    forms: ClassVar[dict[str, LinkForm]] = {
        "logit": LinkForm(_bernoulli_logit),
        "probit": LinkForm(_bernoulli_probit),
        "cloglog": LinkForm(_bernoulli_cloglog),
        "cauchit": LinkForm(_bernoulli_cauchit),
        "log": LinkForm(_bernoulli_log, high=0.0),
        "identity": LinkForm(_bernoulli_identity, low=0.0, high=1.0),
    }
    compiled_links = frozenset({"logit"})
    is_discrete = True
    separating_links = ("logit", "probit", "cloglog", "cauchit", "log")
    high = 1.0
    target_words = "between 0 and 1"

    def information(self, terms: Terms) -> Any:
        """Return the squared derivative of the mean over p q."""
        return -terms.a_slope * terms.b_slope

    def legal_targets(self, xp: Any, y: Any) -> Any:
        """Return which targets are proportions."""
        return (y >= 0) & (y <= 1)

    def rest(self, xp: Any, y: Any) -> Any:
        """Return 1 - y."""
        return 1 - y

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return p q."""
        return mean * (1 - mean)

    def saturated(self, xp: Any, y: Any) -> Any:
        """Return y log y + (1 - y) log(1 - y)."""
        return times(xp, y, xp.log(y)) + times(xp, 1 - y, xp.log1p(-y))


@dataclass(frozen=True, init=False, eq=False)
class Bernoulli(Distribution):
    """y = 1 with probability p, else 0. eta = log(p / q), T = y, a = log(1 + e^eta).

    Parameters
    ----------
    p
        The probability of 1.
    q
        The probability of 0, if it is known more accurately than 1 - p, which rounds to 0 near p = 1.

    Examples
    --------
    >>> Bernoulli(0.25).log_prob([0, 1]).round(3)
    array([-0.288, -1.386])
    >>> float(Bernoulli.mean(0.0))
    0.5
    """

    p: FloatArray
    q: FloatArray

    name = "bernoulli"
    row_likelihood = BernoulliLikelihood()
    mean_range = (0.0, 1.0)
    is_discrete = True
    support = "0 or 1"
    canonical_link = links.logit

    def __init__(self, p: npt.ArrayLike, q: npt.ArrayLike | None = None) -> None:
        yes = np.asarray(p, dtype=np.float64)
        no = 1 - yes if q is None else np.asarray(q, dtype=np.float64)
        yes, no = np.broadcast_arrays(yes, no)
        require("p", yes, (yes >= 0) & (yes <= 1), "a probability must be between 0 and 1")
        require("q", no, (no >= 0) & (np.abs(yes + no - 1) <= 1e-9), "p and q must sum to 1, with q >= 0")
        self._hold(p=yes, q=no)

    @staticmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return log(1 + e^eta)."""
        return np.asarray(np.logaddexp(0.0, eta))

    @staticmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return the probability of 1."""
        return np.asarray(links.logit.mean(eta))

    @staticmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return p q."""
        return np.asarray(links.logit.mean_and_slope(eta)[1])

    @property
    def natural(self) -> FloatArray:
        """The log-odds; infinite for p of 0 or 1."""
        return _log_share(self.p, self.q) - _log_share(self.q, self.p)

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the distribution with these log-odds."""
        return cls(links.logit.mean(eta), links.logit.mean(np.negative(eta)))

    @classmethod
    def estimate(cls, statistics: PresenceCounts, alpha: npt.ArrayLike = 0.0) -> Self:
        """Return (c + alpha) / (n + 2 alpha) of each class and feature, (k, d), with n the rows where it is known.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics import Labels, PresenceCounts
        >>> seen = PresenceCounts(Labels(("ham",)), rows=np.array([2.0]), counts=np.array([[2.0, 0.0]]))
        >>> Bernoulli.estimate(seen, alpha=1).p
        array([[0.75, 0.25]])
        """
        counts = statistics.counts
        strength = check_alpha(alpha, counts.shape[1])
        require_evidence(statistics.labels, statistics.rows + strength.min(initial=np.inf), "probability is")
        require_known(statistics.labels, statistics.observed + strength, "probability is")
        absent = np.maximum(statistics.observed - counts, 0.0)  # fractional weights may round
        statistics.check_digits(strength)
        statistics.complement().check_digits(strength)
        present, absent = counts + strength, absent + strength
        total = present + absent
        return cls(present / total, absent / total)

    def sample(self, size: Size = (), random_state: RandomState = None) -> npt.NDArray[Any]:
        """Return draws of 0 and 1."""
        return (np.random.default_rng(random_state).random(self._draws(size)) < self.p).astype(np.int64)

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return np.asarray((y == 0) | (y == 1))

    def _log_density(self, y: FloatArray) -> FloatArray:
        return np.where(y == 1, _log_share(self.p, self.q), _log_share(self.q, self.p))


def Binomial() -> type[Bernoulli]:  # noqa: N802  (called as a family is)
    """Return the binomial family of regressions: the Bernoulli family, whose rows may have several trials.

    Examples
    --------
    >>> Binomial().name
    'bernoulli'
    """
    return Bernoulli

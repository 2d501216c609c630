"""The Bernoulli family: whether it happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

from suffice.families import links
from suffice.families.base import Family, RandomState, Size, require
from suffice.families.priors import check_alpha, require_evidence, require_known
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.statistics.counts import PresenceCounts


def _log_share(part: FloatArray, rest: FloatArray) -> FloatArray:
    """Return log(part) where part + rest = 1, exact at both ends: near 1, the rest holds the digits."""
    log_part = np.log(part, out=np.full_like(part, -np.inf), where=part > 0)
    return np.log1p(-rest, out=log_part, where=rest < 0.5)


def log_choose(trials: npt.ArrayLike, events: npt.ArrayLike) -> FloatArray:
    """Return log C(trials, events): what the log-likelihood of events counted over trials has beside that of each.

    A regression of proportions with the trials as weights leaves it out, as it does not hang on the predictor.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_choose([4.0, 4.0], [0.0, 2.0])).round(12)
    array([1., 6.])
    """
    all_trials, happened = np.asarray(trials, dtype=np.float64), np.asarray(events, dtype=np.float64)
    legal = (happened >= 0) & (happened <= all_trials) & (all_trials < np.inf)
    require("events", np.broadcast_to(happened, legal.shape), legal, "events must be between 0 and the trials")
    return np.asarray(-betaln(all_trials - happened + 1, happened + 1) - np.log1p(all_trials))


@dataclass(frozen=True, init=False, eq=False)
class Bernoulli(Family):
    """y = 1 with probability p, else 0. eta = log(p / q), T = y, a = log(1 + e^eta).

    Parameters
    ----------
    p
        The probability of 1.
    q
        The probability of 0, for when it is known better than 1 - p, which rounds to 0 near p = 1.

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
        """Return the member with these log-odds."""
        return cls(links.logit.mean(eta), links.logit.mean(np.negative(eta)))

    @classmethod
    def estimate(cls, statistics: PresenceCounts, alpha: npt.ArrayLike = 0.0) -> Self:
        """Return (c + alpha) / (n + 2 alpha) of each class and feature, (k, d), n being the rows that know it.

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
        absent = np.maximum(statistics.observed - counts, 0.0)  # fractional weights round
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

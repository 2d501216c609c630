"""The multinomial family: counts of k outcomes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import array_api_compat
import numpy as np
import numpy.typing as npt

from suffice.families import links
from suffice.families.base import RandomState, Size, require
from suffice.families.categorical import Simplex
from suffice.families.links import Link
from suffice.families.priors import check_alpha, laplace, require_evidence
from suffice.families.row_likelihood import Curve, ShareLikelihood, held_inside
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.statistics.counts import EventCounts


class MultinomialLikelihood(ShareLikelihood):
    """The log-probability of the class with a code; the last class has no predictor."""

    name = "multinomial"
    compiled_links = frozenset({"softmax"})
    is_discrete = True
    separating_links = ("softmax",)
    link_names = (links.softmax.name,)

    def predictor_names(self, targets: int) -> tuple[str, ...]:
        """Return the classes except the last."""
        if targets < 2:
            raise ValueError(f"a multinomial regression needs 2 classes or more; there is {targets}")
        return tuple(f"class {code}" for code in range(targets - 1))

    def check_targets(self, xp: Any, y: Any, classes: int | None) -> None:
        """Raise ValueError for the first target that is not a class code."""
        legal = (y >= 0) & (y < (math.inf if classes is None else classes)) & (y == xp.floor(y))
        words = "a code, 0 or more" if classes is None else f"a code from 0 to {classes - 1}"
        require("y", y, legal, f"a multinomial target must be {words}")

    def curve(self, xp: Any, link: Link, z: Any, y: Any) -> Curve:
        """Return the curve of the softmax."""
        mean, slope = link.mean_and_slope(z)
        codes = xp.astype(y, xp.int64, copy=False)
        chosen = codes[:, None] == xp.arange(z.shape[1], device=array_api_compat.device(z))[None, :]
        top = xp.clip(xp.max(z, axis=1), min=0.0)
        rest = xp.log(xp.exp(-top) + xp.sum(xp.exp(z - top[:, None]), axis=1))  # exponents <= 0: cannot overflow
        value = xp.sum(xp.where(chosen, z, xp.zeros_like(z)), axis=1) - top - rest
        return Curve(value, xp.astype(chosen, xp.float64) - mean[:, :-1], slope[:, :-1, :])

    def mean(self, xp: Any, link: Link, z: Any) -> Any:
        """Return the probability of each class, (n, k)."""
        return link.mean(z)

    def saturated(self, xp: Any, y: Any) -> Any:
        """Return 0, the log of probability 1."""
        return xp.zeros_like(y)

    def start(self, link: Link, mean: FloatArray, variance: FloatArray | None) -> FloatArray:
        """Return the log-odds of each class against the last."""
        return np.asarray(link.link(held_inside(mean, 0.0, math.inf)))


class Multinomial(Simplex):
    """y counts k outcomes in a known number of trials (a document's length).

    eta_i = log(p_i / p_k), T = the first k - 1 counts, a = trials times log(1 + sum of e^eta).

    Parameters
    ----------
    p
        The probabilities of the outcomes, on the last axis; they sum to 1.

    Examples
    --------
    >>> Multinomial([0.5, 0.5, 0.0]).log_prob([[1, 1, 0], [1, 0, 1]]).round(3)
    array([-0.693,   -inf])
    """

    name = "multinomial"
    row_likelihood = MultinomialLikelihood()
    support = "whole numbers, 0 or more"
    canonical_link = links.softmax
    vector_values = True

    @staticmethod
    def sufficient(y: npt.ArrayLike) -> FloatArray:
        """Return the first k - 1 counts."""
        return np.asarray(y, dtype=np.float64)[..., :-1]

    @staticmethod
    def log_base(y: npt.ArrayLike) -> FloatArray:
        """Return the log of the multinomial coefficient."""
        import scipy  # slow to import, and few rows need it

        counts = np.asarray(y, dtype=np.float64)
        return np.asarray(
            scipy.special.gammaln(counts.sum(axis=-1) + 1) - scipy.special.gammaln(counts + 1).sum(axis=-1)
        )

    @staticmethod
    def log_partition(eta: npt.ArrayLike, trials: npt.ArrayLike = 1.0) -> FloatArray:
        """Return trials times log(1 + sum of e^eta)."""
        return np.asarray(trials, dtype=np.float64) * Simplex.log_partition(eta)

    @staticmethod
    def mean(eta: npt.ArrayLike, trials: npt.ArrayLike = 1.0) -> FloatArray:
        """Return the expected first k - 1 counts."""
        return np.asarray(trials, dtype=np.float64)[..., None] * Simplex.mean(eta)

    @staticmethod
    def variance(eta: npt.ArrayLike, trials: npt.ArrayLike = 1.0) -> FloatArray:
        """Return the covariance of the first k - 1 counts."""
        return np.asarray(trials, dtype=np.float64)[..., None, None] * Simplex.variance(eta)

    @classmethod
    def estimate(cls, statistics: EventCounts, alpha: npt.ArrayLike = 0.0) -> Self:
        """Return (c + alpha) / (all counts + sum of alpha) of each class, (k, d).

        ``alpha`` is one number, or one per outcome.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics import EventCounts, Labels
        >>> seen = EventCounts(Labels(("ham",)), rows=np.array([1.0]), counts=np.array([[2.0, 0.0]]))
        >>> Multinomial.estimate(seen, alpha=1).p
        array([[0.75, 0.25]])
        """
        strength = check_alpha(alpha, statistics.counts.shape[1])
        statistics.check_digits(strength)
        evidence = statistics.counts.sum(axis=1) + strength.sum()
        require_evidence(statistics.labels, evidence, "probabilities are", noun="counts")
        return cls(laplace(statistics.counts, strength))

    def sample(self, size: Size = (), random_state: RandomState = None, trials: npt.ArrayLike = 1) -> npt.NDArray[Any]:
        """Return drawn counts; ``trials`` broadcasts against the draws."""
        p = self.p / self.p.sum(axis=-1, keepdims=True)
        number = np.broadcast_to(np.asarray(trials, dtype=np.int64), self._draws(size))
        return np.random.default_rng(random_state).multinomial(number, p)

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return np.asarray(((y >= 0) & (y < np.inf) & (y == np.floor(y))).all(axis=-1))

    def _log_density(self, y: FloatArray) -> FloatArray:
        # xlogy: an outcome of probability 0 that did not occur adds 0, not NaN.
        import scipy  # slow to import, and few rows need it

        return np.asarray(self.log_base(y) + scipy.special.xlogy(y, self.p).sum(axis=-1))

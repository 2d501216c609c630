"""The beta family: shares between 0 and 1, the first part of a Dirichlet with two parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy

from suffice.families.base import TINY, Distribution, RandomState, Size, positive, require
from suffice.families.bernoulli import BernoulliLikelihood
from suffice.families.dirichlet import (
    LARGEST_LOG_CONCENTRATION,
    Dirichlet,
    concentration_terms,
    estimate_concentration,
    no_deviance,
    total_concentration,
)
from suffice.families.links import Link
from suffice.families.priors import check_alpha
from suffice.families.row_likelihood import Curve, LinkForm, ShareLikelihood, Terms, held_inside, impossible
from suffice.statistics.base import FloatArray
from suffice.statistics.rounding import EPSILON

if TYPE_CHECKING:
    from suffice.statistics.moments import DiagonalMoments

_SHARES = BernoulliLikelihood.forms


def _cloglog(xp: Any, z: Any) -> Terms:
    # log q is minus exp z, and so is its derivative: clipped so that the square is finite.
    return _SHARES["cloglog"].terms(xp, xp.clip(z, max=LARGEST_LOG_CONCENTRATION))


class BetaLikelihood(ShareLikelihood):
    """The first predictor is the link of the mean, the second is the log of the precision a + b.

    The canonical link, a - 1 and b - 1 linear, is not available: it would allow negative a and b, and the mean would
    not be a function of one predictor.
    """

    name = "beta"
    has_deviance = False
    forms: ClassVar[dict[str, LinkForm]] = {
        "logit": _SHARES["logit"],
        "probit": _SHARES["probit"],
        "cloglog": LinkForm(_cloglog),
        "log": _SHARES["log"]._replace(closed=False),
    }
    link_names = tuple(forms)

    def predictor_names(self, targets: int) -> tuple[str, ...]:
        """Return the two parameters."""
        return ("mean", "precision")

    def check_targets(self, xp: Any, y: Any, classes: int | None) -> None:
        """Raise ValueError for the first target that is not between 0 and 1."""
        words = (
            "a beta target must be above 0 and below 1; if 0 or 1 can occur, shrink all n targets to the middle: "
            "(y * (n - 1) + 0.5) / n"
        )
        require("y", y, (y > 0) & (y < 1), words)

    def curve(self, xp: Any, link: Link, z: Any, y: Any) -> Curve:
        """Return the curve of the beta with a = mean precision, b = (1 - mean) precision."""
        form = self.forms[link.name]
        legal, at = form.legal(xp, z[:, 0])
        terms = form.terms(xp, at)
        log_y = xp.stack([xp.log(y), xp.log1p(-y)], axis=1)
        log_total = xp.clip(z[:, 1], max=LARGEST_LOG_CONCENTRATION)
        beta = concentration_terms(xp, log_y, xp.stack([terms.a, terms.b], axis=1), log_total)
        slopes, excess = xp.stack([terms.a_slope, terms.b_slope], axis=1), beta.part_excess  # of log a, log b by z_1
        slope = xp.stack([xp.sum(slopes * beta.pull, axis=1), xp.sum(beta.pull, axis=1)], axis=1)
        mean_mean = xp.sum(slopes * slopes * (beta.share * beta.total[:, None] + excess), axis=1)
        mean_precision = xp.sum(slopes * excess, axis=1)  # a and b cancel: their sum does not depend on z_1
        precision_precision = xp.sum(excess, axis=1) - beta.total_excess
        first = xp.stack([mean_mean, mean_precision], axis=1)
        second = xp.stack([mean_precision, precision_precision], axis=1)
        curve = Curve(beta.value, slope, xp.stack([first, second], axis=1))
        return curve if legal is None else impossible(xp, legal, curve)

    def mean(self, xp: Any, link: Link, z: Any) -> Any:
        """Return a / (a + b)."""
        return link.mean(z[:, 0])

    def saturated(self, xp: Any, y: Any) -> Any:
        """Raise ValueError: the likelihood is unbounded."""
        raise no_deviance(self.name)

    def start(self, link: Link, mean: FloatArray, variance: FloatArray | None) -> FloatArray:
        """Return the link of the mean, and the log of the precision implied by the variance."""
        mean = held_inside(mean, 0.0, 1.0)
        return np.append(link.link(mean), np.log(total_concentration(mean, variance, 1.0)))


@dataclass(frozen=True, init=False, eq=False)
class Beta(Distribution):
    """y is between 0 and 1. eta = (a - 1, b - 1), T = (log y, log(1 - y)).

    A regression predicts the mean and the log of the precision a + b.

    Parameters
    ----------
    a, b
        The mean is a / (a + b).

    Examples
    --------
    >>> Beta(2.0, 1.0).log_prob([0.5, 0.25]).round(3)
    array([ 0.   , -0.693])
    """

    a: FloatArray
    b: FloatArray

    name = "beta"
    row_likelihood = BetaLikelihood()
    support = "above 0 and below 1"
    _inner = 0.5

    def __init__(self, a: npt.ArrayLike, b: npt.ArrayLike) -> None:
        first, second = np.broadcast_arrays(positive("a", a), positive("b", b))
        self._hold(a=first, b=second)

    @staticmethod
    def sufficient(y: npt.ArrayLike) -> FloatArray:
        """Return (log y, log(1 - y))."""
        values = np.asarray(y, dtype=np.float64)
        return np.stack([np.log(values), np.log1p(-values)], axis=-1)

    @staticmethod
    def sufficient_columns(x: npt.ArrayLike) -> FloatArray:
        """Return the columns whose moments :meth:`estimate` takes: all log x, then all log(1 - x), (n, 2d)."""
        rows = np.asarray(x, dtype=np.float64)
        require("x", rows, (rows > 0) & (rows < 1), f"a beta value must be {Beta.support}")
        return np.concatenate([np.log(rows), np.log1p(-rows)], axis=1)

    @staticmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return log B(a, b)."""
        return Dirichlet.log_partition(eta)

    @staticmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return (E log y, E log(1 - y))."""
        return Dirichlet.mean(eta)

    @staticmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return the covariance of (log y, log(1 - y))."""
        return Dirichlet.variance(eta)

    @property
    def natural(self) -> FloatArray:
        """(a - 1, b - 1)."""
        return np.stack([self.a - 1, self.b - 1], axis=-1)

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the distribution with this natural parameter."""
        one, two = np.moveaxis(np.asarray(eta, dtype=np.float64), -1, 0)
        return cls(one + 1, two + 1)

    @classmethod
    def estimate(cls, statistics: DiagonalMoments, alpha: npt.ArrayLike = 0.0) -> Self:
        """Return a and b of each class and feature, (k, d), from moments of :meth:`sufficient_columns`.

        ``alpha`` is a number of pseudo-observations from the uniform distribution, a = b = 1.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics.labels import Labels
        >>> from suffice.statistics.moments import DiagonalMoments
        >>> mean = Beta.mean([[1.0, 2.0]])
        >>> member = Beta.estimate(DiagonalMoments(Labels((0,)), np.ones(1), mean, np.zeros((1, 2))))
        >>> member.a.round(9), member.b.round(9)
        (array([[2.]]), array([[3.]]))
        """
        features = statistics.mean.shape[1] // 2
        mean_log = np.stack([statistics.mean[:, :features], statistics.mean[:, features:]], axis=-1)
        strength = check_alpha(alpha, features)
        solved = estimate_concentration(statistics.labels, statistics.weights, mean_log, strength)
        return cls(solved[..., 0], solved[..., 1])

    def sample(self, size: Size = (), random_state: RandomState = None) -> npt.NDArray[Any]:
        """Return draws, clipped to the inside of (0, 1)."""
        drawn = np.random.default_rng(random_state).beta(self.a, self.b, self._draws(size))
        return np.clip(drawn, TINY, 1 - EPSILON / 2)

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return (y > 0) & (y < 1)

    def _log_density(self, y: FloatArray) -> FloatArray:
        return np.asarray(
            scipy.special.xlogy(self.a - 1, y)
            + scipy.special.xlog1py(self.b - 1, -y)
            - self.log_partition(self.natural)
        )

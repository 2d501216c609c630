"""The beta family: a share between 0 and 1. It is the Dirichlet of two parts, told by the first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import xlog1py, xlogy

from suffice.families.base import TINY, Family, RandomState, Size, positive, require
from suffice.families.dirichlet import Dirichlet, estimate_concentration
from suffice.families.priors import EPSILON, check_alpha
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.statistics.moments import DiagonalMoments


@dataclass(frozen=True, init=False, eq=False)
class Beta(Family):
    """y lies between 0 and 1. eta = (a - 1, b - 1), T = (log y, log(1 - y)).

    Its regression reading predicts the mean and the log of the precision a + b.

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
    support = "between 0 and 1, and neither of them"
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
        """Return the columns whose moments :meth:`estimate` reads: all log x, then all log(1 - x), (n, 2d)."""
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
        """Return the member with this natural parameter."""
        one, two = np.moveaxis(np.asarray(eta, dtype=np.float64), -1, 0)
        return cls(one + 1, two + 1)

    @classmethod
    def estimate(cls, statistics: DiagonalMoments, alpha: npt.ArrayLike = 0.0) -> Self:
        """Return a and b of each class and feature, (k, d), from moments of :meth:`sufficient_columns`.

        ``alpha`` is a number of pseudo-observations from the uniform member, a = b = 1.

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
        """Return draws; those too near an end for a float are held at the nearest one inside."""
        drawn = np.random.default_rng(random_state).beta(self.a, self.b, self._draws(size))
        return np.clip(drawn, TINY, 1 - EPSILON / 2)

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return (y > 0) & (y < 1)

    def _log_density(self, y: FloatArray) -> FloatArray:
        return np.asarray(xlogy(self.a - 1, y) + xlog1py(self.b - 1, -y) - self.log_partition(self.natural))

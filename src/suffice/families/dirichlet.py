"""The Dirichlet family: shares of a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, digamma, polygamma, softmax, xlogy

from suffice.families.base import TINY, Family, RandomState, Size, positive, positive_root, require
from suffice.families.priors import EPSILON, check_alpha, pseudo_mean, require_evidence, require_spread
from suffice.statistics.base import FloatArray
from suffice.statistics.labels import Labels

if TYPE_CHECKING:
    from suffice.statistics.moments import DiagonalMoments


def inverse_digamma(value: FloatArray) -> FloatArray:
    """Return the x > 0 with digamma(x) = value: five Newton steps from Minka's start give all digits.

    Examples
    --------
    >>> import numpy as np
    >>> inverse_digamma(digamma(np.array([1e-3, 1.0, 1e6]))).round(6)
    array([1.e-03, 1.e+00, 1.e+06])
    """
    low = np.minimum(value, -2.22)
    x = np.where(value >= -2.22, np.exp(np.minimum(value, 700.0)) + 0.5, -1 / (low - digamma(1.0)))
    for _ in range(5):
        x = x - (digamma(x) - value) / polygamma(1, x)
    return np.asarray(x)


def solve_concentration(mean_log: FloatArray) -> FloatArray:
    """Return the a with digamma(a_i) - digamma(sum a) = mean_log_i, on the last axis.

    Given the total s = sum a, each a_i is an inverse digamma; one equation is left, that they sum to s. Its excess is
    positive below the solution and negative above, so it is solved inside a bracket, whatever the sizes of the a_i.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([0.01, 2.0, 1e3])
    >>> np.allclose(solve_concentration(digamma(a) - digamma(a.sum())), a)
    True
    """
    parts = mean_log.shape[-1]

    def excess(total: FloatArray) -> tuple[FloatArray, FloatArray]:
        a = inverse_digamma(digamma(total)[..., None] + mean_log)
        slopes = polygamma(1, total)[..., None] / polygamma(1, a)
        return a.sum(axis=-1) - total, slopes.sum(axis=-1) - 1

    total = positive_root(excess, (parts - 1) / (2 * np.maximum(_lack(mean_log), EPSILON)))
    return inverse_digamma(digamma(total)[..., None] + mean_log)


def _lack(mean_log: FloatArray) -> FloatArray:
    """Return 1 - sum of exp(mean_log): 0 where every row is the same, about (parts - 1) / (2 total) near it."""
    largest = np.argmax(mean_log, axis=-1)[..., None]
    others = np.where(np.arange(mean_log.shape[-1]) == largest, 0.0, np.exp(mean_log)).sum(axis=-1)
    # expm1 keeps the digits of the part nearest 1.
    return np.asarray(-np.expm1(np.take_along_axis(mean_log, largest, axis=-1)[..., 0]) - others)


def estimate_concentration(labels: Labels, weights: FloatArray, mean_log: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the concentrations, (k, d, parts), of d compositions from their mean logs, (k, d, parts).

    ``alpha``, (d,), is a number of pseudo-observations from the uniform member.

    Examples
    --------
    >>> import numpy as np
    >>> mean_log = digamma([[[2.0, 3.0]]]) - digamma(5.0)
    >>> estimate_concentration(Labels((0,)), np.ones(1), mean_log, np.zeros(1)).round(9)
    array([[[2., 3.]]])
    """
    require_evidence(labels, weights + alpha.min(initial=np.inf), "concentration is")
    parts = mean_log.shape[-1]
    uniform = np.full(parts, digamma(1.0) - digamma(float(parts)))
    smoothed = pseudo_mean(mean_log, weights[:, None, None], uniform, alpha[:, None])
    require_spread(labels, _lack(smoothed) > 4 * parts * EPSILON, "concentration is")
    return solve_concentration(smoothed)


@dataclass(frozen=True, init=False, eq=False)
class Dirichlet(Family):
    """y is k positive parts that sum to 1, on the last axis. eta = a - 1, T = log y.

    Its regression reading predicts the log of each a.

    Parameters
    ----------
    concentration
        The a, k on the last axis; the mean is a / sum a.

    Examples
    --------
    >>> Dirichlet([1.0, 1.0, 1.0]).log_prob([[0.2, 0.3, 0.5]]).round(3)
    array([0.693])
    """

    concentration: FloatArray  # (..., k)

    name = "dirichlet"
    support = "positive parts that sum to 1"
    vector_values = True
    _inner = 0.5

    def __init__(self, concentration: npt.ArrayLike) -> None:
        a = positive("concentration", concentration)
        if a.ndim == 0 or a.shape[-1] < 2:
            raise ValueError(f"concentration must have two parts or more on its last axis; its shape is {a.shape}")
        self._hold(concentration=a)

    @staticmethod
    def sufficient(y: npt.ArrayLike) -> FloatArray:
        """Return log y."""
        return np.log(np.asarray(y, dtype=np.float64))

    @staticmethod
    def sufficient_columns(x: npt.ArrayLike) -> FloatArray:
        """Return the columns whose moments :meth:`estimate` reads: log x_1 to log x_d, (n, d)."""
        rows = np.asarray(x, dtype=np.float64)
        require("x", rows, _composition(rows), f"a dirichlet value must be {Dirichlet.support}")
        return Dirichlet.sufficient(rows)

    @staticmethod
    def log_base(y: npt.ArrayLike) -> FloatArray:
        """Return 0."""
        return np.zeros(np.shape(y)[:-1])

    @staticmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return the sum of log Gamma(a_i), less log Gamma(sum a)."""
        a = np.asarray(eta, dtype=np.float64) + 1
        # A chain of beta functions, which scipy computes without subtracting large log-gammas where one part is small.
        return np.asarray(betaln(np.cumsum(a, axis=-1)[..., :-1], a[..., 1:]).sum(axis=-1))

    @staticmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return E log y."""
        a = np.asarray(eta, dtype=np.float64) + 1
        return np.asarray(digamma(a) - digamma(a.sum(axis=-1, keepdims=True)))

    @staticmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return the covariance of log y."""
        a = np.asarray(eta, dtype=np.float64) + 1
        return np.asarray(
            polygamma(1, a)[..., None] * np.eye(a.shape[-1]) - polygamma(1, a.sum(axis=-1))[..., None, None]
        )

    @property
    def natural(self) -> FloatArray:
        """The concentration less 1."""
        return self.concentration - 1

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the member with this natural parameter."""
        return cls(np.asarray(eta, dtype=np.float64) + 1)

    @classmethod
    def estimate(cls, statistics: DiagonalMoments, alpha: float = 0.0) -> Self:
        """Return the concentration of each class, (k, d), from moments of :meth:`sufficient_columns`.

        ``alpha`` is a number of pseudo-observations from the uniform member, whose concentration is 1.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics.labels import Labels
        >>> from suffice.statistics.moments import DiagonalMoments
        >>> mean = Dirichlet.mean([[1.0, 2.0]])
        >>> Dirichlet.estimate(DiagonalMoments(Labels((0,)), np.ones(1), mean, np.zeros((1, 2)))).concentration.round(9)
        array([[2., 3.]])
        """
        mean_log, strength = statistics.mean[:, None, :], check_alpha(alpha, 1)
        return cls(estimate_concentration(statistics.labels, statistics.weights, mean_log, strength)[:, 0, :])

    def sample(self, size: Size = (), random_state: RandomState = None) -> npt.NDArray[Any]:
        """Return draws; parts too small for a float are held at the smallest one."""
        rng = np.random.default_rng(random_state)
        shape = (*self._draws(size), self.concentration.shape[-1])
        # log Gamma(a) draws as log Gamma(a + 1) + log(U) / a: at a = 0.001 half the plain draws underflow to 0.
        log_gamma = np.log(rng.standard_gamma(self.concentration + 1, shape))
        log_gamma -= rng.standard_exponential(shape) / self.concentration
        return np.maximum(softmax(log_gamma, axis=-1), TINY)

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return _composition(y)

    def _log_density(self, y: FloatArray) -> FloatArray:
        return np.asarray(xlogy(self.natural, y).sum(axis=-1) - self.log_partition(self.natural))


def _composition(y: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which rows are positive parts of a whole; float32 shares sum to 1 within 1e-6."""
    return np.asarray((y > 0).all(axis=-1) & (np.abs(y.sum(axis=-1) - 1) <= 1e-6))

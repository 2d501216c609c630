"""The Dirichlet family: compositions, positive parts that sum to 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import array_api_compat
import numpy as np
import numpy.typing as npt
import scipy

from suffice.families import links
from suffice.families.base import TINY, Distribution, RandomState, Size, positive, positive_root, require
from suffice.families.gamma_functions import gamma_remainders
from suffice.families.links import Link
from suffice.families.priors import check_alpha, pseudo_mean, require_evidence, require_spread
from suffice.families.row_likelihood import Curve, ShareLikelihood, held_inside
from suffice.statistics.base import FloatArray
from suffice.statistics.labels import Labels
from suffice.statistics.rounding import EPSILON

if TYPE_CHECKING:
    from suffice.statistics.moments import DiagonalMoments

#: Concentrations are clipped at exp of this, so that their products with logs and derivatives are finite.
LARGEST_LOG_CONCENTRATION = 300.0


def inverse_digamma(value: FloatArray) -> FloatArray:
    """Return the x > 0 with digamma(x) = value, by five Newton steps from Minka's initial value.

    Examples
    --------
    >>> import numpy as np
    >>> inverse_digamma(scipy.special.digamma(np.array([1e-3, 1.0, 1e6]))).round(6)
    array([1.e-03, 1.e+00, 1.e+06])
    """
    low = np.minimum(value, -2.22)
    x = np.where(value >= -2.22, np.exp(np.minimum(value, 700.0)) + 0.5, -1 / (low - scipy.special.digamma(1.0)))
    for _ in range(5):
        x = x - (scipy.special.digamma(x) - value) / scipy.special.polygamma(1, x)
    return np.asarray(x)


def solve_concentration(mean_log: FloatArray) -> FloatArray:
    """Return the a with digamma(a_i) - digamma(sum a) = mean_log_i, on the last axis.

    Given the total s = sum a, each a_i is an inverse digamma; the remaining equation is that they sum to s. Its excess
    is positive below the solution and negative above, so it is solved inside a bracket, whatever the sizes of the a_i.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([0.01, 2.0, 1e3])
    >>> np.allclose(solve_concentration(scipy.special.digamma(a) - scipy.special.digamma(a.sum())), a)
    True
    """
    parts = mean_log.shape[-1]

    def excess(total: FloatArray) -> tuple[FloatArray, FloatArray]:
        a = inverse_digamma(scipy.special.digamma(total)[..., None] + mean_log)
        slopes = scipy.special.polygamma(1, total)[..., None] / scipy.special.polygamma(1, a)
        return a.sum(axis=-1) - total, slopes.sum(axis=-1) - 1

    total = positive_root(excess, (parts - 1) / (2 * np.maximum(_lack(mean_log), EPSILON)))
    return inverse_digamma(scipy.special.digamma(total)[..., None] + mean_log)


def _lack(mean_log: FloatArray) -> FloatArray:
    """Return 1 - sum of exp(mean_log): 0 if all rows are equal, about (parts - 1) / (2 total) for nearly equal rows."""
    largest = np.argmax(mean_log, axis=-1)[..., None]
    others = np.where(np.arange(mean_log.shape[-1]) == largest, 0.0, np.exp(mean_log)).sum(axis=-1)
    # expm1 is accurate for the part nearest 1.
    return np.asarray(-np.expm1(np.take_along_axis(mean_log, largest, axis=-1)[..., 0]) - others)


def estimate_concentration(labels: Labels, weights: FloatArray, mean_log: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the concentrations, (k, d, parts), of d compositions from their mean logs, (k, d, parts).

    ``alpha``, (d,), is a number of pseudo-observations from the uniform distribution.

    Examples
    --------
    >>> import numpy as np
    >>> mean_log = scipy.special.digamma([[[2.0, 3.0]]]) - scipy.special.digamma(5.0)
    >>> estimate_concentration(Labels((0,)), np.ones(1), mean_log, np.zeros(1)).round(9)
    array([[[2., 3.]]])
    """
    require_evidence(labels, weights + alpha.min(initial=np.inf), "concentration is")
    parts = mean_log.shape[-1]
    uniform = np.full(parts, scipy.special.digamma(1.0) - scipy.special.digamma(float(parts)))
    smoothed = pseudo_mean(mean_log, weights[:, None, None], uniform, alpha[:, None])
    require_spread(labels, _lack(smoothed) > 4 * parts * EPSILON, "concentration is")
    return solve_concentration(smoothed)


class ConcentrationTerms(NamedTuple):
    """The Dirichlet log-density of rows, parametrised by shares and a total: concentration = total * share."""

    value: Any  # (n,)
    pull: Any  # (n, k), the derivative of the value by the log of each concentration
    share: Any  # (n, k)
    total: Any  # (n,)
    part_excess: Any  # (n, k), a^2 trigamma(a) - a of each concentration a
    total_excess: Any  # (n,), the same of the total


def concentration_terms(xp: Any, log_y: Any, log_share: Any, log_total: Any) -> ConcentrationTerms:
    """Return the density with the leading terms of its gamma functions cancelled analytically.

    With log Gamma(a) = a log a - a + g(a), its log is g(total) and, of each part, a (log y - log share) - log y - g(a):
    the terms are of the size of the total times the distance of y from the shares, not of the total times its log.
    """
    share, total = xp.exp(log_share), xp.exp(log_total)
    a = share * total[:, None]
    parts = gamma_remainders(xp, a, log_share + log_total[:, None])
    whole = gamma_remainders(xp, total, log_total)
    away = a * (log_y - log_share)
    value = xp.sum(away - log_y - parts.log_gamma, axis=1) + whole.log_gamma
    pull = away - parts.digamma + share * whole.digamma[:, None]
    return ConcentrationTerms(value, pull, share, total, parts.trigamma, whole.trigamma)


def total_concentration(mean: FloatArray, variance: FloatArray | None, otherwise: float) -> float:
    """Return the total concentration at which shares of this mean have this variance, summed over the parts."""
    spread = 0.0 if variance is None else float(np.sum(variance))
    if not spread > 0:
        return otherwise
    return float(np.clip(np.sum(mean * (1 - mean)) / spread - 1, 0.1, 1e8))


class DirichletLikelihood(ShareLikelihood):
    """Each predictor is the log of a part's concentration.

    The canonical link, concentration - 1 linear, is not available: it would allow negative concentrations.
    """

    name = "dirichlet"
    link_names = (links.log.name,)
    vector_targets = True
    has_deviance = False

    def predictor_names(self, targets: int) -> tuple[str, ...]:
        """Return the parts."""
        if targets < 2:
            raise ValueError(f"a dirichlet target has 2 parts or more; there is {targets}")
        return tuple(f"part {part}" for part in range(targets))

    def check_targets(self, xp: Any, y: Any, classes: int | None) -> None:
        """Raise ValueError for the first part that is not positive, or row whose parts do not sum to 1."""
        if len(y.shape) != 2 or y.shape[1] < 2 or classes not in (None, y.shape[1]):
            parts = "k), with 2 parts or more" if classes is None else f"{classes})"
            raise ValueError(f"y must be the parts of each row, (n, {parts}; its shape is {tuple(y.shape)}")
        cure = "drop the part, or add a small number to every part and divide each row by its sum"
        require("y", y, (y > 0) & (y < math.inf), f"a part of a dirichlet target must be above 0; {cure}")
        total = xp.sum(y, axis=1)
        # float32 shares sum to 1 within 1e-6
        cure = "divide each row by its sum"
        require("the sum of y", total, xp.abs(total - 1) <= 1e-6, f"the parts of a dirichlet target sum to 1; {cure}")

    def curve(self, xp: Any, link: Link, z: Any, y: Any) -> Curve:
        """Return the curve of the Dirichlet with concentrations exp z."""
        z = xp.clip(z, max=LARGEST_LOG_CONCENTRATION)
        top = xp.max(z, axis=1, keepdims=True)
        log_total = top + xp.log(xp.sum(xp.exp(z - top), axis=1, keepdims=True))
        dirichlet = concentration_terms(xp, xp.log(y), z - log_total, log_total[:, 0])
        share = dirichlet.share
        products = share[:, :, None] * share[:, None, :] * dirichlet.total_excess[:, None, None]
        curvature = dirichlet.total[:, None, None] * links.share_covariance(xp, share) - products
        code = xp.arange(z.shape[1], device=array_api_compat.device(z))
        own = xp.clip(curvature + dirichlet.part_excess[:, :, None], min=0.0)  # negative by rounding only
        return Curve(dirichlet.value, dirichlet.pull, xp.where(code[:, None] == code[None, :], own, curvature))

    def mean(self, xp: Any, link: Link, z: Any) -> Any:
        """Return each concentration's share of their sum, (n, k)."""
        return links.softmax.mean(z[:, :-1] - z[:, -1:])

    def saturated(self, xp: Any, y: Any) -> Any:
        """Raise ValueError: the likelihood is unbounded."""
        raise no_deviance(self.name)

    def start(self, link: Link, mean: FloatArray, variance: FloatArray | None) -> FloatArray:
        """Return the log of the mean times the total concentration implied by the variance."""
        mean = held_inside(mean, 0.0, 1.0)
        return np.asarray(link.link(mean / mean.sum() * total_concentration(mean, variance, float(mean.size))))


def no_deviance(name: str) -> ValueError:
    """Return the error for a family whose likelihood is unbounded."""
    return ValueError(
        f"a {name} regression has no deviance: the density at y is unbounded as the precision grows; "
        "compare log-likelihoods instead"
    )


@dataclass(frozen=True, init=False, eq=False)
class Dirichlet(Distribution):
    """y is k positive parts that sum to 1, on the last axis. eta = a - 1, T = log y.

    A regression predicts the log of each a.

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
    row_likelihood = DirichletLikelihood()
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
        """Return the columns whose moments :meth:`estimate` takes: log x_1 to log x_d, (n, d)."""
        rows = np.asarray(x, dtype=np.float64)
        require("x", rows, _composition(rows), f"a dirichlet value must be {Dirichlet.support}")
        return Dirichlet.sufficient(rows)

    @staticmethod
    def log_base(y: npt.ArrayLike) -> FloatArray:
        """Return 0."""
        return np.zeros(np.shape(y)[:-1])

    @staticmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return the sum of log Gamma(a_i), minus log Gamma(sum a)."""
        a = np.asarray(eta, dtype=np.float64) + 1
        # A chain of beta functions, which scipy computes without cancellation of large log-gammas if one part is small.
        return np.asarray(scipy.special.betaln(np.cumsum(a, axis=-1)[..., :-1], a[..., 1:]).sum(axis=-1))

    @staticmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return E log y."""
        a = np.asarray(eta, dtype=np.float64) + 1
        return np.asarray(scipy.special.digamma(a) - scipy.special.digamma(a.sum(axis=-1, keepdims=True)))

    @staticmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return the covariance of log y."""
        a = np.asarray(eta, dtype=np.float64) + 1
        return np.asarray(
            scipy.special.polygamma(1, a)[..., None] * np.eye(a.shape[-1])
            - scipy.special.polygamma(1, a.sum(axis=-1))[..., None, None]
        )

    @property
    def natural(self) -> FloatArray:
        """The concentration minus 1."""
        return self.concentration - 1

    @classmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the distribution with this natural parameter."""
        return cls(np.asarray(eta, dtype=np.float64) + 1)

    @classmethod
    def estimate(cls, statistics: DiagonalMoments, alpha: float = 0.0) -> Self:
        """Return the concentration of each class, (k, d), from moments of :meth:`sufficient_columns`.

        ``alpha`` is a number of pseudo-observations from the uniform distribution, whose concentration is 1.

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
        """Return draws; parts are clipped at the smallest normal number."""
        rng = np.random.default_rng(random_state)
        shape = (*self._draws(size), self.concentration.shape[-1])
        # log Gamma(a) draws as log Gamma(a + 1) + log(U) / a: at a = 0.001 half the plain draws underflow to 0.
        log_gamma = np.log(rng.standard_gamma(self.concentration + 1, shape))
        log_gamma -= rng.standard_exponential(shape) / self.concentration
        return np.maximum(scipy.special.softmax(log_gamma, axis=-1), TINY)

    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        return _composition(y)

    def _log_density(self, y: FloatArray) -> FloatArray:
        return np.asarray(scipy.special.xlogy(self.natural, y).sum(axis=-1) - self.log_partition(self.natural))


def _composition(y: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which rows are positive parts that sum to 1; float32 shares do within 1e-6."""
    return np.asarray((y > 0).all(axis=-1) & (np.abs(y.sum(axis=-1) - 1) <= 1e-6))

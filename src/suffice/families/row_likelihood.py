"""Base classes of the log-likelihood of a row as a function of its linear predictors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from suffice.families import links
from suffice.families.base import finite, require
from suffice.families.links import Link, Power
from suffice.statistics.base import FloatArray

#: Distance from the ends of its range, where the link is infinite, at which the mean of an initial value is clipped.
START_INSIDE = 1e-6
#: Divisors are clipped at this, so that the reciprocal of the square is finite.
SMALLEST_DIVISOR = 1e-100
#: Logs of means under power links are clipped at this distance from 0.
LARGEST_LOG_MEAN = 230.0


class Terms(NamedTuple):
    """The log-likelihood of a row as y A(z) + r B(z), where r is 1 - y for the Bernoulli and 1 for the others.

    In y eta - a(eta), A is eta and B is -a; for the Bernoulli, A is log p and B is log q, which are stable where eta,
    their difference, is not.
    """

    a: Any
    b: Any
    a_slope: Any
    b_slope: Any


class LinkForm(NamedTuple):
    """A pair of family and link: its terms, and the range of predictors with a valid mean."""

    terms: Callable[[Any, Any], Terms]
    low: float = -math.inf
    high: float = math.inf
    closed: bool = True  # whether a mean at the end of its range is valid

    def legal(self, xp: Any, z: Any) -> tuple[Any, Any]:
        """Return which predictors have a valid mean, None for all, and z with a valid value in place of the others."""
        if math.isinf(self.low) and math.isinf(self.high):
            return None, z
        legal = (z >= self.low) & (z <= self.high) if self.closed else (z > self.low) & (z < self.high)
        inner = 0.5 if self.low < 0.5 < self.high else -0.5
        return legal, xp.where(legal, z, xp.full_like(z, inner))


class Curve(NamedTuple):
    """The log-likelihood of each row, and its derivatives with respect to the row's linear predictors."""

    value: Any  # (n,), without log b(y), at unit dispersion
    slope: Any  # (n, t)
    curvature: Any  # (n, t, t), the expected negative second derivative (Fisher information), or the observed one


class RowLikelihood(ABC):
    """The log-likelihood of one target as a function of its linear predictors, under each link the family allows.

    Arrays are float64 of any library, checked by :class:`~suffice.families.Response`.
    """

    name: str
    link_names: tuple[str, ...]  #: the default one first
    vector_targets: ClassVar[bool] = False  #: whether a target is a row of several numbers
    compiled_links: ClassVar[frozenset[str]] = frozenset()  #: those whose curve is compiled in the kernels
    is_discrete: bool = False  #: whether the likelihood is a probability, not a density
    has_dispersion: bool = False  #: whether there is a dispersion, which is estimated; else it is 1
    has_deviance: ClassVar[bool] = True  #: whether the likelihood of one row is bounded
    value_has_units: bool = False  #: whether the log-likelihood of a row changes with the units of y by a factor
    positive_targets: bool = False  #: whether targets are 0 or more
    variance_power: float = 0.0  #: of the mean in the variance, for compiled kernels of a family with this parameter
    #: Links under which the likelihood may have no maximum: the mean approaches an end of its range.
    separating_links: tuple[str, ...] = ()

    def accepts(self, link: Link) -> bool:
        """Return whether there is a likelihood under this link."""
        return link.name in self.link_names

    def slope_share(self, link: Link) -> float:
        """Return c if the observed curvature is the expected one plus c times the slope, and never negative; else 0.

        It is the power of the mean in the variance, less 1, under the log link, if that is from 1 to 2.
        """
        return 0.0

    @abstractmethod
    def predictor_names(self, targets: int) -> tuple[str, ...]:
        """Return the names of the linear predictors."""

    @abstractmethod
    def check_targets(self, xp: Any, y: Any, classes: int | None) -> None:
        """Raise ValueError for the first target outside the support of the family."""

    @abstractmethod
    def curve(self, xp: Any, link: Link, z: Any, y: Any) -> Curve:
        """Return value, slope and curvature of each row."""

    @abstractmethod
    def mean(self, xp: Any, link: Link, z: Any) -> Any:
        """Return E[y] of each row."""

    @abstractmethod
    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return the variance of y at unit dispersion."""

    @abstractmethod
    def saturated(self, xp: Any, y: Any) -> Any:
        """Return the value of each row where the mean is y."""

    @abstractmethod
    def start(self, link: Link, mean: FloatArray, variance: FloatArray | None) -> FloatArray:
        """Return the predictors, (t,), from which a solver starts."""

    def log_base(self, xp: Any, y: Any, dispersion: float = 1.0) -> Any:
        """Return log b(y) of each row at a dispersion; by default 0."""
        return xp.zeros_like(y if len(y.shape) < 2 else y[:, 0])

    def total_log_base(self, weight: float, log_y: float, dispersion: float) -> float | None:
        """Return the sum of log b(y) if it is a function of the weight and the sum of log y; else None."""
        return None

    def pearson(self, xp: Any, mean: Any, y: Any) -> Any:
        """Return the squared distance of each target from its mean, over the variance at unit dispersion."""
        return (y - mean) ** 2 / self.unit_variance(xp, mean)

    def deviance(self, xp: Any, link: Link, z: Any, y: Any) -> Any:
        """Return twice the difference of the saturated value and the value of each row."""
        return 2 * xp.clip(self.saturated(xp, y) - self.curve(xp, link, z, y).value, min=0.0)  # rounding


def held_inside(mean: FloatArray, low: float, high: float) -> FloatArray:
    """Return means clipped at a small distance from the ends of their range.

    Examples
    --------
    >>> held_inside(np.array([0.0, 0.5, 1.0]), 0.0, 1.0)
    array([1.00000e-06, 5.00000e-01, 9.99999e-01])
    """
    if not np.isfinite(mean).all():
        finite("mean", mean)  # raises, with the position and the value
    mean = np.where(mean <= low, low + START_INSIDE, mean)
    return np.where(mean >= high, high - START_INSIDE, mean)


def times(xp: Any, count: Any, term: Any) -> Any:
    """Return count * term, where 0 * -inf is 0.

    Examples
    --------
    >>> times(np, np.array([0.0, 2.0]), np.array([-np.inf, 3.0]))
    array([0., 6.])
    """
    return count * xp.where(count == 0, xp.zeros_like(term), term)


def impossible(xp: Any, legal: Any, curve: Curve) -> Curve:
    """Return a curve with value -inf and derivatives 0 in the rows that are not legal.

    Examples
    --------
    >>> one = Curve(np.zeros(1), np.ones((1, 1)), np.ones((1, 1, 1)))
    >>> impossible(np, np.array([False]), one).value
    array([-inf])
    """
    value = xp.where(legal, curve.value, xp.full_like(curve.value, -math.inf))
    slope = xp.where(legal[:, None], curve.slope, xp.zeros_like(curve.slope))
    return Curve(value, slope, xp.where(legal[:, None, None], curve.curvature, xp.zeros_like(curve.curvature)))


class ScalarLikelihood(RowLikelihood):
    """The log-likelihood of a family with one predictor, which is the link of the mean."""

    forms: ClassVar[dict[str, LinkForm]] = {}  # by the link's name
    low: ClassVar[float] = 0.0  # the means lie between these
    high: ClassVar[float] = math.inf
    target_words: ClassVar[str] = "a finite number, 0 or more"

    def __init_subclass__(cls) -> None:
        cls.link_names = tuple(cls.forms)

    @abstractmethod
    def information(self, terms: Terms) -> Any:
        """Return the Fisher information."""

    def legal_targets(self, xp: Any, y: Any) -> Any:
        """Return which targets are in the support of the family."""
        return (y >= 0) & xp.isfinite(y)

    def rest(self, xp: Any, y: Any) -> Any:
        """Return the factor r of B(z)."""
        return xp.ones_like(y)

    def predictor_names(self, targets: int) -> tuple[str, ...]:
        """Return the name of the one predictor."""
        return ("mean",)

    def check_targets(self, xp: Any, y: Any, classes: int | None) -> None:
        """Raise ValueError for the first target outside the support of the family."""
        require("y", y, self.legal_targets(xp, y), f"a {self.name} target must be {self.target_words}")

    def form(self, link: Link) -> LinkForm:
        """Return the terms under a link, and where they hold."""
        return self.forms[link.name]

    def curve(self, xp: Any, link: Link, z: Any, y: Any) -> Curve:
        """Return the curve of y A(z) + r B(z)."""
        form = self.form(link)
        legal, at = form.legal(xp, z[:, 0])
        terms, rest = form.terms(xp, at), self.rest(xp, y)
        value = times(xp, y, terms.a) + times(xp, rest, terms.b)
        slope = y * terms.a_slope + rest * terms.b_slope
        curve = Curve(value, slope[:, None], self.information(terms)[:, None, None])
        return curve if legal is None else impossible(xp, legal, curve)

    def mean(self, xp: Any, link: Link, z: Any) -> Any:
        """Return the inverse link of the predictor."""
        return link.mean(z[:, 0])

    def start(self, link: Link, mean: FloatArray, variance: FloatArray | None) -> FloatArray:
        """Return the link of the mean."""
        # Links other than the identity have positive means only.
        low = self.low if link is links.identity else 0.0
        return np.asarray(link.link(held_inside(mean, low, self.high)))


def over(xp: Any, z: Any) -> Any:
    """Return 1 / z of z >= 0, clipped so that its square is finite.

    Examples
    --------
    >>> over(np, np.array([2.0, 0.0]))
    array([5.e-001, 1.e+100])
    """
    return 1 / xp.clip(z, min=SMALLEST_DIVISOR)


class PowerLinkLikelihood(ScalarLikelihood):
    """The log-likelihood of a family whose mean may be a power of the predictor, besides the links of ``forms``."""

    zero_targets: ClassVar[bool] = True  #: whether y may be 0, which no mean of a negative power of z is

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.link_names = (*cls.forms, "sqrt", *(() if cls.zero_targets else ("inverse_squared",)))

    @abstractmethod
    def terms_of_mean(self, xp: Any, mean: Any, log_mean: Any, log_slope: Any) -> Terms:
        """Return the terms of a mean; ``log_slope`` is the derivative of its log with respect to the predictor."""

    def accepts(self, link: Link) -> bool:
        """Return whether the link is one of the names, or a power under which y is not at an infinite predictor."""
        return super().accepts(link) or (isinstance(link, Power) and (link.exponent > 0 or not self.zero_targets))

    def form(self, link: Link) -> LinkForm:
        """Return the terms under a link, and where they hold."""
        if not isinstance(link, Power):
            return super().form(link)
        return LinkForm(partial(self._power_terms, 1 / link.exponent), low=0.0, closed=False)

    def curve(self, xp: Any, link: Link, z: Any, y: Any) -> Curve:
        """Return the curve; below 0, where the mean under a power link is 0, it is flat for the y of such a mean.

        So under the square root the log-likelihood of counts is smooth and concave in all predictors, also for rows
        of 0.
        """
        found = super().curve(xp, link, z, y)
        if not isinstance(link, Power) or not self.zero_targets:
            return found
        flat = (z[:, 0] <= 0) & self.has_zero_mean(xp, y)
        return found._replace(value=xp.where(flat, xp.zeros_like(found.value), found.value))

    def has_zero_mean(self, xp: Any, y: Any) -> Any:
        """Return which targets are possible where the mean is 0; the value of these is 0 there."""
        return y == 0

    def _power_terms(self, inverse: float, xp: Any, z: Any) -> Terms:
        log_mean = xp.log(z) * inverse
        # The squares and cubes of the mean and of its reciprocal are finite.
        mean = xp.exp(xp.clip(log_mean, min=-LARGEST_LOG_MEAN, max=LARGEST_LOG_MEAN))
        return self.terms_of_mean(xp, mean, log_mean, inverse * over(xp, z))


class ShareLikelihood(RowLikelihood):
    """The log-likelihood of shares: log b(y) is 0, and the variance of a share is at most that of one trial."""

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return p q."""
        return mean * (1 - mean)

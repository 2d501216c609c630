"""The log-likelihood of a row as a function of its linear predictors: what every family with a regression declares."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from suffice.families import links
from suffice.families.base import finite, require
from suffice.families.links import Link
from suffice.statistics.base import FloatArray

#: A mean at an end of its range, where the link is infinite, is moved this far inside before a solver starts from it.
START_INSIDE = 1e-6
#: What is divided by is held above this, so that the reciprocal of its square is finite.
SMALLEST_DIVISOR = 1e-100


class Terms(NamedTuple):
    """A row's log-likelihood in the form y A(z) + r B(z), where r is 1 - y for the Bernoulli and 1 for the others.

    In y eta - a(eta), A is eta and B is -a; for the Bernoulli, A is log p and B is log q, which are stable where their
    difference eta is not.
    """

    a: Any
    b: Any
    a_slope: Any
    b_slope: Any


class LinkForm(NamedTuple):
    """A pair of family and link: its terms, and the predictors between which the mean is one the family can have."""

    terms: Callable[[Any, Any], Terms]
    low: float = -math.inf
    high: float = math.inf
    closed: bool = True  # whether a mean at the end of its range is one the family can have

    def legal(self, xp: Any, z: Any) -> tuple[Any, Any]:
        """Return which predictors give a mean that can be, None for all, and z with a legal one in place of others."""
        if math.isinf(self.low) and math.isinf(self.high):
            return None, z
        legal = (z >= self.low) & (z <= self.high) if self.closed else (z > self.low) & (z < self.high)
        inner = 0.5 if self.low < 0.5 < self.high else -0.5
        return legal, xp.where(legal, z, xp.full_like(z, inner))


class Curve(NamedTuple):
    """The log-likelihood of each row, and its derivatives by the row's linear predictors."""

    value: Any  # (n,), without log b(y), at unit dispersion
    slope: Any  # (n, t)
    curvature: Any  # (n, t, t), the expected negative second derivative (Fisher information)


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
    #: Links under which the likelihood may rise for ever: the mean comes near an end of its range, not to it.
    separating_links: tuple[str, ...] = ()

    @abstractmethod
    def predictor_names(self, targets: int) -> tuple[str, ...]:
        """Return what each linear predictor tells."""

    @abstractmethod
    def check_targets(self, xp: Any, y: Any, classes: int | None) -> None:
        """Raise ValueError naming the first target that the family cannot have."""

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
        """Return the value of each row where the mean is y itself."""

    @abstractmethod
    def start(self, link: Link, mean: FloatArray, variance: FloatArray | None) -> FloatArray:
        """Return the predictors, (t,), from which to look for better ones."""

    def log_base(self, xp: Any, y: Any, dispersion: float = 1.0) -> Any:
        """Return log b(y) of each row at a dispersion: 0, unless the family says otherwise."""
        return xp.zeros_like(y if len(y.shape) < 2 else y[:, 0])

    def total_log_base(self, weight: float, log_y: float, dispersion: float) -> float | None:
        """Return the sum of log b(y) where the weight and the sum of log y tell it; else None."""
        return None

    def pearson(self, xp: Any, mean: Any, y: Any) -> Any:
        """Return the squared distance of each target from its mean, over the variance at unit dispersion."""
        return (y - mean) ** 2 / self.unit_variance(xp, mean)

    def deviance(self, xp: Any, link: Link, z: Any, y: Any) -> Any:
        """Return what each row falls short of its saturated value, twice."""
        return 2 * xp.clip(self.saturated(xp, y) - self.curve(xp, link, z, y).value, min=0.0)  # not by rounding


def held_inside(mean: FloatArray, low: float, high: float) -> FloatArray:
    """Return means with those at an end of their range, or beyond it, moved a little inside.

    Examples
    --------
    >>> held_inside(np.array([0.0, 0.5, 1.0]), 0.0, 1.0)
    array([1.00000e-06, 5.00000e-01, 9.99999e-01])
    """
    mean = np.where(mean <= low, low + START_INSIDE, finite("mean", mean))
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
    """Return a curve whose rows that are not legal have no likelihood, and no slope.

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

    forms: ClassVar[dict[str, LinkForm]]  # by the link's name
    low: ClassVar[float] = 0.0  # the means lie between these
    high: ClassVar[float] = math.inf
    target_words: ClassVar[str] = "a finite number, 0 or more"

    def __init_subclass__(cls) -> None:
        cls.link_names = tuple(cls.forms)

    @abstractmethod
    def information(self, terms: Terms) -> Any:
        """Return the expected curvature."""

    def legal_targets(self, xp: Any, y: Any) -> Any:
        """Return which targets the family can have."""
        return (y >= 0) & xp.isfinite(y)

    def rest(self, xp: Any, y: Any) -> Any:
        """Return what B(z) comes with."""
        return xp.ones_like(y)

    def predictor_names(self, targets: int) -> tuple[str, ...]:
        """Return the one thing told."""
        return ("mean",)

    def check_targets(self, xp: Any, y: Any, classes: int | None) -> None:
        """Raise ValueError naming the first target that the family cannot have."""
        require("y", y, self.legal_targets(xp, y), f"a {self.name} target must be {self.target_words}")

    def curve(self, xp: Any, link: Link, z: Any, y: Any) -> Curve:
        """Return the curve of y A(z) + r B(z)."""
        form = self.forms[link.name]
        legal, at = form.legal(xp, z[:, 0])
        terms, rest = form.terms(xp, at), self.rest(xp, y)
        value = times(xp, y, terms.a) + times(xp, rest, terms.b)
        slope = y * terms.a_slope + rest * terms.b_slope
        curve = Curve(value, slope[:, None], self.information(terms)[:, None, None])
        return curve if legal is None else impossible(xp, legal, curve)

    def mean(self, xp: Any, link: Link, z: Any) -> Any:
        """Return what the link gives back."""
        return link.mean(z[:, 0])

    def start(self, link: Link, mean: FloatArray, variance: FloatArray | None) -> FloatArray:
        """Return the link of the mean."""
        # Every other link than the identity has positive means only.
        low = self.low if link is links.identity else 0.0
        return np.asarray(link.link(held_inside(mean, low, self.high)))


def over(xp: Any, z: Any) -> Any:
    """Return 1 / z of z >= 0, held where its square is finite.

    Examples
    --------
    >>> over(np, np.array([2.0, 0.0]))
    array([5.e-001, 1.e+100])
    """
    return 1 / xp.clip(z, min=SMALLEST_DIVISOR)


class ShareLikelihood(RowLikelihood):
    """The log-likelihood of shares: log b(y) is 0, and a share's variance is that of one trial, or less."""

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return p q."""
        return mean * (1 - mean)

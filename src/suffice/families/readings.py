"""How families read linear predictors: what every reading knows, and the readings of families with one predictor."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from suffice.families import links
from suffice.families.base import finite, require
from suffice.families.gamma_functions import log_gamma
from suffice.families.links import Link
from suffice.families.terms import BERNOULLI, GAMMA, GAUSSIAN, POISSON, Form, Terms
from suffice.statistics.base import FloatArray

#: A mean at an end of its range, where the link is infinite, is moved this far inside before a solver starts from it.
START_INSIDE = 1e-6


class Curve(NamedTuple):
    """The log-likelihood of each row, and its derivatives by the row's linear predictors."""

    value: Any  # (n,), without log b(y), at unit dispersion
    slope: Any  # (n, t)
    curvature: Any  # (n, t, t), the expected negative second derivative (Fisher information)


class Reading(ABC):
    """How a family reads the linear predictors of a row. Arrays are float64 of any library, checked by Response.

    A reading knows the links it is read under, the default one first, and answers for any of them.
    """

    name: ClassVar[str]
    link_names: ClassVar[tuple[str, ...]]
    #: Whether a target is a row of several numbers.
    vector_targets: ClassVar[bool] = False

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

    def log_base(self, xp: Any, y: Any) -> Any:
        """Return log b(y) of each row: 0, unless the family says otherwise."""
        return xp.zeros_like(y if len(y.shape) < 2 else y[:, 0])

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


class ScalarReading(Reading):
    """How a family with one predictor reads it: the link of the mean."""

    forms: ClassVar[dict[str, Form]]  # by the link's name
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


class GaussianReading(ScalarReading):
    """y mu - mu^2 / 2, at unit variance."""

    name = "gaussian"
    forms = GAUSSIAN
    low = -math.inf
    target_words = "a finite number"

    def information(self, terms: Terms) -> Any:
        """Return the squared slope of the mean."""
        return terms.a_slope * terms.a_slope

    def legal_targets(self, xp: Any, y: Any) -> Any:
        """Return which targets are finite."""
        return xp.isfinite(y)

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return 1."""
        return xp.ones_like(mean)

    def saturated(self, xp: Any, y: Any) -> Any:
        """Return y^2 / 2."""
        return y * y / 2

    def log_base(self, xp: Any, y: Any) -> Any:
        """Return the log density of y about 0."""
        return -(y * y + math.log(2 * math.pi)) / 2

    def deviance(self, xp: Any, link: Link, z: Any, y: Any) -> Any:
        """Return (y - mu)^2."""
        away = y - self.mean(xp, link, z)  # squares of large y would leave no digits to subtract
        return away * away


class BernoulliReading(ScalarReading):
    """y log p + (1 - y) log q. A proportion of trials is read with the trials as its weight."""

    name = "bernoulli"
    forms = BERNOULLI
    high = 1.0
    target_words = "between 0 and 1"

    def information(self, terms: Terms) -> Any:
        """Return the squared slope of the mean over p q."""
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


class PoissonReading(ScalarReading):
    """y log mu - mu. A rate is read with its exposure as its weight."""

    name = "poisson"
    forms = POISSON

    def information(self, terms: Terms) -> Any:
        """Return the squared slope of the mean over the mean."""
        return -terms.a_slope * terms.b_slope

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return the mean."""
        return mean

    def saturated(self, xp: Any, y: Any) -> Any:
        """Return y log y - y."""
        return times(xp, y, xp.log(y)) - y

    def log_base(self, xp: Any, y: Any) -> Any:
        """Return -log y!."""
        return -log_gamma(xp, y + 1)


class ExponentialReading(ScalarReading):
    """-y / mu - log mu."""

    name = "exponential"
    forms = GAMMA

    def information(self, terms: Terms) -> Any:
        """Return the squared slope of the log of the mean."""
        return terms.b_slope * terms.b_slope

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return the squared mean."""
        return mean * mean

    def saturated(self, xp: Any, y: Any) -> Any:
        """Return -1 - log y, infinite at 0: the density of a time at 0 has no bound."""
        return -1 - xp.log(y)


class GammaReading(ExponentialReading):
    """-y / mu - log mu, at unit dispersion."""

    name = "gamma"
    target_words = "a finite number above 0"

    def legal_targets(self, xp: Any, y: Any) -> Any:
        """Return which targets are positive."""
        return (y > 0) & xp.isfinite(y)

"""Responses: the regression reading of a family under a link, as value, slope and curvature in the predictor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import array_api_compat

from suffice.families import links
from suffice.families.base import Family, require
from suffice.families.bernoulli import Bernoulli
from suffice.families.exponential import Exponential
from suffice.families.gamma import Gamma
from suffice.families.gaussian import Gaussian
from suffice.families.links import LARGEST_PREDICTOR, Link, arrays, quiet
from suffice.families.multinomial import Multinomial
from suffice.families.poisson import Poisson
from suffice.families.terms import READINGS, Form, Reading

_FAMILIES: dict[str, type[Family]] = {
    family.name: family for family in (Gaussian, Bernoulli, Poisson, Exponential, Gamma, Multinomial)
}


class Curve(NamedTuple):
    """The log-likelihood of each row, and its derivatives by the row's linear predictors."""

    value: Any  # (n,), without log b(y), at unit dispersion
    slope: Any  # (n, t)
    curvature: Any  # (n, t, t), the expected negative second derivative (Fisher information)


@dataclass(frozen=True)
class Response:
    """A family whose mean is a link away from linear predictors. Use :meth:`of` for the canonical link.

    Examples
    --------
    >>> import numpy as np
    >>> response = Response.of("bernoulli")
    >>> response.name
    'bernoulli/logit'
    >>> response.curve(np.array([[0.0], [800.0]]), np.array([1.0, 1.0])).slope
    array([[0.5],
           [0. ]])
    """

    family: type[Family]
    link: Link

    def __post_init__(self) -> None:
        if self.link.name not in _link_names(self.family.name):
            known = ", ".join(f"{name}/{link}" for name in _FAMILIES for link in _link_names(name))
            raise ValueError(f"there is no response {self.name}; there are: {known}")

    @classmethod
    def of(cls, family: type[Family] | str, link: Link | str | None = None) -> Self:
        """Return the response of a family, or its name, under a link, or its name; the canonical one by default."""
        if isinstance(family, str):
            if family not in _FAMILIES:
                raise ValueError(f"there is no regression for {family!r}; there is for: {', '.join(_FAMILIES)}")
            family = _FAMILIES[family]
        chosen = family.canonical_link if link is None else link
        if chosen is None:
            raise ValueError(f"there is no regression for {family.name!r}; there is for: {', '.join(_FAMILIES)}")
        return cls(family, links.by_name(chosen) if isinstance(chosen, str) else chosen)

    @property
    def name(self) -> str:
        """The family and the link, as in ``bernoulli/logit``."""
        return f"{self.family.name}/{self.link.name}"

    def check_targets(self, y: Any, classes: int | None = None) -> None:
        """Raise ValueError naming the first target, of an array of any library, that the family cannot have.

        Bernoulli targets may be proportions (with the trials as weights), and Poisson targets rates (with the exposure
        as weights); multinomial targets are codes from 0 to ``classes`` - 1.

        Examples
        --------
        >>> Response.of("poisson").check_targets([0.0, 2.0, -1.0])
        Traceback (most recent call last):
        ...
        ValueError: y[2] is -1.0: a poisson target must be a finite number, 0 or more
        """
        xp, values = arrays(y)
        if self.family is Multinomial:
            fine = (values >= 0) & (values < (math.inf if classes is None else classes)) & (values == xp.floor(values))
            words = "a code, 0 or more" if classes is None else f"a code from 0 to {classes - 1}"
        else:
            reading = READINGS[self.family.name]
            fine, words = reading.targets(xp, values), reading.target_words
        require("y", values, fine, f"a {self.family.name} target must be {words}")

    @quiet
    def curve(self, predictor: Any, y: Any) -> Curve:
        """Return value, slope and curvature of each row's log-likelihood, in the predictor's array library.

        Parameters
        ----------
        predictor
            The linear predictors, (n, t), float64; t is 1, or classes - 1 for the multinomial, whose last class is
            pinned at 0.
        y
            Legal targets, (n,); class codes for the multinomial.

        Notes
        -----
        Where the link gives a mean that the family cannot have, the value is -inf, and the slope and curvature are 0:
        a line search backs off. Predictors are held within 1e100, exponents at 709 (354 for gaussian/log, whose mean is
        squared) and divisors above 1e-100, so that value is never NaN; it may be -inf where it overflows.
        """
        xp = array_api_compat.array_namespace(predictor)
        if predictor.dtype != xp.float64 or len(predictor.shape) != 2:
            raise TypeError(f"predictor must be float64, (n, t); got {predictor.dtype}, {tuple(predictor.shape)}")
        if tuple(y.shape) != (predictor.shape[0],):
            raise ValueError(f"y must have one target per row, ({predictor.shape[0]},); its shape is {tuple(y.shape)}")
        predictor = xp.clip(predictor, min=-LARGEST_PREDICTOR, max=LARGEST_PREDICTOR)
        if self.family is Multinomial:
            return _softmax_curve(xp, predictor, xp.astype(y, xp.int64, copy=False))
        if predictor.shape[1] != 1:
            raise ValueError(f"{self.name} has one predictor per row; got {predictor.shape[1]}")
        reading = READINGS[self.family.name]
        target = xp.astype(y, xp.float64, copy=False)
        return _scalar_curve(xp, predictor[:, 0], target, reading, reading.forms[self.link.name])


def _link_names(family: str) -> list[str]:
    """Return the names of the links a family can be read under."""
    return (
        [links.softmax.name]
        if family == Multinomial.name
        else list(READINGS[family].forms)
        if family in READINGS
        else []
    )


def _times(xp: Any, count: Any, term: Any) -> Any:
    """Return count * term, where 0 * -inf is 0."""
    return count * xp.where(count == 0, xp.zeros_like(term), term)


def _scalar_curve(xp: Any, z: Any, y: Any, reading: Reading, form: Form) -> Curve:
    """Return the curve of a family with one predictor."""
    bounded = math.isfinite(form.low) or math.isfinite(form.high)
    if bounded:
        legal = (z >= form.low) & (z <= form.high) if reading.closed else (z > form.low) & (z < form.high)
        inner = 0.5 if form.low < 0.5 < form.high else -0.5
        z = xp.where(legal, z, xp.full_like(z, inner))
    terms = form.terms(xp, z)
    rest = 1 - y if reading.complement else xp.ones_like(y)
    value = _times(xp, y, terms.a) + _times(xp, rest, terms.b)
    slope = y * terms.a_slope + rest * terms.b_slope
    curvature = reading.information(terms)
    if bounded:
        value = xp.where(legal, value, xp.full_like(value, -math.inf))
        slope, curvature = (xp.where(legal, part, xp.zeros_like(part)) for part in (slope, curvature))
    return Curve(value, slope[:, None], curvature[:, None, None])


def _softmax_curve(xp: Any, z: Any, codes: Any) -> Curve:
    """Return the curve of class codes; the last class has no predictor."""
    mean, slope = links.softmax.mean_and_slope(z)
    chosen = codes[:, None] == xp.arange(z.shape[1], device=array_api_compat.device(z))[None, :]
    top = xp.clip(xp.max(z, axis=1), min=0.0)
    rest = xp.log(xp.exp(-top) + xp.sum(xp.exp(z - top[:, None]), axis=1))  # exponents <= 0: cannot overflow
    value = xp.sum(xp.where(chosen, z, xp.zeros_like(z)), axis=1) - top - rest
    return Curve(value, xp.astype(chosen, xp.float64) - mean[:, :-1], slope[:, :-1, :])

"""The log-likelihood of a row under any family with T(y) = y, derived from the methods of the family."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from suffice.families.base import Family, hold_inside, require
from suffice.families.links import (
    LARGEST_EXPONENT,
    Cauchit,
    Cloglog,
    Link,
    Log,
    Logit,
    Power,
    Probit,
    array_namespace,
    to_host,
)
from suffice.families.row_likelihood import Curve, RowLikelihood, held_inside, impossible
from suffice.statistics.base import FloatArray

#: Links for each range of the mean; the default one first.
_LINKS = {
    (0.0, math.inf): ("log", "identity", "inverse", "sqrt"),
    (0.0, 1.0): ("logit", "probit", "cloglog", "cauchit", "log", "identity"),
    (-math.inf, math.inf): ("identity", "log"),
}
#: Under a log link means are clipped to exp of these: their squares, cubes and the reciprocals of both are finite.
_LEAST, _MOST = -230.0, LARGEST_EXPONENT / 2 - 1

#: Predictors outside the range of the mean are detected by their mean, which may be infinite or NaN.
_silent = np.errstate(all="ignore")


@dataclass(frozen=True)
class Canonical(Link):
    """The link under which the linear predictor is a family's natural parameter.

    Examples
    --------
    >>> from suffice.families import NegativeBinomial
    >>> link = Canonical(NegativeBinomial(theta=2.0))
    >>> link.mean(link.link([0.5, 4.0]))
    array([0.5, 4. ])
    """

    family: Family

    name = "canonical"

    def _link(self, xp: Any, mean: Any) -> Any:
        return _like(mean, self.family.natural_parameter(_host(mean)))

    @_silent
    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]:
        eta = _host(z)
        return _like(z, self.family.mean(eta)), _like(z, self.family.variance(eta))


class NaturalLikelihood(RowLikelihood):
    """The log-likelihood y eta - a(eta) of a row, where one linear predictor is the link of the mean.

    It is computed with NumPy: predictors on a device are copied to the host and the results back.

    Examples
    --------
    >>> from suffice.families import NegativeBinomial
    >>> from suffice.families.links import log
    >>> likelihood = NaturalLikelihood(NegativeBinomial(theta=2.0))
    >>> likelihood.curve(np, log, np.zeros((1, 1)), np.array([3.0])).slope
    array([[1.33333333]])
    """

    def __init__(self, family: Family) -> None:
        self.family = family
        self.name = family.name
        self.is_discrete = family.is_discrete
        self.has_dispersion = self.value_has_units = family.has_dispersion
        low, high = family.mean_range
        self.link_names = (*_LINKS.get((low, high), ("identity",)), "canonical")
        self.positive_targets = low >= 0
        if low == 0 and bool(family.contains(np.zeros(1))[0]):
            self.separating_links = ("log",)

    def accepts(self, link: Link) -> bool:
        """Return whether the link is one of the names, or a power above 0 of a mean above 0."""
        power = isinstance(link, Power) and link.exponent > 0 and self.family.mean_range == (0.0, math.inf)
        return power or super().accepts(link)

    def predictor_names(self, targets: int) -> tuple[str, ...]:
        """Return the name of the one predictor."""
        return ("mean",)

    def check_targets(self, xp: Any, y: Any, classes: int | None) -> None:
        """Raise ValueError for the first target outside the support."""
        values = _host(y)
        require("y", values, self.family.contains(values), f"a {self.name} target must be {self.family.support}")

    @_silent
    def curve(self, xp: Any, link: Link, z: Any, y: Any) -> Curve:
        """Return the curve of y eta - a(eta): the slope is mean' (y - mean) / V, the information mean'^2 / V."""
        at, targets = _host(z[:, 0]), _host(y)
        mean, slope = self._mean_and_slope(link, at)
        low, high = self.family.mean_range
        inside = (mean > low) & (mean < high)
        # Some links reach an end of the range by rounding only; under others a mean at the end is valid if y is there.
        ends = (mean == low) | (mean == high)
        legal = (inside | (ends & (_stays_inside(link, low, high) | (mean == targets)))) & np.isfinite(slope)
        mean = hold_inside(np.where(legal, mean, _middle(low, high)), (low, high))
        eta = self.family.natural_parameter(mean)
        ratio = np.where(legal, slope, 0.0) / self.family.variance_function(mean)
        value = targets * eta - self.family.log_partition(eta)
        parts = Curve(value, (ratio * (targets - mean))[:, None], (ratio * slope)[:, None, None])
        return Curve(*(_like(z, part) for part in impossible(np, legal, parts)))

    def mean(self, xp: Any, link: Link, z: Any) -> Any:
        """Return the inverse link of the predictor."""
        return _like(z, self._mean_and_slope(link, _host(z[:, 0]))[0])

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        """Return V(mean)."""
        return _like(mean, self.family.variance_function(hold_inside(_host(mean), self.family.mean_range)))

    def pearson(self, xp: Any, mean: Any, y: Any) -> Any:
        """Return the squared distance over V(mean); rounding may have moved a mean out of its range."""
        held = hold_inside(_host(mean), self.family.mean_range)
        return _like(mean, (_host(y) - held) ** 2 / self.family.variance_function(held))

    @_silent
    def saturated(self, xp: Any, y: Any) -> Any:
        """Return y eta - a(eta) where the mean is y."""
        return _like(y, self.family.saturated(_host(y)))

    def log_base(self, xp: Any, y: Any, dispersion: float = 1.0) -> Any:
        """Return log b(y)."""
        return _like(y, self.family.log_base(_host(y), *((dispersion,) if self.has_dispersion else ())))

    def start(self, link: Link, mean: FloatArray, variance: FloatArray | None) -> FloatArray:
        """Return the link of the mean."""
        low, high = self.family.mean_range
        return np.asarray(link.link(held_inside(mean, max(low, 0.0) if isinstance(link, Log) else low, high)))

    def _mean_and_slope(self, link: Link, z: FloatArray) -> tuple[FloatArray, FloatArray]:
        return link.mean_and_slope(np.clip(z, _LEAST, _MOST) if isinstance(link, Log) else z)


def _stays_inside(link: Link, low: float, high: float) -> bool:
    """Return whether the mean of every predictor is inside a range."""
    if isinstance(link, Log):
        return low <= 0 and high == math.inf
    return isinstance(link, Logit | Probit | Cloglog | Cauchit)


def _middle(low: float, high: float) -> float:
    """Return a number inside a range."""
    if math.isfinite(low):
        return (low + high) / 2 if math.isfinite(high) else low + 1
    return high - 1 if math.isfinite(high) else 0.0


def _host(values: Any) -> FloatArray:
    """Return an array of any library as a NumPy array in float64."""
    return np.asarray(values if isinstance(values, np.ndarray) else to_host(values), dtype=np.float64)


def _like(like: Any, values: Any) -> Any:
    """Return a NumPy array as an array of the library and on the device of another."""
    if isinstance(like, np.ndarray):
        return np.asarray(values, dtype=np.float64)
    xp = array_namespace(like)
    return xp.asarray(np.ascontiguousarray(values, dtype=np.float64), device=array_api_compat.device(like))

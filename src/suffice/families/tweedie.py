"""The Tweedie family between Poisson and gamma: amounts with exact zeros, sums of a Poisson number of gammas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy

from suffice.families import links
from suffice.families.base import Family
from suffice.families.links import Link
from suffice.families.natural_likelihood import NaturalLikelihood
from suffice.statistics.base import FloatArray

#: From this expected number of amounts, the rounding error of the series exceeds that of the saddlepoint approximation.
_MANY = 1e7
#: Terms at more than this many standard deviations from the largest are below rounding.
_FAR = 10.0
#: Number of values per block of the series.
_BLOCK = 1024


class TweedieLikelihood(NaturalLikelihood):
    """y mu^(1 - p) / (1 - p) - mu^(2 - p) / (2 - p), at unit dispersion."""

    compiled_links: ClassVar[frozenset[str]] = frozenset({"log"})

    def __init__(self, family: Tweedie) -> None:
        super().__init__(family)
        self.variance_power = family.power

    def slope_share(self, link: Link) -> float:
        """Return the power less 1 under the log link."""
        return self.variance_power - 1 if link is links.log else 0.0


@dataclass(frozen=True)
class Tweedie(Family):
    """Amounts of 0 or more, with a positive probability of exactly 0; the variance is phi mean^power.

    Examples are the rain of a day and the insurance claims of a year. It is an exponential dispersion family:
    p(y) = b(y, phi) exp((eta y - a(eta)) / phi), eta = mean^(1 - power) / (1 - power).

    Parameters
    ----------
    power
        Above 1 (Poisson) and below 2 (gamma).

    Notes
    -----
    b(y, phi) is the series of Dunn and Smyth (2005), summed about its largest term in steps proportional to its width,
    so that the number of terms is about the same for every y. If the expected number of amounts is above 1e7, the
    saddlepoint approximation is used: its relative error is then below 1e-8.

    Examples
    --------
    >>> family = Tweedie(power=1.5)
    >>> family.variance_function([1.0, 4.0])
    array([1., 8.])
    >>> family.log_likelihood([0.0, 2.0], mean=1.0, dispersion=1.0).round(4)
    array([-2.    , -1.8553])
    """

    power: float

    name = "tweedie"
    support = "a finite number, 0 or more"
    mean_range = (0.0, np.inf)
    has_dispersion = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "power", float(self.power))
        if not 1 < self.power < 2:
            names = {0.0: "'gaussian'", 1.0: "'poisson'", 2.0: "'gamma'"}
            cure = f": use the family {names[self.power]}" if self.power in names else ""
            raise ValueError(f"power is {self.power:g}; it must be above 1 and below 2{cure}")

    @property
    def row_likelihood(self) -> TweedieLikelihood:
        """The likelihood of a row under each link."""
        return TweedieLikelihood(self)

    def log_base(self, y: npt.ArrayLike, dispersion: float = 1.0) -> FloatArray:
        """Return log b(y, phi); 0 at y = 0."""
        values = np.asarray(y, dtype=np.float64)
        found = np.zeros(values.shape)
        some = values > 0
        if some.any():
            found[some] = self._series(values[some], float(dispersion))
        return found

    def _series(self, y: FloatArray, phi: float) -> FloatArray:
        """Return log b of values above 0: the log of the sum over j of z^j / (j! Gamma(alpha j)), minus log y."""
        p = self.power
        alpha = (2 - p) / (p - 1)
        log_z = alpha * np.log(y / (p - 1)) - (1 + alpha) * np.log(phi) - np.log(2 - p)
        largest = y ** (2 - p) / (phi * (2 - p))  # the j of the largest term, or near it
        found = np.empty_like(y)
        order = np.argsort(largest)
        for begin in range(0, len(y), _BLOCK):
            block = order[begin : begin + _BLOCK]
            centre = np.maximum(np.floor(largest[block]), 1.0)
            width = np.sqrt(centre / (1 + alpha))  # the standard deviation of j, as weighted by the terms
            step = np.where(width > _FAR, np.floor(width / 3), 1.0)  # the terms are smooth: a subset gives the same sum
            down, up = np.minimum(_FAR * width, centre - 1) / step, (_FAR * width + 10) / step
            away = np.arange(-np.ceil(down.max()), np.ceil(up.max()) + 1)
            first, last = max(centre.min() + away[0], 1.0), centre.max() + away[-1]
            if (step == 1).all() and last - first < 2 * len(away):  # the same j for all values: fewer log-gammas
                j = np.arange(first, last + 1)
                terms = j * log_z[block, None] - (scipy.special.gammaln(j + 1) + scipy.special.gammaln(alpha * j))
            else:
                j = centre[:, None] + step[:, None] * away
                there = j >= 1
                j = np.where(there, j, 1.0)
                terms = j * log_z[block, None] - (scipy.special.gammaln(j + 1) + scipy.special.gammaln(alpha * j))
                terms = np.where(there, terms, -np.inf)
            top = terms.max(axis=1)
            found[block] = top + np.log(step * np.exp(terms - top[:, None]).sum(axis=1))
        found -= np.log(y)
        many = largest > _MANY
        if many.any():
            saddlepoint = -self.saturated(y) / phi - 0.5 * np.log(2 * np.pi * phi * y**p)
            found = np.where(many, saddlepoint, found)
        return found

    def log_partition(self, eta: npt.ArrayLike) -> FloatArray:
        """Return mean^(2 - power) / (2 - power)."""
        return np.asarray(self.mean(eta) ** (2 - self.power) / (2 - self.power))

    def mean(self, eta: npt.ArrayLike) -> FloatArray:
        """Return ((1 - power) eta)^(1 / (1 - power)), of eta below 0."""
        return np.asarray(((1 - self.power) * np.asarray(eta, dtype=np.float64)) ** (1 / (1 - self.power)))

    def variance(self, eta: npt.ArrayLike) -> FloatArray:
        """Return mean^power."""
        return self.variance_function(self.mean(eta))

    def natural_parameter(self, mean: npt.ArrayLike) -> FloatArray:
        """Return mean^(1 - power) / (1 - power)."""
        return np.asarray(np.asarray(mean, dtype=np.float64) ** (1 - self.power) / (1 - self.power))

    def variance_function(self, mean: npt.ArrayLike) -> FloatArray:
        """Return mean^power."""
        return np.asarray(np.asarray(mean, dtype=np.float64) ** self.power)

    def saturated(self, y: npt.ArrayLike) -> FloatArray:
        """Return y^(2 - power) / ((1 - power) (2 - power)), which is 0 at 0."""
        p = self.power
        return np.asarray(np.asarray(y, dtype=np.float64) ** (2 - p) / ((1 - p) * (2 - p)))

    def draw(self, eta: npt.ArrayLike, random: np.random.Generator) -> npt.NDArray[Any]:
        """Return draws at unit dispersion: sums of a Poisson number of gamma amounts."""
        p, mean = self.power, self.mean(eta)
        amounts = random.poisson(mean ** (2 - p) / (2 - p))
        return np.asarray(random.standard_gamma(amounts * (2 - p) / (p - 1)) * (p - 1) * mean ** (p - 1))

"""The negative binomial family: overdispersed counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from suffice.families.base import Family, positive
from suffice.statistics.base import FloatArray


@dataclass(frozen=True)
class NegativeBinomial(Family):
    """Counts whose variance is mean + mean^2 / theta.

    A Poisson count whose rate has a gamma distribution of shape theta; the limit for large theta is the Poisson. With
    theta = 1 it is the geometric family. eta = log(mean / (mean + theta)), T = y, a = -theta log(1 - e^eta).

    Parameters
    ----------
    theta
        The shape; statsmodels' ``alpha`` is 1 / theta. None: ``GLM`` estimates it by maximum likelihood, as
        MASS::glm.nb of R does; elsewhere it must be known.

    Examples
    --------
    >>> NegativeBinomial(theta=2.0).variance_function([1.0, 4.0])
    array([ 1.5, 12. ])
    """

    theta: float | None = None

    name = "negative_binomial"
    support = "a whole number, 0 or more"
    mean_range = (0.0, np.inf)
    is_discrete = True

    def __post_init__(self) -> None:
        if self.theta is not None:
            object.__setattr__(self, "theta", float(positive("theta", self.theta)))

    @property
    def unknown(self) -> tuple[str, ...]:
        """``("theta",)`` where theta is None."""
        return ("theta",) if self.theta is None else ()

    @property
    def _shape(self) -> float:
        if self.theta is None:
            raise ValueError("theta of NegativeBinomial is not known: give it, or let GLM estimate it")
        return self.theta

    def log_base(self, y: npt.ArrayLike) -> FloatArray:
        """Return log C(y + theta - 1, y)."""
        values = np.asarray(y, dtype=np.float64)
        return np.asarray(-scipy.special.betaln(self._shape, values + 1) - np.log(self._shape + values))

    def log_partition(self, eta: npt.ArrayLike) -> FloatArray:
        """Return -theta log(1 - e^eta)."""
        at = np.asarray(eta, dtype=np.float64)
        # Two forms of log(1 - e^eta): each is accurate where the other cancels.
        near, far = np.log(-np.expm1(np.maximum(at, -1.0))), np.log1p(-np.exp(np.minimum(at, -0.5)))
        return np.asarray(-self._shape * np.where(at > -0.7, near, far))

    def mean(self, eta: npt.ArrayLike) -> FloatArray:
        """Return theta e^eta / (1 - e^eta)."""
        return np.asarray(self._shape / np.expm1(-np.asarray(eta, dtype=np.float64)))

    def variance(self, eta: npt.ArrayLike) -> FloatArray:
        """Return mean + mean^2 / theta."""
        return self.variance_function(self.mean(eta))

    def natural_parameter(self, mean: npt.ArrayLike) -> FloatArray:
        """Return log(mean / (mean + theta))."""
        return np.asarray(-np.log1p(self._shape / np.asarray(mean, dtype=np.float64)))  # accurate near 0

    def variance_function(self, mean: npt.ArrayLike) -> FloatArray:
        """Return mean + mean^2 / theta."""
        centre = np.asarray(mean, dtype=np.float64)
        return np.asarray(centre * (1 + centre / self._shape))

    def draw(self, eta: npt.ArrayLike, random: np.random.Generator) -> npt.NDArray[Any]:
        """Return drawn counts."""
        return np.asarray(random.negative_binomial(self._shape, -np.expm1(np.asarray(eta, dtype=np.float64))))

    def score(self, y: npt.ArrayLike, mean: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the first and minus the second derivative of log p(y) with respect to theta, elementwise.

        Examples
        --------
        >>> NegativeBinomial(theta=2.0).score([0.0, 3.0], [1.0, 1.0])[0].round(4)
        array([-0.0721,  0.0112])
        """
        theta, centre, values = self._shape, np.asarray(mean, dtype=np.float64), np.asarray(y, dtype=np.float64)
        total = theta + centre
        counts, place = np.unique(values, return_inverse=True)  # far fewer than rows: digamma once for each
        place = place.reshape(values.shape)
        first = (
            (scipy.special.digamma(theta + counts) - scipy.special.digamma(theta))[place]
            - np.log1p(centre / theta)
            + (centre - values) / total
        )
        second = (scipy.special.polygamma(1, theta) - scipy.special.polygamma(1, theta + counts))[place] - centre / (
            theta * total
        )
        return np.asarray(first), np.asarray(second - (values - centre) / total**2)

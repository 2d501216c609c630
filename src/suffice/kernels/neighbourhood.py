"""What a local fit looks at: how the weight of a row falls with its distance, and which polynomial is fitted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from suffice.kernels.protocol import FloatArray

Shape = Literal["gaussian", "epanechnikov", "tricube", "uniform"]

#: A Gaussian weight below exp(-50) of the largest counts as none, as it does to the rank of a least-squares solver; a
#: million such rows do not change the last digit of a sum. It is kNegligible in native/local.hpp.
NEGLIGIBLE = 50.0


@dataclass(frozen=True)
class Neighbourhood:
    """The rows around a query, and the local design that is made of them.

    Parameters
    ----------
    kernel
        The weight of a row at r bandwidths from the query: ``"gaussian"`` exp(-r^2 / 2), ``"epanechnikov"`` 1 - r^2,
        ``"tricube"`` (1 - r^3)^3, ``"uniform"`` 1; the last three are 0 beyond r = 1.
    bandwidth
        The unit of distances.
    degree
        Of the polynomial that is fitted: 0, 1 or 2. The design is 1, then the features, then the products of two of
        them, in bandwidths.

    Examples
    --------
    >>> Neighbourhood(degree=2).parameters(features=2)
    6
    >>> Neighbourhood(degree=2).design(np.array([[2.0, 3.0]]))
    array([[1., 2., 3., 4., 6., 9.]])
    """

    kernel: Shape = "gaussian"
    bandwidth: float = 1.0
    degree: int = 1

    def __post_init__(self) -> None:
        if self.kernel not in get_args(Shape):
            raise ValueError(f"kernel must be one of {', '.join(get_args(Shape))}; got {self.kernel!r}")
        if not 0 < self.bandwidth < math.inf:
            raise ValueError(f"bandwidth must be finite and above 0; got {self.bandwidth!r}")
        if isinstance(self.degree, float) or self.degree not in (0, 1, 2):  # native code takes no float for a degree
            raise ValueError(f"degree must be 0, 1 or 2; got {self.degree!r}")

    def parameters(self, features: int) -> int:
        """Return how many columns the local design has."""
        return math.comb(features + self.degree, self.degree)

    def pairs(self, features: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the features whose products are columns of the design, after all others."""
        return _pairs(features if self.degree == 2 else 0)

    def design(self, u: FloatArray) -> FloatArray:
        """Return the local design, (m, p), of points, (m, d), in bandwidths."""
        first, second = self.pairs(u.shape[1])
        linear = u if self.degree > 0 else u[:, :0]
        return np.concatenate([np.ones((len(u), 1)), linear, u[:, first] * u[:, second]], axis=1)

    def log_weight(self, distance: FloatArray) -> FloatArray:
        """Return the logarithm of the kernel at distances, in bandwidths; -inf where it is 0.

        >>> Neighbourhood("tricube").log_weight(np.array([0.0, 2.0]))
        array([  0., -inf])
        """
        inside = np.minimum(distance, 1.0)
        with np.errstate(divide="ignore"):
            match self.kernel:
                case "gaussian":
                    return np.asarray(-0.5 * distance**2)
                case "epanechnikov":
                    return np.asarray(np.log1p(-(inside**2)))
                case "tricube":
                    return np.asarray(3 * np.log1p(-(inside**3)) + 0.0)
                case _:
                    return np.where(distance <= 1, 0.0, -np.inf)


@cache
def _pairs(features: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    return np.triu_indices(features)


class LocalMoments(NamedTuple):
    """The sums of local fits, one for each query q, about the row n nearest to it.

    With u = (x - n) / bandwidth, f the local design at u and k the kernel, relative to its value at n.
    """

    nearest: npt.NDArray[np.int64]  # (m,), of the nearest row that weighs anything; -1 where there is none
    shift: FloatArray  # (m, d), (n - q) / bandwidth
    products: FloatArray  # (m, p, p), the sum of w k f f'
    targets: FloatArray  # (m, p, t), the sum of w k f (y - y of n)
    squares: FloatArray  # (m, p, p), the sum of w k^2 f f'; (0, p, p) unless asked for


class LocalCurvature(NamedTuple):
    """The log-likelihoods of Bernoulli targets around each query, about the row nearest to it, as LocalMoments are."""

    nearest: npt.NDArray[np.int64]  # (m,)
    shift: FloatArray  # (m, d)
    value: FloatArray  # (m,), the sum of w k log p(y | f' theta)
    gradient: FloatArray  # (m, p)
    hessian: FloatArray  # (m, p, p), the negative of the second derivatives

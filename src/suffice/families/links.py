"""Link functions between a mean and a linear predictor z, in any array library."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import array_api_compat
import numpy as np
import numpy.typing as npt

#: exp overflows above 709.78: exponents are clipped here, so the largest mean is 8e307, and no mean is infinite.
LARGEST_EXPONENT = 709.0
#: Predictors are clipped to this: infinities become large numbers, whose squares are finite too.
LARGEST_PREDICTOR = 1e100

#: Ignore overflow to infinity and log 0 = -inf, which are intended; warnings of NaN are kept.
quiet = np.errstate(over="ignore", divide="ignore")


def array_namespace(array: Any) -> Any:
    """Return the module with the functions of the array API for the library of an array.

    Examples
    --------
    >>> array_namespace(np.zeros(1)).__name__
    'numpy'
    """
    # NumPy has these functions since 2.1. The copy in array_api_compat imports all of NumPy: testing, f2py and others.
    if isinstance(array, np.ndarray) and hasattr(np, "__array_namespace_info__"):
        return np
    return array_api_compat.array_namespace(array)


def arrays(values: Any) -> tuple[Any, Any]:
    """Return the namespace of an array and the array in float64; other values become NumPy arrays.

    Examples
    --------
    >>> arrays([1, 2])[1]
    array([1., 2.])
    """
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return array_namespace(values), values
    if not array_api_compat.is_array_api_obj(values):
        values = np.asarray(values, dtype=np.float64)
    xp = array_namespace(values)
    return xp, xp.astype(values, xp.float64, copy=False)


def to_host(array: Any) -> npt.NDArray[Any]:
    """Return an array of any library and device as a NumPy array.

    Examples
    --------
    >>> import array_api_strict
    >>> to_host(array_api_strict.asarray([1.0, 2.0]))
    array([1., 2.])
    """
    if array_api_compat.is_torch_array(array):
        return np.asarray(array.detach().cpu().numpy())
    if array_api_compat.is_cupy_array(array):  # on a GPU
        return np.asarray(array.get())
    if array_api_compat.is_numpy_array(array) or array_api_compat.is_jax_array(array):
        return np.asarray(array)
    return np.from_dlpack(array)


def normal_functions(values: Any) -> Any:
    """Return the module with ndtr, log_ndtr, ndtri and erfcx for the array's library.

    Examples
    --------
    >>> float(normal_functions(np.zeros(1)).ndtr(0.0))
    0.5
    """
    import scipy  # slow to import, and few rows need it

    if array_api_compat.is_numpy_array(values):
        return scipy.special
    if array_api_compat.is_torch_array(values):
        return array_namespace(values).special
    library = type(values).__module__.partition(".")[0]
    raise TypeError(f"the probit link needs the normal distribution, which {library} lacks: use numpy, torch, or logit")


class Link(ABC):
    """A link function, z = link(mean), and its inverse, mean = mean(z). Methods take arrays of any library.

    Examples
    --------
    >>> mean, slope = logit.mean_and_slope([-800.0, 0.0])
    >>> mean, slope
    (array([0. , 0.5]), array([0.  , 0.25]))
    >>> logit.link(mean)
    array([-inf,   0.])
    """

    name: ClassVar[str]

    @quiet
    def link(self, mean: Any) -> Any:
        """Return the linear predictor of a mean; infinite at the ends of the range of the mean."""
        return self._link(*arrays(mean))

    @quiet
    def mean_and_slope(self, z: Any) -> tuple[Any, Any]:
        """Return the mean at z and its derivative, which share computations."""
        return self._mean_and_slope(*arrays(z))

    def mean(self, z: Any) -> Any:
        """Return the mean at z."""
        return self.mean_and_slope(z)[0]

    @abstractmethod
    def _link(self, xp: Any, mean: Any) -> Any: ...

    @abstractmethod
    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]: ...


@dataclass(frozen=True)
class Identity(Link):
    """mean = z.

    Examples
    --------
    >>> identity.mean([-2.0, 3.0])
    array([-2.,  3.])
    """

    name = "identity"

    def _link(self, xp: Any, mean: Any) -> Any:
        return mean

    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]:
        return z, xp.ones_like(z)


@dataclass(frozen=True)
class Log(Link):
    """mean = exp z, with z clipped at 709.

    Examples
    --------
    >>> log.mean([0.0, -1e6])
    array([1., 0.])
    """

    name = "log"

    def _link(self, xp: Any, mean: Any) -> Any:
        return xp.log(mean)

    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]:
        if isinstance(z, np.ndarray):  # several times as fast for few rows
            mean = np.exp(np.minimum(z, LARGEST_EXPONENT))
        else:
            mean = xp.exp(xp.clip(z, max=LARGEST_EXPONENT))
        return mean, mean


@dataclass(frozen=True)
class Logit(Link):
    """mean = 1 / (1 + exp(-z)).

    Examples
    --------
    >>> logit.mean([-1e6, 0.0, 1e6])
    array([0. , 0.5, 1. ])
    """

    name = "logit"

    def _link(self, xp: Any, mean: Any) -> Any:
        return xp.log(mean) - xp.log1p(-mean)

    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]:
        e = xp.exp(-xp.abs(z))  # exponent <= 0: cannot overflow
        upper = 1 / (1 + e)
        return xp.where(z >= 0, upper, e * upper), e * upper * upper


@dataclass(frozen=True)
class Probit(Link):
    """mean = the standard normal distribution function at z; NumPy and torch only.

    Examples
    --------
    >>> probit.mean([-1e6, 0.0, 1e6])
    array([0. , 0.5, 1. ])
    """

    name = "probit"

    def _link(self, xp: Any, mean: Any) -> Any:
        return normal_functions(mean).ndtri(mean)

    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]:
        z = xp.clip(z, min=-LARGEST_PREDICTOR, max=LARGEST_PREDICTOR)
        return normal_functions(z).ndtr(z), xp.exp(-z * z / 2) / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class Cloglog(Link):
    """mean = 1 - exp(-exp z): the probability of at least one Poisson event.

    Examples
    --------
    >>> cloglog.mean([-1e6, 0.0, 1e6]).round(3)
    array([0.   , 0.632, 1.   ])
    """

    name = "cloglog"

    def _link(self, xp: Any, mean: Any) -> Any:
        return xp.log(-xp.log1p(-mean))

    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]:
        rate = log.mean(z)
        return -xp.expm1(-rate), rate * xp.exp(-rate)


@dataclass(frozen=True)
class Cauchit(Link):
    """mean = 1/2 + arctan(z) / pi, the Cauchy distribution function, robust to outliers.

    Examples
    --------
    >>> cauchit.mean([-1.0, 0.0, 1.0])
    array([0.25, 0.5 , 0.75])
    """

    name = "cauchit"

    def _link(self, xp: Any, mean: Any) -> Any:
        # -1 / tan(pi p) by the nearer end of the range, where tan(pi (p - 1/2)) cancels
        near = xp.where(mean < 0.5, mean, 1 - mean)
        side = xp.where(mean < 0.5, -xp.ones_like(mean), xp.ones_like(mean))
        return side * xp.cos(math.pi * near) / xp.sin(math.pi * near)

    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]:
        z = xp.clip(z, min=-LARGEST_PREDICTOR, max=LARGEST_PREDICTOR)
        tail = xp.atan2(xp.ones_like(z), xp.abs(z)) / math.pi  # of the nearer end: keeps its digits
        return xp.where(z < 0, tail, 1 - tail), 1 / (math.pi * (1 + z * z))


@dataclass(frozen=True)
class Power(Link):
    """mean = z^(1 / exponent), of z above 0: the predictor is a power of the mean.

    The square root, ``links.sqrt``, is ``Power(0.5)``; ``links.inverse_squared`` is ``Power(-2)``. Where z is below 0
    the mean is that of z = 0.

    Parameters
    ----------
    exponent
        Of the mean; not 0, in whose place the log link stands.

    Examples
    --------
    >>> cube_root = Power(1 / 3)
    >>> cube_root.mean([2.0, 3.0]).round(12)
    array([ 8., 27.])
    >>> Power(0.5).name, Power(-2).name, Power(3).name
    ('sqrt', 'inverse_squared', 'power(3.0)')
    """

    exponent: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", float(self.exponent))
        if self.exponent == 0 or not math.isfinite(self.exponent):
            cure = ": use the link 'log'" if self.exponent == 0 else ""
            raise ValueError(f"exponent is {self.exponent:g}; it must be a finite number other than 0{cure}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name by which :func:`by_name` finds the link."""
        return {0.5: "sqrt", -2.0: "inverse_squared"}.get(self.exponent, f"power({self.exponent!r})")

    def _link(self, xp: Any, mean: Any) -> Any:
        return mean**self.exponent

    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]:
        z = xp.clip(z, min=0.0, max=LARGEST_PREDICTOR)
        return z ** (1 / self.exponent), z ** (1 / self.exponent - 1) / self.exponent


@dataclass(frozen=True)
class Inverse(Link):
    """mean = 1 / z.

    Examples
    --------
    >>> inverse.mean([2.0, 0.5])
    array([0.5, 2. ])
    """

    name = "inverse"

    def _link(self, xp: Any, mean: Any) -> Any:
        return 1 / mean

    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]:
        return 1 / z, -1 / (z * z)


@dataclass(frozen=True)
class NegativeInverse(Link):
    """mean = -1 / z: the canonical link of the exponential and gamma families.

    Examples
    --------
    >>> negative_inverse.mean([-2.0, -0.5])
    array([0.5, 2. ])
    """

    name = "negative_inverse"

    def _link(self, xp: Any, mean: Any) -> Any:
        return -1 / mean

    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]:
        return -1 / z, 1 / (z * z)


def share_covariance(xp: Any, p: Any) -> Any:
    """Return the covariance of a one-hot vector, (..., k, k), from its probabilities, (..., k).

    Examples
    --------
    >>> share_covariance(np, np.array([0.5, 0.5]))
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    code = xp.arange(p.shape[-1], device=array_api_compat.device(p))
    same = code[:, None] == code[None, :]
    products = p[..., :, None] * p[..., None, :]
    others = xp.where(same, xp.zeros_like(products), products)
    # p (1 - p) as a sum over the other probabilities: 1 - p cancels where p is close to 1.
    return xp.where(same, xp.sum(others, axis=-2, keepdims=True), -others)


@dataclass(frozen=True)
class Softmax(Link):
    """K - 1 predictors on the last axis to K probabilities; the predictor of the last class is 0.

    The slope is (..., K, K - 1): the derivative of each probability with respect to each predictor.

    Examples
    --------
    >>> softmax.mean([1000.0, 0.0])
    array([1., 0., 0.])
    """

    name = "softmax"

    def _link(self, xp: Any, mean: Any) -> Any:
        return xp.log(mean[..., :-1]) - xp.log(mean[..., -1:])

    def _mean_and_slope(self, xp: Any, z: Any) -> tuple[Any, Any]:
        pinned = xp.concat([z, xp.zeros_like(xp.sum(z, axis=-1, keepdims=True))], axis=-1)
        e = xp.exp(pinned - xp.max(pinned, axis=-1, keepdims=True))  # exponents <= 0: cannot overflow
        p = e / xp.sum(e, axis=-1, keepdims=True)
        return p, share_covariance(xp, p)[..., :-1]


identity, log, logit, probit, cloglog = Identity(), Log(), Logit(), Probit(), Cloglog()
inverse, negative_inverse, softmax = Inverse(), NegativeInverse(), Softmax()
cauchit, sqrt, inverse_squared = Cauchit(), Power(0.5), Power(-2)

_BY_NAME: dict[str, Link] = {
    link.name: link
    for link in (
        identity,
        log,
        logit,
        probit,
        cloglog,
        cauchit,
        inverse,
        negative_inverse,
        sqrt,
        inverse_squared,
        softmax,
    )
}


def by_name(name: str) -> Link:
    """Return the link with this name.

    Examples
    --------
    >>> by_name("logit")
    Logit()
    >>> by_name("power(3)")
    Power(exponent=3.0)
    """
    power = re.fullmatch(r"power\(([-+.\de]+)\)", name)
    if power:
        try:
            return Power(float(power[1]))
        except ValueError as error:
            raise ValueError(f"link {name!r}: {error}") from None
    if name not in _BY_NAME:
        raise ValueError(f"there is no link {name!r}; there are: {', '.join(_BY_NAME)}, power(exponent)")
    return _BY_NAME[name]

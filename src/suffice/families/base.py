"""What every family is: an exponential family's mathematics on the class, one member's parameters on the instance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Self, cast

import array_api_compat
import numpy as np
import numpy.typing as npt

from suffice.families.links import Link
from suffice.statistics.base import FloatArray

RandomState = int | np.random.Generator | None
Size = int | tuple[int, ...]

#: The smallest number with all its digits: draws below it are held here, so that they stay inside an open support.
TINY = float(np.finfo(np.float64).tiny)


def require(name: str, values: Any, fine: Any, words: str) -> None:
    """Raise ValueError naming the first position and value of an array, of any library, that is not fine.

    Examples
    --------
    >>> import numpy as np
    >>> rates = np.array([1.0, -2.0])
    >>> require("rate", rates, rates > 0, "a rate must be positive")
    Traceback (most recent call last):
    ...
    ValueError: rate[1] is -2.0: a rate must be positive
    """
    xp = array_api_compat.array_namespace(fine)
    if bool(xp.all(fine)):
        return
    first = int(xp.argmin(xp.astype(xp.reshape(fine, (-1,)), xp.uint8)))
    place = tuple(int(index) for index in np.unravel_index(first, tuple(fine.shape)))
    at = f"[{', '.join(map(str, place))}]" if place else ""
    value = values[place] if place else values
    raise ValueError(f"{name}{at} is {value if value.ndim else float(value)}: {words}")


def positive(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return a parameter in float64, refusing what is not a positive number.

    Examples
    --------
    >>> positive("rate", [1, 2])
    array([1., 2.])
    """
    numbers = np.asarray(values, dtype=np.float64)
    require(name, numbers, (numbers > 0) & (numbers < np.inf), "it must be a finite number above 0")
    return numbers


def finite(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return a parameter in float64, refusing NaN and infinities.

    Examples
    --------
    >>> finite("mu", [-1, 2])
    array([-1.,  2.])
    """
    numbers = np.asarray(values, dtype=np.float64)
    require(name, numbers, np.isfinite(numbers), "it must be a finite number")
    return numbers


class Family(ABC):
    """An exponential family, p(y; eta) = b(y) exp(eta . T(y) - a(eta)).

    The class knows T, log b, a and its derivatives; an instance is one member, or a batch of members whose parameters
    broadcast against values. Vectors (T, eta, and the values of some families) lie on the last axis. Members are
    frozen. ``estimate``, which each family has in its own form, reads members from statistics.

    Examples
    --------
    >>> from suffice.families import Poisson
    >>> two = Poisson([1.0, 4.0])
    >>> two.log_prob([[0], [2]]).round(3)
    array([[-1.   , -4.   ],
           [-1.693, -1.921]])
    >>> two.sample(3, random_state=0).shape
    (3, 2)
    """

    name: ClassVar[str]
    #: What a value must be, in words.
    support: ClassVar[str]
    #: The link under which the linear predictor is eta, where the family has a regression reading.
    canonical_link: ClassVar[Link | None] = None
    #: Whether one value is a vector on the last axis.
    vector_values: ClassVar[bool] = False
    #: A number that log_prob can be evaluated at for any member, in the place of values outside the support.
    _inner: ClassVar[float] = 0.0

    @staticmethod
    def sufficient(y: npt.ArrayLike) -> FloatArray:
        """Return T(y): y itself, unless the family says otherwise."""
        return np.asarray(y, dtype=np.float64)

    @staticmethod
    def log_base(y: npt.ArrayLike) -> FloatArray:
        """Return log b(y): 0, unless the family says otherwise."""
        return np.zeros(np.shape(y))

    @staticmethod
    @abstractmethod
    def log_partition(eta: npt.ArrayLike) -> FloatArray:
        """Return a(eta)."""

    @staticmethod
    @abstractmethod
    def mean(eta: npt.ArrayLike) -> FloatArray:
        """Return E[T], the gradient of a."""

    @staticmethod
    @abstractmethod
    def variance(eta: npt.ArrayLike) -> FloatArray:
        """Return Cov[T], the Hessian of a: a matrix in the last two axes where eta is a vector."""

    @property
    @abstractmethod
    def natural(self) -> FloatArray:
        """The natural parameter eta."""

    @classmethod
    @abstractmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the member with this natural parameter."""

    @abstractmethod
    def sample(self, size: Size = (), random_state: RandomState = None) -> npt.NDArray[Any]:
        """Return draws, of shape size + batch shape (+ the value's own axis)."""

    @abstractmethod
    def _inside(self, y: FloatArray) -> npt.NDArray[np.bool_]:
        """Return which values are in the support; NaN is not."""

    @abstractmethod
    def _log_density(self, y: FloatArray) -> FloatArray:
        """Return log p(y) for values in the support."""

    def log_prob(self, y: npt.ArrayLike) -> FloatArray:
        """Return log p(y): -inf outside the support, NaN where y is NaN."""
        values = np.asarray(y, dtype=np.float64)
        inside = self._inside(values)
        if inside.all():
            return np.asarray(self._log_density(values))
        beyond = np.where(np.isnan(values), np.nan, -np.inf)
        if self.vector_values:
            return np.where(inside, self._log_density(np.where(inside[..., None], values, self._inner)), beyond.sum(-1))
        return np.where(inside, self._log_density(np.where(inside, values, self._inner)), beyond)

    def check_support(self, y: npt.ArrayLike) -> None:
        """Raise ValueError naming the first value outside the support."""
        values = np.asarray(y, dtype=np.float64)
        require("y", values, self._inside(values), f"a {self.name} value must be {self.support}")

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the batch of members; () for one."""
        shape = cast("FloatArray", getattr(self, fields(cast(Any, self))[0].name)).shape
        return shape[:-1] if self.vector_values else shape

    def _draws(self, size: Size) -> tuple[int, ...]:
        """Return the shape of a sample without the value's own axis."""
        return (*((size,) if isinstance(size, int) else size), *self.batch_shape)

    def _hold(self, **parameters: FloatArray) -> None:
        """Set the parameters of a frozen member, each as a read-only view."""
        for name, value in parameters.items():
            view = value.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)


def positive_root(
    excess: Callable[[FloatArray], tuple[FloatArray, FloatArray]], start: FloatArray, steps: int = 100
) -> FloatArray:
    """Return where functions that fall through zero, once, do so: Newton in log x, kept inside a bracket.

    Parameters
    ----------
    excess
        The values and slopes at x > 0, elementwise.
    start
        First guesses; a good one makes the bracket idle.

    Examples
    --------
    >>> import numpy as np
    >>> positive_root(lambda x: (1 - x * x / 9, -2 * x / 9), np.array([1.0])).round(12)
    array([3.])
    """
    at = np.log(start)
    low, high, before = at - 40.0, at + 40.0, np.full_like(at, np.inf)
    for _ in range(steps):
        x = np.exp(at)
        value, slope = excess(x)
        low, high = np.where(value > 0, at, low), np.where(value < 0, at, high)
        newton = at - value / np.minimum(slope * x, -1e-100)  # rounding may flatten the slope to 0
        # A Newton step that leaves the bracket is not to be trusted: halve the bracket instead.
        following = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
        moved = np.abs(following - at)
        # Steps shrink quadratically near the root: one that is small and did not shrink is rounding noise.
        settled = (moved <= 1e-14) | ((moved < 1e-6) & (moved >= before))
        at, before = following, moved
        if settled.all():
            break
    return np.exp(at)

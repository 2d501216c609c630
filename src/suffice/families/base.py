"""Base classes of exponential families, which regressions and naive Bayes use, and of distributions."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from suffice.families.links import Link, array_namespace
from suffice.statistics.base import FloatArray

RandomState: TypeAlias = "int | np.random.Generator | None"  # as a string: numpy.random is slow to import
Size = int | tuple[int, ...]

#: The smallest normal number: smaller draws are clipped to it, so that they stay inside an open support.
TINY = float(np.finfo(np.float64).tiny)
#: Means are clipped to this distance from 0, if 0 is an end of their range: cubes and their reciprocals are finite.
NEAR_ZERO = 1e-100


def require(name: str, values: Any, fine: Any, words: str) -> None:
    """Raise ValueError with the position and value of the first entry of an array, of any library, that is not fine.

    Examples
    --------
    >>> import numpy as np
    >>> rates = np.array([1.0, -2.0])
    >>> require("rate", rates, rates > 0, "a rate must be positive")
    Traceback (most recent call last):
    ...
    ValueError: rate[1] is -2.0: a rate must be positive
    """
    if isinstance(fine, np.ndarray | np.bool_) and fine.all():
        return
    xp = array_namespace(fine)
    if bool(xp.all(fine)):
        return
    first = int(xp.argmin(xp.astype(xp.reshape(fine, (-1,)), xp.uint8)))
    place = tuple(int(index) for index in np.unravel_index(first, tuple(fine.shape)))
    at = f"[{', '.join(map(str, place))}]" if place else ""
    value = values[place] if place else values
    raise ValueError(f"{name}{at} is {value if value.ndim else float(value)}: {words}")


def positive(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return a parameter in float64; raise unless it is positive and finite.

    Examples
    --------
    >>> positive("rate", [1, 2])
    array([1., 2.])
    """
    numbers = np.asarray(values, dtype=np.float64)
    require(name, numbers, (numbers > 0) & (numbers < np.inf), "it must be a finite number above 0")
    return numbers


def finite(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return a parameter in float64; raise for NaN and infinities.

    Examples
    --------
    >>> finite("mu", [-1, 2])
    array([-1.,  2.])
    """
    numbers = np.asarray(values, dtype=np.float64)
    require(name, numbers, np.isfinite(numbers), "it must be a finite number")
    return numbers


class Family(ABC):
    """An exponential family, p(y; eta) = b(y) exp(eta . T(y) - a(eta)), for ``GLM`` and ``FamilyNB``.

    A family of your own is a subclass. With T(y) = y it needs ``name``, ``support``, ``log_partition``, ``mean``,
    ``variance`` and ``natural_parameter``; override where the defaults do not hold: ``log_base``, ``mean_range``,
    ``contains``, ``is_discrete``, ``draw``, ``saturated``. Known parameters, such as the ``theta`` of
    :class:`NegativeBinomial`, are arguments of ``__init__`` that are kept under the same names, as in a dataclass;
    methods read them from ``self``. Methods take and return NumPy arrays, elementwise.

    A subclass of :class:`Distribution` (``Poisson``, ``Gamma``, ...) is a family as a class, and its instances are the
    distributions of the family.

    Examples
    --------
    The geometric family, of failures before the first success:

    >>> class Geometric(Family):
    ...     name = "geometric"
    ...     support = "a whole number, 0 or more"
    ...     mean_range = (0.0, np.inf)
    ...     is_discrete = True
    ...
    ...     def log_partition(self, eta):
    ...         return -np.log(-np.expm1(eta))
    ...
    ...     def mean(self, eta):
    ...         return 1 / np.expm1(-eta)
    ...
    ...     def variance(self, eta):
    ...         return self.mean(eta) * (1 + self.mean(eta))
    ...
    ...     def natural_parameter(self, mean):
    ...         return -np.log1p(1 / mean)
    >>> Geometric().log_likelihood([0.0, 3.0], mean=1.0).round(4)  # p = 1 / 2
    array([-0.6931, -2.7726])
    """

    name: ClassVar[str]
    #: Description of the support, for messages.
    support: ClassVar[str]
    #: The link under which the linear predictor is eta, if it has a name.
    canonical_link: ClassVar[Link | None] = None
    #: The ends of the range of the mean.
    mean_range: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    #: Whether values are counts or classes, so that the likelihood is a probability.
    is_discrete: ClassVar[bool] = False
    #: Whether p(y) = b(y, phi) exp((eta y - a(eta)) / phi) with a dispersion phi, which a regression estimates.
    has_dispersion: ClassVar[bool] = False
    #: The likelihood of a row under each link, if the family defines it; else it is derived from the methods.
    row_likelihood: ClassVar[Any] = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # A subclass with another log partition function must not inherit the parent's likelihood.
        if "row_likelihood" not in vars(cls) and {"log_partition", "mean", "variance"} & set(vars(cls)):
            cls.row_likelihood = None

    def sufficient(self, y: npt.ArrayLike) -> FloatArray:
        """Return T(y); by default y."""
        return np.asarray(y, dtype=np.float64)

    def log_base(self, y: npt.ArrayLike) -> FloatArray:
        """Return log b(y); by default 0. With a dispersion, that is the second argument."""
        return np.zeros(np.shape(y))

    @abstractmethod
    def log_partition(self, eta: npt.ArrayLike) -> FloatArray:
        """Return a(eta)."""

    @abstractmethod
    def mean(self, eta: npt.ArrayLike) -> FloatArray:
        """Return E[T], the gradient of a."""

    @abstractmethod
    def variance(self, eta: npt.ArrayLike) -> FloatArray:
        """Return Cov[T], the Hessian of a: a matrix in the last two axes if eta is a vector."""

    def natural_parameter(self, mean: npt.ArrayLike) -> FloatArray:
        """Return the eta of a mean, the inverse of :meth:`mean`; it may be infinite at the ends of the range only."""
        raise NotImplementedError(f"{type(self).__name__} must define natural_parameter(mean) for this")

    def variance_function(self, mean: npt.ArrayLike) -> FloatArray:
        """Return V(mean), the variance of y at unit dispersion as a function of its mean."""
        return self.variance(self.natural_parameter(mean))

    def contains(self, y: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return which values are in the support; by default those in ``mean_range``, integers if discrete."""
        return _between_ends(self, y)

    def saturated(self, y: npt.ArrayLike) -> FloatArray:
        """Return y eta - a(eta) at the eta whose mean is y: its maximum.

        At the ends of the range of the mean, where eta may be infinite, it is evaluated next to the end.
        """
        values = np.asarray(y, dtype=np.float64)
        eta = self.natural_parameter(hold_inside(values, self.mean_range))
        return np.asarray(values * eta - self.log_partition(eta))

    def draw(self, eta: npt.ArrayLike, random: np.random.Generator) -> npt.NDArray[Any]:
        """Return one draw from the distribution at each eta."""
        raise NotImplementedError(f"{type(self).__name__} must define draw(eta, random) for this")

    def log_likelihood(self, y: npt.ArrayLike, mean: npt.ArrayLike, dispersion: float = 1.0) -> FloatArray:
        """Return log p(y) of the distribution with a mean; -inf outside the support."""
        values = np.asarray(y, dtype=np.float64)
        inside = self.contains(values)
        values = np.where(inside, values, np.asarray(mean, dtype=np.float64))
        eta = self.natural_parameter(hold_inside(np.asarray(mean, dtype=np.float64), self.mean_range))
        base = self.log_base(values, *((dispersion,) if self.has_dispersion else ()))
        return np.where(inside, (values * eta - self.log_partition(eta)) / dispersion + base, -np.inf)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names of parameters that a regression estimates; by default none."""
        return ()

    @property
    def parameters(self) -> dict[str, Any]:
        """The known parameters, by name: the arguments of ``__init__``."""
        names = list(inspect.signature(type(self)).parameters)
        return {name: getattr(self, name) for name in names}

    def __eq__(self, other: object) -> bool:
        if not (isinstance(other, Family) and type(other) is type(self)):
            return NotImplemented
        theirs = other.parameters
        return all(np.array_equal(value, theirs[name]) for name, value in self.parameters.items())

    def __hash__(self) -> int:
        return hash((type(self), *self.parameters))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.parameters.items())})"


def _between_ends(family: Family | type[Family], y: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return which values are in the range of a family's mean, and integers if it is discrete."""
    values, (low, high) = np.asarray(y, dtype=np.float64), family.mean_range
    inside = np.isfinite(values) & (values >= low) & (values <= high)
    return inside & (values == np.floor(values)) if family.is_discrete else inside


def hold_inside(mean: FloatArray, ends: tuple[float, float]) -> FloatArray:
    """Return means clipped to the inside of their range.

    Examples
    --------
    >>> hold_inside(np.array([0.0, 0.5, 1.0]), (0.0, 1.0)) > 0
    array([ True,  True,  True])
    """
    low, high = ends
    least = NEAR_ZERO if low == 0 else np.nextafter(low, high)
    return np.clip(mean, least, -NEAR_ZERO if high == 0 else np.nextafter(high, low))


class Distribution(Family):
    """A family whose instances are distributions with known parameters.

    The class has T, log b, a and its derivatives; an instance is one distribution, or a batch of them whose parameters
    broadcast against values. Vectors (T, eta, and the values of some families) are on the last axis. Instances are
    frozen. ``estimate``, with arguments of each family's own, estimates distributions from statistics.

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

    #: Whether one value is a vector on the last axis.
    vector_values: ClassVar[bool] = False
    #: A value inside the support of every distribution; log_prob substitutes it for values outside.
    _inner: ClassVar[float] = 0.0

    __eq__, __hash__ = object.__eq__, object.__hash__  # a batch of distributions has no single truth value

    @staticmethod
    def sufficient(y: npt.ArrayLike) -> FloatArray:
        """Return T(y); by default y."""
        return np.asarray(y, dtype=np.float64)

    @staticmethod
    def log_base(y: npt.ArrayLike) -> FloatArray:
        """Return log b(y); by default 0."""
        return np.zeros(np.shape(y))

    @classmethod
    def natural_parameter(cls, mean: npt.ArrayLike) -> FloatArray:
        """Return the eta of a mean, by the canonical link."""
        if cls.canonical_link is None:
            raise NotImplementedError(f"{cls.__name__} has no canonical link: its eta does not follow from the mean")
        return np.asarray(cls.canonical_link.link(mean))

    @classmethod
    def contains(cls, y: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Return which values are in the support: those in ``mean_range``, integers if discrete."""
        return _between_ends(cls, y)

    @classmethod
    def draw(cls, eta: npt.ArrayLike, random: np.random.Generator) -> npt.NDArray[Any]:
        """Return one draw from the distribution at each eta."""
        return cls.from_natural(eta).sample(random_state=random)

    @property
    @abstractmethod
    def natural(self) -> FloatArray:
        """The natural parameter eta."""

    @classmethod
    @abstractmethod
    def from_natural(cls, eta: npt.ArrayLike) -> Self:
        """Return the distribution with this natural parameter."""

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
        """Raise ValueError for the first value outside the support."""
        values = np.asarray(y, dtype=np.float64)
        require("y", values, self._inside(values), f"a {self.name} value must be {self.support}")

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the batch; () for one distribution."""
        shape = cast("FloatArray", getattr(self, fields(cast(Any, self))[0].name)).shape
        return shape[:-1] if self.vector_values else shape

    def _draws(self, size: Size) -> tuple[int, ...]:
        """Return the shape of a sample without the value's own axis."""
        return (*((size,) if isinstance(size, int) else size), *self.batch_shape)

    def _hold(self, **parameters: FloatArray) -> None:
        """Set the parameters of a frozen instance, each as a read-only view."""
        for name, value in parameters.items():
            view = value.view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)


def positive_root(
    excess: Callable[[FloatArray], tuple[FloatArray, FloatArray]], start: FloatArray, steps: int = 100
) -> FloatArray:
    """Return the roots of decreasing functions: Newton's method in log x, inside a bracket.

    Parameters
    ----------
    excess
        The values and derivatives at x > 0, elementwise.
    start
        Initial values; with good ones the bracket is not used.

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
        newton = at - value / np.minimum(slope * x, -1e-100)  # rounding may make the derivative 0
        # If a Newton step leaves the bracket, bisect instead.
        following = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
        moved = np.abs(following - at)
        # Steps shrink quadratically near the root: a small step that did not shrink is rounding error.
        settled = (moved <= 1e-14) | ((moved < 1e-6) & (moved >= before))
        at, before = following, moved
        if settled.all():
            break
    return np.exp(at)

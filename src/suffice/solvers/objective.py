"""The function that a solver minimises, and what it may be asked for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Literal, NamedTuple, NoReturn, Protocol, TypeGuard

import numpy as np
import numpy.typing as npt

from suffice.kernels.descent import Descent, Pace
from suffice.statistics.base import FloatArray

#: Above this many parameters no Hessian matrix is made.
MANY = 2000

Capability = Literal["hessian", "hessian_diagonal", "hessian_product", "epoch", "dual", "sample", "columns"]
Product = Callable[[FloatArray], FloatArray]


class ValueGradient(NamedTuple):
    """An objective and its gradient at one theta."""

    value: float
    gradient: FloatArray  # the shape of theta


class ValueGradientHessian(NamedTuple):
    """An objective with its gradient and (expected) Hessian at one theta."""

    value: float
    gradient: FloatArray  # the shape of theta
    hessian: FloatArray  # (q, q), theta read column by column


class Objective(Protocol):
    """A function of theta, (p, t), that solvers minimise. Subclass it and define :meth:`value_gradient`.

    Everything else is optional. What is there is declared in :attr:`capabilities`, and solvers ask :meth:`supports`
    before they use it:

    =======================  ============================================  ==========================================
    capability               method                                        used by
    =======================  ============================================  ==========================================
    ``"hessian"``            :meth:`value_gradient_hessian`                ``Newton``, ``ElasticNet``; the others for
                                                                           step sizes and the test at the end
    ``"hessian_diagonal"``   :meth:`hessian_diagonal`                      ``TruncatedNewton``; the others for scales
    ``"hessian_product"``    :meth:`hessian_product`                       ``TruncatedNewton``
    ``"epoch"``              :meth:`SGDObjective.epoch`                    ``StochasticGradient``
    ``"dual"``               :meth:`DualObjective.dual_ascent`             ``DualAscent``
    ``"sample"``             :meth:`SampledObjective.sample`               ``Auto``
    ``"columns"``            :meth:`ColumnObjective.columns`               ``ElasticNet``, above 2,000 parameters
    =======================  ============================================  ==========================================

    Where it is a sum over rows, each call costs one pass over them.

    Examples
    --------
    Rosenbrock's function, whose minimum is at (1, 1), with its Hessian:

    >>> from suffice.solvers import Auto, BatchGradient, Newton
    >>> class Rosenbrock(Objective):
    ...     capabilities = frozenset({"hessian"})
    ...
    ...     def value_gradient(self, theta):
    ...         a, b = theta.ravel()
    ...         gradient = np.array([[2 * (a - 1) - 40 * a * (b - a * a)], [20 * (b - a * a)]])
    ...         return ValueGradient((a - 1) ** 2 + 10 * (b - a * a) ** 2, gradient)
    ...
    ...     def value_gradient_hessian(self, theta):
    ...         a, b = theta.ravel()
    ...         hessian = np.array([[2 + 120 * a * a - 40 * b, -40 * a], [-40 * a, 20.0]])
    ...         return ValueGradientHessian(*self.value_gradient(theta), hessian)
    >>> for solver in (Newton(), Auto(), BatchGradient(max_iter=100_000)):
    ...     solution = solver.minimise(Rosenbrock(), np.zeros((2, 1)))
    ...     print(type(solver).__name__, solution.theta.ravel().round(4), solution.converged)
    Newton [1. 1.] True
    Auto [1. 1.] True
    BatchGradient [1. 1.] True
    """

    capabilities: frozenset[Capability] = frozenset()

    @property
    def weight(self) -> float:
        """The total weight of the rows: what gradients are divided by to be compared with a tolerance."""
        return 1.0

    @property
    def unit(self) -> float:
        """The scale of one row's value: the variance of gaussian targets, whose units it has; else about 1."""
        return 1.0

    @property
    def n_rows(self) -> int:
        """How many rows one pass reads."""
        return 1

    def supports(self, capability: Capability, theta: FloatArray) -> bool:
        """Whether an optional method can be called, at thetas of this shape."""
        return capability in self.capabilities

    @abstractmethod
    def value_gradient(self, theta: FloatArray) -> ValueGradient:
        """Return value and gradient."""

    def value_gradient_hessian(self, theta: FloatArray) -> ValueGradientHessian:
        """Return value, gradient and Hessian, or a positive semi-definite matrix near it (Fisher's information)."""
        _raise_unsupported(self, "hessian")

    def hessian_diagonal(self, theta: FloatArray) -> FloatArray:
        """Return the diagonal of the Hessian, in the shape of theta."""
        _raise_unsupported(self, "hessian_diagonal")

    def hessian_product(self, theta: FloatArray) -> Product:
        """Return the function that multiplies a step, in the shape of theta, by the Hessian at theta."""
        _raise_unsupported(self, "hessian_product")


class SGDObjective(Objective, Protocol):
    """A sum over rows that can be minimised by a step for each row."""

    @abstractmethod
    def epoch(self, theta: FloatArray, order_seed: int | None, pace: Pace) -> Descent:
        """Return theta after one epoch of stochastic steps, shuffled by a seed or in the order of the rows.

        The result's ``log_likelihood`` is minus the sum of the rows' values, each before its own step.
        """


class DualAscentResult(NamedTuple):
    """Theta after rounds of dual ascent."""

    theta: FloatArray  # (p, t)
    rounds: int
    gap: float  # between the value at theta and the dual's: no less than value - minimum


class DualObjective(Objective, Protocol):
    """An objective with a dual that can be raised row by row."""

    @abstractmethod
    def dual_ascent(self, start: FloatArray) -> Callable[[float, int], DualAscentResult]:
        """Return a function that goes on until the duality gap is small enough, for so many rounds at most.

        Its first call starts from the intercepts of ``start``, each later one where the last ended.
        """


class SampledObjective(Objective, Protocol):
    """A sum over rows that can be estimated from some of them."""

    @property
    @abstractmethod
    def has_slow_passes(self) -> bool:
        """Whether a pass costs much more than its arithmetic, so that few passes matter most."""

    @abstractmethod
    def sample(self, count: int, strided: bool = False) -> SampledObjective:
        """Return the objective of about ``count`` rows; with ``strided``, of rows at equal distances."""


class ColumnObjective(Objective, Protocol):
    """An objective that can be restricted to some of the rows of theta."""

    @abstractmethod
    def columns(self, places: npt.NDArray[np.intp]) -> Objective:
        """Return the objective as a function of these rows of theta alone, the others being 0."""


def has_dual(objective: Objective, theta: FloatArray) -> TypeGuard[DualObjective]:
    """Whether an objective supports ``"dual"``."""
    return objective.supports("dual", theta)


def has_sample(objective: Objective, theta: FloatArray) -> TypeGuard[SampledObjective]:
    """Whether an objective supports ``"sample"``."""
    return objective.supports("sample", theta)


def has_columns(objective: Objective, theta: FloatArray) -> TypeGuard[ColumnObjective]:
    """Whether an objective supports ``"columns"``."""
    return objective.supports("columns", theta)


def check_supports(solver: object, objective: Objective, theta: FloatArray, *needed: Capability) -> None:
    """Raise where an objective lacks what a solver needs.

    Examples
    --------
    >>> class Square(Objective):
    ...     def value_gradient(self, theta):
    ...         return ValueGradient(float((theta**2).sum()), 2 * theta)
    >>> from suffice.solvers import Newton
    >>> Newton().minimise(Square(), np.ones((1, 1)))
    Traceback (most recent call last):
    TypeError: Newton needs an objective that supports 'hessian', and Square does not: use another solver
    """
    for capability in needed:
        if not objective.supports(capability, theta):
            raise TypeError(
                f"{type(solver).__name__} needs an objective that supports {capability!r}, and "
                f"{type(objective).__name__} does not: use another solver"
            )


def _raise_unsupported(objective: Objective, capability: Capability) -> NoReturn:
    raise TypeError(f"{type(objective).__name__} does not support {capability!r}: ask supports() first")

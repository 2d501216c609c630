"""The interface of solvers: the objective they minimise, the solution they return, its trace, tests of convergence."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, NoReturn, Protocol, Self, TypeGuard

import numpy as np
import numpy.typing as npt

from suffice.html_fragments import fragment, notes, table, title
from suffice.kernels.descent import Descent, Pace
from suffice.monitoring import is_reported, report
from suffice.statistics.base import FloatArray

#: Above this many parameters no Hessian matrix is computed.
MANY = 2000
#: Most steps of a trace; beyond that every second one is dropped.
MOST_STEPS = 10_000
#: Most numbers of theta in a trace; beyond that theta is dropped from every second step that has it.
MOST_NUMBERS = 1 << 20
#: A step must decrease the value by this share of what the gradient predicts.
ENOUGH = 1e-4
#: A decrease of the value by less than this share of its size is rounding error.
ROUNDING = 1e-13
#: Beyond this many rows the tolerance of the decrement does not grow: 1e4 tol standard errors.
ROWS = 1e8
#: The tolerance of the decrement is multiplied by 4 per parameter, at most by the first, from the second in rows on.
MOST, LARGE = 25, 1e5
#: Tolerance of predictors, relative to their scale, if rounding ends the search.
ROUNDED = 1e-6
#: Most steps without a smaller decrement or a decrease of the value.
IDLE = 3

Capability = Literal[
    "hessian", "observed_hessian", "hessian_diagonal", "hessian_product", "epoch", "steps", "dual", "sample", "columns"
]
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

    Other methods are optional. They are declared in :attr:`capabilities`, and solvers call :meth:`supports` before they
    use them:

    =======================  ============================================  ==========================================
    capability               method                                        used by
    =======================  ============================================  ==========================================
    ``"hessian"``            :meth:`value_gradient_hessian`                ``Newton``, ``CoordinateDescent``; the
                                                                           others for step sizes and the end
    ``"observed_hessian"``   :meth:`value_gradient_observed`               ``Newton``
    ``"hessian_diagonal"``   :meth:`hessian_diagonal`                      ``TruncatedNewton``; the others for scales
    ``"hessian_product"``    :meth:`hessian_product`                       ``TruncatedNewton``
    ``"epoch"``              :meth:`SGDObjective.epoch`                    ``StochasticGradient``
    ``"steps"``              :meth:`SGDObjective.steps`                    ``StochasticGradient``, for its trace
    ``"dual"``               :meth:`DualObjective.dual_ascent`             ``DualAscent``
    ``"sample"``             :meth:`SampledObjective.sample`               ``Auto``
    ``"columns"``            :meth:`ColumnObjective.columns`               ``CoordinateDescent``, from 2,000 parameters
    =======================  ============================================  ==========================================

    For a sum over rows, each call costs one pass over them.

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
        """The total weight of the rows, by which gradients are divided before they are compared with a tolerance."""
        return 1.0

    @property
    def unit(self) -> float:
        """The scale of one row's value: the variance of gaussian targets, whose units it has; else about 1."""
        return 1.0

    @property
    def constant(self) -> float:
        """The part of the value that does not depend on theta; rounding and tolerances are relative to the rest."""
        return 0.0

    @property
    def n_rows(self) -> int:
        """The number of rows of one pass."""
        return 1

    def supports(self, capability: Capability, theta: FloatArray) -> bool:
        """Whether an optional method can be called, at thetas of this shape."""
        return capability in self.capabilities

    @abstractmethod
    def value_gradient(self, theta: FloatArray) -> ValueGradient:
        """Return value and gradient."""

    def value_gradient_hessian(self, theta: FloatArray) -> ValueGradientHessian:
        """Return value, gradient and Hessian, or a positive semi-definite matrix near it (Fisher information)."""
        _raise_unsupported(self, "hessian")

    def value_gradient_observed(self, theta: FloatArray) -> ValueGradientHessian:
        """Return value, gradient and the Hessian itself, where :meth:`value_gradient_hessian` returns one near it."""
        _raise_unsupported(self, "observed_hessian")

    def hessian_diagonal(self, theta: FloatArray) -> FloatArray:
        """Return the diagonal of the Hessian, in the shape of theta."""
        _raise_unsupported(self, "hessian_diagonal")

    def hessian_product(self, theta: FloatArray) -> Product:
        """Return the function that multiplies a step, in the shape of theta, by the Hessian at theta."""
        _raise_unsupported(self, "hessian_product")


class SGDObjective(Objective, Protocol):
    """A sum over rows that supports stochastic steps."""

    @abstractmethod
    def epoch(self, theta: FloatArray, order_seed: int | None, pace: Pace) -> Descent:
        """Return theta after one epoch of stochastic steps, shuffled by a seed or in the order of the rows.

        The result's ``log_likelihood`` is minus the sum of the rows' values, each before its own step.
        """

    def steps(self, theta: FloatArray, order_seed: int | None, pace: Pace) -> Iterator[Descent]:
        """Yield each step of :meth:`epoch` by itself."""
        _raise_unsupported(self, "steps")


class DualAscentResult(NamedTuple):
    """Theta after rounds of dual ascent."""

    theta: FloatArray  # (p, t)
    rounds: int
    gap: float  # between the value at theta and the dual's: no less than value - minimum


class DualObjective(Objective, Protocol):
    """An objective that supports dual coordinate ascent."""

    @abstractmethod
    def dual_ascent(self, start: FloatArray) -> Callable[[float, int], DualAscentResult]:
        """Return a function that runs until the duality gap is small enough, for at most this many rounds.

        Its first call starts from the intercepts of ``start``, later ones from the last result.
        """


class SampledObjective(Objective, Protocol):
    """A sum over rows that can be approximated by a sample."""

    @property
    @abstractmethod
    def has_slow_passes(self) -> bool:
        """Whether reading the rows dominates the cost of a pass."""

    @abstractmethod
    def sample(self, count: int, strided: bool = False) -> SampledObjective:
        """Return the objective of about ``count`` rows; with ``strided``, of rows at equal distances."""


class ColumnObjective(Objective, Protocol):
    """An objective that can be restricted to some of the rows of theta."""

    @abstractmethod
    def columns(self, places: npt.NDArray[np.intp]) -> Objective:
        """Return the objective as a function of these rows of theta, the others fixed at 0."""


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
    """Raise if an objective lacks a capability that a solver needs.

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


class DivergenceError(ValueError):
    """The steps are too long, and diverge."""


class Step(NamedTuple):
    """One line of a trace: a theta, and the objective there."""

    passes: float  #: passes over the rows so far; a part of the rows counts as its share
    value: float
    """The objective at theta, with the penalty: of least squares J = ½ Σ (h(x) - y)², of other models minus the
    log-likelihood without constant terms."""
    gradient_norm: float  #: the largest entry of the gradient, divided by the weight of the rows; NaN if unknown
    seconds: float  #: since the solver was started
    theta: FloatArray | None = None  #: (p, t); None if a long trace dropped it
    number: int = 1  #: of the step, from 1: a long trace drops some steps
    step: float = math.nan  #: step size, or the share of the Newton step; NaN at the start and where there is none

    @property
    def size(self) -> int:
        """The number of entries of theta."""
        return 0 if self.theta is None else self.theta.size

    def __str__(self) -> str:
        gradient = "" if math.isnan(self.gradient_norm) else f", largest gradient per row {self.gradient_norm:.2g}"
        return f"pass {self.passes:.4g}: value {self.value:.10g}{gradient}, {self.seconds:.3g} s"

    def __repr__(self) -> str:
        unknown = [name for name, value in self._asdict().items() if isinstance(value, float) and math.isnan(value)]
        shown = (f"{name}={value!r}" for name, value in self._asdict().items() if name not in unknown)
        return f"Step({', '.join(shown)})"


@dataclass(frozen=True)
class Solution:
    """The result of a solver.

    Examples
    --------
    >>> import numpy as np
    >>> Solution(np.zeros((1, 1)), 0.0, np.zeros((1, 1)), True, "the gradient vanishes").reason
    'the gradient vanishes'
    """

    theta: FloatArray  #: (p, t), one column per linear predictor
    value: float  #: the objective at theta, which was minimised
    gradient: FloatArray  #: of the objective at theta
    converged: bool
    reason: str  #: why the solver stopped
    trace: tuple[Step, ...] = field(default=(), repr=False)
    """Every step with its theta, value, gradient and step size. Above 10,000 steps every second one is dropped,
    repeatedly; above a million numbers in all (8 MB), the theta of every second step. The first and the last step are
    always kept."""
    hessian: FloatArray | None = field(default=None, repr=False)
    """The (expected) Hessian of the objective at theta, (p t, p t), theta column by column, if known."""
    weight: float = field(default=1.0, repr=False)  #: the weight of the rows

    @property
    def gradient_norm(self) -> float:
        """The largest entry of the gradient at theta, divided by the weight of the rows."""
        return gradient_norm(self.gradient, self.weight)

    @property
    def passes(self) -> float:
        """The number of passes over the rows."""
        return self.trace[-1].passes if self.trace else 0.0

    @property
    def n_steps(self) -> int:
        """The number of steps, including those that a long trace dropped."""
        return self.trace[-1].number if self.trace else 0

    def _repr_html_(self) -> str:
        facts = [
            ("converged", "yes" if self.converged else "no"),
            ("value", f"{self.value:.8g}"),
            ("largest gradient per row", f"{self.gradient_norm:.2g}"),
            ("passes over the rows", f"{self.passes:g}"),
        ]
        shown = self.trace if len(self.trace) <= 12 else (*self.trace[:8], *self.trace[-4:])
        rows = [
            (str(number), f"{passes:.4g}", f"{value + 0.0:.8g}", _blank_nan(norm), _blank_nan(step))
            for passes, value, norm, _, _, number, step in shown
        ]
        heads = ["step", "passes", "value", "largest gradient per row", "step size"]
        return fragment(title("Solution"), notes([self.reason]), table([], facts), table(heads, rows) if rows else "")


def _blank_nan(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.3g}"


def gradient_norm(gradient: FloatArray, weight: float) -> float:
    """Return the largest entry of a gradient, per unit of weight."""
    return float(np.abs(gradient).max(initial=0.0)) / weight


@dataclass
class Trace:
    """The steps of a running solver.

    Examples
    --------
    >>> trace = Trace(weight=1.0)
    >>> for value in range(10_001):
    ...     _ = trace.add(np.zeros((1, 1)), float(value), None)
    >>> len(trace.steps), trace.steps[1].value, trace.steps[-1].number
    (5001, 2.0, 10001)
    """

    weight: float = 1.0
    rows: int = 1  #: of a pass
    steps: list[Step] = field(default_factory=list)
    passes: float = 0.0
    started: float = field(default_factory=time.perf_counter)
    reported: bool = field(default_factory=is_reported)  #: whether steps are reported to a listener
    _number: int = 0
    _numbers: int = 0  # of all thetas held

    @classmethod
    def of(cls, objective: Objective) -> Self:
        """Return the empty trace of a solver that starts now."""
        return cls(objective.weight or 1.0, objective.n_rows)

    def add(
        self,
        theta: FloatArray,
        value: float,
        gradient: FloatArray | None,
        passes: float = 1.0,
        step: float = math.nan,
    ) -> float:
        """Add and report a step and its passes; return the largest gradient per unit of weight, or NaN."""
        self.passes += passes
        self._number += 1
        norm = math.nan if gradient is None else gradient_norm(gradient, self.weight)
        seconds = time.perf_counter() - self.started
        self.steps.append(Step(self.passes, value, norm, seconds, np.array(theta), self._number, step))
        self._numbers += theta.size
        if len(self.steps) > MOST_STEPS or self._numbers > MOST_NUMBERS:
            self.steps = list(thin_trace(self.steps))
            self._numbers = sum(step.size for step in self.steps)
        if self.reported:
            report(self.passes, self.rows, value, norm, seconds)
        return norm


def thin_trace(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps of a trace, thinned if there are many, and fewer thetas if these are large."""
    kept = tuple(steps)
    if len(kept) <= MOST_STEPS and len(kept) * kept[-1].size <= MOST_NUMBERS:
        return kept
    if len(kept) > MOST_STEPS:
        kept = _every_second(kept)
    full = [step for step in kept if step.theta is not None]
    if full and len(full) * full[-1].size > MOST_NUMBERS:
        left = {step.number for step in _every_second(full)}
        kept = tuple(step if step.number in left else step._replace(theta=None) for step in kept)
    return kept


def _every_second(steps: tuple[Step, ...] | list[Step]) -> tuple[Step, ...]:
    """Return the first, third, ... and last step."""
    return (*steps[:-1:2], steps[-1])


@dataclass
class Convergence:
    """Tests of convergence, and the state of the search.

    The criterion is the Newton decrement, ``gradient' Hessian^-1 gradient``: for a parabola, twice the distance of the
    value from the minimum, and the squared distance of theta from the optimum in standard errors. It is compared with
    the weight of the rows times the scale of one row's value, so that the root mean square error of the linear
    predictors is a small multiple of ``tol`` times their scale: 1, and at most 5 for many rows.

    Examples
    --------
    >>> test = Convergence(tol=1e-8, weight=100.0, unit=1.0)
    >>> test.reached(1e-14), test.reached(1e-13)
    (True, False)
    """

    tol: float
    weight: float
    unit: float  #: the scale of one row's value: :attr:`Objective.unit`
    parameters: int = 1
    constant: float = 0.0  #: of the value: :attr:`Objective.constant`
    _least: float = math.inf  # the smallest decrement so far
    _idle: int = 0  # steps since then

    @classmethod
    def of(cls, objective: Objective, tol: float, parameters: int) -> Convergence:
        """Return the tests for an objective with this number of parameters."""
        return cls(tol, objective.weight, objective.unit, parameters, objective.constant)

    @property
    def goal(self) -> float:
        """The largest decrement at which a search has converged."""
        return self._allowed(self.tol)

    def reached(self, decrement: float) -> bool:
        """Whether the decrement is within the tolerance."""
        return decrement <= self._allowed(self.tol)

    def is_close(self, decrement: float) -> bool:
        """Whether theta is within 1e4 tol standard errors of the optimum.

        Then a solver may also test :meth:`reached` with the Hessian at the start: if classes are separated, the Hessian
        goes to 0 while theta diverges.
        """
        return decrement <= ROWS * self.tol**2 * self.unit

    def slack(self, value: float) -> float:
        """Return the rounding error of a difference of values."""
        size = abs(value - self.constant) + 0.01 * self.weight * self.unit  # terms of a value near zero may be larger
        return ROUNDING * size

    def decreases(self, value: float, before: float, predicted: float) -> bool:
        """Whether a value decreased by a sufficient part of the predicted decrease, or is equal up to rounding."""
        return math.isfinite(value) and value <= before - ENOUGH * predicted + self.slack(before)

    def stalls(self, decrement: float, decrease: float, value: float) -> bool:
        """Whether rounding keeps the decrement from decreasing: called once per step, with the last decrease."""
        smaller = decrement < 0.9 * self._least
        self._least = min(decrement, self._least)
        self._idle = 0 if smaller or decrease > self.slack(value) else self._idle + 1
        return self._idle >= IDLE

    def stuck(self, decrement: float) -> tuple[bool, str]:
        """Return whether a search that finds no better point has converged, and the reason of stopping."""
        if decrement <= self._allowed(max(self.tol, ROUNDED)):
            return True, "the value cannot decrease further in double precision"
        return False, "no step along the gradient decreases the value"

    def _allowed(self, tol: float) -> float:
        many = min(4 * self.parameters, MOST) if self.weight >= LARGE else 1  # passes cost, and errors are small
        return tol * tol * self.unit * min(many * self.weight, ROWS)

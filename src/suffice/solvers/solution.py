"""What a solver returns: where it stopped, why, and the steps it made."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from suffice.monitoring import report
from suffice.solvers.objective import Objective
from suffice.statistics.base import FloatArray

#: A trace holds at most so many steps; beyond that every second one is dropped.
MOST_STEPS = 10_000
#: And at most so many numbers of theta; beyond that theta is dropped from every second step that has it.
MOST_NUMBERS = 1 << 20


class DivergenceError(ValueError):
    """Steps so long that they lead away from the minimum."""


class Step(NamedTuple):
    """One line of a trace: theta as it was tried, and the objective there."""

    passes: float  #: passes over the rows so far; a part of the rows counts as its share
    value: float  #: the objective at theta: of a model minus its penalised log-likelihood, without constant terms
    gradient_norm: float  #: the largest entry of the gradient, divided by the weight of the rows; NaN if not known
    seconds: float  #: since the solver was started
    theta: FloatArray | None = None  #: (p, t); None where a long trace leaves it out
    number: int = 1  #: of the step, from 1: a long trace leaves out some steps

    @property
    def size(self) -> int:
        """How many numbers of theta it holds."""
        return 0 if self.theta is None else self.theta.size

    def __str__(self) -> str:
        return (
            f"pass {self.passes:.4g}: value {self.value:.10g}, largest gradient per row {self.gradient_norm:.2g}, "
            f"{self.seconds:.3g} s"
        )


@dataclass(frozen=True)
class Solution:
    """Where a solver stopped.

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
    """Every step with its theta. Above 10,000 steps every second one is left out, as often as needed; above a million
    numbers in all (8 MB), so is the theta of every second step. The first and the last step are always there."""
    hessian: FloatArray | None = field(default=None, repr=False)
    """The (expected) Hessian of the objective at theta, (p t, p t), theta column by column, where it is known."""
    weight: float = field(default=1.0, repr=False)  #: the weight of the rows

    @property
    def gradient_norm(self) -> float:
        """The largest entry of the gradient at theta, divided by the weight of the rows."""
        return gradient_norm(self.gradient, self.weight)

    @property
    def passes(self) -> float:
        """How many passes over the rows were made."""
        return self.trace[-1].passes if self.trace else 0.0

    @property
    def n_steps(self) -> int:
        """How many steps were made, those included that a long trace leaves out."""
        return self.trace[-1].number if self.trace else 0


def gradient_norm(gradient: FloatArray, weight: float) -> float:
    """Return the largest entry of a gradient, per unit of weight."""
    return float(np.abs(gradient).max(initial=0.0)) / weight


@dataclass
class Trace:
    """The steps of a solver that is running.

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
    _number: int = 0
    _numbers: int = 0  # of all thetas held

    @classmethod
    def of(cls, objective: Objective) -> Self:
        """Return the empty trace of a solver that starts now."""
        return cls(objective.weight or 1.0, objective.n_rows)

    def add(self, theta: FloatArray, value: float, gradient: FloatArray | None, passes: float = 1.0) -> float:
        """Add and report a step that took so many passes; return the largest gradient per unit of weight, or NaN."""
        self.passes += passes
        self._number += 1
        norm = math.nan if gradient is None else gradient_norm(gradient, self.weight)
        seconds = time.perf_counter() - self.started
        self.steps.append(Step(self.passes, value, norm, seconds, np.array(theta), self._number))
        self._numbers += theta.size
        if len(self.steps) > MOST_STEPS or self._numbers > MOST_NUMBERS:
            self.steps = list(thin_trace(self.steps))
            self._numbers = sum(step.size for step in self.steps)
        report(self.passes, self.rows, value, norm, seconds)
        return norm


def thin_trace(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps of a trace, every second one where there are many, and fewer thetas where these are large."""
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

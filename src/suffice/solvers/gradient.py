"""Batch gradient: steps along the gradient of all rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from suffice.solvers.convergence import Convergence
from suffice.solvers.linear_algebra import Symmetric
from suffice.solvers.objective import MANY, Trace, flat, inner, shaped
from suffice.solvers.solution import DivergenceError, Solution
from suffice.statistics.base import FloatArray

_EPS = float(np.finfo(np.float64).eps)


class Slopes(Protocol):
    """A log-likelihood of rows, less a penalty, that tells its slope.

    One that also has ``curvature(theta)``, which returns value, gradient and information, (p t, p t), with theta read
    column by column, is asked for it to choose a step size and at the end, unless theta has more than 2,000 entries.
    One that has ``diagonal(theta)``, the information's diagonal in the shape of theta, has its slopes judged in units
    of their columns.
    """

    @property
    def weight(self) -> float:
        """The total weight of the rows."""

    @property
    def unit(self) -> float:
        """The scale of one row's log-likelihood: the variance of gaussian targets, whose units it has; else about 1."""

    def slope(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return value and gradient, (p, t), at theta."""


@dataclass(frozen=True)
class BatchGradient:
    """The batch rule: theta := theta + step * gradient / weight, all rows at once.

    Parameters
    ----------
    step
        How far to go along the gradient per unit of weight; one that is too long raises
        :class:`~suffice.solvers.solution.DivergenceError`. By default 1 / the largest curvature at the start, found by
        power iterations, or (of objectives that do not tell it) 1 / the curvature along the first gradient; either is
        halved whenever the log-likelihood does not rise as it should.
    decay, power
        Step number s is ``step / (1 + decay s) ** power`` long; all are the same by default.
    max_iter
        How many steps to make at most.
    tol
        The largest slope per unit of weight at which to stop, in units of its column and of the targets' spread.

    Examples
    --------
    >>> class Parabola:
    ...     weight = unit = 1.0
    ...
    ...     def slope(self, theta):
    ...         return float(-((theta - 3.0) ** 2).sum() / 2), 3.0 - theta
    >>> BatchGradient(step=0.5).minimise(Parabola(), np.zeros((1, 1))).theta.round(6)
    array([[3.]])
    """

    step: float | None = None
    decay: float = 0.0
    power: float = 1.0
    max_iter: int = 10_000
    tol: float = 1e-8

    def __post_init__(self) -> None:
        if self.step is not None and not 0 < self.step < math.inf:
            raise ValueError(f"step must be finite and above 0, or None for one that suits the rows; got {self.step}")
        if not (0 <= self.decay < math.inf and 0 <= self.power < math.inf):
            raise ValueError(f"decay and power must be finite and not negative; got {self.decay} and {self.power}")
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1; got {self.max_iter}")

    def minimise(self, objective: Slopes, start: FloatArray) -> Solution:
        """Return where the steps lead from a start, (p, t)."""
        return self._walk(objective, np.array(start, dtype=np.float64))[0]

    def _walk(self, objective: Slopes, theta: FloatArray) -> tuple[Solution, float]:
        """Return where the steps lead, and the step size at the end, which is shorter where it had to be."""
        start, record = theta, Trace(objective.weight or 1.0)
        value, gradient = objective.slope(theta)
        at_start, aim = value, self.tol
        record.add(value, gradient)
        steepness = Steepness(objective, theta, record)
        step = self.step or 1 / largest_curvature(objective, theta, gradient, record, steepness)
        slope, converged, scale = steepness(gradient), False, record.weight * objective.unit
        for number in range(self.max_iter):
            if slope <= aim:
                converged = is_near(objective, theta, gradient, self.tol, record)
                aim /= 10  # columns that nearly depend on each other have small slopes far from the optimum
            if converged or step < 1e-300:
                break
            along = step / (1 + self.decay * number) ** self.power / record.weight * gradient
            next_value, next_gradient = objective.slope(theta + along)
            if self.step is None and not _rises(value, next_value, float(np.sum(along * gradient)), scale):
                step /= 2
                record.passes += 1
                continue
            theta, value, gradient = theta + along, next_value, next_gradient
            record.add(value, gradient)
            slope = steepness(gradient)
            if not np.isfinite(theta).all() or is_far_below(value, at_start, scale):
                shorter = replace(self, step=None, max_iter=50)._walk(objective, start)[1]
                raise diverged(step, f"after {number + 1} steps", at_start, value, record.weight, shorter)
        converged = converged or (slope <= aim and is_near(objective, theta, gradient, self.tol, record))
        why = f"all {self.max_iter} steps were made, and the largest scaled slope is still {slope:.2g}"
        if converged:
            why = f"the largest scaled slope is no more than {self.tol:g}"
        return Solution(theta, value, gradient, converged, why, tuple(record.steps)), step


class Steepness:
    """Measures slopes in units of their columns and of the targets: the largest, per unit of weight."""

    def __init__(self, objective: Slopes, theta: FloatArray, trace: Trace) -> None:
        diagonal = getattr(objective, "diagonal", None)
        bend = np.full(theta.shape, trace.weight) if diagonal is None else diagonal(theta)
        trace.passes += diagonal is not None
        #: the largest curvature of one coefficient per unit of weight
        self.bend = float(bend.max(initial=0.0)) / trace.weight or 1.0
        self._scale = np.sqrt(trace.weight * objective.unit * np.where(bend > 0, bend, trace.weight))

    def __call__(self, gradient: FloatArray) -> float:
        """Return the largest slope."""
        return float(np.abs(gradient / self._scale).max(initial=0.0))


def is_near(objective: Slopes, theta: FloatArray, gradient: FloatArray, tol: float, trace: Trace) -> bool:
    """Whether Newton's decrement agrees that the optimum is near; it is believed where there is no curvature to ask.

    Slopes of columns that nearly depend on each other are small far from it.
    """
    bend = getattr(objective, "curvature", None) if theta.size <= MANY else None
    if bend is None:
        return True
    trace.passes += 1
    decrement = inner(Symmetric.of(bend(theta)[2]).solve(flat(gradient)), flat(gradient))
    return Convergence(_NEAR * tol, objective.weight, objective.unit).reached(decrement)


def largest_curvature(
    objective: Slopes, theta: FloatArray, gradient: FloatArray, trace: Trace, steepness: Steepness
) -> float:
    """Return about the largest curvature per unit of weight, by a few power iterations; 1 where it is flat."""
    # The gradient alone may miss the direction that bends most.
    direction = gradient / (np.abs(gradient).max(initial=0.0) or 1.0) + 0.1
    bend = getattr(objective, "curvature", None) if theta.size <= MANY else None
    information = None if bend is None else bend(theta)[2]
    trace.passes += 4 if information is None else 1
    largest, short = 0.0, _SHORT / math.sqrt(steepness.bend)
    for _ in range(4 if information is None else 20):
        direction = direction / float(np.linalg.norm(direction))
        if information is None:
            direction = (gradient - objective.slope(theta + short * direction)[1]) / short
        else:
            direction = shaped(information @ flat(direction), direction)
        largest = float(np.linalg.norm(direction))
        if not 0 < largest < math.inf:
            return 1.0
    return largest / trace.weight


_SHORT = 1e-5  #: how far to go for a difference of gradients, in units of the predictor
_NEAR = 100.0  #: the root of Newton's decrement at the end may be so many times what each slope may be


def _rises(value: float, onward: float, expected: float, scale: float) -> bool:
    """Whether a step raises the value by a good part of what its slope promises, as far as rounding lets one see."""
    return onward >= value + 0.4 * expected - 8 * _EPS * (abs(value) + scale)


def is_far_below(value: float, start: float, scale: float) -> bool:
    """Whether a log-likelihood has gone astray: it lies below its start by ten times whatever that could win.

    ``scale`` is what all rows may add.
    """
    return not value >= start - 10 * (abs(start) + scale)


def diverged(step: float, when: str, start: float, now: float, weight: float, shorter: float) -> DivergenceError:
    """Return the complaint about steps that are too long.

    >>> print(diverged(5.0, "in epoch 2", -69.0, -4e9, 100.0, 0.25))
    step=5 is too long: in epoch 2 the log-likelihood per row fell from -0.69 to -4e+07; try step=0.25
    """
    told = f"fell from {start / weight:.3g} to {now / weight:.3g}" if math.isfinite(now) else "is no number any more"
    return DivergenceError(
        f"step={step:g} is too long: {when} the log-likelihood per row {told}; try step={shorter:.2g}"
    )

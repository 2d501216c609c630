"""Batch gradient descent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from suffice.parameter_names import NamedParameters
from suffice.solvers.base import MANY, Convergence, DivergenceError, Objective, Solution, Trace
from suffice.solvers.linear_algebra import Symmetric, flat, inner, shaped
from suffice.statistics.base import FloatArray

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class BatchGradient(NamedParameters):
    """Batch gradient descent: theta := theta - step * gradient / weight, over all rows.

    Parameters
    ----------
    step
        Step size; one that is too long raises :class:`~suffice.solvers.base.DivergenceError`. By default 1 / the
        largest eigenvalue of the Hessian at the start, by power iteration, or (for objectives without a Hessian) 1 /
        the curvature along the first gradient; both are halved if the value does not decrease sufficiently.
    decay, power
        Step number s is ``step / (1 + decay s) ** power`` long; all are the same by default.
    max_iter
        Most steps.
    tol
        Tolerance of the gradient per unit of weight, in units of its column and of the targets' spread.

    Examples
    --------
    >>> from suffice.solvers import ValueGradient
    >>> class Parabola(Objective):
    ...     def value_gradient(self, theta):
    ...         return ValueGradient(float(((theta - 3.0) ** 2).sum() / 2), theta - 3.0)
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
            raise ValueError(f"step must be finite and above 0, or None for a chosen one; got {self.step}")
        if not (0 <= self.decay < math.inf and 0 <= self.power < math.inf):
            raise ValueError(f"decay and power must be finite and not negative; got {self.decay} and {self.power}")
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1; got {self.max_iter}")

    def minimise(self, objective: Objective, start: FloatArray) -> Solution:
        """Return the result of the steps from a start, (p, t)."""
        return self._descend(objective, np.array(start, dtype=np.float64))[0]

    def _descend(self, objective: Objective, theta: FloatArray) -> tuple[Solution, float]:
        """Return the result of the steps, and the last step size, which may have been halved."""
        start, trace = theta, Trace.of(objective)
        value, gradient = objective.value_gradient(theta)
        at_start, aim = value, self.tol
        trace.add(theta, value, gradient)
        scale = GradientScale(objective, theta, trace)
        step = self.step or 1 / largest_eigenvalue(objective, theta, gradient, trace, scale)
        norm, converged, spread = scale.norm(gradient), False, trace.weight * objective.unit
        fixed = objective.constant
        for number in range(self.max_iter):
            if norm <= aim:
                converged = is_near(objective, theta, gradient, self.tol, trace)
                aim /= 10  # nearly collinear columns have small gradients far from the optimum
            if converged or step < 1e-300:
                break
            size = step / (1 + self.decay * number) ** self.power
            along = -size / trace.weight * gradient
            next_value, next_gradient = objective.value_gradient(theta + along)
            if self.step is None and not _falls(
                value - fixed, next_value - fixed, -float(np.sum(along * gradient)), spread
            ):
                step /= 2
                trace.passes += 1
                continue
            theta, value, gradient = theta + along, next_value, next_gradient
            trace.add(theta, value, gradient, step=size)
            norm = scale.norm(gradient)
            if not np.isfinite(theta).all() or is_far_above(value - fixed, at_start - fixed, spread):
                shorter = replace(self, step=None, max_iter=50)._descend(objective, start)[1]
                raise diverged(step, f"after {number + 1} steps", at_start, value, trace.weight, shorter)
        converged = converged or (norm <= aim and is_near(objective, theta, gradient, self.tol, trace))
        if converged:
            reason = f"the largest scaled gradient is no more than {self.tol:g}"
        else:
            reason = f"all {self.max_iter} steps were made, and the largest scaled gradient is still {norm:.2g}"
            reason += scaling_advice(objective, theta, trace)
        steps = tuple(trace.steps)
        return Solution(theta, value, gradient, converged, reason, steps, weight=trace.weight), step


class GradientScale:
    """Scales gradients to the units of their columns and of the targets."""

    def __init__(self, objective: Objective, theta: FloatArray, trace: Trace) -> None:
        diagonal = np.full(theta.shape, trace.weight)
        if objective.supports("hessian_diagonal", theta):
            diagonal = objective.hessian_diagonal(theta)
            trace.passes += 1
        #: the largest entry of the Hessian's diagonal per unit of weight
        self.largest = float(diagonal.max(initial=0.0)) / trace.weight or 1.0
        self._scale = np.sqrt(trace.weight * objective.unit * np.where(diagonal > 0, diagonal, trace.weight))

    def norm(self, gradient: FloatArray) -> float:
        """Return the largest entry of a gradient, scaled, per unit of weight."""
        return float(np.abs(gradient / self._scale).max(initial=0.0))


def is_near(objective: Objective, theta: FloatArray, gradient: FloatArray, tol: float, trace: Trace) -> bool:
    """Whether the Newton decrement is small too; True without a Hessian.

    Gradients of nearly collinear columns are small far from the optimum.
    """
    if theta.size > MANY or not objective.supports("hessian", theta):
        return True
    trace.passes += 1
    hessian = objective.value_gradient_hessian(theta).hessian
    decrement = inner(Symmetric.of(hessian).solve(flat(gradient)), flat(gradient))
    return Convergence(_NEAR * tol, objective.weight, objective.unit).reached(decrement)


def scaling_advice(objective: Objective, theta: FloatArray, trace: Trace) -> str:
    """Return the condition number of the Hessian and what would lower it, for the reason of a slow descent; or ""."""
    if theta.size > MANY or not objective.supports("hessian", theta):
        return ""
    hessian = objective.value_gradient_hessian(theta).hessian
    trace.passes += 1
    trace.steps[-1] = trace.steps[-1]._replace(passes=trace.passes)
    diagonal = hessian.diagonal()
    if not np.isfinite(hessian).all() or not (diagonal > 0).all():
        return ""
    before = float(np.linalg.cond(hessian))
    if before < _ILL_SCALED:
        return ""
    cure = "scale the features to unit variance"
    if getattr(objective, "intercept", False) and theta.shape[1] == 1 and len(theta) > 1:
        cure = "scale the features to mean 0 and variance 1"
        hessian = hessian[1:, 1:] - np.outer(hessian[1:, 0], hessian[0, 1:]) / hessian[0, 0]
        diagonal = np.maximum(hessian.diagonal(), np.finfo(np.float64).tiny)
    after = float(np.linalg.cond(hessian / np.sqrt(np.outer(diagonal, diagonal))))
    cure = f"{cure} (then about {after:.2g})"
    if after > before / 10:
        cure = "columns are nearly collinear, which scaling does not change: use Newton's method"
    return f"; the condition number of the Hessian is {before:.2g}, and gradient steps grow with it: {cure}"


def largest_eigenvalue(
    objective: Objective, theta: FloatArray, gradient: FloatArray, trace: Trace, scale: GradientScale
) -> float:
    """Return about the largest eigenvalue of the Hessian per unit of weight, by power iteration; 1 if it is 0."""
    # The gradient may have no part along the largest eigenvector.
    direction = 0.1 - gradient / (np.abs(gradient).max(initial=0.0) or 1.0)
    hessian = None
    if theta.size <= MANY and objective.supports("hessian", theta):
        hessian = objective.value_gradient_hessian(theta).hessian
    trace.passes += 4 if hessian is None else 1
    largest, short = 0.0, _SHORT / math.sqrt(scale.largest)
    for _ in range(4 if hessian is None else 20):
        direction = direction / float(np.linalg.norm(direction))
        if hessian is None:
            direction = (objective.value_gradient(theta + short * direction).gradient - gradient) / short
        else:
            direction = shaped(hessian @ flat(direction), direction)
        largest = float(np.linalg.norm(direction))
        if not 0 < largest < math.inf:
            return 1.0
    return largest / trace.weight


_SHORT = 1e-5  #: the step of a difference of gradients, in units of the predictor
_ILL_SCALED = 1e3  #: from this condition number on, slow convergence is blamed on the scale of the features
_NEAR = 100.0  #: tolerance of the root of the Newton decrement, relative to that of each gradient


def _falls(value: float, onward: float, expected: float, scale: float) -> bool:
    """Whether a step decreases the value by a sufficient part of what its gradient predicts, up to rounding."""
    return onward <= value - 0.4 * expected + 8 * _EPS * (abs(value) + scale)


def is_far_above(value: float, start: float, scale: float) -> bool:
    """Whether a value has diverged: it is above its start by ten times the largest possible gain.

    ``scale`` is the size of the sum over all rows.
    """
    return not value <= start + 10 * (abs(start) + scale)


def diverged(step: float, when: str, start: float, now: float, weight: float, shorter: float) -> DivergenceError:
    """Return the error for steps that are too long.

    >>> print(diverged(5.0, "in epoch 2", 69.0, 4e9, 100.0, 0.25))
    step=5 is too long: in epoch 2 the value per row rose from 0.69 to 4e+07; try step=0.25
    """
    told = f"rose from {start / weight + 0.0:.3g} to {now / weight:.3g}" if math.isfinite(now) else "is not finite"
    return DivergenceError(f"step={step:g} is too long: {when} the value per row {told}; try step={shorter:.2g}")

"""Newton's method without a matrix: each step is solved by conjugate gradients, as far as it pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from suffice.solvers.convergence import Convergence
from suffice.solvers.objective import Objective, Slope, Trace, inner
from suffice.solvers.quasi_newton import searched
from suffice.solvers.solution import Solution
from suffice.statistics.base import FloatArray

Product = Callable[[FloatArray], FloatArray]
#: The most products with the information for one step.
MOST = 200
#: How much of the slope the first steps may leave.
ROUGH = 0.1


class Multiplied(Objective, Protocol):
    """A log-likelihood whose information multiplies steps without being written down."""

    def products(self, theta: FloatArray) -> Product | None:
        """Return what multiplies a step by the information at theta, in one pass each."""

    def diagonal(self, theta: FloatArray) -> FloatArray:
        """Return the diagonal of the information at theta, in its shape."""


@dataclass(frozen=True)
class TruncatedNewton:
    """Newton's method for many parameters; see :class:`Auto`, which takes it where no matrix of curvatures fits."""

    tol: float = 1e-8
    max_iter: int = 100

    def minimise(self, objective: Multiplied, start: FloatArray) -> Solution:
        """Return where minus the log-likelihood is least."""
        trace = Trace.of(objective)
        theta = np.array(start, dtype=np.float64)
        here: Slope = objective.slope(theta)
        trace.add(here.value, here.gradient)

        def solution(converged: bool, why: str) -> Solution:
            return Solution(theta, here.value, here.gradient, converged, why, tuple(trace.steps))

        if not np.isfinite(here.value):
            return solution(False, "the log-likelihood is not finite at the start")
        across = objective.diagonal(theta)
        across = np.where(across > 0, across, 1.0)
        test = Convergence.of(objective, self.tol, start.size)
        steepness = first = inner(here.gradient, here.gradient / across)
        gained = np.inf
        for _ in range(self.max_iter):
            product = objective.products(theta)
            assert product is not None
            # Far from the optimum a rough step does; near it, a step as exact as the slope is small.
            exactness = min(ROUGH, float((steepness / first) ** 0.25)) if first > 0 else ROUGH
            step, count = conjugate_gradients(product, here.gradient, across, exactness)
            trace.passes += count + 1
            promise = inner(step, here.gradient)
            if test.reached(promise, steepness):
                return solution(True, "the gradient vanishes")
            if test.stalls(promise, gained, here.value):
                return solution(*test.stuck(promise))
            share, there = searched(objective, theta, here, step, promise, trace, test)
            if there is here:
                return solution(*test.stuck(promise))
            gained = there.value - here.value
            theta, here = theta + share * step, Slope(there.value, there.gradient)
            steepness = inner(here.gradient, here.gradient / across)
        return solution(False, f"max_iter={self.max_iter} steps were made")


def conjugate_gradients(
    product: Product, right: FloatArray, across: FloatArray, exactness: float
) -> tuple[FloatArray, int]:
    """Return the step that solves information @ step = right, to a share of the right side, and the products it took.

    Parameters
    ----------
    product
        Multiplies by the information.
    across
        The information's diagonal, or something like it: it makes the parameters' units alike.

    Examples
    --------
    >>> matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> step, count = conjugate_gradients(lambda v: matrix @ v, np.array([1.0, 2.0]), np.ones(2), 1e-12)
    >>> step.round(6), count
    (array([0.090909, 0.636364]), 2)
    """
    step = np.zeros_like(right)
    rest = right.copy()
    direction = rest / across
    size = first = inner(rest, direction)
    count = 0
    while count < MOST and size > exactness**2 * first:
        bent = product(direction)
        count += 1
        curvature = inner(direction, bent)
        if not curvature > 0:  # nothing more is known this way
            break
        share = size / curvature
        step += share * direction
        rest -= share * bent
        scaled = rest / across
        size, before = inner(rest, scaled), size
        direction = scaled + (size / before) * direction
    return (step if count and np.any(step) else direction), count

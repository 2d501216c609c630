"""Truncated Newton method: each step is solved by conjugate gradients, without a Hessian matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.solvers.base import Convergence, Objective, Product, Solution, Trace, check_supports
from suffice.solvers.linear_algebra import inner
from suffice.solvers.quasi_newton import Point, line_search
from suffice.statistics.base import FloatArray

#: Most products with the Hessian for one step.
MOST = 200
#: Relative residual of the first steps.
ROUGH = 0.1


@dataclass(frozen=True)
class TruncatedNewton:
    """Newton's method by conjugate gradients, for more parameters than a Hessian matrix in memory allows.

    Examples
    --------
    >>> from suffice.data import EncodedDataset
    >>> from suffice.discriminative.objective import NegativeLogLikelihood
    >>> from suffice.families import Response
    >>> from suffice.kernels import Batch
    >>> rows = Batch(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0]))
    >>> objective = NegativeLogLikelihood(EncodedDataset.of_batch(rows), Response.of("bernoulli"))
    >>> solution = TruncatedNewton().minimise(objective, np.zeros((2, 1)))
    >>> solution.theta.ravel().round(4), solution.converged
    (array([-1.3623,  0.9082]), True)
    """

    tol: float = 1e-8
    max_iter: int = 100

    def minimise(self, objective: Objective, start: FloatArray) -> Solution:
        """Return the minimum of the objective."""
        check_supports(self, objective, start, "hessian_product", "hessian_diagonal")
        trace = Trace.of(objective)
        theta = np.array(start, dtype=np.float64)
        here = Point(*objective.value_gradient(theta))
        trace.add(theta, here.value, here.gradient)

        def solution(converged: bool, reason: str) -> Solution:
            steps = tuple(trace.steps)
            return Solution(theta, here.value, here.gradient, converged, reason, steps, weight=trace.weight)

        if not np.isfinite(here.value):
            return solution(False, "the value is not finite at the start")
        diagonal = objective.hessian_diagonal(theta)
        diagonal = np.where(diagonal > 0, diagonal, 1.0)
        test = Convergence.of(objective, self.tol, start.size)
        size = first = inner(here.gradient, here.gradient / diagonal)
        decrease = np.inf
        for _ in range(self.max_iter):
            # Far from the optimum an approximate step is enough; near it, the residual decreases with the gradient.
            exactness = min(ROUGH, float((size / first) ** 0.25)) if first > 0 else ROUGH
            step, count = conjugate_gradients(objective.hessian_product(theta), -here.gradient, diagonal, exactness)
            trace.passes += count + 1
            decrement = -inner(step, here.gradient)
            if test.reached(decrement) or (test.is_close(decrement) and test.reached(size)):
                return solution(True, "the gradient vanishes")
            if test.stalls(decrement, decrease, here.value):
                return solution(*test.stuck(decrement))
            share, there = line_search(objective, theta, here, step, decrement, trace, test)
            if there is here:
                return solution(*test.stuck(decrement))
            decrease = here.value - there.value
            theta, here = theta + share * step, there
            size = inner(here.gradient, here.gradient / diagonal)
        return solution(False, f"max_iter={self.max_iter} steps were made")


def conjugate_gradients(
    product: Product, right: FloatArray, diagonal: FloatArray, exactness: float
) -> tuple[FloatArray, int]:
    """Solve hessian @ step = right to a relative residual; return the step and the number of products.

    Parameters
    ----------
    product
        Multiplies by the Hessian.
    diagonal
        The Hessian's diagonal, or an approximation, as preconditioner.

    Examples
    --------
    >>> matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    >>> step, count = conjugate_gradients(lambda v: matrix @ v, np.array([1.0, 2.0]), np.ones(2), 1e-12)
    >>> step.round(6), count
    (array([0.090909, 0.636364]), 2)
    """
    step = np.zeros_like(right)
    rest = right.copy()
    direction = rest / diagonal
    size = first = inner(rest, direction)
    count = 0
    while count < MOST and size > exactness**2 * first:
        curved = product(direction)
        count += 1
        curvature = inner(direction, curved)
        if not curvature > 0:  # no curvature left in this direction
            break
        share = size / curvature
        step += share * direction
        rest -= share * curved
        scaled = rest / diagonal
        size, before = inner(rest, scaled), size
        direction = scaled + (size / before) * direction
    return (step if count and np.any(step) else direction), count

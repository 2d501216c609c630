"""Quasi-Newton method: L-BFGS with a preconditioner."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.solvers.base import Convergence, Objective, Solution, Trace
from suffice.solvers.linear_algebra import Corrections, Preconditioner, inner, inverse_of
from suffice.solvers.newton import LEAST
from suffice.statistics.base import FloatArray


@dataclass(frozen=True)
class Point:
    """An objective at one theta, with its Hessian if requested."""

    value: float
    gradient: FloatArray
    hessian: FloatArray | None = None


@dataclass(frozen=True)
class QuasiNewton:
    """L-BFGS with a preconditioner, by default the inverse of the Hessian's diagonal.

    :class:`Auto` uses it with the Hessian of a sample of the rows.

    Examples
    --------
    >>> from suffice.data import EncodedDataset
    >>> from suffice.discriminative.objective import NegativeLogLikelihood
    >>> from suffice.families import Response
    >>> from suffice.kernels import Batch
    >>> rows = Batch(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0]))
    >>> objective = NegativeLogLikelihood(EncodedDataset.of_batch(rows), Response.of("bernoulli"))
    >>> solution = QuasiNewton().minimise(objective, np.zeros((2, 1)))
    >>> solution.theta.ravel().round(4), solution.converged
    (array([-1.3623,  0.9082]), True)
    """

    tol: float = 1e-8
    max_iter: int = 100
    hessian: bool = False  #: whether to return the Hessian at the optimum

    def minimise(
        self, objective: Objective, start: FloatArray, guess: Preconditioner | None = None, trace: Trace | None = None
    ) -> Solution:
        """Return the minimum of the objective.

        Parameters
        ----------
        guess
            Multiplies a gradient by an approximate inverse Hessian; it returns a new array of the same shape. By
            default the inverse of the Hessian's diagonal, or 1 if the objective does not support that.
        trace
            Earlier steps, if any.
        """
        trace = trace or Trace.of(objective)
        theta = np.array(start, dtype=np.float64)
        guess = guess or _scaling(objective, theta, trace)
        here = Point(*objective.value_gradient(theta))
        trace.add(theta, here.value, here.gradient)
        test = Convergence.of(objective, self.tol, start.size)
        before, decrease = 0.0, np.inf  # no decrement yet
        corrections = Corrections(guess)
        hessian: FloatArray | None = None

        def solution(converged: bool, reason: str) -> Solution:
            known = hessian
            if self.hessian and known is None and np.isfinite(here.value):
                known = objective.value_gradient_hessian(theta).hessian
                trace.passes += 1
            steps = tuple(trace.steps)
            return Solution(theta, here.value, here.gradient, converged, reason, steps, known, trace.weight)

        if not np.isfinite(here.value):
            return solution(False, "the value is not finite at the start")
        for _ in range(self.max_iter):
            step = -corrections.solve(here.gradient)
            decrement = -inner(step, here.gradient)
            if test.reached(decrement) or (
                test.is_close(decrement) and test.reached(inner(guess(here.gradient), here.gradient))
            ):
                return solution(True, "the gradient vanishes")
            if test.stalls(decrement, decrease, here.value):
                return solution(*test.stuck(decrement))
            # If the next pass is expected to be the last, it computes the Hessian too.
            last = self.hessian and hessian is None and decrement * decrement <= test.goal * (before or decrement)
            share, there = line_search(objective, theta, here, step, decrement, trace, test, last)
            if there is here:
                if corrections.pairs:  # try again without corrections
                    corrections.clear()
                    continue
                return solution(*test.stuck(decrement))
            before, decrease = decrement, here.value - there.value
            corrections.add(share * step, there.gradient - here.gradient)
            theta, here = theta + share * step, there
            if here.hessian is not None:
                hessian = here.hessian
                corrections = Corrections(inverse_of(hessian))
        return solution(False, f"max_iter={self.max_iter} steps were made")


def _scaling(objective: Objective, theta: FloatArray, trace: Trace) -> Preconditioner:
    """Return the function that divides a gradient by the diagonal of the Hessian, if available."""
    if not objective.supports("hessian_diagonal", theta):
        return np.copy
    diagonal = 1 / np.maximum(objective.hessian_diagonal(theta), np.finfo(np.float64).tiny)
    trace.passes += 1
    return lambda gradient: diagonal * gradient


def line_search(
    objective: Objective,
    theta: FloatArray,
    here: Point,
    step: FloatArray,
    decrement: float,
    trace: Trace,
    test: Convergence,
    hessian: bool = False,
) -> tuple[float, Point]:
    """Return a share of the step that decreases the value, and the objective there; that at theta if none does.

    A step with an insufficient decrease is cut at the minimum of the interpolating parabola; one at whose end the
    slope is still steep is doubled.
    """
    share, low, high = 1.0, 0.0, np.inf
    best = 0.0, here
    for _ in range(30):
        at = theta + share * step
        there = Point(*objective.value_gradient_hessian(at)) if hessian else Point(*objective.value_gradient(at))
        trace.add(at, there.value, there.gradient, step=share)
        if not test.decreases(there.value, here.value, share * decrement):
            high = share
            decrease = here.value - there.value
            cut = share * decrement / (2 * (share * decrement - decrease)) if np.isfinite(decrease) else 0.1
            share = low + (share - low) * min(max(cut, 0.1), 0.5)
        else:
            best = share, there
            if -inner(there.gradient, step) <= 0.9 * decrement:
                return best
            low = share
            share = 2 * share if high == np.inf else (low + high) / 2
        if share * decrement <= LEAST * test.slack(here.value):
            break
        hessian = False
    return best

"""Newton's method (Fisher scoring) with step halving."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.parameter_names import NamedParameters
from suffice.solvers.base import Convergence, Objective, Solution, Trace, check_supports
from suffice.solvers.linear_algebra import Corrections, inner, inverse_of, predicts_change
from suffice.statistics.base import FloatArray

#: A step whose predicted decrease is below this share of rounding error is not tried.
LEAST = 1e-3
#: Most halvings of a step.
HALVINGS = 50


@dataclass(frozen=True)
class Newton(NamedParameters):
    """Newton's method: theta := theta - H(theta)^-1 gradient, halving the step.

    H is the expected Hessian (Fisher scoring); the observed one if the objective has both, as for gamma and Tweedie
    responses under the log link, where fewer steps are needed and one more pass returns the expected one at the end.

    Converged: the linear predictors are within a few ``tol`` of the optimum, relative to their scale, and theta is
    within ``1e4 tol`` standard errors: see :class:`~suffice.solvers.base.Convergence`.

    Examples
    --------
    >>> from suffice.data import EncodedDataset
    >>> from suffice.discriminative.objective import NegativeLogLikelihood
    >>> from suffice.families import Response
    >>> from suffice.kernels import Batch
    >>> rows = Batch(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0]))
    >>> objective = NegativeLogLikelihood(EncodedDataset.of_batch(rows), Response.of("bernoulli"))
    >>> solution = Newton().minimise(objective, np.zeros((2, 1)))
    >>> solution.theta.ravel().round(4), solution.reason
    (array([-1.3623,  0.9082]), 'the gradient vanishes')
    """

    tol: float = 1e-8
    max_iter: int = 100

    def minimise(self, objective: Objective, start: FloatArray, trace: Trace | None = None) -> Solution:
        """Return the minimum of the objective; ``trace`` has earlier steps, if any."""
        check_supports(self, objective, start, "hessian")
        trace = trace or Trace.of(objective)
        test = Convergence.of(objective, self.tol, start.size)
        theta = np.array(start, dtype=np.float64)
        observed = objective.supports("observed_hessian", start)
        evaluate = objective.value_gradient_observed if observed else objective.value_gradient_hessian
        here = evaluate(theta)
        trace.add(theta, here.value, here.gradient)
        decrease = np.inf

        def solution(converged: bool, reason: str) -> Solution:
            steps = tuple(trace.steps)
            hessian = objective.value_gradient_hessian(theta).hessian if observed else here.hessian
            return Solution(theta, here.value, here.gradient, converged, reason, steps, hessian, trace.weight)

        if not np.isfinite(here.value):
            return solution(False, "the value is not finite at the start")
        first = inverse_of(here.hessian)
        corrections, misled = Corrections(first), False
        for _ in range(self.max_iter):
            step = -corrections.guess(here.gradient)
            decrement = -inner(step, here.gradient)
            if test.reached(decrement) or (
                test.is_close(decrement) and test.reached(inner(first(here.gradient), here.gradient))
            ):
                return solution(True, "the gradient vanishes")
            if test.stalls(decrement, decrease, here.value):
                return solution(*test.stuck(decrement))
            if corrections.pairs:
                step = -corrections.solve(here.gradient)
                decrement = -inner(step, here.gradient)
            # Halve the step until the value decreases sufficiently.
            share = 1.0
            for _ in range(HALVINGS):
                onward = theta + share * step
                there = evaluate(onward)
                trace.add(onward, there.value, there.gradient, step=share)
                falls = test.decreases(there.value, here.value, share * decrement)
                share /= 2
                if falls or share * decrement <= LEAST * test.slack(here.value):
                    break
            if not falls:
                if corrections.pairs:
                    corrections.clear()
                    misled = True
                    continue
                return solution(*test.stuck(decrement))
            decrease = here.value - there.value
            taken, change = onward - theta, there.gradient - here.gradient
            # Near the ends of a mean's range gradients change too fast for corrections, which overshoot.
            misled |= bool(corrections.pairs) and bool(np.abs(taken).max() < np.abs(step).max() / 8)
            if misled or predicts_change(here.hessian, there.hessian, taken, change):
                corrections.clear()
            else:
                corrections.add(taken, change)
            theta, here = onward, there
            corrections.guess = inverse_of(here.hessian)
        return solution(False, f"max_iter={self.max_iter} steps were made")

"""Newton's method, as Fisher scoring: every step solves with the whole curvature, and is halved until it helps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.solvers.convergence import Convergence
from suffice.solvers.corrections import Corrections, inverse_of
from suffice.solvers.objective import Bend, Objective, Trace, flat, inner
from suffice.solvers.solution import Solution
from suffice.statistics.base import FloatArray

#: A step must gain this share of what the slope promises.
ENOUGH = 1e-4
#: The change of a slope that differs from what the information says by no more than this share needs no correction.
NEARLY = 0.05
#: A step that promises less than this share of what is rounding is not tried: a longer one led astray.
LEAST = 1e-3


@dataclass(frozen=True)
class Newton:
    """Newton's method: theta := theta + I(theta)^-1 gradient, with the expected information I, halving the step.

    It stops where the linear predictors are within a few ``tol`` of the optimum, relative to their scale, and theta
    is within ``1e4 tol`` standard errors: see :class:`~suffice.solvers.convergence.Convergence`.

    Examples
    --------
    >>> from suffice.discriminative.objective import Likelihood
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> from suffice.families import Response
    >>> rows = Batch(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0]))
    >>> solution = Newton().minimise(Likelihood(ThreadEngine(), rows, Response.of("bernoulli")), np.zeros((2, 1)))
    >>> solution.theta.ravel().round(4), solution.why
    (array([-1.3623,  0.9082]), 'the gradient vanishes')
    """

    tol: float = 1e-8
    max_iter: int = 100

    def minimise(self, objective: Objective, start: FloatArray, trace: Trace | None = None) -> Solution:
        """Return where minus the log-likelihood is least; ``trace`` is what went before, if anything did."""
        trace = trace or Trace.of(objective)
        test = Convergence.of(objective, self.tol, start.size)
        theta = np.array(start, dtype=np.float64)
        here = objective.curvature(theta)
        trace.add(here.value, here.gradient)
        gained = np.inf

        def solution(converged: bool, why: str) -> Solution:
            return Solution(
                theta, here.value, here.gradient, converged, why, tuple(trace.steps), information=here.information
            )

        if not np.isfinite(here.value):
            return solution(False, "the log-likelihood is not finite at the start")
        first = inverse_of(here.information)
        corrections, mislead = Corrections(first), False
        for _ in range(self.max_iter):
            step = corrections.guess(here.gradient)
            promise = inner(step, here.gradient)
            if test.reached(promise, inner(first(here.gradient), here.gradient)):
                return solution(True, "the gradient vanishes")
            if test.stalls(promise, gained, here.value):
                return solution(*test.stuck(promise))
            if len(corrections):
                step = corrections.solve(here.gradient)
                promise = inner(step, here.gradient)
            theta_before, before = theta, here
            theta, here = halved(objective, theta, here, step, promise, trace, test)
            if here is before:
                if len(corrections):
                    corrections.clear()
                    mislead = True
                    continue
                return solution(*test.stuck(promise))
            gained = here.value - before.value
            corrections.guess = inverse_of(here.information)
            taken, change = theta - theta_before, before.gradient - here.gradient
            # Near the ends of a mean's range slopes change too fast for corrections: they lead beyond it.
            mislead |= len(corrections) > 0 and bool(np.abs(taken).max() < np.abs(step).max() / 8)
            if mislead or explains(before.information, here.information, taken, change):
                corrections.clear()
            else:
                corrections.add(taken, change)
        return solution(False, f"max_iter={self.max_iter} steps were made")


def explains(before: FloatArray, after: FloatArray, step: FloatArray, change: FloatArray) -> bool:
    """Whether the information at the ends of a step tells how the slope changed along it, or nearly.

    The expected information does so where the link is canonical. Where it is not, and the model does not fit (gamma/log
    without an intercept), the slope may change twice as fast: steps by the information alone would go to and fro.

    Examples
    --------
    >>> one, two, step = np.array([[1.0]]), np.array([[2.0]]), np.array([[1.0]])
    >>> explains(one, two, step, np.array([[1.5]])), explains(one, one, step, np.array([[1.5]]))
    (True, False)
    """
    along = [float(flat(step) @ information @ flat(step)) for information in (before, after)]
    return (1 - NEARLY) * min(along) <= inner(step, change) <= (1 + NEARLY) * max(along)


def halved(
    objective: Objective,
    theta: FloatArray,
    here: Bend,
    step: FloatArray,
    promise: float,
    trace: Trace,
    test: Convergence,
) -> tuple[FloatArray, Bend]:
    """Return the first of theta + step, theta + step / 2, ... that helps; or theta itself where none does."""
    share = 1.0
    for _ in range(50):
        there = objective.curvature(theta + share * step)
        trace.add(there.value, there.gradient)
        if improves(there.value, here.value, share * promise, test):
            return theta + share * step, there
        share /= 2
        if share * promise <= LEAST * test.slack(here.value):
            break
    return theta, here


def improves(value: float, before: float, promise: float, test: Convergence) -> bool:
    """Whether a value is better than before by a fair part of what was promised, or equal to rounding."""
    return bool(np.isfinite(value) and value >= before + ENOUGH * promise - test.slack(before))

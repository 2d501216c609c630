"""Quasi-Newton steps: the curvature of a few rows, corrected by how the slopes of all rows change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.solvers.convergence import Convergence
from suffice.solvers.corrections import Corrections, Guess, inverse_of
from suffice.solvers.newton import LEAST, improves
from suffice.solvers.objective import Bend, Objective, Slope, Trace, inner
from suffice.solvers.solution import Solution
from suffice.statistics.base import FloatArray


@dataclass(frozen=True)
class QuasiNewton:
    """L-BFGS over a given guess of the inverse curvature; see :class:`Auto`, which makes the guess."""

    tol: float = 1e-8
    max_iter: int = 100
    information: bool = False  #: whether the curvature at the end is wanted

    def minimise(self, objective: Objective, start: FloatArray, guess: Guess, trace: Trace | None = None) -> Solution:
        """Return where minus the log-likelihood is least.

        Parameters
        ----------
        guess
            Multiplies a slope by the inverse of some curvature; it returns a new array of the same shape.
        trace
            What went before, if anything did.
        """
        trace = trace or Trace.of(objective)
        theta = np.array(start, dtype=np.float64)
        here: Slope | Bend = objective.slope(theta)
        trace.add(here.value, here.gradient)
        test = Convergence.of(objective, self.tol, start.size)
        before, gained = 0.0, np.inf  # no promise yet
        corrections = Corrections(guess)
        information: FloatArray | None = None

        def solution(converged: bool, why: str) -> Solution:
            known = information
            if self.information and known is None and np.isfinite(here.value):
                known = objective.curvature(theta).information
                trace.passes += 1
            return Solution(theta, here.value, here.gradient, converged, why, tuple(trace.steps), known)

        if not np.isfinite(here.value):
            return solution(False, "the log-likelihood is not finite at the start")
        for _ in range(self.max_iter):
            step = corrections.solve(here.gradient)
            promise = inner(step, here.gradient)
            if test.reached(promise, inner(guess(here.gradient), here.gradient)):
                return solution(True, "the gradient vanishes")
            if test.stalls(promise, gained, here.value):
                return solution(*test.stuck(promise))
            # Where the next pass should be the last, it brings the curvature with it.
            last = self.information and information is None and promise * promise <= test.goal * (before or promise)
            share, there = searched(objective, theta, here, step, promise, trace, test, last)
            if there is here:
                if len(corrections):  # they may mislead: once more without
                    corrections.clear()
                    continue
                return solution(*test.stuck(promise))
            before, gained = promise, there.value - here.value
            corrections.add(share * step, here.gradient - there.gradient)
            theta, here = theta + share * step, there
            if isinstance(here, Bend):
                information = here.information
                corrections = Corrections(inverse_of(information))
        return solution(False, f"max_iter={self.max_iter} steps were made")


def searched(
    objective: Objective,
    theta: FloatArray,
    here: Slope | Bend,
    step: FloatArray,
    promise: float,
    trace: Trace,
    test: Convergence,
    bend: bool = False,
) -> tuple[float, Slope | Bend]:
    """Return a share of the step that helps, and the slope there; the slope here where none does.

    A step that helps too little is cut, at the top of the parabola through what is known; one past which the slope
    still rises steeply is doubled.
    """
    share, low, high = 1.0, 0.0, np.inf
    best: tuple[float, Slope | Bend] = (0.0, here)
    for _ in range(30):
        at = theta + share * step
        there: Slope | Bend = objective.curvature(at) if bend else objective.slope(at)
        trace.add(there.value, there.gradient)
        if not improves(there.value, here.value, share * promise, test):
            high = share
            gained = there.value - here.value
            cut = share * promise / (2 * (share * promise - gained)) if np.isfinite(gained) else 0.1
            share = low + (share - low) * min(max(cut, 0.1), 0.5)
        else:
            best = (share, there)
            if inner(there.gradient, step) <= 0.9 * promise:
                return best
            low = share
            share = 2 * share if high == np.inf else (low + high) / 2
        if share * promise <= LEAST * test.slack(here.value):
            break
        bend = False
    return best

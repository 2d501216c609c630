"""Dual coordinate ascent for ridge-penalised logistic and softmax regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.solvers.base import DualObjective, Solution, Trace, check_supports
from suffice.solvers.gradient import GradientScale
from suffice.statistics.base import FloatArray

#: Distance of theta from the optimum in standard errors, for a tolerance of 1.
DISTANCE = 1e4
#: The first gap per row, for a tolerance of 1.
FIRST = 1e-2
#: Smallest share of the last gap that is the next goal.
LEAST = 1e-4
#: Smaller gaps per row are lost in the rounding of single precision.
FINEST = 1e-12


@dataclass(frozen=True)
class DualAscent:
    """Dual coordinate ascent: rounds over the rows, each of which updates its own dual variables and theta.

    With many features, few of them in each row, ten rounds are worth about a hundred passes that update theta after all
    rows. The duality gap bounds the distance from the minimum. The loop works in single precision, to about six digits:
    for a smaller ``tol`` the solution is marked as not converged.
    """

    tol: float = 1e-8
    max_iter: int = 100

    def minimise(self, objective: DualObjective, start: FloatArray) -> Solution:
        """Return the minimum of the objective, or a theta near it."""
        check_supports(self, objective, start, "dual")
        ascend = objective.dual_ascent(start)
        trace = Trace.of(objective)
        scale = GradientScale(objective, start, trace)
        aim = min((DISTANCE * self.tol) ** 2 / 2, FIRST * self.tol * objective.weight)
        left = self.max_iter
        while True:
            theta, rounds, gap = ascend(aim, left)
            left -= rounds
            trace.passes += 2 * rounds
            here = objective.value_gradient(theta)
            trace.add(theta, here.value, here.gradient)
            norm = scale.norm(here.gradient)
            reached = norm <= self.tol and gap <= aim
            if reached or left <= 0 or aim <= FINEST * objective.weight or not np.isfinite(here.value):
                reason = "the gradient vanishes" if reached else "dual ascent does not decrease the gap further"
                steps = tuple(trace.steps)
                return Solution(theta, here.value, here.gradient, reached, reason, steps, weight=trace.weight)
            aim = min(aim, gap) * max(0.25 * (self.tol / norm) ** 2, LEAST)  # gaps are as gradients squared

"""Dual coordinate ascent for ridge-penalised logistic and softmax regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.solvers.base import DualObjective, Solution, Trace, check_supports
from suffice.solvers.gradient import GradientScale
from suffice.statistics.base import FloatArray

#: How many standard errors from the optimum theta may be, for a tolerance of 1.
DISTANCE = 1e4
#: The first gap per row, for a tolerance of 1.
FIRST = 1e-2
#: How much of a gap is aimed for at least, once the last one was not small enough.
LEAST = 1e-4
#: Smaller gaps per row are lost in the rounding of single precision.
FINEST = 1e-12


@dataclass(frozen=True)
class DualAscent:
    """Rounds over the rows, each of which moves its own dual variables to where theta and they agree.

    Where the rows have many features, few of them in each row, ten rounds lead as far as a hundred passes that move
    theta after all rows. The duality gap bounds what is left to gain. The loop works in single precision, so that it
    leads to the optimum to about six digits: where ``tol`` asks for more, the solution says that it has not converged.
    """

    tol: float = 1e-8
    max_iter: int = 100

    def minimise(self, objective: DualObjective, start: FloatArray) -> Solution:
        """Return where the objective is least, or near it."""
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
                reason = "the gradient vanishes" if reached else "dual ascent does not lead further"
                steps = tuple(trace.steps)
                return Solution(theta, here.value, here.gradient, reached, reason, steps, weight=trace.weight)
            aim = min(aim, gap) * max(0.25 * (self.tol / norm) ** 2, LEAST)  # gaps are as gradients squared

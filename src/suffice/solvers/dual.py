"""The dual of ridge-penalised logistic and softmax regression: row after row, as far as it pays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from suffice.solvers.gradient import Steepness
from suffice.solvers.objective import Objective, Trace
from suffice.solvers.solution import Solution
from suffice.statistics.base import FloatArray

#: Goes on until the value is within a gap of the highest, for so many rounds at most; returns theta, rounds and gap.
Climb = Callable[[float, int], tuple[FloatArray, int, float]]
#: How many standard errors from the optimum theta may be, for a tolerance of 1.
DISTANCE = 1e4
#: The first gap per row, for a tolerance of 1.
FIRST = 1e-2
#: How much of a gap is aimed for at least, once the last one was not small enough.
LEAST = 1e-4
#: Smaller gaps per row are lost in the rounding of short numbers.
FINEST = 1e-12


class Climbed(Objective, Protocol):
    """A log-likelihood with a dual."""

    def climb(self, start: FloatArray) -> Climb | None:
        """Return what goes round by the dual, from the intercepts of a start; None where there is no dual."""

    def diagonal(self, theta: FloatArray) -> FloatArray:
        """Return the diagonal of the information at theta, in its shape."""


@dataclass(frozen=True)
class DualAscent:
    """Rounds over the rows, each of which moves its own probabilities to where theta and they agree.

    Where the rows have many features, and few each, ten rounds lead where a hundred passes do that move theta after
    all rows. What is left to gain is known on the way. The numbers on the way are short, so that what they lead to is
    the optimum to about six digits: where ``tol`` asks for more, the solution says that it has not converged.
    """

    tol: float = 1e-8
    max_iter: int = 100

    def minimise(self, objective: Climbed, start: FloatArray) -> Solution | None:
        """Return where minus the log-likelihood is least, or near it; None where there is no dual."""
        climb = objective.climb(start)
        if climb is None:
            return None
        trace = Trace.of(objective)
        steepness = Steepness(objective, start, trace)
        aim = min((DISTANCE * self.tol) ** 2 / 2, FIRST * self.tol * objective.weight)
        left = self.max_iter
        while True:
            theta, rounds, gap = climb(aim, left)
            left -= rounds
            trace.passes += 2 * rounds
            here = objective.slope(theta)
            trace.add(here.value, here.gradient)
            norm = steepness(here.gradient)
            reached = norm <= self.tol and gap <= aim
            if reached or left <= 0 or aim <= FINEST * objective.weight or not np.isfinite(here.value):
                why = "the gradient vanishes" if reached else "the dual does not lead further"
                return Solution(theta, here.value, here.gradient, reached, why, tuple(trace.steps))
            aim = min(aim, gap) * max(0.25 * (self.tol / norm) ** 2, LEAST)  # gaps are as slopes squared

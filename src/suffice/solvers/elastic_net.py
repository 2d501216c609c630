"""The elastic net: Newton's steps with an absolute-value penalty, each solved coordinate by coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.solvers.newton import improves, stuck
from suffice.solvers.objective import MANY, Bend, Objective, Slope, Trace, flat, inner, shaped
from suffice.solvers.solution import Solution
from suffice.statistics.base import FloatArray

#: How often the coordinates are gone through at most to solve one quadratic.
ROUNDS = 10_000
#: A step must bring the largest slope below this share of itself, or the next one has its curvature taken anew.
FALL = 0.2
#: So many features at a time are let in where there are too many for a matrix of curvatures.
WORKING = 200


class Narrowed(Objective, Protocol):
    """A log-likelihood that can be asked about some of its features."""

    def columns(self, places: npt.NDArray[np.intp]) -> Objective:
        """Return the log-likelihood as a function of these rows of theta alone, the others being 0."""


@dataclass(frozen=True, eq=False)
class ElasticNet:
    """Raises a log-likelihood less ``sum of l1 |theta|``, by coordinate descent on the curvature at a point nearby.

    The curvature is kept from step to step, and from one penalty to the next along a path, as long as it serves.

    Parameters
    ----------
    l1
        The penalty of each coefficient, which broadcasts against theta: 0 for an intercept.

    Examples
    --------
    >>> from suffice.discriminative.objective import Likelihood
    >>> from suffice.engines import Batch, ThreadEngine
    >>> from suffice.families import Response
    >>> rows = Batch(np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]]), np.array([0.0, 2.0, 4.0, 6.0]))
    >>> likelihood = Likelihood(ThreadEngine(), rows, Response.of("gaussian"))
    >>> ElasticNet(np.array([[0.0], [1.0], [1.0]])).minimise(likelihood, np.zeros((3, 1))).theta.ravel().round(6)
    array([0.3, 1.8, 0. ])
    """

    l1: FloatArray
    tol: float = 1e-8
    max_iter: int = 100

    def minimise(self, objective: Any, start: FloatArray, information: FloatArray | None = None) -> Solution:
        """Return where minus the log-likelihood plus the penalty is least.

        Parameters
        ----------
        information
            The curvature near the start, where it is known.
        """
        if start.size > MANY:
            return self._by_working_sets(objective, start)
        trace = Trace.of(objective)
        return self._steps(objective, np.array(start, dtype=np.float64), information, trace)

    def _steps(self, objective: Objective, theta: FloatArray, information: FloatArray | None, trace: Trace) -> Solution:
        l1 = np.broadcast_to(self.l1, theta.shape)
        here: Slope | Bend = objective.slope(theta) if information is not None else objective.curvature(theta)
        fresh = isinstance(here, Bend)
        matrix = here.information if isinstance(here, Bend) else information
        assert matrix is not None
        norm = self._note(trace, here, theta, l1)

        def solution(converged: bool, why: str) -> Solution:
            value = here.value - float((l1 * np.abs(theta)).sum())
            slopes = violations(here.gradient, theta, l1)
            return Solution(theta, value, slopes, converged, why, tuple(trace.steps), matrix)

        if not np.isfinite(here.value):
            return solution(False, "the log-likelihood is not finite at the start")
        for _ in range(self.max_iter):
            if norm <= self.tol:
                return solution(True, "the gradient vanishes")
            step = self._step(matrix, here.gradient, theta, l1, trace.weight)
            share, there = self._searched(objective, theta, here, step, l1, trace)
            if there is here and not fresh:
                here = there = objective.curvature(theta)
                trace.passes += 1
            elif there is here:
                gain = self._gain(here.gradient, theta, step, l1)
                return solution(*stuck(gain, here.value))
            theta, here, before = theta + share * step, there, norm
            norm = trace.steps[-1].gradient_norm
            if norm > self.tol and norm > FALL * before and not isinstance(here, Bend):
                here = objective.curvature(theta)
                trace.passes += 1
            fresh = isinstance(here, Bend)
            matrix = here.information if isinstance(here, Bend) else matrix
        return solution(False, f"max_iter={self.max_iter} steps were made")

    def _note(self, trace: Trace, here: Slope | Bend, theta: FloatArray, l1: FloatArray) -> float:
        return trace.add(here.value - float((l1 * np.abs(theta)).sum()), violations(here.gradient, theta, l1))

    def _step(
        self, matrix: FloatArray, gradient: FloatArray, theta: FloatArray, l1: FloatArray, weight: float
    ) -> FloatArray:
        """Return the step to where the quadratic with this curvature and slope, less the penalty, is highest."""
        at = flat(theta)
        best = at.copy()
        precision = 0.1 * self.tol * np.sqrt(weight)
        right = flat(gradient) + np.einsum("ij,j->i", matrix, at)
        _native.coordinate_descent(matrix, right, flat(l1), best, precision, ROUNDS)
        return shaped(best - at, theta)

    def _searched(
        self,
        objective: Objective,
        theta: FloatArray,
        here: Slope | Bend,
        step: FloatArray,
        l1: FloatArray,
        trace: Trace,
    ) -> tuple[float, Slope | Bend]:
        """Return the first of the step, half of it, ... that helps, and the slope there; that here if none does."""
        now = here.value - float((l1 * np.abs(theta)).sum())
        gain = self._gain(here.gradient, theta, step, l1)
        share = 1.0
        for _ in range(30):
            at = theta + share * step
            there = objective.slope(at)
            self._note(trace, there, at, l1)
            if improves(there.value - float((l1 * np.abs(at)).sum()), now, share * gain):
                return share, there
            share /= 2
        return 0.0, here

    @staticmethod
    def _gain(gradient: FloatArray, theta: FloatArray, step: FloatArray, l1: FloatArray) -> float:
        """Return what a step promises, to first order."""
        return float(inner(gradient, step) + (l1 * (np.abs(theta) - np.abs(theta + step))).sum())

    def _by_working_sets(self, objective: Narrowed, start: FloatArray) -> Solution:
        """Let features in, the steepest first, until none that is left out would help."""
        trace = Trace.of(objective)
        theta = np.array(start, dtype=np.float64)
        l1 = np.broadcast_to(self.l1, theta.shape)
        inside = (l1 == 0).any(axis=1) | (theta != 0).any(axis=1)
        room = WORKING
        here = objective.slope(theta)
        for _ in range(self.max_iter):
            norm = self._note(trace, here, theta, l1)
            slopes = violations(here.gradient, theta, l1)
            if norm <= self.tol:
                value = here.value - float((l1 * np.abs(theta)).sum())
                return Solution(theta, value, slopes, True, "the gradient vanishes", tuple(trace.steps))
            outside = np.where(inside, 0.0, np.abs(slopes).max(axis=1))
            inside |= outside > max(np.partition(outside, -min(room, len(outside)))[-min(room, len(outside))], 0.0)
            places = np.flatnonzero(inside)
            part = ElasticNet(l1[places], self.tol / 2, self.max_iter)
            few = Trace.of(objective)
            solved = part._steps(objective.columns(places), theta[places], None, few)
            trace.passes += few.passes * len(places) / len(theta)
            theta[places] = solved.theta
            inside = (l1 == 0).any(axis=1) | (theta != 0).any(axis=1)
            room = max(2 * int(inside.sum()), WORKING)
            here = objective.slope(theta)
        why = f"max_iter={self.max_iter} working sets were solved"
        value = here.value - float((l1 * np.abs(theta)).sum())
        return Solution(theta, value, violations(here.gradient, theta, l1), False, why, tuple(trace.steps))


def violations(gradient: FloatArray, theta: FloatArray, l1: FloatArray) -> FloatArray:
    """Return how far each slope is from what the penalty holds in balance.

    Examples
    --------
    >>> violations(np.array([3.0, 1.0, -0.5]), np.array([2.0, 0.0, 0.0]), np.array([1.0, 2.0, 0.25]))
    array([ 2.  ,  0.  , -0.25])
    """
    rest = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where(theta != 0, gradient - l1 * np.sign(theta), rest)

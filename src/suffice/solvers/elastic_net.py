"""The elastic net: Newton's steps with an absolute-value penalty, each solved coordinate by coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.solvers.convergence import Convergence
from suffice.solvers.linear_algebra import EPSILON, Symmetric
from suffice.solvers.newton import improves
from suffice.solvers.objective import MANY, Bend, Objective, Slope, Trace, flat, inner, shaped
from suffice.solvers.solution import Solution
from suffice.statistics.base import FloatArray

#: How often the coordinates are gone through before all that are not zero are solved for at once.
ROUNDS = 100
#: How often that is done to solve one quadratic.
SOLVES = 50
#: A step must bring what the next one promises below this share of itself, or the curvature is taken anew.
FALL = 0.04
#: So many features at a time are let in where there are too many for a matrix of curvatures.
WORKING = 200


class Narrowed(Objective, Protocol):
    """A log-likelihood that can be asked about some of its features."""

    def columns(self, places: npt.NDArray[np.intp]) -> Objective:
        """Return the log-likelihood as a function of these rows of theta alone, the others being 0."""

    def diagonal(self, theta: FloatArray) -> FloatArray:
        """Return the diagonal of the information at theta, in its shape."""


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
    >>> from suffice.kernels import Batch, ThreadEngine
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
        test = Convergence.of(objective, self.tol, theta.size)
        here: Slope | Bend = objective.slope(theta) if information is not None else objective.curvature(theta)
        fresh = isinstance(here, Bend)
        matrix = here.information if isinstance(here, Bend) else information
        assert matrix is not None
        self._note(trace, here, theta, l1)
        before = gained = np.inf

        def solution(converged: bool, why: str) -> Solution:
            value = here.value - float((l1 * np.abs(theta)).sum())
            slopes = violations(here.gradient, theta, l1)
            return Solution(theta, value, slopes, converged, why, tuple(trace.steps), matrix)

        if not np.isfinite(here.value):
            return solution(False, "the log-likelihood is not finite at the start")
        for _ in range(self.max_iter):
            step, solved = self._step(matrix, here.gradient, theta, l1, test)
            gain = self._gain(here.gradient, theta, step, l1)
            if solved and test.reached(gain):
                return solution(True, "the gradient vanishes")
            there = here
            if fresh or gain <= FALL * before:
                if test.stalls(gain, gained, here.value):
                    return solution(*(test.stuck(gain) if solved else (False, UNSOLVED)))
                share, there = self._searched(objective, theta, here, step, l1, trace, test)
            if there is here:
                if fresh:
                    return solution(*(test.stuck(gain) if solved else (False, UNSOLVED)))
                bend = objective.curvature(theta)
                trace.passes += 1
                here, matrix, fresh = bend, bend.information, True
                continue
            gained = there.value - here.value
            theta, here, before, fresh = theta + share * step, there, gain, False
        return solution(False, f"max_iter={self.max_iter} steps were made")

    def _note(self, trace: Trace, here: Slope | Bend, theta: FloatArray, l1: FloatArray) -> float:
        return trace.add(here.value - float((l1 * np.abs(theta)).sum()), violations(here.gradient, theta, l1))

    def _step(
        self, matrix: FloatArray, gradient: FloatArray, theta: FloatArray, l1: FloatArray, test: Convergence
    ) -> tuple[FloatArray, bool]:
        """Return the step to where the quadratic with this curvature and slope, less the penalty, is highest.

        And whether that was found.
        """
        at = flat(theta)
        right = flat(gradient) + np.einsum("ij,j->i", matrix, at)
        best, solved = solve_quadratic(matrix, right, flat(l1), at, 0.1 * float(np.sqrt(test.goal)))
        return shaped(best - at, theta), solved

    def _searched(
        self,
        objective: Objective,
        theta: FloatArray,
        here: Slope | Bend,
        step: FloatArray,
        l1: FloatArray,
        trace: Trace,
        test: Convergence,
    ) -> tuple[float, Slope | Bend]:
        """Return the first of the step, half of it, ... that helps, and the slope there; that here if none does."""
        now = here.value - float((l1 * np.abs(theta)).sum())
        gain = self._gain(here.gradient, theta, step, l1)
        share = 1.0
        for _ in range(30):
            at = theta + share * step
            there = objective.slope(at)
            self._note(trace, there, at, l1)
            if improves(there.value - float((l1 * np.abs(at)).sum()), now, share * gain, test):
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
        test = Convergence.of(objective, self.tol, theta.size)
        here, solved = objective.slope(theta), not inside.any()

        def solution(converged: bool, why: str) -> Solution:
            value = here.value - float((l1 * np.abs(theta)).sum())
            return Solution(theta, value, slopes, converged, why, tuple(trace.steps))

        for _ in range(self.max_iter):
            self._note(trace, here, theta, l1)
            slopes = violations(here.gradient, theta, l1)
            across = objective.diagonal(theta)
            gains = np.where(across > 0, slopes**2 / np.where(across > 0, across, 1.0), 0.0).max(axis=1)
            outside = np.where(inside, 0.0, gains)
            if solved and test.reached(float(outside.max(initial=0.0))):
                return solution(True, "the gradient vanishes")
            inside |= outside > max(np.partition(outside, -min(room, len(outside)))[-min(room, len(outside))], 0.0)
            places = np.flatnonzero(inside)
            part = ElasticNet(l1[places], self.tol / 2, self.max_iter)
            few = Trace.of(objective)
            found = part._steps(objective.columns(places), theta[places], None, few)
            solved = found.converged
            trace.passes += few.passes * len(places) / len(theta)
            theta[places] = found.theta
            inside = (l1 == 0).any(axis=1) | (theta != 0).any(axis=1)
            room = max(2 * int(inside.sum()), WORKING)
            here = objective.slope(theta)
        slopes = violations(here.gradient, theta, l1)
        return solution(False, f"max_iter={self.max_iter} working sets were solved")


UNSOLVED = "coordinate descent did not reach the optimum of a quadratic: columns nearly depend on each other"


def solve_quadratic(
    matrix: FloatArray, right: FloatArray, l1: FloatArray, start: FloatArray, precision: float
) -> tuple[FloatArray, bool]:
    """Return where ``theta' matrix theta / 2 - right' theta + l1 |theta|`` is least, (q,), and whether it is.

    Coordinate descent finds which coefficients are not zero; those are then solved for at once, as it comes to them
    slowly where columns nearly depend on each other.

    Parameters
    ----------
    matrix
        Positive semi-definite, (q, q).
    l1
        The penalty of each coefficient, (q,).
    precision
        The largest violation of the conditions for a minimum, each in units of the root of its curvature.

    Examples
    --------
    >>> nearly = np.array([[1.0, 1 - 1e-9], [1 - 1e-9, 1.0]])
    >>> theta, solved = solve_quadratic(nearly, np.array([1.0, 1 - 1e-10]), np.zeros(2) + 1e-3, np.zeros(2), 1e-12)
    >>> theta.round(4), solved
    (array([0.5495, 0.4495]), True)
    """
    theta = np.array(start, dtype=np.float64)
    matrix = np.ascontiguousarray(matrix)
    level = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    known = level > 0
    for _ in range(SOLVES):
        _native.coordinate_descent(matrix, right, l1, theta, precision, ROUNDS)
        for _ in range(len(theta) + 2):  # until those that are not zero are solved for
            gradient = right - np.einsum("ij,j->i", matrix, theta)
            slopes = violations(gradient, theta, l1)
            rounding = 64 * EPSILON * float((level * np.abs(theta)).sum())
            free = np.flatnonzero(known & ((theta != 0) | (l1 == 0)))
            step = np.zeros_like(theta)
            step[free] = Symmetric.of(matrix[np.ix_(free, free)]).solve(slopes[free])
            balanced = (np.abs(slopes) <= (precision + rounding) * level)[known].all()
            if balanced and inner(step, slopes) <= (precision + 100 * rounding) ** 2:
                return theta, True
            # Along what the matrix does not know, the penalty alone falls, until the first coefficient is zero.
            rest = np.zeros_like(theta)
            rest[free] = ((slopes - np.einsum("ij,j->i", matrix, step)) / np.where(known, level, 1.0))[free]
            if np.abs(rest).max(initial=0.0) > precision + rounding:
                along = rest / np.where(known, level, 1.0)
                crossing = along * theta < 0
                step = along * (np.abs(theta[crossing] / along[crossing]).min() if crossing.any() else 0.0)
            before, theta = theta, _moved(matrix, gradient, l1, theta, step)
            if np.array_equal(theta, before) or inner(step, slopes) <= (precision + rounding) ** 2:
                break
    return theta, False


def _moved(matrix: FloatArray, gradient: FloatArray, l1: FloatArray, theta: FloatArray, step: FloatArray) -> FloatArray:
    """Return the best of the points along a step at which a coefficient becomes zero, and its end; theta if none is."""
    crosses = (theta * (theta + step) <= 0) & (theta != 0) & (step != 0) & (l1 > 0)
    shares = np.append(-theta[crosses] / step[crosses], 1.0)[:, None]
    ends = theta + shares * step
    ends[crosses & (np.abs(ends) <= 4 * EPSILON * np.abs(theta))] = 0.0
    bent = inner(step, np.einsum("ij,j->i", matrix, step))
    falls = (l1 * (np.abs(ends) - np.abs(theta))).sum(axis=1)
    falls += shares[:, 0] ** 2 * bent / 2 - shares[:, 0] * inner(step, gradient)
    best = int(falls.argmin())
    return ends[best] if falls[best] < 0 else theta


def violations(gradient: FloatArray, theta: FloatArray, l1: FloatArray) -> FloatArray:
    """Return how far each slope is from what the penalty holds in balance.

    Examples
    --------
    >>> violations(np.array([3.0, 1.0, -0.5]), np.array([2.0, 0.0, 0.0]), np.array([1.0, 2.0, 0.25]))
    array([ 2.  ,  0.  , -0.25])
    """
    rest = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where(theta != 0, gradient - l1 * np.sign(theta), rest)

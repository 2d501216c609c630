"""Coordinate descent for an l1 penalty: Newton steps, each a quadratic solved coordinate by coordinate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice import _native
from suffice.solvers.base import (
    MANY,
    ColumnObjective,
    Convergence,
    Objective,
    Solution,
    Trace,
    check_supports,
    has_columns,
)
from suffice.solvers.linear_algebra import EPSILON, Symmetric, flat, inner, shaped
from suffice.solvers.quasi_newton import Point
from suffice.statistics.base import FloatArray

#: Rounds of coordinate descent before the nonzero coefficients are solved for together.
ROUNDS = 100
#: Most repetitions for one quadratic.
SOLVES = 50
#: The Hessian is computed again if the next predicted decrease is above this share of the last.
FALL = 0.04
#: Up to this number of coefficients, every step has a Hessian of its own, whose sums take little longer.
FEW = 32
#: Features added at a time, if there are too many for a Hessian matrix.
WORKING = 200


@dataclass(frozen=True, eq=False)
class CoordinateDescent:
    """Minimises an objective plus ``sum of l1 |theta|``, by coordinate descent on a quadratic with a Hessian nearby.

    The Hessian is reused from step to step, and from one penalty to the next along a path, while it is accurate enough.

    Parameters
    ----------
    l1
        The penalty of each coefficient, which broadcasts against theta: 0 for an intercept.

    Examples
    --------
    >>> from suffice.data import EncodedDataset
    >>> from suffice.discriminative.objective import NegativeLogLikelihood
    >>> from suffice.families import Response
    >>> from suffice.kernels import Batch
    >>> rows = Batch(np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]]), np.array([0.0, 2.0, 4.0, 6.0]))
    >>> objective = NegativeLogLikelihood(EncodedDataset.of_batch(rows), Response.of("gaussian"))
    >>> CoordinateDescent(np.array([[0.0], [1.0], [1.0]])).minimise(objective, np.zeros((3, 1))).theta.ravel().round(6)
    array([0.3, 1.8, 0. ])
    """

    l1: FloatArray
    tol: float = 1e-8
    max_iter: int = 100

    def minimise(self, objective: Objective, start: FloatArray, hessian: FloatArray | None = None) -> Solution:
        """Return the minimum of the objective plus the penalty.

        Parameters
        ----------
        hessian
            The Hessian near the start, if known.
        """
        check_supports(self, objective, start, "hessian")
        if start.size > MANY:
            check_supports(self, objective, start, "columns", "hessian_diagonal")
        if start.size > MANY and has_columns(objective, start):
            return self._by_working_sets(objective, start)
        return self._steps(objective, np.array(start, dtype=np.float64), hessian, Trace.of(objective))

    def _steps(self, objective: Objective, theta: FloatArray, hessian: FloatArray | None, trace: Trace) -> Solution:
        l1 = np.broadcast_to(self.l1, theta.shape)
        test = Convergence.of(objective, self.tol, theta.size)
        fresh = hessian is None
        here = Point(*(objective.value_gradient_hessian(theta) if fresh else objective.value_gradient(theta)))
        matrix = here.hessian if hessian is None else hessian
        assert matrix is not None
        self._add(trace, here, theta, l1)
        before = decrease = np.inf

        def solution(converged: bool, reason: str) -> Solution:
            value = here.value + float((l1 * np.abs(theta)).sum())
            gradient = subgradient(here.gradient, theta, l1)
            return Solution(theta, value, gradient, converged, reason, tuple(trace.steps), matrix, trace.weight)

        if not np.isfinite(here.value):
            return solution(False, "the value is not finite at the start")
        for _ in range(self.max_iter):
            step, solved = self._step(matrix, here.gradient, theta, l1, test)
            predicted = self._predicted(here.gradient, theta, step, l1)
            if solved and test.reached(predicted):
                return solution(True, "the gradient vanishes")
            there = here
            if fresh or predicted <= FALL * before:
                if test.stalls(predicted, decrease, here.value):
                    return solution(*(test.stuck(predicted) if solved else (False, UNSOLVED)))
                share, there = self._line_search(objective, theta, here, step, l1, trace, test)
            if there is here:
                if fresh:
                    return solution(*(test.stuck(predicted) if solved else (False, UNSOLVED)))
                anew = objective.value_gradient_hessian(theta)
                trace.passes += 1
                here, matrix, fresh = Point(*anew), anew.hessian, True
                continue
            decrease = here.value - there.value
            theta, here, before, fresh = theta + share * step, there, predicted, there.hessian is not None
            matrix = matrix if there.hessian is None else there.hessian
        return solution(False, f"max_iter={self.max_iter} steps were made")

    def _add(self, trace: Trace, here: Point, theta: FloatArray, l1: FloatArray) -> None:
        value = here.value + float((l1 * np.abs(theta)).sum())
        trace.add(theta, value, subgradient(here.gradient, theta, l1))

    def _step(
        self, matrix: FloatArray, gradient: FloatArray, theta: FloatArray, l1: FloatArray, test: Convergence
    ) -> tuple[FloatArray, bool]:
        """Return the step to the minimum of the quadratic with this Hessian and gradient plus the penalty.

        Also whether it was found.
        """
        at = flat(theta)
        right = np.einsum("ij,j->i", matrix, at) - flat(gradient)
        best, solved = solve_quadratic(matrix, right, flat(l1), at, 0.1 * float(np.sqrt(test.goal)))
        return shaped(best - at, theta), solved

    def _line_search(
        self,
        objective: Objective,
        theta: FloatArray,
        here: Point,
        step: FloatArray,
        l1: FloatArray,
        trace: Trace,
        test: Convergence,
    ) -> tuple[float, Point]:
        """Return the first halving of the step that decreases the value, and the objective there; or that here."""
        now = here.value + float((l1 * np.abs(theta)).sum())
        predicted = self._predicted(here.gradient, theta, step, l1)
        evaluate = objective.value_gradient_hessian if theta.size <= FEW else objective.value_gradient
        share = 1.0
        for _ in range(30):
            at = theta + share * step
            there = Point(*evaluate(at))
            self._add(trace, there, at, l1)
            if test.decreases(there.value + float((l1 * np.abs(at)).sum()), now, share * predicted):
                return share, there
            share /= 2
        return 0.0, here

    @staticmethod
    def _predicted(gradient: FloatArray, theta: FloatArray, step: FloatArray, l1: FloatArray) -> float:
        """Return the predicted decrease of a step, to first order."""
        return float((l1 * (np.abs(theta) - np.abs(theta + step))).sum() - inner(gradient, step))

    def _by_working_sets(self, objective: ColumnObjective, start: FloatArray) -> Solution:
        """Add features, the largest gradients first, until the others satisfy the optimality conditions."""
        trace = Trace.of(objective)
        theta = np.array(start, dtype=np.float64)
        l1 = np.broadcast_to(self.l1, theta.shape)
        inside = (l1 == 0).any(axis=1) | (theta != 0).any(axis=1)
        room = WORKING
        test = Convergence.of(objective, self.tol, theta.size)
        here, solved = Point(*objective.value_gradient(theta)), not inside.any()

        def solution(converged: bool, reason: str) -> Solution:
            value = here.value + float((l1 * np.abs(theta)).sum())
            return Solution(theta, value, gradient, converged, reason, tuple(trace.steps), weight=trace.weight)

        for _ in range(self.max_iter):
            self._add(trace, here, theta, l1)
            gradient = subgradient(here.gradient, theta, l1)
            diagonal = objective.hessian_diagonal(theta)
            gains = np.where(diagonal > 0, gradient**2 / np.where(diagonal > 0, diagonal, 1.0), 0.0).max(axis=1)
            outside = np.where(inside, 0.0, gains)
            if solved and test.reached(float(outside.max(initial=0.0))):
                return solution(True, "the gradient vanishes")
            inside |= outside > max(np.partition(outside, -min(room, len(outside)))[-min(room, len(outside))], 0.0)
            places = np.flatnonzero(inside)
            part = CoordinateDescent(l1[places], self.tol / 2, self.max_iter)
            few = Trace.of(objective)
            found = part._steps(objective.columns(places), theta[places], None, few)
            solved = found.converged
            trace.passes += few.passes * len(places) / len(theta)
            theta[places] = found.theta
            inside = (l1 == 0).any(axis=1) | (theta != 0).any(axis=1)
            room = max(2 * int(inside.sum()), WORKING)
            here = Point(*objective.value_gradient(theta))
        gradient = subgradient(here.gradient, theta, l1)
        return solution(False, f"max_iter={self.max_iter} working sets were solved")


UNSOLVED = "coordinate descent did not reach the optimum of a quadratic: columns are nearly collinear"


def solve_quadratic(
    matrix: FloatArray, right: FloatArray, l1: FloatArray, start: FloatArray, precision: float
) -> tuple[FloatArray, bool]:
    """Minimise ``theta' matrix theta / 2 - right' theta + l1 |theta|``; return theta, (q,), and whether it converged.

    Coordinate descent finds which coefficients are not zero; these are then solved for together, as it converges
    slowly if columns are nearly collinear.

    Parameters
    ----------
    matrix
        Positive semi-definite, (q, q).
    l1
        The penalty of each coefficient, (q,).
    precision
        Tolerance of the subgradient, each entry in units of the root of its diagonal entry.

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
        for _ in range(len(theta) + 2):  # until the nonzero coefficients are solved for
            gradient = np.einsum("ij,j->i", matrix, theta) - right
            violations = subgradient(gradient, theta, l1)
            rounding = 64 * EPSILON * float((level * np.abs(theta)).sum())
            free = np.flatnonzero(known & ((theta != 0) | (l1 == 0)))
            step = np.zeros_like(theta)
            step[free] = -Symmetric.of(matrix[free[:, None], free]).solve(violations[free])
            balanced = (np.abs(violations) <= (precision + rounding) * level)[known].all()
            if balanced and -inner(step, violations) <= float(np.square(precision + 100 * rounding)):
                return theta, True
            # In the null space of the matrix only the penalty decreases, until the first coefficient is zero.
            rest = np.zeros_like(theta)
            rest[free] = ((-violations - np.einsum("ij,j->i", matrix, step)) / np.where(known, level, 1.0))[free]
            if np.abs(rest).max(initial=0.0) > precision + rounding:
                along = rest / np.where(known, level, 1.0)
                crossing = along * theta < 0
                step = along * (np.abs(theta[crossing] / along[crossing]).min() if crossing.any() else 0.0)
            before, theta = theta, _moved(matrix, gradient, l1, theta, step)
            if np.array_equal(theta, before) or -inner(step, violations) <= (precision + rounding) ** 2:
                break
    return theta, False


def _moved(matrix: FloatArray, gradient: FloatArray, l1: FloatArray, theta: FloatArray, step: FloatArray) -> FloatArray:
    """Return the best of the step's end and its points at which a coefficient becomes zero; theta if none is better."""
    crosses = (theta * (theta + step) <= 0) & (theta != 0) & (step != 0) & (l1 > 0)
    shares = np.append(-theta[crosses] / step[crosses], 1.0)[:, None]
    ends = theta + shares * step
    ends[crosses & (np.abs(ends) <= 4 * EPSILON * np.abs(theta))] = 0.0
    curvature = inner(step, np.einsum("ij,j->i", matrix, step))
    changes = (l1 * (np.abs(ends) - np.abs(theta))).sum(axis=1)
    changes += shares[:, 0] ** 2 * curvature / 2 + shares[:, 0] * inner(step, gradient)
    best = int(changes.argmin())
    return ends[best] if changes[best] < 0 else theta


def subgradient(gradient: FloatArray, theta: FloatArray, l1: FloatArray) -> FloatArray:
    """Return the subgradient of least norm of an objective plus ``sum of l1 |theta|``: 0 at its minimum.

    Examples
    --------
    >>> subgradient(np.array([3.0, 1.0, -0.5]), np.array([-2.0, 0.0, 0.0]), np.array([1.0, 2.0, 0.25]))
    array([ 2.  ,  0.  , -0.25])
    """
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where(theta != 0, gradient + l1 * np.sign(theta), at_zero)

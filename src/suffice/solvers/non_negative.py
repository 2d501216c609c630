"""Quadratics with non-negative unknowns: the active-set method of Lawson and Hanson, on products of columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from suffice.solvers.linear_algebra import EPSILON, Symmetric
from suffice.statistics.base import FloatArray

#: Most changes of the set of positive unknowns, as a multiple of their number.
CHANGES = 10


def solve_non_negative(
    matrix: FloatArray, right: FloatArray, start: FloatArray, precision: float
) -> tuple[FloatArray, bool]:
    """Minimise ``theta' matrix theta / 2 - right' theta`` over theta >= 0; return theta, (q,), and whether it is found.

    The positive unknowns are solved for together, so that theta is exact up to rounding.

    Parameters
    ----------
    matrix
        Positive semi-definite, (q, q).
    start
        Its positive entries are tried first.
    precision
        Tolerance of the gradient, each entry in units of the root of its diagonal entry.

    Examples
    --------
    >>> solve_non_negative(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([4.0, 1.0]), np.zeros(2), 1e-12)
    (array([2., 0.]), True)
    """
    level = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    scale = np.where(level > 0, level, 1.0)
    inside = (start > 0) & (level > 0)
    theta = _solved_inside(matrix, right, np.zeros_like(right, dtype=np.float64), inside)
    rejected = np.zeros(len(right), dtype=bool)  # solved to 0 or less when they were added
    for _ in range(CHANGES * max(len(right), 1)):
        gradient = np.einsum("ij,j->i", matrix, theta) - right
        rounding = 64 * EPSILON * float((level * np.abs(theta)).sum())
        gains = np.where((theta > 0) | (level == 0) | rejected, -np.inf, -gradient / scale)
        best = int(gains.argmax()) if len(gains) else 0
        if not len(gains) or gains[best] <= precision + rounding:
            return theta, not rejected.any() or bool((-gradient / scale <= precision + 100 * rounding).all())
        inside = theta > 0
        inside[best] = True
        there = _solved_inside(matrix, right, theta, inside)
        if there[best] > 0:
            rejected[:] = False
        else:
            rejected[best] = True
        theta = there
    return theta, False


def _solved_inside(
    matrix: FloatArray, right: FloatArray, theta: FloatArray, inside: npt.NDArray[np.bool_]
) -> FloatArray:
    """Return the minimum over the unknowns inside, from theta; those that would be negative leave, at 0."""
    inside = inside.copy()
    while inside.any():
        free = np.flatnonzero(inside)
        best = np.zeros_like(theta)
        best[free] = Symmetric.of(matrix[np.ix_(free, free)]).solve(np.ascontiguousarray(right[free]))
        if (best[free] > 0).all():
            return best
        # As far towards the minimum as all stay non-negative.
        blocked = free[best[free] <= 0]
        length = theta[blocked] - best[blocked]
        shares = np.where(length > 0, theta[blocked] / np.where(length > 0, length, 1.0), 0.0)
        share = float(shares.min())
        theta = np.where(inside, theta + share * (best - theta), 0.0)
        leaving = blocked[shares <= share]
        theta[leaving], inside[leaving] = 0.0, False
    return np.zeros_like(theta)

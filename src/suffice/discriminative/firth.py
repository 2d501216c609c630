"""Firth's logistic regression: Jeffreys' prior, whose estimates are finite if classes are separated."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import qr

from suffice.data import EncodedDataset
from suffice.discriminative.robust import blocks, predictor_covariance, second_moments
from suffice.families import Response
from suffice.kernels import Batch, inputs
from suffice.solvers import Solution, Trace
from suffice.solvers.linear_algebra import Symmetric
from suffice.statistics import Curvature
from suffice.statistics.base import FloatArray

_LOGISTIC = Response.of("bernoulli")
_SQUARES = Response.of("gaussian")
#: Most halvings of a step before the search stops.
_HALVINGS = 40
#: A decrease of the log-likelihood by less than this share is rounding error.
_ROUNDING = 1e-12


def firth(
    data: EncodedDataset,
    start: FloatArray,
    intercept: bool,
    tol: float = 1e-8,
    max_iter: int = 100,
    fixed: int | None = None,
) -> Solution:
    """Minimise minus the logistic log-likelihood minus half the log-determinant of its information.

    The minimum is the mode under Jeffreys' prior. It removes the first-order bias of the estimates, and is finite even
    if the classes are separated and the likelihood has no maximum.

    Parameters
    ----------
    data
        The rows: y of 0 and 1 (or proportions, with the trials as weights), weights and offsets.
    start
        Initial theta, (p, 1).
    intercept
        Whether the first row of theta belongs to a constant 1 before the features.
    tol
        Convergence: the step is shorter than this many standard errors, whatever the units of the columns.
    max_iter
        Most steps.
    fixed
        The row of theta that is fixed at its start, for profiles; None if all are free.

    Returns
    -------
    Solution
        Its value is minus the penalised log-likelihood, its gradient minus the modified score, its Hessian the Fisher
        information at theta.

    Notes
    -----
    The modified score adds h (1/2 - p) x for each row, with h its leverage: that of h / 2 more successes and h / 2
    more failures. A step is a Newton step with these rows added, halved until the penalised likelihood does not
    decrease. If columns are collinear, the determinant and the steps are restricted to identified directions.

    Examples
    --------
    >>> separated = Batch(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 0.0, 1.0, 1.0]))
    >>> solution = firth(EncodedDataset.of_batch(separated), np.zeros((2, 1)), intercept=True)
    >>> solution.theta.ravel().round(4)  # log(0.5 / 2.5), and its distance from log(2.5 / 0.5)
    array([-1.6094,  3.2189])
    """
    theta = np.array(start, dtype=np.float64)
    inputs.check_theta(theta, data.n_features + int(intercept))
    search = _Search.over(data, intercept, fixed)
    point = search.at(theta)
    score, step, length = search.step(point)
    trace = Trace(point.rows.weight or 1.0, data.n_rows)
    trace.add(point.rows.theta, -point.value, score, passes=3)
    while trace.steps[-1].number <= max_iter and length > tol:
        following, tried = search.ascent(point, step)
        trace.passes += tried
        if following is None:
            break
        point = following
        score, step, length = search.step(point)
        trace.add(point.rows.theta, -point.value, score)
    if length <= tol:
        reason = f"a step is shorter than {tol:g} standard errors"
    elif np.isinf(point.value):
        reason = "the information is 0 at the start: start at 0, or make the offset smaller"
    elif trace.steps[-1].number > max_iter:
        reason = f"{max_iter} steps were not enough: raise max_iter"
    else:  # pragma: no cover: Newton's step is an ascent direction, so that this needs rounding errors in every halving
        reason = "no step increases the penalised log-likelihood, though its gradient is not 0"
    steps, hessian = tuple(trace.steps), point.rows.hessian
    return Solution(point.rows.theta, -point.value, -score, length <= tol, reason, steps, hessian, trace.weight)


@dataclass(frozen=True, eq=False)
class _Point:
    """The rows' likelihood at one theta, and the inverse of its information."""

    rows: Curvature
    value: float  # the penalised log-likelihood; -inf if the information is 0
    inverse: FloatArray  # (p, p)


@dataclass(frozen=True, eq=False)
class _Search:
    """The rows, and coordinates of the identified directions."""

    data: EncodedDataset
    intercept: bool
    basis: FloatArray  # (p, r), one direction a column; the weighted products of the rows in it are the identity
    log_volume: float  # log-determinant of the information less that in these coordinates
    fixed: int | None = None  # the fixed row of theta

    @classmethod
    def over(cls, data: EncodedDataset, intercept: bool, fixed: int | None = None) -> _Search:
        what = Curvature.over(_SQUARES, np.zeros((data.n_features + int(intercept), 1)), intercept)
        basis = Symmetric.of(data.sum(what).hessian).root()
        return cls(data, intercept, basis, -2 * _log_volume(basis), fixed)

    def at(self, theta: FloatArray) -> _Point:
        """Return the penalised likelihood at a theta."""
        rows = self.data.sum(Curvature.over(_LOGISTIC, theta, self.intercept))
        values, vectors = np.linalg.eigh(self.basis.T @ rows.hessian @ self.basis)
        if not (values > 0).all():
            return _Point(rows, -np.inf, np.zeros_like(rows.hessian))
        half = self.basis @ (vectors / np.sqrt(values))
        return _Point(rows, rows.value + (float(np.log(values).sum()) + self.log_volume) / 2, half @ half.T)

    def step(self, point: _Point) -> tuple[FloatArray, FloatArray, float]:
        """Return the modified score, Newton's step and its length in standard errors."""
        pulls = partial(_pulls, point.rows.theta, self.intercept, point.inverse)
        score, information = np.array(point.rows.gradient), np.array(point.rows.hessian)
        for score_part, information_part in self.data.map(pulls):
            score += score_part
            information += information_part
        if np.isinf(point.value):
            return score, np.zeros_like(score), np.inf
        inverse = self.basis @ np.linalg.solve(self.basis.T @ information @ self.basis, self.basis.T)
        step, length = self._held(inverse) @ score, (score.T @ self._held(point.inverse) @ score).item()
        return score, step, float(np.sqrt(max(length, 0.0)))

    def _held(self, inverse: FloatArray) -> FloatArray:
        """Return the inverse information of the free rows of theta, 0 for the fixed row."""
        if self.fixed is None or inverse[self.fixed, self.fixed] <= 0:
            return inverse
        column = inverse[:, [self.fixed]]
        return np.asarray(inverse - column @ column.T / inverse[self.fixed, self.fixed])

    def ascent(self, point: _Point, step: FloatArray) -> tuple[_Point | None, int]:
        """Return the first halving of a step that does not decrease the value, if any, and the number of halvings."""
        for halvings in range(_HALVINGS if np.isfinite(point.value) else 0):
            following = self.at(point.rows.theta + step / 2**halvings)
            if following.value >= point.value - _ROUNDING * (abs(point.value) + point.rows.weight):
                return following, halvings + 1
        return None, _HALVINGS


def _log_volume(basis: FloatArray) -> float:
    """Return log |det| of a basis, (p, r): half the log-determinant of its products.

    Its rows are inverse to the scales of the columns of X, whose products would cancel if the units differ. QR with the
    largest rows and columns first keeps the digits of every row.
    """
    order = np.argsort(-np.abs(basis).max(axis=1, initial=0.0), kind="stable")
    (upper, _) = qr(basis[order], mode="r", pivoting=True, check_finite=False)
    return float(np.log(np.abs(np.diagonal(upper))).sum())


def _pulls(
    theta: FloatArray, intercept: bool, inverse: FloatArray, part: Batch, kernels: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the prior's part of the score, and of the information at fixed leverages."""
    score, information = np.zeros_like(theta), np.zeros_like(inverse)
    for rows in blocks(part, intercept, 3 * len(theta)):
        curve = _LOGISTIC.curve(rows.predictor(theta), np.full(len(rows.design), 0.5))
        variance = curve.curvature[:, 0, 0]
        leverage = rows.weight * variance * predictor_covariance(rows.design, inverse)[:, 0, 0]
        score += rows.design.T @ (leverage[:, None] * curve.slope)
        information += second_moments(kernels, rows.design, leverage * variance)[1]
    return score, information

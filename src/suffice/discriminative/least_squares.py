"""Least squares, read from normal equations: coefficients, what is left, and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.solvers.elastic_net import solve_quadratic
from suffice.solvers.linear_algebra import EPSILON, Symmetric
from suffice.statistics import NormalEquations
from suffice.statistics.base import FloatArray

#: How far the slopes of an elastic net may be off, relative to the largest at zero.
PRECISION = 1e-10
#: Sums of products are off by about so many units in the last place.
ROUNDING = 4.0


class Products(NamedTuple):
    """Products of features and targets: about their means where there is an intercept, else about zero."""

    xx: FloatArray  # (d, d)
    xy: FloatArray  # (d, t)
    yy: FloatArray  # (t, t)


class Observations(NamedTuple):
    """How many rows there are whose weight is not 0: where weights are no frequencies, these are the observations."""

    rows: float
    log_weight: float  # the sum of the logs of the weights

    @classmethod
    def of(cls, weight: FloatArray | None, rows: int) -> Observations:
        """Return the observations among rows, given their weights."""
        if weight is None:
            return cls(float(rows), 0.0)
        there = weight[weight > 0]
        return cls(float(len(there)), float(np.log(there).sum()))

    def plus(self, other: Observations) -> Observations:
        """Return those of both."""
        return Observations(self.rows + other.rows, self.log_weight + other.log_weight)

    def minus(self, other: Observations) -> Observations:
        """Return those that are left without others."""
        return Observations(self.rows - other.rows, self.log_weight - other.log_weight)


def products_of(sums: NormalEquations, intercept: bool) -> Products:
    """Return the products that a fit with or without an intercept is read from."""
    products, features = sums.scatter if intercept else sums.about_zero(), sums.features
    return Products(products[:features, :features], products[:features, features:], products[features:, features:])


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """What is read from normal equations."""

    sums: NormalEquations
    intercept: bool
    theta: FloatArray  # (p, t)
    factored: Symmetric  # the products of features, l2 included
    residual: FloatArray  # (t, t), the products of what is left of the targets
    rank: int  # intercept included
    doubt: FloatArray  # (t,), how far rounding may put the squares of the residual off
    rows: float  # how many observations there are
    dispersion: float | None = None  # the variance of the noise, where it is known
    solved: bool = True  # whether theta is where the penalised sum of squares is least

    @property
    def df_residual(self) -> float:
        """The rows that are left to tell the noise by."""
        return max(self.rows - self.rank, 0.0)

    def noise(self) -> FloatArray:
        """Return the estimated covariance of the targets' noise, (t, t).

        NaN where no rows are left to tell it by, and of targets whose sums have no digit left.
        """
        if self.dispersion is not None:
            return self.dispersion * np.eye(len(self.residual))
        free = self.df_residual
        noise = self.residual / free if free > 0 else np.full_like(self.residual, np.nan)
        lost = self.digits == 0
        noise[lost, :] = noise[:, lost] = np.nan
        return noise

    @property
    def digits(self) -> FloatArray:
        """How many digits of the squares of the residual are known, (t,), 0 to 15.

        They are a difference of sums over the targets: where the features explain nearly all, few are left.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.log10(np.diagonal(self.residual) / self.doubt)
        left = np.where(self.doubt > 0, left, 15.0)
        return np.clip(left, 0.0, 15.0)

    def covariance(self) -> FloatArray:
        """Return the covariance of theta read column by column; NaN for what is not determined."""
        return np.asarray(np.kron(self.noise(), self._unit_covariance()))

    def _unit_covariance(self) -> FloatArray:
        """Return the covariance of one target's theta at unit noise, (p, p)."""
        inner = self.factored.inverse()
        if not self.intercept:
            return inner
        known = ~self.factored.undetermined
        mean = self.sums.mean_x[known]
        part = np.empty((len(mean) + 1, len(mean) + 1))
        part[1:, 1:] = inner[np.ix_(known, known)]
        part[0, 1:] = part[1:, 0] = -part[1:, 1:] @ mean
        part[0, 0] = 1 / self.sums.weight - mean @ part[1:, 0]
        whole = np.full((len(inner) + 1, len(inner) + 1), np.nan)
        places = np.flatnonzero(np.concatenate([[True], known]))
        whole[np.ix_(places, places)] = part
        return whole


def solve(
    sums: NormalEquations,
    intercept: bool,
    l2: float = 0.0,
    l1: float = 0.0,
    theta: FloatArray | None = None,
    residual: FloatArray | None = None,
    rows: float | None = None,
    dispersion: float | None = None,
) -> LeastSquares:
    """Return the coefficients at which the penalised sum of squares is least, the smallest where there are many.

    Parameters
    ----------
    theta
        Coefficients, (p, t), that were found in another way: only what is said about them is read.
    residual
        The products of what theta leaves of the targets, (t, t), where they were summed row by row.
    rows
        How many observations there are: by default, the weight of all rows.
    dispersion
        The variance of the noise, where it is known.

    Examples
    --------
    >>> line = NormalEquations(3.0, np.array([1.0, 5.0]), np.array([[2.0, 4.0], [4.0, 8.0]]), 1)
    >>> solve(line, intercept=True).theta.ravel()
    array([3., 2.])
    """
    xx, xy, yy = products_of(sums, intercept)
    factored = Symmetric.of(xx + l2 * np.eye(len(xx)))
    rank, solved = factored.rank, True
    if theta is not None:
        coef = theta[int(intercept) :]
    elif l1 > 0:
        coef, solved = elastic_net(xx + l2 * np.eye(len(xx)), xy, l1, np.zeros_like(xy))
        rank = int(np.count_nonzero(coef))
    else:
        coef = factored.solve(xy)
    if theta is None:
        theta = with_intercept(sums, coef) if intercept else coef
    if residual is not None:
        doubt = np.zeros(len(yy))
    else:
        across = np.einsum("dt,ds->ts", coef, xy)
        residual = yy - across - across.T + np.einsum("dt,de,es->ts", coef, xx, coef, optimize=False)
        np.fill_diagonal(residual, np.maximum(np.diagonal(residual), 0.0))
        terms = np.sqrt(np.diagonal(yy)) + np.sqrt(np.maximum(np.diagonal(xx), 0.0)) @ np.abs(coef)
        doubt = ROUNDING * EPSILON * terms**2
    rows = sums.weight if rows is None else rows
    return LeastSquares(
        sums, intercept, theta, factored, residual, rank + int(intercept), doubt, rows, dispersion, solved
    )


def with_intercept(sums: NormalEquations, coef: FloatArray) -> FloatArray:
    """Return coefficients, (d, t), below the intercepts that go with them, (d + 1, t)."""
    return np.concatenate([(sums.mean_y - sums.mean_x @ coef)[None, :], coef])


def elastic_net(products: FloatArray, right: FloatArray, l1: float, start: FloatArray) -> tuple[FloatArray, bool]:
    """Return the coefficients, (d, t), at which ``c' products c / 2 - right' c + l1 |c|`` is least, and whether it is.

    Each target is solved by itself.

    Examples
    --------
    >>> coef, solved = elastic_net(2 * np.eye(2), np.array([[3.0], [-0.5]]), 1.0, np.zeros((2, 1)))
    >>> coef.ravel(), solved
    (array([1., 0.]), True)
    """
    penalties = np.full(len(products), float(l1))
    level = np.sqrt(np.maximum(np.diagonal(products), np.finfo(np.float64).tiny))
    found = []
    for each, at in zip(right.T, start.T, strict=True):
        reach = float(np.abs(each / level).max(initial=0.0))  # how far a coefficient could move, in its own units
        found.append(solve_quadratic(products, np.ascontiguousarray(each), penalties, at, PRECISION * reach))
    return np.stack([coef for coef, _ in found], axis=1), all(solved for _, solved in found)

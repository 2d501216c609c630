"""Solution of normal equations: least squares, ridge, elastic net, non-negative coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.kernels.inputs import check_underflow
from suffice.solvers.coordinate_descent import solve_quadratic
from suffice.solvers.linear_algebra import EPSILON, Symmetric
from suffice.solvers.non_negative import solve_non_negative
from suffice.statistics import NormalEquations
from suffice.statistics.rounding import REFIT, TOLERANCE, FloatArray, LostDigitsError

#: Tolerance of the gradient of an elastic net, relative to the largest at zero.
PRECISION = 1e-10
#: Rounding error of sums of products, in units in the last place.
ROUNDING = 4.0
#: Columns that depend on each other in a sum from which rows were taken do so in that of the remaining rows, if no
#: scaled product is off by more: some times the bound of a fit to all rows at once, which decides it as well.
_DEPENDENT = 1e-10


class Penalty(NamedTuple):
    """What is added to half the sum of squares: ``l1 |coef| + l2 coef² / 2``; and whether coefficients are >= 0."""

    l1: float
    l2: FloatArray  # (t,), of each target
    positive: bool = False

    @classmethod
    def none(cls, targets: int) -> Penalty:
        """Return no penalty."""
        return cls(0.0, np.zeros(targets))

    @property
    def is_none(self) -> bool:
        """Whether the solution is that of least squares."""
        return self.l1 == 0 and not self.l2.any() and not self.positive

    @property
    def shrinks(self) -> bool:
        """Whether there is a penalty, so that the solution is unique."""
        return self.l1 > 0 or bool(self.l2.all() and self.l2.size)

    @property
    def varies(self) -> bool:
        """Whether targets have different penalties."""
        return bool((self.l2 != self.l2[:1]).any())


class Products(NamedTuple):
    """Products of features and targets: about their means with an intercept, else about zero."""

    xx: FloatArray  # (d, d)
    xy: FloatArray  # (d, t)
    yy: FloatArray  # (t, t)


def products_of(sums: NormalEquations, intercept: bool) -> Products:
    """Return the products of a fit with or without an intercept; raise where they underflow."""
    features = sums.features
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # raised as an error
        products = sums.scatter if intercept else sums.about_zero()
        variance = np.maximum(np.diagonal(sums.scatter), 0.0) / sums.total
    if sums.total > 0:
        check_underflow(sums.total, sums.mean, variance, features)
    return Products(products[:features, :features], products[:features, features:], products[features:, features:])


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Least squares estimates from normal equations."""

    sums: NormalEquations
    intercept: bool
    theta: FloatArray  # (p, t)
    factored: Symmetric  # the products of features, l2 included
    residual: FloatArray  # (t, t), products of the residuals
    rank: int  # intercept included
    doubt: FloatArray  # (t,), bound of the rounding error of the squared residuals
    rows: float  # number of observations
    dispersion: float | None = None  # the variance of the noise, if known
    solved: bool = True  # whether theta minimises the penalised sum of squares

    @property
    def df_residual(self) -> float:
        """Residual degrees of freedom."""
        return max(self.rows - self.rank, 0.0)

    def noise(self) -> FloatArray:
        """Return the estimated covariance of the targets' noise, (t, t).

        NaN without residual degrees of freedom, and for targets whose sums have no correct digit.
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
        """Number of correct digits of the squared residuals, (t,), 0 to 15.

        They are a difference of sums: if the features explain nearly all of y, it cancels.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.log10(np.diagonal(self.residual) / self.doubt)
        left = np.where(self.doubt > 0, left, 15.0)
        return np.clip(left, 0.0, 15.0)

    def covariance(self) -> FloatArray:
        """Return the covariance of theta, column by column; NaN for coefficients that are not identified."""
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
        # As a sum of squares: where columns nearly depend on others, the entries of the inverse cancel.
        shift = mean @ part[1:, 1:] @ mean if len(mean) < len(inner) else ((self.factored.whitener() @ mean) ** 2).sum()
        part[0, 0] = 1 / self.sums.weight + shift
        whole = np.full((len(inner) + 1, len(inner) + 1), np.nan)
        places = np.flatnonzero(np.concatenate([[True], known]))
        whole[np.ix_(places, places)] = part
        return whole


def solve_normal_equations(
    sums: NormalEquations,
    intercept: bool,
    penalty: Penalty | None = None,
    theta: FloatArray | None = None,
    residual: FloatArray | None = None,
    rows: float | None = None,
    dispersion: float | None = None,
    triangle: FloatArray | None = None,
) -> LeastSquares:
    """Return the coefficients that minimise the penalised sum of squares, of least norm if there are many.

    Parameters
    ----------
    penalty
        None by default.
    theta
        Coefficients, (p, t), computed in another way: only the statistics about them are computed.
    residual
        Products of the residuals, (t, t), if they were summed row by row.
    rows
        Number of observations; by default the total weight.
    dispersion
        The variance of the noise, if known.
    triangle
        R of a QR decomposition of the features, (d, d), if the rows were decomposed.

    Examples
    --------
    >>> line = NormalEquations(3.0, np.array([1.0, 5.0]), np.array([[2.0, 4.0], [4.0, 8.0]]), 1)
    >>> solve_normal_equations(line, intercept=True).theta.ravel()
    array([3., 2.])
    >>> solve_normal_equations(line, True, Penalty(l1=2.0, l2=np.array([2.0]))).theta.ravel()
    array([4.5, 0.5])
    """
    penalty = Penalty.none(sums.targets) if penalty is None else penalty
    products = xx, xy, yy = products_of(sums, intercept)
    factored = None if triangle is None else Symmetric.of_root(triangle)
    # Of several targets with penalties of their own there is no common factor: that of the features is kept.
    factored = factored or Symmetric.of(_with_ridge(xx, 0.0 if penalty.varies else float(penalty.l2.max(initial=0.0))))
    rank, solved = factored.rank, True
    if theta is not None:
        coef = theta[int(intercept) :]
    elif penalty.l1 > 0 or penalty.positive or penalty.varies:
        coef, solved = solve_penalised(products, penalty)
        rank = int(np.count_nonzero(coef)) if penalty.l1 > 0 else rank
    else:
        coef = factored.solve(xy)
    mean = np.zeros(sums.targets)  # of the residuals
    read_from_sums = theta is None
    if theta is None:
        theta = with_intercept(sums, coef) if intercept else coef
    elif intercept:
        mean = sums.mean_y - theta[0] - sums.mean_x @ coef
    if residual is not None:
        doubt = np.zeros(len(yy))
    else:
        residual = residual_products(products, coef) + sums.total * np.outer(mean, mean)
        terms = np.sqrt(np.diagonal(yy)) + np.sqrt(np.maximum(np.diagonal(xx), 0.0)) @ np.abs(coef)
        doubt = ROUNDING * EPSILON * terms**2
    rows = sums.weight if rows is None else rows
    error = _product_errors(sums, intercept) if sums.forgotten else None
    if error is not None:
        size = np.abs(coef)
        doubt = doubt + np.diagonal(error.yy) + ((error.xx @ size + 2 * error.xy) * size).sum(axis=0)
    found = LeastSquares(
        sums, intercept, theta, factored, residual, rank + int(intercept), doubt, rows, dispersion, solved
    )
    if error is not None and read_from_sums:
        _check_digits(found, products, error, penalty)
    return found


def _product_errors(sums: NormalEquations, intercept: bool) -> Products:
    """Return bounds of the errors of the products of a fit with or without an intercept."""
    error, size, d = sums.error.products()[0], np.abs(sums.mean), sums.features
    if not intercept:
        off = sums.total * (size + sums.error.mean[0])
        mixed = np.outer(off, sums.error.mean[0])
        error = error + mixed + mixed.T + (sums.total_error + EPSILON * sums.total) * np.outer(size, size)
    return Products(error[:d, :d], error[:d, d:], error[d:, d:])


def _check_digits(found: LeastSquares, products: Products, error: Products, penalty: Penalty) -> None:
    """Raise if coefficients may be off by more than the tolerance, relative to themselves or their standard errors.

    With A the products and b those with a target, |error of theta| <= (I - |A^-1| dA)^-1 |A^-1| (dA |theta| + db) where
    |A^-1| dA is small. With an l1 penalty, or coefficients >= 0, A is that of the coefficients that are not 0, and of
    those that may not be: whose gradient is within its error of the threshold. An intercept is as right as predictions
    at the mean, in deviations of the target.
    """
    free = max(found.df_residual, 1.0)
    coef = found.theta[int(found.intercept) :]
    for target, theta in enumerate(coef.T):
        l2 = penalty.l2[target]
        matrix = _with_ridge(products.xx, float(l2))
        square, doubt = np.diagonal(matrix), np.diagonal(error.xx)
        if (blank := (square <= 0) & (doubt > 0)).any():  # constant, or not
            raise _lost(found.sums, int(np.argmax(blank)))
        scale = np.where(square > 0, np.sqrt(np.maximum(square, 0.0)), 1.0)
        matrix, unsure = matrix / scale / scale[:, None], error.xx / scale / scale[:, None]
        right, unsure_right = products.xy[:, target] / scale, error.xy[:, target] / scale
        theta = theta * scale
        noise = float(found.residual[target, target]) / free
        level = float(np.sqrt(max(products.yy[target, target], 0.0)))
        is_sparse = penalty.l1 > 0 or penalty.positive
        chosen = theta != 0 if is_sparse else np.ones(len(theta), dtype=bool)
        while True:
            off, spread = _errors_of(matrix, unsure, unsure_right, theta, chosen, may_depend=not (is_sparse or l2))
            if not is_sparse:
                break
            gradient = right - matrix @ theta
            doubt = unsure_right + unsure @ np.abs(theta) + np.abs(matrix) @ off
            reached = (gradient if penalty.positive else np.abs(gradient)) + doubt > penalty.l1 / scale
            if not (reached & ~chosen).any():
                break
            chosen = chosen | reached
        allowed = TOLERANCE * np.maximum(np.abs(theta), np.sqrt(noise * spread))
        allowed += TOLERANCE**2 * max(level, float(np.abs(theta).max(initial=0.0)))
        lost = ~(off <= allowed)
        mean_error = found.sums.error.mean[0]
        if found.intercept:
            d = len(theta)
            middle = mean_error[d + target] + (np.abs(theta) / scale) @ mean_error[:d]
            lost |= ~(middle <= TOLERANCE * max(level / np.sqrt(found.sums.total), abs(float(found.theta[0, target]))))
        if lost.any():
            shown = np.where(np.isfinite(off), off, np.inf) / np.maximum(allowed, np.finfo(float).tiny)
            raise _lost(found.sums, int(np.argmax(np.where(lost, shown, 0.0))))


def _errors_of(
    matrix: FloatArray,
    unsure: FloatArray,
    unsure_right: FloatArray,
    theta: FloatArray,
    chosen: npt.NDArray[np.bool_],
    may_depend: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return bounds of the errors of coefficients, and the diagonal of the inverse, of scaled columns; 0 for others.

    Where columns may depend on each other, as they do in the sum over the remaining rows too, errors are those of the
    coefficients of least norm.
    """
    off, spread = np.zeros(len(theta)), np.zeros(len(theta))
    if not chosen.any():
        return off, spread
    block = np.ix_(chosen, chosen)
    factored = Symmetric.of(matrix[block])
    inverse = factored.solve(np.eye(int(chosen.sum())))
    size = np.abs(inverse)
    steps = size @ unsure[block]
    known = factored.rank == len(size) or (may_depend and float(unsure[block].max()) <= _DEPENDENT)
    if not (known and steps.sum(axis=1).max() < 0.5):
        off[chosen] = np.inf
        return off, spread
    direct = size @ (unsure[block] @ np.abs(theta[chosen]) + unsure_right[chosen])
    off[chosen] = np.linalg.solve(np.eye(len(size)) - steps, direct)
    spread[chosen] = np.diagonal(inverse)
    return off, spread


def _lost(sums: NormalEquations, column: int) -> LostDigitsError:
    """Return the error that the coefficient of a column has too few digits."""
    return LostDigitsError(
        f"without the rows that were taken out, the sums leave too few digits of the coefficient of feature {column}: "
        f"they held nearly all of its spread, or of what is left it nearly depends on other columns: {REFIT}",
        (column,),
    )


def solve_penalised(products: Products, penalty: Penalty, start: FloatArray | None = None) -> tuple[FloatArray, bool]:
    """Return the coefficients, (d, t), that minimise the penalised sum of squares, and whether they are the minimum.

    Parameters
    ----------
    start
        Coefficients nearby, (d, t), such as those of another penalty.

    Examples
    --------
    >>> products = Products(np.eye(2), np.array([[3.0], [-2.0]]), np.array([[14.0]]))
    >>> coef, _ = solve_penalised(products, Penalty(0.5, np.zeros(1), positive=True))
    >>> coef.ravel()
    array([2.5, 0. ])
    """
    xx, xy, _ = products
    start = np.zeros_like(xy) if start is None else start
    if not penalty.varies:
        matrix = _with_ridge(xx, float(penalty.l2.max(initial=0.0)))
        return _solve_alike(matrix, xy, penalty, start)
    found = [
        _solve_alike(_with_ridge(xx, float(l2)), xy[:, [place]], penalty, start[:, [place]])
        for place, l2 in enumerate(penalty.l2)
    ]
    return np.concatenate([coef for coef, _ in found], axis=1), all(solved for _, solved in found)


def _solve_alike(matrix: FloatArray, right: FloatArray, penalty: Penalty, start: FloatArray) -> tuple[FloatArray, bool]:
    """Return the solution for targets with the same ridge, which the matrix includes."""
    if penalty.positive:
        return non_negative(matrix, right - penalty.l1, start)
    if penalty.l1 > 0:
        return elastic_net(matrix, right, penalty.l1, start)
    return Symmetric.of(matrix).solve(right), True


def _with_ridge(matrix: FloatArray, l2: float) -> FloatArray:
    """Return a matrix with l2 added to its diagonal."""
    if l2 == 0:
        return matrix
    changed = np.array(matrix, order="C")
    changed.ravel()[:: len(changed) + 1] += l2
    return changed


def residual_products(products: Products, coef: FloatArray) -> FloatArray:
    """Return the products of the residuals under coefficients, (t, t), whose diagonal is not below 0.

    Examples
    --------
    >>> residual_products(Products(np.eye(1), np.array([[3.0]]), np.array([[10.0]])), np.array([[3.0]]))
    array([[1.]])
    """
    xx, xy, yy = products
    across = np.einsum("dt,ds->ts", coef, xy)
    residual = yy - across - across.T + np.einsum("dt,de,es->ts", coef, xx, coef, optimize=False)
    np.fill_diagonal(residual, np.maximum(np.diagonal(residual), 0.0))
    return np.asarray(residual)


def with_intercept(sums: NormalEquations, coef: FloatArray) -> FloatArray:
    """Return theta, (d + 1, t): coefficients, (d, t), below their intercepts."""
    return np.concatenate([(sums.mean_y - sums.mean_x @ coef)[None, :], coef])


def elastic_net(products: FloatArray, right: FloatArray, l1: float, start: FloatArray) -> tuple[FloatArray, bool]:
    """Minimise ``c' products c / 2 - right' c + l1 |c|``; return c, (d, t), and whether it is the minimum.

    Each target is solved separately.

    Examples
    --------
    >>> coef, solved = elastic_net(2 * np.eye(2), np.array([[3.0], [-0.5]]), 1.0, np.zeros((2, 1)))
    >>> coef.ravel(), solved
    (array([1., 0.]), True)
    """
    penalties = np.full(len(products), float(l1))
    level = np.sqrt(np.maximum(np.diagonal(products), np.finfo(np.float64).tiny))
    coef, solved = np.empty_like(right), []
    for place, (each, at) in enumerate(zip(right.T, start.T, strict=True)):
        reach = float(np.abs(each / level).max(initial=0.0))  # step of a coefficient, in its own units
        found = solve_quadratic(products, np.ascontiguousarray(each), penalties, at, PRECISION * reach)
        coef[:, place] = found[0]
        solved.append(found[1])
    return coef, all(solved)


def non_negative(products: FloatArray, right: FloatArray, start: FloatArray) -> tuple[FloatArray, bool]:
    """Minimise ``c' products c / 2 - right' c`` over c >= 0; return c, (d, t), and whether it is the minimum.

    Examples
    --------
    >>> non_negative(2 * np.eye(2), np.array([[3.0], [-0.5]]), np.zeros((2, 1)))[0].ravel()
    array([1.5, 0. ])
    """
    level = np.sqrt(np.maximum(np.diagonal(products), np.finfo(np.float64).tiny))
    if not start.any():
        start = Symmetric.of(products).solve(right)
    found = []
    for each, at in zip(right.T, start.T, strict=True):
        reach = float(np.abs(each / level).max(initial=0.0))
        found.append(solve_non_negative(products, np.ascontiguousarray(each), at, PRECISION * reach))
    return np.stack([coef for coef, _ in found], axis=1), all(solved for _, solved in found)

"""Least squares by QR decomposition of the rows, for nearly collinear columns.

Normal equations square the condition number of the columns. R of a QR decomposition does not, and is mergeable too:
that of rows in parts is R of the stacked R of the parts. It takes a second pass over the rows; a third pass refines
the solution by residuals in extended precision, where the machine has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from suffice.data import EncodedDataset
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import dense, is_sparse, taken
from suffice.solvers.linear_algebra import Symmetric
from suffice.statistics import NormalEquations
from suffice.statistics.base import FloatArray

#: Rows in a block of the decomposition.
_BLOCK = 8192
#: Columns are collinear if a combination of them is below this share of its terms in all rows.
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Triangle:
    """R of a QR decomposition of rows, with X'X = R'R; ``+`` is R of both.

    Examples
    --------
    >>> both = Triangle.of(np.array([[3.0]])) + Triangle.of(np.array([[4.0]]))
    >>> abs(both.r)
    array([[5.]])
    """

    r: FloatArray  # (q, q), or fewer rows

    @classmethod
    def of(cls, rows: FloatArray) -> Triangle:
        """Return R of some rows, (n, q)."""
        r: Any = np.linalg.qr(rows, mode="r")
        return cls(r)

    def __add__(self, other: Triangle) -> Triangle:
        return Triangle.of(np.concatenate([self.r, other.r]))


class Decomposed(NamedTuple):
    """The solution of a least-squares problem, and R of its features."""

    theta: FloatArray  # (p, t)
    residual: FloatArray  # (t, t), products of the residuals
    triangle: FloatArray  # (d, d), upper: R'R are the products of the features, centred with an intercept


def solve_by_rows(data: EncodedDataset, sums: NormalEquations, intercept: bool, l2: float = 0.0) -> Decomposed | None:
    """Return the least-squares solution, by QR and one refinement; None if columns are collinear.

    Parameters
    ----------
    sums
        The normal equations of the rows, for their means.
    l2
        A ridge: ``l2 theta² / 2`` is added to half the sum of squares, and l2 to the products of the triangle.
    """
    place = partial(weighted_blocks, sums, intercept)
    found: Triangle = data.reduce(partial(_triangle_of_part, place))
    first, size = int(intercept), sums.features + int(intercept)
    if l2 > 0:  # as rows whose targets are 0
        ridge = np.zeros((sums.features, size + sums.targets))
        ridge[:, first:size] = np.sqrt(l2) * np.eye(sums.features)
        found = found + Triangle(ridge)
    r = found.r
    if len(r) < size:
        return None
    features = r[int(intercept) : size, int(intercept) : size]
    if Symmetric.of_root(features) is None:
        return None
    upper = r[:size, :size]
    theta = solve_triangular(upper, r[:size, size:])
    left = np.asarray(data.reduce(partial(_residuals_of_part, place, theta)), dtype=np.float64)
    across, squares = left[:size], left[size:]
    gradient = across.copy()
    gradient[first:] -= l2 * theta[first:]
    step = solve_triangular(upper, solve_triangular(upper, gradient, trans="T"))
    residual = squares - step.T @ across - across.T @ step + (upper @ step).T @ (upper @ step)
    residual -= l2 * step[first:].T @ step[first:]
    np.fill_diagonal(residual, np.maximum(np.diagonal(residual), 0.0))
    corrected = theta.astype(np.longdouble) + step
    if intercept:
        corrected[0] += sums.mean_y - sums.mean_x.astype(np.longdouble) @ corrected[1:]
    return Decomposed(corrected.astype(np.float64), residual, features)


def are_dependent(data: EncodedDataset, sums: NormalEquations, intercept: bool, combinations: FloatArray) -> bool:
    """Whether these combinations of the centred columns, (d, k), are 0 in all rows, up to rounding."""
    if not combinations.size:
        return False
    products = sums.scatter if intercept else sums.about_zero()
    level = np.sqrt(np.maximum(np.diagonal(products)[: sums.features], 0.0)) @ np.abs(combinations)
    squares = data.reduce(partial(_squares_of_part, partial(weighted_blocks, sums, intercept), intercept, combinations))
    return bool((np.sqrt(squares) <= _NOTHING * level).all())


def weighted_blocks(
    sums: NormalEquations, intercept: bool, rows: Batch, dtype: Any = np.float64
) -> Iterator[tuple[Any, Any]]:
    """Yield columns, (n, p), the intercept first, and targets, (n, t), times the square roots of the weights.

    With an intercept both are centred.
    """
    for start in range(rows.start, rows.stop, _BLOCK):
        here = np.arange(start, min(start + _BLOCK, rows.stop))
        x = _host(taken(rows.x, here)).astype(dtype, copy=False)
        y = np.asarray(to_host(rows.y[here[0] : here[-1] + 1]), dtype=np.float64).astype(dtype).reshape(len(here), -1)
        if intercept:
            x = np.concatenate([np.ones((len(x), 1), dtype=dtype), x - sums.mean_x], axis=1)
            y = y - sums.mean_y
        if rows.weight is not None:
            root = np.sqrt(to_host(rows.weight[here[0] : here[-1] + 1]).astype(dtype))[:, None]
            x, y = x * root, y * root
        yield x, y


def _host(x: Any) -> FloatArray:
    return dense(x) if is_sparse(x) else np.asarray(to_host(x), dtype=np.float64)


def _triangle_of_part(place: Any, rows: Batch, _: Any) -> Triangle:
    found: Triangle | None = None
    for x, y in place(rows):
        one = Triangle.of(np.concatenate([x, y], axis=1))
        found = one if found is None else found + one
    assert found is not None
    return found


def _residuals_of_part(place: Any, theta: FloatArray, rows: Batch, _: Any) -> Any:
    """Return the products of the columns with the residuals, (p, t), above those of the residuals, (t, t)."""
    total: Any = 0.0
    for x, y in place(rows, np.longdouble):
        left = y - x @ theta.astype(np.longdouble)
        total = total + np.concatenate([x.T @ left, left.T @ left])
    return total  # sums of parts cancel: they are added in extended precision too


def _squares_of_part(place: Any, intercept: bool, combinations: FloatArray, rows: Batch, _: Any) -> FloatArray:
    total = np.zeros(combinations.shape[1])
    for x, _targets in place(rows):
        total += ((x[:, int(intercept) :] @ combinations) ** 2).sum(axis=0)
    return total

"""Linear algebra of solvers: symmetric systems, which may be singular, and L-BFGS estimates of an inverse Hessian."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.statistics.base import FloatArray

EPSILON = float(np.finfo(np.float64).eps)
#: An unknown is not identified if its squared part in the null space is above this: rounding gives less.
LEAST_SHARE = 1e-8
#: Larger matrices use LAPACK, though its threads compete with the engine's.
LARGE = 600
#: Triangular matrices of more rows are inverted by LAPACK, which scipy.linalg has.
_FEW_ROWS = 128
#: Longer products do not use BLAS, whose threads would compete with the engine's.
SHORT = 4096
#: Memory of L-BFGS: number of gradient differences.
MEMORY = 20
#: A gradient difference within this share of the Hessian's prediction needs no correction.
NEARLY = 0.05


@dataclass(frozen=True, eq=False)
class Symmetric:
    """A factored positive semi-definite matrix, with columns scaled to one size, so that units do not matter.

    Examples
    --------
    >>> twice = Symmetric.of(np.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> twice.rank, twice.solve(np.array([1.0, 2.0]))
    (1, array([0.2, 0.4]))
    """

    scale: FloatArray  # (q,), scale of each column
    rank: int
    undetermined: npt.NDArray[np.bool_]  # (q,), which unknowns are not identified
    _factor: Any  # Cholesky factor; or eigenvectors over the roots of their eigenvalues, (q, rank)
    _null: FloatArray | None  # (q, q - rank), orthonormal basis of the null space; None if there is none
    #: The smallest share of a column's square that earlier columns do not explain; 0 if singular. Solutions lose about
    #: -log10 of it in digits.
    least_pivot: float = 0.0

    @classmethod
    def of(cls, matrix: FloatArray, tolerance: float | None = None) -> Symmetric:
        """Return the factored matrix; relative pivots below the tolerance are zero."""
        size = len(matrix)
        if size == 0:
            return cls(np.zeros(0), 0, np.zeros(0, dtype=bool), np.zeros((0, 0)), np.zeros((0, 0)), 1.0)
        least = 64 * max(size, 10) * EPSILON if tolerance is None else tolerance
        if size <= LARGE:
            scale, factor, pivot = _native.scaled_cholesky(matrix, 16 * least)
            if pivot > 16 * least:
                return cls(scale, size, np.zeros(size, dtype=bool), factor, None, pivot)
        level = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
        varies = bool((level > 0).all())
        scale = level if varies else np.where(level > 0, level, 1.0)
        scaled = matrix / scale / scale[:, None]
        if not np.isfinite(scaled).all():
            raise FloatingPointError("the Hessian is not finite")
        if varies and size > LARGE:
            factor, pivot = _cholesky(scaled)
            if pivot > 16 * least:
                return cls(scale, size, np.zeros(size, dtype=bool), factor, None, pivot)
        values, vectors = np.linalg.eigh(scaled)
        known = values > least * max(float(values.max(initial=0.0)), EPSILON)
        roots = vectors[:, known] / np.sqrt(values[known])
        # The null space of the scaled columns, in the coordinates of the columns.
        null, _ = np.linalg.qr(vectors[:, ~known] / scale[:, None])
        loose = (vectors[:, ~known] ** 2).sum(axis=1) > LEAST_SHARE
        return cls(scale, int(known.sum()), loose, roots, null, float(values[0]) if known.all() else 0.0)

    @classmethod
    def of_root(cls, upper: FloatArray) -> Symmetric | None:
        """Return the factored R'R of an upper triangular R, (q, q); None if it is singular up to rounding.

        Examples
        --------
        >>> Symmetric.of_root(np.array([[-2.0, 1.0], [0.0, 1.0]])).inverse()
        array([[0.5, 0.5],
               [0.5, 1. ]])
        """
        size = len(upper)
        scale = np.sqrt((upper * upper).sum(axis=0))
        if not (scale > 0).all():
            return None
        factor = np.ascontiguousarray((upper / scale).T)
        pivots = np.diagonal(factor)
        if (np.abs(pivots) <= 64 * max(size, 10) * EPSILON).any():
            return None
        least = float(np.abs(pivots).min()) ** 2
        return cls(scale, size, np.zeros(size, dtype=bool), factor * np.sign(pivots), None, least)

    @property
    def null(self) -> FloatArray:
        """An orthonormal basis of the null space, (q, q - rank)."""
        return np.zeros((len(self.scale), 0)) if self._null is None else self._null

    def solve(self, right: FloatArray) -> FloatArray:
        """Return the solution for one right-hand side, (q,), or several, (q, r): of least norm if there are many."""
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        if self._null is None:
            rows = np.array((right / scale).T, order="C", ndmin=2)
            _native.cholesky_solve(self._factor, rows)
            return np.asarray((rows[0] if right.ndim == 1 else rows.T) / scale)
        solution = self._factor @ (self._factor.T @ (right / scale)) / scale
        return np.asarray(solution - self._null @ (self._null.T @ solution))

    def inverse(self) -> FloatArray:
        """Return the inverse, (q, q), symmetric; NaN in the rows and columns of unknowns that are not identified."""
        size = len(self.scale)
        result = self.solve(np.eye(size))
        result = (result + result.T) / 2
        result[self.undetermined, :] = np.nan
        result[:, self.undetermined] = np.nan
        return result

    def root(self) -> FloatArray:
        """Return R, (q, rank), for which R R' is the inverse, or the pseudo-inverse, and R' matrix R the identity."""
        if self._null is None:
            return np.asarray((_invert_lower(self._factor) / self.scale).T)
        roots = self._factor / self.scale[:, None]
        return np.asarray(roots - self._null @ (self._null.T @ roots))

    def whitener(self) -> FloatArray:
        """Return the lower triangular W, (q, q), for which ``|W x|²`` is x' times the (pseudo-)inverse times x."""
        size = len(self.scale)
        roots = self.root().T
        if self._null is None:
            return roots
        # R'R of the reversed columns; R reversed is lower triangular.
        upper = np.zeros((size, size))
        reduced = np.linalg.qr(roots[:, ::-1], mode="r")
        upper[: len(reduced)] = reduced
        return np.ascontiguousarray(upper[::-1, ::-1])


def _invert_lower(lower: FloatArray) -> FloatArray:
    """Return the inverse of a lower triangular matrix, by forward substitution.

    Examples
    --------
    >>> _invert_lower(np.array([[2.0, 0.0], [1.0, 4.0]])).tolist()
    [[0.5, 0.0], [-0.125, 0.25]]
    """
    size = len(lower)
    if size > _FEW_ROWS:
        from scipy.linalg import solve_triangular  # slow to import, and few matrices need it

        return np.asarray(solve_triangular(lower, np.eye(size), lower=True, check_finite=False))
    inverse = np.zeros((size, size))
    for row in range(size):
        inverse[row, :row] = -(lower[row, :row] @ inverse[:row, :row])
        inverse[row, row] = 1.0
        inverse[row, : row + 1] /= lower[row, row]
    return inverse


def _cholesky(matrix: FloatArray) -> tuple[FloatArray, float]:
    """Return the lower factor of a large matrix, and its smallest pivot; 0 if there is no factor."""
    try:
        factor: FloatArray = np.linalg.cholesky(matrix).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return matrix, 0.0
    return factor, float(np.diagonal(factor).min()) ** 2


def dependencies(matrix: FloatArray, tolerance: float | None = None) -> list[tuple[int, list[int]]]:
    """Return the columns that are linear combinations of earlier columns, each with those columns.

    Parameters
    ----------
    matrix
        Products of columns, (d, d).
    tolerance
        A column is dependent if earlier columns explain all but this share of its square.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0, 2.0, 1.0], [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 2.0, 2.0]])
    >>> dependencies(x.T @ x)
    [(2, [0]), (3, [0, 1])]
    """
    size = len(matrix)
    level = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    scale = np.where(level > 0, level, 1.0)
    scaled = matrix / scale / scale[:, None]
    least = 1024 * max(size, 10) * EPSILON if tolerance is None else tolerance
    factor = np.zeros((size, size))  # rows: the columns of the matrix in terms of the independent ones before them
    kept: list[int] = []
    found: list[tuple[int, list[int]]] = []
    for column in range(size):
        along = np.zeros(len(kept))
        for place, other in enumerate(kept):
            along[place] = (scaled[column, other] - factor[other, :place] @ along[:place]) / factor[other, place]
        own = scaled[column, column] - along @ along
        if own > least:
            factor[column, : len(kept)] = along
            factor[column, len(kept)] = np.sqrt(own)
            kept.append(column)
            continue
        # The coefficients: back-substitution to the columns.
        multiples = np.linalg.solve(factor[np.ix_(kept, range(len(kept)))].T, along) if kept else along
        found.append((column, [other for other, share in zip(kept, multiples, strict=True) if abs(share) > 1e-6]))
    return found


def flat(theta: FloatArray) -> FloatArray:
    """Return theta, (p, t), read column by column, (p t,): the order of a Hessian.

    Examples
    --------
    >>> flat(np.array([[1.0, 3.0], [2.0, 4.0]]))
    array([1., 2., 3., 4.])
    """
    return np.ascontiguousarray(theta.T).reshape(-1)


def shaped(vector: FloatArray, like: FloatArray) -> FloatArray:
    """Return a vector in the shape of theta: the inverse of :func:`flat`.

    Examples
    --------
    >>> shaped(np.array([1.0, 2.0, 3.0, 4.0]), np.zeros((2, 2)))
    array([[1., 3.],
           [2., 4.]])
    """
    return np.ascontiguousarray(vector.reshape(like.T.shape).T)


def inner(one: FloatArray, two: FloatArray) -> float:
    """Return the sum of products of two arrays of one shape.

    Examples
    --------
    >>> inner(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]))
    11.0
    """
    if one.size <= SHORT:
        return float(np.dot(one.reshape(-1), two.reshape(-1)))
    return float(np.einsum("i,i->", one.reshape(-1), two.reshape(-1)))


#: Multiplies a gradient by an estimate of the inverse Hessian.
Preconditioner = Callable[[FloatArray], FloatArray]


def inverse_of(hessian: FloatArray) -> Preconditioner:
    """Return the function that multiplies a gradient by the inverse of a Hessian.

    Examples
    --------
    >>> inverse_of(np.array([[4.0]]))(np.array([[2.0]]))
    array([[0.5]])
    """
    factored = Symmetric.of(hessian)
    return lambda gradient: shaped(factored.solve(flat(gradient)), gradient)


class Corrections:
    """L-BFGS: the last steps and gradient differences, over an initial inverse Hessian."""

    def __init__(self, guess: Preconditioner) -> None:
        self.guess = guess
        self.pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=MEMORY)  # step, change, their product

    def add(self, step: FloatArray, change: FloatArray) -> None:
        """Add a step and its gradient difference, unless the curvature is not positive."""
        curvature = inner(step, change)
        if curvature > 1e-14 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self.pairs.append((step, change, curvature))

    def solve(self, gradient: FloatArray) -> FloatArray:
        """Return the inverse Hessian times a gradient."""
        shares = []
        rest = gradient.copy()
        for step, change, curvature in reversed(self.pairs):
            share = inner(step, rest) / curvature
            shares.append(share)
            rest -= share * change
        result = self.guess(rest)
        for (step, change, curvature), share in zip(self.pairs, reversed(shares), strict=True):
            result += (share - inner(change, result) / curvature) * step
        return result

    def clear(self) -> None:
        """Drop all corrections."""
        self.pairs.clear()


def predicts_change(before: FloatArray, after: FloatArray, step: FloatArray, change: FloatArray) -> bool:
    """Whether the Hessians at the ends of a step nearly predict its gradient difference.

    The expected Hessian does so if the link is canonical. If it is not, and the model does not fit (gamma/log without
    an intercept), the gradient may change twice as fast: steps by that Hessian would oscillate.

    Examples
    --------
    >>> one, two, step = np.array([[1.0]]), np.array([[2.0]]), np.array([[1.0]])
    >>> predicts_change(one, two, step, np.array([[1.5]])), predicts_change(one, one, step, np.array([[1.5]]))
    (True, False)
    """
    way = flat(step)
    one, two = inner(before @ way, way), inner(after @ way, way)
    return (1 - NEARLY) * min(one, two) <= inner(step, change) <= (1 + NEARLY) * max(one, two)

"""Linear algebra of solvers: symmetric systems, which may be singular, and L-BFGS estimates of an inverse Hessian."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, eigh, solve_triangular

from suffice import _native
from suffice.statistics.base import FloatArray

EPSILON = float(np.finfo(np.float64).eps)
#: An unknown takes part in what is not determined where its share of it, squared, is above this: rounding leaves less.
LEAST_SHARE = 1e-8
#: Larger matrices are left to LAPACK, whatever its threads do to the engine's.
LARGE = 600
#: Longer products are not left to BLAS, whose threads would compete with the engine's.
SHORT = 4096
#: How many changes of the gradient L-BFGS remembers.
MEMORY = 20
#: The change of a gradient that differs from what the Hessian predicts by no more than this share needs no correction.
NEARLY = 0.05


@dataclass(frozen=True, eq=False)
class Symmetric:
    """A positive semidefinite matrix, factored: its columns are scaled to one size first, so that units do not matter.

    Examples
    --------
    >>> twice = Symmetric.of(np.array([[1.0, 2.0], [2.0, 4.0]]))
    >>> twice.rank, twice.solve(np.array([1.0, 2.0]))
    (1, array([0.2, 0.4]))
    """

    scale: FloatArray  # (q,), what each column was divided by
    rank: int
    undetermined: npt.NDArray[np.bool_]  # (q,), which unknowns other values could take with the same effect
    _factor: Any  # Cholesky's; or eigenvectors divided by the roots of their eigenvalues, (q, rank)
    _null: FloatArray | None  # (q, q - rank), an orthonormal basis of what is not determined; None where all is
    #: The share of a column's square that the columns before it do not explain, the least of all; 0 if singular.
    #: Solutions lose about as many digits as it has zeros behind the point.
    least_pivot: float = 0.0

    @classmethod
    def of(cls, matrix: FloatArray, tolerance: float | None = None) -> Symmetric:
        """Return the matrix, factored; what is relatively below the tolerance counts as zero."""
        size = len(matrix)
        if size == 0:
            return cls(np.zeros(0), 0, np.zeros(0, dtype=bool), np.zeros((0, 0)), np.zeros((0, 0)), 1.0)
        level = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
        varies = bool((level > 0).all())
        scale = level if varies else np.where(level > 0, level, 1.0)
        scaled = matrix / scale / scale[:, None]
        least = 64 * max(size, 10) * EPSILON if tolerance is None else tolerance
        if not np.isfinite(scaled).all():
            raise FloatingPointError("the curvature is not finite")
        if varies:
            factor, pivot = _cholesky(scaled, 16 * least)
            if factor is not None:
                return cls(scale, size, np.zeros(size, dtype=bool), factor, None, pivot)
        values, vectors = eigh(scaled, check_finite=False)
        known = values > least * max(float(values.max(initial=0.0)), EPSILON)
        roots = vectors[:, known] / np.sqrt(values[known])
        # What has no effect on the scaled columns, as a combination of the columns themselves.
        null, _ = np.linalg.qr(vectors[:, ~known] / scale[:, None])
        loose = (vectors[:, ~known] ** 2).sum(axis=1) > LEAST_SHARE
        return cls(scale, int(known.sum()), loose, roots, null, float(values[0]) if known.all() else 0.0)

    @classmethod
    def of_root(cls, upper: FloatArray) -> Symmetric | None:
        """Return R'R, factored, of an upper triangular R, (q, q); None where it is singular but for rounding.

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
        """An orthonormal basis of what is not determined, (q, q - rank)."""
        return np.zeros((len(self.scale), 0)) if self._null is None else self._null

    def solve(self, right: FloatArray) -> FloatArray:
        """Return the solution for one right-hand side, (q,), or several, (q, r): the smallest where there are many."""
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        if self._null is None:
            rows = np.array((right / scale).T, order="C", ndmin=2)
            _native.cholesky_solve(self._factor, rows)
            return np.asarray((rows[0] if right.ndim == 1 else rows.T) / scale)
        solution = self._factor @ (self._factor.T @ (right / scale)) / scale
        return np.asarray(solution - self._null @ (self._null.T @ solution))

    def inverse(self) -> FloatArray:
        """Return the inverse, (q, q), symmetric; NaN in the rows and columns of what is not determined."""
        size = len(self.scale)
        result = self.solve(np.eye(size))
        result = (result + result.T) / 2
        result[self.undetermined, :] = np.nan
        result[:, self.undetermined] = np.nan
        return result

    def root(self) -> FloatArray:
        """Return R, (q, rank), for which R R' is the inverse, or the pseudo-inverse, and R' matrix R the identity."""
        if self._null is None:
            lower = solve_triangular(self._factor, np.eye(len(self.scale)), lower=True, check_finite=False)
            return np.asarray((lower / self.scale).T)
        roots = self._factor / self.scale[:, None]
        return np.asarray(roots - self._null @ (self._null.T @ roots))

    def whitener(self) -> FloatArray:
        """Return the lower triangular W, (q, q), for which ``|W x|²`` is x' times the (pseudo-)inverse times x."""
        size = len(self.scale)
        roots = self.root().T
        if self._null is None:
            return roots
        # R'R is the same with the columns in reverse; turned round, R is lower triangular.
        upper = np.zeros((size, size))
        reduced = np.linalg.qr(roots[:, ::-1], mode="r")
        upper[: len(reduced)] = reduced
        return np.ascontiguousarray(upper[::-1, ::-1])


def _cholesky(matrix: FloatArray, least: float) -> tuple[FloatArray | None, float]:
    """Return the lower factor of a matrix, and its least pivot; None where that is no larger than the least."""
    if len(matrix) <= LARGE:
        factor = np.array(matrix, order="C")
        pivot = float(_native.cholesky(factor, least))
    else:
        try:
            factor = np.ascontiguousarray(cholesky(matrix, lower=True, check_finite=False))
        except np.linalg.LinAlgError:
            return None, 0.0
        pivot = float(np.diagonal(factor).min()) ** 2
    return (factor, pivot) if pivot > least else (None, pivot)


def dependencies(matrix: FloatArray, tolerance: float | None = None) -> list[tuple[int, list[int]]]:
    """Return the columns that are sums of multiples of columns before them, each with those columns.

    Parameters
    ----------
    matrix
        Products of columns, (d, d).
    tolerance
        A column of which no more than this share (of its square) is its own counts as dependent.

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
        # The multiples: back from the factored form to the columns themselves.
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
    """The last steps and the changes of the gradient along them: L-BFGS, over a guess of the inverse Hessian."""

    def __init__(self, guess: Preconditioner) -> None:
        self.guess = guess
        self.pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=MEMORY)  # step, change, their product

    def add(self, step: FloatArray, change: FloatArray) -> None:
        """Add a step and the change of the gradient along it, unless they show no positive curvature."""
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
        """Forget all corrections."""
        self.pairs.clear()


def predicts_change(before: FloatArray, after: FloatArray, step: FloatArray, change: FloatArray) -> bool:
    """Whether the Hessians at the ends of a step predict the change of the gradient along it, or nearly.

    The expected Hessian does so where the link is canonical. Where it is not, and the model does not fit (gamma/log
    without an intercept), the gradient may change twice as fast: steps by that Hessian alone would oscillate.

    Examples
    --------
    >>> one, two, step = np.array([[1.0]]), np.array([[2.0]]), np.array([[1.0]])
    >>> predicts_change(one, two, step, np.array([[1.5]])), predicts_change(one, one, step, np.array([[1.5]]))
    (True, False)
    """
    along = [float(flat(step) @ hessian @ flat(step)) for hessian in (before, after)]
    return (1 - NEARLY) * min(along) <= inner(step, change) <= (1 + NEARLY) * max(along)

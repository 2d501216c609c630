"""Many small systems of equations at once, each solved by itself: none depends on which others are there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray

#: A direction that has less than this share of its size left, once what it has in common with others is taken out, is
#: one that the rows do not determine.
_RANK = 1e-12


def solve_semidefinite(matrices: FloatArray, size: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solutions of systems with positive semi-definite matrices; of least norm where there are many.

    Parameters
    ----------
    matrices
        (m, k, k), symmetric.
    size
        The size of each diagonal entry before rounding can have cut it down, (m, k): the scale of each unknown, in
        which ranks are judged and norms are taken.
    right
        The right-hand sides, (m, k).

    Returns
    -------
    (m, k)

    Examples
    --------
    >>> solve_semidefinite(np.array([[[2.0, 0.0], [0.0, 0.0]]]), np.array([[2.0, 0.0]]), np.array([[1.0, 0.0]]))
    array([[0.5, 0. ]])
    """
    scale = np.sqrt(np.where(size > 0, size, 1.0))
    scaled = matrices / (scale[:, :, None] * scale[:, None, :])
    wanted = right / scale
    solution, determined = _eliminate(scaled, wanted)
    if not determined.all():
        solution[~determined] = _least_norm(scaled[~determined], wanted[~determined])
    return solution / scale


def inner(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the sums of left * right over their second axis, added in its order whatever the shapes.

    NumPy's own sums take another order where there is one row: then an answer would depend on what else is asked.

    >>> inner(np.array([[1.0, 2.0]]), np.array([[[3.0], [4.0]]]))
    array([[11.]])
    """
    left = left.reshape(left.shape + (1,) * (right.ndim - left.ndim))
    total = np.zeros(right.shape[:1] + right.shape[2:])
    for column in range(right.shape[1]):
        total = total + left[:, column] * right[:, column]
    return total


def _eliminate(matrices: FloatArray, right: FloatArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Return the solutions, (m, k), and where every pivot was large enough for them to mean something, (m,)."""
    # The systems lie last, so that every step is one pass over all of them.
    rest = np.array(np.moveaxis(matrices, 0, -1), order="C")
    x = np.array(right.T, order="C")
    k = len(x)
    determined = np.ones(x.shape[1], dtype=bool)
    for j in range(k):
        determined &= rest[j, j] > _RANK  # False for NaN
        rest[j, j] = np.where(rest[j, j] > _RANK, rest[j, j], 1.0)
        share = rest[j + 1 :, j] / rest[j, j]
        for i in range(j + 1, k):
            rest[i, j + 1 : i + 1] -= share[i - j - 1] * rest[j + 1 : i + 1, j]
        x[j + 1 :] -= share * x[j]
    for j in reversed(range(k)):
        for i in range(j + 1, k):
            x[j] -= rest[i, j] * x[i]
        x[j] /= rest[j, j]
    return x.T.copy(), determined


def _least_norm(matrices: FloatArray, right: FloatArray) -> FloatArray:
    """Return the solutions of least norm, (m, k), without the directions that the matrices hardly know."""
    values, vectors = np.linalg.eigh(matrices)
    kept = values > _RANK * np.maximum(values[:, -1:], 1e-300)
    inverse = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)
    along = inverse * inner(right, vectors)
    return inner(along, np.swapaxes(vectors, 1, 2))

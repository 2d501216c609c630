"""Matrices of many rows, and sums over their columns when these change."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice.statistics import NormalEquations, Statistics
from suffice.statistics.base import FloatArray
from suffice.statistics.moments import EPSILON, ClassMoments

#: Bytes of a matrix that is held in memory.
MEMORY = 1 << 30


@contextmanager
def stacked(
    parts: Iterable[tuple[Any, npt.NDArray[Any]]], memory: int = MEMORY
) -> Iterator[tuple[Any, npt.NDArray[Any]]]:
    """Yield the rows of several matrices in one, and their targets; beyond ``memory`` bytes, in a temporary file.

    Examples
    --------
    >>> parts = [(np.ones((2, 1)), np.zeros(2)), (np.zeros((1, 1)), np.ones(1))]
    >>> with stacked(parts) as (matrix, values):
    ...     matrix.ravel().tolist(), values.tolist()
    ([1.0, 1.0, 0.0], [0.0, 0.0, 1.0])
    """
    held: list[Any] = []
    values: list[npt.NDArray[Any]] = []
    size = 0
    with ExitStack() as stack:
        file = None
        for matrix, some in parts:
            values.append(some)
            held.append(matrix)
            size += 0 if sparse.issparse(matrix) else matrix.nbytes
            if size > memory:
                file = file or stack.enter_context(tempfile.TemporaryFile(prefix="suffice-"))
                _put(held, file)
        targets = np.concatenate(values)
        if file is not None:
            yield np.memmap(file, dtype=np.float64, mode="r").reshape(len(targets), -1), targets
        elif sparse.issparse(held[0]):
            yield sparse.vstack(held, format="csr"), targets
        else:
            yield np.concatenate(held), targets


def _put(held: list[Any], file: IO[bytes]) -> None:
    """Write matrices to a file, and hold them no longer."""
    for matrix in held:
        np.ascontiguousarray(matrix).tofile(file)
    held.clear()


def transformed(statistics: Statistics, A: FloatArray, b: FloatArray) -> Statistics:
    """Return the sums over rows A x + b, of the sums over rows x: moments of classes, or normal equations.

    Examples
    --------
    >>> line = NormalEquations(3.0, np.array([1.0, 5.0]), np.array([[2.0, 4.0], [4.0, 8.0]]), 1)
    >>> moved = transformed(line, np.array([[2.0]]), np.array([1.0]))
    >>> moved.mean.tolist(), moved.xx.tolist()
    ([3.0, 5.0], [[8.0]])
    """
    if isinstance(statistics, NormalEquations):
        targets = np.eye(statistics.targets)
        zeros = np.zeros((len(A), statistics.targets))
        whole = np.block([[A, zeros], [np.zeros((statistics.targets, A.shape[1])), targets]])
        mean = _moved_mean(statistics.mean, whole, np.concatenate([b, np.zeros(statistics.targets)]))
        return replace(statistics, mean=mean, scatter=_symmetric(whole @ statistics.scatter @ whole.T))
    assert isinstance(statistics, ClassMoments)
    known = statistics.weights > 0
    mean = np.where(known[:, None], _moved_mean(statistics.mean, A, b), 0.0)
    return replace(statistics, mean=mean, spread=_symmetric(A @ statistics.spread @ A.T))


def _moved_mean(mean: FloatArray, A: FloatArray, b: FloatArray) -> FloatArray:
    """Return means of rows A x + b; those within rounding of 0 are 0, so that a class of zeros has no mean of noise."""
    moved = mean @ A.T + b
    return np.where(np.abs(moved) <= 8 * EPSILON * (np.abs(mean) @ np.abs(A.T) + np.abs(b)), 0.0, moved)


def _symmetric(matrix: FloatArray) -> FloatArray:
    return np.asarray((matrix + np.swapaxes(matrix, -1, -2)) / 2)

"""Third and fourth powers of the rows' distance from their class mean, in blocks that fit a cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.kernels import errors
from suffice.kernels.native_rows import FloatArray, blame, intact, is_csr, read_codes, read_column

if TYPE_CHECKING:
    from suffice.kernels.batch import Batch

#: A block's rows take about this many bytes in float64.
BLOCK_BYTES = 1 << 20


@np.errstate(over="ignore", invalid="ignore")  # overflow is found by what it leaves
def quartic_moments(batch: Batch, mean: FloatArray, block_bytes: int = BLOCK_BYTES) -> tuple[FloatArray, FloatArray]:
    """Return the sums of ||z||^2 z, (k, d), and of ||z||^4, (k,), with z = x - mean of the class, (k, d)."""
    cubes, quartic = np.zeros_like(mean), np.zeros(len(mean))
    for z, classes, starts, weight in _deviations(batch, mean, block_bytes):
        squares = np.einsum("ij,ij->i", z, z)
        weighted = squares if weight is None else np.where(weight > 0, weight * squares, 0.0)
        quartic[classes] += np.add.reduceat(weighted * np.where(weighted > 0, squares, 0.0), starts)
        z *= weighted[:, None]
        cubes[classes] += np.add.reduceat(z, starts, axis=0)
    if not (np.isfinite(cubes).all() and np.isfinite(quartic).all()):
        blame(batch)
        widest = np.zeros(batch.features)
        for z, *_ in _deviations(batch, mean, block_bytes):
            np.maximum(widest, np.abs(z).max(axis=0), out=widest)
        raise errors.feature_overflow(int(np.argmax(widest)))
    return cubes, quartic


def _deviations(
    batch: Batch, mean: FloatArray, block_bytes: int
) -> Iterator[tuple[FloatArray, npt.NDArray[np.int64], npt.NDArray[np.intp], FloatArray | None]]:
    """Yield blocks of rows less their class means, grouped by class.

    With the rows, (n, d), come the classes among them, where the rows of each of these start, and the weights, (n,).
    """
    codes = read_codes(batch, len(mean))
    features = intact(batch.x) if is_csr(batch.x) else batch.x
    weight = None if batch.weight is None else read_column("weight", batch.weight, batch)
    narrow = np.uint16 if len(mean) <= 1 << 16 else np.int64  # 16 bits are sorted by radix
    height = max(1, block_bytes // (8 * max(1, batch.features)))
    for first in range(0, batch.rows, height):
        rows = slice(first, min(first + height, batch.rows))
        x = _rows(features, slice(batch.start + rows.start, batch.start + rows.stop))
        mass = None if weight is None else weight[rows]
        if codes is None:
            z, present, starts = x - mean[0], np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.intp)
        else:
            order = np.argsort(codes[rows].astype(narrow, copy=False), kind="stable")
            grouped = codes[rows].take(order)
            starts = np.flatnonzero(np.diff(grouped, prepend=-1))
            z, present = x.take(order, axis=0), grouped.take(starts)
            z -= mean.take(grouped, axis=0)
            mass = None if mass is None else mass.take(order)
        yield z, present, starts, mass


def _rows(x: Any, rows: slice) -> FloatArray:
    """Return rows of a NumPy array or CSR matrix as a dense float64 array."""
    return np.asarray(x[rows].toarray() if is_csr(x) else x[rows], dtype=np.float64)

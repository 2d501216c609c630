"""Arrays of any library that follows the array API: they stay on their device, only the sums come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from suffice.engines.array_kernels import ArrayKernels
from suffice.engines.base import Engine, named
from suffice.engines.batch import Batch
from suffice.engines.kernels import Kernels

R = TypeVar("R")


class ArrayEngine(Engine):
    """Sums NumPy, torch, CuPy, JAX and other array-API arrays where they live.

    Parameters
    ----------
    block_rows
        How many rows are taken at a time; by default as many as keep a block's float64 copies around 32 MB.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.statistics import TiedMoments
    >>> ArrayEngine().accumulate(TiedMoments.over(), Batch(np.array([[1.0], [3.0]]))).spread
    array([[2.]])
    """

    def __init__(self, block_rows: int | None = None) -> None:
        self.block_rows = block_rows
        self.kernels: Kernels = ArrayKernels(block_rows)

    def __repr__(self) -> str:
        return f"ArrayEngine(block_rows={self.block_rows})"

    def _map(self, function: Callable[[Batch, Kernels], R], batches: Iterable[Batch]) -> Iterator[R]:
        for number, batch in enumerate(batches):
            yield named(function, batch, self.kernels, number)

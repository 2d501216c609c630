"""Recovery from running out of memory: smaller blocks."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

#: Blocks are not made smaller than this share of their first size.
SMALLEST_SHARE = 2**20


@dataclass(frozen=True)
class InBlocks:
    """Kernels that read rows in blocks.

    Parameters
    ----------
    block_rows
        Rows per block. None chooses them so that a block's float64 temporaries take around 32 MB (512 MB off the CPU).
    share
        Divisor of the rows of a block, if memory is short.
    """

    block_rows: int | None = None
    share: int = 1

    def __post_init__(self) -> None:
        if self.block_rows is not None and self.block_rows < 1:
            raise ValueError(f"block_rows must be at least 1; got {self.block_rows}")

    def rows_of_blocks(self, otherwise: int) -> int:
        """Return the number of rows of a block; the given default if it is not set."""
        return max((self.block_rows or otherwise) // self.share, 1)

    def in_smaller_blocks(self) -> Self:
        """Return the same kernels with blocks of half as many rows."""
        return replace(self, share=2 * self.share)


K = TypeVar("K", bound=InBlocks)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out: the host's, or that of a device, as torch, CuPy and JAX say it.

    Examples
    --------
    >>> out_of_memory(MemoryError()), out_of_memory(ValueError("out of memory"))
    (True, False)
    """
    kind = type(error)
    if isinstance(error, MemoryError) or kind.__name__ == "OutOfMemoryError":
        return True
    return kind.__name__ in ("XlaRuntimeError", "JaxRuntimeError") and "RESOURCE_EXHAUSTED" in str(error)


def free_memory() -> None:
    """Release the memory that libraries cache."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():  # on a GPU
        torch.cuda.empty_cache()


def in_blocks(kernel: Callable[Concatenate[K, P], R]) -> Callable[Concatenate[K, P], R]:
    """Run a kernel; where memory runs out, again in smaller blocks.

    Bad rows are found by what they do to sums, and overflow by what it leaves: NumPy need not warn of either.
    """

    @wraps(kernel)
    def run(self: K, /, *arguments: P.args, **options: P.kwargs) -> R:
        while True:
            try:
                with np.errstate(all="ignore"):
                    return kernel(self, *arguments, **options)
            except Exception as error:
                if not out_of_memory(error) or self.share >= SMALLEST_SHARE:
                    raise
            free_memory()  # the error, and all it held, is gone here
            self = self.in_smaller_blocks()

    return run


def device_memory(device: Any) -> int:
    """Return the free memory of a torch device in bytes; unlimited for the host."""
    import torch

    if device.type == "cuda":  # on a GPU
        free, _ = torch.cuda.mem_get_info(device)
        return int(free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device))
    return sys.maxsize

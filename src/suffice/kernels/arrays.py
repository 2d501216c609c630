"""Engine for arrays of any library that follows the array API, on their device or copied to another."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from array_api_compat import is_torch_array

from suffice.kernels.array_blocks import to_host
from suffice.kernels.array_kernels import ArrayKernels
from suffice.kernels.engine import Batch, Engine, named
from suffice.kernels.protocol import Kernels

if TYPE_CHECKING:
    from suffice.kernels.staging import Part, Stager

R = TypeVar("R")

#: Rows that are read again and again stay on the device up to this share of the memory that it has free.
KEPT_SHARE = 0.7
#: The room that sums need there themselves.
WORKING_BYTES = 2 * 2**30


#: Columns with at least this many rows are copied to the device of x once, and kept as long as their batch.
LONG = 1 << 16


class ArrayEngine(Engine):
    """Sums NumPy, torch, CuPy, JAX and other array-API arrays on their own device, or copies them to a device first.

    Parameters
    ----------
    block_rows
        Rows of a block; by default as many as make its float64 copies about 32 MB. If memory runs out, blocks are made
        smaller.
    device
        A torch device, such as "cuda", to which rows of NumPy and torch are copied block by block, each while the
        previous one is summed: they may be larger than its memory. Rows that are read several times are kept there as
        far as they fit.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.statistics import TiedMoments
    >>> ArrayEngine().accumulate(TiedMoments.over(), Batch(np.array([[1.0], [3.0]]))).spread
    array([[2.]])
    """

    def __init__(self, block_rows: int | None = None, device: Any = None) -> None:
        self.block_rows = block_rows
        self.device = None if device is None else str(_torch_device(device))
        self.kernels: Kernels = ArrayKernels(block_rows)
        self._kept: dict[int, _Kept] = {}  # by the batch they are of
        self._whole: dict[int, Batch] = {}  # the same batch, all of it on the device of x

    def __repr__(self) -> str:
        device = "" if self.device is None else f", device={self.device!r}"
        return f"ArrayEngine(block_rows={self.block_rows}{device})"

    def __reduce__(self) -> tuple[type[ArrayEngine], tuple[int | None, Any]]:
        return ArrayEngine, (self.block_rows, self.device)

    def _map(self, function: Callable[[Batch, Kernels], R], batches: Iterable[Batch]) -> Iterator[R]:
        for number, batch in enumerate(batches):
            if self.device is None or not self._travels(batch):
                yield named(function, self._gathered(batch), self.kernels, number)
                continue
            for part in self._parts(batch):
                yield named(partial(_ask, function, part), part.placed, self.kernels, number)

    def _gathered(self, batch: Batch) -> Batch:
        """Return a batch with its long host columns copied to the CUDA device of x, once for all passes."""
        if is_torch_array(batch.x) and batch.x.is_cuda:  # on a GPU
            columns = {name: getattr(batch, name) for name in ("y", "weight", "offset")}
            stay = {name: column for name, column in columns.items() if _is_long(column)}
            if stay and id(batch) not in self._whole:
                from suffice.kernels.staging import stager_for

                bring = stager_for(str(batch.x.device)).bring
                self._whole[id(batch)] = replace(batch, **{name: bring(column) for name, column in stay.items()})
                weakref.finalize(batch, self._whole.pop, id(batch), None)
            return self._whole[id(batch)] if stay else batch
        return batch

    def _travels(self, batch: Batch) -> bool:
        from suffice.kernels.staging import can_travel

        return batch.rows > 0 and can_travel(batch)

    def _parts(self, batch: Batch) -> Iterator[Part]:
        """Yield the rows of a batch on the device: those that are kept there, then those that are copied."""
        from suffice.kernels.staging import stager_for

        assert self.device is not None
        stager = stager_for(self.device)
        kept = self._kept.get(id(batch))
        if kept is None:  # rows that are read once need no room
            self._kept[id(batch)] = _Kept()
            weakref.finalize(batch, self._kept.pop, id(batch), None)
            yield from stager.parts(batch)
            return
        yield from kept.parts
        start = kept.parts[-1].host.stop if kept.parts else batch.start
        yield from kept.more(stager, batch, start)


def _is_long(column: Any) -> bool:  # on a GPU
    """Whether a column is a large NumPy array of a type that torch has."""
    return (
        isinstance(column, np.ndarray) and len(column) >= LONG and column.dtype.kind in "bif" and column.itemsize <= 8
    )


class _Kept:
    """The parts of a batch that stay on the device."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self._full = False

    def more(self, stager: Stager, batch: Batch, start: int) -> Iterator[Part]:
        """Yield the parts that are not kept yet, keeping them as long as there is room."""
        from suffice.kernels.memory import device_memory

        if not self._full:
            room = KEPT_SHARE * device_memory(stager.device) - WORKING_BYTES
            for part in stager.parts(replace(batch, start=start), keep=True):
                room -= 2 * stager.block_bytes if not self.parts else stager.block_bytes
                if room < 0:
                    self._full = True
                    break
                self.parts.append(part)
                start = part.host.stop
                yield part
        if start < batch.stop:
            yield from stager.parts(replace(batch, start=start))


def _ask(function: Callable[[Batch, Kernels], R], part: Part, placed: Batch, kernels: Kernels) -> Any:
    """Return the function of rows on the device; errors number the rows as on the host."""
    try:
        result = function(placed, kernels)
    except (ValueError, TypeError, OverflowError):
        return function(part.host, kernels)
    return _returned(result, part.host.x)


def _returned(result: Any, like: Any) -> Any:
    """Return scores in the library of the rows that came from the host."""
    import torch

    if not isinstance(result, torch.Tensor):
        return result
    return result.cpu() if isinstance(like, torch.Tensor) else to_host(result)


def _torch_device(device: Any) -> Any:
    """Return a torch device; raise if there is none."""
    try:
        import torch
    except ImportError:
        raise ImportError(f"ArrayEngine(device={device!r}) needs torch: install it, or leave device out") from None
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError):
        raise ValueError(f"device must name a torch device, such as 'cuda'; got {device!r}") from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device is {device!r}, and torch finds no CUDA device here: leave device out")
    return found

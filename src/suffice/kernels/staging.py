"""From the host to a device: rows are copied a block at a time, while those before are summed."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.kernels.array_blocks import Array
from suffice.kernels.engine import Batch
from suffice.kernels.memory import free_memory, out_of_memory

#: Bytes of a block: enough to outweigh the overhead of starting its sums.
BLOCK_BYTES = 256 * 2**20
#: Number of blocks in flight: one is summed, one is copied, one is put into pinned memory.
DEPTH = 3
#: Bytes that a thread copies at a time.
PIECE_BYTES = 16 * 2**20
#: Number of threads that copy to pinned memory; more would not be faster.
COPIERS = 8

_COLUMNS = ("x", "y", "weight", "offset", "trials")


@dataclass
class _Slot:
    """Room for one block, here in pinned memory and there."""

    pinned: dict[str, Any] = field(default_factory=dict)
    placed: dict[str, Any] = field(default_factory=dict)
    arrived: Any = None  # an event after which the pinned memory may be used again
    used: Any = None  # an event after which the memory there may be used again


@dataclass(frozen=True)
class Part:
    """Some rows of a batch of the host, and the same rows on a device."""

    host: Batch
    placed: Batch


class Stager:
    """Copies blocks of rows to a torch device.

    Rows of NumPy are in memory that a device cannot read: several threads copy them to memory that it can,
    and from there they travel on a stream of their own.

    Parameters
    ----------
    device
        A torch device.
    """

    def __init__(self, device: Any) -> None:
        import torch

        self._torch = torch
        self.device = device
        self.block_bytes = BLOCK_BYTES  # less where there is no room
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        self._idle: list[list[_Slot]] = []
        self._copiers = ThreadPoolExecutor(min(os.cpu_count() or 1, COPIERS), "suffice-copy")
        self._leader = ThreadPoolExecutor(1, "suffice-stage")

    def parts(self, batch: Batch, keep: bool = False) -> Iterator[Part]:
        """Yield the rows block by block, in order.

        Where blocks are not to be kept, the arrays of one are written over once the next but two is asked for. Where
        the device has no room for blocks of this size, they are made smaller.
        """
        start = batch.start
        while start < batch.stop:
            try:
                for part in self._parts(replace(batch, start=start), keep):
                    yield part
                    start = part.host.stop
            except Exception as error:
                if not out_of_memory(error) or self.block_bytes <= 2**16:
                    raise
                self.block_bytes //= 2
                self._idle = []
            else:
                return
            free_memory()  # the error, and all it held, is gone here

    def bring(self, column: npt.NDArray[Any]) -> Array:
        """Copy a whole host column to the device."""
        torch = self._torch
        there = torch.empty(column.shape, dtype=torch_type(torch, column.dtype), device=self.device)
        self._clear()
        slots = self._idle.pop() if self._idle else [_Slot() for _ in range(DEPTH)]
        height = max(self.block_bytes // max(column[:1].nbytes, 1), 1)
        for number, start in enumerate(range(0, len(column), height)):
            slot = slots[number % DEPTH]
            if slot.arrived is not None:  # on a GPU
                slot.arrived.synchronize()
            pinned = self._pin(slot, "y", column[start : start + height])
            self._copy(there[start : start + height], pinned)
            slot.arrived = None if self._stream is None else self._stream.record_event()
            self._meet(slot)
        self._idle.append(slots)
        return there

    def _parts(self, batch: Batch, keep: bool) -> Iterator[Part]:
        height = max(self.block_bytes // max(_row_bytes(batch), 1), 1)
        bounds = [(start, min(start + height, batch.stop)) for start in range(batch.start, batch.stop, height)]
        slots = self._idle.pop() if self._idle else [_Slot() for _ in range(DEPTH)]
        under_way: deque[Future[Part]] = deque()

        def stage(number: int) -> None:
            if number < len(bounds):
                part = replace(batch, start=bounds[number][0], stop=bounds[number][1])
                under_way.append(self._leader.submit(self._stage, slots[number % DEPTH], part, keep))

        try:
            for number in range(DEPTH):
                stage(number)
            for number in range(len(bounds)):
                part = under_way.popleft().result()
                slot = slots[number % DEPTH]
                self._meet(slot)
                yield part
                if self._stream is not None:  # on a GPU
                    slot.used = self._torch.cuda.current_stream(self.device).record_event()
                stage(number + DEPTH)
            self._idle.append(slots)
        finally:
            for future in under_way:
                future.cancel()

    def _stage(self, slot: _Slot, part: Batch, keep: bool) -> Part:
        """Return a part of a batch, here and on the device; its arrays may still be travelling."""
        if slot.arrived is not None:  # on a GPU
            slot.arrived.synchronize()
        if self._stream is not None and slot.used is not None:  # on a GPU
            self._stream.wait_event(slot.used)
        columns = {}
        for name in _COLUMNS:
            whole = getattr(part, name)
            if whole is not None:
                columns[name] = self._send(slot, name, whole[part.start : part.stop], keep)
        if self._stream is not None:  # on a GPU
            slot.arrived = self._stream.record_event()
        groups = None if part.groups is None else part.groups[part.start : part.stop]  # names stay on the host
        return Part(part, Batch(**columns, groups=groups))

    def _send(self, slot: _Slot, name: str, rows: Any, keep: bool) -> Array:
        torch = self._torch
        host = rows.detach() if isinstance(rows, torch.Tensor) else None
        if host is None or not (host.is_contiguous() and (host.is_pinned() or self._stream is None)):
            host = self._pin(slot, name, rows)
        if keep:
            there = torch.empty(host.shape, dtype=host.dtype, device=self.device)
            self._clear()
        else:
            before = slot.placed.get(name)
            there = _room(torch, slot.placed, name, host.shape, host.dtype, device=self.device)
            if slot.placed[name] is not before:  # memory that the compute stream has freed, and may not be done with
                self._clear()
        return self._copy(there, host)

    def _copy(self, there: Array, host: Array) -> Array:
        if self._stream is None:
            return there.copy_(host)
        with self._torch.cuda.stream(self._stream):  # on a GPU
            return there.copy_(host, non_blocking=True)

    def _clear(self) -> None:
        """Make the copy stream wait for the compute stream, which may still use memory that was just allocated."""
        if self._stream is not None:  # on a GPU
            self._stream.wait_stream(self._torch.cuda.current_stream(self.device))

    def _meet(self, slot: _Slot) -> None:
        """Make the compute stream wait for the rows of a slot."""
        if self._stream is not None:  # on a GPU
            self._torch.cuda.current_stream(self.device).wait_event(slot.arrived)

    def _pin(self, slot: _Slot, name: str, rows: Any) -> Array:
        """Return rows in memory that the device can read, copied there by several threads."""
        torch = self._torch
        values = rows.detach().numpy() if isinstance(rows, torch.Tensor) else np.asarray(rows)
        kind = torch_type(torch, values.dtype)
        room = _room(torch, slot.pinned, name, values.shape, kind, pin_memory=self._stream is not None)
        target = room.numpy()
        height = max(PIECE_BYTES // max(target[:1].nbytes, 1), 1)
        pieces = [slice(start, start + height) for start in range(0, len(values), height)]
        copies = [self._copiers.submit(np.copyto, target[piece], values[piece], "unsafe") for piece in pieces]
        for copy in copies:
            copy.result()
        return room


@cache
def stager_for(device: str) -> Stager:
    """Return the stager of a device: one for all engines, since pinned memory is scarce."""
    import torch

    return Stager(torch.device(device))


def _room(torch: Any, kept: dict[str, Any], name: str, shape: Any, kind: Any, **where: Any) -> Array:
    """Return room for an array, that of before where it is large enough."""
    count = int(np.prod(shape))
    size = count * kind.itemsize
    if name not in kept or kept[name].numel() < size:
        kept[name] = None
        kept[name] = torch.empty(max(size, 1), dtype=torch.uint8, **where)
    return kept[name][:size].view(kind).reshape(tuple(shape))


def torch_type(torch: Any, dtype: npt.DTypeLike) -> Any:
    """Return the torch type to which a NumPy type is copied."""
    kind = np.dtype(dtype)
    names = {"b": "bool", "f": f"float{8 * kind.itemsize}", "i": f"int{8 * kind.itemsize}", "u": "uint8"}
    name = names.get(kind.kind, "float64")
    if kind.kind == "u" and kind.itemsize > 1:
        name = "int64"
    return getattr(torch, name, torch.float64)


def can_travel(batch: Batch) -> bool:
    """Whether a batch is in host memory, in arrays of NumPy or torch."""
    import torch

    for name in _COLUMNS:
        column = getattr(batch, name)
        if column is None:
            continue
        if isinstance(column, torch.Tensor):
            if column.device.type != "cpu" or column.dtype == torch.bfloat16:
                return False
        elif not isinstance(column, np.ndarray) or column.dtype.kind not in "biuf" or column.dtype.itemsize > 8:
            return False
    return True


def _row_bytes(batch: Batch) -> int:
    columns = [getattr(batch, name) for name in _COLUMNS]
    return sum(int(column[:1].nbytes) for column in columns if column is not None and column.shape[0])

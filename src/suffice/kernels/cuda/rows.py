"""Batches that fused kernels read: dense rows on a CUDA device, of any library, with targets, weights and offsets."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import array_api_compat
import numpy as np

from suffice.kernels import errors
from suffice.kernels.array_blocks import Array, check_real, namespace_of, to_host
from suffice.kernels.engine import Batch

#: Batches with fewer cells than this are summed before a kernel would be compiled.
SMALLEST = 1 << 20
#: Number of rows from which a reference near the mean of a class is computed.
SAMPLE = 4096


@cache
def has_triton() -> bool:
    """Whether kernels can be compiled here: triton comes with torch for CUDA."""
    return importlib.util.find_spec("triton") is not None


def interprets() -> bool:
    """Whether Triton runs kernels on the host, row by row, as it does to debug them."""
    import triton

    return bool(triton.knobs.runtime.interpret)


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """The rows of a batch that count, in torch, on their CUDA device."""

    batch: Batch
    x: Array  # (n, d), the rows in range; columns are contiguous

    @property
    def torch(self) -> Any:
        """The library of all arrays."""
        return _torch()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.x.shape[0])

    @property
    def features(self) -> int:
        """Number of features."""
        return int(self.x.shape[1])

    @property
    def device(self) -> Any:
        """Where everything is computed."""
        return self.x.device

    @cached_property
    def programs(self) -> int:
        """Number of programs that run at a time, one on each multiprocessor."""
        if not self.x.is_cuda:
            return 2
        return int(_torch().cuda.get_device_properties(self.device).multi_processor_count)

    @property
    def unit(self) -> int:
        """How many cells, 1, 2 or 4, rows and their distance are multiples of: so many are read at a time."""
        step, start = math.gcd(self.features, self.x.stride(0), 4), self.x.data_ptr() // self.x.element_size()
        return math.gcd(step, start)

    def empty(self, *shape: int) -> Array:
        """Return an uninitialised array for sums."""
        return _torch().empty(shape, dtype=_torch().float64, device=self.device)

    def zeros(self, *shape: int) -> Array:
        """Return zeros to add sums to."""
        return _torch().zeros(shape, dtype=_torch().float64, device=self.device)

    def placed(self, values: Any) -> Array:
        """Return numbers of the host in float64 beside the rows."""
        return _torch().asarray(np.array(values, dtype=np.float64, order="C"), device=self.device)

    @cached_property
    def codes(self) -> Array | None:
        """The class codes, (n,), in some type of integers."""
        y = self.batch.y
        if y is None:
            return None
        if not namespace_of("y", y).isdtype(y.dtype, ("integral", "bool")):
            raise errors.no_codes(y.dtype)
        column = self._column("y")
        return column.view(_torch().uint8) if column.dtype == _torch().bool else column

    @cached_property
    def targets(self) -> Array:
        """The targets, (n, t)."""
        check_real("y", self.batch.y)
        column = self._column("y")
        column = column.to(_torch().float64) if not column.dtype.is_floating_point else column
        return column if column.ndim == 2 else column[:, None]

    @cached_property
    def weight(self) -> Array | None:
        """The weights, (n,), if there are any; kernels check them."""
        return self._numbers("weight")

    @cached_property
    def offset(self) -> Array | None:
        """The offset, (n, 1) or (n, t), if there is one."""
        offset = self._numbers("offset")
        return offset if offset is None or offset.ndim == 2 else offset[:, None]

    def _numbers(self, name: str) -> Array | None:
        values = getattr(self.batch, name)
        if values is None:
            return None
        check_real(name, values)
        column = self._column(name)
        return column if column.dtype.is_floating_point else column.to(_torch().float64)

    def _column(self, name: str) -> Array:
        """Return the rows of a column that count, beside x, contiguous."""
        values = getattr(self.batch, name)[self.batch.start : self.batch.stop]
        column = _as_torch(values)
        if column is None:
            host = to_host(values)
            column = _torch().asarray(np.array(host, dtype=host.dtype.newbyteorder("="), order="C"))
        return column.detach().to(self.device).contiguous()

    def some(self, column: Array) -> Array:
        """Return some rows of an array, spread over all of them, in float64."""
        return column[:: max(self.rows // SAMPLE, 1)].to(_torch().float64)


def device_rows(batch: Batch) -> DeviceRows | None:
    """Return the rows of a batch as fused kernels read them; None where they do not."""
    if batch.rows * batch.features < max(SMALLEST, 1) or not has_triton():
        return None
    whole = _as_torch(batch.x)
    if whole is None or whole.ndim != 2 or not (whole.is_cuda or interprets()):
        return None
    if whole.dtype not in (_torch().float16, _torch().bfloat16, _torch().float32, _torch().float64):
        return None
    x = whole.detach()[batch.start : batch.stop]
    if x.stride(1) != 1 or x.stride(0) < x.shape[1]:
        return None
    return DeviceRows(batch, x)


def _as_torch(array: Any) -> Any:
    """Return an array of torch, or one of CuPy as torch sees it, nothing copied; None of any other."""
    if array_api_compat.is_torch_array(array):
        return array
    if array_api_compat.is_cupy_array(array) and importlib.util.find_spec("torch") is not None:
        return _torch().from_dlpack(array) if _torch().cuda.is_available() else None
    return None


def _torch() -> Any:
    import torch

    return torch

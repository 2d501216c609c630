"""The rows of a batch, block by block: float64 of the batch's own array library, checked, on its own device."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt

from suffice.families.links import array_namespace
from suffice.families.links import to_host as to_host
from suffice.kernels import errors
from suffice.kernels.engine import Batch

Array = Any  # an array of any library that follows the array API

#: The float64 temporaries of one block stay around this many bytes: few enough for a cache, and off the CPU enough to
#: outweigh the launching of kernels (an H200 sums more than ten times as fast in the larger blocks).
BLOCK_BYTES = 32 * 2**20
ACCELERATOR_BLOCK_BYTES = 512 * 2**20


def namespace_of(name: str, array: Array) -> Any:
    """Return the array API namespace of an argument; raise if it has none."""
    try:
        return array_namespace(array)
    except TypeError:
        kind = type(array).__name__
        if type(array).__module__.startswith("scipy.sparse"):
            raise TypeError(
                f"ArrayEngine sums dense arrays; {name} is a scipy {kind}: use ThreadEngine, or {name}.toarray()"
            ) from None
        raise TypeError(f"{name} must be an array of a library that follows the array API; got {kind}") from None


def _plain(array: Array) -> Array:
    """Return a plain array: a np.matrix reads * as @, and a torch graph would keep every block."""
    if array_api_compat.is_torch_array(array):
        return array.detach()
    return np.asarray(array) if array_api_compat.is_numpy_array(array) else array


def check_real(name: str, array: Array) -> None:
    """Raise where an argument holds anything but real numbers."""
    if not namespace_of(name, array).isdtype(array.dtype, ("bool", "integral", "real floating")):
        raise errors.no_numbers(name, array.dtype)


@dataclass(frozen=True)
class Blocks:
    """A batch read in blocks of rows. Iterating yields each :class:`Block` in turn; an empty batch has none.

    Parameters
    ----------
    batch
        The rows to read.
    floats_per_row
        Number of float64 numbers that the reader allocates per row, temporaries included.
    rows
        Rows per block; None chooses them so that a block's numbers take around 32 MB, or 512 MB off the CPU.
    share
        Divisor of the block size, if memory is short.
    """

    batch: Batch
    floats_per_row: int
    rows: int | None = None
    share: int = 1

    def __post_init__(self) -> None:
        check_real("x", self.batch.x)
        info = self.xp.__array_namespace_info__()
        if "float64" not in info.dtypes(device=self.device, kind="real floating"):
            raise TypeError(
                f"sums are taken in float64, which device {self.device} does not offer: move x to one that does "
                "(JAX offers float64 on every device once jax_enable_x64 is set)"
            )

    @cached_property
    def xp(self) -> Any:
        """The array API namespace of x, in which everything is computed."""
        return namespace_of("x", self.batch.x)

    @cached_property
    def device(self) -> Any:
        """The device of x, on which everything is computed."""
        return array_api_compat.device(self.batch.x)

    @property
    def height(self) -> int:
        """Number of rows of a block."""
        block_bytes = BLOCK_BYTES if "cpu" in str(self.device).lower() else ACCELERATOR_BLOCK_BYTES
        return max(1, (self.rows or block_bytes // (8 * max(1, self.floats_per_row))) // self.share)

    def __iter__(self) -> Iterator[Block]:
        for start in range(self.batch.start, self.batch.stop, self.height):
            yield Block(self, start, min(start + self.height, self.batch.stop))

    def zeros(self, *shape: int) -> Array:
        """Return zeros to add a sum to."""
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self.device)

    def from_host(self, values: npt.ArrayLike, dtype: str = "float64") -> Array:
        """Return numbers of the host as an array beside x."""
        # A fresh copy, since torch reads neither backward strides nor foreign byte orders, and warns of read-only ones.
        return self.xp.asarray(np.array(values, dtype=dtype, order="C"), device=self.device)


@dataclass(frozen=True)
class Members:
    """The class and the weight of each row of a block."""

    xp: Any
    codes: Array  # (n,) int64
    onehot: Array  # (n, k) float64, one 1 in each row
    weight: Array | None  # (n,) float64; None where every row counts once

    @cached_property
    def weighted(self) -> Array:
        """The 0/1 columns with each row's weight in place of its 1, (n, k)."""
        return self.onehot if self.weight is None else self.onehot * self.weight[:, None]

    def weights(self) -> Array:
        """Return the weight of each class, (k,)."""
        return self.xp.sum(self.weighted, axis=0)

    def sums(self, values: Array) -> Array:
        """Return the weighted sum of the rows of each class, (k, d)."""
        return self.xp.matrix_transpose(self.weighted) @ values


@dataclass(frozen=True)
class Block:
    """Rows ``start`` to ``stop`` of the batch's arrays; each reader converts and checks what it returns."""

    blocks: Blocks
    start: int
    stop: int

    @property
    def xp(self) -> Any:
        """The namespace of every array read here."""
        return self.blocks.xp

    def features(self) -> Array:
        """Return x, (n, d), every entry finite."""
        return self._finite("x")

    def observed(self) -> Array:
        """Return x, (n, d), every entry finite or NaN, which is a missing cell."""
        x = self._real("x")
        self._refuse(self.xp.isinf(x), lambda at: errors.NonFiniteError("x", self._row(at), float(x[at])))
        return x

    def observed_categories(self, sizes: list[int]) -> Array:
        """Return x, (n, d), every entry a category of its feature, or NaN or a negative whole number: missing."""
        x = self._real("x")
        whole = (x == self.xp.floor(x)) & (x > float("-inf")) & (x < self.blocks.from_host(sizes))
        self._refuse(
            ~(whole | self.xp.isnan(x)),
            lambda at: errors.bad_category(self._row(at), float(x[at]), sizes[at[1]]),
        )
        return x

    def cells(self, missing: bool) -> tuple[Array, Array | None]:
        """Return x, (n, d), every entry finite, and where a cell is known, (n, d) bool; None for everywhere.

        With ``missing``, x may be NaN: then it is returned as 0, and is not known.
        """
        if not missing:
            return self.features(), None
        x = self._real("x")
        if self.xp.isfinite(self.xp.sum(x)):
            return x, None
        self._refuse(self.xp.isinf(x), lambda at: errors.NonFiniteError("x", self._row(at), float(x[at])))
        known = ~self.xp.isnan(x)
        return (x, None) if self.xp.all(known) else (self.xp.where(known, x, self.xp.zeros_like(x)), known)

    def counts(self, missing: bool) -> tuple[Array, Array | None]:
        """Return x and where it is known, as :meth:`cells` does; no entry is negative."""
        x, known = self.cells(missing)
        self._refuse(x < 0, lambda at: errors.NegativeCountError("x", self._row(at), float(x[at])))
        return x, known

    def categories(self, sizes: tuple[int, ...], missing: bool) -> Array:
        """Return x, (n, d), every entry a whole number below its feature's size; only missing cells are negative."""
        x, known = self.cells(missing)
        valid = (x < self.blocks.from_host(sizes)) & (x == self.xp.floor(x))
        if not missing:
            valid = valid & (x >= 0)
        self._refuse(~valid, lambda at: errors.bad_category(self._row(at), float(x[at]), sizes[at[1]]))
        return x if known is None else self.xp.where(known, x, -self.xp.ones_like(x))

    def scores(self) -> Array:
        """Return x, (n, k), where it holds scores: every entry finite or -inf."""
        x = self._real("x")
        self._refuse(~(x < float("inf")), lambda at: errors.bad_score(self._row(at), float(x[at])))
        return x

    def check_overflow(self, scores: Array) -> None:
        """Raise where scores of the block's rows, (n, k), are not finite though the rows are."""
        self._refuse(~self.xp.isfinite(scores), lambda at: errors.ScoreOverflowError(self._row(at)[0]))

    def targets(self) -> Array:
        """Return y, (n,) or (n, t), every entry finite."""
        return self._finite("y")

    def offset(self) -> Array | None:
        """Return the offset, (n, 1) or (n, t), every entry finite, if there is one."""
        if self.blocks.batch.offset is None:
            return None
        offset = self._finite("offset")
        return offset if offset.ndim == 2 else offset[:, None]

    def weight(self) -> Array | None:
        """Return the weights, (n,), every one finite and not negative, if there are any."""
        if self.blocks.batch.weight is None:
            return None
        weight = self._real("weight")
        valid = (weight >= 0) & (weight < float("inf"))
        self._refuse(~valid, lambda at: errors.bad_weight(self._row(at)[0], float(weight[at])))
        return weight

    def codes(self, classes: int) -> Array:
        """Return the class codes in y, (n,) int64, every one of them 0 to classes - 1."""
        y = self.blocks.batch.y
        if not namespace_of("y", y).isdtype(y.dtype, ("integral", "bool")):
            raise errors.no_codes(y.dtype)
        codes = self._column("y", "int64")
        # The message reads y itself: uint64 beyond int64 wraps around to a negative code.
        self._refuse(
            (codes < 0) | (codes >= classes),
            lambda at: errors.bad_code(self._row(at)[0], int(to_host(y[self._row(at)])), classes),
        )
        return codes

    def members(self, classes: int) -> Members:
        """Return the class of each row as y codes it; where there is one class, y may be missing."""
        return self.everyone() if self.blocks.batch.y is None else self._members(self.codes(classes), classes)

    def everyone(self) -> Members:
        """Return all rows as members of one class, whatever y holds."""
        rows = self.stop - self.start
        return self._members(self.xp.zeros((rows,), dtype=self.xp.int64, device=self.blocks.device), 1)

    def _members(self, codes: Array, classes: int) -> Members:
        xp = self.xp
        every = xp.arange(classes, dtype=xp.int64, device=self.blocks.device)
        return Members(xp, codes, xp.astype(codes[:, None] == every[None, :], xp.float64), self.weight())

    def _finite(self, name: str) -> Array:
        """Return an array of the batch as float64, every entry finite."""
        values = self._real(name)
        # NaN and infinity propagate through a sum, so one number is checked first; finite rows whose sum overflows pass
        # the full check.
        if not self.xp.isfinite(self.xp.sum(values)):
            self._refuse(
                ~self.xp.isfinite(values), lambda at: errors.NonFiniteError(name, self._row(at), float(values[at]))
            )
        return values

    def _real(self, name: str) -> Array:
        """Return an array of the batch as float64."""
        check_real(name, getattr(self.blocks.batch, name))
        return self._column(name, "float64")

    def _column(self, name: str, dtype: str) -> Array:
        """Return the block's rows of an array, in the library and on the device of x."""
        xp = self.xp
        whole = getattr(self.blocks.batch, name)
        values = whole[self.start : self.stop, ...]
        if namespace_of(name, whole) is not xp:
            return self.blocks.from_host(to_host(values), dtype)
        values = array_api_compat.to_device(_plain(values), self.blocks.device)
        return xp.astype(values, getattr(xp, dtype), copy=False)

    def _refuse(self, mask: Array, complaint: Callable[[tuple[int, ...]], Exception]) -> None:
        """Raise the complaint about the first place, row by row, where the mask is true."""
        if self.xp.any(mask):
            raise complaint(tuple(int(index) for index in np.argwhere(to_host(mask))[0]))

    def _row(self, at: tuple[int, ...]) -> tuple[int, ...]:
        """Return the position in the whole array of a position in this block."""
        return (self.start + at[0], *at[1:])

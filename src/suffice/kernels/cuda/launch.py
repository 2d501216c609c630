"""Launching fused kernels: tiles of rows, persistent programs, partial sums added in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import triton

from suffice.kernels.array_blocks import Array
from suffice.kernels.cuda import scatter as fused_scatter
from suffice.kernels.cuda import sums as per_class
from suffice.kernels.cuda.rows import DeviceRows, interprets

#: Up to this number of classes, each has its own sums in registers; more are summed by matrix products.
FEW = 4
#: The widest rows whose products with each other, or with several columns, one program holds whole.
WIDEST_TILE = 128


class Tile(NamedTuple):
    """Tile that a program reads at a time, and its launch parameters."""

    cells: int  # rows times columns
    warps: int
    stages: int  # loads ahead
    programs: int  # to a multiprocessor
    registers: int | None = None  # per thread, at most: with fewer, more programs run at a time

    def ahead(self, rows: DeviceRows) -> int:
        """Return the number of pipeline stages: 1 if cells are loaded one by one, which is faster then."""
        return self.stages if rows.unit == 4 else 1


# Measured on an H200, with rows of 32, 64 and 128 columns.
FEW_TILES = {1: Tile(4096, 4, 3, 4), 2: Tile(8192, 8, 3, 2), 4: Tile(2048, 4, 3, 3)}
MANY_TILE = Tile(2048, 2, 3, 8)
SCATTER_TILES = {
    16: Tile(512, 1, 3, 12),
    32: Tile(1024, 1, 3, 8, 192),
    64: Tile(2048, 2, 2, 4),
    128: Tile(4096, 8, 3, 2),
}
WEIGHT_ROWS = 4096


def power(number: int, least: int = 1) -> int:
    """Return the power of two at or above a number."""
    return max(least, int(triton.next_power_of_2(max(number, 1))))


class Grid(NamedTuple):
    """Partition of rows: programs that read whole tiles, and one that reads the remaining rows."""

    data: DeviceRows
    tile: Tile
    programs: int
    height: int  # rows of a tile
    fold: int  # stride of the rows of a tile in one thread
    whole: int  # number of rows in whole tiles

    @classmethod
    def of(cls, rows: DeviceRows, tile: Tile, columns: int, numbers: int, least: int = 1) -> Grid:
        """Return the grid over rows for tiles of this many columns; each program stores this many numbers."""
        height = max(4 * tile.cells // (columns * max(rows.x.element_size(), 4)), least)
        fold = max(height * columns // (tile.warps * 32 * 4), 1)
        programs = max(min(rows.programs * tile.programs, 2**27 // max(numbers, 1)), 1)
        whole = rows.rows - rows.rows % height
        if whole // height < programs:  # few rows are not worth a second kernel
            programs, whole = max(min(programs, -(-rows.rows // height)), 1), 0
        return cls(rows, tile, programs, height, min(fold, height), whole)

    @property
    def parts(self) -> int:
        """Number of partial sums."""
        return self.programs + (0 < self.whole < self.data.rows)

    def launch(self, kernel: Callable[..., Any], strips: int, **arguments: Any) -> None:
        """Run a kernel over whole tiles, and over the remaining rows; x, its shape and the tile are passed to all."""
        x, unit = self.data.x, self.data.unit
        shared: dict[str, Any] = {
            "x": x,
            "units": x.stride(0) // unit,
            "width": self.data.features // unit,
            "UNIT": unit,
            "ROWS": self.height,
            "STAGES": self.tile.ahead(self.data),
            "num_warps": self.tile.warps,
            "maxnreg": self.tile.registers,
            **arguments,
        }
        if self.whole:
            kernel[(self.programs, strips)](start=0, rows=self.whole, slot=0, MASKED=False, **shared)  # type: ignore[index]
        if self.whole < self.data.rows:
            programs, slot = (1, self.programs) if self.whole else (self.programs, 0)
            kernel[(programs, strips)](  # type: ignore[index]
                start=self.whole, rows=self.data.rows - self.whole, slot=slot, MASKED=True, **shared
            )


class ClassSums(NamedTuple):
    """Sums of each class."""

    faults: Array  # number of invalid cells, codes and weights
    weights: Array  # (k,)
    sums: Array  # (k, d)
    squares: Array  # (k, d), or (0,)


def class_sums(
    rows: DeviceRows,
    what: int,
    classes: int,
    reference: Array | None,
    weight: Array | None,
    threshold: float = 0.0,
    labelled: bool = True,
) -> ClassSums:
    """Return sums over the classes: of x, of x above a threshold, of x and its square about references, (1 or k, d)."""
    few, moments = classes <= FEW, what == per_class.MOMENTS
    count = power(classes) if few else power(classes, 16)
    tile = FEW_TILES[count] if few else MANY_TILE
    columns = min(power(rows.features, 4 if few else 16), 128)
    grid = Grid.of(rows, tile, columns, count * rows.features, 1 if few else 16)
    strips = triton.cdiv(rows.features, columns)
    weights, sums = rows.empty(grid.parts, count), rows.empty(grid.parts, count, rows.features)
    squares = rows.empty(*sums.shape) if moments else rows.empty(0)
    faults = weights.new_empty((grid.parts, strips), dtype=rows.torch.int64)
    codes = rows.codes if labelled else None
    grid.launch(
        per_class.sum_few if few else per_class.sum_many,
        strips,
        y=codes,
        weight=weight,
        reference=reference,
        threshold=threshold,
        weights=weights,
        sums=sums,
        squares=squares,
        faults=faults,
        classes=classes,
        WHAT=what,
        NEAR=reference is not None and reference.shape[0] == 1,
        HAS_Y=codes is not None,
        HAS_WEIGHT=weight is not None,
        WHOLE=rows.features % columns == 0,
        CLASSES=count,
        COLUMNS=columns,
        FOLD=grid.fold,
    )
    total = squares.sum(0)[:classes] if moments else squares
    return ClassSums(faults.sum(), weights.sum(0)[:classes], sums.sum(0)[:classes], total)


def class_weights(rows: DeviceRows, classes: int) -> ClassSums:
    """Return the weight of each class."""
    count = power(classes, 2)
    programs = rows.programs * 4
    weights = rows.empty(programs, count)
    faults = weights.new_empty(programs, dtype=rows.torch.int64)
    per_class.weigh_classes[(programs,)](
        rows.codes,
        rows.weight,
        weights,
        faults,
        rows.rows,
        classes,
        HAS_Y=rows.codes is not None,
        HAS_WEIGHT=rows.weight is not None,
        CLASSES=count,
        ROWS=max(WEIGHT_ROWS // count, 128),
        num_warps=4,
    )
    return ClassSums(faults.sum(), weights.sum(0)[:classes], rows.empty(0), rows.empty(0))


class Beside(NamedTuple):
    """Sums that are computed together with the products of columns."""

    sums: int  # how many there are
    kind: int  # 0: of each class; 1: of all rows; 2: of all rows, and products with targets
    aim: Array | None = None  # (t,), references of the targets


class Scatter(NamedTuple):
    """Products of columns, and the sums beside them."""

    faults: Array
    weights: Array  # (k,) of the classes; or the sums of 1 and each target, (1 + t,)
    squares: Array  # (1 + t,), of 1 and each target
    sums: Array  # (k, d) of the classes; or (1 + t, d), products with 1 and each target
    products: Array  # (d, d)


def scatter(
    rows: DeviceRows, reference: Array, classes: int, beside: Beside, weight: Array | None, only: int = -1
) -> Scatter:
    """Return the products of up to ``WIDEST_TILE`` columns about references, and the sums beside them."""
    columns, features = power(rows.features, 16), rows.features
    tile, count = SCATTER_TILES[columns], power(beside.sums) if beside.sums else 0
    grid = Grid.of(rows, tile, columns, features * features, 16)
    weights, squares = rows.empty(grid.parts, count), rows.empty(grid.parts, count)
    sums, products = rows.empty(grid.parts, count, features), rows.empty(grid.parts, features, features)
    faults = sums.new_empty(grid.parts, dtype=rows.torch.int64)
    y = None if beside.kind == 1 else rows.codes if beside.kind == 0 else rows.targets
    grid.launch(
        fused_scatter.scatter,
        1,
        y=y,
        weight=weight,
        reference=reference,
        aim=beside.aim,
        weights=weights,
        squares=squares,
        sums=sums,
        products=products,
        faults=faults,
        classes=classes,
        targets=beside.sums - 1,
        target_row=y.stride(0) if beside.kind == 2 and y is not None else 0,
        target_column=y.stride(1) if beside.kind == 2 and y is not None else 0,
        only=only,
        NEAR=reference.shape[0] == 1,
        HAS_Y=y is not None,
        HAS_WEIGHT=weight is not None,
        TARGETS=beside.kind,
        WHOLE=features == columns,
        SUMS=count,
        PARTIAL=weight is not None or only >= 0,
        COLUMNS=columns,
        FOLD=grid.fold,
        DEBUG=interprets(),
    )
    kept = slice(beside.sums)
    return Scatter(faults.sum(), weights.sum(0)[kept], squares.sum(0)[kept], sums.sum(0)[kept], products.sum(0))


def slabs(rows: DeviceRows, numbers_per_row: int) -> Iterator[DeviceRows]:
    """Yield the rows in slabs whose float64 numbers take around half a gigabyte."""
    height = max(2**26 // max(numbers_per_row, 1), 1)
    batch = rows.batch
    for start in range(batch.start, batch.stop, height):
        stop = min(start + height, batch.stop)
        yield DeviceRows(replace(batch, start=start, stop=stop), rows.x[start - batch.start : stop - batch.start])


def fetched(*arrays: Array) -> list[Any]:
    """Return sums as NumPy arrays, in one transfer."""
    import torch

    flat = torch.cat([array.reshape(-1).to(torch.float64) for array in arrays]).cpu().numpy()
    parts, start = [], 0
    for array in arrays:
        parts.append(flat[start : start + array.numel()].reshape(tuple(array.shape)))
        start += array.numel()
    return parts

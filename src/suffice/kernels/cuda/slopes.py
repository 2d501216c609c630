"""Launches of the kernels that sum log-likelihoods."""

from __future__ import annotations

from typing import Any, NamedTuple

import triton

from suffice.kernels.array_blocks import Array
from suffice.kernels.cuda import curve as fused_curve
from suffice.kernels.cuda import linear as fused_linear
from suffice.kernels.cuda import softmax as fused_softmax
from suffice.kernels.cuda.launch import FEW, Grid, Tile, power
from suffice.kernels.cuda.rows import DeviceRows

__all__ = ["FEW", "WIDEST_ROW", "Slopes", "gather", "predict", "slope_few", "slope_one", "slope_softmax"]

#: The widest rows that one program holds whole, to sum their curves.
WIDEST_ROW = 2048

# Measured on an H200, with rows of 32, 64 and 128 columns.
SLOPE_TILE = Tile(4096, 4, 3, 3)
SEVERAL_TILE = Tile(2048, 2, 3, 4)
SOFTMAX_TILES = {
    16: Tile(1024, 2, 3, 6, 168),
    32: Tile(2048, 2, 3, 6, 168),
    64: Tile(4096, 4, 1, 3),
    128: Tile(4096, 4, 1, 3),
}
LINEAR_TILE = Tile(4096, 4, 2, 3)


class Slopes(NamedTuple):
    """Value and gradient of a log-likelihood."""

    faults: Array
    weight: Array
    value: Array
    levels: Array  # (t,), the slopes by the intercepts
    gradient: Array  # (d, t)


def slope_one(rows: DeviceRows, response: int, theta: Array, level: Array, bends: Array | None = None) -> Slopes:
    """Return the slopes of rows with one predictor, writing their curvatures, (n,); theta is (d,), and level (1,)."""
    columns = power(rows.features, 4)
    tile = SLOPE_TILE
    grid = Grid.of(rows, tile, columns, rows.features)
    facts, gradient = rows.empty(grid.parts, 4), rows.empty(grid.parts, rows.features)
    grid.launch(
        fused_curve.slope_one,
        1,
        y=rows.targets,
        weight=rows.weight,
        offset=rows.offset,
        theta=theta,
        level=level,
        facts=facts,
        gradient=gradient,
        bends=bends,
        RESPONSE=response,
        HAS_WEIGHT=rows.weight is not None,
        HAS_OFFSET=rows.offset is not None,
        HAS_BENDS=bends is not None,
        WHOLE=rows.features == columns,
        COLUMNS=columns,
        FOLD=grid.fold,
    )
    weight, value, level_slope, faults = facts.sum(0)
    return Slopes(faults, weight, value, level_slope[None], gradient.sum(0)[:, None])


def _class_arguments(rows: DeviceRows, theta: Array, level: Array, columns: int) -> dict[str, Any]:
    """Return the arguments that both kernels for rows of several classes take; theta is (d, t)."""
    offset = rows.offset
    return {
        "y": rows.codes,
        "weight": rows.weight,
        "offset": offset,
        "theta": theta,
        "level": level,
        "offset_row": 0 if offset is None else offset.stride(0),
        "offset_column": 1 if offset is not None and offset.shape[1] > 1 else 0,
        "predictors": int(theta.shape[1]),
        "HAS_WEIGHT": rows.weight is not None,
        "HAS_OFFSET": offset is not None,
        "WHOLE": rows.features == columns,
    }


def slope_few(rows: DeviceRows, theta: Array, level: Array) -> Slopes:
    """Return the slopes of rows of up to ``FEW`` + 1 classes; theta is (d, t)."""
    columns, predictors = power(rows.features, 8), int(theta.shape[1])
    tile = SEVERAL_TILE
    grid = Grid.of(rows, tile, columns, 4 * rows.features)
    facts, gradient = rows.empty(grid.parts, 7), rows.empty(grid.parts, 4, rows.features)
    grid.launch(
        fused_softmax.slope_few,
        1,
        **_class_arguments(rows, theta, level, columns),
        facts=facts,
        gradient=gradient,
        MORE=predictors > 2,
        HALF=columns // 2,
        FOLD=max(grid.fold // 2, 1),
    )
    weight, value, faults, *levels = facts.sum(0)
    return Slopes(faults, weight, value, rows.torch.stack(levels)[:predictors], gradient.sum(0)[:predictors].T)


def slope_softmax(rows: DeviceRows, theta: Array, level: Array) -> Slopes:
    """Return the slopes of rows of several classes; theta is (d, t)."""
    columns, predictors = power(rows.features, 16), int(theta.shape[1])
    tile, count = SOFTMAX_TILES[columns], power(predictors + 1, 8)
    grid = Grid.of(rows, tile, columns, rows.features * count, 16)
    facts, levels = rows.empty(grid.parts, 3), rows.empty(grid.parts, count)
    gradient = rows.empty(grid.parts, rows.features, count)
    grid.launch(
        fused_softmax.slope_softmax,
        1,
        **_class_arguments(rows, theta, level, columns),
        facts=facts,
        slopes=levels,
        gradient=gradient,
        COLUMNS=columns,
        PREDICTORS=count,
    )
    weight, value, faults = facts.sum(0)
    return Slopes(faults, weight, value, levels.sum(0)[:predictors], gradient.sum(0)[:, :predictors])


def predict(rows: DeviceRows, theta: Array, level: Array) -> Array:
    """Return the predictors x theta + level, (n, t)."""
    tile, columns, count = LINEAR_TILE, min(power(rows.features, 16), 64), int(theta.shape[1])
    predictors = rows.empty(rows.rows, count)
    fused_linear.predict[(rows.programs * tile.programs,)](
        rows.x,
        theta,
        level,
        predictors,
        rows.x.stride(0),
        rows.rows,
        rows.features,
        count,
        ROWS=max(tile.cells // columns, 16),
        COLUMNS=columns,
        PREDICTORS=power(count, 8),
        num_warps=tile.warps,
        maxnreg=tile.registers,
    )
    return predictors


def gather(rows: DeviceRows, slopes: Array) -> Array:
    """Return x' slopes, (d, t)."""
    tile, columns, count = LINEAR_TILE, min(power(rows.features, 16), 64), int(slopes.shape[1])
    padded, strips = power(count, 16), triton.cdiv(rows.features, columns)
    programs = max(min(rows.programs * tile.programs, 2**27 // (padded * rows.features)), 1)
    sums = rows.empty(programs, padded, rows.features)
    fused_linear.gather[(programs, strips)](
        rows.x,
        slopes,
        sums,
        rows.x.stride(0),
        rows.rows,
        rows.features,
        count,
        ROWS=max(tile.cells // columns, 16),
        COLUMNS=columns,
        PREDICTORS=padded,
        STAGES=tile.ahead(rows),
        num_warps=tile.warps,
        maxnreg=tile.registers,
    )
    return sums.sum(0)[:count].T

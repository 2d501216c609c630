"""Products of the rows with a few columns, and with their slopes: Triton kernels for CUDA, in float64."""

# mypy: ignore-errors
# Triton compiles these functions: their bodies are Triton, not Python.

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def predict(
    x,
    theta,  # (d, t) float64
    level,  # (t,) float64
    predictors,  # out: (n, t) float64
    stride,
    rows,
    features,
    count,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    PREDICTORS: tl.constexpr,
):
    """Write x theta + level, row by row."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    predictor = tl.arange(0, PREDICTORS)
    real = predictor < count
    start = tl.load(level + predictor, mask=real, other=0.0)
    for tile in range(program, tl.cdiv(rows, ROWS), programs):
        row = tile * ROWS + tl.arange(0, ROWS).to(tl.int64)
        inside = row < rows
        z = tl.zeros((ROWS, PREDICTORS), tl.float64) + start[None, :]
        for first in range(0, features, COLUMNS):
            column = first + tl.arange(0, COLUMNS)
            known = column < features
            cell = tl.load(
                x + row[:, None] * stride + column[None, :], mask=inside[:, None] & known[None, :], other=0.0
            )
            coef = theta + column[:, None] * count + predictor[None, :]
            coef = tl.load(coef, mask=known[:, None] & real[None, :], other=0.0)
            z = tl.dot(cell.to(tl.float64), coef, z, out_dtype=tl.float64)
        out = predictors + row[:, None] * count + predictor[None, :]
        tl.store(out, z, mask=inside[:, None] & real[None, :])


@triton.jit
def gather(
    x,
    slopes,  # (n, t) float64
    sums,  # out: (programs, T, d)
    stride,
    rows,
    features,
    count,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    PREDICTORS: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Sum the products of the columns of x with slopes."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    known = column < features
    predictor = tl.arange(0, PREDICTORS)
    real = predictor < count
    total = tl.zeros((PREDICTORS, COLUMNS), tl.float64)
    for tile in tl.range(program, tl.cdiv(rows, ROWS), programs, num_stages=STAGES):
        row = tile * ROWS + tl.arange(0, ROWS).to(tl.int64)
        inside = row < rows
        cell = tl.load(x + row[:, None] * stride + column[None, :], mask=inside[:, None] & known[None, :], other=0.0)
        slope = slopes + row[None, :] * count + predictor[:, None]
        slope = tl.load(slope, mask=real[:, None] & inside[None, :], other=0.0)
        total = tl.dot(slope, cell.to(tl.float64), total, out_dtype=tl.float64)
    place = (program * PREDICTORS + predictor).to(tl.int64)[:, None] * features + column[None, :]
    tl.store(sums + place, total, mask=known[None, :])

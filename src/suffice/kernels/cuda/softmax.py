"""Value and gradient of a softmax regression in one read of the rows: Triton kernels for CUDA, in float64."""

# mypy: ignore-errors
# Triton compiles these functions: their bodies are Triton, not Python.

from __future__ import annotations

import triton
import triton.language as tl

from suffice.kernels.cuda.curve import exp_down, within
from suffice.kernels.cuda.sums import folded, read_cells, read_codes, read_weights


@triton.jit
def predict(number, near, far, theta, level, left_column, right_column, inner, features, predictors):
    """Return one predictor of each row; one that there is not is at its least."""
    real = number < predictors
    left = tl.load(theta + left_column * predictors + number, mask=(left_column < features) & real, other=0.0)
    right = tl.load(theta + right_column * predictors + number, mask=(right_column < features) & real, other=0.0)
    z = tl.sum(near * left[None, :] + far * right[None, :], axis=1) + tl.load(level + number, mask=real, other=-1e100)
    return tl.gather(z, inner, 0)


@triton.jit
def shifted(z, number, offset, first, inner, left, predictors, offset_row, offset_column, HAS_OFFSET: tl.constexpr):
    """Return a predictor with its offset, clipped to 1e100."""
    if HAS_OFFSET:
        place = offset + (first + inner) * offset_row + number * offset_column
        z += tl.load(place, mask=(inner < left) & (number < predictors), other=0.0).to(tl.float64)
    return within(z)


@triton.jit
def add_slope(total, left, right, slope, near, far, inner, FOLD: tl.constexpr):
    """Add the slopes of rows, and their products with both halves of the rows."""
    each = tl.gather(slope, inner, 0)[:, None]
    return total + slope, left + folded(near * each, FOLD), right + folded(far * each, FOLD)


@triton.jit
def store_slope(out, gradient, total, left, right, left_column, right_column, features):
    """Write what one program found of a predictor."""
    tl.store(out, tl.sum(total, axis=0))
    tl.store(gradient + left_column, tl.sum(left, axis=0), mask=left_column < features)
    tl.store(gradient + right_column, tl.sum(right, axis=0), mask=right_column < features)


@triton.jit(do_not_specialize=["start", "rows", "slot"])
def slope_few(
    x,
    y,
    weight,
    offset,  # (n, t) or (n, 1)
    theta,  # (d, t) float64
    level,  # (t,), the intercepts
    facts,  # out: (programs, 7): weight, value, faults, sums of slopes
    gradient,  # out: (programs, 4, d)
    units,
    offset_row,
    offset_column,
    start,
    rows,
    slot,
    width,
    predictors,
    HAS_WEIGHT: tl.constexpr,
    HAS_OFFSET: tl.constexpr,
    MASKED: tl.constexpr,
    WHOLE: tl.constexpr,
    UNIT: tl.constexpr,
    MORE: tl.constexpr,  # whether there are more than two predictors
    ROWS: tl.constexpr,
    HALF: tl.constexpr,  # rows are read in two halves: fewer threads share a row, which shortens reductions
    FOLD: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Sum the curves of rows of up to five classes, the last of which has no predictor."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    stride, features = units * UNIT, width * UNIT
    near_at, far_at, inner = tl.arange(0, HALF), HALF + tl.arange(0, HALF), tl.arange(0, ROWS)
    total, values = tl.zeros((ROWS,), tl.float64), tl.zeros((ROWS,), tl.float64)
    wrong = tl.zeros((ROWS,), tl.int32)
    g0 = tl.zeros((ROWS // FOLD, HALF), tl.float64)
    g1, g2, g3, h0, h1, h2, h3 = g0, g0, g0, g0, g0, g0, g0
    t0, t1, t2, t3 = values, values, values, values
    for tile in tl.range(program, tl.cdiv(rows, ROWS), programs, num_stages=STAGES):
        first, left = start + tl.cast(tile, tl.int64) * ROWS, rows - tile * ROWS
        near = read_cells(x, first, inner, near_at, left, features, stride, MASKED, WHOLE).to(tl.float64)
        far = read_cells(x, first, inner, far_at, left, features, stride, MASKED, WHOLE).to(tl.float64)
        code, bad = read_codes(y, first, inner, left, predictors + 1, MASKED, True)
        mass, odd = read_weights(weight, first, inner, left, MASKED, HAS_WEIGHT)
        z0 = predict(0, near, far, theta, level, near_at, far_at, inner, features, predictors)
        z1 = predict(1, near, far, theta, level, near_at, far_at, inner, features, predictors)
        z0 = shifted(z0, 0, offset, first, inner, left, predictors, offset_row, offset_column, HAS_OFFSET)
        z1 = shifted(z1, 1, offset, first, inner, left, predictors, offset_row, offset_column, HAS_OFFSET)
        top = tl.maximum(tl.maximum(z0, z1), 0.0)
        own = tl.where(code == 0, z0, tl.where((code == 1) & (predictors > 1), z1, 0.0))
        if MORE:
            z2 = predict(2, near, far, theta, level, near_at, far_at, inner, features, predictors)
            z3 = predict(3, near, far, theta, level, near_at, far_at, inner, features, predictors)
            z2 = shifted(z2, 2, offset, first, inner, left, predictors, offset_row, offset_column, HAS_OFFSET)
            z3 = shifted(z3, 3, offset, first, inner, left, predictors, offset_row, offset_column, HAS_OFFSET)
            top = tl.maximum(top, tl.maximum(z2, z3))
            values += (z2 + z3) * 0.0
            own = tl.where(code == 2, z2, tl.where((code == 3) & (predictors > 3), z3, own))
        e0, e1 = exp_down(z0 - top), exp_down(z1 - top)  # exponents <= 0: cannot overflow
        whole = exp_down(-top) + e0 + e1
        if MORE:
            e2, e3 = exp_down(z2 - top), exp_down(z3 - top)
            whole += e2 + e3
        share = mass / whole
        total += mass
        values += mass * (own - top - tl.log(whole)) + (z0 + z1) * 0.0  # NaN in an offset stays one
        wrong += (bad | odd).to(tl.int32)
        t0, g0, h0 = add_slope(t0, g0, h0, tl.where(code == 0, mass, 0.0) - e0 * share, near, far, inner, FOLD)
        t1, g1, h1 = add_slope(t1, g1, h1, tl.where(code == 1, mass, 0.0) - e1 * share, near, far, inner, FOLD)
        if MORE:
            t2, g2, h2 = add_slope(t2, g2, h2, tl.where(code == 2, mass, 0.0) - e2 * share, near, far, inner, FOLD)
            t3, g3, h3 = add_slope(t3, g3, h3, tl.where(code == 3, mass, 0.0) - e3 * share, near, far, inner, FOLD)
    out = facts + (slot + program) * 7
    tl.store(out, tl.sum(total, axis=0))
    tl.store(out + 1, tl.sum(values, axis=0))
    tl.store(out + 2, tl.sum(wrong, axis=0).to(tl.float64))
    at = gradient + tl.cast(slot + program, tl.int64) * 4 * features
    store_slope(out + 3, at, t0, g0, h0, near_at, far_at, features)
    store_slope(out + 4, at + features, t1, g1, h1, near_at, far_at, features)
    store_slope(out + 5, at + 2 * features, t2, g2, h2, near_at, far_at, features)
    store_slope(out + 6, at + 3 * features, t3, g3, h3, near_at, far_at, features)


@triton.jit(do_not_specialize=["start", "rows", "slot"])
def slope_softmax(
    x,
    y,
    weight,
    offset,  # (n, t) or (n, 1)
    theta,  # (d, t) float64
    level,  # (t,), the intercepts
    facts,  # out: (programs, 3): weight, value, faults
    slopes,  # out: (programs, T)
    gradient,  # out: (programs, d, T)
    units,
    offset_row,
    offset_column,
    start,
    rows,
    slot,
    width,
    predictors,
    HAS_WEIGHT: tl.constexpr,
    HAS_OFFSET: tl.constexpr,
    MASKED: tl.constexpr,
    WHOLE: tl.constexpr,
    UNIT: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    PREDICTORS: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Sum the curves of rows of several classes, the last of which has no predictor."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    stride, features = units * UNIT, width * UNIT
    column, inner, predictor = tl.arange(0, COLUMNS), tl.arange(0, ROWS), tl.arange(0, PREDICTORS)
    known, real = column < features, predictor < predictors
    coef = theta + column[:, None] * predictors + predictor[None, :]
    coef = tl.load(coef, mask=known[:, None] & real[None, :], other=0.0)
    constant = tl.load(level + predictor, mask=real, other=-1e100)
    constant = tl.where(predictor == predictors, 0.0, constant)  # the last class is pinned at 0; there are no others
    total, values = tl.zeros((ROWS,), tl.float64), tl.zeros((ROWS,), tl.float64)
    wrong = tl.zeros((ROWS,), tl.int32)
    sums = tl.zeros((ROWS, PREDICTORS), tl.float64)
    steps = tl.zeros((COLUMNS, PREDICTORS), tl.float64)
    for tile in tl.range(program, tl.cdiv(rows, ROWS), programs, num_stages=STAGES):
        first, left = start + tl.cast(tile, tl.int64) * ROWS, rows - tile * ROWS
        cell = read_cells(x, first, inner, column, left, features, stride, MASKED, WHOLE).to(tl.float64)
        code, bad = read_codes(y, first, inner, left, predictors + 1, MASKED, True)
        mass, odd = read_weights(weight, first, inner, left, MASKED, HAS_WEIGHT)
        z = tl.dot(cell, coef, out_dtype=tl.float64) + constant[None, :]
        if HAS_OFFSET:
            at = offset + (first + inner)[:, None] * offset_row + predictor[None, :] * offset_column
            more = tl.load(at, mask=(inner < left)[:, None] & real[None, :], other=0.0).to(tl.float64)
            wrong += tl.sum((more * 0.0 != 0.0).to(tl.int32), axis=1)
            z += more
        z = tl.minimum(tl.maximum(z, -1e100), 1e100)
        top = tl.max(z, axis=1)
        e = exp_down(z - top[:, None])  # exponents <= 0: cannot overflow
        whole = tl.sum(e, axis=1)
        chosen = code[:, None] == predictor[None, :]
        value = tl.gather(tl.sum(tl.where(chosen, z - top[:, None], 0.0), axis=1), inner, 0)
        share = tl.gather(whole, inner, 0)
        value -= tl.log(share)
        slope = tl.where(chosen, mass[:, None], 0.0) - e * tl.gather(mass / share, inner, 0)[:, None]
        total += mass
        values += mass * value
        wrong += (bad | odd).to(tl.int32)
        sums += slope
        steps = tl.dot(tl.trans(cell), slope, steps, out_dtype=tl.float64)
    out = facts + (slot + program) * 3
    tl.store(out, tl.sum(total, axis=0))
    tl.store(out + 1, tl.sum(values, axis=0))
    tl.store(out + 2, tl.sum(wrong, axis=0).to(tl.float64))
    tl.store(slopes + (slot + program) * PREDICTORS + predictor, tl.sum(sums, axis=0))
    place = (tl.cast(slot + program, tl.int64) * features + column)[:, None] * PREDICTORS + predictor[None, :]
    tl.store(gradient + place, steps, mask=known[:, None])

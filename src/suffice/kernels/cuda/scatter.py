"""Products of columns in one read of the rows: a Triton kernel for CUDA, on tensor cores for float64."""

# mypy: ignore-errors
# Triton compiles these functions: their bodies are Triton, not Python.

from __future__ import annotations

import triton
import triton.language as tl

from suffice.kernels.cuda.sums import (
    centred,
    common_reference,
    folded,
    read_cells,
    read_codes,
    read_weights,
    settled,
)


@triton.jit
def beside(y, aim, number, first, inner, left, targets, target_row, target_column, MASKED: tl.constexpr):
    """Return a target of some rows about its reference; 1 in the place of number 0, 0 beyond the last."""
    held = (number > 0) & (number <= targets)
    place = y + (first + inner) * target_row + (number - 1) * target_column
    target = tl.load(place, mask=held & (inner < left) if MASKED else held & (inner >= 0), other=0.0).to(tl.float64)
    centre = tl.load(aim + number - 1, mask=held, other=0.0)
    return tl.where(number == 0, 1.0, target - centre)


@triton.jit
def share_of(
    number,
    mass,
    code,
    y,
    aim,
    first,
    inner,
    left,
    targets,
    target_row,
    target_column,
    TARGETS: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Return the weights of rows in the sums of one class, or of one target, and those times the target."""
    if TARGETS == 0:
        own = tl.where(code == number, mass, 0.0)
        square = own
    elif TARGETS == 1:
        own = mass
        square = own
    else:
        target = beside(y, aim, number, first, inner, left, targets, target_row, target_column, MASKED)
        own = mass * target
        square = own * target
    return own, square


@triton.jit
def store_sums(place, weights, squares, sums, total, square, first, column, features):
    """Write what one program found of a class, or of a target."""
    tl.store(weights + place, tl.sum(total, axis=0))
    tl.store(squares + place, tl.sum(square, axis=0))
    tl.store(sums + place * features + column, tl.sum(first, axis=0), mask=column < features)


@triton.jit(do_not_specialize=["start", "rows", "slot", "classes", "only"])
def scatter(
    x,
    y,  # class codes, (n,); or targets, whose products with the columns of x are wanted
    weight,
    reference,  # (k, d) float64, or (1, d) where that is near for all classes
    aim,  # (t,) float64, a reference of the targets
    weights,  # out: (programs, SUMS), the weights of the classes; or the sums of 1 and of each target
    squares,  # out: (programs, SUMS), the sums of squares of 1 and of each target
    sums,  # out: (programs, SUMS, d), the sums of the classes; or the products with 1 and each target
    products,  # out: (programs, d, d)
    faults,  # out: (programs,)
    units,  # the stride of x, in units
    start,  # the first row
    rows,  # how many
    slot,  # the place of the first program among the parts
    width,  # how many features, in units
    classes,
    targets,
    target_row,
    target_column,
    only,  # the class whose rows count, or -1 for all
    NEAR: tl.constexpr,
    HAS_Y: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    TARGETS: tl.constexpr,  # 0: sums of classes; 1: sums of all rows; 2: of targets, too
    MASKED: tl.constexpr,
    WHOLE: tl.constexpr,
    UNIT: tl.constexpr,
    SUMS: tl.constexpr,  # how many, up to four
    PARTIAL: tl.constexpr,  # whether some rows weigh nothing, or not 1
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    FOLD: tl.constexpr,
    STAGES: tl.constexpr,
    DEBUG: tl.constexpr,
):
    """Sum the products of all columns, and the rows of each class."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    stride, features = units * UNIT, width * UNIT
    column, inner = tl.arange(0, COLUMNS), tl.arange(0, ROWS)
    near = common_reference(reference, column, features, NEAR)
    wrong = tl.zeros((ROWS,), tl.int32)
    s0 = tl.zeros((ROWS // FOLD, COLUMNS), tl.float64)
    s1, s2, s3 = s0, s0, s0
    t0 = tl.zeros((ROWS,), tl.float64)
    t1, t2, t3, q0, q1, q2, q3 = t0, t0, t0, t0, t0, t0, t0
    total = tl.zeros((COLUMNS, COLUMNS), tl.float64)
    for tile in tl.range(program, tl.cdiv(rows, ROWS), programs, num_stages=STAGES):
        first, left = start + tl.cast(tile, tl.int64) * ROWS, rows - tile * ROWS
        cell = read_cells(x, first, inner, column, left, features, stride, MASKED, WHOLE)
        code, bad = read_codes(y, first, inner, left, classes, MASKED, HAS_Y and TARGETS == 0)
        mass, odd = read_weights(weight, first, inner, left, MASKED, HAS_WEIGHT)
        wrong += (bad | odd).to(tl.int32)
        if PARTIAL:
            mass = tl.where((only < 0) | (code == only), mass, 0.0)
        z = centred(cell, reference, near, code, column, features, NEAR)
        if SUMS > 0:
            own, square = share_of(
                0, mass, code, y, aim, first, inner, left, targets, target_row, target_column, TARGETS, MASKED
            )
            t0 += own
            q0 += square
            s0 += folded(own[:, None] * z, FOLD)
        if SUMS > 1:
            own, square = share_of(
                1, mass, code, y, aim, first, inner, left, targets, target_row, target_column, TARGETS, MASKED
            )
            t1 += own
            q1 += square
            s1 += folded(own[:, None] * z, FOLD)
        if SUMS > 2:
            own, square = share_of(
                2, mass, code, y, aim, first, inner, left, targets, target_row, target_column, TARGETS, MASKED
            )
            t2 += own
            q2 += square
            s2 += folded(own[:, None] * z, FOLD)
            own, square = share_of(
                3, mass, code, y, aim, first, inner, left, targets, target_row, target_column, TARGETS, MASKED
            )
            t3 += own
            q3 += square
            s3 += folded(own[:, None] * z, FOLD)
        plain = settled(z, DEBUG)
        heavy = settled(z * mass[:, None], DEBUG) if PARTIAL or MASKED else plain
        total = tl.dot(tl.trans(heavy), plain, total, out_dtype=tl.float64)
    known = column < features
    tl.store(faults + slot + program, tl.sum(wrong, axis=0))
    place = tl.cast(slot + program, tl.int64) * SUMS
    if SUMS > 0:
        store_sums(place, weights, squares, sums, t0, q0, s0, column, features)
    if SUMS > 1:
        store_sums(place + 1, weights, squares, sums, t1, q1, s1, column, features)
    if SUMS > 2:
        store_sums(place + 2, weights, squares, sums, t2, q2, s2, column, features)
        store_sums(place + 3, weights, squares, sums, t3, q3, s3, column, features)
    block = products + tl.cast(slot + program, tl.int64) * features * features
    tl.store(block + column[:, None] * features + column[None, :], total, mask=known[:, None] & known[None, :])

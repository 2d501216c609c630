"""Sums per class in one read of the rows: Triton kernels for CUDA, everything in float64.

A program goes over tiles of rows; a launch over whole tiles does not ask where the rows end. Of each tile the rows that
one thread holds are added first, so that few sums need registers. Nothing is added by two programs at once: each writes
what it found, and the parts are added in order. Rows are a whole number of units long: the compiler must know it, to
read several cells at a time.
"""

# mypy: ignore-errors
# Triton compiles these functions: their bodies are Triton, not Python.

from __future__ import annotations

import triton
import triton.language as tl

#: What is summed of a cell: itself, whether it is above a threshold, itself and its square about a reference.
EVENTS, PRESENCE, MOMENTS = 0, 1, 2

_PRESENCE, _MOMENTS = tl.constexpr(PRESENCE), tl.constexpr(MOMENTS)


@triton.jit
def read_cells(x, first, inner, column, left, features, stride, MASKED: tl.constexpr, WHOLE: tl.constexpr):
    """Return cells of rows from ``first`` on, 0 past the last of the rows left, or past the last column."""
    place = x + first * stride + (inner[:, None] * stride + column[None, :])
    if MASKED:
        cell = tl.load(place, mask=(inner < left)[:, None] & (column < features)[None, :], other=0.0)
    elif WHOLE:
        cell = tl.load(place)
    else:
        cell = tl.load(place, mask=(column < features)[None, :], other=0.0)
    return cell


@triton.jit
def read_weights(weight, first, inner, left, MASKED: tl.constexpr, HAS_WEIGHT: tl.constexpr):
    """Return the weights of some rows, 0 past the last, and which of them are invalid."""
    if HAS_WEIGHT:
        place = weight + first + inner
        mass = tl.load(place, mask=inner < left, other=0.0) if MASKED else tl.load(place)
        mass = mass.to(tl.float64)
        odd = ((mass >= 0) & (mass < float("inf"))) == 0
    else:
        mass = ((inner < left) if MASKED else (inner >= 0)).to(tl.float64)
        odd = inner < 0
    return mass, odd


@triton.jit
def read_codes(y, first, inner, left, classes, MASKED: tl.constexpr, HAS_Y: tl.constexpr):
    """Return the classes of some rows, 0 for invalid codes, and which rows have an invalid code."""
    if HAS_Y:
        place = y + first + inner
        found = (tl.load(place, mask=inner < left, other=0) if MASKED else tl.load(place)).to(tl.int64)
        bad = (found < 0) | (found >= classes)
        code = tl.where(bad, 0, found).to(tl.int32)
    else:
        code = inner * 0
        bad = inner < 0
    return code, bad


@triton.jit
def settled(values, DEBUG: tl.constexpr):
    """Return values as they are.

    The compiler must not look through it: else it would keep float32 and turn every number into float64 as often as
    products need it.
    """
    if DEBUG:
        same = values
    else:
        same = tl.inline_asm_elementwise("mov.b64 $0, $1;", "=d,d", [values], tl.float64, is_pure=False, pack=1)
    return same


@triton.jit
def folded(values, FOLD: tl.constexpr):
    """Return values, (rows, columns), with every FOLD-th row added to the first ones."""
    rows: tl.constexpr = values.shape[0]
    columns: tl.constexpr = values.shape[1]
    return tl.sum(tl.reshape(values, (FOLD, rows // FOLD, columns)), axis=0)


@triton.jit
def centred(cell, reference, near, code, column, features, NEAR: tl.constexpr):
    """Return cells in float64 less the reference of all classes, which is near, or of the row's own class."""
    if NEAR:
        centre = near[None, :]
    else:
        own = reference + code[:, None] * features + column[None, :]
        centre = tl.load(own, mask=(column < features)[None, :], other=0.0)
    return cell.to(tl.float64) - centre


@triton.jit
def common_reference(reference, column, features, NEAR: tl.constexpr):
    """Return the one row of references that serves all classes, if it is near."""
    return tl.load(reference + column, mask=column < features, other=0.0) if NEAR else column.to(tl.float64)


@triton.jit
def add_class(number, total, sums, squares, code, mass, values, second, WHAT: tl.constexpr, FOLD: tl.constexpr):
    """Add the rows of one class to its sums."""
    own = tl.where(code == number, mass, 0.0)
    total += own
    if WHAT == _PRESENCE:
        sums += folded(tl.where(values, own[:, None], 0.0), FOLD)
    else:
        sums += folded(own[:, None] * values, FOLD)
    if WHAT == _MOMENTS:
        squares += folded(own[:, None] * second, FOLD)
    return total, sums, squares


@triton.jit
def fault(cell, WHAT: tl.constexpr, FOLD: tl.constexpr):
    """Return 1 for each invalid cell that the sum would not reveal."""
    amiss = cell * 0.0 != 0.0 if WHAT == _PRESENCE else cell < 0  # NaN and infinity; negative counts
    return folded(amiss.to(tl.int32), FOLD)


@triton.jit
def store_class(place, weights, sums, squares, total, first, second, column, features, WHAT: tl.constexpr):
    """Write what one program found of a class."""
    tl.store(weights + place, tl.sum(total, axis=0))
    at = tl.cast(place, tl.int64) * features + column
    tl.store(sums + at, tl.sum(first, axis=0), mask=column < features)
    if WHAT == _MOMENTS:
        tl.store(squares + at, tl.sum(second, axis=0), mask=column < features)


@triton.jit(do_not_specialize=["start", "rows", "slot", "classes"])
def sum_few(
    x,
    y,
    weight,
    reference,  # (k, d) float64, or (1, d) where that is near for all classes
    threshold,
    weights,  # out: (programs, K), of the classes
    sums,  # out: (programs, K, d)
    squares,  # out: (programs, K, d)
    faults,  # out: (programs, strips), number of invalid cells, codes and weights
    units,  # the stride of x, in units
    start,  # the first row
    rows,  # how many
    slot,  # the place of the first program among the parts
    width,  # how many features, in units
    classes,
    WHAT: tl.constexpr,
    NEAR: tl.constexpr,
    HAS_Y: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    MASKED: tl.constexpr,
    WHOLE: tl.constexpr,
    UNIT: tl.constexpr,
    CLASSES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    FOLD: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Sum over up to four classes, each with sums of its own in registers."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    stride, features = units * UNIT, width * UNIT
    column, inner = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS), tl.arange(0, ROWS)
    near = common_reference(reference, column, features, WHAT == _MOMENTS and NEAR)
    wrong = tl.zeros((ROWS,), tl.int32)
    amiss = tl.zeros((ROWS // FOLD, COLUMNS), tl.int32)
    t0, t1 = tl.zeros((ROWS,), tl.float64), tl.zeros((ROWS,), tl.float64)
    t2, t3 = tl.zeros((ROWS,), tl.float64), tl.zeros((ROWS,), tl.float64)
    s0 = tl.zeros((ROWS // FOLD, COLUMNS), tl.float64)
    s1, s2, s3, q0, q1, q2, q3 = s0, s0, s0, s0, s0, s0, s0
    for tile in tl.range(program, tl.cdiv(rows, ROWS), programs, num_stages=STAGES):
        first, left = start + tl.cast(tile, tl.int64) * ROWS, rows - tile * ROWS
        cell = read_cells(x, first, inner, column, left, features, stride, MASKED, WHOLE)
        code, bad = read_codes(y, first, inner, left, classes, MASKED, HAS_Y)
        mass, odd = read_weights(weight, first, inner, left, MASKED, HAS_WEIGHT)
        wrong += (bad | odd).to(tl.int32)
        if WHAT == _MOMENTS:
            values = centred(cell, reference, near, code, column, features, NEAR)
            second = values * values
        else:
            amiss += fault(cell, WHAT, FOLD)
            values = cell.to(tl.float64) > threshold if WHAT == _PRESENCE else cell.to(tl.float64)
            second = values
        t0, s0, q0 = add_class(0, t0, s0, q0, code, mass, values, second, WHAT, FOLD)
        if CLASSES > 1:
            t1, s1, q1 = add_class(1, t1, s1, q1, code, mass, values, second, WHAT, FOLD)
        if CLASSES > 2:
            t2, s2, q2 = add_class(2, t2, s2, q2, code, mass, values, second, WHAT, FOLD)
            t3, s3, q3 = add_class(3, t3, s3, q3, code, mass, values, second, WHAT, FOLD)
    place = (slot + program) * CLASSES
    strip = (slot + program) * tl.num_programs(1) + tl.program_id(1)
    tl.store(faults + strip, tl.sum(wrong, axis=0) + tl.sum(tl.sum(amiss, axis=1), axis=0))
    store_class(place, weights, sums, squares, t0, s0, q0, column, features, WHAT)
    if CLASSES > 1:
        store_class(place + 1, weights, sums, squares, t1, s1, q1, column, features, WHAT)
    if CLASSES > 2:
        store_class(place + 2, weights, sums, squares, t2, s2, q2, column, features, WHAT)
        store_class(place + 3, weights, sums, squares, t3, s3, q3, column, features, WHAT)


@triton.jit(do_not_specialize=["start", "rows", "slot", "classes"])
def sum_many(
    x,
    y,
    weight,
    reference,
    threshold,
    weights,
    sums,
    squares,
    faults,
    units,
    start,
    rows,
    slot,
    width,
    classes,
    WHAT: tl.constexpr,
    NEAR: tl.constexpr,
    HAS_Y: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    MASKED: tl.constexpr,
    WHOLE: tl.constexpr,
    UNIT: tl.constexpr,
    CLASSES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    FOLD: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Sum over many classes: the product of the class indicators with the rows, by tensor cores in float64."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    stride, features = units * UNIT, width * UNIT
    column, inner = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS), tl.arange(0, ROWS)
    near = common_reference(reference, column, features, WHAT == _MOMENTS and NEAR)
    every = tl.arange(0, CLASSES)
    wrong = tl.zeros((ROWS,), tl.int32)
    amiss = tl.zeros((ROWS // FOLD, COLUMNS), tl.int32)
    total = tl.zeros((CLASSES, ROWS), tl.float64)
    first_sums = tl.zeros((CLASSES, COLUMNS), tl.float64)
    second_sums = tl.zeros((CLASSES, COLUMNS), tl.float64)
    for tile in tl.range(program, tl.cdiv(rows, ROWS), programs, num_stages=STAGES):
        first, left = start + tl.cast(tile, tl.int64) * ROWS, rows - tile * ROWS
        cell = read_cells(x, first, inner, column, left, features, stride, MASKED, WHOLE)
        code, bad = read_codes(y, first, inner, left, classes, MASKED, HAS_Y)
        mass, odd = read_weights(weight, first, inner, left, MASKED, HAS_WEIGHT)
        wrong += (bad | odd).to(tl.int32)
        member = tl.where(code[None, :] == every[:, None], mass[None, :], 0.0)
        total += member
        if WHAT == _MOMENTS:
            values = centred(cell, reference, near, code, column, features, NEAR)
            second_sums = tl.dot(member, values * values, second_sums, out_dtype=tl.float64)
        else:
            amiss += fault(cell, WHAT, FOLD)
            values = cell.to(tl.float64)
            if WHAT == _PRESENCE:
                values = (values > threshold).to(tl.float64)
        first_sums = tl.dot(member, values, first_sums, out_dtype=tl.float64)
    place = (slot + program) * CLASSES + every
    strip = (slot + program) * tl.num_programs(1) + tl.program_id(1)
    tl.store(faults + strip, tl.sum(wrong, axis=0) + tl.sum(tl.sum(amiss, axis=1), axis=0))
    tl.store(weights + place, tl.sum(total, axis=1))
    at = place[:, None].to(tl.int64) * features + column[None, :]
    tl.store(sums + at, first_sums, mask=(column < features)[None, :])
    if WHAT == _MOMENTS:
        tl.store(squares + at, second_sums, mask=(column < features)[None, :])


@triton.jit(do_not_specialize=["rows", "classes"])
def weigh_classes(
    y,
    weight,
    weights,  # out: (programs, K)
    faults,  # out: (programs,)
    rows,
    classes,
    HAS_Y: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    CLASSES: tl.constexpr,
    ROWS: tl.constexpr,
):
    """Sum the weights of the rows of each class."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    every, inner = tl.arange(0, CLASSES), tl.arange(0, ROWS)
    total = tl.zeros((CLASSES, ROWS), tl.float64)
    wrong = tl.zeros((ROWS,), tl.int32)
    for tile in range(program, tl.cdiv(rows, ROWS), programs):
        first, left = tl.cast(tile, tl.int64) * ROWS, rows - tile * ROWS
        code, bad = read_codes(y, first, inner, left, classes, True, HAS_Y)
        mass, odd = read_weights(weight, first, inner, left, True, HAS_WEIGHT)
        wrong += (bad | odd).to(tl.int32)
        total += tl.where(code[None, :] == every[:, None], mass[None, :], 0.0)
    tl.store(weights + program * CLASSES + every, tl.sum(total, axis=1))
    tl.store(faults + program, tl.sum(wrong, axis=0))

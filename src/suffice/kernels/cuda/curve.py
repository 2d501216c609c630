"""Value and gradient of a log-likelihood in one read of the rows: Triton kernels for CUDA, in float64."""

# mypy: ignore-errors
# Triton compiles these functions: their bodies are Triton, not Python.

from __future__ import annotations

import triton
import triton.language as tl

from suffice.kernels.cuda.sums import folded, read_cells, read_weights

#: Responses with one predictor whose curve a kernel knows.
RESPONSES = {"gaussian/identity": 0, "bernoulli/logit": 1, "poisson/log": 2, "gamma/log": 3, "exponential/log": 3}

_GAUSSIAN, _BERNOULLI, _POISSON = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)


@triton.jit
def within(z):
    """Return predictors clipped to 1e100, as the families do; NaN stays NaN."""
    low = tl.maximum(z, -1e100, propagate_nan=tl.PropagateNan.ALL)
    return tl.minimum(low, 1e100, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def exp_down(x):
    """Return exp(x) for x up to 0, in float64 to the last digit or two, without branches; what underflows is 3e-308.

    x is n log 2 + r with a whole n, and exp(r) is a series; n goes straight into the exponent.
    """
    x = tl.maximum(x, -708.0)
    shifted = x * 1.4426950408889634 + 6755399441055744.0  # 1.5 times 2^52: the lowest bits are n
    n = shifted - 6755399441055744.0
    r = x - n * 6.93147180369123816490e-01 - n * 1.90821492927058770002e-10  # the first product is exact
    e = r * 2.08767569878681e-09 + 2.505210838544172e-08
    e = e * r + 2.755731922398589e-07
    e = e * r + 2.7557319223985893e-06
    e = e * r + 2.48015873015873e-05
    e = e * r + 0.0001984126984126984
    e = e * r + 0.001388888888888889
    e = e * r + 0.008333333333333333
    e = e * r + 0.041666666666666664
    e = e * r + 0.16666666666666666
    e = e * r + 0.5
    e = e * r + 1.0
    e = e * r + 1.0
    return (e.to(tl.int64, bitcast=True) + (shifted.to(tl.int64, bitcast=True) << 52)).to(tl.float64, bitcast=True)


@triton.jit
def log1p(e, reciprocal):
    """Return log(1 + e) for e from 0 to 1, without losing a small e; the reciprocal is that of 1 + e."""
    u = 1.0 + e
    return tl.log(u) + (e - (u - 1.0)) * reciprocal


@triton.jit
def read_numbers(numbers, first, inner, left, MASKED: tl.constexpr):
    """Return one number of each of some rows, 0 past the last."""
    place = numbers + first + inner
    value = tl.load(place, mask=inner < left, other=0.0) if MASKED else tl.load(place)
    return value.to(tl.float64)


@triton.jit
def curve(z, target, RESPONSE: tl.constexpr):
    """Return value, slope and expected curvature of each row's log-likelihood by its predictor."""
    bend = z * 0.0 + 1.0
    if RESPONSE == _GAUSSIAN:
        value, slope = z * (target - 0.5 * z), target - z
    elif RESPONSE == _BERNOULLI:
        e = exp_down(-tl.abs(z))  # exponent <= 0: cannot overflow
        large = 1.0 / (1.0 + e)
        p, q = tl.where(z >= 0, large, e * large), tl.where(z >= 0, e * large, large)
        value = target * tl.minimum(z, 0.0) + (1.0 - target) * tl.minimum(-z, 0.0) - log1p(e, large)
        slope, bend = target * q - (1.0 - target) * p, p * q
    elif RESPONSE == _POISSON:
        mean = tl.exp(tl.minimum(z, 709.0))
        value, slope, bend = target * z - mean, target - mean, mean
    else:
        rate = tl.exp(tl.minimum(-z, 709.0))
        value, slope = -target * rate - z, target * rate - 1.0
    return value, slope, bend


@triton.jit(do_not_specialize=["start", "rows", "slot"])
def slope_one(
    x,
    y,
    weight,
    offset,
    theta,  # (d,) float64
    level,  # (1,) float64, the intercept
    facts,  # out: (programs, 4): weight, value, sum of slopes, faults
    gradient,  # out: (programs, d)
    bends,  # out: (n,), the expected curvature of each row, times its weight
    units,  # the stride of x, in units
    start,  # the first row
    rows,  # how many
    slot,  # the place of the first program among the parts
    width,  # how many features, in units
    RESPONSE: tl.constexpr,
    HAS_WEIGHT: tl.constexpr,
    HAS_OFFSET: tl.constexpr,
    HAS_BENDS: tl.constexpr,
    MASKED: tl.constexpr,
    WHOLE: tl.constexpr,
    UNIT: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    FOLD: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Sum the curves of rows with one predictor."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    stride, features = units * UNIT, width * UNIT
    column, inner = tl.arange(0, COLUMNS), tl.arange(0, ROWS)
    coef = tl.load(theta + column, mask=column < features, other=0.0)
    constant = tl.load(level)
    total, values = tl.zeros((ROWS,), tl.float64), tl.zeros((ROWS,), tl.float64)
    slopes, wrong = tl.zeros((ROWS,), tl.float64), tl.zeros((ROWS,), tl.int32)
    steps = tl.zeros((ROWS // FOLD, COLUMNS), tl.float64)
    for tile in tl.range(program, tl.cdiv(rows, ROWS), programs, num_stages=STAGES):
        first, left = start + tl.cast(tile, tl.int64) * ROWS, rows - tile * ROWS
        cell = read_cells(x, first, inner, column, left, features, stride, MASKED, WHOLE).to(tl.float64)
        target = read_numbers(y, first, inner, left, MASKED)
        mass, odd = read_weights(weight, first, inner, left, MASKED, HAS_WEIGHT)
        z = tl.sum(cell * coef[None, :], axis=1) + constant
        z = tl.gather(z, inner, 0)  # changes only the layout: the code between the two gathers runs once per row
        if HAS_OFFSET:
            z += read_numbers(offset, first, inner, left, MASKED)
        z = within(z)
        value, slope, bend = curve(z, target, RESPONSE)
        if HAS_BENDS:
            place = bends + first + inner
            if MASKED:
                tl.store(place, mass * bend, mask=inner < left)
            else:
                tl.store(place, mass * bend)
        slope *= mass
        total += mass
        value = tl.where(mass == 0, slope * 0.0, mass * value)  # a value may be -inf, and 0 times that is NaN
        values += value + z * 0.0  # NaN in an offset stays one
        slopes += slope
        wrong += odd.to(tl.int32)
        steps += folded(cell * tl.gather(slope, inner, 0)[:, None], FOLD)
    out = facts + (slot + program) * 4
    tl.store(out, tl.sum(total, axis=0))
    tl.store(out + 1, tl.sum(values, axis=0))
    tl.store(out + 2, tl.sum(slopes, axis=0))
    tl.store(out + 3, tl.sum(wrong, axis=0).to(tl.float64))
    at = tl.cast(slot + program, tl.int64) * features + column
    tl.store(gradient + at, tl.sum(steps, axis=0), mask=column < features)

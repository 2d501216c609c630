"""Value, gradient and Hessian of a log-likelihood on a CUDA device, in one read of the rows where possible."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from suffice.families.multinomial import Multinomial
from suffice.kernels.array_blocks import Array
from suffice.kernels.cuda import curve as fused_curve
from suffice.kernels.cuda import launch
from suffice.kernels.cuda import products as fused_products
from suffice.kernels.cuda import slopes as fused_slopes
from suffice.kernels.cuda.rows import DeviceRows
from suffice.kernels.protocol import FloatArray

if TYPE_CHECKING:
    from suffice.families.response import Response

#: The most predictors that kernels hold.
MOST_PREDICTORS = 32

Curvature = tuple[float, float, FloatArray, FloatArray]


def curvature(
    rows: DeviceRows, response: Response, theta: FloatArray, intercept: bool, hessian: bool
) -> Curvature | None:
    """Return weight, value, gradient and Hessian; None if a row is invalid."""
    predictors = theta.shape[1]
    if predictors >= MOST_PREDICTORS or not np.isfinite(theta).all():
        return None
    coef = rows.placed(theta[int(intercept) :])
    level = rows.placed(theta[0] if intercept else np.zeros(predictors))
    information = rows.zeros(0, 0)
    is_expected = not (hessian and response.slope_share)
    if response.kernel in fused_curve.RESPONSES and is_expected and rows.features <= fused_slopes.WIDEST_ROW:
        bends = rows.empty(rows.rows) if hessian else None
        slopes = fused_slopes.slope_one(rows, fused_curve.RESPONSES[response.kernel], coef[:, 0], level, bends)
        if bends is not None:
            found = fused_products.weighted(rows, bends)
            information = _with_intercept(bends.sum(), *found, intercept)
    elif response.family is not Multinomial or hessian or rows.features > fused_slopes.WIDEST_ROW:
        return _by_blocks(rows, response, coef, level, intercept, hessian)
    elif predictors <= launch.FEW:
        slopes = fused_slopes.slope_few(rows, coef, level)
    elif rows.features <= launch.WIDEST_TILE:
        slopes = fused_slopes.slope_softmax(rows, coef, level)
    else:
        return _by_blocks(rows, response, coef, level, intercept, False)
    faults, weight, value, levels, gradient, products = launch.fetched(*slopes, information)
    if faults:
        return None
    whole = np.concatenate([levels[None], gradient]) if intercept else gradient
    return float(weight), float(value), whole, _mirrored(products)


def _by_blocks(
    rows: DeviceRows, response: Response, coef: Array, level: Array, intercept: bool, hessian: bool
) -> Curvature | None:
    """Return the same for any response: predictors first, then their derivatives, then the products with the rows."""
    torch, predictors = rows.torch, int(coef.shape[1])
    pairs = list(combinations_with_replacement(range(predictors), 2)) if hessian else []
    faults, weight, value = rows.zeros(), rows.zeros(), rows.zeros()
    gradient = rows.zeros(rows.features + intercept, predictors)
    products = {pair: rows.zeros(rows.features + intercept, rows.features + intercept) for pair in pairs}
    for block in launch.slabs(rows, 4 + predictors * (predictors + 8)):
        z = fused_slopes.predict(block, coef, level)
        z = z if block.offset is None else z + block.offset
        y, bad = _targets(block, response, predictors)
        curve = response.curve(z, y)
        mass = torch.ones_like(curve.value) if block.weight is None else block.weight.to(torch.float64)
        faults = faults + bad + (~((mass >= 0) & (mass < float("inf")))).sum()
        slopes = curve.slope * mass[:, None]
        weight = weight + mass.sum()
        value = value + torch.where(mass == 0, mass, mass * curve.value).sum()
        level_slope = [slopes.sum(0)[None]] if intercept else []
        gradient = gradient + torch.cat([*level_slope, fused_slopes.gather(block, slopes)])
        for a, b in pairs:
            bend = (mass * curve.curvature[:, a, b]).contiguous()
            found = fused_products.weighted(block, bend)
            products[a, b] = products[a, b] + _with_intercept(bend.sum(), *found, intercept)
    (wrong, *sums) = launch.fetched(faults, weight, value, gradient, *products.values())
    if wrong:
        return None
    upper = dict(zip(pairs, map(_mirrored, sums[3:]), strict=True))
    every = range(predictors)
    whole = np.block([[upper[min(a, b), max(a, b)] for b in every] for a in every]) if hessian else np.zeros((0, 0))
    return float(sums[0]), float(sums[1]), sums[2], whole


def _targets(rows: DeviceRows, response: Response, predictors: int) -> tuple[Array, Array]:
    """Return the targets as a response reads them, and the number of invalid ones."""
    torch = rows.torch
    if response.family is Multinomial:
        codes = rows.codes
        assert codes is not None
        whole = codes.to(torch.int64)
        bad = (whole < 0) | (whole > predictors)
        return whole.clip(0, predictors), bad.sum()
    y = rows.targets.to(torch.float64)
    return y if response.vector_targets else y[:, 0], (~torch.isfinite(y)).sum()


def _with_intercept(weight: Array, sums: Array, products: Array, intercept: bool) -> Array:
    if not intercept:
        return products
    import torch

    whole = torch.zeros((len(sums) + 1,) * 2, dtype=sums.dtype, device=sums.device)
    whole[0, 0], whole[0, 1:], whole[1:, 1:] = weight, sums, products
    return whole


def _mirrored(products: FloatArray) -> FloatArray:
    """Return products that are right in their upper half as a symmetric matrix."""
    return np.triu(products) + np.triu(products, 1).T

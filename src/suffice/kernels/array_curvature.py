"""Value, gradient and Hessian of a log-likelihood, block by block."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from suffice.families.multinomial import Multinomial
from suffice.kernels import errors, inputs
from suffice.kernels.array_blocks import Array, Block, Blocks, to_host
from suffice.kernels.array_moments import symmetric
from suffice.kernels.engine import Batch
from suffice.kernels.protocol import FloatArray

if TYPE_CHECKING:
    from suffice.families.response import Response


def check_regression(batch: Batch, response: Response, theta: FloatArray, intercept: bool) -> None:
    """Raise where targets, coefficients and offset fit neither the response nor each other."""
    inputs.check_theta(theta, batch.features + intercept)
    parameters, predictors = theta.shape
    inputs.check_offset(batch.offset, predictors)
    if response.family is Multinomial:
        inputs.check_classes(predictors + 1, batch.y)
        return
    targets = inputs.count_targets(batch.y)
    if response.vector_targets:
        if len(batch.y.shape) != 2 or targets != predictors:
            raise errors.wrong_shape("y", f"({batch.y.shape[0]}, {predictors})", batch.y.shape)
    elif targets != 1:
        raise errors.wrong_shape("y", f"({batch.y.shape[0]},)", batch.y.shape)
    if predictors != response.predictors(targets):
        raise errors.wrong_shape("theta", f"({parameters}, {response.predictors(targets)})", theta.shape)


class RunningCurvature:
    """Value, gradient and Hessian of a log-likelihood at one theta, over the blocks added so far.

    Parameters
    ----------
    blocks
        Where the sums are taken.
    theta
        Coefficients, (p, t), one column per predictor.
    intercept
        Whether the first row of theta belongs to a constant 1 before the features.
    hessian
        Whether to sum second derivatives.
    """

    def __init__(self, blocks: Blocks, theta: FloatArray, intercept: bool, hessian: bool) -> None:
        parameters, predictors = theta.shape
        self._blocks = blocks
        self._theta = blocks.from_host(theta)
        self._intercept = intercept
        self._weight = blocks.zeros()
        self._value = blocks.zeros()
        self._gradient = blocks.zeros(parameters, predictors)
        pairs = combinations_with_replacement(range(predictors), 2) if hessian else ()
        #: For predictors a <= b, the sum of their joint curvature times x x', (p, p); b <= a mirrors it.
        self._products = {pair: blocks.zeros(parameters, parameters) for pair in pairs}

    def add(self, block: Block, response: Response) -> None:
        """Add a block of rows."""
        xp = self._blocks.xp
        x = design(block, self._intercept)
        y = targets(block, response, self._theta.shape[1])
        offset = block.offset()
        z = x @ self._theta
        curve = response.curve(z if offset is None else z + offset, y)
        weight = block.weight()
        if weight is None:
            weight = xp.ones_like(curve.value)
        weighted = xp.matrix_transpose(x * weight[:, None])  # (p, n)
        self._weight = self._weight + xp.sum(weight)
        # A value may be -inf, and 0 times that is NaN.
        self._value = self._value + xp.sum(xp.where(weight == 0, weight, weight * curve.value))
        self._gradient = self._gradient + weighted @ curve.slope
        for (a, b), products in self._products.items():
            self._products[a, b] = products + weighted @ (x * curve.curvature[:, a, b][:, None])

    def finished(self) -> tuple[float, float, FloatArray, FloatArray]:
        """Return weight, value, gradient and Hessian on the host."""
        products = {pair: symmetric(to_host(products)) for pair, products in self._products.items()}
        predictors = range(self._gradient.shape[1])
        hessian = np.zeros((0, 0))
        if products:
            hessian = np.block([[products[min(a, b), max(a, b)] for b in predictors] for a in predictors])
        return float(self._weight), float(self._value), to_host(self._gradient), hessian


def targets(block: Block, response: Response, predictors: int) -> Array:
    """Return the block's targets, (n,), codes where they are classes; (n, k) where a target is a vector."""
    if response.family is Multinomial:
        return block.codes(predictors + 1)
    y = block.targets()
    return y if y.ndim == 1 or response.vector_targets else y[:, 0]


def design(block: Block, intercept: bool) -> Array:
    """Return the block's features, after a column of ones where there is an intercept."""
    x = block.features()
    if not intercept:
        return x
    return block.xp.concat([block.blocks.zeros(x.shape[0], 1) + 1.0, x], axis=1)

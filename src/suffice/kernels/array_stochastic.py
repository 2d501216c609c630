"""Kernels that process rows in order, through the array API: stochastic gradient steps and the perceptron."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.families.links import LARGEST_PREDICTOR, array_namespace
from suffice.kernels import errors
from suffice.kernels.array_blocks import Array, Block, Blocks, to_host
from suffice.kernels.array_curvature import check_regression, design, targets
from suffice.kernels.descent import Correction, Descent, Pace, check_correction, check_ridge, read_order
from suffice.kernels.engine import Batch
from suffice.kernels.memory import InBlocks, in_blocks

if TYPE_CHECKING:
    from suffice.families.response import Response
    from suffice.kernels.protocol import FloatArray

Places = npt.NDArray[np.int64]


class ArrayWalks(InBlocks):
    """The kernels that process rows in order; see :class:`~suffice.kernels.protocol.Kernels` for their definitions."""

    @in_blocks
    def descend(
        self,
        batch: Batch,
        response: Response,
        theta: FloatArray,
        intercept: bool,
        order: npt.ArrayLike,
        pace: Pace,
        l2: float = 0.0,
    ) -> Descent:
        """Return theta after stochastic gradient steps."""
        theta = np.asarray(theta, dtype=np.float64)
        check_regression(batch, response, theta, intercept)
        places = read_order(order, batch)
        check_ridge(l2)
        blocks = Blocks(batch, 3 * theta.shape[0] + 4 * theta.shape[1], self.block_rows, self.share)
        whole = Block(blocks, batch.start, batch.stop)
        y = targets(whole, response, theta.shape[1])
        _check_features(blocks)
        walk = _Descending(blocks, theta, intercept, l2)
        finite = True
        for some in _visited(blocks, places, y, whole, intercept, pace.rows):
            for start in range(0, some.x.shape[0], pace.rows):
                part = some.slice(start, min(start + pace.rows, some.x.shape[0]))
                finite = finite and walk.step(part, response, pace.size(pace.first + walk.steps))
            if not finite:
                break
        return walk.finished(finite)

    @in_blocks
    def correct(
        self, batch: Batch, theta: FloatArray, classes: int, intercept: bool, order: npt.ArrayLike, step: float = 1.0
    ) -> Correction:
        """Return theta after updates by the perceptron rule."""
        theta = np.asarray(theta, dtype=np.float64)
        check_correction(batch, theta, classes, intercept, step)
        places = read_order(order, batch)
        blocks = Blocks(batch, 2 * theta.shape[0] + 3 * theta.shape[1], self.block_rows or _ROWS_FORESEEN, self.share)
        whole = Block(blocks, batch.start, batch.stop)
        codes = whole.codes(classes)
        _check_features(blocks)
        now, total, mistakes, loss = blocks.from_host(theta), blocks.zeros(*theta.shape), 0, 0.0
        seen = 0
        for some in _visited(blocks, places, codes, whole, intercept, 1):
            rows = some.x.shape[0]
            weight, y = _host_weight(some, rows), to_host(some.y)
            visits = np.cumsum(weight > 0)  # of the rows with weight, up to and with each
            first = counted = 0
            while first < rows:
                # Predict all remaining rows at once, up to the first mistake, which changes theta.
                z = some.x[first:, :] @ now
                _refuse_overflow(z, places, seen + first)
                named = _named_class(blocks, z, y[first:])
                wrong = np.flatnonzero((named != y[first:]) & (weight[first:] > 0))
                last = first + int(wrong[0]) if wrong.size else rows - 1
                before = int(visits[last]) - (1 if wrong.size else 0)
                total = total + now * (before - counted)
                counted = before
                if wrong.size:
                    code, other = int(y[last]), int(named[last - first])
                    gain = _gain(theta.shape[1], code, other, step * weight[last])
                    score = to_host(z[last - first, :])
                    loss += float(abs(score[0]) if len(score) == 1 else score[other] - score[code])
                    now = now + some.x[last, :][:, None] * blocks.from_host(gain)[None, :]
                    mistakes += 1
                first = last + 1
                if first == rows:
                    total = total + now * (int(visits[-1]) - counted)
            seen += rows
        if not blocks.xp.all(blocks.xp.isfinite(now)):
            raise errors.ScoreOverflowError(int(places[-1]))
        return Correction(to_host(now), to_host(total), mistakes, loss)


#: A mistake changes the predictions of later rows: more rows at a time would be wasted.
_ROWS_FORESEEN = 256


class _Visited(NamedTuple):
    """Rows in the order in which they are processed, with targets, weights and offsets."""

    x: Array  # (n, p), after a column of ones where there is an intercept
    y: Array  # (n,)
    weight: Array | None  # (n,)
    offset: Array | None  # (n, 1) or (n, t)

    def slice(self, start: int, stop: int) -> _Visited:
        weight, offset = self.weight, self.offset
        return _Visited(
            self.x[start:stop, :],
            self.y[start:stop, ...],
            None if weight is None else weight[start:stop],
            None if offset is None else offset[start:stop, :],
        )


def _check_features(blocks: Blocks) -> None:
    """Raise about the first feature that is not finite, whatever the order."""
    for block in blocks:
        block.features()


def _visited(
    blocks: Blocks, places: Places, y: Array, whole: Block, intercept: bool, together: int
) -> Iterator[_Visited]:
    """Yield the rows at some places in turn, as many at a time as a block has: whole steps of rows, at least one."""
    batch, xp = blocks.batch, blocks.xp
    weight, offset = whole.weight(), whole.offset()
    height = max(1, blocks.height // together) * together
    for start in range(0, len(places), height):
        some = places[start : start + height]
        x = xp.take(batch.x, blocks.from_host(some, "int64"), axis=0)
        block = Block(Blocks(Batch(x), blocks.floats_per_row), 0, len(some))
        near = blocks.from_host(some - batch.start, "int64")
        columns = (None if column is None else xp.take(column, near, axis=0) for column in (y, weight, offset))
        yield _Visited(design(block, intercept), *columns)


class _Descending:
    """State of a gradient descent on the device of the rows."""

    def __init__(self, blocks: Blocks, theta: FloatArray, intercept: bool, l2: float) -> None:
        self._blocks = blocks
        self._theta = blocks.from_host(theta)
        pull = np.full((theta.shape[0], 1), l2)
        pull[: int(intercept)] = 0.0
        self._pull = blocks.from_host(pull)
        self._total = blocks.zeros(*theta.shape)
        self._value, self._weight, self._slopes = blocks.zeros(), blocks.zeros(), blocks.zeros()
        self.steps = 0

    def step(self, part: _Visited, response: Response, size: float) -> bool:
        """Make one step, unless predictors or gradients are not finite; return whether it was made."""
        xp = self._blocks.xp
        z = part.x @ self._theta
        if part.offset is not None:
            z = z + part.offset
        curve = response.curve(z, part.y)
        if not (xp.all(xp.abs(z) <= LARGEST_PREDICTOR) and xp.all(xp.isfinite(curve.slope))):
            return False
        weight = xp.ones_like(curve.value) if part.weight is None else part.weight
        slope = curve.slope * weight[:, None]
        # A value may be -inf, and 0 times that is NaN.
        self._value = self._value + xp.sum(xp.where(weight == 0, weight, weight * curve.value))
        self._weight = self._weight + xp.sum(weight)
        self._slopes = self._slopes + xp.sum(xp.abs(slope))
        gradient = xp.matrix_transpose(part.x) @ slope / part.x.shape[0]
        self._theta = self._theta + size * (gradient - self._pull * self._theta)
        self._total = self._total + self._theta
        self.steps += 1
        return True

    def finished(self, finite: bool) -> Descent:
        """Return the result on the host."""
        theta, weight = to_host(self._theta), float(self._weight)
        return Descent(
            theta,
            to_host(self._total) / self.steps if self.steps else theta.copy(),
            float(self._value),
            weight,
            self.steps,
            float(self._slopes) / weight if weight else 0.0,
            finite and bool(np.isfinite(theta).all()),
        )


def _host_weight(some: _Visited, rows: int) -> FloatArray:
    return np.ones(rows) if some.weight is None else np.asarray(to_host(some.weight), dtype=np.float64)


def _named_class(blocks: Blocks, z: Array, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the predicted class of each row, (n,); of two classes, at 0, the other than the row's."""
    if z.shape[1] > 1:
        return to_host(blocks.xp.argmax(z, axis=1))
    score = to_host(z[:, 0])
    return np.where(score == 0, 1 - codes, (score > 0).astype(np.int64))


def _refuse_overflow(z: Array, places: Places, first: int) -> None:
    xp = array_namespace(z)
    if not xp.all(xp.isfinite(z)):
        bad = int(np.argwhere(~np.isfinite(to_host(z)))[0][0])
        raise errors.ScoreOverflowError(int(places[first + bad]))


def _gain(predictors: int, code: int, named: int, size: float) -> FloatArray:
    """Return the factor of x that a mistake adds to each column of theta."""
    if predictors == 1:
        return np.array([size * (code - named)])
    gain = np.zeros(predictors)
    gain[code], gain[named] = size, -size
    return gain

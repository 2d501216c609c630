"""Scores of rows under a fitted model, through the array API, read block by block."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, pi
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.kernels import inputs
from suffice.kernels.array_blocks import Array, Block, Blocks, check_real, namespace_of
from suffice.kernels.engine import Batch
from suffice.kernels.inputs import JOINT, Reading
from suffice.kernels.memory import InBlocks, in_blocks

if TYPE_CHECKING:
    from suffice.kernels.protocol import FloatArray


class ArrayScores(InBlocks):
    """The kernels that score rows; see :class:`~suffice.kernels.protocol.Kernels` for their definitions."""

    @in_blocks
    def linear_scores(
        self,
        batch: Batch,
        coef: FloatArray,
        intercept: FloatArray,
        reading: Reading = JOINT,
        threshold: float | None = None,
        missing: FloatArray | None = None,
    ) -> Array:
        """Return the reading of x coef' + intercept."""
        model = inputs.linear_parameters(batch.features, coef, intercept, threshold, missing)
        classes = len(model.intercept)
        blocks = Blocks(batch, 3 * batch.features + 4 * classes, self.block_rows, self.share)
        possible = np.isfinite(model.intercept)
        level = blocks.from_host(np.where(possible, model.intercept, 0))
        barred = blocks.from_host(np.where(possible, 0, -inf))
        slopes = blocks.from_host(model.coef.T)
        gaps = None if model.missing is None else blocks.from_host(model.missing.T)

        def score(block: Block) -> Array:
            xp = block.xp
            x = block.features() if gaps is None else block.observed()
            shown = x if threshold is None else xp.astype(x > threshold, xp.float64)
            if gaps is None:
                scores = shown @ slopes + level
            else:
                absent = xp.isnan(x)
                scores = xp.where(absent, 0.0, shown) @ slopes + xp.astype(absent, xp.float64) @ gaps + level
            block.check_overflow(scores)
            return scores + barred

        return _read(blocks, score, reading, classes)

    @in_blocks
    def diagonal_scores(
        self, batch: Batch, mean: FloatArray, variance: FloatArray, intercept: FloatArray, reading: Reading = JOINT
    ) -> Array:
        """Return the reading of the features' Gaussian log-densities and the intercept."""
        model = inputs.diagonal_parameters(batch.features, mean, variance, intercept)
        classes = len(model.intercept)
        blocks = Blocks(batch, 5 * batch.features + 5 * classes, self.block_rows, self.share)
        centres = [blocks.from_host(centre) for centre in model.mean]
        scales = [blocks.from_host(scale) for scale in np.sqrt(0.5) / np.sqrt(model.variance)]  # 1 / variance overflows
        log_norm = (log(2 * pi) + np.log(model.variance)) / 2
        level, norms = blocks.from_host(model.intercept - log_norm.sum(axis=1)), blocks.from_host(log_norm.T)

        def score(block: Block) -> Array:
            xp = block.xp
            x = block.observed()
            absent = xp.isnan(x)
            lengths = [
                _squares(xp, xp.where(absent, 0.0, (x - centre) * scale))
                for centre, scale in zip(centres, scales, strict=True)
            ]
            return (level + xp.astype(absent, xp.float64) @ norms) - xp.stack(lengths, axis=1)

        return _read(blocks, score, reading, classes)

    @in_blocks
    def quadratic_scores(
        self, batch: Batch, mean: FloatArray, whitener: FloatArray, intercept: FloatArray, reading: Reading = JOINT
    ) -> Array:
        """Return the reading of the intercept less half the squared length of whitener (x - mean)."""
        model = inputs.quadratic_parameters(batch.features, mean, whitener, intercept)
        classes = len(model.intercept)
        blocks = Blocks(batch, 4 * batch.features + 5 * classes, self.block_rows, self.share)
        centres = [blocks.from_host(centre) for centre in model.mean]
        turns = [blocks.from_host(np.tril(turn).T) for turn in model.whitener]
        level = blocks.from_host(model.intercept)

        def score(block: Block) -> Array:
            x = block.features()
            lengths = [_squares(block.xp, (x - centre) @ turn) for centre, turn in zip(centres, turns, strict=True)]
            scores = level - block.xp.stack(lengths, axis=1) / 2
            # A row may be so far off that its distance is inf, or inf less inf.
            return block.xp.where(block.xp.isnan(scores), -inf, scores)

        return _read(blocks, score, reading, classes)

    @in_blocks
    def category_scores(
        self,
        batch: Batch,
        tables: FloatArray,
        sizes: tuple[int, ...],
        intercept: FloatArray,
        reading: Reading = JOINT,
    ) -> Array:
        """Return the reading of the log-probabilities of the row's categories and the intercept."""
        model = inputs.category_parameters(batch.features, tables, sizes, intercept)
        classes = len(model.intercept)
        blocks = Blocks(batch, (3 + classes) * batch.features + 5 * classes, self.block_rows, self.share)
        nothing = len(model.tables)  # the row of the table for missing cells: they add 0
        rows = blocks.from_host(np.vstack([model.tables, np.zeros(classes)]))
        offsets = blocks.from_host(np.cumsum([0, *model.sizes[:-1]])[: batch.features])
        level = blocks.from_host(model.intercept)

        def score(block: Block) -> Array:
            xp = block.xp
            x = block.observed_categories(model.sizes)
            place = xp.astype(xp.where(x >= 0, x + offsets, float(nothing)), xp.int64)
            added = xp.take(rows, xp.reshape(place, (-1,)), axis=0)
            return level + xp.sum(xp.reshape(added, (x.shape[0], batch.features, classes)), axis=1)

        return _read(blocks, score, reading, classes)

    @in_blocks
    def read_scores(self, scores: Array, reading: Reading) -> Array:
        """Return the reading of scores that are there already."""
        namespace_of("scores", scores)
        inputs.check_scores(scores)
        check_real("scores", scores)
        classes = int(scores.shape[1])
        return _read(Blocks(Batch(scores), 5 * classes, self.block_rows, self.share), Block.scores, reading, classes)


def _squares(xp: Any, values: Array) -> Array:
    """Return the sum of the squares of each row."""
    return xp.sum(values * values, axis=1)


def _read(blocks: Blocks, score: Callable[[Block], Array], reading: Reading, classes: int) -> Array:
    """Return the reading of the scores of each block, (n, k), one under another."""
    prior = blocks.from_host(reading.prior_over(classes))
    read = [_reading(blocks, score(block), reading, prior) for block in blocks]
    empty = _reading(blocks, blocks.zeros(1, classes), reading, prior)[:0, ...]
    return blocks.xp.concat([empty, *read], axis=0)


def _reading(blocks: Blocks, scores: Array, reading: Reading, prior: Array) -> Array:
    """Return the reading of some scores, (n, k)."""
    xp = blocks.xp
    if reading.what == "joint":
        return scores
    top = xp.max(scores, axis=1)
    impossible = top == -inf
    best = xp.argmax(scores, axis=1)
    if reading.what == "best":
        return xp.astype(xp.where(impossible, xp.argmax(prior), best), xp.int64)
    below = scores - xp.where(impossible, 0.0, top)[:, None]  # -inf less -inf would be NaN
    if reading.what != "evidence":
        below = below / reading.temperature
    ratio = xp.exp(below)
    # Without the 1 of the best class, so that a small sum keeps its digits.
    is_best = best[:, None] == xp.arange(scores.shape[1], dtype=best.dtype, device=blocks.device)[None, :]
    rest = xp.sum(xp.where(is_best, 0.0, ratio), axis=1)
    if reading.what == "evidence":
        return top + xp.log1p(rest)
    if reading.what == "posterior":
        return xp.where(impossible[:, None], prior[None, :], ratio / (1 + rest)[:, None])
    return xp.where(impossible[:, None], xp.log(prior)[None, :], below - xp.log1p(rest)[:, None])

"""Centred moments of the classes, block by block: running means, and the spread about them in three shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from suffice.kernels import errors, inputs
from suffice.kernels.array_blocks import Array, Blocks, Members, to_host
from suffice.kernels.protocol import FloatArray


class Spread(Protocol):
    """Sums of products of deviations from the class means."""

    def __init__(self, blocks: Blocks, classes: int, features: int) -> None:
        """Start from nothing."""

    def add(self, deviations: Array, steps: Array, members: Members) -> None:
        """Add a block.

        Parameters
        ----------
        deviations
            The block's rows less their class means, times the root of the row's weight, (n, d).
        steps
            From the classes' means so far to those of the block, times a root of weight, (k, d): their products are
            what lies between the two groups of rows (Chan's rule).
        members
            The class of each row.
        """

    def finished(self) -> FloatArray:
        """Return the sums on the host."""

    @staticmethod
    def variances(finished: FloatArray) -> FloatArray:
        """Return the sums of squares among the finished sums, (k, d) or (d,)."""


class DiagonalSpread:
    """Sums of squares, per class and feature, (k, d)."""

    def __init__(self, blocks: Blocks, classes: int, features: int) -> None:
        self._xp = blocks.xp
        self._squares = blocks.zeros(classes, features)

    def add(self, deviations: Array, steps: Array, members: Members) -> None:
        """Add a block's squares to those of the classes."""
        within = self._xp.matrix_transpose(members.onehot) @ (deviations * deviations)
        self._squares = self._squares + within + steps * steps

    def finished(self) -> FloatArray:
        """Return the sums on the host."""
        return to_host(self._squares)

    @staticmethod
    def variances(finished: FloatArray) -> FloatArray:
        """Return all sums: they are squares."""
        return finished


class TiedSpread:
    """Sums of products of any two features, about the means of the classes but over all of them, (d, d)."""

    def __init__(self, blocks: Blocks, classes: int, features: int) -> None:
        self._xp = blocks.xp
        self._scatter = blocks.zeros(features, features)

    def add(self, deviations: Array, steps: Array, members: Members) -> None:
        """Add a block's products to the one scatter."""
        transpose = self._xp.matrix_transpose
        self._scatter = self._scatter + transpose(deviations) @ deviations + transpose(steps) @ steps

    def finished(self) -> FloatArray:
        """Return the sums on the host."""
        return symmetric(to_host(self._scatter))

    @staticmethod
    def variances(finished: FloatArray) -> FloatArray:
        """Return the diagonal."""
        return np.diagonal(finished, axis1=-2, axis2=-1)


class FullSpread:
    """Sums of products of any two features, per class, (k, d, d).

    The scatters of the classes are separate arrays, updated one at a time, so that no temporary is k times as large.
    """

    def __init__(self, blocks: Blocks, classes: int, features: int) -> None:
        self._xp = blocks.xp
        self._scatters = [blocks.zeros(features, features) for _ in range(classes)]

    def add(self, deviations: Array, steps: Array, members: Members) -> None:
        """Add each class's products to its scatter; rows are grouped by class first, so each is multiplied once."""
        transpose = self._xp.matrix_transpose
        for code, rows in _each_class(deviations, members):
            step = steps[code : code + 1, :]
            self._scatters[code] = self._scatters[code] + (transpose(rows) @ rows + transpose(step) @ step)

    def finished(self) -> FloatArray:
        """Return the sums on the host."""
        return np.stack([symmetric(to_host(scatter)) for scatter in self._scatters])

    @staticmethod
    def variances(finished: FloatArray) -> FloatArray:
        """Return the diagonals."""
        return np.diagonal(finished, axis1=-2, axis2=-1)


class RunningWeights:
    """The weight of the rows of each class, and of those in which each cell is known, over the blocks added so far."""

    def __init__(self, blocks: Blocks, classes: int) -> None:
        self._xp = blocks.xp
        self._rows = blocks.zeros(classes)  # (k,)
        self.cells = blocks.zeros(classes, 1)  # (k, 1) until a cell is missing, then (k, d)
        self._missing = False

    def add(self, members: Members, known: Array | None) -> Array:
        """Add a block and return its weights, (k, 1) or (k, d); None says that all cells, (n, d), are known."""
        rows = members.weights()
        cells = rows[:, None] if known is None else members.sums(self._xp.astype(known, self._xp.float64))
        self._rows, self.cells = self._rows + rows, self.cells + cells
        self._missing = self._missing or known is not None
        return cells

    def finished(self) -> tuple[FloatArray, FloatArray]:
        """Return the weights of the classes, (k,), and cells, (k, d) or (k, 0) where none is missing, on the host."""
        rows = to_host(self._rows)
        return rows, to_host(self.cells) if self._missing else np.zeros((len(rows), 0))


class RunningMoments:
    """Weight, mean and spread of each class, over the blocks added so far; of a cell, where it is known.

    Rows are measured from an origin among those of their class, each block is centred on its own class means, and
    blocks are merged by Chan's rule: nothing is squared far from a mean, and nothing is subtracted from a sum of
    squares. So an offset of 1e8 costs no digits, and a constant feature spreads by exactly 0.
    """

    def __init__(self, blocks: Blocks, classes: int, features: int, spread: type[Spread]) -> None:
        self._xp = blocks.xp
        self._weights = RunningWeights(blocks, classes)
        self._origin = blocks.zeros(classes, features)  # (k, d), the mean of the first block in which the cell is known
        self._mean = blocks.zeros(classes, features)  # (k, d), from the origin
        self._spread = spread(blocks, classes, features)

    def add(self, rows: Array, known: Array | None, members: Members) -> None:
        """Add a block of rows, (n, d), and where their cells are known, (n, d), or None for everywhere."""
        xp = self._xp
        before = self._weights.cells
        block_weights = self._weights.add(members, known)
        new = (before == 0) & (block_weights > 0)
        if xp.any(new):
            self._origin = xp.where(new, self._mean_of(rows, known, members, block_weights), self._origin)
        rows = self._apart(rows, self._origin, known, members)
        block_mean = _divided(xp, members.sums(rows), block_weights)
        deviations = self._apart(rows, block_mean, known, members)
        if members.weight is not None:
            deviations = deviations * xp.sqrt(members.weight)[:, None]

        share = _divided(xp, block_weights, self._weights.cells)
        apart = block_mean - self._mean
        # Roots of weights are multiplied before squaring: 0 times a square that overflows would be NaN.
        self._spread.add(deviations, xp.sqrt(before * share) * apart, members)
        self._mean = self._mean + share * apart

    def _mean_of(self, rows: Array, known: Array | None, members: Members, block_weights: Array) -> Array:
        """Return the mean of a block's rows in each class."""
        mean = _divided(self._xp, members.sums(rows), block_weights)
        # This has the rounding error of a long sum; the mean of the residuals corrects it.
        leftover = self._apart(rows, mean, known, members)
        return mean + _divided(self._xp, members.sums(leftover), block_weights)

    def _apart(self, rows: Array, centres: Array, known: Array | None, members: Members) -> Array:
        """Return the rows less the centres of their classes, (k, d); 0 where a cell is not known."""
        xp = self._xp
        apart = rows - xp.take(centres, members.codes, axis=0)
        return apart if known is None else xp.where(known, apart, xp.zeros_like(apart))

    def finished(self, features: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return weights, means, spread and weights of cells on the host; columns past ``features`` are targets."""
        weights, cells = self._weights.finished()
        mean, spread = to_host(self._origin + self._mean), self._spread.finished()
        inputs.check_overflow(weights, mean, self._spread.variances(spread), features=features)
        return weights, mean, spread, cells


def _each_class(rows: Array, members: Members) -> Iterator[tuple[int, Array]]:
    """Yield the code of each class that has rows in a block, and these rows."""
    xp = members.xp
    grouped = xp.take(rows, xp.argsort(members.codes), axis=0)
    ends = np.cumsum(to_host(xp.sum(members.onehot, axis=0)).astype(np.int64))
    start = 0
    for code, end in enumerate(ends.tolist()):
        if end > start:
            yield code, grouped[start:end, :]
        start = end


def quartic_sums(blocks: Blocks, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of z_j^2 z_l and of z_j^2 z_l^2 per class, (k, d, d), with z = x - mean of the class, (k, d)."""
    xp, centre = blocks.xp, blocks.from_host(mean)
    classes, features = mean.shape
    # Separate arrays, updated one at a time, so that no temporary is k times as large.
    cubes, quartic = ([blocks.zeros(features, features) for _ in range(classes)] for _ in range(2))
    for block in blocks:
        members = block.members(classes)
        z = block.features() - xp.take(centre, members.codes, axis=0)
        root = z
        if members.weight is not None:
            z = xp.where(members.weight[:, None] > 0, z, xp.zeros_like(z))  # 0 times an overflow would be NaN
            root = z * xp.sqrt(members.weight)[:, None]
        for code, rows in _each_class(xp.concat([z * root, root], axis=1), members):
            squares = xp.matrix_transpose(rows[:, :features])
            cubes[code] = cubes[code] + squares @ rows[:, features:]
            quartic[code] = quartic[code] + squares @ rows[:, :features]
    finished = [
        np.stack([to_host(sums) for sums in each]).reshape(classes, features, features) for each in (cubes, quartic)
    ]
    if not all(np.isfinite(sums).all() for sums in finished):
        widest = blocks.zeros(features)
        for block in blocks:
            z = block.features() - xp.take(centre, block.members(classes).codes, axis=0)
            widest = xp.maximum(widest, xp.max(xp.abs(z), axis=0))
        raise errors.feature_overflow(int(np.argmax(to_host(widest))))
    return finished[0], np.stack([symmetric(sums) for sums in finished[1]]).reshape(finished[1].shape)


def symmetric(matrix: FloatArray) -> FloatArray:
    """Return a matrix that is symmetric but for rounding as one that is so exactly."""
    return matrix / 2 + matrix.T / 2


def _divided(xp: Array, sums: Array, weights: Array) -> Array:
    """Return sums per class over the weights of the classes or their cells; 0 where there is no weight."""
    return sums / xp.where(weights > 0, weights, xp.ones_like(weights))

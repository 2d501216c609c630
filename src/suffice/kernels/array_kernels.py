"""Kernels for any array library that follows the array API: NumPy, torch, CuPy, JAX, on CPU or GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from suffice.kernels import inputs
from suffice.kernels.array_blocks import Array, Block, Blocks, to_host
from suffice.kernels.array_curvature import RunningCurvature, check_regression
from suffice.kernels.array_local import LOCAL_ROWS, LocalBlocks
from suffice.kernels.array_moments import (
    DiagonalSpread,
    FullSpread,
    RunningMoments,
    RunningWeights,
    Spread,
    TiedSpread,
    quartic_sums,
)
from suffice.kernels.array_scores import ArrayScores
from suffice.kernels.array_stochastic import ArrayWalks
from suffice.kernels.cuda.kernels import Fused, asked
from suffice.kernels.engine import Batch
from suffice.kernels.memory import in_blocks
from suffice.kernels.neighbourhood import LocalCurvature, LocalMoments, Neighbourhood
from suffice.kernels.protocol import FloatArray

if TYPE_CHECKING:
    from suffice.families.response import Response

R = TypeVar("R")


@dataclass(frozen=True)
class ArrayKernels(ArrayScores, ArrayWalks):
    """Sums over the rows of one batch, on the device of the batch.

    Rows are read in blocks; only the finished sums are copied to the host. See
    :class:`~suffice.kernels.protocol.Kernels` for the definitions of the sums.

    Parameters
    ----------
    block_rows
        Rows per block. None chooses them so that a block's float64 temporaries take around 32 MB (512 MB off the CPU).

    Examples
    --------
    >>> from suffice.kernels.engine import Batch
    >>> batch = Batch(np.array([[1, 0], [2, 5], [3, 1]]), y=np.array([0, 1, 0]))
    >>> weights, events = ArrayKernels().event_counts(batch, classes=2)
    >>> weights
    array([2., 1.])
    >>> events
    array([[4., 1.],
           [2., 5.]])
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()

    def depth(self, batch: Batch, classes: int) -> float:
        """Return how many rows are summed one after another, at most; libraries add up blocks in an order of theirs."""
        return float(min(batch.rows, 65536))

    @in_blocks
    def class_weights(self, batch: Batch, classes: int) -> FloatArray:
        """Return the weight of the rows of each class, (k,)."""
        inputs.check_classes(classes, batch.y)
        found = self._at_once(batch, lambda sums: sums.class_weights(classes))
        if found is not None:  # on a GPU
            return found
        blocks = self._blocks(batch, 2 * classes)
        total = blocks.zeros(classes)
        for block in blocks:
            total = total + block.members(classes).weights()
        weights = to_host(total)
        inputs.check_overflow(weights)
        return weights

    @in_blocks
    def event_counts(self, batch: Batch, classes: int, missing: bool = False) -> tuple[FloatArray, ...]:
        """Return class weights, (k,), the sum of x per class, (k, d), and with ``missing`` the cells."""
        inputs.check_classes(classes, batch.y)
        found = self._at_once(batch, lambda sums: sums.event_counts(classes))
        if found is not None:  # on a GPU
            return (*found, np.zeros((classes, 0))) if missing else found
        return self._class_sums(batch, classes, batch.features, lambda block: block.counts(missing), missing)

    @in_blocks
    def presence_counts(
        self, batch: Batch, classes: int, threshold: float, missing: bool = False
    ) -> tuple[FloatArray, ...]:
        """Return class weights, (k,), the weight of rows with x > threshold, (k, d), and with ``missing`` the cells."""
        inputs.check_threshold(threshold)
        inputs.check_classes(classes, batch.y)
        found = self._at_once(batch, lambda sums: sums.presence_counts(classes, threshold))
        if found is not None:  # on a GPU
            return (*found, np.zeros((classes, 0))) if missing else found

        def present(block: Block) -> tuple[Array, Array | None]:
            x, known = block.cells(missing)
            above = x > threshold if known is None else (x > threshold) & known
            return block.xp.astype(above, block.xp.float64), known

        return self._class_sums(batch, classes, batch.features, present, missing)

    @in_blocks
    def category_counts(
        self, batch: Batch, classes: int, sizes: tuple[int, ...], missing: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return class weights, (k,), and the weight of each category, (k, sum of sizes), features side by side."""
        inputs.check_sizes(sizes, batch.features, 0 if missing else 1)
        feature = np.repeat(np.arange(batch.features), sizes)  # of each column of counts
        category = np.concatenate([np.arange(0), *map(np.arange, sizes)])

        def belongs(block: Block) -> tuple[Array, None]:
            x = block.xp.take(block.categories(sizes, missing), block.blocks.from_host(feature, "int64"), axis=1)
            return block.xp.astype(x == block.blocks.from_host(category), block.xp.float64), None

        weights, counts = self._class_sums(batch, classes, sum(sizes), belongs, False)
        return weights, counts

    def _class_sums(
        self,
        batch: Batch,
        classes: int,
        columns: int,
        read: Callable[[Block], tuple[Array, Array | None]],
        missing: bool,
    ) -> tuple[FloatArray, ...]:
        """Return class weights, (k,), the sum per class of what ``read`` makes of a block, (k, columns), and cells."""
        inputs.check_classes(classes, batch.y)
        blocks = self._blocks(batch, 2 * classes + batch.features + (4 if missing else 2) * columns)
        weights, sums = RunningWeights(blocks, classes), blocks.zeros(classes, columns)
        for block in blocks:
            members = block.members(classes)
            values, known = read(block)
            weights.add(members, known)
            sums = sums + members.sums(values)
        rows, cells = weights.finished()
        finished = rows, to_host(sums)
        inputs.check_overflow(*finished)
        return (*finished, cells) if missing else finished

    @in_blocks
    def diagonal_moments(self, batch: Batch, classes: int, missing: bool = False) -> tuple[FloatArray, ...]:
        """Return class weights, (k,), means and centred sums of squares, (k, d), and with ``missing`` the cells."""
        inputs.check_classes(classes, batch.y)
        found = self._at_once(batch, lambda sums: sums.diagonal_moments(classes))
        if found is not None:  # on a GPU
            return (*found, np.zeros((classes, 0))) if missing else found
        moments = self._class_moments(batch, classes, DiagonalSpread, missing)
        return moments if missing else moments[:3]

    @in_blocks
    def full_moments(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return class weights, (k,), means, (k, d), and centred scatter per class, (k, d, d)."""
        inputs.check_classes(classes, batch.y)
        found = self._at_once(batch, lambda sums: sums.full_moments(classes))
        return self._class_moments(batch, classes, FullSpread)[:3] if found is None else found

    @in_blocks
    def tied_moments(self, batch: Batch, classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return class weights, (k,), means, (k, d), and the scatter about the class means, summed, (d, d)."""
        inputs.check_classes(classes, batch.y)
        found = self._at_once(batch, lambda sums: sums.tied_moments(classes))
        return self._class_moments(batch, classes, TiedSpread)[:3] if found is None else found

    def _class_moments(
        self, batch: Batch, classes: int, spread: type[Spread], missing: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return class weights, means, spread and the weight of the known cells."""
        inputs.check_classes(classes, batch.y)
        blocks = self._blocks(batch, 2 * classes + (6 if missing else 4) * batch.features)
        moments = RunningMoments(blocks, classes, batch.features, spread)
        for block in blocks:
            moments.add(*block.cells(missing), block.members(classes))
        return moments.finished(batch.features)

    @in_blocks
    def quartic_moments(self, batch: Batch, classes: int, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of z_j^2 z_l and of z_j^2 z_l^2 per class, (k, d, d), with z = x - mean of the class."""
        mean = np.asarray(mean, dtype=np.float64)
        inputs.check_classes(classes, batch.y)
        inputs.check_mean(mean, classes, batch.features)
        return quartic_sums(self._blocks(batch, 3 * classes + 6 * batch.features), mean)

    @in_blocks
    def normal_equations(self, batch: Batch) -> tuple[float, FloatArray, FloatArray]:
        """Return the weight, the mean, (d + t,), and the centred scatter, (d + t, d + t), of the rows [x, y]."""
        columns = batch.features + inputs.count_targets(batch.y)
        found = self._at_once(batch, lambda sums: sums.normal_equations())
        if found is not None:  # on a GPU
            return found
        blocks = self._blocks(batch, 2 + 5 * columns)
        moments = RunningMoments(blocks, 1, columns, TiedSpread)
        for block in blocks:
            y = block.targets()
            rows = blocks.xp.concat([block.features(), y if y.ndim == 2 else y[:, None]], axis=1)
            moments.add(rows, None, block.everyone())
        weights, mean, scatter, _ = moments.finished(batch.features)
        return float(weights[0]), mean[0], scatter

    @in_blocks
    def curvature(
        self, batch: Batch, response: Response, theta: FloatArray, intercept: bool, hessian: bool
    ) -> tuple[float, float, FloatArray, FloatArray]:
        """Return weight, value, gradient, (p, t), and negative expected Hessian, (p t, p t), of a log-likelihood.

        A theta so large that a predictor overflows gives a value that is not finite, not an error: a solver then knows
        that its step was too long.
        """
        theta = np.asarray(theta, dtype=np.float64)
        check_regression(batch, response, theta, intercept)
        found = self._at_once(batch, lambda sums: sums.curvature(response, theta, intercept, hessian))
        if found is not None:  # on a GPU
            return found
        blocks = self._blocks(batch, 3 * theta.shape[0] + theta.shape[1] * (theta.shape[1] + 4))
        curvature = RunningCurvature(blocks, theta, intercept, hessian)
        for block in blocks:
            curvature.add(block, response)
        return curvature.finished()

    @in_blocks
    def local_moments(
        self, batch: Batch, rows: Batch, neighbourhood: Neighbourhood, squares: bool = False
    ) -> LocalMoments:
        """Return the weighted products of the local design and the targets around each query."""
        inputs.check_queries(batch, rows)
        return LocalBlocks(batch, rows, neighbourhood, self._local_rows()).moments(squares)

    @in_blocks
    def local_curvature(
        self, batch: Batch, rows: Batch, neighbourhood: Neighbourhood, theta: FloatArray
    ) -> LocalCurvature:
        """Return the local log-likelihood of Bernoulli targets and its derivatives around each query."""
        theta = np.asarray(theta, dtype=np.float64)
        inputs.check_queries(batch, rows, one_target=True)
        inputs.check_local_theta(theta, batch.rows, neighbourhood.parameters(batch.features))
        return LocalBlocks(batch, rows, neighbourhood, self._local_rows()).curvature(theta)

    def _blocks(self, batch: Batch, floats_per_row: int) -> Blocks:
        return Blocks(batch, floats_per_row, self.block_rows, self.share)

    def _local_rows(self) -> int | None:
        return self.block_rows if self.share == 1 else self.rows_of_blocks(LOCAL_ROWS)

    def _at_once(self, batch: Batch, ask: Callable[[Fused], R | None]) -> R | None:
        """Return a sum by fused kernels; None if there are none for the batch, or if they found an invalid value."""
        if self.share > 1:  # memory is short
            return None
        return asked(batch, ask)

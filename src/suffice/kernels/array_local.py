"""Local fits through the array API: queries beside rows, a block of both at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.kernels import inputs
from suffice.kernels.array_blocks import ACCELERATOR_BLOCK_BYTES, BLOCK_BYTES, Array, Block, Blocks, to_host
from suffice.kernels.engine import Batch
from suffice.kernels.neighbourhood import NEGLIGIBLE, LocalCurvature, LocalMoments, Neighbourhood
from suffice.kernels.protocol import FloatArray

#: Rows that a block of queries is compared with at a time.
LOCAL_ROWS = 4096


@dataclass(frozen=True)
class Around:
    """A block of queries, with the nearest row of each."""

    x: Array  # (m, d), the queries
    left_out: Array | None  # (m,), the row that each does without, -1 for none
    closest: Array  # (m,), the squared distance of the nearest row, in bandwidths
    nearest: Array  # (m,) int64
    centre: Array  # (m, d), the nearest row
    target: Array  # (m, t), and its targets
    shift: Array  # (m, d), from the query to it, in bandwidths


@dataclass(frozen=True)
class LocalBlocks:
    """Queries and the rows around them, on the device of the rows."""

    queries: Batch
    rows: Batch
    neighbourhood: Neighbourhood
    block_rows: int | None

    def __post_init__(self) -> None:
        inputs.count_targets(self.rows.y)

    def moments(self, squares: bool) -> LocalMoments:
        """Return the weighted products of the local design and the targets."""
        xp, parts = self._rows.xp, []
        for around in self._arounds():
            m = around.x.shape[0]
            sums = [self._rows.zeros(m, self._p, self._p), self._rows.zeros(m, self._p, self._t)]
            sums.append(self._rows.zeros(m if squares else 0, self._p, self._p))
            for block in self._rows:
                near, weight, design = self._weighed(block, around)
                weighted = xp.matrix_transpose(design * weight[:, :, None])  # (m, p, n)
                sums[0] = sums[0] + weighted @ design
                sums[1] = sums[1] + weighted @ (self._targets(block)[None, :, :] - around.target[:, None, :])
                if squares:
                    sums[2] = sums[2] + (weighted * near[:, None, :]) @ design
            parts.append([to_host(part) for part in (around.nearest, around.shift, *sums)])
        return LocalMoments(*self._joined(parts, ((), (self._d,), (self._p,) * 2, (self._p, self._t), (self._p,) * 2)))

    def curvature(self, theta: FloatArray) -> LocalCurvature:
        """Return the log-likelihood of Bernoulli targets, and its derivatives."""
        xp, parts, done = self._rows.xp, [], 0
        for around in self._arounds():
            m = around.x.shape[0]
            point = self._rows.from_host(theta[done : done + m])  # (m, p)
            done += m
            value, gradient = self._rows.zeros(m), self._rows.zeros(m, self._p)
            hessian = self._rows.zeros(m, self._p, self._p)
            for block in self._rows:
                _, weight, design = self._weighed(block, around)
                y = self._targets(block)[None, :, 0]
                z = (design @ point[:, :, None])[:, :, 0]
                e = xp.exp(-xp.abs(z))  # exponent <= 0: cannot overflow
                share = 1 / (1 + e)
                mean = xp.where(z > 0, share, e * share)
                likelihood = y * z - xp.where(z > 0, z, xp.zeros_like(z)) - xp.log1p(e)
                value = value + xp.sum(weight * likelihood, axis=1)
                turned = xp.matrix_transpose(design)
                gradient = gradient + (turned @ (weight * (y - mean))[:, :, None])[:, :, 0]
                hessian = hessian + (turned * (weight * e * share * share)[:, None, :]) @ design
            parts.append([to_host(part) for part in (around.nearest, around.shift, value, gradient, hessian)])
        return LocalCurvature(*self._joined(parts, ((), (self._d,), (), (self._p,), (self._p,) * 2)))

    @property
    def _d(self) -> int:
        return self.rows.features

    @property
    def _p(self) -> int:
        return self.neighbourhood.parameters(self._d)

    @property
    def _t(self) -> int:
        return inputs.count_targets(self.rows.y)

    @property
    def _rows(self) -> Blocks:
        return Blocks(self.rows, 1, self.block_rows or LOCAL_ROWS)

    def _targets(self, block: Block) -> Array:
        y = block.targets()
        return y if y.ndim == 2 else y[:, None]

    def _arounds(self) -> Iterator[Around]:
        """Yield the queries a block at a time, with the row nearest to each."""
        bytes_of_block = BLOCK_BYTES if "cpu" in str(self._rows.device).lower() else ACCELERATOR_BLOCK_BYTES
        rows = min(self.block_rows or LOCAL_ROWS, max(1, self.rows.rows))
        most = max(1, bytes_of_block // (8 * rows * (2 * self._d + 3 * self._p + 8)))
        for block in Blocks(self.queries, 1, min(self.block_rows or most, most)):
            yield self._around(block.features(), self._left_out(block))

    def _left_out(self, block: Block) -> Array | None:
        """Return the row that each query of a block does without, (m,), if any does."""
        if self.queries.y is None:
            return None
        places = to_host(self.queries.y)[block.start : block.stop]
        inputs.check_left_out(places, block, self.rows)
        return self._rows.from_host(places, "int64")

    def _around(self, x: Array, left_out: Array | None) -> Around:
        rows, m = self._rows, x.shape[0]
        xp = rows.xp
        closest = rows.zeros(m) + float("inf")
        nearest = rows.from_host(np.full(m, -1), "int64")
        centre, target = rows.zeros(m, self._d), rows.zeros(m, self._t)
        for block in rows:
            squared = self._distances(block, x)
            squared = xp.where(self._present(block, left_out) > 0, squared, xp.full_like(squared, float("inf")))
            here = xp.min(squared, axis=1)
            place = xp.argmin(squared, axis=1)
            nearer = here < closest
            closest = xp.where(nearer, here, closest)
            nearest = xp.where(nearer, xp.astype(place, xp.int64) + block.start, nearest)
            centre = xp.where(nearer[:, None], xp.take(block.features(), place, axis=0), centre)
            target = xp.where(nearer[:, None], xp.take(self._targets(block), place, axis=0), target)
        shift = xp.where((nearest >= 0)[:, None], (centre - x) * (1 / self.neighbourhood.bandwidth), rows.zeros(m, 1))
        return Around(x, left_out, closest, nearest, centre, target, shift)

    def _distances(self, block: Block, x: Array) -> Array:
        """Return the squared distances of rows from queries, (m, n), in bandwidths."""
        z = (block.features()[None, :, :] - x[:, None, :]) * (1 / self.neighbourhood.bandwidth)
        return block.xp.sum(z * z, axis=2)

    def _present(self, block: Block, left_out: Array | None) -> Array:
        """Return the weight of each row for each query, (m, n) or (1, n)."""
        weight = block.weight()
        if weight is None:
            weight = self._rows.zeros(block.stop - block.start) + 1.0
        if left_out is None:
            return weight[None, :]
        places = self._rows.from_host(np.arange(block.start, block.stop), "int64")
        return block.xp.where(places[None, :] == left_out[:, None], self._rows.zeros(1), weight[None, :])

    def _weighed(self, block: Block, around: Around) -> tuple[Array, Array, Array]:
        """Return the kernel, (m, n), the rows' weights times it, (m, n), and the local design, (m, n, p)."""
        xp = block.xp
        u = (block.features()[None, :, :] - around.centre[:, None, :]) * (1 / self.neighbourhood.bandwidth)
        near = self._near(block, around, u)
        weight = near * self._present(block, around.left_out)
        weight = xp.where((around.nearest >= 0)[:, None], weight, xp.zeros_like(weight))
        columns = [xp.ones_like(u[:, :, :1])]
        if self.neighbourhood.degree > 0:
            columns.append(u)
        for one, two in zip(*self.neighbourhood.pairs(self._d), strict=True):
            columns.append((u[:, :, int(one)] * u[:, :, int(two)])[:, :, None])
        return near, weight, xp.concat(columns, axis=2)

    def _near(self, block: Block, around: Around, u: Array) -> Array:
        """Return the kernel relative to its value at the nearest row (Gaussian), or as it is, (m, n)."""
        xp = block.xp
        if self.neighbourhood.kernel == "gaussian":
            beyond = xp.sum(u * (u + 2 * around.shift[:, None, :]), axis=2)
            # Rows without weight may be nearer than the nearest: nothing may overflow there.
            beyond = xp.where(beyond > 0, beyond, xp.zeros_like(beyond))
            return xp.where(beyond > 2 * NEGLIGIBLE, xp.zeros_like(beyond), xp.exp(-0.5 * beyond))
        squared = self._distances(block, around.x)
        inside = xp.where(squared < 1, squared, xp.ones_like(squared))
        closest = around.closest[:, None]
        match self.neighbourhood.kernel:
            case "epanechnikov":
                near, empty = 1 - inside, closest >= 1
            case "tricube":
                near, empty = (1 - inside * xp.sqrt(inside)) ** 3, closest >= 1
            case _:
                near, empty = xp.astype(squared <= 1, xp.float64), closest > 1
        return xp.where(empty, xp.astype(squared <= closest, xp.float64), near)

    def _joined(self, parts: list[list[FloatArray]], shapes: tuple[tuple[int, ...], ...]) -> list[Any]:
        empty = [np.zeros((0, *shape), dtype=np.float64 if place else np.int64) for place, shape in enumerate(shapes)]
        return [np.concatenate(column) for column in zip(empty, *parts, strict=True)]

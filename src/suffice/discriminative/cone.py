"""The rows of classes as constraints on a direction that separates them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice.discriminative.robust import CELLS, read_rows
from suffice.engines import Batch, Engine
from suffice.engines.array_blocks import to_host
from suffice.engines.native_rows import is_csr
from suffice.engines.results import taken
from suffice.statistics.base import FloatArray

Flags = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]

#: With columns between -1 and 1 and the largest coefficient 1: a row closer to the border than the first lies on it,
#: one farther than the second off it. The programme itself is solved more exactly.
TOUCHING = 1e-7
APART = 1e-6


class Moved(NamedTuple):
    """What a direction does to the rows."""

    beta: FloatArray  # (p, t), of columns between -1 and 1; its largest entry is 1
    low: FloatArray  # (n,), the smallest of a row's scores for its class less those for the others
    gain: FloatArray  # (n,), the largest of them

    @property
    def separates(self) -> bool:
        """Whether no row is moved to the wrong side, and some to the right one."""
        return bool(self.low.min(initial=np.inf) >= -TOUCHING and self.gain.max(initial=-np.inf) > APART)

    @property
    def complete(self) -> bool:
        """Whether all rows are moved to their side."""
        return self.separates and bool(self.low.min() > APART)


@dataclass(frozen=True, eq=False)
class Cone:
    """The rows as constraints on a direction beta, (p, t): none may be moved towards another class.

    Columns are shifted and scaled to lie between -1 and 1; those of CSR, and without an intercept, are only scaled.
    """

    engine: Engine
    batch: Batch
    classes: int
    intercept: bool
    centre: FloatArray  # (d,)
    scale: FloatArray  # (d,)

    @classmethod
    def over(cls, engine: Engine, batch: Batch, classes: int, intercept: bool) -> Cone:
        """Return the constraints of a batch's rows."""
        raw = cls(engine, batch, classes, False, np.zeros(batch.features), np.ones(batch.features))
        ranges = list(engine.map(raw._ranges, batch))
        low = np.min([part[0] for part in ranges], axis=0)
        high = np.max([part[1] for part in ranges], axis=0)
        low, high = (np.where(low <= high, end, 0.0) for end in (low, high))  # where no row counts, nothing does
        centre = low / 2 + high / 2 if intercept and not is_csr(batch.x) else np.zeros(batch.features)
        reach = np.maximum(high - centre, centre - low)
        return cls(engine, batch, classes, intercept, centre, np.where(reach > 0, reach, 1.0))

    @property
    def scores_of(self) -> FloatArray:
        """The classes' scores are the predictors times this, (t, k): one class has none."""
        rest = np.zeros((self.classes - 1, 1))
        return np.hstack([rest, np.eye(1)] if self.classes == 2 else [np.eye(self.classes - 1), rest])

    def inward(self, theta: FloatArray) -> FloatArray:
        """Return theta as of the scaled columns."""
        beta = theta.copy()
        beta[int(self.intercept) :] *= self.scale[:, None]
        if self.intercept:
            beta[0] += self.centre @ theta[1:]
        return beta

    def outward(self, beta: FloatArray) -> FloatArray:
        """Return beta as of the columns as they came."""
        theta = beta.copy()
        theta[int(self.intercept) :] /= self.scale[:, None]
        if self.intercept:
            theta[0] -= self.centre @ theta[1:]
        return theta

    def design(self, x: Any) -> Any:
        """Return rows of x, scaled and with a leading 1 where there is an intercept: dense or CSR."""
        if is_csr(x):
            scaled = x @ sparse.diags_array(1 / self.scale)
            parts: Any = [np.ones((x.shape[0], 1)), scaled]
            return sparse.hstack(parts, "csr") if self.intercept else scaled.tocsr()
        scaled = (x - self.centre) / self.scale
        return np.column_stack([np.ones(len(x)), scaled]) if self.intercept else scaled

    def members(self, y: npt.NDArray[Any], weight: npt.NDArray[Any] | None) -> Flags:
        """Return which classes each row was seen in, (n, k)."""
        seen = np.column_stack([y < 1, y > 0]) if self.classes == 2 else y[:, None] == np.arange(self.classes)
        return seen if weight is None else seen & (weight > 0)[:, None]

    def _blocks(self, part: Batch) -> Iterator[tuple[Any, Flags]]:
        """Yield the rows of a part as they came, dense or CSR, and which classes each was seen in."""
        width = part.x.nnz // max(1, part.x.shape[0]) if is_csr(part.x) else part.features
        height = max(1, CELLS // (width + self.classes + 1))
        for start in range(part.start, part.stop, height):
            stop = min(start + height, part.stop)
            weight = None if part.weight is None else to_host(part.weight[start:stop])
            yield read_rows(part.x, start, stop), self.members(to_host(part.y[start:stop]), weight)

    def _ranges(self, part: Batch, _: Any) -> tuple[FloatArray, FloatArray]:
        low, high = np.full(part.features, np.inf), np.full(part.features, -np.inf)
        for x, members in self._blocks(part):
            counted = x[members.any(axis=1)]
            if counted.shape[0]:
                np.minimum(low, _flat(counted.min(axis=0)), out=low)
                np.maximum(high, _flat(counted.max(axis=0)), out=high)
        return low, high

    def total(self) -> FloatArray:
        """Return the sum of all constraints, (p, t)."""
        sums = sum(self.engine.map(self._class_sums, self.batch))
        return np.asarray((self.classes * sums - np.sum(sums, axis=1, keepdims=True)) @ self.scores_of.T)

    def _class_sums(self, part: Batch, _: Any) -> FloatArray:
        sums = np.zeros((part.features + int(self.intercept), self.classes))
        for x, members in self._blocks(part):
            sums += self.design(x).T @ members.astype(np.float64)
        return sums

    def moved(self, beta: FloatArray) -> Moved:
        """Return what a direction, its largest entry made 1, does to the rows."""
        beta = beta / (np.abs(beta).max(initial=0.0) or 1.0)
        parts = list(self.engine.map(partial(self._margins, beta), self.batch))
        return Moved(beta, *(np.concatenate([part[place] for part in parts]) for place in (0, 1)))

    def _margins(self, beta: FloatArray, part: Batch, _: Any) -> tuple[FloatArray, FloatArray]:
        low, gain = [np.zeros(0)], [np.zeros(0)]
        for x, members in self._blocks(part):
            scores = self.design(x) @ beta @ self.scores_of
            second, first = np.partition(scores, -2, axis=1)[:, -2:].T
            rival = np.where(scores >= first[:, None], second[:, None], first[:, None])
            low.append(np.where(members, scores - rival, np.inf).min(axis=1))
            gain.append(np.where(members, scores - scores.min(axis=1, keepdims=True), -np.inf).max(axis=1))
        return np.concatenate(low), np.concatenate(gain)

    def constraints(self, rows: Positions) -> Any:
        """Return what must not be negative for some rows, one constraint a line, theta column by column."""
        places = np.sort(rows) + self.batch.start
        weight = None if self.batch.weight is None else _numbers(self.batch.weight, places)
        design = self.design(_numbers(self.batch.x, places))
        members = self.members(_numbers(self.batch.y, places), weight)
        lines: list[Any] = [sparse.csr_array((0, design.shape[1] * (self.classes - 1)))]
        for one in range(self.classes):
            own = design[members[:, one]]
            own = own if is_csr(own) else np.unique(own, axis=0)
            apart = self.scores_of[:, one] - np.delete(self.scores_of, one, axis=1).T  # (k - 1, t)
            lines.append(sparse.kron(apart, own, "csr"))
        return sparse.vstack(lines, "csr")


def _numbers(array: Any, places: Positions) -> Any:
    """Return some rows of an array of any library as float64 NumPy, those of a CSR matrix as CSR."""
    some = taken(array, places)
    return (some if is_csr(some) else to_host(some)).astype(np.float64, copy=False)


def _flat(values: Any) -> FloatArray:
    """Return the extremes of columns, which scipy gives as a sparse row."""
    dense = values if isinstance(values, np.ndarray) else values.toarray()
    return np.asarray(dense, dtype=np.float64).ravel()

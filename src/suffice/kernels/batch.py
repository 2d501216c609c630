"""A batch: some rows of features with what belongs to each row, and the range of rows to sum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from suffice.statistics.base import Cost

#: Fewer numbers than this are read sooner than two threads are brought to work on them.
SMALL = 1 << 18
#: Numbers that are read in the time that it takes to begin another part.
_PART = 1 << 20
#: Numbers that are read in the time in which one number of a part's result is allocated and added.
_ADDING = 16
#: Rows are cut into no more parts than this.
_MOST = 32


@dataclass(frozen=True)
class Batch:
    """Rows to be summed. Arrays stay where they are: a part of a batch is the same arrays with another row range.

    Parameters
    ----------
    x
        Features, (n, d): any array of the engine's library, or a scipy CSR matrix.
    y
        Class codes 0 to k - 1, (n,), for sums per class; targets, (n,) or (n, t), for regressions.
    weight
        One weight per row, (n,); every row counts once where it is None.
    offset
        A known part of the linear predictor, (n,) or (n, t); zero where it is None.
    trials
        The factor in ``weight`` that belongs to one observation, (n,), and does not tell how often there is one: the
        trials that a target is the mean of, the weight of a class; 1 where it is None.
    start, stop
        The rows that count; all of them by default.
    work
        How many numbers are read for each number of x: for queries against rows, the number of rows. Engines start
        threads where there is enough to do.

    Examples
    --------
    >>> import numpy as np
    >>> [(part.start, part.stop) for part in Batch(np.zeros((10, 2))).split(3)]
    [(0, 3), (3, 6), (6, 10)]
    """

    x: Any
    y: Any = None
    weight: Any = None
    offset: Any = None
    start: int = 0
    stop: int = -1
    work: int = 1
    trials: Any = None

    def __post_init__(self) -> None:
        shape = getattr(self.x, "shape", None)
        if shape is None or len(shape) != 2:
            raise ValueError(f"x must be two-dimensional, rows by features; got {_seen(self.x)}")
        for name in ("y", "weight", "offset", "trials"):
            column = getattr(self, name)
            if column is None:
                continue
            seen = getattr(column, "shape", None)
            if seen is None or len(seen) not in ((1, 2) if name in ("y", "offset") else (1,)) or seen[0] != shape[0]:
                raise ValueError(f"{name} must have one entry per row of x, which has {shape[0]}; got {_seen(column)}")
        if self.stop == -1:
            object.__setattr__(self, "stop", shape[0])
        if not 0 <= self.start <= self.stop <= shape[0]:
            raise ValueError(f"rows {self.start} to {self.stop} are not among the {shape[0]} rows of x")

    @property
    def rows(self) -> int:
        """How many rows count."""
        return self.stop - self.start

    @property
    def features(self) -> int:
        """How many features a row has."""
        return int(self.x.shape[1])

    @property
    def size(self) -> int:
        """How many numbers are read: those of all features, or those that CSR stores, times the work."""
        stored = getattr(self.x, "nnz", None)
        if stored is None:
            return self.work * self.rows * self.features
        return self.work * max(self.rows, int(stored) * self.rows // max(1, int(self.x.shape[0])))

    def parts(self, cost: Cost | None = None) -> list[Batch]:
        """Return the rows in the parts in which they are summed.

        Where rows are cut depends on their number and on the cost of their sum, not on the number of threads: the sum
        of the parts has the same bits for any. There are 1, 2, 4, 8, 16 or 32 parts, about the root of the work in
        units of what one more part costs, since the sums of the parts are added one by one.

        Parameters
        ----------
        cost
            Of the sum over all rows; by default that of reading them, with nothing to add.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics.base import Cost
        >>> batch = Batch(np.zeros((500_000, 40), dtype=np.int8))
        >>> len(batch.parts()), len(batch.parts(Cost(batch.size, result=50_000)))
        (4, 2)
        """
        work, result = cost or (self.size, 0)
        adding = _ADDING * result
        if work < SMALL + adding:
            return [self]
        times = max(1, work // (_PART + adding))
        return list(self.split(min(_MOST, max(2, 1 << (times.bit_length() - 1) // 2))))

    def split(self, parts: int) -> Iterator[Batch]:
        """Yield the rows in ``parts`` consecutive ranges of nearly equal work, leaving out empty ones.

        Work is the number of rows, or of stored values where x is CSR.
        """
        for start, stop in pairwise(self._bounds(parts)):
            if stop > start:
                yield replace(self, start=start, stop=stop)

    def _bounds(self, parts: int) -> list[int]:
        ends = getattr(self.x, "indptr", None)
        if ends is None or len(ends) != self.x.shape[0] + 1:
            return [self.start + self.rows * part // parts for part in range(parts + 1)]
        ends = ends[self.start : self.stop + 1]
        shares = [int(ends[0]) + (int(ends[-1]) - int(ends[0])) * part // parts for part in range(1, parts)]
        inner = [self.start + int(cut) for cut in ends.searchsorted(shares)]
        # The indices of a broken matrix may fall: the cuts must not, so that every row is in one part.
        return sorted([self.start, *(min(cut, self.stop) for cut in inner), self.stop])


def _seen(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"a {type(value).__name__}, which is no array" if shape is None else f"shape {tuple(shape)}"

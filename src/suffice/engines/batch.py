"""A batch: some rows of features with what belongs to each row, and the range of rows to sum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any


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

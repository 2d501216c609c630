"""Rows drawn at random from a stream of unknown length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from suffice.tables.source import arrow

if TYPE_CHECKING:
    import pyarrow as pa


class Sample:
    """The rows of a stream whose random numbers are lowest: all of them while they are few.

    Parameters
    ----------
    most
        How many rows to hold.
    seed
        Of the random numbers.
    expected
        About how many rows will come, where that is known: then few are held that are let go of later.

    Examples
    --------
    >>> sample = Sample(2)
    >>> sample.add(arrow().record_batch({"a": [1, 2, 3]}))
    >>> sample.table().num_rows
    2
    """

    def __init__(self, most: int, seed: int = 0, expected: int | None = None) -> None:
        self.most = most
        self._random = np.random.default_rng(seed)
        self._parts: list[tuple[npt.NDArray[np.float64], pa.RecordBatch]] = []
        self._held = 0
        self._bar = 1.0 if expected is None else 1.5 * most / max(expected, 1)

    def add(self, batch: pa.RecordBatch) -> None:
        """Draw from a batch."""
        keys = self._random.random(batch.num_rows)
        places = np.flatnonzero(keys < self._bar)
        if not len(places):
            return
        self._parts.append((keys[places], batch if len(places) == len(keys) else batch.take(arrow().array(places))))
        self._held += len(places)
        if self._held > 1.5 * self.most:
            self._cut()

    def _cut(self) -> None:
        """Let go of the rows that are too many."""
        if self._held <= self.most:
            return
        pa = arrow()
        self._bar = float(np.partition(np.concatenate([keys for keys, _ in self._parts]), self.most)[self.most])
        parts = []
        for keys, rows in self._parts:
            kept = np.flatnonzero(keys < self._bar)
            if len(kept):
                parts.append((keys[kept], rows if len(kept) == len(keys) else rows.take(pa.array(kept))))
        self._parts = parts
        self._held = sum(len(keys) for keys, _ in parts)

    def table(self) -> pa.Table:
        """Return the rows that were drawn, in the order in which they came."""
        self._cut()
        return arrow().Table.from_batches([part for _, part in self._parts])

"""Rows that are looked at more than once: in memory while they are few, in a temporary file beyond that."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.tables.sources import arrow

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes of rows that are kept in memory.
MEMORY = 1 << 30
#: Rows that are drawn to choose a model by.
SAMPLE = 50_000


class Kept:
    """Batches that can be read again.

    Examples
    --------
    >>> with Kept() as kept:
    ...     kept.add(arrow().record_batch({"a": [1, 2]}))
    ...     [batch.num_rows for batch in kept]
    [2]
    """

    def __init__(self, memory: int = MEMORY) -> None:
        self._memory = memory
        self._held: list[pa.RecordBatch] = []
        self._bytes = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._writer: Any = None
        self.rows = 0

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._held.clear()

    def add(self, batch: pa.RecordBatch) -> None:
        """Keep a batch."""
        self.rows += batch.num_rows
        if self._writer is not None:
            self._writer.write_batch(batch)
            return
        self._held.append(batch)
        self._bytes += batch.nbytes
        if self._bytes > self._memory:
            self._spill()

    def _spill(self) -> None:
        pa = arrow()
        self._folder = tempfile.TemporaryDirectory(prefix="suffice-")
        self._writer = pa.ipc.new_file(str(self._path), self._held[0].schema)
        for batch in self._held:
            self._writer.write_batch(batch)
        self._held.clear()

    @property
    def _path(self) -> Path:
        assert self._folder is not None
        return Path(self._folder.name) / "rows.arrow"

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        if self._folder is None:
            yield from self._held
            return
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        pa = arrow()
        with pa.memory_map(str(self._path)) as file:
            reader = pa.ipc.open_file(file)
            for place in range(reader.num_record_batches):
                yield reader.get_batch(place)


class Sample:
    """Rows drawn at random from a stream of unknown length: those whose random numbers are lowest."""

    def __init__(self, most: int = SAMPLE, seed: int = 0) -> None:
        self.most = most
        self._random = np.random.default_rng(seed)
        self._parts: list[tuple[npt.NDArray[np.float64], pa.RecordBatch]] = []
        self._held = 0
        self._bar = np.inf

    def add(self, batch: pa.RecordBatch) -> None:
        """Draw from a batch."""
        keys = self._random.random(batch.num_rows)
        places = np.flatnonzero(keys < self._bar)
        if not len(places):
            return
        self._parts.append((keys[places], batch if len(places) == len(keys) else batch.take(arrow().array(places))))
        self._held += len(places)
        if self._held > 3 * self.most:
            self._cut()

    def _cut(self) -> None:
        pa = arrow()
        keys = np.concatenate([keys for keys, _ in self._parts])
        rows = pa.Table.from_batches([part for _, part in self._parts])
        if len(keys) > self.most:
            self._bar = float(np.partition(keys, self.most)[self.most])
            kept = np.flatnonzero(keys < self._bar)
            keys, rows = keys[kept], rows.take(pa.array(kept))
        whole = rows.combine_chunks().to_batches()
        self._parts = [(keys, whole[0])] if whole else []
        self._held = len(keys)

    def table(self) -> pa.Table:
        """Return the rows that were drawn, in the order in which they came."""
        self._cut()
        return arrow().Table.from_batches([part for _, part in self._parts])

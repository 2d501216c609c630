"""Rows drawn at random from a stream of unknown length, and a random order that depends on their contents alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels
from suffice.tables.blocks import Block
from suffice.tables.ledger import Digests, Ledger
from suffice.tables.source import arrow

if TYPE_CHECKING:
    import pyarrow as pa

#: Bits of a number's mantissa that do not count in its order: readers of text differ in the last one.
_LOOSE_BITS = 20


class Sample:
    """The rows of a stream whose random numbers are lowest: all of them while they are few.

    Parameters
    ----------
    most
        How many rows to hold.
    seed
        Of the random numbers.

    Examples
    --------
    >>> sample = Sample(2)
    >>> sample.add(arrow().record_batch({"a": [1, 2, 3]}))
    >>> sample.table().num_rows
    2
    """

    def __init__(self, most: int, seed: int = 0) -> None:
        self.most = most
        self._random = np.random.default_rng(seed)
        self._parts: list[tuple[npt.NDArray[np.float64], pa.RecordBatch]] = []
        self._held = 0
        self._bar = 1.0

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


def order_by_content(
    batches: Iterable[tuple[Block, npt.NDArray[Any]]], labels: Labels, seed: int
) -> npt.NDArray[np.intp]:
    """Return a random permutation of rows that is the same in whichever order the rows are given.

    Rows are sorted by a hash of their cells and target. Equal rows are told apart by counting them, so the first rows
    of the order are a sample of all rows, and not of the distinct ones.

    Parameters
    ----------
    batches
        The rows, with codes of the labels, or numbers.
    labels
        The classes; empty where the target is a number.
    seed
        Which of the permutations.

    Examples
    --------
    >>> cells = np.array([3.0, 1.0, 2.0, 1.0])
    >>> orders = [
    ...     order_by_content([(Block((), (column,), 4), np.zeros(4))], Labels(), 0) for column in (cells, cells[::-1])
    ... ]
    >>> cells[orders[0]].tolist() == cells[::-1][orders[1]].tolist()
    True
    """
    ledger = Ledger.empty(0)
    hashes: list[tuple[Digests, Digests]] = []
    ranks = np.argsort(np.argsort([str(name) for name in labels.names])).astype(np.float64)
    for block, values in batches:
        # Classes by their rank: no and yes of a file are false and true of a database.
        columns = ledger.encode(block, ranks[values] if len(labels) else values, Labels()).T
        is_number = [*(isinstance(column, np.ndarray) for column in block.columns), True]
        rounded = [_rounded(cells) if number else cells for cells, number in zip(columns, is_number, strict=True)]
        hashes.append((_hash(rounded), _hash(columns)))
    coarse, fine = (np.concatenate(parts) for parts in zip(*hashes, strict=True))
    order = np.lexsort((fine, coarse))
    ordered = coarse[order]
    repeats = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)  # how many equal rows come before
    start = np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)
    return order[np.argsort(_hash([start, ordered, repeats.astype(np.uint64)]), kind="stable")]


def _rounded(cells: Digests) -> Digests:
    """Return the bits of numbers without those of the mantissa that do not count."""
    half, loose = np.uint64(1 << (_LOOSE_BITS - 1)), np.uint64((1 << _LOOSE_BITS) - 1)
    return (cells + half) & ~loose


def _hash(columns: Iterable[Digests]) -> Digests:
    """Return a hash of each row of 64-bit columns, (n,): the finaliser of SplitMix64, column by column."""
    found: Digests = np.zeros(1, dtype=np.uint64)
    for column in columns:
        found = (found ^ column) + np.uint64(0x9E3779B97F4A7C15)
        found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found = found ^ (found >> np.uint64(31))
    return found

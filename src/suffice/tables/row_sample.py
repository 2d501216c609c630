"""Random sample of a stream of rows that depends on the contents of the rows and a seed alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.column_kinds import TRUTH_WORDS
from suffice.statistics import Labels
from suffice.tables.arrow_arrays import from_numbers
from suffice.tables.encoding import Block, CodedColumn
from suffice.tables.sources.base import arrow

if TYPE_CHECKING:
    import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

#: Bits of a mantissa that the hash ignores: parsers of text differ in the last one.
_LOOSE_BITS = 20
#: Largest number of distinct rows whose repetitions are counted: their table takes 96 MiB.
_COUNTED = 1 << 22
_ALL = (1 << 64) - 1


def _take_rows(batch: pa.RecordBatch, places: npt.NDArray[np.intp]) -> pa.RecordBatch:
    return batch.take(from_numbers(places))


class RowSample:
    """A random sample of a stream of rows that depends on their contents and a seed alone, not on their order.

    Each row has a pseudo-random number, derived from its hash, the seed, and the number of earlier rows with this hash.
    The sample consists of the rows with the lowest numbers; of all rows while they are few. Equal rows have different
    numbers, so a row that occurs a thousand times is drawn a thousand times as often. Beyond four million distinct
    rows, further equal rows are drawn together or not at all.

    Parameters
    ----------
    most
        Maximum number of rows of the sample.
    seed
        Seed of the random numbers.
    take
        Returns the rows of a batch at given indices; by default of an Arrow batch.

    Examples
    --------
    >>> sample = RowSample(2)
    >>> sample.add(arrow().record_batch({"a": [1, 2, 3]}), np.array([17, 5, 23], dtype=np.uint64))
    >>> sample.table().num_rows
    2
    """

    def __init__(self, most: int, seed: int = 0, take: Callable[[Any, npt.NDArray[np.intp]], Any] = _take_rows) -> None:
        self.most = most
        self._take = take
        self._numbers = _native.rows.RowKeys(seed & _ALL, _COUNTED)
        self._parts: list[tuple[Hashes, Any]] = []
        self._held = 0
        self._bar = np.uint64(_ALL)

    def add(self, batch: Any, hashes: Hashes) -> None:
        """Add a batch to the sample, given the hashes of its rows."""
        keys = self._numbers.keys(hashes)
        places = np.flatnonzero(keys <= self._bar)
        if not len(places):
            return
        self._parts.append((keys[places], batch if len(places) == len(keys) else self._take(batch, places)))
        self._held += len(places)
        if self._held > 1.5 * self.most:
            self._cut()

    def _cut(self) -> None:
        """Drop the rows beyond the maximum number."""
        if self._held <= self.most:
            return
        held = np.concatenate([keys for keys, _ in self._parts])
        self._bar = np.partition(held, self.most - 1)[self.most - 1]
        kept = [(keys, rows, np.flatnonzero(keys <= self._bar)) for keys, rows in self._parts]
        self._parts = [
            (keys[places], rows if len(places) == len(keys) else self._take(rows, places))
            for keys, rows, places in kept
            if len(places)
        ]
        self._held = sum(len(keys) for keys, _ in self._parts)

    def parts(self) -> list[Any]:
        """Return the sampled rows in order, batch by batch."""
        self._cut()
        return [part for _, part in self._parts]

    def table(self) -> pa.Table:
        """Return the sampled rows of Arrow batches, in order."""
        return arrow().Table.from_batches(self.parts())


def order_by_content(
    batches: Iterable[tuple[Block, npt.NDArray[Any]]], labels: Labels, seed: int
) -> npt.NDArray[np.intp]:
    """Return a random permutation of rows that does not depend on the order of the rows.

    Rows are sorted by a hash of their cells, target and repetition number: the first rows of the order are a sample of
    all rows, not of the distinct ones.

    Parameters
    ----------
    batches
        The rows, with codes of the labels, or numbers.
    labels
        The classes; empty if the target is a number.
    seed
        Seed of the permutation.

    Examples
    --------
    >>> cells = np.array([3.0, 1.0, 2.0, 1.0])
    >>> orders = [
    ...     order_by_content([(Block((), (column,), 4), np.zeros(4))], Labels(), 0) for column in (cells, cells[::-1])
    ... ]
    >>> cells[orders[0]].tolist() == cells[::-1][orders[1]].tolist()
    True
    """
    hashes = [(hash_rows(block, values, labels), hash_rows(block, values, labels, 0)) for block, values in batches]
    coarse, fine = (np.concatenate(parts) for parts in zip(*hashes, strict=True))
    order = np.lexsort((fine, coarse))
    keys = _native.rows.RowKeys(seed & _ALL, len(order)).keys(coarse[order])
    return order[np.argsort(keys, kind="stable")]


def hash_rows(block: Block, values: npt.NDArray[Any], labels: Labels, loose: int = _LOOSE_BITS) -> Hashes:
    """Return a hash of the cells and the target of each row, (n,), which does not depend on the kind of source.

    Parameters
    ----------
    block, values, labels
        The rows, with codes of the labels, or numbers if there are no labels.
    loose
        Number of lowest bits of a mantissa that are ignored.

    Examples
    --------
    >>> block = Block((), (np.array([0.1, 0.1 + 1e-16, 0.2]),), 3)
    >>> one, two, three = hash_rows(block, np.array([1, 1, 1]), Labels(("no", "yes")))
    >>> bool(one == two), bool(one == three)
    (True, False)
    """
    hashes = np.zeros(block.rows, dtype=np.uint64)
    *factors, last, of_weight = _native.rows.mixed(np.arange(1, len(block.columns) + 3, dtype=np.uint64)) | np.uint64(1)
    for column, factor in zip(block.columns, factors, strict=True):
        if isinstance(column, CodedColumn):
            hashes += _name_hashes(map(str, column.vocabulary.names), factor)[column.codes]
        elif isinstance(column, list):
            hashes += _name_hashes(column, factor)[:-1]
        else:
            _native.rows.add_numbers(hashes, np.ascontiguousarray(column), int(factor), loose)
    if block.weights is not None:
        _native.rows.add_numbers(hashes, np.ascontiguousarray(block.weights), int(of_weight), loose)
    if len(labels):
        hashes += _name_hashes(map(_class_word, labels.names), last)[values]
    else:
        _native.rows.add_numbers(hashes, np.ascontiguousarray(values, dtype=np.float64), int(last), loose)
    return _native.rows.mixed(hashes)


def _name_hashes(names: Iterable[str], factor: np.uint64) -> Hashes:
    """Return the hash of each name times a factor; 0 for missing cells, whose code is -1."""
    digests = (hashlib.blake2b(name.encode(errors="surrogatepass"), digest_size=8).digest() for name in names)
    return np.frombuffer(b"".join((*digests, bytes(8))), dtype="<u8").astype(np.uint64) * factor


def _class_word(name: Any) -> str:
    """Return the name of a class for its hash: no and yes of a file equal false and true of a database."""
    word = str(name)
    return str(TRUTH_WORDS.get(word.casefold(), word))


def find_copies(sample: Block, values: npt.NDArray[Any], labels: Labels) -> npt.NDArray[np.int64] | None:
    """Return the group of equal rows of each row, if these are copies; None if they are equal by chance.

    Parameters
    ----------
    sample, values, labels
        The rows, with codes of the labels, or numbers if there are no labels.

    Examples
    --------
    >>> x = np.random.default_rng(0).random(100)
    >>> find_copies(Block((), (np.append(x, x[:80]),), 180), np.zeros(180), Labels())[-3:]
    array([77, 78, 79])
    """
    from suffice.additive.copies import group_copies

    cells = hash_rows(sample, np.zeros(sample.rows), Labels())
    return group_copies(cells, hash_rows(sample, values, labels))

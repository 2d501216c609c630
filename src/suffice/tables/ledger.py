"""Ledger of the rows that a model has learned: a multiset of row digests, so that only those are forgotten."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels
from suffice.store import Contents
from suffice.tables.encoding import Block, CodedColumn
from suffice.tables.errors import TableError

Digests = npt.NDArray[np.uint64]

#: Bytes of a digest: of 1e8 rows, the chance that another row has the digest of one of them is 5e-12.
_SIZE = 8


class UnknownRowError(TableError):
    """A row that is not in a ledger, or not as often."""

    def __init__(self, row: int) -> None:
        super().__init__(f"row {row} is not in the ledger")
        self.row = row  # its position among the given rows


@dataclass(frozen=True, eq=False)
class Ledger:
    """Digests of rows, sorted; a row that was learned twice is there twice.

    A digest is a keyed BLAKE2b hash of the encoded cells and the target. A reader of the file can test whether a given
    row was learned, but cannot recover rows.

    Parameters
    ----------
    key
        The key of the hash; only ledgers with the same key can be merged.
    digests
        Digests of the rows, sorted, (n,).

    Examples
    --------
    >>> block = Block((), (np.array([1.0, 2.0, 2.0]),), 3)
    >>> ledger = Ledger.empty(0).add_rows(block, np.array([0, 1, 1]), Labels(("n", "y")))
    >>> len(ledger), len(ledger.remove_rows(block[1:2], np.array([1]), Labels(("n", "y"))))
    (3, 2)
    """

    key: bytes
    digests: Digests

    @classmethod
    def empty(cls, seed: int) -> Self:
        """Return a ledger without rows, whose key is derived from a seed: the same fit writes the same file."""
        key = hashlib.blake2b(f"suffice ledger {seed}".encode(), digest_size=16).digest()
        return cls(key, np.zeros(0, dtype=np.uint64))

    def __len__(self) -> int:
        return len(self.digests)

    def add_rows(self, block: Block, values: npt.NDArray[Any], labels: Labels) -> Self:
        """Return the ledger with more rows, whose values are codes of the labels, or numbers."""
        return self._with(_merged(self.digests, np.sort(self._digests(block, values, labels))))

    def remove_rows(self, block: Block, values: npt.NDArray[Any], labels: Labels) -> Self:
        """Return the ledger without some rows; raise UnknownRowError for the first that is not in it."""
        gone = self._digests(block, values, labels)
        order = np.argsort(gone, kind="stable")
        ordered = gone[order]
        # Equal digests are matched to consecutive entries of their run.
        places = np.searchsorted(self.digests, ordered) + np.arange(len(gone)) - np.searchsorted(ordered, ordered)
        held = np.append(self.digests, np.uint64(0))[np.minimum(places, len(self.digests))]
        unknown = (places >= len(self.digests)) | (held != ordered)
        if unknown.any():
            raise UnknownRowError(int(order[unknown].min()))
        return self._with(np.delete(self.digests, places))

    def merge(self, other: Ledger) -> Self:
        """Return the ledger of the rows of both."""
        if self.key != other.key:
            raise TableError("the ledgers of these models have different keys: fit both with the same --seed")
        return self._with(_merged(self.digests, other.digests))

    def _with(self, digests: Digests) -> Self:
        return type(self)(self.key, digests)

    def _digests(self, block: Block, values: npt.NDArray[Any], labels: Labels) -> Digests:
        """Return the digest of each row, (n,)."""
        rows = np.ascontiguousarray(self._rows_encoded(block, values, labels)).view(np.uint8)
        start = hashlib.blake2b(key=self.key, digest_size=_SIZE)
        found = bytearray()
        for row in rows:
            digest = start.copy()
            digest.update(row)
            found += digest.digest()
        return np.frombuffer(bytes(found), dtype="<u8").astype(np.uint64)

    def _rows_encoded(self, block: Block, values: npt.NDArray[Any], labels: Labels) -> Digests:
        """Return 64 bits for each cell and the target of each row, (n, columns + 1); the same in any batch."""
        target = CodedColumn(labels, values) if len(labels) else np.asarray(values, dtype=np.float64)
        weights = [] if block.weights is None else [block.weights]
        return np.stack([self._encoded(column) for column in (*block.columns, target, *weights)], axis=1)

    def _encoded(self, column: Any) -> Digests:
        """Return 64 bits for each cell of a column, the same for the same cell in any batch."""
        if isinstance(column, CodedColumn):
            places = np.array([*(self._word(str(name)) for name in column.vocabulary), 0], dtype=np.uint64)
            return places[column.codes]
        if isinstance(column, list):
            return np.array([self._word(text) for text in column], dtype=np.uint64)
        numbers = np.where(np.isnan(column), np.nan, column + 0.0)  # one NaN, one 0
        return np.asarray(numbers, dtype="<f8").view("<u8")

    def _word(self, text: str) -> int:
        digest = hashlib.blake2b(text.encode(errors="surrogatepass"), key=self.key, digest_size=_SIZE)
        return int.from_bytes(digest.digest(), "little")

    # Files.

    def contents(self) -> Contents:
        """Return the contents of the ledger for a file."""
        return Contents("Ledger", {"key": self.key.hex()}, {}, {"digests": self.digests})

    @classmethod
    def from_contents(cls, contents: Contents) -> Self:
        """Return the ledger that :meth:`contents` wrote."""
        digests = contents.arrays["digests"]
        if digests.ndim != 1 or digests.dtype != np.uint64:
            raise ValueError(f"the digests of a ledger must be one list of uint64; got {digests.shape} {digests.dtype}")
        return cls(bytes.fromhex(contents.settings["key"]), np.sort(digests))


def _merged(one: Digests, two: Digests) -> Digests:
    """Merge two sorted arrays; a stable sort merges runs in linear time."""
    return np.sort(np.concatenate([one, two]), kind="stable")

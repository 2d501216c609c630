"""A sample of documents that adds and subtracts, and does not depend on the order of documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics import NegativeEvidenceError
from suffice.statistics.base import FloatArray

Index = npt.NDArray[np.intp]
#: The upper bound of hashes, which float64 holds exactly.
HASH_LIMIT = float(1 << 53)


@dataclass(frozen=True, eq=False)
class DocumentSample:
    """The documents with the lowest hashes; equal documents of one class are one entry with their total weight.

    The hash of a document depends on its features alone. So the samples of two parts merge into the sample of the
    whole, and a document that is removed is found.
    """

    size: int  # the greatest number of documents
    below: float  # every document with a hash below this is in the sample
    hashes: FloatArray  # (m,), ascending
    codes: npt.NDArray[np.int64]  # (m,) class codes
    weights: FloatArray  # (m,)
    ends: npt.NDArray[np.int64]  # (m + 1,) row pointers of CSR, with columns and counts
    columns: npt.NDArray[np.int64]
    counts: FloatArray

    def __post_init__(self) -> None:
        for name, dtype in (("codes", np.int64), ("ends", np.int64), ("columns", np.int64), ("counts", np.float64)):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=dtype))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DocumentSample):
            return NotImplemented
        return all(np.array_equal(value, getattr(other, name)) for name, value in vars(self).items())

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def empty(cls, size: int) -> DocumentSample:
        """Return the sample of no documents."""
        floats, integers = np.zeros(0), np.zeros(0, dtype=np.int64)
        return cls(size, HASH_LIMIT, floats, integers, floats, np.zeros(1, dtype=np.int64), integers, floats)

    def __len__(self) -> int:
        return len(self.hashes)

    def rows(self, width: int) -> Any:
        """Return the documents as CSR with ``width`` columns."""
        import scipy  # slow to import, and few rows need it

        return scipy.sparse.csr_array((self.counts, self.columns, self.ends), shape=(len(self), width))

    @property
    def shape(self) -> tuple[int, int]:
        """The number of documents, and 1: each is one cell, as of :class:`suffice.text.Documents`."""
        return len(self), 1

    @property
    def nnz(self) -> int:
        """The number of counts."""
        return len(self.columns)

    def renumber(self, codes: npt.ArrayLike | None = None, columns: npt.ArrayLike | None = None) -> DocumentSample:
        """Return the sample with other class codes and columns: the new number of each."""
        return replace(
            self,
            codes=self.codes if codes is None else np.asarray(codes, dtype=np.int64)[self.codes],
            columns=self.columns if columns is None else np.asarray(columns, dtype=np.int64)[self.columns],
        )

    def merge(self, other: DocumentSample) -> DocumentSample:
        """Return the sample of the documents of both; their codes and columns have the same meaning."""
        size, below = max(self.size, other.size), min(self.below, other.below)
        parts = [self._where(self.hashes < below), other._where(other.hashes < below)]
        merged = replace(_concatenate(parts), size=size, below=below)._merge_equal()
        if len(merged) <= size:
            return merged
        below = float(merged.hashes[size])
        return replace(merged._where(merged.hashes < below), below=below)

    def remove(self, other: DocumentSample) -> DocumentSample:
        """Return the sample without some of its documents."""
        below = min(self.below, other.below)
        whole, part = self._where(self.hashes < below), other._where(other.hashes < below)
        positions = {key: position for position, key in enumerate(zip(whole.hashes, whole.codes, strict=True))}
        left = np.array(whole.weights)
        for hashed, code, weight in zip(part.hashes, part.codes, part.weights, strict=True):
            position = positions.get((hashed, code))
            if position is None or left[position] < weight * (1 - 1e-9):
                raise NegativeEvidenceError("a document to be removed was never in the sum, or not in this class")
            left[position] -= weight
        rest = replace(whole, below=below, weights=left)
        return rest._where(left > 1e-9 * np.maximum(whole.weights, 1e-300))

    def scaled(self, factor: float) -> DocumentSample:
        """Return the sample with every weight multiplied by ``factor``; documents of weight 0 are dropped."""
        scaled = replace(self, weights=self.weights * factor)
        return scaled if factor > 0 else scaled._where(np.zeros(len(self), dtype=bool))

    def _where(self, kept: npt.NDArray[np.bool_]) -> DocumentSample:
        return self if kept.all() else self._take(np.flatnonzero(kept))

    def _take(self, index: Index) -> DocumentSample:
        lengths = np.diff(self.ends)[index]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.repeat(self.ends[index] - ends[:-1], lengths) + np.arange(ends[-1])
        return replace(
            self,
            hashes=self.hashes[index],
            codes=self.codes[index],
            weights=self.weights[index],
            ends=ends,
            columns=self.columns[entries],
            counts=self.counts[entries],
        )

    def _merge_equal(self) -> DocumentSample:
        """Return the sample in the order of hashes and classes, with equal documents as one entry."""
        ordered = self._take(np.lexsort((self.codes, self.hashes)))
        new = np.concatenate([[True], (np.diff(ordered.hashes) > 0) | (np.diff(ordered.codes) != 0)])[: len(self)]
        if new.all():
            return ordered
        weights = np.bincount(np.cumsum(new) - 1, ordered.weights).astype(np.float64)
        return replace(ordered._where(new), weights=weights)


def _concatenate(parts: list[DocumentSample]) -> DocumentSample:
    starts = np.cumsum([0, *(part.ends[-1] for part in parts[:-1])])
    ends = [part.ends[1:] + start for part, start in zip(parts, starts, strict=True)]
    return replace(
        parts[0],
        hashes=np.concatenate([part.hashes for part in parts]),
        codes=np.concatenate([part.codes for part in parts]),
        weights=np.concatenate([part.weights for part in parts]),
        ends=np.concatenate([[0], *ends]),
        columns=np.concatenate([part.columns for part in parts]),
        counts=np.concatenate([part.counts for part in parts]),
    )

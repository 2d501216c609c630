"""A sample of documents that is a sum: it adds, subtracts, and does not depend on the order of documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice.statistics import NegativeEvidenceError
from suffice.statistics.base import FloatArray

Index = npt.NDArray[np.intp]
#: Hashes are below this number, which a double holds exactly.
ALL = float(1 << 53)


@dataclass(frozen=True, eq=False)
class DocumentSample:
    """The documents whose hashes are lowest, at most so many: each in its class, with the weight of all that are alike.

    Hashes depend on nothing but a document's features. So two samples of parts are, together, the sample of the whole,
    and a document that is taken away is found.
    """

    size: int  # how many documents are kept at most
    below: float  # every document with a hash below this is here
    hashes: FloatArray  # (m,), rising
    codes: npt.NDArray[np.int64]  # (m,) class codes
    weights: FloatArray  # (m,)
    ends: npt.NDArray[np.int64]  # (m + 1,) of each document's columns
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
        nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
        return cls(size, ALL, nothing, none, nothing, np.zeros(1, dtype=np.int64), none, nothing)

    def __len__(self) -> int:
        return len(self.hashes)

    def rows(self, width: int) -> Any:
        """Return the documents as CSR with so many columns."""
        return sparse.csr_array((self.counts, self.columns, self.ends), shape=(len(self), width))

    def moved(self, codes: npt.ArrayLike | None = None, columns: npt.ArrayLike | None = None) -> DocumentSample:
        """Return the sample with other class codes and columns: where each goes to."""
        return replace(
            self,
            codes=self.codes if codes is None else np.asarray(codes, dtype=np.int64)[self.codes],
            columns=self.columns if columns is None else np.asarray(columns, dtype=np.int64)[self.columns],
        )

    def plus(self, other: DocumentSample) -> DocumentSample:
        """Return the sample of both, whose codes and columns mean the same."""
        size, below = max(self.size, other.size), min(self.below, other.below)
        parts = [self._where(self.hashes < below), other._where(other.hashes < below)]
        joined = replace(_joined(parts), size=size, below=below)._alike_as_one()
        if len(joined) <= size:
            return joined
        below = float(joined.hashes[size])
        return replace(joined._where(joined.hashes < below), below=below)

    def minus(self, other: DocumentSample) -> DocumentSample:
        """Return the sample without documents that are in it."""
        below = min(self.below, other.below)
        whole, gone = self._where(self.hashes < below), other._where(other.hashes < below)
        keys = {key: place for place, key in enumerate(zip(whole.hashes, whole.codes, strict=True))}
        left = np.array(whole.weights)
        for hashed, code, weight in zip(gone.hashes, gone.codes, gone.weights, strict=True):
            place = keys.get((hashed, code))
            if place is None or left[place] < weight * (1 - 1e-9):
                raise NegativeEvidenceError("a document to be taken out was never in the sum, or not in this class")
            left[place] -= weight
        fresh = replace(whole, below=below, weights=left)
        return fresh._where(left > 1e-9 * np.maximum(whole.weights, 1e-300))

    def scaled(self, factor: float) -> DocumentSample:
        """Return the sample with every weight multiplied; without weight, there is none."""
        fresh = replace(self, weights=self.weights * factor)
        return fresh if factor > 0 else fresh._where(np.zeros(len(self), dtype=bool))

    def _where(self, kept: npt.NDArray[np.bool_]) -> DocumentSample:
        return self if kept.all() else self._take(np.flatnonzero(kept))

    def _take(self, places: Index) -> DocumentSample:
        lengths = np.diff(self.ends)[places]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        inside = np.repeat(self.ends[places] - ends[:-1], lengths) + np.arange(ends[-1])
        return replace(
            self,
            hashes=self.hashes[places],
            codes=self.codes[places],
            weights=self.weights[places],
            ends=ends,
            columns=self.columns[inside],
            counts=self.counts[inside],
        )

    def _alike_as_one(self) -> DocumentSample:
        """Return the sample in the order of hashes and classes, documents that are alike being one."""
        ordered = self._take(np.lexsort((self.codes, self.hashes)))
        new = np.concatenate([[True], (np.diff(ordered.hashes) > 0) | (np.diff(ordered.codes) != 0)])[: len(self)]
        if new.all():
            return ordered
        weights = np.bincount(np.cumsum(new) - 1, ordered.weights).astype(np.float64)
        return replace(ordered._where(new), weights=weights)


def _joined(parts: list[DocumentSample]) -> DocumentSample:
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

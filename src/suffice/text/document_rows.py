"""Documents that are kept, as rows of counts: what discriminative models learn from, again and again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice.kernels.sparse import intact
from suffice.statistics import Labels, NegativeEvidenceError, Removal
from suffice.statistics.base import FloatArray
from suffice.text.vocabulary import Columns, HashedVocabulary, Vocabulary, under

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Kept:
    """Encoded documents with their classes and weights."""

    labels: Labels
    vocabulary: Columns
    counts: Any  # (n, V) CSR, the columns of each row rising
    codes: Codes  # (n,)
    weights: FloatArray  # (n,)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def weight(self) -> float:
        """The total weight of the documents."""
        return float(self.weights.sum())

    @property
    def documents(self) -> FloatArray:
        """In how many documents each word is, by weight, (V,)."""
        of_entries = np.repeat(self.weights, np.diff(self.counts.indptr))
        return np.bincount(self.counts.indices, of_entries, len(self.vocabulary)).astype(np.float64)

    def taken(self, columns: npt.NDArray[np.intp]) -> Kept:
        """Return the documents with some words alone."""
        if len(columns) == len(self.vocabulary):
            return self
        assert isinstance(self.vocabulary, Vocabulary)
        return replace(self, vocabulary=self.vocabulary.take(columns), counts=self.counts[:, columns])

    def __add__(self, other: Kept) -> Kept:
        labels, mine, theirs = self.labels.union(other.labels)
        united = self.vocabulary.union(other.vocabulary)
        rows = [
            _moved(self.counts, united.mine, len(united.both)),
            _moved(other.counts, united.theirs, len(united.both)),
        ]
        return Kept(
            labels,
            united.both,
            sparse.vstack(rows, format="csr"),
            np.concatenate([mine[self.codes], theirs[other.codes]]),
            np.concatenate([self.weights, other.weights]),
        )

    def remove(self, other: Kept) -> Removal:
        """Return the documents that are left when others are taken out: nothing is lost."""
        _, _, theirs = self.labels.union(other.labels)
        united = self.vocabulary.union(other.vocabulary)
        gone = _moved(other.counts, united.theirs, len(united.both))
        left = np.array(self.weights)
        places: dict[tuple[int, bytes, bytes], list[int]] = {}
        for place, key in enumerate(_keys(_moved(self.counts, united.mine, len(united.both)), self.codes)):
            places.setdefault(key, []).append(place)
        for number, (key, weight) in enumerate(zip(_keys(gone, theirs[other.codes]), other.weights, strict=True)):
            found = [place for place in places.get(key, []) if left[place] >= weight * (1 - 1e-9) and left[place] > 0]
            if not found:
                raise NegativeEvidenceError(
                    f"documents[{number}] was never learnt, or not in this class: it cannot be forgotten"
                )
            exact = [place for place in found if left[place] == weight]
            left[(exact or found)[-1]] -= weight
        kept = left > 1e-12
        rest = replace(self, counts=self.counts[kept], codes=self.codes[kept], weights=left[kept])
        return Removal(rest._pruned(), 0.0)

    def into(self, vocabulary: Columns) -> Kept:
        """Return documents of exact words over another vocabulary's columns."""
        assert isinstance(self.vocabulary, Vocabulary)
        if isinstance(vocabulary, Vocabulary):
            columns = np.array(vocabulary.native.places(self.vocabulary.native), dtype=np.intp)
            known = np.flatnonzero(columns >= 0)
            rows, places = self.counts[:, known], columns[known]
        else:
            assert isinstance(vocabulary, HashedVocabulary)
            vocabulary, places = vocabulary.absorbed(self.vocabulary, self.documents)
            rows = self.counts
        return replace(self, vocabulary=vocabulary, counts=_moved(rows, places, len(vocabulary)))

    def _pruned(self) -> Kept:
        """Return the documents over the words that they have."""
        if not isinstance(self.vocabulary, Vocabulary):
            return self
        return self.taken(np.flatnonzero(np.bincount(self.counts.indices, minlength=len(self.vocabulary))))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything as plain arrays."""
        words = {f"vocabulary.{name}": array for name, array in self.vocabulary.to_arrays().items()}
        return {
            "labels": self.labels.to_array(),
            "ends": self.counts.indptr.astype(np.int64),
            "columns": self.counts.indices.astype(np.int32),
            "counts": self.counts.data.astype(np.int32),
            "codes": self.codes.astype(np.int64),
            "weights": self.weights,
            **words,
        }

    @classmethod
    def from_arrays(cls, kind: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Kept:
        """Return the documents that :meth:`to_arrays` wrote, over a vocabulary of this kind."""
        vocabulary = Columns.columns[kind].from_arrays(under("vocabulary", arrays))
        shape = len(arrays["ends"]) - 1, len(vocabulary)
        counts = intact(sparse.csr_array((arrays["counts"], arrays["columns"], arrays["ends"]), shape=shape))
        labels = Labels.from_array(arrays["labels"])
        return cls(labels, vocabulary, counts, arrays["codes"].astype(np.int64), arrays["weights"].astype(np.float64))


def _moved(rows: Any, columns: npt.NDArray[np.intp], width: int) -> Any:
    """Return rows whose columns are elsewhere, in order."""
    if rows.shape[1] == width and np.array_equal(columns, np.arange(width)):
        return rows
    moved = sparse.csr_array((rows.data.copy(), columns[rows.indices], rows.indptr), shape=(rows.shape[0], width))
    moved.sum_duplicates()
    return moved


def _keys(rows: Any, codes: Codes) -> list[tuple[int, bytes, bytes]]:
    """Return what makes a document this document and no other."""
    columns, counts = rows.indices.astype(np.int64), rows.data.astype(np.int64)
    spans = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    return [
        (int(code), columns[start:stop].tobytes(), counts[start:stop].tobytes())
        for code, (start, stop) in zip(codes, spans, strict=True)
    ]

"""DocumentRows: documents as rows of counts, which discriminative text models are fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from suffice.kernels.sparse import intact
from suffice.statistics import Labels, NegativeEvidenceError
from suffice.statistics.base import ALL_DIGITS, FloatArray
from suffice.text.vocabulary import BaseVocabulary, HashedVocabulary, Index, Vocabulary, strip_prefix

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DocumentRows:
    """Counts of documents with their classes and weights. ``+`` appends documents, ``remove`` deletes some."""

    labels: Labels
    vocabulary: BaseVocabulary
    counts: Any  # (n, V) CSR, the columns of each row in ascending order
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
        """The weight of the documents that contain each word, (V,)."""
        entry_weights = np.repeat(self.weights, np.diff(self.counts.indptr))
        return np.bincount(self.counts.indices, entry_weights, len(self.vocabulary)).astype(np.float64)

    def take_columns(self, columns: Index) -> DocumentRows:
        """Return the documents with some words alone."""
        if len(columns) == len(self.vocabulary):
            return self
        assert isinstance(self.vocabulary, Vocabulary)
        return replace(self, vocabulary=self.vocabulary.take(columns), counts=self.counts[:, columns])

    def __add__(self, other: DocumentRows) -> DocumentRows:
        labels, left_codes, right_codes = self.labels.union(other.labels)
        vocabulary, left, right = self.vocabulary.union(other.vocabulary)
        rows = [
            _move_columns(self.counts, left, len(vocabulary)),
            _move_columns(other.counts, right, len(vocabulary)),
        ]
        return DocumentRows(
            labels,
            vocabulary,
            scipy.sparse.vstack(rows, format="csr"),
            np.concatenate([left_codes[self.codes], right_codes[other.codes]]),
            np.concatenate([self.weights, other.weights]),
        )

    def __sub__(self, other: DocumentRows) -> DocumentRows:
        """Return the documents without some of them."""
        _, _, right_codes = self.labels.union(other.labels)
        vocabulary, left, right = self.vocabulary.union(other.vocabulary)
        rest = np.array(self.weights)
        positions: dict[tuple[int, bytes, bytes], list[int]] = {}
        for position, key in enumerate(_row_keys(_move_columns(self.counts, left, len(vocabulary)), self.codes)):
            positions.setdefault(key, []).append(position)
        keys = _row_keys(_move_columns(other.counts, right, len(vocabulary)), right_codes[other.codes])
        for number, (key, weight) in enumerate(zip(keys, other.weights, strict=True)):
            found = [at for at in positions.get(key, []) if rest[at] >= weight * (1 - 1e-9) and rest[at] > 0]
            if not found:
                raise NegativeEvidenceError(
                    f"documents[{number}] was never learned, or not in this class: it cannot be forgotten"
                )
            equal = [at for at in found if rest[at] == weight]
            rest[(equal or found)[-1]] -= weight
        kept = rest > 1e-9 * self.weights
        remaining = replace(self, counts=self.counts[kept], codes=self.codes[kept], weights=rest[kept])
        return remaining._drop_unused_words()

    def digits_kept(self) -> float:
        """Return to how many decimal digits the rows are known: all, since each is kept."""
        return ALL_DIGITS

    def to_vocabulary(self, vocabulary: BaseVocabulary) -> DocumentRows:
        """Return documents of exact words over the columns of another vocabulary; an empty one stands for all words."""
        assert isinstance(self.vocabulary, Vocabulary)
        if isinstance(vocabulary, Vocabulary):
            if not len(vocabulary):
                return self
            columns = np.array(vocabulary.native.places(self.vocabulary.native), dtype=np.intp)
            known = np.flatnonzero(columns >= 0)
            rows, columns = self.counts[:, known], columns[known]
        else:
            assert isinstance(vocabulary, HashedVocabulary)
            vocabulary, columns = vocabulary.add_words(self.vocabulary, self.documents)
            rows = self.counts
        return replace(self, vocabulary=vocabulary, counts=_move_columns(rows, columns, len(vocabulary)))

    def _drop_unused_words(self) -> DocumentRows:
        """Return the documents over the words that they contain."""
        if not isinstance(self.vocabulary, Vocabulary):
            return self
        return self.take_columns(np.flatnonzero(np.bincount(self.counts.indices, minlength=len(self.vocabulary))))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all fields as plain arrays."""
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
    def from_arrays(cls, kind: str, arrays: Mapping[str, npt.NDArray[Any]]) -> DocumentRows:
        """Return the documents that :meth:`to_arrays` wrote, over a vocabulary of this kind."""
        vocabulary = BaseVocabulary.vocabularies[kind].from_arrays(strip_prefix("vocabulary", arrays))
        shape = len(arrays["ends"]) - 1, len(vocabulary)
        counts = intact(scipy.sparse.csr_array((arrays["counts"], arrays["columns"], arrays["ends"]), shape=shape))
        labels = Labels.from_array(arrays["labels"])
        return cls(labels, vocabulary, counts, arrays["codes"].astype(np.int64), arrays["weights"].astype(np.float64))


def _move_columns(rows: Any, columns: Index, width: int) -> Any:
    """Return rows with each column at another number, in order; columns with one number add up."""
    if rows.shape[1] == width and np.array_equal(columns, np.arange(width)):
        return rows
    moved = scipy.sparse.csr_array((rows.data.copy(), columns[rows.indices], rows.indptr), shape=(rows.shape[0], width))
    moved.sum_duplicates()
    return moved


def _row_keys(rows: Any, codes: Codes) -> list[tuple[int, bytes, bytes]]:
    """Return a key for each document that equal documents of one class share."""
    columns, counts = rows.indices.astype(np.int64), rows.data.astype(np.int64)
    ranges = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    return [
        (int(code), columns[start:stop].tobytes(), counts[start:stop].tobytes())
        for code, (start, stop) in zip(codes, ranges, strict=True)
    ]

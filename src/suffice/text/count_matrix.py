"""Documents as CSR matrices of feature counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from suffice import _native
from suffice.kernels import Batch, Engine
from suffice.text.documents import Documents
from suffice.text.features import Features
from suffice.text.vocabulary import BaseVocabulary, HashedVocabulary, Vocabulary

#: From this many entries on, CSR needs 64-bit indices.
_MOST_ENTRIES = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class CountMatrix:
    """Feature counts of documents: the arrays of a CSR matrix."""

    entries: npt.NDArray[np.int32]
    columns: npt.NDArray[np.signedinteger[Any]]
    ends: npt.NDArray[np.signedinteger[Any]]  # (n + 1,)
    width: int
    unknown: npt.NDArray[np.int64]  # (n,) the number of features of each document that have no column

    @property
    def shape(self) -> tuple[int, int]:
        """The number of documents, and of columns."""
        return len(self.ends) - 1, self.width

    @cached_property
    def counts(self) -> Any:
        """The counts, (n, V) CSR."""
        return scipy.sparse.csr_array((self.entries, self.columns, self.ends), shape=self.shape)


class _Part(NamedTuple):
    """Feature counts of some of the documents."""

    ends: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    unknown: npt.NDArray[np.int64]
    words: Any = None


def count_features(
    batches: Iterable[Documents], features: Features, vocabulary: BaseVocabulary, engine: Engine
) -> CountMatrix:
    """Return the counts of the features that are in a vocabulary, with the columns of each row in order.

    Examples
    --------
    >>> from suffice.kernels import ThreadEngine
    >>> words = Vocabulary(["free", "money"])
    >>> matrix = count_features([Documents(["free free lunch"])], Features(), words, ThreadEngine())
    >>> matrix.counts.toarray().tolist(), matrix.unknown.tolist()
    ([[2, 0]], [1])
    """

    def count(batch: Batch, kernels: Any) -> _Part:
        if isinstance(vocabulary, Vocabulary):
            rows = features.native.rows(batch.x.native, batch.start, batch.stop, vocabulary.native, False)
            return _sort_columns(_Part(*rows))
        # By words first: memory is needed for the words that occur, and not for all columns.
        assert isinstance(vocabulary, HashedVocabulary)
        part = _count_words(features, batch)
        slots = vocabulary.slots_of(Vocabulary(part.words)).astype(np.int32)
        return part._replace(columns=slots[part.columns], words=None)

    matrix = _stack_parts(list(engine.map(count, map(Batch, batches))), len(vocabulary))
    if not isinstance(vocabulary, Vocabulary):
        matrix.counts.sum_duplicates()
    return matrix


def hash_features(
    batches: Iterable[Documents], features: Features, columns: int, alternate_sign: bool, engine: Engine
) -> CountMatrix:
    """Return the counts of features by the column that scikit-learn's ``FeatureHasher`` gives them.

    Parameters
    ----------
    batches, features, engine
        As for :func:`count_features`.
    columns
        The number of columns.
    alternate_sign
        Whether the hash of a feature also decides the sign of its counts.

    Examples
    --------
    >>> from suffice.kernels import ThreadEngine
    >>> hash_features([Documents(["free free lunch"])], Features(), 4, True, ThreadEngine()).counts.toarray().tolist()
    [[0, 0, 2, -1]]
    """

    def count(batch: Batch, kernels: Any) -> _Part:
        part = _count_words(features, batch)
        hashes = part.words.murmur()
        slots = (np.abs(hashes.astype(np.int64)) % columns).astype(np.int32)  # int32 has no abs(-2**31)
        counts = part.counts
        if alternate_sign:
            counts = np.where(hashes >= 0, np.int32(1), np.int32(-1))[part.columns] * counts
        return _sort_columns(part._replace(columns=slots[part.columns], counts=counts, words=None))

    matrix = _stack_parts(list(engine.map(count, map(Batch, batches))), columns)
    matrix.counts.has_sorted_indices = True
    matrix.counts.sum_duplicates()
    return matrix


def count_all_features(
    batches: Iterable[Documents], features: Features, engine: Engine
) -> tuple[CountMatrix, Vocabulary]:
    """Return the counts of all features of documents, and their vocabulary in sort order.

    Examples
    --------
    >>> from suffice.kernels import ThreadEngine
    >>> matrix, vocabulary = count_all_features([Documents(["free lunch", "lunch"])], Features(), ThreadEngine())
    >>> list(vocabulary), matrix.counts.toarray().tolist()
    (['free', 'lunch'], [[1, 1], [0, 1]])
    """

    def count(batch: Batch, kernels: Any) -> _Part:
        return _count_words(features, batch)

    parts = list(engine.map(count, map(Batch, batches)))
    words = parts[0].words if parts else _native.text.Words()
    merged = [np.arange(len(words)), *(words.merge(part.words) for part in parts[1:])][: len(parts)]
    order = words.sorted().astype(np.int64)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    parts = [part._replace(columns=rank[columns][part.columns]) for part, columns in zip(parts, merged, strict=True)]
    matrix = _stack_parts(parts, len(order))
    sort_rows(matrix.counts, engine)
    return matrix, Vocabulary(words.take(order))


def _count_words(features: Features, batch: Batch) -> _Part:
    """Return counts over the features that occur, in the order of their first occurrence."""
    words = _native.text.Words()
    return _Part(*features.native.rows(batch.x.native, batch.start, batch.stop, words, True))._replace(words=words)


def _sort_columns(part: _Part) -> _Part:
    """Sort the columns of each row, in place."""
    _native.text.sort_rows(part.ends, part.columns, part.counts, 0, len(part.ends) - 1)
    return part


def sort_rows(rows: Any, engine: Engine) -> None:
    """Sort the columns of every row of CSR with 32-bit numbers, in place."""
    ends = rows.indptr.astype(np.int64)

    def sort(batch: Batch, kernels: Any) -> None:
        _native.text.sort_rows(ends, rows.indices, rows.data, batch.start, batch.stop)

    for _ in engine.map(sort, Batch(rows)):
        pass
    rows.has_sorted_indices = True


def _stack_parts(parts: list[_Part], width: int) -> CountMatrix:
    if len(parts) == 1:
        ends, columns, counts, unknown, _ = parts[0]
    else:
        starts = np.cumsum([0, *(part.ends[-1] for part in parts[:-1])])
        shifted = [part.ends[1:] + start for part, start in zip(parts, starts, strict=False)]
        ends = np.concatenate([np.zeros(1, dtype=np.int64), *shifted])
        columns = np.concatenate([np.zeros(0, dtype=np.int32), *(part.columns for part in parts)])
        counts = np.concatenate([np.zeros(0, dtype=np.int32), *(part.counts for part in parts)])
        unknown = np.concatenate([np.zeros(0, dtype=np.int64), *(part.unknown for part in parts)])
    index = np.int32 if len(columns) < _MOST_ENTRIES else np.int64
    return CountMatrix(counts, columns.astype(index, copy=False), ends.astype(index), width, unknown)

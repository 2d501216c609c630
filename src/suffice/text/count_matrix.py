"""Documents as rows of counts, in CSR."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from suffice import _native
from suffice.kernels import Batch, Engine
from suffice.text.documents import Documents
from suffice.text.features import Features
from suffice.text.vocabulary import Columns, HashedVocabulary, Vocabulary


class Rows(NamedTuple):
    """Counts of documents' features."""

    counts: Any  # (n, V) CSR
    unknown: npt.NDArray[np.int64]  # (n,) how many features of each document have no column


class _Part(NamedTuple):
    ends: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    unknown: npt.NDArray[np.int64]
    words: Any = None


def known_rows(batches: Iterable[Documents], features: Features, columns: Columns, engine: Engine) -> Rows:
    """Return documents as counts over a vocabulary that does not grow.

    Examples
    --------
    >>> from suffice.kernels import ThreadEngine
    >>> rows = known_rows([Documents(["free free lunch"])], Features(), Vocabulary(["free", "money"]), ThreadEngine())
    >>> rows.counts.toarray().tolist(), rows.unknown.tolist()
    ([[2, 0]], [1])
    """

    def read(batch: Batch, kernels: Any) -> _Part:
        if isinstance(columns, Vocabulary):
            return _Part(*features.native.rows(batch.x.native, batch.start, batch.stop, columns.native, False))
        # By words first: memory is taken for those that occur, not for all slots there are.
        assert isinstance(columns, HashedVocabulary)
        part = _new_part(features, batch)
        slots = columns.slots_of(Vocabulary(part.words)).astype(np.int32)
        return part._replace(columns=slots[part.columns], words=None)

    rows = _stacked(list(engine.map(read, map(Batch, batches))), len(columns))
    if not isinstance(columns, Vocabulary):
        rows.counts.sum_duplicates()
    return rows


def _new_part(features: Features, batch: Batch) -> _Part:
    """Return counts over the features that occur, in the order in which they do."""
    words = _native.text.Words()
    return _Part(*features.native.rows(batch.x.native, batch.start, batch.stop, words, True))._replace(words=words)


def new_rows(batches: Iterable[Documents], features: Features, engine: Engine) -> tuple[Rows, Vocabulary]:
    """Return documents as counts over all their features, and the vocabulary that these make, in the order of words.

    Examples
    --------
    >>> from suffice.kernels import ThreadEngine
    >>> rows, vocabulary = new_rows([Documents(["free lunch", "lunch"])], Features(), ThreadEngine())
    >>> list(vocabulary), rows.counts.toarray().tolist()
    (['free', 'lunch'], [[1, 1], [0, 1]])
    """

    def read(batch: Batch, kernels: Any) -> _Part:
        return _new_part(features, batch)

    parts = list(engine.map(read, map(Batch, batches)))
    words = parts[0].words if parts else _native.text.Words()
    places = [np.arange(len(words)), *(words.merge(part.words) for part in parts[1:])][: len(parts)]
    order = words.sorted().astype(np.int64)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    parts = [part._replace(columns=rank[place][part.columns]) for part, place in zip(parts, places, strict=True)]
    rows = _stacked(parts, len(order))
    sort_rows(rows.counts, engine)
    return rows, Vocabulary(words.take(order))


def sort_rows(rows: Any, engine: Engine) -> None:
    """Put the columns of every row of CSR with 32-bit numbers in their order, in place."""
    ends = rows.indptr.astype(np.int64)

    def order(batch: Batch, kernels: Any) -> None:
        _native.text.sort_rows(ends, rows.indices, rows.data, batch.start, batch.stop)

    for _ in engine.map(order, Batch(rows)):
        pass
    rows.has_sorted_indices = True


def _stacked(parts: list[_Part], width: int) -> Rows:
    if len(parts) == 1:
        ends, columns, counts, unknown, _ = parts[0]
    else:
        starts = np.cumsum([0, *(part.ends[-1] for part in parts[:-1])])
        shifted = [part.ends[1:] + start for part, start in zip(parts, starts, strict=False)]
        ends = np.concatenate([np.zeros(1, dtype=np.int64), *shifted])
        columns = np.concatenate([np.zeros(0, dtype=np.int32), *(part.columns for part in parts)])
        counts = np.concatenate([np.zeros(0, dtype=np.int32), *(part.counts for part in parts)])
        unknown = np.concatenate([np.zeros(0, dtype=np.int64), *(part.unknown for part in parts)])
    small = len(columns) < np.iinfo(np.int32).max
    index = np.int32 if small else np.int64
    rows = sparse.csr_array(
        (counts, columns.astype(index, copy=False), ends.astype(index)), shape=(len(ends) - 1, width)
    )
    return Rows(rows, unknown)

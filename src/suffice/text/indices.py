"""Counts of documents that are lists of word indices, as the multinomial event model writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse


def count_indices(documents: Iterable[Sequence[int]], words: int) -> sparse.csr_array:
    """Return the counts of documents that are lists of word indices, (n, words).

    Parameters
    ----------
    documents
        For each document the index of each of its words, 0 to ``words - 1``; the order does not matter.
    words
        The size of the vocabulary.

    Examples
    --------
    >>> from suffice import MultinomialNB
    >>> counts = count_indices([[0, 3, 3], [], [1]], words=4)
    >>> counts.toarray()
    array([[1, 0, 0, 2],
           [0, 0, 0, 0],
           [0, 1, 0, 0]])
    >>> MultinomialNB().fit(counts, ["spam", "ham", "ham"]).predict(count_indices([[3, 3]], words=4))
    array(['spam'], dtype='<U4')
    """
    columns, counts, ends = [], [], [0]
    for place, document in enumerate(documents):
        indices = np.asarray(document if len(document) else np.empty(0, dtype=np.int64))
        if indices.ndim != 1 or indices.dtype.kind not in "iu":
            raise TypeError(f"documents[{place}] must be a list of whole numbers, the indices of words; it is not")
        wrong = np.flatnonzero((indices < 0) | (indices >= words))
        if wrong.size:
            first = int(wrong[0])
            raise ValueError(f"documents[{place}][{first}] is {indices[first]}; an index must be 0 to {words - 1}")
        found, number = np.unique(indices, return_counts=True)
        columns.append(found.astype(np.int64))
        counts.append(number)
        ends.append(ends[-1] + len(found))
    data = np.concatenate(counts) if counts else np.empty(0, dtype=np.int64)
    places = np.concatenate(columns) if columns else np.empty(0, dtype=np.int64)
    return sparse.csr_array((data, places, np.array(ends)), shape=(len(ends) - 1, words))

"""Scores of documents that are linear in counts of words, without a matrix of counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.kernels import Batch
from suffice.statistics.base import FloatArray
from suffice.text.features import Features
from suffice.text.vocabulary import BaseVocabulary


def score_words(
    features: Features,
    batch: Batch,
    vocabulary: BaseVocabulary,
    table: FloatArray,
    intercept: FloatArray | None = None,
    *,
    presence: bool = False,
    normalised: bool = False,
) -> FloatArray:
    """Return the sum of the coefficients of the words of each document, (n, k).

    Parameters
    ----------
    features
        The tokeniser.
    batch
        Documents as x.
    vocabulary
        The words that count.
    table
        Their coefficients, (V, k), C-contiguous.
    intercept
        What is added for each document, (k,); 0 by default.
    presence
        Whether a word counts once in a document.
    normalised
        Whether counts are divided by their Euclidean length.

    Examples
    --------
    >>> from suffice.text import Documents, Vocabulary
    >>> texts, words = Batch(Documents(["free free lunch"])), Vocabulary(["free", "lunch"])
    >>> score_words(Features(), texts, words, np.array([[1.0], [-0.5]]))
    array([[1.5]])
    """
    documents: Any = batch.x
    found: FloatArray = features.native.scores(
        documents.native,
        batch.start,
        batch.stop,
        **vocabulary.native_lookup,
        table=table,
        intercept=np.zeros(table.shape[1]) if intercept is None else intercept,
        presence=presence,
        normed=normalised,
    )
    return found

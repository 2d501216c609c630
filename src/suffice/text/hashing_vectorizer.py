"""Documents as counts of hashed words."""

from __future__ import annotations

import numbers
from typing import Any, Self

import numpy as np

from suffice.text.count_matrix import known_rows
from suffice.text.vectorizing import Vectorizer
from suffice.text.vocabulary import HashedVocabulary


class HashingVectorizer(Vectorizer):
    """Documents as counts of hashed words: nothing to learn, and the same width for any text.

    As scikit-learn's class of the same name, but for its hash, and for signs: counts are never negative here, so that
    naive Bayes can read them.

    Parameters
    ----------
    n_features
        How many columns there are: a power of two.
    encoding, decode_error, strip_accents, lowercase, stop_words, token_pattern, ngram_range, analyzer
        As for :class:`~suffice.text.CountVectorizer`.
    binary, dtype, n_jobs
        As for :class:`~suffice.text.CountVectorizer`.

    Examples
    --------
    >>> HashingVectorizer(n_features=2**10).transform(["free money, free"]).sum(axis=1).tolist()
    [[3]]
    """

    def __init__(
        self,
        *,
        n_features: int = 1 << 20,
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Any = None,
        lowercase: bool = True,
        stop_words: Any = None,
        token_pattern: str = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: str = "word",
        binary: bool = False,
        dtype: Any = np.int64,
        n_jobs: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.encoding = encoding
        self.decode_error = decode_error
        self.strip_accents = strip_accents
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.binary = binary
        self.dtype = dtype
        self.n_jobs = n_jobs

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Do nothing but check the settings: there is nothing to learn."""
        self._slots()
        self._features()
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Return the counts of documents, (n, n_features)."""
        return self.transform(raw_documents)

    def transform(self, raw_documents: Any) -> Any:
        """Return the counts of documents, (n, n_features)."""
        slots = self._slots()
        features, batches = self._documents(raw_documents)
        return self._finished(known_rows(batches, features, slots, self._engine()).counts)

    def _slots(self) -> HashedVocabulary:
        size = self.n_features
        if not isinstance(size, numbers.Integral) or not 2 <= int(size) <= 1 << 30 or int(size) & (int(size) - 1):
            raise ValueError(f"n_features must be a power of two, such as 2**20, up to 2**30; got {size!r}")
        return HashedVocabulary(int(size).bit_length() - 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

"""What all vectorisers share: scikit-learn's settings as features of text."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from suffice.kernels import Engine
from suffice.kernels.engine import Execution, engine_for
from suffice.text.documents import decoded, gathered
from suffice.text.features import Features

#: The patterns of words that the tokeniser knows, with the unit and the least length they stand for.
PATTERNS = {
    r"(?u)\b\w\w+\b": ("words", 2),
    r"\b\w\w+\b": ("words", 2),
    r"(?u)\b\w+\b": ("words", 1),
    r"\b\w+\b": ("words", 1),
    r"(?u)\w+": ("words", 1),
    r"\w+": ("words", 1),
    r"(?u)\S+": ("chunks", 1),
    r"\S+": ("chunks", 1),
}
_UNITS = {"char": "characters", "char_wb": "characters_in_words"}


class Vectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Documents to rows of counts, with scikit-learn's settings."""

    encoding: str
    decode_error: str
    strip_accents: Any
    lowercase: bool
    stop_words: Any
    token_pattern: str
    ngram_range: tuple[int, int]
    analyzer: str
    binary: bool
    dtype: Any
    n_jobs: int | None

    def _features(self) -> Features:
        """Return the features that scikit-learn's settings stand for."""
        unit, shortest = _UNITS.get(self.analyzer), 1
        if self.analyzer == "word":
            if self.token_pattern not in PATTERNS:
                raise ValueError(
                    f"token_pattern={self.token_pattern!r} is none of those that are compiled "
                    f"({', '.join(sorted(PATTERNS))}): use scikit-learn's vectoriser for it"
                )
            unit, shortest = PATTERNS[self.token_pattern]
        if unit is None:
            raise ValueError(f"analyzer must be 'word', 'char' or 'char_wb'; got {self.analyzer!r}")
        return Features(
            unit,  # type: ignore[arg-type]
            tuple(self.ngram_range),  # type: ignore[arg-type]
            lower=self.lowercase,
            accents=self.strip_accents,
            shortest=shortest,
            stop_words=self.stop_words if self.analyzer == "word" else None,
        )

    def _documents(self, raw_documents: Any) -> Any:
        features = self._features()
        return features, gathered(decoded(raw_documents, self.encoding, self.decode_error), features)

    def _engine(self) -> Engine:
        return engine_for(Execution(self.n_jobs), np.zeros((0, 0)))

    def _finished(self, rows: Any) -> Any:
        if self.binary:
            rows.data.fill(1)
        return sparse.csr_matrix(rows.astype(self.dtype))

    def build_analyzer(self) -> Any:
        """Return what turns one document into its features."""
        features = self._features()
        return lambda text: features.of(decoded([text], self.encoding, self.decode_error)[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        return tags

"""Vectorisers with scikit-learn's interface over the native tokeniser: the same matrices, faster."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer

from suffice.kernels import Engine
from suffice.kernels.engine import Execution, engine_for
from suffice.kernels.sparse import intact_sparse
from suffice.text.count_matrix import count_all_features, count_features
from suffice.text.documents import Documents, batch_documents, decode_texts
from suffice.text.features import Features
from suffice.text.vocabulary import HashedVocabulary, Vocabulary

#: The values of ``token_pattern`` that the native tokeniser supports, with the unit and the least length of a word.
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
    """Base of the vectorisers: scikit-learn's parameters as features of documents."""

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
        """Return the features that scikit-learn's parameters define."""
        unit, shortest = _UNITS.get(self.analyzer), 1
        if self.analyzer == "word":
            if self.token_pattern not in PATTERNS:
                raise ValueError(
                    f"token_pattern={self.token_pattern!r} is not supported; the patterns are "
                    f"{', '.join(sorted(PATTERNS))}: use scikit-learn's vectoriser for others"
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

    def _batches(self, raw_documents: Any, features: Features) -> Iterator[Documents]:
        """Yield documents in batches."""
        return batch_documents(decode_texts(raw_documents, self.encoding, self.decode_error), features)

    def _engine(self) -> Engine:
        return engine_for(Execution(self.n_jobs), np.zeros((0, 0)))

    def _as_output(self, rows: Any) -> Any:
        """Return counts in the type that the user asked for."""
        if self.binary:
            rows.data.fill(1)
        return sparse.csr_matrix(rows.astype(self.dtype))

    def build_analyzer(self) -> Any:
        """Return a function that returns the features of one document."""
        features = self._features()
        return lambda text: features.of(decode_texts([text], self.encoding, self.decode_error)[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        return tags


class CountVectorizer(Vectorizer):
    """Counts of words: scikit-learn's class of the same name over the native tokeniser.

    The matrix is the same, to the last entry. So are the parameters, except functions as ``analyzer``, ``tokenizer`` or
    ``preprocessor``, and values of ``token_pattern`` that are not in ``PATTERNS``.

    Parameters
    ----------
    encoding, decode_error
        The encoding of bytes, and the treatment of invalid ones.
    strip_accents, lowercase, stop_words, token_pattern, ngram_range, analyzer
        The definition of a word, as in scikit-learn.
    max_df, min_df, max_features
        Limits on the number of documents that contain a word (numbers, or shares as floats), and on the number of
        words, of which the most frequent are kept.
    vocabulary
        The words that are counted, or a dictionary from word to column; learned by default.
    binary
        Whether a word counts once in a document.
    dtype
        The type of the counts.
    n_jobs
        The number of threads: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
        cores of the machine, or a number.

    Examples
    --------
    >>> vectorizer = CountVectorizer()
    >>> vectorizer.fit_transform(["free money, free", "lunch money"]).toarray()
    array([[2, 0, 1],
           [0, 1, 1]])
    >>> vectorizer.get_feature_names_out()
    array(['free', 'lunch', 'money'], dtype=object)
    """

    def __init__(
        self,
        *,
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Any = None,
        lowercase: bool = True,
        stop_words: Any = None,
        token_pattern: str = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: str = "word",
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Any = None,
        binary: bool = False,
        dtype: Any = np.int64,
        n_jobs: int | None = None,
    ) -> None:
        self.encoding = encoding
        self.decode_error = decode_error
        self.strip_accents = strip_accents
        self.lowercase = lowercase
        self.stop_words = stop_words
        self.token_pattern = token_pattern
        self.ngram_range = ngram_range
        self.analyzer = analyzer
        self.max_df = max_df
        self.min_df = min_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype
        self.n_jobs = n_jobs

    def fit(self, raw_documents: Any, y: Any = None) -> Self:
        """Learn the vocabulary of documents."""
        self.fit_transform(raw_documents)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary of documents, and return their counts, (n, V)."""
        return self._fit_counts(raw_documents)

    def _fit_counts(self, raw_documents: Any) -> Any:
        """Learn the vocabulary, and return the counts."""
        most = self.max_features
        if most is not None and (not isinstance(most, numbers.Integral) or int(most) < 1):
            raise ValueError(f"max_features must be a whole number, 1 or more, or None; got {most!r}")
        if self.vocabulary is not None:
            self._words = _given_vocabulary(self.vocabulary)
            return self._counts(raw_documents)
        features = self._features()
        matrix, words = count_all_features(self._batches(raw_documents, features), features, self._engine())
        if not len(words):
            raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
        counts = matrix.counts
        if self.binary:
            counts.data.fill(1)
        kept = self._select_columns(counts)
        if len(kept) < len(words):
            if not len(kept):
                raise ValueError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
            counts, words = counts[:, kept], words.take(kept)
        self._words = words
        return self._as_output(counts)

    def _select_columns(self, rows: Any) -> npt.NDArray[np.intp]:
        """Return the columns within the limits max_df, min_df and max_features."""
        n, width = rows.shape
        least, most = (_count_limit(name, getattr(self, name), n) for name in ("min_df", "max_df"))
        if most < least:
            raise ValueError("max_df corresponds to < documents than min_df")
        documents = np.bincount(rows.indices, minlength=width)
        kept = np.flatnonzero((documents >= least) & (documents <= most))
        if self.max_features is not None and len(kept) > self.max_features:
            totals = np.bincount(rows.indices, rows.data, width).astype(np.int64)[kept]
            kept = np.sort(kept[(-totals).argsort()[: self.max_features]])  # breaks ties as scikit-learn does
        return kept

    def transform(self, raw_documents: Any) -> Any:
        """Return the counts of documents, (n, V); words that are not in the vocabulary are left out."""
        return self._counts(raw_documents)

    def _counts(self, raw_documents: Any) -> Any:
        self._check_fitted()
        features = self._features()
        rows = count_features(self._batches(raw_documents, features), features, self._words, self._engine()).counts
        rows.sort_indices()
        return self._as_output(rows)

    def inverse_transform(self, X: Any) -> list[npt.NDArray[Any]]:
        """Return the words with a count above 0 of each row."""
        self._check_fitted()
        rows = sparse.csr_array(intact_sparse(X) if sparse.issparse(X) else X)
        names = self._words.names()
        if rows.shape[1] != len(names):
            raise ValueError(f"X has {rows.shape[1]} columns and the vocabulary has {len(names)} words")
        return [names[rows.indices[start:stop]] for start, stop in pairwise(rows.indptr)]

    def _check_fitted(self) -> None:
        if not hasattr(self, "_words"):
            if self.vocabulary is None:
                raise NotFittedError("Vocabulary not fitted or provided")
            self._words = _given_vocabulary(self.vocabulary)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a vocabulary."""
        return hasattr(self, "_words") or self.vocabulary is not None

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each word."""
        self._check_fitted()
        return {word: column for column, word in enumerate(self._words)}

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the words in the order of their columns."""
        self._check_fitted()
        return self._words.names().copy()


class TfidfVectorizer(CountVectorizer):
    """TF-IDF: :class:`CountVectorizer` followed by scikit-learn's ``TfidfTransformer``.

    Parameters
    ----------
    norm, use_idf, smooth_idf, sublinear_tf
        As in scikit-learn.
    **counting
        The parameters of :class:`CountVectorizer`.

    Examples
    --------
    >>> TfidfVectorizer().fit_transform(["free money", "money"]).toarray().round(3)
    array([[0.815, 0.58 ],
           [0.   , 1.   ]])
    """

    def __init__(
        self,
        *,
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Any = None,
        lowercase: bool = True,
        stop_words: Any = None,
        token_pattern: str = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: str = "word",
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Any = None,
        binary: bool = False,
        dtype: Any = np.float64,
        norm: str | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            analyzer=analyzer,
            max_df=max_df,
            min_df=min_df,
            max_features=max_features,
            vocabulary=vocabulary,
            binary=binary,
            dtype=dtype,
            n_jobs=n_jobs,
        )
        self.norm = norm
        self.use_idf = use_idf
        self.smooth_idf = smooth_idf
        self.sublinear_tf = sublinear_tf

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the vocabulary and the document frequencies, and return weighted counts, (n, V)."""
        counts = self._fit_counts(raw_documents)
        self._weights = TfidfTransformer(
            norm=self.norm, use_idf=self.use_idf, smooth_idf=self.smooth_idf, sublinear_tf=self.sublinear_tf
        )
        return self._weights.fit_transform(counts)

    def transform(self, raw_documents: Any) -> Any:
        """Return the weighted counts of documents, (n, V)."""
        self._check_weighted()
        return self._weights.transform(self._counts(raw_documents))

    def _check_weighted(self) -> None:
        if not hasattr(self, "_weights"):
            raise NotFittedError("The TF-IDF vectorizer is not fitted")

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the document frequencies are learned."""
        return hasattr(self, "_weights")

    @property
    def idf_(self) -> npt.NDArray[np.float64]:
        """The inverse document frequency of each word, (V,)."""
        self._check_weighted()
        return np.asarray(self._weights.idf_)


class HashingVectorizer(Vectorizer):
    """Counts of hashed words: a constant number of columns, and no vocabulary to learn.

    The differences from scikit-learn's class of the same name: another hash function, and no alternating signs, since
    naive Bayes needs counts that are not negative.

    Parameters
    ----------
    n_features
        The number of columns: a power of two.
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
        """Check the parameters; nothing is learned."""
        self._vocabulary()
        self._features()
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Return the counts of documents, (n, n_features)."""
        return self.transform(raw_documents)

    def transform(self, raw_documents: Any) -> Any:
        """Return the counts of documents, (n, n_features)."""
        vocabulary, features = self._vocabulary(), self._features()
        batches = self._batches(raw_documents, features)
        return self._as_output(count_features(batches, features, vocabulary, self._engine()).counts)

    def _vocabulary(self) -> HashedVocabulary:
        size = self.n_features
        if not isinstance(size, numbers.Integral) or not 2 <= int(size) <= 1 << 30 or int(size) & (int(size) - 1):
            raise ValueError(f"n_features must be a power of two, such as 2**20, up to 2**30; got {size!r}")
        return HashedVocabulary(int(size).bit_length() - 1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def _count_limit(name: str, value: Any, n: int) -> float:
    """Return a limit on the number of documents, given as a number or as a share of n."""
    if isinstance(value, numbers.Integral) and int(value) >= 1:
        return float(value)
    if isinstance(value, float | np.floating) and 0 <= value <= 1:
        return float(value) * n
    raise ValueError(f"{name} must be a whole number, 1 or more, or a float from 0 to 1; got {value!r}")


def _given_vocabulary(vocabulary: Any) -> Vocabulary:
    """Return the vocabulary that the user gives, in the order of its columns."""
    if isinstance(vocabulary, Vocabulary):
        return vocabulary
    if isinstance(vocabulary, Mapping):
        columns = sorted(vocabulary.values())
        if columns != list(range(len(columns))):
            raise ValueError(f"the columns of a vocabulary must be 0 to {len(columns) - 1}, each once")
        words = sorted(vocabulary, key=lambda word: vocabulary[word])
    else:
        words = sorted(vocabulary) if isinstance(vocabulary, set | frozenset) else list(vocabulary)
    if not words:
        raise ValueError("empty vocabulary passed to fit")
    return Vocabulary(words)

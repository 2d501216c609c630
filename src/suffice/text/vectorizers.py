"""scikit-learn's vectorisers over the native tokeniser: the same matrices, sooner."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer

from suffice.kernels.sparse import intact_sparse
from suffice.text.count_matrix import known_rows, new_rows
from suffice.text.vectorizing import Vectorizer
from suffice.text.vocabulary import Vocabulary


class CountVectorizer(Vectorizer):
    """Documents as counts of words: scikit-learn's class of the same name, over the native tokeniser.

    The matrix is the same, to the last entry; so are the settings, but for functions as ``analyzer``, ``tokenizer`` or
    ``preprocessor`` and patterns of words that are not compiled.

    Parameters
    ----------
    encoding, decode_error
        How bytes become text.
    strip_accents, lowercase, stop_words, token_pattern, ngram_range, analyzer
        What counts as a word, as in scikit-learn.
    max_df, min_df, max_features
        Words in more or fewer documents than these (numbers, or shares as floats), and those beyond the most frequent,
        are left out.
    vocabulary
        The words that count, or a dictionary from word to column; learnt by default.
    binary
        Whether a word counts once in a document.
    dtype
        The type of the counts.
    n_jobs
        How many threads work: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
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
        return self._learnt(raw_documents)

    def _learnt(self, raw_documents: Any) -> Any:
        """Learn the vocabulary, and return the counts."""
        most = self.max_features
        if most is not None and (not isinstance(most, numbers.Integral) or int(most) < 1):
            raise ValueError(f"max_features must be a whole number, 1 or more, or None; got {most!r}")
        if self.vocabulary is not None:
            self._words = _given(self.vocabulary)
            return self._counts(raw_documents)
        features, batches = self._documents(raw_documents)
        rows, words = new_rows(batches, features, self._engine())
        if not len(words):
            raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
        counts = rows.counts
        if self.binary:
            counts.data.fill(1)
        kept = self._kept(counts)
        if len(kept) < len(words):
            if not len(kept):
                raise ValueError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
            counts, words = counts[:, kept], words.take(kept)
        self._words = words
        return self._finished(counts)

    def _kept(self, rows: Any) -> npt.NDArray[np.intp]:
        """Return the columns that neither too many nor too few documents have."""
        n, width = rows.shape
        least, most = (_documents(name, getattr(self, name), n) for name in ("min_df", "max_df"))
        if most < least:
            raise ValueError("max_df corresponds to < documents than min_df")
        documents = np.bincount(rows.indices, minlength=width)
        kept = np.flatnonzero((documents >= least) & (documents <= most))
        if self.max_features is not None and len(kept) > self.max_features:
            totals = np.bincount(rows.indices, rows.data, width).astype(np.int64)[kept]
            kept = np.sort(kept[(-totals).argsort()[: self.max_features]])  # of words alike, those scikit-learn takes
        return kept

    def transform(self, raw_documents: Any) -> Any:
        """Return the counts of documents, (n, V); words that were not learnt are left out."""
        return self._counts(raw_documents)

    def _counts(self, raw_documents: Any) -> Any:
        self._check_fitted()
        features, batches = self._documents(raw_documents)
        rows = known_rows(batches, features, self._words, self._engine()).counts
        rows.sort_indices()
        return self._finished(rows)

    def inverse_transform(self, X: Any) -> list[npt.NDArray[Any]]:
        """Return the words of each row that are not 0."""
        self._check_fitted()
        rows = sparse.csr_array(intact_sparse(X) if sparse.issparse(X) else X)
        names = self._words.names()
        if rows.shape[1] != len(names):
            raise ValueError(f"X has {rows.shape[1]} columns, and the vocabulary has {len(names)} words")
        return [names[rows.indices[start:stop]] for start, stop in pairwise(rows.indptr)]

    def _check_fitted(self) -> None:
        if not hasattr(self, "_words"):
            if self.vocabulary is None:
                raise NotFittedError("Vocabulary not fitted or provided")
            self._words = _given(self.vocabulary)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a vocabulary."""
        return hasattr(self, "_words") or self.vocabulary is not None

    @property
    def vocabulary_(self) -> dict[str, int]:
        """The column of each word."""
        self._check_fitted()
        return {word: column for column, word in enumerate(self._words)}

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the words, in the order of their columns."""
        self._check_fitted()
        return self._words.names().copy()


class TfidfVectorizer(CountVectorizer):
    """Documents as weighted counts: :class:`CountVectorizer` followed by scikit-learn's ``TfidfTransformer``.

    Parameters
    ----------
    norm, use_idf, smooth_idf, sublinear_tf
        As in scikit-learn.
    **counting
        The settings of :class:`CountVectorizer`.

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
        """Learn the vocabulary and the documents' frequencies, and return weighted counts, (n, V)."""
        counts = self._learnt(raw_documents)
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
        """Whether words have weights."""
        return hasattr(self, "_weights")

    @property
    def idf_(self) -> npt.NDArray[np.float64]:
        """The weight of each word, (V,)."""
        self._check_weighted()
        return np.asarray(self._weights.idf_)


def _documents(name: str, value: Any, n: int) -> float:
    """Return a limit on documents: a number, or a share of them as a float."""
    if isinstance(value, numbers.Integral) and int(value) >= 1:
        return float(value)
    if isinstance(value, float | np.floating) and 0 <= value <= 1:
        return float(value) * n
    raise ValueError(f"{name} must be a whole number, 1 or more, or a float from 0 to 1; got {value!r}")


def _given(vocabulary: Any) -> Vocabulary:
    """Return a vocabulary that the user has given, in the order of its columns."""
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

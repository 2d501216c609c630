"""scikit-learn's vectorisers, with the counting done by the native tokeniser: the same matrices, faster."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn import get_config
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import text as scikit_learn
from sklearn.utils.sparsefuncs_fast import inplace_csr_row_normalize_l1, inplace_csr_row_normalize_l2
from sklearn.utils.validation import check_is_fitted

from suffice.kernels import Engine
from suffice.kernels.engine import Execution, engine_for
from suffice.kernels.sparse import intact_sparse
from suffice.text.count_matrix import count_all_features, count_features, hash_features
from suffice.text.documents import Documents, batch_documents, decode_texts, list_texts
from suffice.text.features import Features
from suffice.text.vocabulary import Vocabulary
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import MatrixLike, SparseRows, TextsLike, VectorLike

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
#: Up to this number of documents, CSR is made without the checks of its constructor.
_FEW = 64
#: A subclass that overrides one of these analyses documents in Python.
_STEPS = tuple(
    (name, getattr(scikit_learn.CountVectorizer, name))
    for name in ("build_analyzer", "build_preprocessor", "build_tokenizer", "decode", "get_stop_words")
)
_NORMALISERS: dict[str, Callable[[Any], None]] = {
    "l1": inplace_csr_row_normalize_l1,
    "l2": inplace_csr_row_normalize_l2,
}


def _as_configured(entries: Any, columns: Any, ends: Any, width: int) -> SparseRows:
    """Return sorted rows as a CSR array or matrix: since scikit-learn 1.9, its configuration says which."""
    kind = sparse.csr_array if get_config().get("sparse_interface") == "sparray" else sparse.csr_matrix
    rows = len(ends) - 1
    if rows <= _FEW:
        found = copy.copy(_no_counts(kind, rows, width))
        found.data, found.indices, found.indptr = entries, columns, ends
    else:
        found = kind((entries, columns, ends), shape=(rows, width))
    found.has_canonical_format = True
    result: SparseRows = found
    return result


@lru_cache(maxsize=16)
def _no_counts(kind: Any, rows: int, width: int) -> Any:
    """Return CSR without entries, of which copies get their arrays: the constructor's checks take as long as a text."""
    return kind((rows, width))


@lru_cache(maxsize=64, typed=True)
def _make_features(
    unit: str,
    shortest: int,
    ngram_range: tuple[int, int],
    lower: bool,
    accents: Any,
    stop_words: str | tuple[str, ...] | None,
) -> Features:
    """Return features of native code; those of recent parameters are kept, as their check takes longer than a text."""
    return Features(
        unit,  # type: ignore[arg-type]
        ngram_range,
        lower=lower,
        accents=accents,
        shortest=shortest,
        stop_words=stop_words,  # type: ignore[arg-type]
    )


class NativeAnalysis:
    """What the vectorisers share: scikit-learn's parameters as features of the native tokeniser, if it has them."""

    input: str
    encoding: str
    decode_error: str
    strip_accents: Literal["ascii", "unicode"] | Callable[[str], str] | None
    lowercase: bool
    preprocessor: Callable[[str], str] | None
    tokenizer: Callable[[str], Iterable[str]] | None
    stop_words: Literal["english"] | Iterable[str] | None
    token_pattern: str | None
    ngram_range: tuple[int, int]
    analyzer: Literal["word", "char", "char_wb"] | Callable[..., Iterable[Any]]
    n_jobs: int | None

    def _native_features(self) -> Features | None:
        """Return the features that scikit-learn's parameters define; None if they are Python functions."""
        overridden = any(getattr(type(self), name) is not step for name, step in _STEPS)
        functions = (self.preprocessor, self.tokenizer, *filter(callable, (self.analyzer, self.strip_accents)))
        if overridden or any(function is not None for function in functions) or self.ngram_range[0] < 1:
            return None
        is_word = self.analyzer == "word"
        stop_words: str | tuple[str, ...] | None = None
        is_plain = self.token_pattern in PATTERNS if is_word else self.analyzer in _UNITS
        if self.stop_words is not None or not is_plain:
            vectorizer: Any = self
            vectorizer.build_analyzer()  # refuses a wrong analyzer, and warns of stop words that are never found
            if not is_plain:
                return None
        if is_word and self.stop_words is not None:
            given = self.stop_words
            stop_words = given if isinstance(given, str) else tuple(word for word in given if isinstance(word, str))
        unit, shortest = PATTERNS[str(self.token_pattern)] if is_word else (_UNITS[str(self.analyzer)], 1)
        return _make_features(
            unit,
            shortest,
            tuple(self.ngram_range),
            self.lowercase,
            self.strip_accents or None,
            stop_words,
        )

    def _collection(self, raw_documents: Any) -> Any:
        """Return documents that scikit-learn's analysis reads: it knows no data frames."""
        lazy = isinstance(raw_documents, Iterator) or self.input != "content"
        return raw_documents if lazy and not isinstance(raw_documents, str | bytes) else list_texts(raw_documents)

    def _batches(self, raw_documents: Any, features: Features) -> Iterator[Documents]:
        """Yield documents in batches."""
        if self.input != "content":
            vectorizer: Any = self
            raw_documents = [vectorizer.decode(document) for document in self._collection(raw_documents)]
        return batch_documents(decode_texts(raw_documents, self.encoding, self.decode_error), features)

    def _engine(self) -> Engine:
        return engine_for(Execution(self.n_jobs), np.zeros((0, 0)))


class CountVectorizer(NativeAnalysis, scikit_learn.CountVectorizer):  # type: ignore[misc]
    """Counts of words: scikit-learn's class of the same name over the native tokeniser.

    Parameters, attributes and matrices are the same, to the last entry. Functions as ``analyzer``, ``tokenizer``,
    ``preprocessor`` or ``strip_accents``, and values of ``token_pattern`` that are not in ``PATTERNS``, run in Python,
    at scikit-learn's speed.

    Parameters
    ----------
    input
        What a document is: its "content", the name of its file ("filename"), or an open file ("file").
    encoding, decode_error
        The encoding of bytes, and the treatment of invalid ones: "strict", "ignore" or "replace".
    strip_accents, lowercase, preprocessor, tokenizer, stop_words, token_pattern, ngram_range, analyzer
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

    Attributes
    ----------
    vocabulary_ : dict
        The column of each word.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.

    Examples
    --------
    >>> vectorizer = CountVectorizer()
    >>> vectorizer.fit_transform(["free money, free", "lunch money"]).toarray()
    array([[2, 0, 1],
           [0, 1, 1]])
    >>> vectorizer.get_feature_names_out()
    array(['free', 'lunch', 'money'], dtype=object)
    """

    fixed_vocabulary_: bool
    _columns: dict[Any, int] | None  # the vocabulary as scikit-learn keeps it
    _words: Vocabulary | None  # the vocabulary as native code reads it; at least one of the two is there after a fit

    def __init__(
        self,
        *,
        input: str = "content",  # noqa: A002
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Literal["ascii", "unicode"] | Callable[[str], str] | None = None,
        lowercase: bool = True,
        preprocessor: Callable[[str], str] | None = None,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        stop_words: Literal["english"] | Iterable[str] | None = None,
        token_pattern: str | None = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Literal["word", "char", "char_wb"] | Callable[..., Iterable[Any]] = "word",
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Mapping[Any, int] | Iterable[Any] | None = None,
        binary: bool = False,
        dtype: npt.DTypeLike = np.int64,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
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
        )
        self.n_jobs = n_jobs

    def fit(self, raw_documents: TextsLike, y: VectorLike = None) -> Self:
        """Learn the vocabulary of documents."""
        self.fit_transform(raw_documents)
        return self

    def fit_transform(self, raw_documents: TextsLike, y: VectorLike = None) -> SparseRows:
        """Learn the vocabulary of documents, and return their counts, (n, V)."""
        self._validate_params()
        self._validate_ngram_range()
        features = self._native_features()
        if features is None:
            analysed: SparseRows = super().fit_transform(self._collection(raw_documents))
            analysed.sort_indices()
            return analysed
        self._warn_for_unused_params()
        self._validate_vocabulary()
        if self.fixed_vocabulary_:
            self._warn_of_upper_case()
            self._warn_of_short_words()
            return self.transform_counts(raw_documents)
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
        self._words, self._columns = words, None
        return _as_configured(counts.data.astype(self.dtype), counts.indices, counts.indptr, counts.shape[1])

    def _warn_of_upper_case(self) -> None:
        for word in self.vocabulary:
            if self.lowercase and any(map(str.isupper, word)):
                warnings.warn(
                    "Upper case characters found in vocabulary while 'lowercase' is True. These entries will not be "
                    f"matched with any documents: {word!r}",
                    stacklevel=3,
                )
                break

    def _warn_of_short_words(self) -> None:
        """Warn of words of the vocabulary that are shorter than those that the token pattern finds."""
        shortest = PATTERNS[str(self.token_pattern)][1] if self.analyzer == "word" else 1
        short = [word for word in self.vocabulary if any(len(part) < shortest for part in word.split(" "))]
        if short:
            warn_user(
                f"{len(short)} of the {len(self.vocabulary)} words of the vocabulary, the first of them {short[0]!r}, "
                f"are never counted: token_pattern={self.token_pattern!r} finds words of {shortest} letters or more; "
                r"give token_pattern=r'(?u)\b\w+\b'"
            )

    def _select_columns(self, rows: Any) -> npt.NDArray[np.intp]:
        """Return the columns within the limits max_df, min_df and max_features."""
        n, width = rows.shape
        least, most = (
            limit * n if isinstance(limit, float | np.floating) else limit for limit in (self.min_df, self.max_df)
        )
        if most < least:
            raise ValueError("max_df corresponds to < documents than min_df")
        documents = np.bincount(rows.indices, minlength=width)
        kept = np.flatnonzero((documents >= least) & (documents <= most))
        if self.max_features is not None and len(kept) > self.max_features:
            totals = np.bincount(rows.indices, rows.data, width).astype(np.int64)[kept]
            kept = np.sort(kept[(-totals).argsort()[: self.max_features]])  # breaks ties as scikit-learn does
        return kept

    def transform(self, raw_documents: TextsLike) -> SparseRows:
        """Return the counts of documents, (n, V); words that are not in the vocabulary are left out."""
        return self.transform_counts(raw_documents)

    def transform_counts(self, raw_documents: TextsLike) -> SparseRows:
        """Return the counts of documents, (n, V), before any weighting."""
        self._check_vocabulary()
        features, words = self._native_features(), self._native_words()
        if features is None or words is None:
            analysed: SparseRows = scikit_learn.CountVectorizer.transform(self, self._collection(raw_documents))
            return analysed
        found = count_features(self._batches(raw_documents, features), features, words, self._engine())
        if self.binary:
            found.entries.fill(1)
        return _as_configured(found.entries.astype(self.dtype), found.columns, found.ends, found.width)

    def _check_vocabulary(self) -> None:
        words = getattr(self, "_words", None)
        if words is None:
            super()._check_vocabulary()
        elif not len(words):
            raise ValueError("Vocabulary is empty")

    def inverse_transform(self, X: MatrixLike) -> list[npt.NDArray[Any]]:
        """Return the words with a count other than 0 of each row."""
        self._check_vocabulary()
        given: Any = X
        rows = sparse.csr_array(intact_sparse(given) if sparse.issparse(given) else given)
        names = self.get_feature_names_out()
        if rows.shape[1] != len(names):
            raise ValueError(f"X has {rows.shape[1]} columns and the vocabulary has {len(names)} words")
        if not rows.data.all():
            rows = rows.copy()
            rows.eliminate_zeros()
        return [names[rows.indices[start:stop]] for start, stop in pairwise(rows.indptr)]

    @property
    def vocabulary_(self) -> dict[Any, int]:
        """The column of each word."""
        columns: dict[Any, int] | None = getattr(self, "_columns", None)
        if columns is not None:
            return columns
        words = getattr(self, "_words", None)
        if words is None:
            raise NotFittedError("Vocabulary not fitted or provided")
        return {word: column for column, word in enumerate(words)}

    @vocabulary_.setter
    def vocabulary_(self, columns: dict[Any, int]) -> None:
        self._columns, self._words = columns, None

    def _native_words(self) -> Vocabulary | None:
        """Return the vocabulary as native code reads it; None if it has entries that are not strings."""
        if self._words is None:
            columns = self.vocabulary_
            if not all(isinstance(word, str) for word in columns):
                return None
            self._words = Vocabulary(sorted(columns, key=columns.__getitem__))
        return self._words

    def get_feature_names_out(self, input_features: VectorLike = None) -> npt.NDArray[Any]:
        """Return the words in the order of their columns."""
        self._check_vocabulary()
        words = self._native_words()
        return super().get_feature_names_out() if words is None else words.names().copy()

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a vocabulary."""
        return hasattr(self, "vocabulary_") or self.vocabulary is not None


class TfidfVectorizer(scikit_learn.TfidfVectorizer, CountVectorizer):  # type: ignore[misc]
    """TF-IDF: scikit-learn's class of the same name over the counts of :class:`CountVectorizer`.

    Parameters
    ----------
    norm, use_idf, smooth_idf, sublinear_tf
        As in scikit-learn.
    **counting
        The parameters of :class:`CountVectorizer`.

    Attributes
    ----------
    vocabulary_ : dict
        The column of each word.
    idf_ : ndarray of shape (V,)
        The inverse document frequency of each word.
    fixed_vocabulary_ : bool
        Whether the vocabulary was given.

    Examples
    --------
    >>> TfidfVectorizer().fit_transform(["free money", "money"]).toarray().round(3)
    array([[0.815, 0.58 ],
           [0.   , 1.   ]])
    """

    def __init__(
        self,
        *,
        input: str = "content",  # noqa: A002
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Literal["ascii", "unicode"] | Callable[[str], str] | None = None,
        lowercase: bool = True,
        preprocessor: Callable[[str], str] | None = None,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        analyzer: Literal["word", "char", "char_wb"] | Callable[..., Iterable[Any]] = "word",
        stop_words: Literal["english"] | Iterable[str] | None = None,
        token_pattern: str | None = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        max_df: float = 1.0,
        min_df: float = 1,
        max_features: int | None = None,
        vocabulary: Mapping[Any, int] | Iterable[Any] | None = None,
        binary: bool = False,
        dtype: npt.DTypeLike = np.float64,
        norm: str | None = "l2",
        use_idf: bool = True,
        smooth_idf: bool = True,
        sublinear_tf: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            analyzer=analyzer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            max_df=max_df,
            min_df=min_df,
            max_features=max_features,
            vocabulary=vocabulary,
            binary=binary,
            dtype=dtype,
            norm=norm,  # type: ignore[call-arg]
            use_idf=use_idf,
            smooth_idf=smooth_idf,
            sublinear_tf=sublinear_tf,
        )
        self.n_jobs = n_jobs

    def fit(self, raw_documents: TextsLike, y: VectorLike = None) -> Self:
        """Learn the vocabulary of documents, and in how many of them each word is."""
        self._learn(raw_documents)
        return self

    def fit_transform(self, raw_documents: TextsLike, y: VectorLike = None) -> SparseRows:
        """Learn the vocabulary and the document frequencies, and return the weighted counts, (n, V)."""
        return self._weigh(self._learn(raw_documents))

    def transform(self, raw_documents: TextsLike) -> SparseRows:
        """Return the weighted counts of documents, (n, V)."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self, msg="The TF-IDF vectorizer is not fitted")
        return self._weigh(self.transform_counts(raw_documents))

    def _learn(self, raw_documents: TextsLike) -> SparseRows:
        """Learn the vocabulary and the document frequencies, and return the counts.

        ``TfidfTransformer.fit`` has the same frequencies, and checks a matrix that was just made.
        """
        self._check_params()
        counts = CountVectorizer.fit_transform(self, raw_documents)
        tfidf = scikit_learn.TfidfTransformer(
            norm=self.norm, use_idf=self.use_idf, smooth_idf=self.smooth_idf, sublinear_tf=self.sublinear_tf
        )
        n, tfidf.n_features_in_ = counts.shape
        if not n:
            tfidf.fit(counts)  # refuses them
        if self.use_idf:
            dtype = counts.dtype if counts.dtype in (np.float64, np.float32) else np.float64
            documents = np.bincount(counts.indices, minlength=counts.shape[1]).astype(dtype)
            tfidf.idf_ = np.log((n + int(self.smooth_idf)) / (documents + int(self.smooth_idf))) + 1
        self._tfidf = tfidf
        return counts

    def _weigh(self, counts: SparseRows) -> SparseRows:
        """Return counts weighted by the document frequencies and divided by the norm; rows of floats are changed."""
        rows: Any = counts
        tfidf = self._tfidf
        idf = getattr(tfidf, "idf_", None)
        width = getattr(tfidf, "n_features_in_", None if idf is None else len(idf))
        if not rows.shape[0] or rows.shape[1] != width:
            refused: SparseRows = tfidf.transform(rows, copy=False)
            return refused
        if rows.dtype not in (np.float64, np.float32):
            rows = rows.astype(np.float64)
        if tfidf.sublinear_tf:
            np.log(rows.data, rows.data)
            rows.data += 1.0
        if idf is not None:
            rows.data *= idf[rows.indices]
        if tfidf.norm is not None:
            _NORMALISERS[tfidf.norm](rows)
        weighted: SparseRows = rows
        return weighted

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the document frequencies are learned."""
        return hasattr(self, "_tfidf")


class HashingVectorizer(NativeAnalysis, scikit_learn.HashingVectorizer):  # type: ignore[misc]
    """Hashed words: scikit-learn's class of the same name over the native tokeniser.

    The number of columns is constant, and there is no vocabulary to learn. The matrices are scikit-learn's: for naive
    Bayes, which needs counts, give ``alternate_sign=False, norm=None``.

    Parameters
    ----------
    n_features
        The number of columns.
    binary
        Whether a column counts once in a document.
    norm
        The norm that rows are divided by: "l1", "l2", or None for counts.
    alternate_sign
        Whether the hash of a word also decides the sign of its counts, so that collisions cancel on average.
    dtype
        The type of the entries.
    input, encoding, decode_error, strip_accents, lowercase, preprocessor, tokenizer, stop_words, token_pattern
        As for :class:`~suffice.text.CountVectorizer`.
    ngram_range, analyzer, n_jobs
        As for :class:`~suffice.text.CountVectorizer`.

    Examples
    --------
    >>> counts = HashingVectorizer(n_features=2**10, alternate_sign=False, norm=None)
    >>> counts.transform(["free money, free"]).sum(axis=1).tolist()
    [[3.0]]
    """

    def __init__(
        self,
        *,
        input: str = "content",  # noqa: A002
        encoding: str = "utf-8",
        decode_error: str = "strict",
        strip_accents: Literal["ascii", "unicode"] | Callable[[str], str] | None = None,
        lowercase: bool = True,
        preprocessor: Callable[[str], str] | None = None,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        stop_words: Literal["english"] | Iterable[str] | None = None,
        token_pattern: str | None = r"(?u)\b\w\w+\b",
        ngram_range: tuple[int, int] = (1, 1),
        analyzer: Literal["word", "char", "char_wb"] | Callable[..., Iterable[Any]] = "word",
        n_features: int = 2**20,
        binary: bool = False,
        norm: str | None = "l2",
        alternate_sign: bool = True,
        dtype: npt.DTypeLike = np.float64,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            input=input,
            encoding=encoding,
            decode_error=decode_error,
            strip_accents=strip_accents,
            lowercase=lowercase,
            preprocessor=preprocessor,
            tokenizer=tokenizer,
            stop_words=stop_words,
            token_pattern=token_pattern,
            ngram_range=ngram_range,
            analyzer=analyzer,
            n_features=n_features,
            binary=binary,
            norm=norm,
            alternate_sign=alternate_sign,
            dtype=dtype,
        )
        self.n_jobs = n_jobs

    def fit(self, X: TextsLike, y: VectorLike = None) -> Self:
        """Check the parameters; nothing is learned."""
        super().fit(self._collection(X))
        self._native_features()
        return self

    def fit_transform(self, X: TextsLike, y: VectorLike = None) -> SparseRows:
        """Check the parameters, and return the hashed counts of documents, (n, n_features)."""
        self._validate_params()
        self._warn_for_unused_params()
        return self.transform(X)

    def transform(self, X: TextsLike) -> SparseRows:
        """Return the hashed counts of documents, (n, n_features)."""
        self._validate_ngram_range()
        features = self._native_features()
        if features is None:
            analysed: SparseRows = super().transform(self._collection(X))
            return analysed
        batches, columns = self._batches(X, features), self.n_features
        rows = hash_features(batches, features, columns, self.alternate_sign, self._engine()).counts
        if self.binary:
            rows.data.fill(1)
        is_float = np.dtype(self.dtype) in (np.float64, np.float32)
        entries = rows.data.astype(self.dtype if is_float or self.norm is None else np.float64)
        found = _as_configured(entries, rows.indices, rows.indptr, columns)
        if self.norm is not None:
            _NORMALISERS[self.norm](found)
        return found

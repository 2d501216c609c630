"""TextClassifier: from documents to classes, probabilities and explanations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from numbers import Integral, Real
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, overload

import numpy as np
import numpy.typing as npt

from suffice import partitioned, validation
from suffice.data import Dataset
from suffice.data.dataset import ArrayDataset, dataset_in_parts
from suffice.data.stream import stream_dataset
from suffice.discriminative.penalties import conversion
from suffice.estimator import row_wise
from suffice.generative.base import Codes, RunningSum, SummedClassifier
from suffice.generative.conditional import against_average, strongest
from suffice.generative.joint import What
from suffice.html_fragments import fragment, notes, table
from suffice.kernels import Batch, Engine
from suffice.kernels.engine import Execution, engine_for
from suffice.model_types import TextModelName
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents, parameters
from suffice.text import CountSpec, DocumentCounts, Documents, Features, HashedVocabulary, Vocabulary
from suffice.text.candidates import Candidate, rank_candidates
from suffice.text.count_matrix import count_all_features
from suffice.text.document_rows import DocumentRows
from suffice.text.documents import batch_documents, decode_texts, is_utf8
from suffice.text.event_models import naive_bayes
from suffice.text.explanation import TextExplanation
from suffice.text.features import resolve_features
from suffice.text.naive_bayes import DISCRIMINATIVE, GENERATIVE, WordModel
from suffice.text.scorer import LinearScorer, explain_text, fit_scorer, is_presence
from suffice.text.sources import folder, labelled_batches, lines, open_source, read_documents
from suffice.text.vocabulary import BaseVocabulary, resolve_vocabulary, strip_prefix
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import ClassLabel, ClassPriors, RandomState, TextsLike, VectorLike

#: Parameters that a file holds in another form than the others.
_STORED_APART = ("features", "vocabulary")
#: Most classes, and words of each, that a notebook shows.
_SHOWN_CLASSES, _SHOWN_WORDS = 20, 5


class TextClassifier(SummedClassifier):
    """Classify texts: from strings, files or folders to classes, probabilities and explanations, in one pass.

    Parameters
    ----------
    model
        ``"multinomial"``: naive Bayes on word counts. ``"boolean"``: the same, with a word counting once in a document.
        ``"bernoulli"``: absent words count, too. ``"complement"``: a class is scored by the difference of a text from
        all other classes. ``"nb_logistic"``: logistic regression on the log-count ratios of naive Bayes.
        ``"logistic"``: logistic regression on word counts. ``"auto"``: the model with the best held-out score.
    features
        ``"words"``, ``"bigrams"`` (words and pairs), ``"characters"`` (3 to 5 within words), or
        :class:`suffice.text.Features`.
    vocabulary
        ``"exact"``: all words that occur. ``"hashed"``: 2^20 columns, constant memory for any text; or
        :class:`suffice.text.HashedVocabulary` of another size. A list of words: these alone are counted.
    presence
        Whether a word counts once in a document; by default for all models but the multinomial.
    alpha
        Smoothing, added to every count; ``"auto"`` chooses it by leave-one-out scores, from the same pass.
    C
        The inverse strength of the penalty of logistic regression, as in :class:`suffice.LogisticRegression`.
    class_prior
        The priors of generative models, (k,), or a dictionary from class to prior; the shares of the classes by
        default.
    temperature
        The divisor of the log-posterior of generative models: above 1, they are less confident. ``"auto"`` calibrates
        them.
    min_documents, max_share, max_words
        Limits on the number of documents that contain a word, on their share, and on the number of words, of which the
        most frequent are used. They do not change the sum: :meth:`with_params` reads it with other limits.
    encoding
        The encoding of bytes.
    n_jobs
        The number of threads: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
        cores of the machine, or a number.

    Attributes
    ----------
    classes_ : (k,)
    model_ : the name of the model, chosen where the parameter is "auto"
    selection_ : the held-out scores of all models, the best first, where the parameter is "auto"
    alpha_, temperature_ : smoothing and temperature, as given or chosen
    skipped_ : files that could not be read, with the reason
    vocabulary_ : Vocabulary
        The features that were counted.
    statistics_ : Statistics
        The sums over all documents, from which the model is read.

    Examples
    --------
    >>> texts = ["free money, free!", "cheap money now", "lunch on monday?", "monday is fine"]
    >>> model = TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["money for lunch money", "monday"])
    array(['spam', 'ham'], dtype='<U4')
    >>> model.explain("free lunch, friend").unseen
    ('friend',)
    >>> model.forget(["monday is fine"], ["ham"]).predict(["is it fine?"])  # no known word: the prior decides
    array(['spam'], dtype='<U4')
    """

    _fixed_parameters = _STORED_APART
    _fit_attributes = ("selection_", "skipped_")
    _reads_one_text: ClassVar[bool] = True  # one column of a data frame

    model_: TextModelName
    selection_: list[Candidate]
    skipped_: list[tuple[str, str]]

    def __init__(
        self,
        model: str = "multinomial",
        *,
        features: Any = "words",
        vocabulary: Any = "exact",
        presence: bool | None = None,
        alpha: float | str = "auto",
        C: float | str = "auto",
        class_prior: ClassPriors = None,
        temperature: float | str = "auto",
        min_documents: float = 1,
        max_share: float = 1.0,
        max_words: int | None = None,
        encoding: str = "utf-8",
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.features = features
        self.vocabulary = vocabulary
        self.presence = presence
        self.alpha = alpha
        self.C = C
        self.class_prior = class_prior
        self.temperature = temperature
        self.min_documents = min_documents
        self.max_share = max_share
        self.max_words = max_words
        self.encoding = encoding
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    @classmethod
    def _conversion(cls, name: str, value: Any) -> str | None:
        return conversion(cls.__name__, "C", name, value) or super()._conversion(name, value)

    def _check_settings(self) -> None:
        names = (*GENERATIVE, *DISCRIMINATIVE, "auto")
        if self.model not in names:
            raise ValueError(f"model must be one of {', '.join(map(repr, names))}; got {self.model!r}")
        for name, above in (("alpha", False), ("C", True), ("temperature", True)):
            value = getattr(self, name)
            least = "above 0" if above else "0 or more"
            valid = value == "auto" if isinstance(value, str) else _is_number(value) and 0 <= value < np.inf
            if not valid or (above and value == 0):
                raise ValueError(f"{name} must be a finite number, {least}, or 'auto'; got {value!r}")
        if not (_is_number(self.min_documents) and self.min_documents >= 0):
            raise ValueError(f"min_documents must be a number, 0 or more; got {self.min_documents!r}")
        if not (_is_number(self.max_share) and 0 < self.max_share <= 1):
            raise ValueError(f"max_share must be above 0 and at most 1; got {self.max_share!r}")
        if self.max_words is not None and not (isinstance(self.max_words, Integral) and int(self.max_words) >= 1):
            raise ValueError(f"max_words must be a whole number, 1 or more, or None; got {self.max_words!r}")
        if self.model == "bernoulli" and not isinstance(self._resolved_vocabulary, Vocabulary):
            raise ValueError(
                "model='bernoulli' scores absent words, and a column of a hashed vocabulary stands for several words: "
                "use an exact vocabulary, or model='boolean'"
            )
        if self.presence is False and self.model == "bernoulli":
            raise ValueError("model='bernoulli' is a model of the presence of words: presence cannot be False")
        if self.presence is False and self.model == "boolean":
            raise ValueError("model='boolean' is the multinomial model on presence: for counts, use 'multinomial'")
        if self.presence is not None and self.model == "auto":
            raise ValueError("model='auto' compares models on counts and on presence: leave presence out")
        _ = self._resolved_features

    @property
    def _resolved_features(self) -> Features:
        return resolve_features(self._params.features)

    @property
    def _resolved_vocabulary(self) -> BaseVocabulary:
        return resolve_vocabulary(self._params.vocabulary)

    @property
    def _engine(self) -> Engine:
        return engine_for(Execution(self.n_jobs), np.zeros((0, 0)))

    def _is_presence(self, name: TextModelName) -> bool:
        """Whether a word counts once in a document."""
        return is_presence(name, self._params.presence)

    # Learning: see SummedClassifier for partial_fit, forget and +.

    def fit(self, X: TextsLike, y: VectorLike = None, sample_weight: VectorLike = None) -> Self:
        """Learn from documents and their classes, forgetting what was learned before.

        Parameters
        ----------
        X
            Documents: a list, array or data-frame column of str or bytes; a :class:`pathlib.Path`, or
            :class:`suffice.text.folder` or :class:`suffice.text.lines` of one, which contain the classes; an iterator
            of pairs (text, label), or of batches (texts, labels) or (texts, labels, weights); a bag or column of Dask,
            or a data frame of Spark with one column of texts, which are counted on the workers; or a
            :class:`~suffice.data.Dataset`.
        y
            The class of each document; None where X contains the classes. For a data frame of Dask it may be the name
            of a column, for Spark it must be.
        sample_weight
            One weight per document; 1 by default.

        Returns
        -------
        self
        """
        source = open_source(X)
        with self._learning(anew=True):
            self._drop_fit_attributes()
            self._learn_first(self._dataset(source, y, sample_weight))
            _ = self._scorer  # raises now for a sum that no model can be read from
            if _brings_labels(source) and y is None:
                self.skipped_ = list(getattr(source, "skipped", []))
        skipped = getattr(self, "skipped_", [])
        if skipped:
            some = "; ".join(f"{path}: {reason}" for path, reason in skipped[:3])
            warn_user(
                f"{len(skipped)} files could not be read and were left out ({some}{' …' if len(skipped) > 3 else ''}); "
                "skipped_ lists them",
            )
        return self

    def _dataset(self, X: Any, y: Any, sample_weight: Any) -> Dataset:
        source = open_source(X)
        if y is None and _brings_labels(source):
            if sample_weight is not None:
                raise ValueError("a stream contains its weights: leave out sample_weight")
            return stream_dataset(labelled_batches(source), y=None, sample_weight=None)
        # An iterator beside y is one over texts.
        parts = None if validation.is_iterator(X) else dataset_in_parts(X, y=y, sample_weight=sample_weight)
        return ArrayDataset({"X": X, "y": y, "sample_weight": sample_weight}) if parts is None else parts

    def _features(self, X: Any, reset: bool) -> Documents:
        documents = read_documents(X, self._resolved_features, self._params.encoding)
        if reset and not len(documents):
            raise ValueError("there are no documents to learn from: X is empty")
        return documents

    def _set_features(self, data: Dataset) -> None:
        """Documents have no features to be set."""

    def _learn_first(self, data: Dataset, classes: Any = None) -> Self:
        self.__dict__.pop("model_", None)
        if self.model == "auto" and not data.is_in_process:
            # The documents stay on the workers: of the models that are read from counts, the one that is best for a
            # sample.
            rows = self._encode_part(Labels(), False, partitioned.sample_rows(data))
            counted = self._count_rows(rows.x, rows.codes, rows.weight, rows.labels)
            ranking = rank_candidates(counted, self.alpha, self.C, self._engine)
            self.model_ = next(candidate.model for candidate in ranking if candidate.model in GENERATIVE)
        elif self.model != "auto":
            self.model_ = self.model  # type: ignore[assignment]
        return super()._learn_first(data, classes)

    def _sum(self, x: Documents, codes: Codes, weight: FloatArray | None, labels: Labels) -> Any:
        if "model_" not in vars(self):  # "auto": chosen by the first documents
            ranking = rank_candidates(self._count_rows(x, codes, weight, labels), self.alpha, self.C, self._engine)
            self.selection_, self.model_ = ranking, ranking[0].model
        return self._sum_documents(_HeldDocuments(x, codes, weight, self._count_spec()), labels)

    def _count_spec(self) -> CountSpec | None:
        """Return what is counted for a generative model; None for a model that keeps rows."""
        if self.model_ not in GENERATIVE:
            return None
        presence, vocabulary = self._is_presence(self.model_), self._resolved_vocabulary
        # Words are hashed when they are added to the sum: each part would need a table of all columns otherwise.
        words = vocabulary if isinstance(vocabulary, Vocabulary) else Vocabulary()
        return CountSpec(self._resolved_features, words, events=not presence, presences=presence)

    def _sum_documents(self, held: _HeldDocuments, labels: Labels) -> Any:
        """Return the counts of documents, or their rows for a model that keeps rows."""
        if held.spec is None:
            return self._count_rows(held.documents, held.codes, held.weight, labels)
        batch = Batch(held.documents, held.codes, held.weight)
        return self._engine.accumulate(DocumentCounts.over(labels, held.spec), batch)

    def _count_rows(
        self, documents: Documents, codes: Codes, weight: FloatArray | None, labels: Labels
    ) -> DocumentRows:
        matrix, words = count_all_features([documents], self._resolved_features, self._engine)
        weights = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
        return DocumentRows(labels, words, matrix.counts, codes, weights).to_vocabulary(self._resolved_vocabulary)

    def _hold_rows(self, x: Documents, codes: Codes, weight: FloatArray | None) -> tuple[_HeldDocuments, int] | None:
        return _HeldDocuments(x, codes, weight, self._count_spec()), x.nnz // 4

    def _sum_held(self, held: list[_HeldDocuments], labels: Labels) -> Any:
        return reduce(add, [self._sum_documents(each, labels) for each in held])

    def _sum_to_keep(self, statistics: Any) -> Any:
        """Return a sum over the hashed or given vocabulary: subtraction removes words that no document contains."""
        vocabulary = self._resolved_vocabulary
        if isinstance(vocabulary, HashedVocabulary):
            return statistics.to_vocabulary(vocabulary) if isinstance(statistics.vocabulary, Vocabulary) else statistics
        return statistics if statistics.vocabulary == vocabulary else statistics.to_vocabulary(vocabulary)

    def _check_mergeable(self, other: Self) -> None:
        for name, one, two in (
            ("model", self.model_, other.model_),
            ("features", self._resolved_features, other._resolved_features),
            ("vocabulary", self._resolved_vocabulary, other._resolved_vocabulary),
        ):
            if one != two:
                raise ValueError(f"models with {name}={one!r} and {name}={two!r} cannot be merged")

    def _unread(self) -> None:
        super()._unread()
        if "_memory" in vars(self):
            self._set_model()

    def _set_model(self) -> None:
        """Set the model that the parameters ask for; raise where the sum does not hold its counts."""
        statistics = self.statistics_
        name: Any = self.model_ if self._params.model == "auto" else self._params.model
        presence = self._is_presence(name)
        if (name in GENERATIVE) != isinstance(statistics, DocumentCounts):
            raise ValueError(f"model={name!r} cannot be read from the sum of model={self.model_!r}: fit again")
        if isinstance(statistics, DocumentCounts) and len(statistics.documents):
            table = statistics.presences if presence else statistics.events
            if not table.shape[1]:
                what = "documents that contain a word" if presence else "occurrences of words"
                raise ValueError(
                    f"model={name!r} with presence={presence} needs counts of {what}, which the sum does not hold: "
                    "fit again"
                )
        self.model_ = name

    def _check_read(self) -> None:
        _ = self._scorer

    @property
    def _scorer(self) -> LinearScorer:
        """The model that is read from the sum."""
        self._check_fitted()
        return self._memory.model(self._read)

    def _read(self, statistics: Any) -> LinearScorer:
        """Return the model that is read from a sum."""
        name = self.model_
        return fit_scorer(statistics, name, self._is_presence(name), self._params, self._engine)

    @property
    def alpha_(self) -> float:
        """The smoothing."""
        return float(self._scorer.model.alpha)

    @property
    def temperature_(self) -> float:
        """The temperature of the posteriors."""
        return float(getattr(self._scorer.model, "temperature", 1.0))

    @property
    def vocabulary_(self) -> BaseVocabulary:
        """The words that the model uses."""
        return self._scorer.vocabulary

    # Predictions.

    @row_wise("prediction")
    def predict(self, X: TextsLike) -> npt.NDArray[Any]:
        """Return the most probable class of each document, (n,)."""
        codes = [np.zeros(0, dtype=np.int64), *self._score_batches(X, "best")]
        return np.asarray(self.classes_[np.concatenate(codes)])

    @row_wise("probability")
    def predict_proba(self, X: TextsLike) -> FloatArray:
        """Return p(y | text), (n, k)."""
        return self._score_documents(X, "posterior")

    @row_wise("log_probability")
    def predict_log_proba(self, X: TextsLike) -> FloatArray:
        """Return log p(y | text), (n, k)."""
        return self._score_documents(X, "log_posterior")

    @row_wise("score")
    def decision_function(self, X: TextsLike) -> FloatArray:
        """Return the log-odds of the second of two classes, (n,), or log p(y | text), (n, k)."""
        scores = self.predict_log_proba(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _score_documents(self, X: Any, what: What) -> FloatArray:
        self._check_fitted()
        return np.concatenate([np.zeros((0, len(self.classes_))), *self._score_batches(X, what)])

    def _score_batches(self, X: Any, what: What) -> Iterator[npt.NDArray[Any]]:
        scorer = self._scorer
        features, engine = self._resolved_features, self._engine
        for documents in self._batches(X, features):
            if len(documents):
                yield scorer.score(documents, features, engine, what)

    def _batches(self, X: Any, features: Features) -> Iterator[Documents]:
        source = open_source(X)
        if isinstance(source, folder | lines):
            for texts, _ in source:
                yield read_documents(texts, features, self._params.encoding)
        else:
            yield from batch_documents(decode_texts(source, self._params.encoding, "replace"), features)

    @overload
    def explain(self, text: str | bytes, against: ClassLabel | None = None) -> TextExplanation: ...  # type: ignore[overload-overlap]  # a text is an iterable of texts, too
    @overload
    def explain(self, text: Iterable[str | bytes], against: ClassLabel | None = None) -> list[TextExplanation]: ...
    def explain(self, text: str | bytes | Iterable[str | bytes], against: ClassLabel | None = None) -> Any:
        """Return the contributions of the words of a text to the log-odds.

        Parameters
        ----------
        text
            One text, or a list of them.
        against
            The class that the prediction is compared with; the most probable of the others by default.

        Returns
        -------
        TextExplanation
            Its contributions and base add up to the log-odds; ``unseen`` lists words that are not in the vocabulary. A
            list of explanations for a list of texts.
        """
        scorer = self._scorer
        if not isinstance(text, str | bytes):
            texts = decode_texts(text, self._params.encoding, "replace")
            Documents(texts)  # raises for an entry that is not a text, with its position
            return [self.explain(each, against) for each in texts]
        (plain,) = decode_texts([text], self._params.encoding, "replace")
        log_posterior = self.predict_log_proba([plain])[0]
        return explain_text(scorer, self._resolved_features, plain, self.classes_.tolist(), log_posterior, against)

    @overload
    def top_words(self, label: None = None, n: int = 10) -> dict[Any, list[tuple[str, float]]]: ...
    @overload
    def top_words(self, label: ClassLabel, n: int = 10) -> list[tuple[str, float]]: ...
    def top_words(self, label: ClassLabel | None = None, n: int = 10) -> Any:
        """Return the words with the greatest log-odds for a class.

        Parameters
        ----------
        label
            The class; a dictionary from every class to its words by default.
        n
            The number of words.

        Returns
        -------
        list of (word, log-odds)
            Against the average of all classes; infinite for a word that is impossible in some classes.
        """
        if n < 0:
            raise ValueError(f"n must not be negative; got {n!r}")
        scorer = self._scorer
        coef = scorer.theta.coef
        log_odds = against_average(coef)

        def top(code: int) -> list[tuple[str, float]]:
            best = strongest(log_odds[code], coef[code])[:n]
            return [(scorer.vocabulary.name(int(column)), float(log_odds[code, column])) for column in best]

        if label is not None:
            return top(int(self._memory.labels.encode([label])[0]))
        return {each: top(code) for code, each in enumerate(self.classes_.tolist())}

    def _fitted_html(self) -> str:
        words = self.top_words(n=_SHOWN_WORDS)
        shown = list(words.items())[:_SHOWN_CLASSES]
        rows = [(str(label), ", ".join(word for word, odds in found if odds > 0)) for label, found in shown]
        left = [f"... and {len(words) - len(shown)} more classes"] if len(words) > len(shown) else []
        remarks = [f"{self.model_}, {len(self.vocabulary_):,} features", *left]
        return fragment(table(["class", "features with the greatest log-odds"], rows), notes(remarks))

    def sample(
        self, n: int = 1, y: VectorLike = None, random_state: RandomState = None, length: int | None = None
    ) -> tuple[list[str], npt.NDArray[Any]]:
        """Draw documents from a generative model, as words in random order.

        Parameters
        ----------
        n
            The number of documents.
        y
            Their class, or one class for each; drawn from the priors by default.
        random_state
            A seed or generator.
        length
            The number of words of each; by default, about as many as documents of the class have. Not used by the
            Bernoulli model.

        Returns
        -------
        texts, labels
        """
        scorer = self._scorer
        if self.model_ not in GENERATIVE:
            raise ValueError(
                f"model={self.model_!r} is not a model of documents, and cannot draw any: use one of "
                f"{', '.join(GENERATIVE)}"
            )
        if n < 0 or (length is not None and length < 0):
            raise ValueError(f"n and length must not be negative; got {n!r} and {length!r}")
        if n == 0:
            return [], self.classes_[:0]
        options = {} if self.model_ == "bernoulli" else {"length": length}
        found: WordModel = scorer.model
        estimator = naive_bayes(self.model_, self._engine, alpha=found.alpha, class_prior=self._params.class_prior)
        rows, labels = estimator.set_statistics(found.counts).sample(n, y, random_state, **options)
        random = np.random.default_rng(random_state)
        texts = []
        for row in np.asarray(rows):
            (columns,) = np.nonzero(row)
            words = np.repeat(columns, row[columns].astype(np.int64))
            random.shuffle(words)
            texts.append(" ".join(scorer.vocabulary.name(int(column)) for column in words))
        return texts, labels

    # Files.

    def _contents(self) -> Contents:
        statistics = self.statistics_
        features = self._params.features
        features = vars(features) if isinstance(features, Features) else features
        vocabulary = self._resolved_vocabulary
        hashed = isinstance(vocabulary, HashedVocabulary)
        size = {"bits": vocabulary.bits, "named": vocabulary.named} if hashed else {}  # type: ignore[attr-defined]
        given = not hashed and len(vocabulary) > 0
        rows = statistics.to_arrays() if isinstance(statistics, DocumentRows) else {}
        arrays = {f"kept.{name}": array for name, array in rows.items()}
        if given:
            arrays |= {f"given.{name}": array for name, array in vocabulary.to_arrays().items()}
        labels, kind = self._memory.labels, self.classes_.dtype.kind
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(_plain_parameters),
                "features": features,
                "vocabulary": {"kind": type(vocabulary).__name__, "words": given, **size},
                "form": self.model_,
                "classes": {"names": list(labels), "dtype": kind, "fixed": self._memory.fixed},
            },
            statistics={} if isinstance(statistics, DocumentRows) else {"sum": statistics},
            arrays=arrays,
        )

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = cls._with_parameters(settings)
        is_utf8(model._params.encoding)  # raises for an unknown encoding
        features, vocabulary = settings["features"], settings["vocabulary"]
        kind = BaseVocabulary.vocabularies[vocabulary["kind"]]
        for each in (model, model._params):
            each.features = Features(**features) if isinstance(features, dict) else features
            if vocabulary["words"]:
                each.vocabulary = kind.from_arrays(strip_prefix("given", contents.arrays))
            elif "bits" in vocabulary:
                each.vocabulary = kind(vocabulary["bits"], vocabulary["named"])  # type: ignore[call-arg]
        model.model_ = settings["form"]
        labels = Labels(tuple(settings["classes"]["names"]))
        statistics: Any
        if "sum" in contents.statistics:
            statistics = contents.statistics["sum"]
            if not isinstance(statistics, DocumentCounts):
                raise TypeError(f"the sum of a text classifier must be DocumentCounts; got {type(statistics).__name__}")
        else:
            statistics = DocumentRows.from_arrays(vocabulary["kind"], strip_prefix("kept", contents.arrays))
        if statistics.labels != labels:
            raise ValueError(f"the sum is of the classes {list(statistics.labels)!r}, the model of {list(labels)!r}")
        model._memory = RunningSum(labels, statistics, bool(settings["classes"]["fixed"]))
        like = np.empty(0, dtype=object) if settings["classes"]["dtype"] == "O" else None
        model.classes_ = validation.classes_array(labels, like)
        _ = model._scorer
        return model


class _HeldDocuments(NamedTuple):
    """Documents to be summed, and what to count of them."""

    documents: Documents
    codes: Codes
    weight: FloatArray | None
    spec: CountSpec | None


def _brings_labels(source: Any) -> bool:
    """Whether X contains the classes of its documents."""
    return isinstance(source, folder | lines) or validation.is_iterator(source)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _plain_parameters(given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that a file holds as they are."""
    return parameters.encode_parameters({name: value for name, value in given.items() if name not in _STORED_APART})

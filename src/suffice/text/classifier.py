"""A text classifier: documents in, classes and reasons out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from suffice import partitioned, validation
from suffice.explain import ClassScores
from suffice.generative.conditional import against_average, strongest
from suffice.generative.joint import What
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents, Stored, parameters
from suffice.text import DocumentCounts, Documents, Features
from suffice.text.document_rows import Kept
from suffice.text.documents import decoded, gathered, is_utf8
from suffice.text.event_models import GENERATIVE
from suffice.text.explanation import TextExplanation
from suffice.text.inputs import read as read_documents
from suffice.text.inputs import source_of
from suffice.text.learning import Learning
from suffice.text.sources import folder, lines
from suffice.text.vocabulary import Columns, Vocabulary, under


class TextClassifier(Stored, partitioned.ClassifierInPartsMixin, Learning):
    """Classify texts: from strings, files or folders to classes, probabilities and reasons, in one pass.

    Parameters
    ----------
    model
        ``"multinomial"``: naive Bayes on word counts. ``"boolean"``: the same, a word counting once in a document.
        ``"bernoulli"``: absent words count, too. ``"complement"``: a class is scored by how unlike a text is to all
        other classes. ``"nb_logistic"``: logistic regression on naive Bayes's log-count ratios. ``"logistic"``: plain
        logistic regression. ``"auto"``: the one that predicts held-out documents best.
    features
        What is counted: ``"words"``, ``"bigrams"`` (words and pairs), ``"characters"`` (3 to 5 within words), or
        :class:`suffice.text.Features`.
    vocabulary
        ``"exact"``: all words, as they come. ``"hashed"``: 2^20 slots, the same memory for any text; or
        :class:`suffice.text.HashedVocabulary` of another size. A list of words: only these count.
    presence
        Whether a word counts once in a document; by default for all models but the multinomial.
    alpha
        Smoothing, added to every count; ``"auto"`` chooses it from the same pass, by documents left out.
    l2
        The penalty of logistic regression.
    class_prior
        The priors of generative models, (k,), or a dictionary from class to prior; the classes' shares by default.
    temperature
        Above 1, posteriors of generative models are less sure of themselves; ``"auto"`` calibrates them.
    min_documents, max_share, max_words
        Words in fewer documents, in more than a share of them, and beyond the most frequent ones are not read. They
        stay in the sum: :meth:`with_params` reads it with others of these settings.
    encoding
        How bytes become text.
    n_jobs
        How many threads work: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
        cores of the machine, or a number.

    Attributes
    ----------
    classes_ : (k,)
    model_ : the form of the model, chosen where it is "auto"
    selection_ : how well each form predicts held-out documents, the best first, where it is "auto"
    alpha_, temperature_ : smoothing and temperature, as given or chosen
    skipped_ : files that could not be read, with the reason

    Examples
    --------
    >>> texts = ["free money, free!", "cheap money now", "lunch on monday?", "monday is fine"]
    >>> model = TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["money for lunch money", "monday"])
    array(['spam', 'ham'], dtype='<U4')
    >>> model.explain("free lunch, friend").unseen
    ('friend',)
    >>> model.forget(["monday is fine"], ["ham"]).predict(["is it fine?"])  # nothing speaks for ham any more
    array(['spam'], dtype='<U4')
    """

    _reads_one_text: ClassVar[bool] = True  # of a data frame, one column

    def __init__(
        self,
        model: str = "multinomial",
        *,
        features: Any = "words",
        vocabulary: Any = "exact",
        presence: bool | None = None,
        alpha: float | str = "auto",
        l2: float | str = "auto",
        class_prior: Any = None,
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
        self.l2 = l2
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

    # Answers.

    @partitioned.row_wise("prediction")
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each document, (n,)."""
        codes = [np.zeros(0, dtype=np.int64), *self._asked(X, "best")]
        return np.asarray(self.classes_[np.concatenate(codes)])

    @partitioned.row_wise("probability")
    def predict_proba(self, X: Any) -> FloatArray:
        """Return p(y | text), (n, k)."""
        return self._stacked(X, "posterior")

    @partitioned.row_wise("log_probability")
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return log p(y | text), (n, k)."""
        return self._stacked(X, "log_posterior")

    @partitioned.row_wise("score")
    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds of the second of two classes, (n,), or log p(y | text), (n, k)."""
        scores = self.predict_log_proba(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _stacked(self, X: Any, what: What) -> FloatArray:
        check_is_fitted(self)
        return np.concatenate([np.zeros((0, len(self.classes_))), *self._asked(X, what)])

    def _asked(self, X: Any, what: What) -> Iterator[npt.NDArray[Any]]:
        reading = self._read()
        features, engine = self._features, self._engine
        for documents in self._batches(X):
            if len(documents):
                yield reading.ask(documents, features, engine, what)

    def _batches(self, X: Any) -> Iterator[Documents]:
        X = source_of(X)
        if isinstance(X, folder | lines):
            for texts, _ in X:
                yield read_documents(texts, self._features, self._params.encoding)
        else:
            yield from gathered(decoded(X, self._params.encoding, "replace"), self._features)

    @property
    def alpha_(self) -> float:
        """The smoothing."""
        return float(self._read().model.alpha)

    @property
    def temperature_(self) -> float:
        """The temperature of the posteriors."""
        return float(getattr(self._read().model, "temperature", 1.0))

    @property
    def vocabulary_(self) -> Columns:
        """The words that the model reads."""
        return self._read().vocabulary

    @property
    def statistics_(self) -> Any:
        """What is kept of all documents: with it the model can be read anew, merged and taken apart."""
        check_is_fitted(self)
        self._settle()
        return self._learnt

    def explain(self, text: Any, against: Any = None) -> Any:
        """Take the log-odds of a text apart, word by word.

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
        reading = self._read()
        if not isinstance(text, str | bytes):
            texts = decoded(text, self._params.encoding, "replace")
            Documents(texts)  # names the position of what is no text
            return [self.explain(each, against) for each in texts]
        (plain,) = decoded([text], self._params.encoding, "replace")
        found = Counter(self._features.of(plain))
        columns = reading.vocabulary.columns_of(found)
        known = [(*item, column) for item, column in zip(found.items(), columns, strict=True) if column >= 0]
        counts = np.array([count for _, count, _ in known], dtype=np.int64)
        parts, level = reading.parts([column for _, _, column in known], counts)
        scores = ClassScores(
            self.classes_.tolist(),
            [word for word, _, _ in known],
            counts.tolist(),
            parts.tolist(),
            level.tolist(),
            self.predict_log_proba([plain])[0].tolist(),
        )
        return TextExplanation.of(
            scores,
            against=against,
            unseen=tuple(word for (word, _), column in zip(found.items(), columns, strict=True) if column < 0),
            default=None if known else _EMPTY.get(self.model_, "a text without words"),
        )

    def top_words(self, label: Any = None, n: int = 10) -> Any:
        """Return the words that speak most for a class, with what each adds to its log-odds.

        Parameters
        ----------
        label
            The class; a dictionary from every class to its words by default.
        n
            How many words.

        Returns
        -------
        list of (word, log-odds)
            The odds are those against the average of all classes; infinite for a word that some classes cannot have.
        """
        if n < 0:
            raise ValueError(f"n must not be negative; got {n!r}")
        reading = self._read()
        coef = reading.theta.coef
        apart = against_average(coef)

        def top(code: int) -> list[tuple[str, float]]:
            best = strongest(apart[code], coef[code])[:n]
            return [(reading.vocabulary.name(int(column)), float(apart[code, column])) for column in best]

        if label is not None:
            return top(int(self._labels.encode([label])[0]))
        return {each: top(code) for code, each in enumerate(self.classes_.tolist())}

    def sample(self, n: int = 1, y: Any = None, random_state: Any = None, length: int | None = None) -> Any:
        """Write documents: words drawn as the model thinks that the classes draw them.

        Parameters
        ----------
        n
            How many documents.
        y
            Their class, or one class for each; drawn from the priors by default.
        random_state
            A seed or generator, for the same documents again.
        length
            How many words each has; by default, about as many as those that were learnt. Not for the Bernoulli model.

        Returns
        -------
        texts, labels
        """
        reading = self._read()
        if self.model_ not in GENERATIVE:
            raise ValueError(f"model={self.model_!r} tells classes apart but cannot write: use a generative one")
        if n < 0 or (length is not None and length < 0):
            raise ValueError(f"n and length must not be negative; got {n!r} and {length!r}")
        if n == 0:
            return [], self.classes_[:0]
        how = {} if self.model_ == "bernoulli" else {"length": length}
        rows, labels = reading.model.sample(n, y, random_state, **how)
        random = np.random.default_rng(random_state)
        texts = []
        for row in np.asarray(rows):
            (columns,) = np.nonzero(row)
            words = np.repeat(columns, row[columns].astype(np.int64))
            random.shuffle(words)
            texts.append(" ".join(reading.vocabulary.name(int(column)) for column in words))
        return texts, labels

    # Files.

    def _contents(self) -> Contents:
        check_is_fitted(self)
        self._settle()
        features = self._params.features
        features = vars(features) if isinstance(features, Features) else features
        columns = self._columns
        words = isinstance(columns, Vocabulary) and len(columns) > 0
        learnt = self._learnt
        kept = learnt.to_arrays() if isinstance(learnt, Kept) else {}
        arrays = {f"kept.{name}": array for name, array in kept.items()}
        if words:
            arrays |= {f"given.{name}": array for name, array in columns.to_arrays().items()}
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(_plain),
                "features": features,
                "vocabulary": {"kind": type(columns).__name__, "words": words, **_slots(columns)},
                "form": self.model_,
                "classes": {"names": list(self._labels), "dtype": self.classes_.dtype.kind, "fixed": self._fixed},
            },
            statistics={} if isinstance(learnt, Kept) else {"sum": learnt},
            arrays=arrays,
        )

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = cls._with_parameters(settings)
        is_utf8(model._params.encoding)  # raises where it is no encoding
        features, vocabulary = settings["features"], settings["vocabulary"]
        kind = Columns.columns[vocabulary["kind"]]
        for each in (model, model._params):
            each.features = Features(**features) if isinstance(features, dict) else features
            if vocabulary["words"]:
                each.vocabulary = kind.from_arrays(under("given", contents.arrays))
            elif "bits" in vocabulary:
                each.vocabulary = kind(vocabulary["bits"], vocabulary["named"])  # type: ignore[call-arg]
        model._labels = Labels(tuple(settings["classes"]["names"]))
        model._fixed = bool(settings["classes"]["fixed"])
        model.model_ = settings["form"]
        model._waiting, model._reading = [], None
        if "sum" in contents.statistics:
            counts: Any = contents.statistics["sum"]
            if not isinstance(counts, DocumentCounts):
                raise TypeError(f"the sum of a text classifier must be DocumentCounts; got {type(counts).__name__}")
            model._learnt = counts
        else:
            model._learnt = Kept.from_arrays(vocabulary["kind"], under("kept", contents.arrays))
        learnt = model._learnt.labels
        if learnt != model._labels:
            raise ValueError(f"the sum is of the classes {list(learnt)!r}, the model of {list(model._labels)!r}")
        like = np.empty(0, dtype=object) if settings["classes"]["dtype"] == "O" else None
        model.classes_ = validation.classes_array(model._labels, like)
        _ = model._read()
        return model


#: What decides the class of a text without known words.
_EMPTY: dict[str, str] = {"multinomial": "the priors", "boolean": "the priors"}


#: Settings that a file holds in a form of their own.
_NOT_PLAIN = ("features", "vocabulary")


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that a file holds as they are."""
    return parameters.encode_parameters({name: value for name, value in given.items() if name not in _NOT_PLAIN})


def _slots(columns: Columns) -> dict[str, int]:
    return {} if isinstance(columns, Vocabulary) else {"bits": columns.bits, "named": columns.named}  # type: ignore[attr-defined]

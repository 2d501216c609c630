"""How a text classifier learns: all at once, batch by batch, merged from others; and how it forgets."""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from suffice import validation
from suffice.data.dataset import dataset_in_parts
from suffice.data.stream import numbered
from suffice.fitted_parameters import ReadFromStatistics
from suffice.kernels import Batch, Engine
from suffice.kernels.engine import Execution, engine_for
from suffice.statistics import Labels
from suffice.text import Counting, DocumentCounts, Documents, Features, Vocabulary
from suffice.text.candidates import Candidate, candidates
from suffice.text.count_matrix import new_rows
from suffice.text.counts import SAMPLED
from suffice.text.document_rows import Kept
from suffice.text.event_models import COUNTING, GENERATIVE, Form
from suffice.text.features import features_of
from suffice.text.inputs import Arrived, arrived, batches, is_stream, source_of
from suffice.text.scorer import Reading, read
from suffice.text.settings import Settings, check
from suffice.text.spreading import learnt_from
from suffice.text.vocabulary import Columns, vocabulary_of
from suffice.user_warnings import warn_user

Codes = npt.NDArray[np.int64]
#: Documents wait to be added until they have so many bytes: adding to a sum touches every word of its vocabulary.
_ENOUGH = 1 << 18
#: The attributes that hold what was learnt.
_LEARNT = frozenset(
    [
        "_fixed",
        "_labels",
        "_learned_as",
        "_learnt",
        "_reading",
        "_waiting",
        "classes_",
        "model_",
        "selection_",
        "skipped_",
    ]
)


class Learning(ReadFromStatistics, BaseEstimator):  # type: ignore[misc]
    """What is kept of documents grows, merges and shrinks; the model follows."""

    _fixed_parameters = ("features", "vocabulary")

    model: str
    features: Any
    vocabulary: Any
    presence: bool | None
    alpha: Any
    l2: Any
    class_prior: Any
    temperature: Any
    min_documents: float
    max_share: float
    max_words: int | None
    encoding: str
    n_jobs: int | None
    classes_: npt.NDArray[Any]
    model_: Form
    selection_: list[Candidate]
    _learnt: DocumentCounts | Kept
    _labels: Labels
    _fixed: bool  # whether the classes were announced
    _waiting: list[tuple[Documents, Codes, Any]]
    _reading: Reading | None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents and their classes, forgetting what was learnt before.

        Parameters
        ----------
        X
            Documents: a list, array or data-frame column of str or bytes; a :class:`pathlib.Path`, or
            :class:`suffice.text.folder` or :class:`suffice.text.lines` of one, which bring their classes; or an
            iterator of pairs (text, label), or of batches (texts, labels) or (texts, labels, weights); or a bag or
            column of Dask, or a data frame of Spark with one column of texts, which are counted where they live.
        y
            The class of each document; None where X brings them. Of a cluster's data frame, it may be the name of its
            column, and of Spark's must be.
        sample_weight
            One weight per document; every document counts once by default.

        Returns
        -------
        self
        """
        fresh = self._fresh()
        fresh._check_settings()
        X = source_of(X)
        if y is None and is_stream(X):
            if sample_weight is not None:
                raise ValueError("a stream brings its own weights: leave out sample_weight")
            return self._fit_stream(X, fresh)
        data = None if validation.is_iterator(X) else dataset_in_parts(X, y=y, sample_weight=sample_weight)
        if data is not None:
            return self._become(learnt_from(fresh, data, None))
        came = arrived(X, y, sample_weight, fresh._features, fresh.encoding)
        if not len(came.documents):
            raise ValueError("there are no documents to learn from: X is empty")
        fresh._first(came, *Labels.discover(validation.targets(came.labels, len(came.documents))), False)
        return self._become(fresh)

    def _fit_stream(self, stream: Any, fresh: Self) -> Self:
        for number, came in batches(stream, fresh._features, fresh.encoding):
            with numbered(number):
                fresh._learn(came, None)
        if not hasattr(fresh, "_learnt"):
            raise ValueError("the stream holds no documents: there is nothing to learn from")
        skipped = list(getattr(stream, "skipped", []))
        self._become(fresh)
        self.skipped_ = skipped
        if skipped:
            some = "; ".join(f"{path}: {why}" for path, why in skipped[:3])
            warn_user(
                f"{len(skipped)} files could not be read and were left out ({some}{' …' if len(skipped) > 3 else ''}); "
                "skipped_ lists them",
            )
        return self

    def _fresh(self) -> Self:
        fresh: Self = clone(self)
        return fresh

    def _become(self, fresh: Self) -> Self:
        _ = fresh._read()  # what cannot be read is said now, not at the first prediction, and before anything is lost
        for name in _LEARNT:
            self.__dict__.pop(name, None)
        self.__dict__.update({name: value for name, value in vars(fresh).items() if name in _LEARNT})
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more documents. All batches together give what :meth:`fit` gives, in any split and order.

        Parameters
        ----------
        X, y, sample_weight
            Documents, their classes and weights.
        classes
            All classes there will be; others are then refused. Without it, classes are discovered as they come.

        Returns
        -------
        self
        """
        with self._learning_documents():
            data = None if validation.is_iterator(X) else dataset_in_parts(X, y=y, sample_weight=sample_weight)
            if data is not None:
                fixed = hasattr(self, "_learnt") and self._fixed
                learnt = learnt_from(self, data, list(self._labels) if fixed else classes)
                return self._become(self + learnt if hasattr(self, "_learnt") else learnt)
            came = arrived(X, y, sample_weight, self._features, self.encoding)
            if not len(came.documents) and not hasattr(self, "_learnt"):
                raise ValueError("there are no documents to learn from: the first batch is empty")
            self._learn(came, classes)
        return self

    def _learning_documents(self) -> AbstractContextManager[None]:
        """Learn under the parameters as they are now; documents that wait are added under those they came with."""
        first = not hasattr(self, "_learnt")
        if not first and self._parameters_changed():
            self._settle()
        return self._learning(anew=first)

    def _learn(self, came: Arrived, classes: Any) -> None:
        column = validation.targets(came.labels, len(came.documents))
        if not hasattr(self, "_learnt"):
            known, fixed = (Labels(), False) if classes is None else (Labels.of(np.asarray(classes)), True)
            labels, codes = validation.known_codes(known, column, fixed)
            self._first(came, labels, codes, fixed)
            if classes is not None:
                self.classes_ = validation.classes_array(labels, np.asarray(classes))
            return
        if classes is not None and not set(Labels.of(np.asarray(classes))) <= set(self._labels):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )
        labels, codes = validation.known_codes(self._labels, column, self._fixed)
        if labels is not self._labels:
            self._settle()  # codes of other labels cannot wait together
            self._labels = labels
            self.classes_ = validation.classes_array(labels, self.classes_)
        self._waiting.append((came.documents, codes, came.weight))
        self._reading = None
        if sum(documents.nnz for documents, _, _ in self._waiting) >= _ENOUGH:
            self._settle()

    def _first(self, came: Arrived, labels: Labels, codes: Codes, fixed: bool) -> None:
        """Learn from the first documents."""
        self._hold_parameters()
        self.model_ = self._form(came.documents, codes, labels, came.weight)
        self._labels, self._fixed, self._waiting, self._reading = labels, fixed, [], None
        first = self._part(came.documents, codes, came.weight, labels)
        self._learnt = first.into(self._columns) if isinstance(first, DocumentCounts) else first
        self.classes_ = validation.classes_array(labels, came.labels)

    def _form(self, documents: Documents, codes: Codes, labels: Labels, weight: Any) -> Form:
        """Return the form of the model, chosen by the first documents where it is "auto"."""
        if self.model != "auto":
            form: Form = self.model  # type: ignore[assignment]
            return form
        self.selection_ = candidates(self._kept(documents, codes, weight, labels), self.alpha, self.l2, self._engine)
        return self.selection_[0].model

    def _settle(self) -> None:
        """Add the documents that wait to what was learnt."""
        waiting, self._waiting = self._waiting, []
        for documents, codes, weight in waiting:
            self._learnt = self._learnt + self._part(documents, codes, weight, self._labels)  # type: ignore[operator]

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Unlearn documents exactly: what is left is what :meth:`fit` learns from the others.

        Parameters
        ----------
        X, y, sample_weight
            Documents that were learnt, with their classes and weights.

        Returns
        -------
        self

        Raises
        ------
        NegativeEvidenceError
            Where that can be known: documents that were never learnt. Nothing is changed then.
        """
        check_is_fitted(self)
        with self._learning_documents():
            came = arrived(X, y, sample_weight, self._features, self.encoding)
            labels, codes = validation.known_codes(
                self._labels, validation.targets(came.labels, len(came.documents)), fixed=True
            )
            self._settle()
            learnt: Any = self._learnt
            left = learnt.remove(self._part(came.documents, codes, came.weight, labels)).left
            given = self._columns
            # Words that are left in no document go, unless the vocabulary was given.
            self._learnt = left.into(given) if isinstance(given, Vocabulary) and len(given) else left
            self._reading = None
        return self

    def __add__(self, other: Any) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        for each in (self, other):
            check_is_fitted(each)
            each._settle()
        if self.model_ != other.model_:
            raise ValueError(f"models of the forms {self.model_!r} and {other.model_!r} cannot be merged")
        if self._features != other._features:
            raise ValueError(f"models with {self._features} and {other._features} cannot be merged")
        if self._columns != other._columns:
            raise ValueError(f"models over the vocabularies {self._columns!r} and {other._columns!r} cannot be merged")
        merged = copy.copy(self)
        for name in ("selection_", "skipped_"):
            merged.__dict__.pop(name, None)
        with merged._learning(anew=False):
            learnt: Any = self._learnt
            merged._learnt, merged._reading = learnt + other._learnt, None
            merged._labels, _, _ = self._labels.union(other._labels)
            merged._fixed = self._fixed and other._fixed
            merged.classes_ = validation.classes_array(merged._labels, self.classes_)
        return merged

    def __radd__(self, other: Any) -> Self:
        """Let ``sum(models)`` start from its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _part(self, documents: Documents, codes: Codes, weight: Any, labels: Labels) -> DocumentCounts | Kept:
        """Return what is kept of some documents."""
        engine, vocabulary = self._engine, self._columns
        if self.model_ in GENERATIVE:
            presence = self._presence(self.model_)
            # Words that fall into slots do so when they are added: a table of all slots for every part would be large.
            words = vocabulary if isinstance(vocabulary, Vocabulary) else Vocabulary()
            counting = Counting(self._features, words, not presence, presence, SAMPLED)
            return engine.accumulate(DocumentCounts.over(labels, counting), Batch(documents, codes, weight))
        return self._kept(documents, codes, weight, labels)

    def _kept(self, documents: Documents, codes: Codes, weight: Any, labels: Labels) -> Kept:
        """Return documents as rows of counts."""
        engine, vocabulary = self._engine, self._columns
        weights = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
        rows, words = new_rows([documents], self._features, engine)
        kept = Kept(labels, words, rows.counts, codes, weights)
        return kept if isinstance(vocabulary, Vocabulary) and not len(vocabulary) else kept.into(vocabulary)

    def _read(self) -> Reading:
        """Return the model that is read from what was learnt, reading it once."""
        check_is_fitted(self)
        self._settle()
        if self._reading is None:
            self._reading = read(self._learnt, self._settings())
        return self._reading

    def __getstate__(self) -> Any:
        if "_learnt" not in vars(self):
            return super().__getstate__()
        self._settle()
        return {**super().__getstate__(), "_waiting": []}  # a copy learns for itself

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is something to predict from."""
        return "_learnt" in vars(self)

    # Settings.

    @property
    def _features(self) -> Features:
        return features_of(self._params.features)

    @property
    def _columns(self) -> Columns:
        return vocabulary_of(self._params.vocabulary)

    @property
    def _engine(self) -> Engine:
        return engine_for(Execution(self.n_jobs), np.zeros((0, 0)))

    def _presence(self, form: Form) -> bool:
        """Whether a word counts once in a document."""
        presence = self._params.presence
        return form not in COUNTING if presence is None else bool(presence)

    def _check_settings(self) -> None:
        check(self)

    def _unread(self) -> None:
        self._reading = None
        if "_learnt" in vars(self):
            _ = self._settings()  # says what was not counted

    def _check_read(self) -> None:
        _ = self._read()

    def _settings(self) -> Settings:
        params = self._params
        form: Form = self.model_ if params.model == "auto" else params.model  # type: ignore[assignment]
        presence = self._presence(form)
        if (form in GENERATIVE) != isinstance(self._learnt, DocumentCounts):
            raise ValueError(f"model={form!r} keeps other things of documents than {self.model_!r} has: fit again")
        if isinstance(self._learnt, DocumentCounts) and len(self._learnt.documents):
            counted = self._learnt.presences if presence else self._learnt.events
            if not counted.shape[1]:
                what = "in how many documents words occur" if presence else "how often words occur"
                raise ValueError(
                    f"model={form!r} with presence={presence} reads {what}, which was not counted: fit again"
                )
        self.model_ = form
        return Settings(
            form=form,
            presence=presence,
            alpha=params.alpha,
            l2=params.l2,
            class_prior=params.class_prior,
            temperature=params.temperature,
            min_documents=params.min_documents,
            max_share=params.max_share,
            max_words=params.max_words,
            engine=self._engine,
        )

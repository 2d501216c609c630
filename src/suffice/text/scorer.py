"""What is read from documents that were learnt: a vocabulary, and a model over its columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.preprocessing import normalize

from suffice import validation
from suffice.discriminative import LogisticRegression, NBLogisticRegression
from suffice.generative.conditional import Theta
from suffice.generative.joint import What
from suffice.kernels import Batch, Engine
from suffice.kernels.scores import Reading as KernelReading
from suffice.statistics.base import FloatArray
from suffice.text import DocumentCounts, Documents, Features, Vocabulary
from suffice.text.count_matrix import known_rows
from suffice.text.document_rows import Kept
from suffice.text.event_models import Form, naive_bayes
from suffice.text.settings import Settings
from suffice.text.smoothing import choose
from suffice.text.vocabulary import Columns, Places

#: The penalty of plain logistic regression, over documents of length 1.
RIDGE = 0.03


@dataclass(frozen=True, eq=False)
class Reading:
    """A model over the columns of a vocabulary: its scores are linear in counts, or in presences."""

    vocabulary: Columns
    model: Any  # an estimator over rows of counts
    presence: bool  # whether a word counts once in a document
    normed: bool = False  # whether a document's counts are divided by their length as a vector
    classes: int = 0  # how many classes there are, of discriminative models,
    present: Any = ()  # and which of them have documents

    @cached_property
    def theta(self) -> Theta:
        """The coefficients, (k, V), and intercepts, (k,), of the log-posterior, up to what classes share."""
        if not hasattr(self.model, "_joint"):
            coef, intercept = self.model._scores_of_classes()
            if len(self.present) == len(intercept) == self.classes:
                return Theta(coef, intercept)
            every = Theta(np.zeros((self.classes, coef.shape[1])), np.full(self.classes, -np.inf))
            every.coef[self.present], every.intercept[self.present] = coef, intercept
            return every  # a class that was announced, but has no documents, is never the answer
        joint = self.model._joint
        return Theta(joint.theta.coef / joint.temperature, joint.theta.intercept / joint.temperature)

    @cached_property
    def _table(self) -> FloatArray:
        """What each word adds, (V, k): the classes of a word side by side."""
        return np.ascontiguousarray(self.theta.coef.T)

    def ask(self, documents: Documents, features: Features, engine: Engine, what: What) -> npt.NDArray[Any]:
        """Return one reading of each document."""
        finite = bool(np.isfinite(self.theta.coef).all())

        def score(batch: Batch, kernels: Any) -> npt.NDArray[Any]:
            scores = features.native.scores(
                batch.x.native,
                batch.start,
                batch.stop,
                **self.vocabulary.places,
                table=self._table,
                intercept=self.theta.intercept,
                presence=self.presence,
                normed=self.normed,
            )
            found: npt.NDArray[Any] = kernels.read_scores(scores, KernelReading(what))
            return found

        if not finite:  # where a word makes a class impossible, 0 times its -inf is nothing: the model knows that
            rows = known_rows([documents], features, self.vocabulary, engine).counts
            if self.presence:
                rows.data.fill(1)
            return np.asarray(self.model._ask(self.model._joint, rows, what))
        return np.concatenate(list(engine.map(score, Batch(documents))))

    def parts(self, columns: Sequence[int], counts: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Return what each word of a text adds to the scores of the classes, (k, words), and the rest of them, (k,)."""
        times = np.minimum(counts, 1) if self.presence else counts
        if hasattr(self.model, "_joint"):
            joint = self.model._joint
            row = sparse.csr_array(
                (times, np.array(columns, dtype=np.int64), [0, len(columns)]), shape=(1, len(self.vocabulary))
            )
            parts, base = joint.contributions(row)
            return np.stack([part.data for part in parts]) / joint.temperature, base[0] / joint.temperature
        length = float(np.sqrt((times.astype(np.float64) ** 2).sum()))
        scale = 1.0 / length if self.normed and length > 0 else 1.0
        return self.theta.coef[:, list(columns)] * (times * scale), self.theta.intercept


def read(learnt: DocumentCounts | Kept, settings: Settings) -> Reading:
    """Return the model that the settings read from what was learnt."""
    learnt = learnt.taken(_kept(learnt, settings))
    if not len(learnt.documents):
        raise ValueError(
            "no document has a word that counts: look at features, stop words, vocabulary, min_documents and max_share"
        )
    if isinstance(learnt, Kept):
        return _discriminative(learnt, settings)
    return _generative(learnt, settings)


def _kept(learnt: DocumentCounts | Kept, settings: Settings) -> Places:
    """Return the columns of the words that neither too few nor too many documents have."""
    every = np.arange(len(learnt.documents))
    if (settings.min_documents, settings.max_share, settings.max_words) == (1, 1.0, None):
        return every
    if not isinstance(learnt.vocabulary, Vocabulary):
        raise ValueError(
            "min_documents, max_share and max_words are for an exact vocabulary: the slots of a hashed one are many "
            "words each"
        )
    documents = learnt.documents
    kept = every[(documents >= settings.min_documents) & (documents <= settings.max_share * learnt.weight)]
    if settings.max_words is not None and len(kept) > settings.max_words:
        most = np.argsort(-documents[kept], kind="stable")[: settings.max_words]
        kept = np.sort(kept[most])
    return kept


def _generative(counts: DocumentCounts, settings: Settings) -> Reading:
    form, presence = settings.form, settings.presence
    prior = (
        None if settings.class_prior is None else validation.priors(settings.class_prior, counts.labels, "class_prior")
    )
    alpha, temperature = settings.alpha, settings.temperature
    if isinstance(alpha, str) or isinstance(temperature, str):
        best = choose(form, counts, presence, alpha, prior, settings.engine)
        alpha = best.alpha if isinstance(alpha, str) else alpha
        temperature = best.temperature if isinstance(temperature, str) else temperature
    model = naive_bayes(form, counts, presence, alpha, prior, temperature, settings.engine)
    _ = model._joint  # what cannot be read from the counts is said now
    return Reading(counts.vocabulary, model, presence)


def _discriminative(kept: Kept, settings: Settings) -> Reading:
    if settings.class_prior is not None:
        validation.priors(
            settings.class_prior, kept.labels, "class_prior"
        )  # checked, though these models have no prior
    model, scale = discriminative(settings.form, settings.alpha, settings.l2, settings.engine)
    rows = kept.counts.astype(np.float64)
    if settings.presence:
        rows.data.fill(1.0)
    weight = None if (kept.weights == 1).all() else kept.weights
    model.fit(scale(rows), np.asarray(kept.labels.names, dtype=object)[kept.codes], sample_weight=weight)
    present = np.flatnonzero(np.bincount(kept.codes, minlength=len(kept.labels)))
    return Reading(kept.vocabulary, model, settings.presence, True, len(kept.labels), present)


def discriminative(form: Form, alpha: Any, l2: Any, engine: Engine) -> tuple[Any, Callable[[Any], Any]]:
    """Return the discriminative model of this form, not fitted yet, and what makes its rows of counts."""
    if form == "logistic":
        penalty = RIDGE if isinstance(l2, str) else l2
        return LogisticRegression(l2=penalty, tol=1e-4, inference=False, n_jobs=engine.n_jobs), partial(
            normalize, copy=False
        )
    given = {name: value for name, value in (("alpha", alpha), ("l2", l2)) if not isinstance(value, str)}
    # Rows hold what counts already, once or as often as it occurs; it divides them by their length itself.
    return NBLogisticRegression(**given, binarize=None, n_jobs=engine.n_jobs), _as_it_is


def _as_it_is(rows: Any) -> Any:
    return rows

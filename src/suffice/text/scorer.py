"""LinearScorer: the model that is read from counts or rows of documents, as linear scores over a vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.explain import ClassScores
from suffice.generative.conditional import Theta
from suffice.generative.event_models import Words
from suffice.generative.joint import What
from suffice.kernels import Batch, Engine
from suffice.kernels.inputs import Reading
from suffice.model_types import TextModelName
from suffice.statistics.base import FloatArray
from suffice.text import DocumentCounts, Documents, Features, Vocabulary
from suffice.text.count_matrix import count_features
from suffice.text.explanation import TextExplanation
from suffice.text.naive_bayes import COUNTS_OCCURRENCES, WordModel, estimate_words
from suffice.text.smoothing import choose_smoothing
from suffice.text.vocabulary import BaseVocabulary, Index
from suffice.text.word_scores import score_words

if TYPE_CHECKING:
    from suffice.text.document_rows import DocumentRows


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """A model over the columns of a vocabulary, whose scores are linear in counts or presences."""

    vocabulary: BaseVocabulary
    model: Any  # a WordModel, or a fitted estimator over rows of counts
    presence: bool  # whether a word counts once in a document
    normalised: bool = False  # whether rows are divided by their Euclidean length
    classes: int = 0  # of discriminative models: the number of classes
    present: Any = ()  # of discriminative models: the codes of the classes that have documents

    @cached_property
    def theta(self) -> Theta:
        """The coefficients, (k, V), and intercepts, (k,), of the log-posterior, up to a constant of all classes."""
        if not isinstance(self.model, WordModel):
            coef, intercept = self.model.class_coefficients()
            if len(self.present) == len(intercept) == self.classes:
                return Theta(coef, intercept)
            theta = Theta(np.zeros((self.classes, coef.shape[1])), np.full(self.classes, -np.inf))
            theta.coef[self.present], theta.intercept[self.present] = coef, intercept
            return theta  # a class that was announced but has no documents is never predicted
        joint: Any = self.model.joint
        return Theta(joint.theta.coef / joint.temperature, joint.theta.intercept / joint.temperature)

    @cached_property
    def _coef_by_word(self) -> FloatArray:
        """The coefficients, (V, k), with the classes of a word adjacent in memory."""
        return np.ascontiguousarray(self.theta.coef.T)

    def score(self, documents: Documents, features: Features, engine: Engine, what: What) -> npt.NDArray[Any]:
        """Return the best class, the posterior or another reading of the scores of each document."""
        finite = bool(np.isfinite(self.theta.coef).all())

        def score_batch(batch: Batch, kernels: Any) -> npt.NDArray[Any]:
            scores = score_words(
                features,
                batch,
                self.vocabulary,
                self._coef_by_word,
                self.theta.intercept,
                presence=self.presence,
                normalised=self.normalised,
            )
            found: npt.NDArray[Any] = kernels.read_scores(scores, Reading(what))
            return found

        if not finite:  # a word makes a class impossible: p(x, y) handles 0 times -inf
            rows = count_features([documents], features, self.vocabulary, engine).counts
            if self.presence:
                rows.data.fill(1)
            return np.asarray(self.model.joint.read(engine, rows, what))
        return np.concatenate(list(engine.map(score_batch, Batch(documents))))

    def contributions(self, columns: Sequence[int], counts: npt.NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """Return the contribution of each word to the scores of the classes, (k, words), and the base, (k,)."""
        times = np.minimum(counts, 1) if self.presence else counts
        if isinstance(self.model, WordModel):
            import scipy  # slow to import, and predictions do not need it

            joint = self.model.joint
            row = scipy.sparse.csr_array(
                (times, np.array(columns, dtype=np.int64), [0, len(columns)]), shape=(1, len(self.vocabulary))
            )
            parts, base = joint.contributions(row)
            return np.stack([part.data for part in parts]) / joint.temperature, base[0] / joint.temperature
        length = float(np.sqrt((times.astype(np.float64) ** 2).sum()))
        scale = 1.0 / length if self.normalised and length > 0 else 1.0
        return self.theta.coef[:, list(columns)] * (times * scale), self.theta.intercept


def explain_text(
    scorer: LinearScorer,
    features: Features,
    text: str | bytes,
    classes: Sequence[Any],
    log_posterior: FloatArray,
    against: Any = None,
) -> TextExplanation:
    """Return the contributions of the words of a text to the log-odds.

    Parameters
    ----------
    scorer
        The model.
    features
        Its features.
    text
        The text.
    classes
        The classes.
    log_posterior
        Its log-probabilities of the classes, (k,).
    against
        The class that the prediction is compared with; the most probable of the others by default.
    """
    found = Counter(features.of(text))
    columns = scorer.vocabulary.columns_of(found)
    known = [(*item, column) for item, column in zip(found.items(), columns, strict=True) if column >= 0]
    counts = np.array([count for _, count, _ in known], dtype=np.int64)
    parts, level = scorer.contributions([column for _, _, column in known], counts)
    words = [word for word, _, _ in known]
    scores = ClassScores(list(classes), words, counts.tolist(), parts.tolist(), level.tolist(), log_posterior.tolist())
    decided_by_prior = isinstance(scorer.model, WordModel) and isinstance(scorer.model.joint.conditional, Words)
    empty = "the priors" if decided_by_prior else "a text without words"
    return TextExplanation.of(
        scores,
        against=against,
        unseen=tuple(word for (word, _), column in zip(found.items(), columns, strict=True) if column < 0),
        default=None if known else empty,
    )


def fit_scorer(
    statistics: DocumentCounts | DocumentRows, name: TextModelName, presence: bool, params: Any, engine: Engine
) -> LinearScorer:
    """Return the model that is read from counts, or fitted to rows.

    Parameters
    ----------
    statistics
        Counts for a generative model, rows for a discriminative one.
    name
        The model.
    presence
        Whether a word counts once in a document.
    params
        The parameters of the :class:`~suffice.TextClassifier`.
    engine
        The engine that sums and scores.
    """
    statistics = statistics.take_columns(_select_columns(statistics, params))
    if not len(statistics.documents):
        raise ValueError(
            "no document has a word that counts: check features, stop words, vocabulary, min_documents and max_share"
        )
    if isinstance(statistics, DocumentCounts):
        return _fit_generative(statistics, name, presence, params, engine)
    return _fit_discriminative(statistics, name, presence, params, engine)


def is_presence(name: TextModelName, given: bool | None) -> bool:
    """Whether a word counts once in a document, by the parameter ``presence``, or the model's default.

    Examples
    --------
    >>> is_presence("multinomial", None), is_presence("bernoulli", None)
    (False, True)
    """
    return name not in COUNTS_OCCURRENCES if given is None else bool(given)


def _select_columns(statistics: DocumentCounts | DocumentRows, params: Any) -> Index:
    """Return the columns of the words within the limits min_documents, max_share and max_words."""
    columns: Index = np.arange(len(statistics.documents))
    if (params.min_documents, params.max_share, params.max_words) == (1, 1.0, None):
        return columns
    if not isinstance(statistics.vocabulary, Vocabulary):
        raise ValueError(
            "min_documents, max_share and max_words need an exact vocabulary: a column of a hashed one stands for "
            "several words"
        )
    documents = statistics.documents
    kept: Index = columns[(documents >= params.min_documents) & (documents <= params.max_share * statistics.weight)]
    if params.max_words is not None and len(kept) > params.max_words:
        most_frequent = np.argsort(-documents[kept], kind="stable")[: params.max_words]
        kept = np.sort(kept[most_frequent])
    return kept


def _fit_generative(
    counts: DocumentCounts, name: TextModelName, presence: bool, params: Any, engine: Engine
) -> LinearScorer:
    given = params.class_prior
    prior = None if given is None else validation.priors(given, counts.labels, "class_prior", counts.rows)
    alpha, temperature = params.alpha, params.temperature
    if isinstance(alpha, str) or isinstance(temperature, str):
        best = choose_smoothing(name, counts, presence, alpha, prior, engine)
        alpha = best.alpha if isinstance(alpha, str) else alpha
        temperature = best.temperature if isinstance(temperature, str) else temperature
    model = estimate_words(name, counts, presence, alpha, prior, temperature)
    return LinearScorer(counts.vocabulary, model, presence)


def _fit_discriminative(
    rows: DocumentRows, name: TextModelName, presence: bool, params: Any, engine: Engine
) -> LinearScorer:
    from suffice.text.event_models import discriminative_model  # with scikit-learn, which counts do not need

    if params.class_prior is not None:  # validated, although these models have no prior
        validation.priors(params.class_prior, rows.labels, "class_prior", np.ones(len(rows.labels)))
    model, scale = discriminative_model(name, params.alpha, params.C, engine)
    counts = rows.counts.astype(np.float64)
    if presence:
        counts.data.fill(1.0)
    weight = None if (rows.weights == 1).all() else rows.weights
    model.fit(scale(counts), np.asarray(rows.labels.names, dtype=object)[rows.codes], sample_weight=weight)
    present = np.flatnonzero(np.bincount(rows.codes, minlength=len(rows.labels)))
    return LinearScorer(rows.vocabulary, model, presence, True, len(rows.labels), present)

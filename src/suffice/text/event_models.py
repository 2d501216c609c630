"""The forms a text classifier may take, and how the generative ones are read from counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.generative import BernoulliNB, ComplementNB, MultinomialNB
from suffice.generative.summed_classifier import RunningSum
from suffice.kernels import Engine
from suffice.model_types import TEXT_MODEL_TYPES, TextModelName
from suffice.statistics import EventCounts
from suffice.text import DocumentCounts
from suffice.validation import classes_array

Form = TextModelName
GENERATIVE = tuple(name for name, model in TEXT_MODEL_TYPES.items() if model.generative)
DISCRIMINATIVE = tuple(name for name, model in TEXT_MODEL_TYPES.items() if not model.generative)
#: The forms that look at how often a word occurs; the others at whether it does.
COUNTING = tuple(name for name, model in TEXT_MODEL_TYPES.items() if model.counts_words)


def naive_bayes(
    form: Form,
    counts: DocumentCounts,
    presence: bool,
    alpha: float,
    class_prior: Any,
    temperature: float,
    engine: Engine,
) -> Any:
    """Return the naive Bayes model of this form that the counts are read as.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> from suffice.statistics import Labels
    >>> from suffice.text import Counting, Documents
    >>> batch = Batch(Documents(["free money", "lunch"]), np.array([1, 0]))
    >>> engine = ThreadEngine()
    >>> counts = engine.accumulate(DocumentCounts.over(Labels.of(["ham", "spam"]), Counting()), batch)
    >>> model = naive_bayes("multinomial", counts, False, 1.0, None, 1.0, engine)
    >>> model.predict([[1, 1, 0]])  # lunch comes first: the engine goes class by class
    array(['ham'], dtype='<U4')
    """
    model: Any
    if form == "bernoulli":
        # Without a threshold: rows hold 0 and 1 already.
        model = BernoulliNB(
            alpha=alpha, binarize=None, class_prior=class_prior, temperature=temperature, n_jobs=engine.n_jobs
        )
    else:
        kind = ComplementNB if form == "complement" else MultinomialNB
        model = kind(alpha=alpha, class_prior=class_prior, temperature=temperature, n_jobs=engine.n_jobs)
    table = counts.presences if presence else counts.events
    labels = counts.labels
    model._hold_parameters()
    model._chosen = {}
    model._memory = RunningSum(labels, EventCounts(labels, counts.rows, table, np.zeros((len(labels), 0))))
    model.classes_ = classes_array(labels, None)
    model.n_features_in_ = table.shape[1]
    return model

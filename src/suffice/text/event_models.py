"""The models of a text classifier by name: naive Bayes event models, and discriminative models over rows of counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import normalize

from suffice.discriminative import LogisticRegression, NBLogisticRegression
from suffice.generative import BernoulliNB, ComplementNB, MultinomialNB
from suffice.kernels import Engine
from suffice.model_types import TEXT_MODEL_TYPES, TextModelName
from suffice.statistics import EventCounts
from suffice.text import DocumentCounts

GENERATIVE = tuple(name for name, model in TEXT_MODEL_TYPES.items() if model.generative)
DISCRIMINATIVE = tuple(name for name, model in TEXT_MODEL_TYPES.items() if not model.generative)
#: The models that count every occurrence of a word by default; for the others a word counts once in a document.
COUNTS_OCCURRENCES = tuple(name for name, model in TEXT_MODEL_TYPES.items() if model.counts_words)

#: The default C of plain logistic regression, over documents of length 1.
LOGISTIC_C = 100 / 3


def naive_bayes(name: TextModelName, engine: Engine, **parameters: Any) -> Any:
    """Return the naive Bayes estimator of an event model, unfitted.

    Examples
    --------
    >>> from suffice.kernels import ThreadEngine
    >>> naive_bayes("bernoulli", ThreadEngine(), alpha=0.5).alpha
    0.5
    """
    if name == "bernoulli":
        return BernoulliNB(binarize=None, n_jobs=engine.n_jobs, **parameters)  # rows hold 0 and 1 already
    estimator = ComplementNB if name == "complement" else MultinomialNB
    return estimator(n_jobs=engine.n_jobs, **parameters)


def fit_naive_bayes(
    name: TextModelName,
    counts: DocumentCounts,
    presence: bool,
    alpha: float,
    class_prior: Any,
    temperature: float,
    engine: Engine,
) -> Any:
    """Return the naive Bayes estimator of an event model, fitted from counts.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> from suffice.statistics import Labels
    >>> from suffice.text import CountSpec, Documents
    >>> batch = Batch(Documents(["free money", "lunch"]), np.array([1, 0]))
    >>> engine = ThreadEngine()
    >>> counts = engine.accumulate(DocumentCounts.over(Labels.of(["ham", "spam"]), CountSpec()), batch)
    >>> model = fit_naive_bayes("multinomial", counts, False, 1.0, None, 1.0, engine)
    >>> model.predict([[1, 1, 0]])  # the word of column 0 is lunch: words are counted class by class
    array(['ham'], dtype='<U4')
    """
    model = naive_bayes(name, engine, alpha=alpha, class_prior=class_prior, temperature=temperature)
    table = counts.presences if presence else counts.events
    labels = counts.labels
    model.n_features_in_ = table.shape[1]
    model.set_statistics(EventCounts(labels, counts.rows, table, np.zeros((len(labels), 0))))
    _ = model.joint_  # raises now for counts that the model cannot be estimated from
    return model


def discriminative_model(name: TextModelName, alpha: Any, c: Any, engine: Engine) -> tuple[Any, Callable[[Any], Any]]:
    """Return a discriminative estimator, unfitted, and the scaling of its rows of counts.

    Examples
    --------
    >>> from suffice.kernels import ThreadEngine
    >>> discriminative_model("logistic", "auto", "auto", ThreadEngine())[0].C
    33.333333333333336
    """
    if name == "logistic":
        c = LOGISTIC_C if isinstance(c, str) else c
        model = LogisticRegression(C=c, tol=1e-4, inference=False, n_jobs=engine.n_jobs)
        return model, partial(normalize, copy=False)
    given = {key: value for key, value in (("alpha", alpha), ("C", c)) if not isinstance(value, str)}
    # NBLogisticRegression scales rows to length 1 itself.
    return NBLogisticRegression(**given, binarize=None, n_jobs=engine.n_jobs), _unscaled


def _unscaled(rows: Any) -> Any:
    return rows

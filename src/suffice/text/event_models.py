"""The models of a text classifier by name: naive Bayes event models, and discriminative models over rows of counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.preprocessing import normalize

from suffice.discriminative import LogisticRegression, NBLogisticRegression
from suffice.generative import BernoulliNB, ComplementNB, MultinomialNB
from suffice.kernels import Engine
from suffice.model_types import TextModelName

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

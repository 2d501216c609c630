"""Cross-validation of models that are not read from sums: each is fitted anew to the rows of the other folds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier

from suffice.data.sample import take_rows
from suffice.selection import tuning
from suffice.selection.rows import Index, indices_of
from suffice.statistics import Labels


def scores_of_refits(
    models: Sequence[Any], X: Any, y: Any, sample_weight: Any, folds: Any, scoring: Any
) -> list[list[float]]:
    """Return the scores of models, fold by fold, each fitted to the rows of the other folds.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> scores_of_refits([LogisticRegression()], x, np.array(["a", "a", "b", "b"]), None, 2, "accuracy")
    [[1.0, 1.0]]
    """
    name = type(models[0]).__name__
    classifies = is_classifier(models[0])
    if scoring in ("accuracy", "neg_log_loss") and not classifies:
        raise ValueError(
            f"scoring={scoring!r} judges classes, and {name} predicts numbers: give a function of the targets and the "
            "predictions, such as sklearn.metrics.r2_score"
        )
    targets = np.asarray(y)
    labels, codes = Labels.discover(targets) if classifies else (Labels(), targets)
    if isinstance(folds, str):
        held_out = [np.array([row]) for row in range(len(targets))]
    else:
        held_out = indices_of(folds, codes, classifies)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    scores = [
        [_score(clone(model), X, targets, codes, labels, weight, held, scoring) for held in held_out]
        for model in models
    ]
    if isinstance(folds, str):
        weights = np.ones(len(targets)) if weight is None else weight
        return [[float(np.average(each, weights=weights))] for each in scores]
    return scores


def _score(
    model: Any,
    X: Any,
    targets: npt.NDArray[Any],
    codes: npt.NDArray[Any],
    labels: Labels,
    weight: npt.NDArray[np.float64] | None,
    held: Index,
    scoring: Any,
) -> float:
    """Return the score of the rows held out under the model of all others."""
    others = np.setdiff1d(np.arange(len(targets)), held)
    weighted = {} if weight is None else {"sample_weight": weight[others]}
    model.fit(take_rows(X, others), targets[others], **weighted)
    rows = take_rows(X, held)
    mine = np.ones(len(held)) if weight is None else weight[held]
    if scoring == "accuracy":
        return float(np.average(np.asarray(model.predict(rows)) == targets[held], weights=mine))
    if not len(labels):
        return float(scoring(targets[held], np.asarray(model.predict(rows))))
    posterior = np.zeros((len(held), len(labels)))  # of a class that the other folds do not have, nothing
    posterior[:, labels.encode(model.classes_)] = model.predict_proba(rows)
    if callable(scoring):
        return float(scoring(codes[held], posterior))
    with np.errstate(divide="ignore"):
        return tuning.log_score(np.log(posterior), codes[held], mine)

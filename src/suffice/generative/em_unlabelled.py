"""Expectation maximisation for unlabelled rows."""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from suffice.data import Dataset
from suffice.data.dataset import model_for_parts, no_rows
from suffice.monitoring import report
from suffice.selection.rows import Rows
from suffice.selection.tuning import on_host
from suffice.statistics import Labels, Statistics

STEPS = 200
#: Steps end when one of them raises the mean log-likelihood of a row by less than this, whatever the columns' units.
TOLERANCE = 1e-8


def learn(
    model: Any, rows: Dataset, unlabelled: Dataset, weight: float, labelled: Statistics
) -> tuple[Statistics, list[float]]:
    """Return the sum over rows with and without a class, and the log-likelihood after each step.

    A step assigns every unlabelled row to all classes by its posterior under the last model (times ``weight``), and
    estimates the model again. The log-likelihood is that of the labelled rows' p(x, y) and the unlabelled rows' p(x),
    with the prior to which smoothing corresponds. It never decreases: if smoothing or shrinkage does not correspond to
    a prior, a step that would decrease it is rejected.

    Parameters
    ----------
    model
        A model that has learned the labelled rows.
    rows
        The labelled rows: parts are of :class:`~suffice.selection.rows.Rows`.
    unlabelled
        The others: parts are features as the model reads them.
    weight
        The weight of an unlabelled row.
    labelled
        The sum over the labelled rows.
    """
    if not 0 <= weight < np.inf:
        raise ValueError(f"unlabelled_weight must be a finite number, 0 or more; got {weight!r}")
    labels: Labels = model._labels_of(labelled)
    count: int | None = unlabelled.map_parts(_count).reduce(add)
    if count is None:
        raise no_rows()
    total = labelled.weight + weight * count
    statistics = labelled
    trace: list[float] = []

    def shared_out(joint: Any) -> Statistics:
        """Return the sum over the labelled rows and the others, shared out as their posteriors say."""
        share = partial(_share_part, model_for_parts(model, unlabelled), joint, labels, weight)
        shares: Statistics | None = unlabelled.map_parts(share).reduce(add)
        return labelled if shares is None else labelled + shares

    def log_likelihood(joint: Any) -> float:
        known = rows.map_parts(partial(_labelled_part, model_for_parts(model, rows), joint)).reduce(add)
        unknown = unlabelled.map_parts(partial(_unlabelled_part, model_for_parts(model, unlabelled), joint)).reduce(add)
        return float(known or 0.0) + weight * float(unknown or 0.0) + float(model._log_smoothing(joint.conditional))

    candidate = labelled if weight == 0 else shared_out(model._generative(labelled))
    for _ in range(STEPS):
        joint = model._generative(candidate)
        value = log_likelihood(joint)
        if trace and not value >= trace[-1]:
            break
        settled = bool(trace) and value - trace[-1] <= TOLERANCE * total
        statistics = candidate
        trace.append(value)
        report(len(trace), count, -value)
        if settled or weight == 0:
            break
        candidate = shared_out(joint)
    return statistics, trace


def _count(x: Any) -> int:
    return int(x.shape[0])


def _share_part(model: Any, joint: Any, labels: Labels, weight: float, x: Any) -> Statistics:
    """Return the sum over the rows of a part, each of which is given to all classes."""
    posterior = weight * on_host(model._score_features(joint, x, "posterior"))
    shares = [
        model._sum(x, np.full(len(posterior), code), np.ascontiguousarray(posterior[:, code]), labels)
        for code in range(len(labels))
    ]
    total: Statistics = reduce(add, shares)
    return total


def _labelled_part(model: Any, joint: Any, rows: Rows) -> float:
    scores = on_host(model._score_features(joint, rows.x, "joint"))
    return float(rows.weights @ scores[np.arange(len(rows)), rows.codes])


def _unlabelled_part(model: Any, joint: Any, x: Any) -> float:
    return float(on_host(model._score_features(joint, x, "evidence")).sum())

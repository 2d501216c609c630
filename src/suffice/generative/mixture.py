"""Expectation maximisation: rows without a class are shared out among the classes, again and again."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from suffice.selection.rows import Rows
from suffice.selection.tuning import on_host
from suffice.statistics import Statistics

STEPS = 200
#: Steps end when one of them raises the mean log-likelihood of a row by less than this, whatever the columns' units.
TOLERANCE = 1e-8


def learn(model: Any, rows: Rows, x: Any, weight: float, labelled: Statistics) -> tuple[Statistics, list[float]]:
    """Return the sum over rows with and without a class, and the log-likelihood after each step.

    A step gives every unlabelled row to all classes, in the shares in which the model of the step before believes
    (times ``weight``), and reads the model anew. The log-likelihood is that of the labelled rows' p(x, y) and the
    unlabelled rows' p(x), with the prior that smoothing stands for. It never falls: where smoothing or shrinkage is no
    such prior, a step that would lower it is not taken.
    """
    if not 0 <= weight < np.inf:
        raise ValueError(f"unlabelled_weight must be a finite number, 0 or more; got {weight!r}")
    statistics = labelled
    total = float(rows.weights.sum()) + weight * x.shape[0]
    trace: list[float] = []
    candidate = labelled if weight == 0 else _shared(model, model._generative(labelled), rows, x, weight, labelled)
    for _ in range(STEPS):
        joint = model._generative(candidate)
        value = _log_likelihood(model, joint, rows, x, weight)
        if trace and not value >= trace[-1]:
            break
        settled = bool(trace) and value - trace[-1] <= TOLERANCE * total
        statistics = candidate
        trace.append(value)
        if settled or weight == 0:
            break
        candidate = _shared(model, joint, rows, x, weight, labelled)
    return statistics, trace


def _shared(model: Any, joint: Any, rows: Rows, x: Any, weight: float, labelled: Statistics) -> Statistics:
    """Return the sum over the labelled rows and the others, shared out as their posteriors say."""
    posterior = weight * on_host(model._ask(joint, x, "posterior"))
    shares = [
        model._sum(x, np.full(len(posterior), code), np.ascontiguousarray(posterior[:, code]), rows.labels)
        for code in range(len(rows.labels))
    ]
    return reduce(add, shares, labelled)


def _log_likelihood(model: Any, joint: Any, rows: Rows, x: Any, weight: float) -> float:
    known = on_host(model._ask(joint, rows.x, "joint"))[np.arange(len(rows)), rows.codes]
    unknown = on_host(model._ask(joint, x, "evidence"))
    smoothing: float = model._log_smoothing(joint.conditional)
    return float(rows.weights @ known + weight * unknown.sum()) + smoothing

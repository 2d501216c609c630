"""Leave-one-out scores: what a row's score would be had it not been learnt.

Taking a row out of a sum changes one class by a little. So the scores of all rows, each left out, follow from the one
sum in closed form: log p(x, y) as it is, but with the row's own class read without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.engines.array_blocks import to_host
from suffice.engines.choice import is_foreign, is_sparse
from suffice.selection.rows import Rows
from suffice.selection.tuning import on_host
from suffice.statistics import Statistics
from suffice.statistics.base import FloatArray

#: The temporaries of a block of rows take about this many numbers.
BLOCK = 1 << 21


def one_by_one(model: Any, statistics: Statistics, rows: Rows, which: Any = None) -> FloatArray:
    """Return log p(x, y), (n, k), of some rows, each taken out of the sum before it is read.

    For models whose left-out scores have no closed form, and rows for which it does not hold.
    """
    places = np.arange(len(rows)) if which is None else np.asarray(which)
    scores = np.empty((len(places), len(rows.labels)))
    for place, row in enumerate(places):
        one = rows.take(np.array([row]))
        left = statistics.remove(model._sum(one.x, one.codes, one.weight, one.labels), digits_allowed=15).left
        scores[place] = on_host(model._ask(model._read(left), one.x, "joint"))[0]
    return scores


def log_priors(model: Any, statistics: Any, rows: Rows, class_weights: FloatArray) -> FloatArray:
    """Return the log-priors that each row's class has without it, (n, k)."""
    if not model._prior_is_learnt():
        with np.errstate(divide="ignore"):
            return np.broadcast_to(np.log(model._prior(statistics)), (len(rows), len(class_weights)))
    left = np.tile(class_weights, (len(rows), 1))
    left[np.arange(len(rows)), rows.codes] -= rows.weights
    left[left < 1e-12 * class_weights.sum()] = 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(left / left.sum(axis=1, keepdims=True)))


def conditional_scores(model: Any, statistics: Statistics, rows: Rows) -> FloatArray:
    """Return log p(x | y), (n, k), with every row in the sum, up to what all classes share."""
    joint = model._read(statistics)
    flat = replace(joint, prior=np.ones(len(joint.prior)))
    return np.array(on_host(model._ask(flat, rows.x, "joint")), dtype=np.float64)


def with_own_class(scores: FloatArray, rows: Rows, own: npt.NDArray[Any], priors: FloatArray) -> FloatArray:
    """Return joint scores in which each row's own class is replaced by what it is without the row."""
    scores[np.arange(len(rows)), rows.codes] = own
    return np.where(np.isneginf(priors), -np.inf, scores + np.where(np.isneginf(priors), 0.0, priors))


def entries(x: Any) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]:
    """Return the row, column and value of every cell that is known and not 0."""
    if is_sparse(x):
        row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        column, value = x.indices, np.asarray(x.data, dtype=np.float64)
    else:
        host = to_host(x) if is_foreign(x) else x
        row, column = np.nonzero(host)
        value = np.asarray(host[row, column], dtype=np.float64)
    fine = ~np.isnan(value) & (value != 0)
    return row[fine], column[fine].astype(np.intp), value[fine]


def blocks(n: int, width: int) -> Iterator[slice]:
    """Yield runs of rows whose temporaries of ``width`` numbers each fit into a block."""
    step = max(1, BLOCK // max(1, width))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


# Counts.


def words(model: Any, statistics: Any, rows: Rows) -> FloatArray:
    """Return the left-out scores of the multinomial event model."""
    counts, alpha = statistics.counts, model._alpha(statistics.counts.shape[1])
    row, column, value = entries(rows.x)
    code, weight = rows.codes, rows.weights
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = value * np.log(np.maximum(counts[code[row], column] - weight[row] * value + alpha[column], 0.0))
        lengths = np.bincount(row, value, len(rows))
        total = counts.sum(axis=1)[code] - weight * lengths + alpha.sum()
        own = np.bincount(row, terms, len(rows)) - np.where(lengths > 0, lengths * np.log(np.maximum(total, 0.0)), 0.0)
    own = np.where(np.isnan(own), -np.inf, own)
    priors = log_priors(model, statistics, rows, statistics.rows)
    return with_own_class(conditional_scores(model, statistics, rows), rows, own, priors)


def presences(model: Any, statistics: Any, rows: Rows) -> FloatArray:
    """Return the left-out scores of the multivariate Bernoulli event model."""
    counts, alpha = statistics.counts, model._alpha(statistics.counts.shape[1])
    row, column, value = entries(rows.x)
    binarize = model._params.binarize
    there = value > binarize if binarize is not None else value > 0
    row, column, share = row[there], column[there], np.ones(int(there.sum()))
    if binarize is None or binarize < 0 or statistics.cells.size or not np.isfinite(value).all():
        return one_by_one(model, statistics, rows)
    own = np.empty(len(rows))
    code, weight = rows.codes, rows.weights
    with np.errstate(divide="ignore", invalid="ignore"):
        for label, amount in np.unique(np.stack([code, weight], axis=1), axis=0):
            k = int(label)
            members = np.flatnonzero((code == k) & (weight == amount))
            left = statistics.rows[k] - amount
            absent = left - counts[k] + alpha  # where it is not above 0, every row of the class has the feature
            log_absent = np.where(absent > 0, np.log(np.where(absent > 0, absent, 1.0)), 0.0)
            log_present = np.log(np.maximum(counts[k] - amount + alpha, 0.0))
            mine = np.isin(row, members)
            gain = np.bincount(row[mine], (log_present - log_absent)[column[mine]] * share[mine], len(rows))[members]
            own[members] = log_absent.sum() + gain - np.log(left + 2 * alpha).sum()
    own = np.where(np.isnan(own), -np.inf, own)
    priors = log_priors(model, statistics, rows, statistics.rows)
    return with_own_class(conditional_scores(model, statistics, rows), rows, own, priors)


def arrivals(model: Any, statistics: Any, rows: Rows) -> FloatArray:
    """Return the left-out scores of independent Poisson counts."""
    if statistics.cells.size:
        return one_by_one(model, statistics, rows)
    counts, alpha = statistics.counts, model._alpha(statistics.counts.shape[1])
    row, column, value = entries(rows.x)
    code, weight = rows.codes, rows.weights
    with np.errstate(divide="ignore", invalid="ignore"):
        left = statistics.rows[code] - weight  # (n,)
        rate = (counts[code[row], column] - weight[row] * value + alpha[column]) / (left[row] + alpha[column])
        own = np.bincount(row, value * np.log(np.maximum(rate, 0.0)), len(rows))
        own += np.bincount(row, weight[row] * value / (left[row] + alpha[column]), len(rows))
        for label, amount in np.unique(np.stack([code, weight], axis=1), axis=0):
            k = int(label)
            expected = (counts[k] + alpha) / (statistics.rows[k] - amount + alpha)
            own[(code == k) & (weight == amount)] -= expected.sum()
    own = np.where(np.isnan(own), -np.inf, own)
    priors = log_priors(model, statistics, rows, statistics.rows)
    return with_own_class(conditional_scores(model, statistics, rows), rows, own, priors)


def categories(model: Any, statistics: Any, rows: Rows) -> FloatArray:
    """Return the left-out scores of independent categories.

    A row that alone has a category takes it out of the vocabulary: such rows are left out one by one.
    """
    joint = model._read(statistics)
    tables, vocabularies = joint.conditional.tables, joint.conditional.vocabularies
    codes = rows.x.into(vocabularies)
    alpha, code, weight = model._alpha(len(tables)), rows.codes, rows.weights
    own, alone = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
    sizes = model._sizes(vocabularies)
    with np.errstate(divide="ignore", invalid="ignore"):
        for feature in range(len(tables)):
            known = codes[:, feature] >= 0
            counts = statistics.feature(feature)
            at = np.maximum(codes[:, feature], 0)
            count = counts[code, at] - weight
            total = counts.sum(axis=1)[code] - weight + alpha[feature] * sizes[feature]
            own += np.where(known, np.log(np.maximum(count + alpha[feature], 0.0)) - np.log(total), 0.0)
            alone |= known & (counts.sum(axis=0)[at] - weight <= 1e-12)
    own = np.where(np.isnan(own), -np.inf, own)
    priors = log_priors(model, statistics, rows, statistics.rows)
    scores = with_own_class(conditional_scores(model, statistics, rows), rows, own, priors)
    if alone.any():
        scores[alone] = one_by_one(model, statistics, rows, np.flatnonzero(alone))
    return scores

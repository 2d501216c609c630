"""Leave-one-out scores in closed form: log p(x, y) of each row under the model of all other rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.families.gaussian import LOG_2PI
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import dense, is_foreign, is_sparse
from suffice.selection.rows import Rows
from suffice.selection.tuning import on_host
from suffice.statistics import LostDigitsError, Statistics
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
        try:
            joint = model.estimate_joint(statistics - model.sum_rows(one, complete=False))
        except LostDigitsError:  # the others are here: sum them
            joint = model.estimate_joint(
                model.sum_rows(rows.take(np.delete(np.arange(len(rows)), row)), complete=False)
            )
        scores[place] = on_host(model._score_features(joint, one.x, "joint"))[0]
    return scores


def log_priors(model: Any, statistics: Any, rows: Rows, class_weights: FloatArray) -> FloatArray:
    """Return the log-priors that each row's class has without it, (n, k)."""
    if not model._prior_is_learned():
        with np.errstate(divide="ignore"):
            return np.broadcast_to(np.log(model._prior(statistics)), (len(rows), len(class_weights)))
    left = np.tile(class_weights, (len(rows), 1))
    left[np.arange(len(rows)), rows.codes] -= rows.weights
    left[left < 1e-12 * class_weights.sum()] = 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(left / left.sum(axis=1, keepdims=True)))


def conditional_scores(model: Any, statistics: Statistics, rows: Rows) -> FloatArray:
    """Return log p(x | y), (n, k), with every row in the sum, up to what all classes share."""
    joint = model.estimate_joint(statistics)
    flat = replace(joint, prior=np.ones(len(joint.prior)))
    return np.array(on_host(model._score_features(flat, rows.x, "joint")), dtype=np.float64)


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
    joint = model.estimate_joint(statistics)
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


def independent(model: Any, statistics: Any, rows: Rows, variances: Any) -> FloatArray:
    """Return the left-out scores of independent Gaussian features.

    ``variances(weights, spread, total, overall)`` reads the variances of each class, (n, k, d), from what is left for
    each row: class weights, (n, k), and spreads, (n, k, d); the weight of all, (n,), and each feature's variance over
    all rows, (n, d).
    """
    x = dense(rows.x)
    if statistics.cells.size or np.isnan(x).any():
        return one_by_one(model, statistics, rows)
    k, d = statistics.mean.shape
    total = float(statistics.weights.sum())
    centre = statistics.weights @ statistics.mean / total
    overall = statistics.spread.sum(axis=0) + statistics.weights @ (statistics.mean - centre) ** 2
    priors = log_priors(model, statistics, rows, statistics.weights)
    scores = np.empty((len(rows), k))
    with np.errstate(divide="ignore", invalid="ignore"):
        for part in blocks(len(rows), 4 * k * d):
            row, code, weight = x[part], rows.codes[part], rows.weights[part][:, None]
            at = np.arange(len(row)), code
            weights = np.tile(statistics.weights, (len(row), 1))
            mean = np.tile(statistics.mean, (len(row), 1, 1))
            spread = np.tile(statistics.spread, (len(row), 1, 1))
            apart = row - statistics.mean[code]
            before = statistics.weights[code][:, None]
            left = before - weight
            weights[at] = left[:, 0]
            mean[at] -= weight * apart / left
            spread[at] = np.maximum(spread[at] - weight * before / left * apart**2, 0.0)
            rest = total - weight
            around = np.maximum(overall - weight * total / rest * (row - centre) ** 2, 0.0) / rest
            variance = variances(weights, spread, rest[:, 0], around)
            terms = (row[:, None, :] - mean) ** 2 / variance + np.log(variance) + LOG_2PI
            scores[part] = -0.5 * terms.sum(axis=2)
    return np.where(np.isneginf(priors), -np.inf, scores + np.where(np.isneginf(priors), 0.0, priors))


def correlated(model: Any, statistics: Any, rows: Rows, tied: bool, shrinkage: Any) -> FloatArray:
    """Return the left-out scores of correlated Gaussian features, shrunk by a share or by "oas"."""
    x = dense(rows.x)
    gaps = np.argwhere(np.isnan(x))
    if len(gaps):
        raise ValueError(
            f"X[{gaps[0][0]}, {gaps[0][1]}] is nan: a row with missing cells cannot be taken out of sums; give "
            "folds as a number, or fill the cell"
        )
    k, d = statistics.mean.shape
    total = float(statistics.weights.sum())
    priors = log_priors(model, statistics, rows, statistics.weights)
    scores = np.empty((len(rows), k))
    bases = [np.linalg.eigh(scatter) for scatter in ([statistics.spread] if tied else statistics.spread)]
    with np.errstate(divide="ignore", invalid="ignore"):
        for c in range(k):
            values, vectors = bases[0 if tied else c]
            for part in blocks(len(rows), 6 * d):
                code, weight = rows.codes[part], rows.weights[part]
                own = code == c
                before = statistics.weights[code]
                left = before - weight
                # What the row takes out of this class's scatter: nothing, where that is not shared and not its own.
                touches = np.ones(len(code), dtype=bool) if tied else own
                a = (x[part] - statistics.mean[code]) @ vectors if tied else (x[part] - statistics.mean[c]) @ vectors
                taken = np.where(touches, weight * before / left, 0.0)
                behind = (total if tied else statistics.weights[c]) - np.where(touches, weight, 0.0)
                z = (x[part] - statistics.mean[c]) @ vectors * np.where(own, before / left, 1.0)[:, None]
                scores[part, c] = _log_density(values, a, z, taken, behind, shrinkage)
    return np.where(np.isneginf(priors), -np.inf, scores + np.where(np.isneginf(priors), 0.0, priors))


def _log_density(
    values: FloatArray, a: FloatArray, z: FloatArray, taken: FloatArray, rows: FloatArray, shrinkage: Any
) -> FloatArray:
    """Return log N of rows at z under the covariance (diag(values) - taken a a') / rows, shrunk; all of it per row."""
    d = len(values)
    squared = (a**2).sum(axis=1)
    level = (values.sum() - taken * squared) / (d * rows)  # the mean variance
    share = _oas(values, a, taken, rows, level) if isinstance(shrinkage, str) else np.full(len(a), float(shrinkage))
    kept = (1 - share) / rows
    diagonal = kept[:, None] * values + (share * level)[:, None]
    lost = kept * taken
    inside = (a**2 / diagonal).sum(axis=1)
    gap = 1 - lost * inside
    distance = (z**2 / diagonal).sum(axis=1) + lost * (z * a / diagonal).sum(axis=1) ** 2 / gap
    log_det = np.log(diagonal).sum(axis=1) + np.log(gap)
    return np.asarray(-0.5 * (distance + log_det + d * LOG_2PI))


def _oas(values: FloatArray, a: FloatArray, taken: FloatArray, rows: FloatArray, level: FloatArray) -> FloatArray:
    """Return the oracle approximating shrinkage of each row's left-out covariance."""
    d = len(values)
    squares = (values**2).sum() - 2 * taken * (a**2 @ values) + taken**2 * (a**2).sum(axis=1) ** 2
    power = squares / (rows * level * d) ** 2
    rest = (rows + 1) * (power - 1 / d)
    return np.asarray(np.where(rest > 0, np.minimum((power + 1) / rest, 1.0), 1.0))

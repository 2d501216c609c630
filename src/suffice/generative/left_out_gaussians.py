"""Leave-one-out scores of Gaussian classes, in closed form.

A row x of weight w in a class of weight n, mean m and scatter S: without it the class has weight n' = n - w, mean
m - w d / n' with d = x - m, and scatter S - (w n / n') d d'. An inverse after such a change of rank one follows from
the inverse before it (Sherman and Morrison), and among the eigenvectors of S all of it, shrinkage included, is done
with vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.families.gaussian import LOG_2PI
from suffice.generative.gaussians import dense
from suffice.generative.left_out import blocks, log_priors, one_by_one
from suffice.selection.rows import Rows
from suffice.statistics.base import FloatArray


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

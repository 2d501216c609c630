"""Settings and temperatures chosen by how well rows are predicted that were held out."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.model_selection import StratifiedKFold

from suffice.engines.array_blocks import to_host
from suffice.selection.rows import Folds, Model, Rows
from suffice.statistics.base import FloatArray

FOLDS = 5
#: Settings whose held-out scores are held at a time.
_TOGETHER = 8
#: A class that cannot have produced a row is given this log-probability, so that one row does not decide everything.
LEAST = float(np.log(np.finfo(np.float64).eps))


def choose(model: Any, rows: Rows, wanted: dict[str, tuple[float, ...]], temperature: bool) -> dict[str, float]:
    """Return the settings, and the temperature if asked for, under which held-out rows are most probable.

    Rows are summed once, in five folds; every combination of settings is read from the same sums.
    """
    least = int(np.bincount(rows.codes, minlength=len(rows.labels)).min())
    count = min(FOLDS, least)
    if count < 2:
        return {}
    index = [held for _, held in StratifiedKFold(count, shuffle=True, random_state=0).split(rows.codes, rows.codes)]
    folds = Folds(rows, index)
    codes = np.concatenate([part.codes for part in folds.parts])
    weights = np.concatenate([part.weights for part in folds.parts])
    others = folds.others(model)
    grid = [dict(zip(wanted, values, strict=True)) for values in itertools.product(*wanted.values())]
    candidates = [copy.copy(model).set_params(temperature=1.0, **settings) for settings in grid]
    best: dict[str, float] = {}
    highest = -np.inf
    for settings, joint in zip(grid, held_out(candidates, folds, others), strict=True):
        if joint is None:
            continue
        # Compared at the best temperature of each: naive Bayes is too sure of itself, and would be smoothed into doubt.
        calibrated = best_temperature(joint, codes, weights)
        value = log_score(joint, codes, weights, calibrated)
        if value > highest:
            best, highest = {**settings, **({"temperature": calibrated} if temperature else {})}, value
    return best


def held_out(models: Sequence[Model], folds: Folds, others: Any) -> Iterator[FloatArray | None]:
    """Yield, for each model, the joint log-probabilities of all folds' rows; None where a sum cannot be read so."""
    for start in range(0, len(models), _TOGETHER):
        some = models[start : start + _TOGETHER]
        try:
            parts = list(folds.read(some, others, "joint"))
            yield from (np.concatenate([on_host(part[place]) for part in parts]) for place in range(len(some)))
        except ValueError:  # such as a singular covariance: the setting is out of the question
            for model in some:
                yield from [None] if len(some) == 1 else held_out([model], folds, others)


def on_host(array: Any) -> npt.NDArray[Any]:
    """Return an array of any library as a NumPy array."""
    return array if isinstance(array, np.ndarray) else to_host(array)


def log_score(joint: FloatArray, codes: npt.NDArray[np.int64], weights: FloatArray, temperature: float = 1.0) -> float:
    """Return the mean log-probability of the true classes.

    Examples
    --------
    >>> round(log_score(np.log([[0.25, 0.75], [0.5, 0.5]]), np.array([1, 0]), np.ones(2)), 3)
    -0.49
    """
    log_p = log_posterior(joint / temperature)[np.arange(len(codes)), codes]
    return float(weights @ np.maximum(log_p, LEAST) / weights.sum())


def log_posterior(joint: FloatArray) -> FloatArray:
    """Return log p(y | x) from log p(x, y); all classes alike where none can have produced the row."""
    possible = np.isfinite(joint).any(axis=1, keepdims=True)
    scores = np.where(possible, joint, 0.0)
    return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))


def best_temperature(joint: FloatArray, codes: npt.NDArray[np.int64], weights: FloatArray) -> float:
    """Return the temperature under which the true classes are most probable.

    The log-likelihood is concave in 1 / temperature: Newton's method in a bracket finds its one maximum.

    Examples
    --------
    >>> overconfident = np.array([[0.0, 9.0], [0.0, 9.0], [0.0, 9.0], [0.0, 9.0]])
    >>> round(best_temperature(overconfident, np.array([1, 1, 1, 0]), np.ones(4)), 3)  # 9 / log(3)
    8.192
    """
    # A class that is out of the question stays so at any temperature: a large finite gap stands for it.
    scores = joint - np.max(np.where(np.isfinite(joint), joint, -np.inf), axis=1, keepdims=True, initial=-1e300)
    fine = np.isfinite(scores[np.arange(len(codes)), codes])
    if not fine.any():
        return 1.0
    scores, codes, weights = np.maximum(scores[fine], -1e6), codes[fine], weights[fine]
    true = scores[np.arange(len(codes)), codes]
    low, high, at = 1e-4, 1e4, 1.0  # of 1 / temperature
    for _ in range(100):
        p = np.exp(at * scores)  # the best class of each row scores 0: nothing overflows
        total, mean = p.sum(axis=1), np.einsum("ij,ij->i", p, scores)
        mean /= total
        slope = float(weights @ (true - mean))
        curvature = float(weights @ (np.einsum("ij,ij,ij->i", p, scores, scores) / total - mean**2))
        low, high = (at, high) if slope > 0 else (low, at)
        following = at + slope / curvature if curvature > 0 else np.inf
        if not low < following < high:
            following = np.sqrt(low * high)
        if abs(following - at) <= 1e-9 * at:
            break
        at = float(following)
    return 1.0 / at

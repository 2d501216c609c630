"""Choice of parameters and temperatures by the log-probability of rows held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.kernels.array_blocks import to_host
from suffice.selection.rows import Folds, Rows, SummedModel
from suffice.statistics.base import FloatArray

FOLDS = 5
#: Settings whose held-out scores are held at a time.
_TOGETHER = 8
#: A class that cannot have produced a row is given this log-probability, so that one row does not decide everything.
LEAST = float(np.log(np.finfo(np.float64).eps))
#: The range of temperatures that rows may choose from, and how many of them are tried before the best is refined.
COLDEST, HOTTEST = 0.05, 100.0
_GRID = 16
#: Of Brent's method: the smaller part of a golden section, the digits of a function near its minimum, the tolerance,
#: and the number of steps after which it stops in any case.
_GOLDEN = (3 - math.sqrt(5)) / 2
_EXACT = math.sqrt(np.finfo(np.float64).eps)
_TOLERANCE = 1e-6
_MOST_STEPS = 100


class Choice(NamedTuple):
    """The best of several models, and its best temperature."""

    place: int
    temperature: float


def choose(models: Sequence[SummedModel], rows: Rows) -> Choice | None:
    """Return the model and the temperature under which rows held out are most probable; None if there are too few rows.

    The models share their sums, and have a temperature of 1. Rows are summed once, in five folds.
    """
    if rows.weight is not None and not rows.weight.all():
        rows = rows.take(np.flatnonzero(rows.weight))  # rows of weight 0 would move others between the folds
    least = int(np.bincount(rows.codes, minlength=len(rows.labels)).min())
    count = min(FOLDS, least)
    if count < 2:
        return None
    from sklearn.model_selection import StratifiedKFold

    index = [held for _, held in StratifiedKFold(count, shuffle=True, random_state=0).split(rows.codes, rows.codes)]
    folds = Folds(rows, index)
    codes = np.concatenate([part.codes for part in folds.parts])
    weights = np.concatenate([part.weights for part in folds.parts])
    others = folds.others(models[0])
    best: Choice | None = None
    highest = -np.inf
    for place, joint in enumerate(held_out(models, folds, others)):
        if joint is None:
            continue
        # Compared at the best temperature of each: naive Bayes is overconfident, and would be smoothed too much.
        calibrated = best_temperature(joint, codes, weights)
        value = log_score(joint, codes, weights, calibrated)
        if value > highest:
            best, highest = Choice(place, calibrated), value
    return best


def held_out(models: Sequence[SummedModel], folds: Folds, others: Any) -> Iterator[FloatArray | None]:
    """Yield log p(x, y) of the rows of all folds, for each model; None for one that the sums are refused by."""
    for start in range(0, len(models), _TOGETHER):
        some = models[start : start + _TOGETHER]
        try:
            parts = list(folds.scores(some, others, "joint"))
            yield from (np.concatenate([on_host(part[place]) for part in parts]) for place in range(len(some)))
        except ValueError:  # such as a singular covariance: the model is out of the question
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
    apart = scores - scores.max(axis=1, keepdims=True)  # exponents <= 0: cannot overflow
    return np.asarray(apart - np.log(np.exp(apart).sum(axis=1, keepdims=True)))


def best_temperature(joint: FloatArray, codes: npt.NDArray[np.int64], weights: FloatArray) -> float:
    """Return the temperature under which true classes of rows held out are most probable; near 1 where rows are few.

    What is maximised is the sum of the log-probabilities of the true classes, each no lower than ``LEAST``, minus
    log(temperature)² / 2: a Gaussian prior of the temperature's logarithm, which weighs as much as one row. Without the
    floor a single row whose score is off by 1e6 would make all posteriors uniform. The result lies between ``COLDEST``
    and ``HOTTEST``, and is never worse on these rows than a temperature of 1.

    The floor makes the objective multimodal: a grid finds the highest mode, Brent's method its maximum.

    Examples
    --------
    >>> overconfident = np.tile([0.0, 9.0], (4000, 1))
    >>> round(best_temperature(overconfident, np.repeat([1, 1, 1, 0], 1000), np.ones(4000)), 1)  # 9 / log(3)
    8.2
    """
    possible = np.isfinite(joint).any(axis=1, keepdims=True)
    gaps = np.where(possible, joint, 0.0)
    gaps -= gaps.max(axis=1, keepdims=True)
    true = gaps[np.arange(len(codes)), codes]

    def cost(log_temperature: float) -> float:
        at = np.exp(-log_temperature)
        log_p = at * true - np.log(np.exp(at * gaps).sum(axis=1))  # the best class has a gap of 0: cannot overflow
        return float(log_temperature**2 / 2 - weights @ np.maximum(log_p, LEAST))

    grid = np.linspace(np.log(COLDEST), np.log(HOTTEST), _GRID)
    best = int(np.argmin([cost(each) for each in grid]))
    bounds = (grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)])
    found, least = minimise_within(cost, *bounds)
    return float(np.exp(found)) if least < cost(0.0) else 1.0


def minimise_within(cost: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return the minimum of a unimodal function within bounds, to 1e-6, and its value.

    Brent's method: the minimum of the parabola through the best three points, or a golden section of the larger side
    where the parabola is refused. The ends themselves are not evaluated. scipy.optimize has the same method, and takes
    longer to import than a small model takes to fit.

    Examples
    --------
    >>> x, value = minimise_within(lambda x: (x - 2) ** 2 + 1, 0.0, 5.0)
    >>> round(x, 6), round(value, 6)
    (2.0, 1.0)
    """
    best = second = third = low + _GOLDEN * (high - low)
    at_best = at_second = at_third = cost(best)
    step = before = 0.0  # the last two steps
    for _ in range(_MOST_STEPS):
        middle = (low + high) / 2
        least = _EXACT * abs(best) + _TOLERANCE / 3  # points that are closer cannot be told apart
        if abs(best - middle) <= 2 * least - (high - low) / 2:
            break
        r = (best - second) * (at_best - at_third)
        q = (best - third) * (at_best - at_second)
        p = (best - third) * q - (best - second) * r
        q = 2 * (q - r)
        p, q = (-p, q) if q > 0 else (p, -q)
        if abs(before) > least and abs(p) < abs(q * before / 2) and q * (low - best) < p < q * (high - best):
            before, step = step, p / q
            if min(best + step - low, high - best - step) < 2 * least:
                step = least if best < middle else -least
        else:
            before = (low if best >= middle else high) - best
            step = _GOLDEN * before
        trial = best + (step if abs(step) >= least else least if step > 0 else -least)
        at_trial = cost(trial)
        if at_trial <= at_best:
            low, high = (best, high) if trial >= best else (low, best)
            third, second, best = second, best, trial
            at_third, at_second, at_best = at_second, at_best, at_trial
        else:
            low, high = (trial, high) if trial < best else (low, trial)
            if at_trial <= at_second or second == best:
                third, second, at_third, at_second = second, trial, at_second, at_trial
            elif at_trial <= at_third or third in (best, second):
                third, at_third = trial, at_trial
    return best, at_best

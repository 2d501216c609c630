"""Expected results of the scoring kernels, by loops over rows and classes."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from suffice.kernels.engine import Batch
from suffice.kernels.inputs import JOINT, Reading

from .content_cache import cached_by_content


def _table(batch: Batch, classes: int, score: Callable[[list[float], int], float]) -> np.ndarray:
    rows = [[float(value) for value in batch.x[i]] for i in range(batch.start, batch.stop)]
    return np.array([[score(row, c) for c in range(classes)] for row in rows]).reshape(len(rows), classes)


def _total(terms: list[float]) -> float:
    return -math.inf if -math.inf in terms else math.fsum(terms)


@cached_by_content
def linear_scores(
    batch: Batch,
    coef: np.ndarray,
    intercept: np.ndarray,
    reading: Reading = JOINT,
    threshold: float | None = None,
    missing: np.ndarray | None = None,
) -> np.ndarray:
    def term(value: float, c: int, j: int) -> float:
        if math.isnan(value):
            return missing[c, j]
        return coef[c, j] * (value if threshold is None else float(value > threshold))

    def score(row: list[float], c: int) -> float:
        return _total([intercept[c], *(term(value, c, j) for j, value in enumerate(row))])

    return read_scores(_table(batch, len(intercept), score), reading)


@cached_by_content
def diagonal_scores(
    batch: Batch, mean: np.ndarray, variance: np.ndarray, intercept: np.ndarray, reading: Reading = JOINT
) -> np.ndarray:
    def score(row: list[float], c: int) -> float:
        return _total(
            [
                intercept[c],
                *(
                    -((value - mean[c, j]) ** 2) / (2 * variance[c, j]) - math.log(2 * math.pi * variance[c, j]) / 2
                    for j, value in enumerate(row)
                    if not math.isnan(value)
                ),
            ]
        )

    return read_scores(_table(batch, len(intercept), score), reading)


@cached_by_content
def quadratic_scores(
    batch: Batch, mean: np.ndarray, whitener: np.ndarray, intercept: np.ndarray, reading: Reading = JOINT
) -> np.ndarray:
    def score(row: list[float], c: int) -> float:
        z = [
            math.fsum(whitener[c, i, j] * (row[j] - mean[c, j]) for j in range(i + 1))  # the lower triangle
            for i in range(batch.features)
        ]
        return _total([intercept[c], -math.fsum(value * value for value in z) / 2])

    return read_scores(_table(batch, len(intercept), score), reading)


@cached_by_content
def category_scores(
    batch: Batch, tables: np.ndarray, sizes: tuple[int, ...], intercept: np.ndarray, reading: Reading = JOINT
) -> np.ndarray:
    offsets = [sum(sizes[:j]) for j in range(len(sizes))]

    def score(row: list[float], c: int) -> float:
        seen = [(j, int(value)) for j, value in enumerate(row) if value >= 0]
        return _total([intercept[c], *(tables[offsets[j] + code, c] for j, code in seen)])

    return read_scores(_table(batch, len(intercept), score), reading)


@cached_by_content
def read_scores(scores: np.ndarray, reading: Reading) -> np.ndarray:
    classes = scores.shape[1]
    prior = [1 / classes] * classes if reading.prior is None else list(reading.prior)
    shapes: dict[str, tuple[int, ...]] = {"evidence": (len(scores),), "best": (len(scores),)}
    results = np.array([_read(list(row), reading, prior) for row in scores])
    return results.reshape(shapes.get(reading.what, scores.shape)).astype(int if reading.what == "best" else float)


def _read(row: list[float], reading: Reading, prior: list[float]) -> Any:
    top = max(row)
    if reading.what == "joint":
        return row
    if reading.what == "best":
        return (prior if top == -math.inf else row).index(max(prior) if top == -math.inf else top)
    if reading.what == "evidence":
        return top if top == -math.inf else top + math.log(math.fsum(math.exp(score - top) for score in row))
    if top == -math.inf:
        posterior = prior
        logs = [math.log(share) if share > 0 else -math.inf for share in prior]
    else:
        powers = [(score - top) / reading.temperature for score in row]
        rest = list(powers)
        rest.remove(0)
        total = math.log1p(math.fsum(math.exp(power) for power in rest))
        logs = [power - total for power in powers]
        posterior = [math.exp(value) for value in logs]
    return posterior if reading.what == "posterior" else logs

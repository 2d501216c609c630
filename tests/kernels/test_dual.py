"""Softmax and logistic regression by the dual: the duality gap and the optimum."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from suffice.families import Response
from suffice.kernels import Batch
from suffice.kernels.native import NativeKernels, Ridge

KERNELS = NativeKernels()
RANDOM = np.random.default_rng(0)
ROWS, FEATURES = 50, 9
X = RANDOM.normal(size=(ROWS, FEATURES)) * (RANDOM.random((ROWS, FEATURES)) < 0.4)
X[:, -2:] = 0.0
X[3, -2], X[4, -2:] = 1.5, 0.7  # one column that two rows have, and one that a row has alone
WEIGHT = np.where(np.arange(ROWS) % 9 == 0, 0.0, 0.5 + np.arange(ROWS) % 3)
#: Classes, and whether each has its predictor.
KINDS = [(2, False), (3, True), (3, False), (6, True), (9, True)]


def problem(classes: int, symmetric: bool) -> tuple[Batch, Response, Ridge, int]:
    predictors = classes if symmetric else classes - 1
    y: Any = RANDOM.integers(0, classes, ROWS)
    scale = 0.5 + RANDOM.random((FEATURES, predictors))
    scale[2] = 0.0
    rows = Batch(X, y.astype(float) if classes == 2 else y, WEIGHT, RANDOM.normal(size=(ROWS, predictors)))
    response = Response.of("bernoulli" if classes == 2 else "multinomial")
    return rows, response, Ridge(0.3, scale, symmetric), predictors


def started(rows: Batch, classes: int) -> np.ndarray:
    """Return probabilities that are the classes themselves, where theta is 0."""
    y = np.asarray(rows.y)
    return np.stack([y, 1 - y], axis=1) if classes == 2 else np.eye(classes)[y]


def objective(rows: Batch, ridge: Ridge, theta: np.ndarray, classes: int, intercept: bool) -> tuple[float, np.ndarray]:
    """Return what is to be least, and its slopes, in plain arrays."""
    level, coef = (theta[0], theta[1:]) if intercept else (0.0, theta)
    scores = rows.x @ (ridge.scale * coef) + level + rows.offset
    if not ridge.symmetric:
        scores = np.concatenate([scores, np.zeros((ROWS, 1))], axis=1)
    codes = 1 - rows.y.astype(int) if classes == 2 else rows.y
    log_p = scores - logsumexp(scores, axis=1, keepdims=True)
    off = WEIGHT[:, None] * (np.exp(log_p) - np.eye(classes)[codes])[:, : theta.shape[1]]
    slopes = ridge.scale * (rows.x.T @ off) + ridge.l2 * coef
    value = ridge.l2 / 2 * (coef**2).sum() - WEIGHT @ log_p[np.arange(ROWS), codes]
    return float(value), np.concatenate([off.sum(axis=0)[None], slopes]) if intercept else slopes


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("classes", "symmetric"), KINDS)
def test_the_end_is_the_optimum(classes: int, symmetric: bool, intercept: bool, instruction_set: str) -> None:
    rows, response, ridge, predictors = problem(classes, symmetric)
    start = np.zeros((FEATURES + intercept, predictors))
    found = KERNELS.dual_ascent(rows, response, start, intercept, ridge, started(rows, classes), 5000, 1e-8, 0)
    assert found.gap <= 1e-8
    _, slopes = objective(rows, ridge, found.theta, classes, intercept)
    np.testing.assert_allclose(slopes, 0.0, atol=2e-3)  # what is least is convex
    np.testing.assert_array_equal(found.theta[intercept + 2], 0.0)  # where the scale is 0


@pytest.mark.parametrize(("classes", "symmetric"), KINDS)
def test_the_gap_tells_what_is_left_to_gain(classes: int, symmetric: bool) -> None:
    rows, response, ridge, predictors = problem(classes, symmetric)
    start = np.zeros((FEATURES, predictors))
    settings: tuple[Any, ...] = (rows, response, start, False, ridge)
    end = KERNELS.dual_ascent(*settings, started(rows, classes), 5000, 1e-9, 0)
    least, _ = objective(rows, ridge, end.theta, classes, False)
    probabilities = started(rows, classes)
    gaps = []
    for seed in range(20):  # a round's gap is what its rows saw on the way, not a bound
        one = KERNELS.dual_ascent(*settings, probabilities, 1, 0.0, seed)
        gaps.append(one.gap)
        assert objective(rows, ridge, one.theta, classes, False)[0] - least <= 3 * one.gap + 1e-7
    assert gaps[-1] < 2e-2 * gaps[0]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)


def test_dense_rows_and_csr_lead_to_the_same() -> None:
    rows, response, ridge, predictors = problem(3, True)
    start = np.zeros((FEATURES + 1, predictors))
    stored = sparse.csr_array(X)
    stored.data[0] = 0.0  # stored, yet nothing
    dense = X.copy()
    dense[0, stored.indices[0]] = 0.0
    ends = [
        KERNELS.dual_ascent(replace(rows, x=x), response, start, True, ridge, started(rows, 3), 7, 0.0, 5)
        for x in (dense, stored, sparse.csr_array(dense.astype(np.float32).astype(float)), np.asfortranarray(dense))
    ]
    halves = sparse.csr_array(
        (np.repeat(stored.data / 2, 2), np.repeat(stored.indices, 2), 2 * stored.indptr), shape=stored.shape
    )
    ends.append(KERNELS.dual_ascent(replace(rows, x=halves), response, start, True, ridge, started(rows, 3), 7, 0.0, 5))
    for end in ends[1:]:
        np.testing.assert_allclose(end.theta, ends[0].theta, atol=1e-6)


def test_hard_rows_converge_to_the_optimum() -> None:
    random = np.random.default_rng(1)
    x = 1e3 * random.normal(size=(30, 4))
    rows = Batch(x, random.integers(0, 4, 30))
    probabilities = np.eye(4)[rows.y]
    found = KERNELS.dual_ascent(
        rows, Response.of("multinomial"), np.zeros((5, 4)), True, Ridge(1e-3, None, True), probabilities, 50, 0.0, 0
    )
    assert np.isfinite(found.theta).all()
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-9)


def test_what_cannot_be_read_is_named() -> None:
    rows, response, ridge, _ = problem(3, True)
    start = np.zeros((FEATURES + 1, 3))
    more: tuple[Any, ...] = (response, start, True, ridge, started(rows, 3), 3, 0.0, 0)
    bad = X.copy()
    bad[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"x\[7, 1\] is nan"):
        KERNELS.dual_ascent(replace(rows, x=bad), *more)
    with pytest.raises(ValueError, match=r"y\[5\] is 4"):
        KERNELS.dual_ascent(replace(rows, y=np.where(np.arange(ROWS) == 5, 4, rows.y)), *more)
    with pytest.raises(ValueError, match=r"weight\[2\] is -1"):
        KERNELS.dual_ascent(replace(rows, weight=np.where(np.arange(ROWS) == 2, -1.0, 1.0)), *more)
    with pytest.raises(ValueError, match="p must have one entry per row and class"):
        KERNELS.dual_ascent(rows, response, start, True, ridge, np.ones((ROWS, 4)) / 4, 3, 0.0, 0)


def test_rows_that_another_thread_writes_to_are_refused_or_read() -> None:
    """Rows that grow between the pass that counts and the pass that copies would be written past their buffers.

    Which of the two a pass sees is left to chance, as is whether both threads run at once: rounds are made until
    changes were seen so often that some of them were such rows.
    """
    x = np.zeros((1000, 500))
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            np.subtract(1.0, x, out=x)

    rows = Batch(x, np.arange(1000) % 3)
    more: tuple[Any, ...] = (Response.of("multinomial"), np.zeros((501, 3)), True, Ridge(0.3, None, True))
    writer = threading.Thread(target=write)
    writer.start()
    complaints: list[str] = []
    try:
        for _ in range(1000):
            try:
                KERNELS.dual_ascent(rows, *more, np.eye(3)[rows.y], 1, 0.0, 0)
            except ValueError as error:
                complaints.append(str(error))
            if len(complaints) == 20:
                break
    finally:
        stop.set()
        writer.join()
    assert all("x changed while it was read: another thread writes to it" in each for each in complaints)

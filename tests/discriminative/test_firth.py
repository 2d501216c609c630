"""Firth's logistic regression beside closed forms, published estimates and a plain search."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from suffice.data import EncodedDataset
from suffice.discriminative import robust
from suffice.discriminative.firth import firth
from suffice.kernels import ArrayEngine, Batch, ThreadEngine

ENGINE = ThreadEngine()

#: Urinary tract infections and contraceptives (Foxman et al., 1997; the example of R's logistf): each pattern of
#: age, oc, vic, vicl, vis, dia with the numbers of cases and of controls. All who used a diaphragm are cases.
INFECTIONS = """
000010  1  1   001000 14  2   001010  3  1   001100 10  8   001110 12 18   001111  1  0
010000 44 42   010001  3  0   010010  0  1   011000 15  1   011001  1  0   011010  2  0
011100  7  5   011110  3  6   101000  2  0   101010  1  0   101011  1  0   101100  1  2
101110  0  4   101111  1  0   110000  5 14   110010  0  1   111000  3  1   111110  0  2
"""


def infections() -> Batch:
    words = np.array(INFECTIONS.split()).reshape(-1, 3)
    x = np.array([[float(flag) for flag in pattern] for pattern in words[:, 0]])
    cases, controls = words[:, 1:].astype(float).T
    y = np.repeat([1.0, 0.0], len(x))
    return Batch(np.vstack([x, x]), y, np.concatenate([cases, controls]))


def penalised(theta: np.ndarray, rows: Batch) -> float:
    """Return the penalised log-likelihood, with an intercept, in plain NumPy."""
    x = np.column_stack([np.ones(len(rows.x)), rows.x])
    z = x @ theta.ravel() + (0.0 if rows.offset is None else rows.offset)
    weight = np.ones(len(x)) if rows.weight is None else rows.weight
    p = 1 / (1 + np.exp(-z))
    value = weight @ (rows.y * z - np.logaddexp(0, z))
    return float(value + np.linalg.slogdet((x * (weight * p * (1 - p))[:, None]).T @ x)[1] / 2)


def separated(n: int = 60, seed: int = 0) -> Batch:
    """Return rows like those of the endometrial cancer study: a rare flag that only cases have."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) * [1.0, 30.0]
    y = (rng.random(n) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)
    flag = np.zeros(n)
    flag[np.flatnonzero(y)[:8]] = 1
    return Batch(np.column_stack([flag, x]), y)


def test_published_estimates() -> None:
    solution = firth(EncodedDataset.of_batch(infections(), ENGINE), np.zeros((7, 1)), intercept=True)
    assert solution.converged
    published = [0.12025405, -1.10598131, -0.06881673, 2.26887464, -2.11140817, -0.78831694, 3.0960117]
    np.testing.assert_allclose(solution.theta.ravel(), published, atol=2e-7)
    assert solution.value == pytest.approx(132.5394, abs=5e-5)


@given(st.lists(st.integers(0, 20), min_size=4, max_size=4))
def test_a_table_of_four_gets_half_a_count_in_each_cell(counts: list[int]) -> None:
    table = np.array(counts, dtype=float).reshape(2, 2)  # group, outcome
    if (table.sum(axis=1) == 0).any():
        return
    rows = Batch(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0.0, 1.0, 0.0, 1.0]), table.ravel())
    theta = firth(EncodedDataset.of_batch(rows, ENGINE), np.zeros((2, 1)), intercept=True).theta.ravel()
    odds = np.log((table[:, 1] + 0.5) / (table[:, 0] + 0.5))
    np.testing.assert_allclose(theta, [odds[0], odds[1] - odds[0]], atol=1e-7)


def test_the_penalised_likelihood_is_largest_with_weights_and_offset() -> None:
    rows = separated()
    rng = np.random.default_rng(4)
    rows = Batch(rows.x / [1, 1, 30], rows.y, rng.gamma(2.0, size=60), rng.normal(size=60))
    solution = firth(EncodedDataset.of_batch(rows, ENGINE), np.zeros((4, 1)), intercept=True)
    assert solution.converged
    found = minimize(lambda theta: -penalised(theta, rows), np.zeros(4), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(solution.theta.ravel(), found.x, atol=1e-4)
    assert -solution.value == pytest.approx(penalised(solution.theta, rows), rel=1e-12)
    assert solution.value <= found.fun + 1e-9
    np.testing.assert_allclose(solution.gradient, 0, atol=1e-6)
    x = np.column_stack([np.ones(60), rows.x])
    p = 1 / (1 + np.exp(-(x @ solution.theta.ravel() + rows.offset)))
    np.testing.assert_allclose(solution.hessian, (x * (rows.weight * p * (1 - p))[:, None]).T @ x, rtol=1e-10)


def test_separated_rows_have_finite_estimates() -> None:
    for rows in (separated(), Batch(np.arange(10.0)[:, None], (np.arange(10) > 4).astype(float))):
        solution = firth(EncodedDataset.of_batch(rows, ENGINE), np.zeros((rows.features + 1, 1)), intercept=True)
        assert solution.converged
        assert np.abs(solution.theta).max() < 10
        assert all(later.value <= one.value + 1e-9 for one, later in pairwise(solution.trace))


def test_dependent_columns_share_the_coefficient() -> None:
    rows = separated()
    doubled = Batch(np.column_stack([rows.x, rows.x[:, 1]]), rows.y)
    one = firth(EncodedDataset.of_batch(rows, ENGINE), np.zeros((4, 1)), intercept=True)
    both = firth(EncodedDataset.of_batch(doubled, ENGINE), np.zeros((5, 1)), intercept=True)
    assert both.converged
    np.testing.assert_allclose(both.theta[2] + both.theta[4], one.theta[2], atol=1e-7)
    np.testing.assert_allclose(both.theta[[0, 1, 3]], one.theta[[0, 1, 3]], atol=1e-7)


@pytest.mark.needs("torch")
def test_blocks_sparse_rows_and_other_libraries_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = infections()
    whole = firth(EncodedDataset.of_batch(rows, ENGINE), np.zeros((7, 1)), intercept=True)
    monkeypatch.setattr(robust, "CELLS", 5 * 21)
    csr = firth(
        EncodedDataset.of_batch(Batch(sparse.csr_array(rows.x), rows.y, rows.weight), ENGINE),
        np.zeros((7, 1)),
        intercept=True,
    )
    np.testing.assert_allclose(csr.theta, whole.theta, atol=1e-9)
    import torch

    foreign = Batch(*(torch.asarray(part) for part in (rows.x, rows.y, rows.weight)))
    beside = firth(EncodedDataset.of_batch(foreign, ArrayEngine()), np.zeros((7, 1)), intercept=True)
    np.testing.assert_allclose(beside.theta, whole.theta, atol=1e-9)


def test_a_search_says_why_it_ended() -> None:
    rows = separated()
    early = firth(EncodedDataset.of_batch(rows, ENGINE), np.zeros((4, 1)), intercept=True, max_iter=1)
    assert not early.converged
    assert early.reason == "1 steps were not enough: raise max_iter"
    lost = firth(
        EncodedDataset.of_batch(Batch(rows.x, rows.y, offset=np.full(60, 1e5)), ENGINE),
        np.zeros((4, 1)),
        intercept=True,
    )
    assert not lost.converged
    assert "start at 0, or make the offset smaller" in lost.reason
    on = firth(EncodedDataset.of_batch(rows, ENGINE), early.theta, intercept=True)
    assert on.converged
    assert on.passes == on.trace[-1].passes > 0
    with pytest.raises(ValueError, match=r"theta must have shape \(4, t\)"):
        firth(EncodedDataset.of_batch(rows, ENGINE), np.zeros((3, 1)), intercept=True)


def test_steps_that_are_too_long_from_a_start_far_off_are_halved() -> None:
    rows = Batch(np.array([[0.0], [0.0], [1.0], [1.0], [5.0]]), np.array([0.0, 0.0, 1.0, 1.0, 0.0]))
    near, far = (
        firth(EncodedDataset.of_batch(rows, ENGINE), np.full((2, 1), start), intercept=True) for start in (0.0, 5.0)
    )
    assert far.converged
    assert far.passes > 2 * len(far.trace)
    np.testing.assert_allclose(far.theta, near.theta, atol=1e-6)


def test_columns_in_any_units_have_the_same_penalised_likelihood() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 3))
    y = (x @ [1.0, -1.0, 0.5] + rng.logistic(size=60) > 0).astype(float)
    start = np.zeros((4, 1))
    expected = firth(EncodedDataset.of_batch(Batch(x, y), ENGINE), start, intercept=True)
    for power in (3, 5, 6, 8, 10):
        units = 10.0 ** np.array([-power, 0, power])
        found = firth(EncodedDataset.of_batch(Batch(x * units, y), ENGINE), start, intercept=True)
        np.testing.assert_allclose(found.theta[1:, 0] * units, expected.theta[1:, 0], rtol=1e-9)
        assert found.value == pytest.approx(expected.value, rel=1e-12)

"""The dual's rounds lead where Newton's method does, and Auto takes them where rows are sparse and wide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from suffice import LogisticRegression
from suffice.data import EncodedDataset
from suffice.discriminative.objective import NegativeLogLikelihood
from suffice.families import Response
from suffice.kernels import Batch
from suffice.solvers.auto import Auto
from suffice.solvers.dual import DualAscent
from suffice.solvers.newton import Newton

RANDOM = np.random.default_rng(0)
ROWS = 90


def likelihood(classes: int, features: int, **more: Any) -> tuple[NegativeLogLikelihood, np.ndarray]:
    x = sparse.random_array((ROWS, features), density=0.15, rng=RANDOM, format="csr")
    y: Any = RANDOM.integers(0, classes, ROWS)
    predictors = 1 if classes == 2 else classes - 1
    rows = Batch(
        x, y.astype(float) if classes == 2 else y, 0.5 + np.arange(ROWS) % 3, RANDOM.normal(size=(ROWS, predictors))
    )
    response = Response.of("bernoulli" if classes == 2 else "multinomial")
    start = np.zeros((features + 1, predictors + bool(more.get("symmetric"))))
    return NegativeLogLikelihood(EncodedDataset.of_batch(rows), response, **more), start


KINDS: list[tuple[int, dict[str, Any]]] = [(2, {}), (3, {}), (3, {"symmetric": True}), (5, {"symmetric": True})]


@pytest.mark.parametrize(("classes", "more"), KINDS)
def test_the_dual_leads_where_newton_does(classes: int, more: dict[str, Any]) -> None:
    objective, start = likelihood(classes, 20, l2=0.7, **more)
    found = DualAscent(tol=1e-5).minimise(objective, start)
    best = Newton().minimise(objective, start)
    assert found.converged
    assert found.trace[-1].gradient_norm <= 1e-5
    np.testing.assert_allclose(found.value, best.value, atol=1e-5)
    centre = (each.theta - each.theta.mean(axis=1, keepdims=True) * objective.symmetric for each in (found, best))
    mine, its = centre
    np.testing.assert_allclose(mine, its, atol=2e-3)


@pytest.mark.parametrize(("classes", "more"), KINDS)
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_wide_sparse_rows_are_solved_to_the_tolerance(classes: int, more: dict[str, Any], tol: float) -> None:
    objective, start = likelihood(classes, 2100 // (1 if classes == 2 else 2), l2=0.4, **more)
    found = Auto(tol, hessian=False).minimise(objective, start)
    assert found.converged
    assert found.trace[-1].gradient_norm <= tol


def test_without_a_dual_there_is_none() -> None:
    objective, start = likelihood(2, 20)
    assert not objective.supports("dual", start)  # without a ridge
    with pytest.raises(
        TypeError, match="DualAscent needs an objective that supports 'dual', and NegativeLogLikelihood"
    ):
        DualAscent().minimise(objective, start)
    dense = NegativeLogLikelihood(
        EncodedDataset.of_batch(Batch(np.ones((3, 2)), np.array([0.0, 1.0, 1.0]))), Response.of("bernoulli"), l2=1.0
    )
    assert not dense.supports("dual", np.zeros((3, 1)))
    counts = NegativeLogLikelihood(
        EncodedDataset.of_batch(Batch(sparse.csr_array(np.eye(3)), np.arange(3.0))), Response.of("poisson"), l2=1.0
    )
    assert not counts.supports("dual", np.zeros((4, 1)))


def test_sparse_and_dense_rows_lead_to_the_same_classes() -> None:
    objective, _ = likelihood(3, 900, l2=0.5)
    x, y = objective.data.batch.x, objective.data.batch.y
    by_dual, by_passes = (
        LogisticRegression(C=2.0, inference=False, tol=1e-7).fit(each, y) for each in (x, x.toarray())
    )
    np.testing.assert_allclose(by_dual.predict_proba(x), by_passes.predict_proba(x), atol=1e-5)

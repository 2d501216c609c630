"""Generalised linear models fed batch by batch."""

from __future__ import annotations

import numpy as np
import pytest

from suffice import LogisticRegression, PoissonRegression

from .cases import CASES, Case, bernoulli, rows

COMPILED = [case for case in CASES if case.name in ("logistic", "three classes", "softmax", "poisson", "gamma")]


@pytest.mark.parametrize("case", COMPILED, ids=lambda case: case.name)
def test_batches_come_near_the_optimum(case: Case) -> None:
    x, y = rows(case, 4000)
    best, model = case.make().fit(x, y), case.make()
    for start in range(0, 4000, 200):
        model.partial_fit(x[start : start + 200], y[start : start + 200])
    assert np.abs(model.theta_ - best.theta_).max() < 0.5 * np.abs(best.theta_).max()  # once through, not averaged


@pytest.mark.parametrize("case", COMPILED, ids=lambda case: case.name)
def test_a_few_rows_after_a_fit_move_it_little(case: Case) -> None:
    x, y = rows(case, 4000)
    model = case.make().fit(x, y)
    before = model.theta_.copy()
    model.partial_fit(x[:20], y[:20])
    assert 0 < np.abs(model.theta_ - before).max() < 0.2 * np.abs(before).max()


def test_a_refused_batch_changes_nothing() -> None:
    x, y = rows(next(case for case in CASES if case.name == "poisson"))
    model, alone = PoissonRegression().partial_fit(x, y), PoissonRegression().partial_fit(x, y)
    bad = np.where(np.arange(len(x))[:, None] == 7, np.nan, x)
    with pytest.raises(ValueError, match=r"X\[7, 0\] is nan"):
        model.partial_fit(bad, y)
    np.testing.assert_array_equal(model.partial_fit(x, y).theta_, alone.partial_fit(x, y).theta_)


def test_a_warm_start_with_other_classes_is_a_cold_one() -> None:
    x, y = rows(CASES[1])
    three = y + bernoulli(np.random.default_rng(1), x[:, 0])
    model = LogisticRegression(warm_start=True).fit(x, y).fit(x, three)
    np.testing.assert_allclose(model.theta_, LogisticRegression().fit(x, three).theta_, atol=1e-6)
    np.testing.assert_allclose(model.fit(x, y).theta_, LogisticRegression().fit(x, y).theta_, atol=1e-6)

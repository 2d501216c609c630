"""Generalised linear models fed batch by batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import suffice
from suffice import GLM, LinearRegression, LogisticRegression, PoissonRegressor
from suffice.data import EncodedDataset
from suffice.discriminative.objective import NegativeLogLikelihood
from suffice.discriminative.row_sample import UpdateObjective
from suffice.families import Response
from suffice.kernels import Batch
from suffice.solvers import StochasticGradient

from .cases import CASES, Case, bernoulli, rows

COMPILED = [case for case in CASES if case.name in ("logistic", "three classes", "softmax", "poisson", "gamma")]


@pytest.mark.parametrize("case", COMPILED, ids=lambda case: case.name)
def test_batches_come_near_the_optimum(case: Case) -> None:
    x, y = rows(case, 4000)
    best, model = case.make().fit(x, y), case.make()
    for start in range(0, 4000, 200):
        model.partial_fit(x[start : start + 200], y[start : start + 200])
    assert np.abs(model.theta_ - best.theta_).max() < 1e-3 * np.abs(best.theta_).max()


@pytest.mark.parametrize("case", COMPILED, ids=lambda case: case.name)
def test_a_few_rows_after_a_fit_move_it_little(case: Case) -> None:
    x, y = rows(case, 4000)
    model = case.make().fit(x, y)
    before = model.theta_.copy()
    model.partial_fit(x[:20], y[:20])
    assert 0 < np.abs(model.theta_ - before).max() < 0.2 * np.abs(before).max()


def test_a_refused_batch_changes_nothing() -> None:
    x, y = rows(next(case for case in CASES if case.name == "poisson"))
    model, alone = PoissonRegressor().partial_fit(x, y), PoissonRegressor().partial_fit(x, y)
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


def feed(model: Any, x: Any, y: Any, size: int) -> Any:
    """Return the model after batches of a size."""
    classes = {"classes": np.unique(y)} if hasattr(model, "decision_function") else {}
    for start in range(0, len(y), size):
        model.partial_fit(x[start : start + size], y[start : start + size], **classes)
    return model


#: Families and links that are not compiled take long for each row: slow tests, but for one of each.
SLOW = ("dirichlet", "gaussian/log", "exponential", "cloglog")
ROW_BY_ROW = [
    pytest.param(case, marks=[pytest.mark.slow] * (case.name in SLOW), id=case.name)
    for case in CASES
    if case.name not in ("linear", "multinomial")  # a first row has one class
]


@pytest.mark.parametrize("order", [pytest.param("as they come", marks=pytest.mark.slow), "sorted"])
@pytest.mark.parametrize("case", ROW_BY_ROW)
def test_rows_one_by_one_come_near_the_optimum(case: Case, order: str) -> None:
    x, y = rows(case, 60 if case.name in ("beta", "dirichlet") else 100)  # which take long for each row
    if order == "sorted":
        places = np.argsort(y if y.ndim == 1 else y[:, 0], kind="stable")
        x, y = x[places], y[places]
    best = case.make().fit(x, y).theta_
    model = feed(case.make(), x, y, 1)
    assert np.abs(model.theta_ - best).max() < 0.1 * np.abs(best).max()


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_units_of_columns_do_not_matter(scale: float) -> None:
    x, y = rows(CASES[1], 150)
    model = feed(LogisticRegression(), x * [1.0, scale, 1.0], y, 1)
    best = LogisticRegression().fit(x, y).coef_
    np.testing.assert_allclose(model.coef_ * [1.0, scale, 1.0], best, atol=0.05)


@pytest.mark.parametrize("settings", [{"C": 1 / 3}, {"C": 1 / 3, "l1_ratio": 1.0}, {"bias_reduction": True}], ids=str)
@pytest.mark.parametrize("case", [CASES[1], CASES[2]], ids=lambda case: case.name)
def test_penalties_are_those_of_a_fit_to_all_rows(case: Case, settings: Any) -> None:
    if settings.get("bias_reduction") and case.name != "logistic":
        pytest.skip("it is for two classes")
    x, y = rows(case, 120)
    model = feed(case.make(**settings), x, y, 7)
    best = case.make(**settings).fit(x, y).theta_
    assert np.abs(model.theta_ - best).max() < 0.05 * np.abs(best).max()


@pytest.mark.parametrize("size", [7, 40])
def test_a_penalty_beside_the_mean_grows_with_the_rows(size: int) -> None:
    x, y = rows(next(case for case in CASES if case.name == "poisson"), 120)
    model = feed(PoissonRegressor(alpha=0.3), x, y, size)
    np.testing.assert_allclose(model.theta_, PoissonRegressor(alpha=0.3).fit(x, y).theta_, atol=0.02)
    model = PoissonRegressor(alpha=0.3).fit(x[:60], y[:60]).partial_fit(x[60:], y[60:])  # the parabola of a fit
    np.testing.assert_allclose(model.theta_, PoissonRegressor(alpha=0.3).fit(x, y).theta_, atol=0.02)


def test_weights_and_offsets_of_some_batches() -> None:
    x, y = rows(next(case for case in CASES if case.name == "poisson"), 150)
    weight, exposure = np.where(np.arange(150) < 50, 1.0, 2.0), np.where(np.arange(150) < 50, 1.0, 3.0)
    model = feed(PoissonRegressor(), x[:50], y[:50], 10)
    for start in range(50, 150, 10):
        some = slice(start, start + 10)
        model.partial_fit(x[some], y[some], weight[some], exposure=exposure[some])
    best = PoissonRegressor().fit(x, y, weight, exposure=exposure).theta_
    np.testing.assert_allclose(model.theta_, best, atol=0.02)


def test_a_sample_of_many_rows_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suffice.data.sample, "MOST", 900)  # 300 rows
    x, y = rows(CASES[1], 3000)
    best = LogisticRegression().fit(x, y)
    errors = best.summary().inference.standard_errors
    for order in (np.arange(3000), np.argsort(y, kind="stable")):
        model = feed(LogisticRegression(), x[order], y[order], 50)
        assert len(model._sample.settled().stands_for) <= 300  # noqa: SLF001
        assert (np.abs(model.theta_ - best.theta_).ravel() < 12 * errors).all()  # 300 rows tell 3 times less, by errors
    model = feed(LogisticRegression(), x, y, 50)  # mixed, all rows have a say
    assert (np.abs(model.theta_ - best.theta_).ravel() < errors).all()


def test_sparse_rows_are_sampled() -> None:
    x, y = rows(CASES[1], 200)
    model = feed(LogisticRegression(), sparse.csr_array(x), y, 20)
    np.testing.assert_allclose(model.theta_, LogisticRegression().fit(x, y).theta_, atol=0.05)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_loaded_model_learns_on_as_the_saved_one_would(kind: Any, tmp_path: Path) -> None:
    x, y = rows(CASES[1], 150)
    x = kind(x)
    model = feed(LogisticRegression(), x[:77], y[:77], 1)
    model.save(tmp_path / "model")
    again = suffice.load(tmp_path / "model")
    np.testing.assert_allclose(feed(again, x[77:], y[77:], 1).theta_, feed(model, x[77:], y[77:], 1).theta_, rtol=1e-9)


def test_rows_after_a_fit_come_near_the_optimum_of_all() -> None:
    x, y = rows(CASES[1], 300)
    model = feed(LogisticRegression().fit(x[:150], y[:150]), x[150:], y[150:], 1)
    np.testing.assert_allclose(model.theta_, LogisticRegression().fit(x, y).theta_, atol=0.05)


def test_balanced_classes_need_all_rows() -> None:
    x, y = rows(CASES[1])
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows at once"):
        LogisticRegression(class_weight="balanced").partial_fit(x, y)


# The plain stochastic rule.


def by_hand(x: np.ndarray, y: np.ndarray, mean: Any, step: float) -> np.ndarray:
    """Return theta after theta := theta + step (y - h(x)) x for each row, from 0."""
    theta = np.zeros(x.shape[1] + 1)
    for row, target in zip(np.column_stack([np.ones(len(x)), x]), y, strict=True):
        theta = theta + step * (target - mean(row @ theta)) * row
    return theta


@pytest.mark.parametrize("size", [1, 7, 120])
@pytest.mark.parametrize(
    ("make", "name", "mean"),
    [
        (LogisticRegression, "logistic", lambda z: 1 / (1 + np.exp(-z))),
        (PoissonRegressor, "poisson", np.exp),
        (GLM, "gaussian", lambda z: z),
        (LinearRegression, "linear", lambda z: z),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_given_step_is_the_plain_rule(make: Any, name: str, mean: Any, size: int) -> None:
    x, y = rows(next(case for case in CASES if case.name == name))
    for places in (np.arange(len(y)), np.argsort(y, kind="stable")):
        model = feed(make(solver=StochasticGradient(step=0.02)), x[places], y[places], size)
        np.testing.assert_allclose(model.theta_.ravel(), by_hand(x[places], y[places], mean, 0.02), rtol=1e-9)


@pytest.mark.parametrize("make", [LinearRegression, GLM])
def test_a_given_decay_is_followed(make: Any) -> None:
    x, y = rows(CASES[0])
    model = feed(make(solver=StochasticGradient(step=0.05, decay=0.1, power=1.0)), x, y, 10)
    theta = np.zeros(4)
    for number, (row, target) in enumerate(zip(np.column_stack([np.ones(len(x)), x]), y, strict=True)):
        theta = theta + 0.05 / (1 + 0.1 * number) * (target - row @ theta) * row
    np.testing.assert_allclose(model.theta_.ravel(), theta, rtol=1e-9)


def test_linear_regression_row_by_row_refuses_sums(tmp_path: Path) -> None:
    x, y = rows(CASES[0])
    model = feed(LinearRegression(solver=StochasticGradient(step=0.02)), x, np.column_stack([y, -y]), 10)
    np.testing.assert_allclose(model.theta_[:, 0], by_hand(x, y, lambda z: z, 0.02), rtol=1e-9)
    np.testing.assert_allclose(model.theta_[:, 1], -model.theta_[:, 0], rtol=1e-9)
    fitted = LinearRegression(solver=StochasticGradient(step=0.02, epochs=2, tol=10.0)).fit(x, y)
    for each, targets in ((model, np.column_stack([y, -y])), (fitted, y)):
        for ask in (lambda each=each: each + each, lambda each=each, y=targets: each.forget(x[:3], y[:3])):
            with pytest.raises(ValueError, match=r"computed from the rows .* not from the sums"):
                ask()
    normal = fitted.with_params(solver="normal")
    np.testing.assert_allclose(normal.coef_, LinearRegression().fit(x, y).coef_)
    _ = normal + normal
    model.save(tmp_path / "model")
    again = suffice.load(tmp_path / "model")
    for each in (model, again):
        each.partial_fit(x[:5], np.column_stack([y, -y])[:5])
    np.testing.assert_array_equal(again.theta_, model.theta_)


@pytest.mark.parametrize(("c", "far"), [(1.0, 0.0), (np.inf, 2000.0)], ids=["l1", "columns far from zero"])
def test_batches_after_a_fit_are_learned_where_other_rows_come(c: float, far: float) -> None:
    random = np.random.default_rng(0)

    def drawn(column: int) -> tuple[np.ndarray, np.ndarray]:
        x = random.normal(size=(200, 3))
        return x + np.array([far, 0.0, 0.0]), (x[:, column] + 0.5 * random.normal(size=200) > 0).astype(int)

    model = LogisticRegression(C=c, l1_ratio=1.0).fit(*drawn(0))
    before = model.theta_.copy()
    assert np.abs(model.partial_fit(*drawn(0)).theta_[1:] - before[1:]).max() < 1.0
    for _ in range(8):
        model.partial_fit(*drawn(1))
    assert model.score(*drawn(1)) > 0.8


def test_rows_whose_means_overflow_leave_theta_as_it_was() -> None:
    x, y = rows(next(case for case in CASES if case.name == "poisson"))
    model = PoissonRegressor().partial_fit(x, y)
    before = model.theta_.copy()
    model.partial_fit(1e5 * x[:20], y[:20])
    np.testing.assert_array_equal(model.theta_, before)


def test_a_first_batch_that_is_impossible_at_zero_starts_from_its_mean() -> None:
    random = np.random.default_rng(0)
    x, y = random.random((300, 1)), random.poisson(5.0, 300).astype(float)
    model = GLM("poisson", "identity", solver=StochasticGradient(step=0.01)).partial_fit(x, y)
    assert np.abs(model.predict(x) - 5.0).max() < 1.0


def test_batches_of_a_stochastic_solver_without_a_step_are_fitted_as_by_the_default() -> None:
    x, y = rows(CASES[1])
    model = LogisticRegression(solver="stochastic").partial_fit(x, y)
    np.testing.assert_array_equal(model.theta_, LogisticRegression().partial_fit(x, y).theta_)


def test_the_past_beside_new_rows_has_the_gradient_of_its_hessian() -> None:
    x, y = rows(CASES[1])
    likelihood = NegativeLogLikelihood(EncodedDataset.of_batch(Batch(x, y.astype(float))), Response.of("bernoulli"))
    theta = np.random.default_rng(0).normal(size=(x.shape[1] + 1, 1))
    past = likelihood.value_gradient_hessian(theta).hessian
    together = UpdateObjective(likelihood, theta, past)
    np.testing.assert_allclose(together.value_gradient(theta).gradient, likelihood.value_gradient(theta).gradient)
    for one, two in zip(together.value_gradient(theta / 2), together.value_gradient_hessian(theta / 2), strict=False):
        np.testing.assert_allclose(one, two)

"""Coefficients that were assigned, or changed in place: answers follow them, what was estimated beside them refuses."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression as Reference

import suffice
from suffice import GLM, LinearRegression, LogisticRegression, NBLogisticRegression, Perceptron, Ridge
from tests.discriminative.cases import CASES, Case, rows

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def scores(model: Any, x: np.ndarray) -> np.ndarray:
    """Return the linear predictors that the attributes say."""
    return np.atleast_2d(x @ np.atleast_2d(model.coef_).T) + model.intercept_


def answers(model: Any, x: np.ndarray) -> np.ndarray:
    return model.decision_function(x) if hasattr(model, "decision_function") else model.predict(x)


def assign(model: Any) -> None:
    model.coef_ = np.asarray(model.coef_) * 0.5


def change_in_place(model: Any) -> None:
    model.coef_[..., 1] = 0.0


def assign_intercept(model: Any) -> None:
    model.intercept_ = 1.5 * model.intercept_ + 0.25


WAYS = pytest.mark.parametrize("change", [assign, change_in_place, assign_intercept])


@each_case
@WAYS
def test_answers_and_files_follow_the_attributes(case: Case, change: Any, tmp_path: Path) -> None:
    x, y = rows(case)
    model = case.make().fit(x, y)
    before = answers(model, x)
    change(model)
    after = answers(model, x)
    assert not np.allclose(after, before)
    if isinstance(model, LinearRegression):
        np.testing.assert_allclose(after, scores(model, x)[:, 0])
    if hasattr(model, "decision_function"):
        expected = scores(model, x)
        np.testing.assert_allclose(after, expected[:, 0] if after.ndim == 1 else expected)
    model.save(tmp_path / "model")
    for again in (suffice.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(answers(again, x), after)
        with pytest.raises(ValueError, match="coef_ or intercept_ was changed after the fit"):
            again.summary()


@each_case
@WAYS
def test_what_was_estimated_at_the_fit_is_refused(case: Case, change: Any) -> None:
    x, y = rows(case)
    model = case.make().fit(x, y)
    text = str(model.summary())
    coef, intercept = np.array(model.coef_), np.array(model.intercept_)
    change(model)
    with pytest.raises(ValueError, match=r"coef_ or intercept_ was changed after the fit.*fit again"):
        model.summary()
    model.coef_, model.intercept_ = coef, intercept
    assert str(model.summary()) == text  # they are set back
    change(model)
    assert str(model.fit(x, y).summary()) == text


@pytest.mark.parametrize("change", [assign, change_in_place])
def test_sums_refuse_to_go_on_from_coefficients_that_they_did_not_give(change: Any) -> None:
    x, y = rows(CASES[0])
    model, other = Ridge(0.0).fit(x, y), Ridge(0.0).fit(x, y)
    change(model)
    model.set_params(alpha=1.0)
    for ask in (
        lambda: model + other,
        lambda: other + model,
        lambda: model.partial_fit(x, y),
        lambda: model.forget(x[:3], y[:3]),
        lambda: model.predict_interval(x),
        lambda: model.with_params(alpha=1.0),
    ):
        with pytest.raises(ValueError, match=r"coef_ or intercept_ was changed after the fit.*fit again"):
            ask()


def test_stochastic_steps_go_on_from_assigned_coefficients() -> None:
    x, y = rows(CASES[1])
    solver = suffice.solvers.StochasticGradient(step=1e-9)
    model = LogisticRegression(solver=solver).partial_fit(x, y)
    model.coef_ = np.array([[3.0, -2.0, 1.0]])
    np.testing.assert_allclose(model.partial_fit(x, y).coef_, [[3.0, -2.0, 1.0]], atol=1e-5)


@pytest.mark.parametrize("average", [False, True])
def test_a_perceptron_goes_on_from_assigned_coefficients(average: bool, tmp_path: Path) -> None:
    x, y = rows(CASES[1])
    model = Perceptron(average=average, eta0=1e-9).partial_fit(x, y)
    model.coef_ = np.array([[3.0, -2.0, 1.0]])
    model.intercept_[0] = 0.5
    np.testing.assert_allclose(model.decision_function(x), x @ [3.0, -2.0, 1.0] + 0.5)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(suffice.load(tmp_path / "model").predict(x), model.predict(x))
    model.partial_fit(x, y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), [3.0, -2.0, 1.0, 0.5], atol=1e-5)


def test_naive_bayes_logistic_regression_follows_the_attributes() -> None:
    x = np.random.default_rng(0).poisson(1.0, (40, 3))
    model = NBLogisticRegression(norm=None, binarize=None).fit(x, np.arange(40) % 2)
    model.coef_[0, :] = [1.0, 0.0, -1.0]
    np.testing.assert_allclose(model.decision_function(x), x @ [1.0, 0.0, -1.0] + model.intercept_)


def test_three_classes_are_those_of_scikit_learn_after_an_assignment() -> None:
    x, y = rows(CASES[2])
    model, reference = LogisticRegression(C=1.0).fit(x, y), Reference(tol=1e-10).fit(x, y)
    for each in (model, reference):
        each.coef_ = np.arange(9.0).reshape(3, 3) / 5
        each.intercept_ = np.array([0.1, 0.0, -0.1])
    np.testing.assert_allclose(model.predict_proba(x), reference.predict_proba(x), rtol=1e-9)


def test_coefficients_of_another_shape_are_named() -> None:
    x, y = rows(CASES[1])
    model = LogisticRegression().fit(x, y)
    model.coef_ = np.ones((1, 2))
    with pytest.raises(ValueError, match=r"coef_ and intercept_ have the shapes \(1, 2\) and \(1,\).*3 features"):
        model.predict(x)
    model.coef_ = np.ones((2, 3))
    with pytest.raises(ValueError, match="coef_ has 2 rows; it must have 1"):
        model.predict(x)


def test_theta_is_read_only_and_can_be_assigned() -> None:
    x, y = rows(CASES[1])
    model = LogisticRegression().fit(x, y)
    with pytest.raises(ValueError, match="read-only"):
        model.theta_[0] = 1.0
    model.theta_ = np.array([[0.5], [1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(model.coef_, [[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(model.intercept_, [0.5])


def test_beta_regression_keeps_its_precision() -> None:
    x, y = rows(next(case for case in CASES if case.name == "beta"))
    model = GLM("beta").fit(x, y)
    np.testing.assert_array_equal(model.theta_, model.solution_.theta)


@pytest.mark.parametrize("kind", [LogisticRegression, suffice.SoftmaxRegression, Perceptron])
def test_an_unfitted_classifier_predicts_from_assigned_coefficients(kind: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))
    model, reference = kind(), Reference()
    for each in (model, reference):
        each.coef_, each.intercept_ = np.array([[1.0, 2.0], [0.0, 1.0], [2.0, 0.0]]), np.array([0.5, 0.0, 1.0])
        each.classes_ = np.array(["ash", "elm", "oak"])
    np.testing.assert_array_equal(model.predict(x), reference.predict(x))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(x), reference.predict_proba(x))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(x), model.predict(x))
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(np.ones((1, 3)))
    with pytest.raises(NotFittedError, match="were assigned, and it was never fitted to rows: a file needs a fit"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("kind", [LinearRegression, Ridge, suffice.Lasso, suffice.PoissonRegressor])
def test_an_unfitted_regression_predicts_from_assigned_coefficients(kind: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))
    model = kind()
    model.coef_, model.intercept_ = np.array([0.5, -0.25]), 0.125
    z = x @ [0.5, -0.25] + 0.125
    np.testing.assert_allclose(model.predict(x), np.exp(z) if kind is suffice.PoissonRegressor else z)
    for ask in (model.summary, model.confint, lambda: model.save(tmp_path / "model")):
        with pytest.raises(NotFittedError, match="were assigned, and it was never fitted to rows"):
            ask()
    y = np.abs(z)
    np.testing.assert_allclose(model.fit(x, y).coef_, kind().fit(x, y).coef_)


def test_what_is_missing_beside_assigned_coefficients_is_named() -> None:
    model = LogisticRegression()
    model.coef_ = np.ones((1, 2))
    with pytest.raises(ValueError, match="coef_ was assigned without classes_"):
        model.predict(np.ones((1, 2)))
    model.classes_ = np.array([0, 1])
    with pytest.raises(ValueError, match="coef_ was assigned without intercept_"):
        model.predict(np.ones((1, 2)))

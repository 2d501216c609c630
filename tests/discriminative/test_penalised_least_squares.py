"""Ridge, Lasso, ElasticNet and non-negative coefficients: scikit-learn, scipy and the conditions of a minimum."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import nnls
from sklearn import linear_model as theirs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import suffice
from suffice import ElasticNet, Lasso, LinearRegression, Ridge
from suffice.solvers.non_negative import solve_non_negative
from suffice.store import files

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(90, 6)) * [1.0, 5.0, 0.2, 1.0, 2.0, 1.0] + [0.0, 3.0, 1.0, -20.0, 0.0, 1.0]
Y = X @ [1.0, -0.3, 4.0, 0.0, 0.5, 0.0] + RANDOM.normal(size=90)
PAIR = np.column_stack([Y, X @ [0.0, 0.2, -3.0, 1.0, 0.0, 1.0] + RANDOM.normal(size=90)])
WEIGHT = RANDOM.random(90) + 0.1
CLOSE = {"tol": 1e-14, "max_iter": 200_000}
PAIRS = {
    "ridge": (Ridge(3.0), theirs.Ridge(3.0)),
    "lasso": (Lasso(0.2), theirs.Lasso(0.2, **CLOSE)),
    "elastic net": (ElasticNet(0.4, l1_ratio=0.3), theirs.ElasticNet(0.4, l1_ratio=0.3, **CLOSE)),
    "least squares, positive": (LinearRegression(positive=True), theirs.LinearRegression(positive=True)),
    "lasso, positive": (Lasso(0.2, positive=True), theirs.Lasso(0.2, positive=True, **CLOSE)),
    "elastic net, positive": (ElasticNet(0.2, positive=True), theirs.ElasticNet(0.2, positive=True, **CLOSE)),
}


def alike(mine: Any, their: Any, tolerance: float = 1e-8) -> None:
    np.testing.assert_allclose(mine.coef_, their.coef_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(mine.intercept_, their.intercept_, rtol=tolerance, atol=tolerance)
    assert np.shape(mine.coef_) == np.shape(their.coef_)
    assert np.shape(mine.intercept_) == np.shape(their.intercept_)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_coefficients_are_those_of_scikit_learn(name: str, intercept: bool, weight: Any) -> None:
    mine, their = (clone(model).set_params(fit_intercept=intercept) for model in PAIRS[name])
    alike(mine.fit(X, Y, weight), their.fit(X, Y, weight))


@pytest.mark.parametrize("name", [name for name in PAIRS if "positive" not in name])
@pytest.mark.parametrize("kind", ["float32", "sparse", "two targets", "fewer rows than columns", "constant column"])
def test_other_rows_have_the_coefficients_of_scikit_learn(name: str, kind: str) -> None:
    mine, their = map(clone, PAIRS[name])
    x, y = X, Y
    if kind == "float32":
        x = X.astype(np.float32).astype(np.float64)
        alike(mine.fit(X.astype(np.float32), y), their.fit(x, y))
        return
    if kind == "sparse":
        dense = np.where(np.abs(X) > 1, X, 0.0)
        alike(mine.fit(sparse.csr_array(dense), y), their.fit(dense, y))
        return
    if kind == "two targets":
        y = PAIR
    elif kind == "fewer rows than columns":
        x, y = X[:4], Y[:4]
    else:
        x = X.copy()
        x[:, 3] = -7.0
    alike(mine.fit(x, y), their.fit(x, y))


@pytest.mark.needs("scikit-learn 1.9")
def test_each_target_may_have_its_penalty() -> None:
    alike(Ridge([0.5, 80.0]).fit(X, PAIR, WEIGHT), theirs.Ridge([0.5, 80.0]).fit(X, PAIR, WEIGHT))
    with pytest.raises(AttributeError, match="targets have different penalties: there are no standard errors"):
        _ = Ridge([0.5, 80.0]).fit(X, PAIR).covariance_


def test_a_non_negative_ridge_meets_the_conditions_of_a_minimum() -> None:
    model = Ridge(2.0, positive=True).fit(X, Y)
    centred = X - X.mean(axis=0)
    gradient = centred.T @ (centred @ model.coef_ - (Y - Y.mean())) + 2.0 * model.coef_
    assert (model.coef_ >= 0).all()
    np.testing.assert_allclose(gradient[model.coef_ > 0], 0.0, atol=1e-9)
    assert (gradient[model.coef_ == 0] > 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_the_active_set_solution_is_that_of_scipy(seed: int) -> None:
    random = np.random.default_rng(seed)
    x = random.normal(size=(30, 12)) + random.normal()
    y = random.normal(size=30)
    found, solved = solve_non_negative(x.T @ x, x.T @ y, random.normal(size=12), 1e-12)
    assert solved
    np.testing.assert_allclose(found, nnls(x, y)[0], atol=1e-10)


def test_a_non_negative_fit_of_dependent_columns_is_a_minimum() -> None:
    doubled = np.column_stack([X, X[:, 0]])
    model = LinearRegression(positive=True, fit_intercept=False)
    with pytest.warns(UserWarning, match="combination"):
        model.fit(doubled, Y)
    assert (model.coef_ >= 0).all()
    np.testing.assert_allclose(((Y - model.predict(doubled)) ** 2).sum(), nnls(doubled, Y)[1] ** 2, rtol=1e-9)


@pytest.mark.parametrize("model", [Ridge(2.0), Lasso(0.1), ElasticNet(0.1), Lasso(0.1, positive=True)], ids=str)
def test_forget_undoes_partial_fit(model: Any) -> None:
    expected = model.fit(X, Y).coef_
    model.partial_fit(X[:9] + 1, Y[:9]).forget(X[:9] + 1, Y[:9])
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-9, atol=1e-10)


def test_other_penalties_are_read_from_the_same_sums() -> None:
    model = ElasticNet(0.4).fit(X, Y)
    np.testing.assert_array_equal(
        model.with_params(alpha=0.1, l1_ratio=0.9).coef_, ElasticNet(0.1, l1_ratio=0.9).fit(X, Y).coef_
    )


def test_the_duality_gap_bounds_the_distance_from_the_minimum() -> None:
    model = Lasso(0.2).fit(X, PAIR, WEIGHT)
    assert model.dual_gap_.shape == (2,)
    assert (model.dual_gap_ <= 1e-8 * PAIR.var(axis=0)).all()
    assert model.sparse_coef_.nnz == np.count_nonzero(model.coef_)


def test_standard_errors_of_a_constraint_are_refused_with_the_reason() -> None:
    model = LinearRegression(positive=True).fit(X, Y)
    with pytest.raises(ValueError, match="positive=True: constrained coefficients have no standard errors"):
        model.predict_interval(X)
    assert "positive=True" in str(model.summary())


def test_a_file_of_a_linear_regression_without_penalties_loads(tmp_path: Path) -> None:
    model = LinearRegression().fit(X, Y)
    model.save(tmp_path / "model")
    contents = files.read(tmp_path / "model")
    older = {**contents.settings["parameters"], "l1": 0.0, "l2": 0.0}
    del older["positive"], older["copy_X"]
    files.write(tmp_path / "model", replace(contents, settings={**contents.settings, "parameters": older}))
    np.testing.assert_array_equal(suffice.load(tmp_path / "model").coef_, model.coef_)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(2.0), Lasso(0.1), ElasticNet(0.1)], ids=str)
def test_a_model_whose_rows_are_all_forgotten_is_unfitted(model: Any) -> None:
    expected = clone(model).fit(X[9:], Y[9:]).coef_
    empty = clone(model).fit(X[:9], Y[:9]).forget(X[:9], Y[:9])
    for ask in (lambda: empty.predict(X), lambda: empty.summary(), lambda: empty.coef_, lambda: empty.forget(X, Y)):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()
    np.testing.assert_allclose((empty + clone(model).fit(X[9:], Y[9:])).coef_, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(empty.partial_fit(X[9:], Y[9:]).coef_, expected, rtol=1e-9, atol=1e-12)

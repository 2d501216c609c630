"""A summary and an interval say what the model is now: no numbers of one covariance under the name of another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

import suffice
from suffice import Lasso, LinearRegression, LogisticRegression, Ridge

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(80, 3))
Z = X @ [1.0, 2.0, -1.0] + RANDOM.normal(size=80) * (1 + np.abs(X[:, 0]))
QUERIES = RANDOM.normal(size=(6, 3))
MODELS = pytest.mark.parametrize(
    ("make", "y", "other"),
    [(Ridge, Z, {"alpha": 1000.0}), (LogisticRegression, (Z > 0).astype(int), {"C": 0.001})],
    ids=["linear", "logistic"],
)


@MODELS
@pytest.mark.parametrize(("fitted", "later"), [("classical", "HC3"), ("HC3", "classical")])
def test_a_summary_is_of_the_covariance_of_the_fit(
    make: Any, y: Any, other: dict[str, float], fitted: str, later: str, tmp_path: Path
) -> None:
    model = make(covariance=fitted).fit(X, y)
    text = str(model.summary())
    model.set_params(covariance=later, **other)
    assert str(model.summary()) == text
    model.save(tmp_path / "model")
    assert str(suffice.load(tmp_path / "model").summary()) == text
    assert str(model.fit(X, y).summary()) == str(make(covariance=later, **other).fit(X, y).summary())


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
@pytest.mark.parametrize("intercept", [True, False])
def test_robust_intervals_are_those_of_statsmodels(kind: str, intercept: bool) -> None:
    model = LinearRegression(covariance=kind, fit_intercept=intercept).fit(X, Z)
    x, queries = (np.column_stack([np.ones(len(each)), each]) if intercept else each for each in (X, QUERIES))
    expected = sm.OLS(Z, x).fit(cov_type=kind, use_t=True).get_prediction(queries).summary_frame(alpha=0.1)
    for of, name in (("mean", "mean_ci"), ("observation", "obs_ci")):
        low, high = model.predict_interval(QUERIES, 0.9, of=of)
        np.testing.assert_allclose(low, expected[f"{name}_lower"], rtol=1e-9)
        np.testing.assert_allclose(high, expected[f"{name}_upper"], rtol=1e-9)


def test_robust_intervals_leave_out_a_column_that_depends_on_others() -> None:
    twice = np.column_stack([X, X[:, 0]])
    with pytest.warns(suffice.discriminative.CollinearityWarning, match="x3 = a combination of x0"):
        model = LinearRegression(covariance="HC3").fit(twice, Z)
    low, high = model.predict_interval(np.column_stack([QUERIES, QUERIES[:, 0]]), 0.9)
    expected = LinearRegression(covariance="HC3").fit(X, Z).predict_interval(QUERIES, 0.9)
    np.testing.assert_allclose(np.stack([low, high]), np.stack(expected), rtol=1e-7)
    assert np.isnan(model.summary().inference.standard_errors).tolist() == [False, True, False, False, True]


def more_rows(model: Any) -> Any:
    return model.partial_fit(X[:5], Z[:5])


def merged(model: Any) -> Any:
    return model + LinearRegression().fit(X[:9], Z[:9])


def fewer_rows(model: Any) -> Any:
    return model.forget(X[:5], Z[:5])


@pytest.mark.parametrize("change", [more_rows, merged, fewer_rows])
def test_a_robust_covariance_is_refused_once_the_rows_are_others(change: Any) -> None:
    model = change(LinearRegression(covariance="HC3").fit(X, Z))
    np.testing.assert_allclose(model.predict(X), change(LinearRegression().fit(X, Z)).predict(X))
    for ask in (model.summary, lambda: model.predict_interval(X)):
        with pytest.raises(ValueError, match=r"covariance='HC3' needs all rows at once.*with_params"):
            ask()
    plain = model.with_params(covariance="classical")
    assert str(plain.summary()) == str(change(LinearRegression().fit(X, Z)).summary())


def test_batches_alone_have_no_robust_covariance() -> None:
    with pytest.raises(ValueError, match="covariance='HC3' needs all rows at once"):
        LinearRegression(covariance="HC3").partial_fit(X, Z).summary()


def test_other_parameters_are_read_with_their_own_errors() -> None:
    model = Ridge(0.0, covariance="HC3").fit(X, Z)
    expected = Ridge(50.0).fit(X, Z)
    assert str(model.with_params(alpha=50.0, covariance="classical").summary()) == str(expected.summary())
    for params in ({"alpha": 50.0}, {"covariance": "HC0"}, {"fit_intercept": False}):
        with pytest.raises(ValueError, match="needs the rows, and the model keeps only their sums"):
            model.with_params(**params)
    with pytest.raises(ValueError, match="needs the rows, and the model keeps only their sums"):
        expected.with_params(solver="newton")
    assert str(Ridge(0.0, solver="newton").fit(X, Z).with_params(solver="auto", alpha=50.0).summary()) == str(
        expected.summary()
    )


def test_the_lasso_has_no_standard_errors_under_any_name() -> None:
    for model in (Lasso(0.05), LinearRegression(positive=True, covariance="HC3"), Ridge(positive=True)):
        assert model.fit(X, Z).summary().inference.covariance is None

"""Residual variances where the features explain nearly all of y: exact from rows, refused from sums without digits."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

import suffice
from suffice import LinearRegression
from suffice.data import SqlDataset
from suffice.discriminative.base import PrecisionWarning

X = np.random.default_rng(0).normal(size=(100, 2))
NOISE = np.random.default_rng(1).normal(size=100)


def targets(noise: float) -> np.ndarray:
    return np.asarray(1 + X @ [3.0, -2.0] + noise * NOISE)


@pytest.mark.parametrize("noise", [1e-6, 1e-8, 1e-9])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", ["normal", "newton"])
def test_rows_tell_small_residuals(noise: float, intercept: bool, solver: str) -> None:
    x = X if intercept else np.column_stack([X, np.ones(100)])
    y = targets(noise)
    theirs = sm.OLS(y, sm.add_constant(X, prepend=intercept)).fit()
    model = LinearRegression(solver, fit_intercept=intercept).fit(x, y)
    mine = model.summary().inference
    np.testing.assert_allclose(mine.standard_errors, theirs.bse, rtol=1e-5)
    np.testing.assert_allclose(mine.deviance, theirs.ssr, rtol=1e-5)
    aic = theirs.aic + 2  # it does not count the variance
    np.testing.assert_allclose([mine.log_likelihood, mine.aic], [theirs.llf, aic], rtol=1e-6)
    low, high = model.predict_interval(x[:3], of="observation")
    table = theirs.get_prediction(theirs.model.exog[:3]).summary_frame(alpha=0.05)
    np.testing.assert_allclose(high - low, table["obs_ci_upper"] - table["obs_ci_lower"], rtol=1e-5)


def test_robust_errors_of_small_residuals() -> None:
    y = targets(1e-8)
    theirs = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC3", use_t=True)
    mine = LinearRegression(covariance="HC3").fit(X, y).summary().inference
    np.testing.assert_allclose(mine.standard_errors, theirs.bse, rtol=1e-5)


def test_several_targets_and_weights(tmp_path: Path) -> None:
    y = np.column_stack([targets(1e-8), targets(0.5)])
    weight = 1.0 + np.arange(100) % 3
    model = LinearRegression().fit(X, y, weight)
    errors = model.summary().inference.standard_errors.reshape(2, 3)
    rows = np.repeat(np.arange(100), weight.astype(int))
    for each, target in zip(errors, y.T, strict=True):
        theirs = sm.OLS(target[rows], sm.add_constant(X[rows])).fit()
        np.testing.assert_allclose(each, theirs.bse, rtol=1e-5)
    model.save(tmp_path / "model")
    kept = suffice.load(tmp_path / "model").summary().inference
    np.testing.assert_array_equal(kept.standard_errors, errors.ravel())


def in_batches(y: np.ndarray) -> LinearRegression:
    return LinearRegression().partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])


def merged(y: np.ndarray) -> LinearRegression:
    return LinearRegression().fit(X[:50], y[:50]) + LinearRegression().fit(X[50:], y[50:])


def without_some(y: np.ndarray) -> LinearRegression:
    more = np.concatenate([y, [5.0]])
    return LinearRegression().fit(np.concatenate([X, [[1.0, 1.0]]]), more).forget([[1.0, 1.0]], [5.0])


def in_a_database(y: np.ndarray) -> Any:
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})
    connection = duckdb.connect()
    connection.register("rows", table)
    connection.execute("create table data as select * from rows")
    return LinearRegression().partial_fit(SqlDataset(connection, "data", ["a", "b"], "y"))


@pytest.mark.parametrize("learn", [in_batches, merged, without_some, in_a_database])
def test_sums_that_have_no_digit_left_give_no_errors(learn: Any) -> None:
    model = learn(targets(1e-9))
    np.testing.assert_allclose(model.coef_, [3.0, -2.0], rtol=1e-8)
    with pytest.warns(PrecisionWarning, match="the sums give no correct digit of the residual variance"):
        mine = model.summary().inference
    assert np.isnan(mine.standard_errors).all()
    assert np.isnan([mine.dispersion, mine.log_likelihood, mine.deviance]).all()
    assert "no correct digit of the residual variance: there are no standard errors" in str(mine.summary())
    with pytest.raises(ValueError, match="there is no interval: the features explain nearly all of y"):
        model.predict_interval(model_rows(model))


def model_rows(model: Any) -> Any:
    return pd.DataFrame(X[:2], columns=["a", "b"]) if hasattr(model, "feature_names_in_") else X[:2]


def test_sums_with_few_digits_left_say_how_many() -> None:
    model = in_batches(targets(1e-6))
    mine = model.summary().inference
    assert "the sums give about 1." in str(mine.summary())
    np.testing.assert_allclose(mine.standard_errors, sm.OLS(targets(1e-6), sm.add_constant(X)).fit().bse, rtol=0.1)
    plain = in_batches(targets(0.1)).summary()
    assert "digits" not in str(plain)


def test_rows_without_residuals_have_errors_of_zero() -> None:
    x = np.arange(8.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mine = LinearRegression().fit(x, 2 * x[:, 0]).summary().inference
    np.testing.assert_allclose(mine.standard_errors, 0, atol=1e-14)

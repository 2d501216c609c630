"""Models of rows without columns: an intercept alone, as R's ``y ~ 1``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import suffice
from suffice import GLM, LinearRegression, LogisticRegression, NBLogisticRegression, SoftmaxRegression
from tests.references import r_data, r_results

CLASSES = np.array([0, 1, 1, 0, 2, 1])
MODELS = [
    (LinearRegression(), CLASSES + 0.5),
    (LogisticRegression(), CLASSES > 0),
    (LogisticRegression(bias_reduction=True), CLASSES > 0),
    (SoftmaxRegression(), CLASSES),
    (GLM("poisson"), CLASSES),
    (GLM("gamma", "log", covariance="HC3"), CLASSES + 0.5),
]
EVERY = pytest.mark.parametrize(("model", "y"), MODELS, ids=lambda each: type(each).__name__)


def test_the_mean_of_least_squares_is_that_of_r() -> None:
    expected, y = r_results("linear")["mean_only"], r_data("linear")["y"]
    model = LinearRegression().fit(np.empty((len(y), 0)), y)
    found = model.summary().inference
    np.testing.assert_allclose([model.intercept_], expected["coefficients"], rtol=1e-12)
    np.testing.assert_allclose(found.standard_errors, expected["se"], rtol=1e-12)
    np.testing.assert_allclose(found.interval(0.95)[:, 0], expected["confint"]["lower"], rtol=1e-10)
    assert found.log_likelihood == pytest.approx(expected["loglik"], rel=1e-12)
    assert model.coef_.shape == (0,)


@pytest.mark.parametrize(("group", "link"), [("binomial", "logit"), ("poisson", "log"), ("inverse_gaussian", "log")])
def test_the_level_of_a_glm_is_that_of_r(group: str, link: str) -> None:
    results = r_results("glm")[group]
    expected, y = results["mean_only"], r_data(results["data"])["y"]
    model = GLM(group, link, tol=1e-12).fit(np.empty((len(y), 0)), y)
    np.testing.assert_allclose([model.intercept_], expected["coefficients"], rtol=1e-8)
    np.testing.assert_allclose(model.summary().inference.standard_errors, expected["se"], rtol=1e-8)
    np.testing.assert_allclose(model.predict(np.empty((2, 0))), expected["fitted"][:2], rtol=1e-8)
    assert model.facts_.deviance == pytest.approx(expected["deviance"], rel=1e-10)


@EVERY
def test_rows_without_columns_come_in_every_form(model: Any, y: Any, tmp_path: Path) -> None:
    X = np.empty((6, 0))
    intercept, predicted = np.array(model.fit(X, y).intercept_), model.predict(X)
    model.save(tmp_path / "level.model")
    np.testing.assert_array_equal(suffice.load(tmp_path / "level.model").predict(X), predicted)
    assert model.score(X, y) >= 0
    forms = [
        (pd.DataFrame(index=range(6)), y),
        (sparse.csr_array(X), y),
        (da.from_array(X, chunks=(3, 0)), da.from_array(y, chunks=3)),
        (lambda: iter([(X[:3], y[:3]), (X[3:], y[3:])]), None),
    ]
    for rows, targets in forms:
        np.testing.assert_allclose(model.fit(rows, targets).intercept_, intercept, rtol=1e-9)


def test_without_an_intercept_there_must_be_columns() -> None:
    with pytest.raises(ValueError, match=r"0 feature\(s\) .*minimum of 1 is required by LinearRegression"):
        LinearRegression(fit_intercept=False).fit(np.empty((3, 0)), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"0 feature\(s\) .*minimum of 1 is required by NBLogisticRegression"):
        NBLogisticRegression().fit(np.empty((2, 0)), [0, 1])
    with pytest.raises(ValueError, match="X has 1 features, but LinearRegression is expecting 0"):
        LinearRegression().fit(np.empty((3, 0)), [1.0, 2.0, 3.0]).predict([[1.0]])


@EVERY
def test_there_must_be_rows(model: Any, y: Any) -> None:
    with pytest.raises(ValueError, match=r"X has no rows \(samples\): there is nothing to learn from"):
        model.fit(np.empty((0, 3)), y[:0])

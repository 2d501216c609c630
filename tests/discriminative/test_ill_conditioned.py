"""Least squares of columns that nearly depend on each other: NIST's reference regressions, and what rows cost."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import suffice
from suffice import LinearRegression, Ridge, formula
from suffice.discriminative import least_squares
from suffice.discriminative.base import CollinearityWarning
from tests.references.nist import STRD, Certified

EXTENDED = np.finfo(np.longdouble).eps < 1e-18
#: Decimal digits of the coefficients, by the machine's best floating point; those of powers of x are lost in X itself.
DIGITS = (
    {"Filip": 7.0, "Wampler4": 11.0, "Wampler5": 9.0} if EXTENDED else {"Filip": 7.0, "Wampler4": 7.0, "Wampler5": 5.0}
)
CASES = pytest.mark.parametrize("case", STRD, ids=lambda case: case.name)
BY_NAME = {case.name: case for case in STRD}


def digits(found: Any, certified: Any) -> float:
    """Return the number of correct decimal digits, of the worst of several numbers; of 0, those behind the point."""
    off = np.abs(np.asarray(found) - np.asarray(certified))
    size = np.where(np.asarray(certified) == 0, 1.0, np.abs(certified))
    return float(-np.log10(np.maximum(off / size, 1e-16)).max())


def fitted(case: Certified) -> LinearRegression:
    return LinearRegression(fit_intercept=case.intercept).fit(*case.design())


@CASES
def test_coefficients_are_those_certified(case: Certified) -> None:
    model = fitted(case)
    assert digits(model.theta_[:, 0], case.coefficients) >= DIGITS.get(case.name, 9.0)
    assert model.rank_ == len(case.coefficients) - case.intercept
    assert model.dependent_columns_ == []


@CASES
def test_deviations_are_those_certified(case: Certified) -> None:
    fit = fitted(case).summary().inference
    assert digits(np.sqrt(fit.dispersion), case.residual_sd) >= 8.0
    assert digits(fit.standard_errors, case.deviations) >= (7.0 if case.name == "Filip" else 8.0)


@pytest.mark.parametrize("name", ["Filip", "Wampler5"])
def test_rows_in_every_form_have_the_same_answers(name: str, tmp_path: Path) -> None:
    case = BY_NAME[name]
    X, y = case.design()
    enough = DIGITS[name] - 1
    here = fitted(case)
    here.save(tmp_path / "line.model")
    loaded = suffice.load(tmp_path / "line.model")
    forms = [
        LinearRegression().fit(lambda: ((X[i : i + 7], y[i : i + 7]) for i in range(0, len(X), 7))),
        LinearRegression().fit(da.from_array(X, chunks=(10, -1)), da.from_array(y, chunks=10)),
        LinearRegression().fit(sparse.csr_array(X), y),
        LinearRegression().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2), np.full(2 * len(y), 0.5)),
        loaded,
    ]
    for model in forms:
        assert digits(model.theta_[:, 0], case.coefficients) >= enough
        np.testing.assert_allclose(
            model.summary().inference.standard_errors, here.summary().inference.standard_errors, rtol=1e-5
        )
    assert str(loaded.summary()) == str(here.summary())


def test_several_targets_are_solved_at_once() -> None:
    X, y = BY_NAME["Wampler3"].design()
    both = LinearRegression().fit(X, np.column_stack([y, 2 * y - X[:, 0]]))
    np.testing.assert_allclose(both.coef_[0], np.ones(5), rtol=1e-9)
    np.testing.assert_allclose(both.coef_[1], [1.0, 2, 2, 2, 2], rtol=1e-9)


def test_well_conditioned_columns_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the rows were read again")

    for name in ("solve_by_rows", "are_dependent"):
        monkeypatch.setattr(least_squares, name, refuse)
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 5)) + 100
    X[:, 4] += 3 * X[:, 3]
    LinearRegression().fit(X, X @ np.arange(5.0) + random.normal(size=200))


def test_columns_that_depend_on_others_are_not_decomposed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("the rows were decomposed")

    monkeypatch.setattr(least_squares, "solve_by_rows", refuse)
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 2))
    with pytest.warns(CollinearityWarning, match="x2 = a combination of x0, x1"):
        LinearRegression().fit(np.c_[X, X[:, 0] / 3 - X[:, 1]], X[:, 0] + random.normal(size=50))


def test_columns_that_differ_a_little_are_told_apart() -> None:
    random = np.random.default_rng(1)
    x, e = random.normal(size=(2, 300))
    X = np.column_stack([x, x + 1e-9 * e])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearRegression().fit(X, 2 * x + e)  # = (2 - 1e9) x0 + 1e9 x1
    np.testing.assert_allclose(model.coef_, [2 - 1e9, 1e9], rtol=1e-6)
    assert model.summary().inference.rank == 3


def test_sums_alone_tell_how_many_digits_they_know() -> None:
    random = np.random.default_rng(1)
    x, e = random.normal(size=(2, 300))
    X, y = np.column_stack([x, x + 1e-6 * e]), x + random.normal(size=300)
    whole = LinearRegression().fit(X, y)
    merged = LinearRegression().fit(X[:150], y[:150]) + LinearRegression().fit(X[150:], y[150:])
    assert "nearly collinear" not in str(whole.summary())
    assert "the sums give about 3 correct decimal digits of the coefficients" in str(merged.summary())
    np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-2)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_small_ridge_of_nearly_collinear_columns_keeps_digits(intercept: bool) -> None:
    random = np.random.default_rng(4)
    x = random.normal(size=(60, 4)) + 3.0
    x[:, 3] = x[:, 0] + 1e-5 * random.normal(size=60)
    y = x @ [1.0, 2.0, 3.0, 4.0] + random.normal(size=60)
    alpha = 1e-9
    model = Ridge(alpha, fit_intercept=intercept).fit(x, y)
    centre, level = (x.mean(axis=0), y.mean()) if intercept else (np.zeros(4), 0.0)
    rows = np.vstack([x - centre, np.sqrt(alpha) * np.eye(4)])
    expected = np.linalg.lstsq(rows, np.append(y - level, np.zeros(4)), rcond=None)[0]
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-6)
    batches = Ridge(alpha, fit_intercept=intercept).partial_fit(x, y)
    assert "nearly collinear: the sums give about" in str(batches.summary())
    assert "nearly collinear" not in str(model.summary())


def nearly_equal(rows: int = 120) -> Any:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"a": rng.normal(size=rows) + 2, "b": rng.normal(size=rows)})
    table["c"] = table["a"] + 1e-9 * rng.normal(size=rows)
    table["noise"] = (table["c"] - table["a"]) * 1e9  # as rounding left it
    mean = 0.2 + 0.1 * table["a"] + 0.2 * table["noise"]
    table["n"] = rng.poisson(np.exp(mean)) + 1.0
    return table.assign(y=mean + rng.normal(size=rows), two=(table["n"] > 2) * 1)


@pytest.mark.parametrize("covariance", ["classical", "HC3"])
@pytest.mark.parametrize(
    ("target", "settings"),
    [
        ("y", {}),
        ("n", {"family": "poisson"}),
        ("n", {"family": "gamma", "link": "log"}),
        ("two", {"family": "binomial"}),
    ],
    ids=["gaussian", "poisson", "gamma", "binomial"],
)
def test_a_column_beside_itself_with_noise_keeps_its_digits(
    target: str, settings: dict[str, Any], covariance: str, tmp_path: Path
) -> None:
    """The same model has the noise as a column: theta and its covariance are linear maps of each other."""
    table = nearly_equal()
    model = formula.fit(f"{target} ~ a + c + b", table, covariance=covariance, **settings)
    other = formula.fit(f"{target} ~ a + noise + b", table, covariance=covariance, **settings)
    back = np.array([[1, 0, 0, 0], [0, 1, -1e9, 0], [0, 0, 1e9, 0], [0, 0, 0, 1]])
    assert model.dropped_columns_ == {}
    expected = np.sqrt(np.diag(back @ other.covariance_.matrix @ back.T))
    model.save(tmp_path / "model")
    for found in (model, suffice.load(tmp_path / "model")):
        np.testing.assert_allclose(
            list(found.coefficients.values()), back @ list(other.coefficients.values()), rtol=1e-5
        )
        np.testing.assert_allclose(found.summary().inference.standard_errors, expected, rtol=1e-6)
        np.testing.assert_allclose(found.predict_se(table), other.predict_se(table), rtol=1e-5)
        answers = [each.predict_proba(table) if each.has_classes else each.predict(table) for each in (found, other)]
        np.testing.assert_allclose(*answers, rtol=1e-6, atol=1e-6)
    found = model.diagnostics(table)
    np.testing.assert_allclose(found.leverage, other.diagnostics(table).leverage, rtol=1e-5)
    assert np.isnan(found.vif["vif"]).all()
    assert found.vif.notes == ("the columns are nearly collinear: variance inflation has no correct digit",)


def test_streams_and_classes_of_a_column_beside_itself_with_noise() -> None:
    table = nearly_equal()
    x, z, y = (table[names].to_numpy() for names in (["a", "c", "b"], ["a", "noise", "b"], "n"))
    parts = suffice.PoissonRegressor().fit(lambda: ((x[i : i + 50], y[i : i + 50]) for i in range(0, 120, 50)))
    np.testing.assert_allclose(parts.predict(x), suffice.PoissonRegressor().fit(z, y).predict(z), rtol=1e-6)
    classes = y.clip(1, 3)
    three, other = (suffice.SoftmaxRegression().fit(each, classes) for each in (x, z))
    errors = three.predict_se(x, scale="mean"), other.predict_se(z, scale="mean")
    np.testing.assert_allclose(*errors, rtol=1e-5)
    with pytest.warns(CollinearityWarning, match="x2 = a combination of x0"):  # below rounding: the linear model's rule
        suffice.PoissonRegressor().fit(x[:, [0, 2, 0]], y)

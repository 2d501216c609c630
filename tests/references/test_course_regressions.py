"""The course's regressions: its data, the numbers of other implementations, and what the notes say about both kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import glum
import numpy as np
import pytest
import statsmodels.api as sm

from suffice import GDA, GLM, LinearRegression, LogisticRegression, Perceptron, PoissonRegressor
from suffice.discriminative.separation import SeparationWarning

from .data import unpacked
from .test_course import table


@pytest.fixture(scope="module")
def course() -> Path:
    return unpacked("cs229")


def agrees(model: Any, theirs: Any) -> None:
    mine = model.summary().inference
    np.testing.assert_allclose(mine.estimate, theirs.params, rtol=1e-6)
    np.testing.assert_allclose(mine.standard_errors, theirs.bse, rtol=1e-6)


@pytest.mark.parametrize("name", ["ds1", "ds2"])
def test_logistic_regression(course: Path, name: str) -> None:
    x, y = table(course / "2018-ps1" / f"{name}_train.csv")
    model = LogisticRegression().fit(x, y)
    agrees(model, sm.Logit(y, sm.add_constant(x)).fit(disp=0, method="newton", tol=1e-14, maxiter=200))
    theirs = glum.GeneralizedLinearRegressor(family="binomial", alpha=0, gradient_tol=1e-12, max_iter=1000).fit(
        np.ascontiguousarray(x), y
    )
    np.testing.assert_allclose(model.coef_[0], theirs.coef_, rtol=1e-6)


def test_poisson_regression_of_visitors(course: Path) -> None:
    x, y = table(course / "2018-ps1" / "ds4_train.csv")
    model = PoissonRegressor().fit(x[:, 1:], y)  # the first column is constant
    agrees(model, sm.GLM(y, sm.add_constant(x[:, 1:]), family=sm.families.Poisson()).fit(tol=1e-14))
    theirs = glum.GeneralizedLinearRegressor(family="poisson", alpha=0, gradient_tol=1e-8).fit(
        np.ascontiguousarray(x[:, 1:]), y
    )
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-6)


@pytest.mark.parametrize("name", ["ex1data1", "ex1data2"])
def test_house_prices(course: Path, name: str) -> None:
    data = np.loadtxt(course / "coursera" / f"{name}.txt", delimiter=",")
    x, y = data[:, :-1], data[:, -1]
    theirs = sm.OLS(y, sm.add_constant(x)).fit()
    agrees(LinearRegression().fit(x, y), theirs)
    agrees(GLM().fit(x, y), theirs)
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    for solver in ("newton", "batch"):
        model = LinearRegression(solver, max_iter=20_000).fit(scaled, y)
        np.testing.assert_allclose(model.predict(scaled), theirs.fittedvalues, rtol=1e-6)


def test_exam_scores(course: Path) -> None:
    data = np.loadtxt(course / "coursera" / "ex2data1.txt", delimiter=",")
    model = LogisticRegression().fit(data[:, :2], data[:, 2])
    agrees(model, sm.Logit(data[:, 2], sm.add_constant(data[:, :2])).fit(disp=0, method="newton", tol=1e-10))
    np.testing.assert_allclose(model.predict_proba([[45.0, 85.0]])[0, 1], 0.776, atol=1e-3)  # as the course says


def test_the_separable_set_is_diagnosed(course: Path) -> None:
    sets = {}
    for name in ("a", "b"):
        columns = np.loadtxt(course / "2018-ps2" / f"ds1_{name}.csv", delimiter=",", skiprows=1)
        sets[name] = columns[:, 1:], columns[:, 0]
    model = LogisticRegression().fit(*sets["a"])
    assert model.solution_.converged
    assert model.separation_ is None
    with pytest.warns(SeparationWarning, match=r"x0, x1 together separate the classes completely: all 100 rows"):
        model = LogisticRegression().fit(*sets["b"])
    assert not model.solution_.converged
    assert "separated" in model.solution_.reason
    for cured in (LogisticRegression(C=10.0), LogisticRegression(bias_reduction=True)):
        assert cured.fit(*sets["b"]).solution_.converged
        assert np.abs(cured.coef_).max() < 1e3
    assert Perceptron(tol=None, max_iter=100_000).fit(*sets["b"]).separated_


def test_both_kinds_agree_in_the_limit_on_gaussian_classes() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 400_000)
    x = random.multivariate_normal([0, 0], [[1.0, 0.3], [0.3, 2.0]], len(y)) + np.outer(y, [1.0, -0.5])
    generative, discriminative = GDA().fit(x, y), LogisticRegression().fit(x, y)
    slopes = generative.coef_[0] if len(generative.coef_) == 1 else generative.coef_[1] - generative.coef_[0]
    np.testing.assert_allclose(discriminative.coef_[0], slopes, atol=0.02)
    errors = discriminative.summary().inference.standard_errors[1:]
    assert (np.abs(discriminative.coef_[0] - slopes) < 4 * errors).all()


def test_logistic_regression_wins_on_poisson_classes() -> None:
    """Their posterior is logistic, too, but the classes are not Gaussian, as the discriminant assumes."""
    random = np.random.default_rng(0)
    rates = np.array([[0.5, 6.0], [3.0, 5.0]])
    y, test = random.integers(0, 2, 20_000), random.integers(0, 2, 100_000)
    x, unseen = (random.poisson(rates[codes]).astype(float) for codes in (y, test))
    truth = np.log(rates[1] / rates[0])
    generative, discriminative = GDA().fit(x, y), LogisticRegression().fit(x, y)
    np.testing.assert_allclose(discriminative.coef_[0], truth, atol=0.1)
    losses = [
        -model.predict_log_proba(unseen)[np.arange(len(test)), test].mean() for model in (discriminative, generative)
    ]
    assert losses[0] < losses[1] - 0.005
    assert discriminative.score(unseen, test) > generative.score(unseen, test)

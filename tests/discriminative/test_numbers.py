"""Coefficients, standard errors and likelihoods beside statsmodels and glum, on their data and scikit-learn's."""

from __future__ import annotations

from typing import Any

import glum
import numpy as np
import pytest
import statsmodels.api as sm
from sklearn import linear_model as scikit
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from suffice import (
    GLM,
    ElasticNet,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    SoftmaxRegression,
    TweedieRegressor,
)

from .cases import CASES, Case, rows

FAMILIES = {
    ("gaussian", "identity"): sm.families.Gaussian(),
    ("gaussian", "log"): sm.families.Gaussian(sm.families.links.Log()),
    ("bernoulli", "logit"): sm.families.Binomial(),
    ("bernoulli", "probit"): sm.families.Binomial(sm.families.links.Probit()),
    ("bernoulli", "cloglog"): sm.families.Binomial(sm.families.links.CLogLog()),
    ("poisson", "log"): sm.families.Poisson(),
    ("gamma", "log"): sm.families.Gamma(sm.families.links.Log()),
    ("gamma", "inverse"): sm.families.Gamma(),
}


def agrees(model: Any, theirs: Any, tolerance: float = 1e-6, likelihood: bool = True) -> None:
    """Compare a model with one parameter vector to a result of statsmodels."""
    mine = model.summary().inference
    np.testing.assert_allclose(
        mine.estimate, theirs.params, rtol=tolerance, atol=tolerance * np.abs(theirs.params).max()
    )
    np.testing.assert_allclose(mine.standard_errors, theirs.bse, rtol=tolerance)
    if likelihood:
        full = theirs.llf
        if mine.estimates_dispersion and isinstance(theirs.model, sm.GLM):  # at the dispersion that R takes it at
            full = theirs.model.family.loglike(theirs.model.endog, theirs.mu, scale=theirs.deviance / theirs.nobs)
        np.testing.assert_allclose(mine.log_likelihood, full, rtol=1e-8)
        parameters = len(theirs.params) + mine.estimates_dispersion  # which statsmodels does not count
        np.testing.assert_allclose(mine.aic, 2 * parameters - 2 * full, rtol=1e-8)


def targets(family: str, x: np.ndarray) -> np.ndarray:
    random = np.random.default_rng(1)
    z = 0.3 * x @ np.arange(1, x.shape[1] + 1) / x.shape[1] + 0.5
    return {
        "gaussian": lambda: np.exp(z) + 0.1 * random.normal(size=len(z)),
        "bernoulli": lambda: (random.random(len(z)) < 1 / (1 + np.exp(-2 * z))).astype(float),
        "poisson": lambda: random.poisson(np.exp(z)).astype(float),
        "gamma": lambda: random.gamma(5.0, np.exp(z) / 5),
    }[family]()


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")
@pytest.mark.parametrize(("family", "link"), FAMILIES)
def test_every_family_and_link(family: str, link: str) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, size=(400, 4))
    y = targets(family, x)
    theirs = sm.GLM(y, sm.add_constant(x), family=FAMILIES[family, link]).fit(tol=1e-14, maxiter=200)
    model = GLM(family, link).fit(x, y)
    agrees(model, theirs, likelihood=(family, link) != ("gaussian", "log"))  # at another variance than the likeliest
    mine = model.summary().inference
    np.testing.assert_allclose(mine.deviance, theirs.deviance, rtol=1e-8)
    np.testing.assert_allclose(mine.null_deviance, theirs.null_deviance, rtol=1e-8)
    np.testing.assert_allclose(mine.dispersion, theirs.scale, rtol=1e-6)
    np.testing.assert_allclose(model.predict(x), theirs.predict(), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")
@pytest.mark.parametrize(("family", "link"), FAMILIES)
def test_robust_standard_errors(family: str, link: str) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
    y = targets(family, x)
    theirs = sm.GLM(y, sm.add_constant(x), family=FAMILIES[family, link]).fit(cov_type="HC0", tol=1e-14, maxiter=200)
    mine = GLM(family, link, covariance="HC0").fit(x, y).summary().inference
    # Under other links than the canonical ones statsmodels takes the observed Hessian, we the expected one.
    canonical = link in ("identity", "logit") or (family, link) in (("poisson", "log"), ("gamma", "inverse"))
    np.testing.assert_allclose(mine.standard_errors, theirs.bse, rtol=1e-6 if canonical else 0.1)
    corrected = GLM(family, link, covariance="HC1").fit(x, y).summary().inference
    np.testing.assert_allclose(corrected.standard_errors, mine.standard_errors * np.sqrt(200 / 196), rtol=1e-9)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3"])
def test_robust_least_squares(kind: str) -> None:
    x, y = load_diabetes(return_X_y=True)
    theirs = sm.OLS(y, sm.add_constant(x)).fit(cov_type=kind, use_t=True)
    mine = LinearRegression(covariance=kind).fit(x, y).summary().inference
    np.testing.assert_allclose(mine.standard_errors, theirs.bse, rtol=1e-9)
    np.testing.assert_allclose(mine.p_values, theirs.pvalues, rtol=1e-6, atol=1e-12)


def test_least_squares_with_its_intervals() -> None:
    x, y = load_diabetes(return_X_y=True)
    theirs = sm.OLS(y, sm.add_constant(x)).fit()
    model = LinearRegression().fit(x, y)
    agrees(model, theirs, 1e-9)
    mine = model.summary(0.9).inference
    np.testing.assert_allclose(mine.interval(0.9), theirs.conf_int(0.1), rtol=1e-9)
    np.testing.assert_allclose(mine.explained, theirs.rsquared, rtol=1e-9)
    table = theirs.get_prediction(sm.add_constant(x)).summary_frame(alpha=0.05)
    low, high = model.predict_interval(x, of="observation")
    np.testing.assert_allclose(model.predict(x), table["mean"], rtol=1e-9)
    np.testing.assert_allclose(model.predict_se(x), table["mean_se"], rtol=1e-9)
    np.testing.assert_allclose(np.c_[low, high], table[["obs_ci_lower", "obs_ci_upper"]], rtol=1e-9)
    low, high = model.predict_interval(x)
    np.testing.assert_allclose(np.c_[low, high], table[["mean_ci_lower", "mean_ci_upper"]], rtol=1e-9)


def test_the_longley_data_are_nearly_collinear() -> None:
    data = sm.datasets.longley.load_pandas()
    x, y = data.exog.to_numpy(), data.endog.to_numpy()
    agrees(LinearRegression().fit(x, y), sm.OLS(y, sm.add_constant(x)).fit())


def test_breast_cancer_with_a_penalty() -> None:
    x, y = load_breast_cancer(return_X_y=True)
    x = StandardScaler().fit_transform(x)
    theirs = glum.GeneralizedLinearRegressor(
        family="binomial", l1_ratio=0, alpha=1 / len(y), gradient_tol=1e-12, max_iter=1000
    ).fit(x, y)
    model = LogisticRegression(C=1.0).fit(x, y)
    np.testing.assert_allclose(model.coef_[0], theirs.coef_, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.intercept_[0], theirs.intercept_, rtol=1e-6)


@pytest.mark.parametrize("columns", [slice(0, 5), slice(10, 14)])
def test_breast_cancer_without_a_penalty(columns: slice) -> None:
    x, y = load_breast_cancer(return_X_y=True)
    x = StandardScaler().fit_transform(x)[:, columns]
    agrees(
        LogisticRegression().fit(x, y),
        sm.Logit(y, sm.add_constant(x)).fit(disp=0, method="newton", maxiter=200, tol=1e-12),
    )


def test_wine_has_three_classes() -> None:
    x, y = load_wine(return_X_y=True)
    x = StandardScaler().fit_transform(x)[:, [0, 1]]
    theirs = sm.MNLogit(2 - y, sm.add_constant(x)).fit(disp=0, method="newton", tol=1e-14)  # it pins the first class
    model = SoftmaxRegression().fit(x, y)
    np.testing.assert_allclose(model.theta_, theirs.params[:, ::-1], rtol=1e-6)
    np.testing.assert_allclose(model.summary().inference.log_likelihood, theirs.llf, rtol=1e-9)
    errors = model.summary().inference.standard_errors.reshape(2, 3).T
    np.testing.assert_allclose(errors, theirs.bse[:, ::-1], rtol=1e-6)
    alike = LogisticRegression().fit(x, y)
    np.testing.assert_allclose(alike.coef_.sum(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose(alike.predict_proba(x), model.predict_proba(x), rtol=1e-8)


@pytest.mark.parametrize("l2", [0.01, 1.0, 100.0])
def test_classes_are_treated_alike_under_a_penalty(l2: float) -> None:
    x, y = load_iris(return_X_y=True)
    theirs = scikit.LogisticRegression(C=1 / l2, tol=1e-12, max_iter=100_000, solver="newton-cg").fit(x, y)
    model = LogisticRegression(C=1 / l2).fit(x, y)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(x), theirs.predict_proba(x), atol=1e-6)


def test_poisson_counts_with_exposure_and_offset() -> None:
    data = sm.datasets.randhie.load_pandas()
    x, y = data.exog.to_numpy()[:3000, :4], data.endog.to_numpy()[:3000]
    time, shift = 0.5 + np.arange(len(y)) % 3, 0.1 * (np.arange(len(y)) % 2)
    theirs = sm.GLM(y, sm.add_constant(x), family=sm.families.Poisson(), exposure=time, offset=shift).fit(tol=1e-14)
    model = PoissonRegressor().fit(x, y, exposure=time, offset=shift)
    agrees(model, theirs)
    np.testing.assert_allclose(model.predict(x, exposure=time, offset=shift), theirs.fittedvalues, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.DomainWarning")
def test_gamma_of_the_scottish_vote() -> None:
    data = sm.datasets.scotland.load_pandas()
    x, y = data.exog.to_numpy()[:, :3], data.endog.to_numpy()
    agrees(GammaRegressor().fit(x, y), sm.GLM(y, sm.add_constant(x), family=FAMILIES["gamma", "log"]).fit(tol=1e-14))
    agrees(GLM("gamma", "inverse").fit(x, y), sm.GLM(y, sm.add_constant(x), family=sm.families.Gamma()).fit(tol=1e-14))


def test_binomial_trials_of_the_star_schools() -> None:
    data = sm.datasets.star98.load_pandas()
    passed, failed = data.endog.to_numpy().T
    x = data.exog.to_numpy()[:, :4]
    theirs = sm.GLM(data.endog.to_numpy(), sm.add_constant(x), family=sm.families.Binomial()).fit(tol=1e-14)
    model = GLM("binomial").fit(x, passed, trials=passed + failed)
    agrees(model, theirs)
    np.testing.assert_allclose(model.summary().inference.deviance, theirs.deviance, rtol=1e-8)


def test_beta_regression() -> None:
    from statsmodels.othermod.betareg import BetaModel

    x, y = rows(next(case for case in CASES if case.name == "beta"), 300)
    theirs = BetaModel(y, sm.add_constant(x)).fit(disp=0, method="newton", tol=1e-12)
    model = GLM("beta").fit(x, y)
    mine = model.summary().inference
    np.testing.assert_allclose(mine.estimate, theirs.params, rtol=1e-6)
    np.testing.assert_allclose(mine.log_likelihood, theirs.llf, rtol=1e-9)
    # Theirs are of the observed information, ours of the expected.
    np.testing.assert_allclose(mine.standard_errors, theirs.bse, rtol=0.05)


def test_weights_count_rows_as_often() -> None:
    for case in CASES:
        if case.name in ("gaussian/log", "gamma/inverse"):
            continue
        x, y = rows(case)
        times = np.arange(len(x)) % 3
        once = case.make().fit(x, y, sample_weight=times)
        often = case.make().fit(np.repeat(x, times, axis=0), np.repeat(y, times, axis=0))
        np.testing.assert_allclose(once.theta_, often.theta_, rtol=1e-6, atol=1e-9, err_msg=case.name)
        one, two = once.summary().inference, often.summary().inference
        np.testing.assert_allclose(one.standard_errors, two.standard_errors, rtol=1e-6, err_msg=case.name)
        np.testing.assert_allclose(one.log_likelihood, two.log_likelihood, rtol=1e-9, err_msg=case.name)


@pytest.mark.filterwarnings("ignore:Line search failed")  # glum's, at its optimum but for rounding
@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_elastic_nets_beside_glum(ratio: float) -> None:
    x, y = load_diabetes(return_X_y=True)
    x, y = StandardScaler().fit_transform(x), y / y.std()
    strength, shares = 0.05 * len(y), {"alpha": 0.05, "l1_ratio": ratio}
    for family, model, target in (
        ("normal", ElasticNet(**shares), y),
        ("normal", GLM(l1=strength * ratio, l2=strength * (1 - ratio)), y),
        ("poisson", PoissonRegressor(**shares), np.floor(y)),
        ("gamma", GammaRegressor(**shares), y),
        ("tweedie (1.5)", TweedieRegressor(power=1.5, **shares), y),
        ("binomial", LogisticRegression(C=1 / strength, l1_ratio=ratio), (y > np.median(y)).astype(float)),
    ):
        theirs = glum.GeneralizedLinearRegressor(
            family=family, link="log" if family.startswith(("gamma", "tweedie")) else "auto", alpha=0.05,
            l1_ratio=ratio, gradient_tol=1e-10, max_iter=10_000,
        ).fit(x, target)  # fmt: skip
        mine = model.fit(x, target)
        np.testing.assert_allclose(np.ravel(mine.coef_), theirs.coef_, atol=1e-6, err_msg=family)
        np.testing.assert_array_equal(np.ravel(mine.coef_) == 0, theirs.coef_ == 0, err_msg=family)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_offset_of_a_hundred_million_costs_no_digits(case: Case) -> None:
    x, y = rows(case)
    plain, moved = case.make().fit(x, y), case.make().fit(x + np.array([0.0, 1e8, 0.0]), y)
    first = int(plain.fit_intercept)
    np.testing.assert_allclose(moved.theta_[first:], plain.theta_[first:], rtol=2e-4, atol=1e-5)
    one, two = plain.summary().inference, moved.summary().inference
    np.testing.assert_allclose(two.log_likelihood, one.log_likelihood, rtol=1e-6)
    inner = ["intercept" not in name for name in one.names]
    np.testing.assert_allclose(two.standard_errors[inner], one.standard_errors[inner], rtol=1e-4)


def test_targets_of_a_hundred_million_cost_no_digits() -> None:
    x, y = rows(CASES[0])
    for make in (LinearRegression, GLM):
        plain, moved = make().fit(x, y).summary().inference, make().fit(x, y + 1e8).summary().inference
        np.testing.assert_allclose(moved.deviance, plain.deviance, rtol=1e-5)
        np.testing.assert_allclose(moved.null_deviance, plain.null_deviance, rtol=1e-5)
        np.testing.assert_allclose(moved.standard_errors, plain.standard_errors, rtol=1e-5)


def test_robust_errors_of_many_classes_need_one_to_be_pinned() -> None:
    x, y = rows(next(case for case in CASES if case.name == "softmax"))
    assert np.isfinite(LogisticRegression(covariance="HC3").fit(x, y).summary().inference.standard_errors).all()
    assert np.isfinite(SoftmaxRegression(covariance="HC3", C=1.0).fit(x, y).summary().inference.standard_errors).all()
    with pytest.raises(ValueError, match="covariance='HC3' of more than two classes with a penalty"):
        LogisticRegression(covariance="HC3", C=1.0).fit(x, y)

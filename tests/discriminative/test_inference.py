"""Standard errors, tests, intervals and criteria beside statsmodels'; and how they are printed."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse, special

from suffice import GLM, LinearRegression, LogisticRegression
from suffice.discriminative import summary
from suffice.discriminative.base import CollinearityWarning
from suffice.discriminative.inference import Inference
from suffice.solvers import BatchGradient

RNG = np.random.default_rng(7)
X = sm.add_constant(RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1])
NAMES = ("intercept", "dose", "age", "weight")


def line() -> tuple[Any, Inference]:
    y = X @ [1.0, 2.0, 0.0, 3.0] + RNG.normal(size=60)
    theirs = sm.OLS(y, X).fit()
    ours = Inference(
        "LinearRegression (gaussian/identity)",
        NAMES,
        theirs.params,
        theirs.cov_params(),
        distribution="t",
        df_residual=theirs.df_resid,
        rows=theirs.nobs,
        rank=4,
        log_likelihood=theirs.llf,
        null_log_likelihood=sm.OLS(y, X[:, :1]).fit().llf,
        deviance=theirs.ssr,
        null_deviance=theirs.centered_tss,
        dispersion=theirs.scale,
    )
    return theirs, ours


def logistic() -> tuple[Any, Inference]:
    y = (RNG.random(60) < 1 / (1 + np.exp(-X[:, 1]))).astype(float)
    theirs = sm.GLM(y, X, family=sm.families.Binomial()).fit()
    ours = Inference(
        "LogisticRegression (bernoulli/logit)",
        NAMES,
        theirs.params,
        theirs.cov_params(),
        distribution="z",
        df_residual=theirs.df_resid,
        rows=theirs.nobs,
        rank=4,
        log_likelihood=theirs.llf,
        null_log_likelihood=theirs.llnull,
        deviance=theirs.deviance,
        null_deviance=theirs.null_deviance,
        dispersion=1.0,
    )
    return theirs, ours


@pytest.mark.parametrize("fits", [line, logistic])
def test_numbers_are_those_of_statsmodels(fits: Any) -> None:
    theirs, ours = fits()
    np.testing.assert_allclose(ours.standard_errors, theirs.bse)
    np.testing.assert_allclose(ours.statistic, theirs.tvalues)
    np.testing.assert_allclose(ours.p_values, theirs.pvalues, rtol=1e-9)
    for level in (0.95, 0.5):
        np.testing.assert_allclose(ours.interval(level), theirs.conf_int(alpha=1 - level))
    assert ours.aic == pytest.approx(theirs.aic)
    assert ours.bic == pytest.approx(theirs.bic_llf if fits is logistic else theirs.bic)
    if fits is line:
        assert ours.explained == pytest.approx(theirs.rsquared)
    else:
        assert ours.pseudo_r2 == pytest.approx(theirs.pseudo_rsquared("mcf"))


def test_without_a_covariance_only_the_estimates_are_known() -> None:
    fit = dataclasses.replace(line()[1], covariance=None)
    assert np.isnan(fit.standard_errors).all()
    assert np.isnan(fit.p_values).all()
    assert np.isnan(fit.interval()).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"estimate": np.zeros(3)}, r"estimate must have shape \(4,\), one for each name; got \(3,\)"),
        ({"covariance": np.eye(3)}, r"covariance must have shape \(4, 4\); got \(3, 3\)"),
        ({"distribution": "chi2"}, "distribution must be 'z' or 't'; got 'chi2'"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(line()[1], **change)


@pytest.mark.parametrize("level", [0.0, 1.0, 95, "95", None])
def test_a_level_is_a_probability(level: Any) -> None:
    with pytest.raises(ValueError, match="level must be a probability between 0 and 1"):
        line()[1].summary(level)


def test_the_printed_table() -> None:
    covariance = np.diag([0.25, 1e-4, np.nan])
    fit = Inference(
        "PoissonRegressor (poisson/log)",
        ("intercept", "a <b>", "x3"),
        np.array([-1.5, 0.0625, 123456.0]),
        covariance,
        distribution="z",
        df_residual=97.0,
        rows=100.0,
        rank=2,
        log_likelihood=-50.0,
        null_log_likelihood=-62.5,
        deviance=100.0,
        null_deviance=np.nan,
        dispersion=1.0,
        covariance_kind="HC3",
        notes=("columns x3 = x1 + x2 are dependent",),
    )
    text = str(fit.summary(0.9))
    assert text == repr(fit.summary(0.9))
    lines = text.splitlines()
    assert lines[0] == "PoissonRegressor (poisson/log)"
    assert lines[-1] == "columns x3 = x1 + x2 are dependent"
    assert any(line.split() == ["covariance", "HC3"] for line in lines)
    assert any(line.startswith("null deviance") and line.split()[2] == "-" for line in lines)
    first, second, third = (next(line for line in lines if line.startswith(name)) for name in fit.names)
    assert first.split()[1:5] == ["-1.5000", "0.50000", "-3.000", "0.0027"]
    assert second.split()[5] == "<0.0001"
    assert third.split() == ["x3", "1.2346e+05", "-", "-", "-", "-", "-"]
    assert len({line.index(".") for line in (first, second, third)}) == 1  # the points stand under one another
    assert "90% interval" in text
    html = fit.summary()._repr_html_()
    assert '<th scope="row">a &lt;b&gt;</th><td class="number">0.062500</td>' in html
    assert "columns x3 = x1 + x2 are dependent" in html


def test_tables_and_values() -> None:
    theirs, ours = logistic()
    frame = ours.summary(0.9).frame()
    assert list(frame.columns) == ["coefficient", "std_error", "z", "p", "lower", "upper"]
    np.testing.assert_allclose(frame.loc["dose", ["lower", "upper"]], theirs.conf_int(0.1)[1])
    values = json.loads(json.dumps(ours.summary(0.9).to_dict()))
    assert values["level"] == 0.9
    assert values["rows"] == 60
    assert values["coefficients"][2]["name"] == "age"
    assert values["coefficients"][2]["p"] == pytest.approx(theirs.pvalues[2])


def test_a_frame_needs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas, or use to_dict\(\)"):
        line()[1].summary().frame()


def test_a_long_table_is_cut() -> None:
    many = summary.LONGEST + 7
    fit = dataclasses.replace(
        line()[1], names=tuple(f"x{place}" for place in range(many)), estimate=np.ones(many), covariance=np.eye(many)
    )
    text = str(fit.summary())
    assert "... and 7 more parameters: frame() and to_dict() have all" in text
    assert f"x{many - 1} " not in text
    assert len(fit.summary().frame()) == many


def sloped(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose mean is far from 0, and falls: without an intercept a line fits them worse than their mean."""
    random = np.random.default_rng(seed)
    x = random.uniform(1, 3, size=(30, 2))
    return x, 10 - x @ [1.0, 2.0] + random.normal(size=30)


@pytest.mark.parametrize("make", [LinearRegression, GLM])
def test_without_an_intercept_the_share_explained_is_not_centred(make: Any) -> None:
    x, y = sloped()
    model = make(fit_intercept=False).fit(x, y)
    theirs = sm.OLS(y, x).fit()
    fit = model.summary().inference
    assert fit.explained == pytest.approx(theirs.rsquared)
    assert fit.null_deviance == pytest.approx(theirs.uncentered_tss)
    assert "R², uncentred" in str(fit)
    assert model.score(x, y) == pytest.approx(1 - theirs.ssr / theirs.centered_tss)  # as scikit-learn has it: below 0
    assert model.score(x, y) < 0
    assert "uncentred" not in str(make().fit(x, y).summary())


@pytest.mark.parametrize(
    ("family", "link", "deviance"),
    [
        # R's glm(y ~ 0 + x + offset(z)) says these, as its null model has the link's mean of the offset.
        ("poisson", None, lambda y, z: 2 * (special.xlogy(y, y / np.exp(z)) - y + np.exp(z))),
        ("binomial", None, lambda y, z: 2 * np.log1p(np.exp(np.where(y > 0, -z, z)))),
        ("gamma", "log", lambda y, z: 2 * (y / np.exp(z) - 1 - np.log(y / np.exp(z)))),
        ("gaussian", None, lambda y, z: (y - z) ** 2),
    ],
)
def test_without_an_intercept_the_null_model_predicts_the_offset(family: str, link: Any, deviance: Any) -> None:
    random = np.random.default_rng(1)
    x, z = random.normal(size=(50, 2)), 0.3 * random.normal(size=50)
    y = {"binomial": random.integers(0, 2, 50), "poisson": random.poisson(2.0, 50)}.get(
        family, random.gamma(2.0, size=50)
    )
    fit = GLM(family, link, fit_intercept=False).fit(x, y, offset=z).summary().inference
    assert fit.null_deviance == pytest.approx(deviance(y, z).sum())
    assert 0 <= fit.explained < 1


def test_a_density_has_no_share_of_likelihood() -> None:
    x, y = sloped()
    for model in (LinearRegression(), GLM(), GLM("gamma", "log"), GLM("exponential", "log")):
        table = model.fit(x, y - y.min() + 0.1).summary()
        assert "McFadden" not in str(table)
        assert "McFadden" not in table._repr_html_()
        assert np.isnan(table.to_dict()["pseudo_r2"])
    assert "McFadden's R²" in str(GLM("poisson").fit(x, np.arange(30) % 4).summary())


@pytest.mark.parametrize(
    "model", [LinearRegression(), GLM(), GLM("gamma", "log"), GLM("poisson", covariance="HC1")], ids=str
)
def test_weights_that_leave_no_degrees_of_freedom_are_named(model: Any) -> None:
    x, y = sloped()
    y = np.round(y - y.min() + 1)
    shares = np.random.default_rng(2).random(30)
    fit = model.fit(x, y, shares / shares.sum()).summary()
    words = "sum to 1 and leave no residual degrees of freedom for 3 parameters: there are no standard errors"
    assert any(words in note and "scale it to sum to the number of rows" in note for note in fit.inference.notes)
    assert not np.isfinite(fit.inference.standard_errors).any()
    relative = model.fit(x, y, shares).summary().inference
    assert f"weights that sum to {shares.sum():g}" in relative.notes[-1]
    scaled = model.fit(x, y, 30 * shares / shares.sum()).summary().inference
    assert (scaled.rows, scaled.notes) == (pytest.approx(30), ())
    assert np.isfinite(scaled.standard_errors).all()
    if isinstance(model, LinearRegression):
        theirs = sm.WLS(y, sm.add_constant(x), shares).fit()
        np.testing.assert_allclose(scaled.standard_errors, theirs.bse)
        with pytest.raises(
            ValueError, match="there is no interval: the rows' weights, 1 each by default, sum to 1 and"
        ):
            model.fit(x, y, shares / shares.sum()).predict_interval(x)


def test_columns_that_repeat_others_do_not_count_for_the_rank() -> None:
    x = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.warns(CollinearityWarning, match="x3 = a combination of x0"):
        model = LinearRegression().fit(np.column_stack([x, x[:, 0]]), x.sum(axis=1))
    assert model.rank_ == 3


def _wide(narrow: np.ndarray, columns: int = 1000) -> sparse.csr_array:
    """Return rows whose other columns are never stored."""
    return sparse.csr_array(sparse.hstack([sparse.csr_array(narrow), sparse.csr_array((len(narrow), columns))]))


@pytest.mark.filterwarnings("ignore:LinearRegression. x3 is constant")
@pytest.mark.parametrize(
    "model",
    [LogisticRegression(inference=True), LinearRegression(solver="newton", covariance="HC0")],
    ids=["LogisticRegression", "LinearRegression, HC0"],
)
def test_columns_that_csr_never_stores_have_no_standard_error(model: Any) -> None:
    random = np.random.default_rng(0)
    x = np.where(random.random((200, 3)) < 0.5, random.normal(size=(200, 3)), 0.0)
    y = (x[:, 0] + random.normal(size=200) > 0).astype(int)
    expected = model.fit(x, y).summary().frame().to_numpy(float)
    found = model.fit(_wide(x), y).summary().frame().to_numpy(float)
    np.testing.assert_allclose(found[:4], expected, rtol=1e-6)
    assert not found[4:, 0].any()
    assert np.isnan(found[4:, 1]).all()


def test_dependent_columns_are_named_where_others_are_never_stored() -> None:
    random = np.random.default_rng(0)
    x = np.where(random.random((200, 2)) < 0.5, random.normal(size=(200, 2)), 0.0)
    y = (x[:, 0] + random.normal(size=200) > 0).astype(int)
    with pytest.warns(CollinearityWarning, match="x2 = a combination of x0, x1"):
        LogisticRegression(inference=True).fit(_wide(np.column_stack([x, x.sum(axis=1)])), y)


def test_standard_errors_that_a_solver_does_not_bring_are_left_out_with_a_note() -> None:
    x, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    summary = str(LogisticRegression(solver=BatchGradient(), inference=False).fit(x, y).summary())
    assert "standard errors were not computed, as they are expensive here: give inference=True" in summary


def test_a_model_under_another_tolerance_keeps_what_its_rows_told() -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(60, 2)), random.normal(size=60)
    model = LinearRegression(solver="newton", covariance="HC0").fit(x, y)
    other = model.with_params(tol=1e-9)
    assert str(other.summary()) == str(model.summary())
    np.testing.assert_array_equal(other.theta_, model.theta_)


@pytest.mark.parametrize(("family", "link"), [("poisson", "identity"), ("beta", "log")])
def test_rows_that_are_possible_under_no_theta_are_no_fit(family: str, link: str) -> None:
    x = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match=f"GLM found no theta with finite likelihood .{family}/{link}.: give"):
        GLM(family, link, fit_intercept=False).fit(x, np.full(40, 0.5))


@pytest.mark.needs("torch")
def test_columns_of_other_libraries_far_from_zero_are_centred() -> None:
    import torch

    x, y = np.random.default_rng(0).normal(size=(60, 2)) + np.array([1e6, 0.0]), np.arange(60) % 2
    there = LogisticRegression().fit(torch.asarray(x), torch.asarray(y))
    np.testing.assert_allclose(there.coef_, LogisticRegression().fit(x, y).coef_, rtol=1e-6)

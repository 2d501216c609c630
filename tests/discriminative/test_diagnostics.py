"""Diagnostics beside those of R: residuals, leverage, influence, variance inflation; and rows left out one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dask.array
import numpy as np
import pytest
from scipy import sparse, stats

from suffice import (
    GLM,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    SoftmaxRegression,
)
from suffice.families import NegativeBinomial, Tweedie
from tests.references import r_data, r_design, r_results

TERMS = {"x1": ["x0"], "x2": ["x1"], "group": ["x2", "x3"]}
WEIGHTED = {"sample_weight": "w"}
CASES: dict[str, tuple[Any, dict[str, str]]] = {
    "linear full": (LinearRegression(), {}),
    "linear weighted": (LinearRegression(weights="precision"), WEIGHTED),
    "binomial logit": (LogisticRegression(tol=1e-12), {}),
    "binomial weighted": (LogisticRegression(weights="precision", tol=1e-12), WEIGHTED),
    "grouped quasi": (GLM("binomial", dispersion="pearson", tol=1e-12), {"trials": "trials"}),
    "poisson log": (PoissonRegressor(tol=1e-12), {}),
    "poisson quasi": (PoissonRegressor(dispersion="pearson", tol=1e-12), {}),
    "gamma log": (GammaRegressor(tol=1e-12), {}),
    "inverse_gaussian log": (GLM("inverse_gaussian", "log", tol=1e-12), {}),
}
INFLUENCE = {
    "leverage": "hatvalues",
    "cooks_distance": "cooks_distance",
    "studentised": "rstudent",
    "standardised_deviance": "rstandard",
    "dfbetas": "dfbetas",
}


def rows_of(case: str) -> tuple[Any, dict[str, Any], Any]:
    """Return a fitted model, its rows and the result of R."""
    model, columns = CASES[case]
    family, name = case.split()
    found = r_results("linear") if family == "linear" else r_results("glm")[family]
    data = r_data(found["data"])
    rows = {"X": r_design(found["data"]), "y": data["successes" if "trials" in columns else "y"]}
    rows |= {argument: data[column] for argument, column in columns.items()}
    return model.fit(**rows), rows, found[name]


def close(mine: Any, theirs: Any, tolerance: float = 1e-6) -> None:
    theirs = np.array(theirs, dtype=float)
    np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=1e-2 * tolerance * np.abs(theirs).max())


@pytest.mark.parametrize("case", CASES)
def test_all_numbers_are_those_of_r(case: str) -> None:
    model, rows, theirs = rows_of(case)
    found = model.diagnostics(**rows, terms=TERMS)
    for name in set(theirs["residuals"]) & {"response", "pearson", "deviance", "working"}:
        close(getattr(found, name), theirs["residuals"][name])
    for mine, name in INFLUENCE.items():
        close(getattr(found, mine), theirs["influence"][name])
    if "standardised_pearson" in theirs["residuals"]:
        close(found.standardised_pearson, theirs["residuals"]["standardised_pearson"])
    close(found.fitted, theirs["fitted"])
    close(found.vif["vif"], theirs["vif"]["GVIF"])
    close(found.vif["vif^(1/(2 df))"], theirs["vif"]["GVIF^(1/(2*Df))"])


def test_influence_of_least_squares_is_that_of_fits_without_the_row() -> None:
    model, rows, _ = rows_of("linear full")
    found = model.diagnostics(**rows)
    for row in (0, 20):
        kept = np.arange(60) != row
        without = LinearRegression().fit(rows["X"][kept], rows["y"][kept])
        fit = without.summary().inference
        unscaled = np.sqrt(np.diag(model.covariance_.matrix) / model.summary().inference.dispersion)
        change = (model.theta_ - without.theta_)[:, 0] / (np.sqrt(fit.dispersion) * unscaled)
        close(found.dfbetas[row], change, 1e-9)


def stream_of(rows: dict[str, Any]) -> Any:
    def stream() -> Iterator[dict[str, Any]]:
        for part in (np.s_[:33], np.s_[33:]):
            yield {name: each[part] for name, each in rows.items()}

    return stream


@pytest.mark.parametrize("case", ["linear weighted", "binomial logit", "grouped quasi", "gamma log"])
def test_rows_of_every_kind_have_the_same_diagnostics(case: str) -> None:
    model, rows, _ = rows_of(case)
    here = model.diagnostics(**rows)
    y, others = rows["y"], {name: each for name, each in rows.items() if name not in ("X", "y")}
    there = [
        model.diagnostics(stream_of(rows)),
        model.diagnostics(sparse.csr_array(rows["X"]), y, **others),
        model.diagnostics(
            dask.array.from_array(rows["X"], chunks=(20, -1)),
            dask.array.from_array(y, chunks=20),
            **{name: dask.array.from_array(each, chunks=20) for name, each in others.items()},
        ),
    ]
    for each in there:
        for name in (*each.COLUMNS, "dfbetas"):
            np.testing.assert_allclose(getattr(each, name), getattr(here, name), rtol=1e-7, atol=1e-10)


def test_columns_far_from_zero_change_the_intercept_alone() -> None:
    model, rows, _ = rows_of("binomial logit")
    here = model.diagnostics(**rows)
    far = rows["X"] + np.array([1e6, 0.0, 0.0, 0.0])
    there = LogisticRegression(tol=1e-12).fit(far, rows["y"]).diagnostics(far, rows["y"])
    np.testing.assert_allclose(there.leverage, here.leverage, rtol=1e-6)
    np.testing.assert_allclose(there.dfbetas[:, 1:], here.dfbetas[:, 1:], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(there.vif["vif"], here.vif["vif"], rtol=1e-5)


def test_rows_without_weight_have_none() -> None:
    _, rows, _ = rows_of("gamma log")
    weight = np.ones(80)
    weight[[3, 7]] = 0.0
    found = GammaRegressor().fit(**rows, sample_weight=weight).diagnostics(**rows, sample_weight=weight)
    assert np.flatnonzero(np.isnan(found.leverage)).tolist() == [3, 7]
    assert len(found.frame()) == 80
    without = np.flatnonzero(weight)
    alone = GammaRegressor().fit(rows["X"][without], rows["y"][without])
    expected = alone.diagnostics(rows["X"][without], rows["y"][without])
    np.testing.assert_allclose(found.cooks_distance[without], expected.cooks_distance, rtol=1e-6)
    line = LinearRegression().fit(**rows, sample_weight=weight).diagnostics(**rows, sample_weight=weight)
    assert np.flatnonzero(np.isnan(line.leverage)).tolist() == [3, 7]


def test_a_weight_of_two_is_two_rows() -> None:
    _, rows, _ = rows_of("poisson log")
    often = np.random.default_rng(0).integers(1, 4, 100)
    model = PoissonRegressor(tol=1e-12).fit(**rows, sample_weight=often)
    found = model.diagnostics(**rows, sample_weight=often)
    again = {name: np.repeat(each, often, axis=0) for name, each in rows.items()}
    first = np.concatenate([[0], np.cumsum(often)[:-1]])
    expected = PoissonRegressor(tol=1e-12).fit(**again).diagnostics(**again)
    for name in ("pearson", "leverage", "cooks_distance", "dfbetas"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name)[first], rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize(
    ("model", "draw"),
    [
        (PoissonRegressor(), lambda random, mean: random.poisson(mean)),
        (GLM(NegativeBinomial(2.0)), lambda random, mean: random.negative_binomial(2, 2 / (2 + mean))),
        (GLM("binomial"), lambda random, mean: random.random(len(mean)) < mean / (1 + mean)),
        (GammaRegressor(), lambda random, mean: random.gamma(3.0, mean / 3)),
        (GLM("inverse_gaussian", "log"), lambda random, mean: random.wald(mean, 4.0)),
        (GLM(Tweedie(1.5)), lambda random, mean: Tweedie(1.5).draw(Tweedie(1.5).natural_parameter(mean), random)),
        (GLM("exponential", "log"), lambda random, mean: random.exponential(mean)),
        (GLM("gaussian"), lambda random, mean: np.log(mean) + random.normal(size=len(mean))),
    ],
    ids=["poisson", "negative binomial", "binomial", "gamma", "inverse gaussian", "tweedie", "exponential", "gaussian"],
)
def test_quantile_residuals_of_the_right_model_are_normal(model: Any, draw: Any) -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(1500, 2))
    y = np.asarray(draw(random, np.exp(0.4 + x @ [0.5, -0.3])), dtype=float)
    residuals = model.fit(x, y).diagnostics(x, y, dfbetas=False).quantile
    assert stats.kstest(residuals, "norm").pvalue > 0.01
    again = model.diagnostics(x, y, dfbetas=False).quantile
    np.testing.assert_array_equal(again, residuals)


def test_quantile_residuals_of_counts_lie_between_the_ends_of_their_share() -> None:
    model, rows, _ = rows_of("poisson log")
    found, mean = model.diagnostics(**rows, random_state=3), model.predict(rows["X"])
    low, high = stats.poisson.cdf(rows["y"] - 1, mean), stats.poisson.cdf(rows["y"], mean)
    share = stats.norm.cdf(found.quantile)
    assert ((share >= low - 1e-9) & (share <= high + 1e-9)).all()
    assert not np.array_equal(found.quantile, model.diagnostics(**rows, random_state=4).quantile)


def test_diagnostics_print_as_a_summary() -> None:
    model, rows, _ = rows_of("linear full")
    found = model.diagnostics(**rows)
    text = str(found)
    assert "Diagnostics of LinearRegression (gaussian/identity)" in text
    assert "Cook's distance above 4 / n = 0.0667" in text
    assert "Variance inflation factors" in text
    assert found._repr_html_().count("<table>") == 2
    frame = found.frame()
    assert list(frame.columns[-5:]) == [f"dfbetas: {name}" for name in ("intercept", "x0", "x1", "x2", "x3")]
    assert model.diagnostics(**rows, dfbetas=False).dfbetas is None
    quasi, others, _ = rows_of("poisson quasi")
    assert "there are no quantile residuals" in str(quasi.diagnostics(**others))


def test_a_collinear_column_has_no_influence_of_its_own() -> None:
    _, rows, _ = rows_of("poisson log")
    twice = np.column_stack([rows["X"], rows["X"][:, 0]])
    with pytest.warns(UserWarning, match="x4 = a combination of x0"):
        model = PoissonRegressor(tol=1e-12).fit(twice, rows["y"])
    found = model.diagnostics(twice, rows["y"])
    expected = PoissonRegressor(tol=1e-12).fit(**rows).diagnostics(**rows)
    np.testing.assert_allclose(found.leverage, expected.leverage, rtol=1e-6)
    assert np.isnan(found.dfbetas[0]).tolist() == [False, True, False, False, False, True]
    assert np.isnan(found.vif["vif"]).tolist() == [True, False, False, False, True]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (
            lambda x, y: LinearRegression().fit(x, np.c_[y, y]).diagnostics(x, np.c_[y, y]),
            "diagnostics need one target",
        ),
        (lambda x, y: Lasso(0.1).fit(x, y).diagnostics(x, y), "there are no diagnostics: alpha = 0.1: coefficients"),
        (
            lambda x, y: PoissonRegressor(alpha=1.0, l1_ratio=1.0).fit(x, y).diagnostics(x, y),
            "there are no diagnostics under an l1",
        ),
        (
            lambda x, y: SoftmaxRegression().fit(x, y % 3).diagnostics(x, y % 3),
            "diagnostics need one linear predictor per row",
        ),
        (lambda x, y: PoissonRegressor().fit(x, y).diagnostics(None), "diagnostics needs the rows of the fit"),
        (
            lambda x, y: PoissonRegressor().fit(x, y).diagnostics(x[:50], y[:50]),
            "theta is not the optimum of these rows",
        ),
        (
            lambda x, y: LinearRegression().fit(x, y).diagnostics(x[:50], y[:50]),
            "theta is not the optimum of these rows",
        ),
        (
            lambda x, y: LinearRegression().fit(x, y).diagnostics(x, y, terms={"a": ["x9"]}),
            "term 'a': there is no coefficient 'x9'; did you mean",
        ),
    ],
)
def test_what_has_no_diagnostics_is_refused(ask: Any, words: str) -> None:
    _, rows, _ = rows_of("poisson log")
    with pytest.raises(ValueError, match=words):
        ask(rows["X"], rows["y"])


def test_rows_that_are_fitted_exactly_have_diagnostics() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3))
    y = 1 + x @ [1.0, 2.0, 3.0]
    found = LinearRegression().fit(x, y).diagnostics(x, y)
    np.testing.assert_allclose(found.response, 0, atol=1e-12)
    assert found.leverage.sum() == pytest.approx(4)

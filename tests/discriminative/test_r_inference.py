"""Summaries and covariances beside those of R: lm, glm, sandwich."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import suffice
from suffice import GLM, GammaRegressor, LinearRegression, LogisticRegression, PoissonRegressor
from tests.references import r_data, r_design, r_results


class Fit(NamedTuple):
    """A model and its result in R."""

    file: str
    family: str
    case: str
    make: Any
    columns: Mapping[str, str] = MappingProxyType({})  # of the data, by argument of fit


PRECISE = {"sample_weight": "w"}
FITS = [
    Fit("linear", "", "full", LinearRegression),
    Fit("linear", "", "weighted", lambda **more: LinearRegression(weights="precision", **more), PRECISE),
    Fit("linear", "", "full", GLM),
    Fit("linear", "", "weighted", lambda **more: GLM(weights="precision", **more), PRECISE),
    Fit("glm", "binomial", "logit", LogisticRegression),
    Fit("glm", "binomial", "logit", lambda **more: GLM("binomial", **more)),
    Fit("glm", "binomial", "weighted", lambda **more: LogisticRegression(weights="precision", **more), PRECISE),
    Fit("glm", "binomial", "probit", lambda **more: GLM("binomial", "probit", **more)),
    Fit("glm", "binomial", "cloglog", lambda **more: GLM("binomial", "cloglog", **more)),
    Fit("glm", "grouped", "logit", lambda **more: GLM("binomial", **more), {"trials": "trials"}),
    Fit("glm", "grouped", "quasi", lambda **more: GLM("binomial", dispersion="pearson", **more), {"trials": "trials"}),
    Fit("glm", "poisson", "log", PoissonRegressor),
    Fit("glm", "poisson", "quasi", lambda **more: PoissonRegressor(dispersion="pearson", **more)),
    Fit("glm", "poisson", "offset", PoissonRegressor, {"exposure": "exposure"}),
    Fit("glm", "poisson", "weighted", lambda **more: PoissonRegressor(weights="precision", **more), PRECISE),
    Fit("glm", "gamma", "log", GammaRegressor),
    Fit("glm", "gamma", "inverse", lambda **more: GLM("gamma", "inverse", **more)),
    Fit("glm", "gamma", "weighted", lambda **more: GammaRegressor(weights="precision", **more), PRECISE),
    Fit("glm", "gaussian", "log", lambda **more: GLM("gaussian", "log", **more)),
    Fit("glm", "gaussian", "identity", lambda **more: GLM(weights="precision", **more), PRECISE),
]
NAMES = [f"{fit.file} {fit.family} {fit.case} {place}" for place, fit in enumerate(FITS)]
every_fit = pytest.mark.parametrize("fit", FITS, ids=NAMES)


def fitted(fit: Fit, **settings: Any) -> tuple[Any, Any]:
    """Return our model and the result of R."""
    found = r_results(fit.file) if fit.file == "linear" else r_results(fit.file)[fit.family]
    data = r_data(found["data"])
    beside = {name: data[column] for name, column in fit.columns.items()}
    settings = {name: data[value] if name == "groups" else value for name, value in settings.items()}
    beside |= {"groups": settings.pop("groups")} if "groups" in settings else {}
    y = data["successes" if "trials" in fit.columns else "y"]
    more = {} if fit.make is LinearRegression or (fit.case, fit.file) == ("weighted", "linear") else {"tol": 1e-12}
    return fit.make(**more, **settings).fit(r_design(found["data"]), y, **beside), found[fit.case]


def close(mine: Any, theirs: Any, tolerance: float = 1e-7) -> None:
    theirs = np.asarray(theirs, dtype=float)
    np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=1e-2 * tolerance * np.abs(theirs).max())


@every_fit
def test_a_summary_has_the_numbers_of_r(fit: Fit) -> None:
    model, theirs = fitted(fit)
    mine = model.summary().inference
    close(mine.estimate, theirs["coefficients"])
    close(mine.standard_errors, theirs["se"])
    close(mine.statistic, theirs["statistic"], 1e-6)
    close(mine.p_values, theirs["p_value"], 1e-6)
    close(np.asarray(model.covariance_), theirs["vcov"], 1e-6)
    close(mine.deviance, theirs["deviance"])
    assert mine.df_residual == theirs["df_residual"]
    if "dispersion" in theirs:
        close(mine.dispersion, theirs["dispersion"])
        close(mine.null_deviance, theirs["null_deviance"])
    if theirs["loglik"] is None:  # of a quasi-likelihood
        assert np.isnan([mine.log_likelihood, mine.aic, mine.bic]).all()
    else:
        close(mine.log_likelihood, theirs["loglik"])
        assert mine.n_parameters == theirs["df"]
        close(mine.aic, theirs["aic"])
        close(mine.bic, theirs["bic"])


@pytest.mark.parametrize("fit", FITS[:4], ids=NAMES[:4])
def test_least_squares_have_r2_and_an_f_test(fit: Fit) -> None:
    model, theirs = fitted(fit)
    mine = model.summary().inference
    close(mine.explained, theirs["r_squared"])
    close(mine.adjusted_r2, theirs["adj_r_squared"])
    close([mine.f_test.statistic, mine.f_test.df, mine.f_test.df_residual], theirs["f_statistic"])
    text = str(model.summary())
    assert "adjusted R²" in text
    assert f"F({mine.f_test.df}, {mine.f_test.df_residual:g})" in text
    close(model.summary(0.8).inference.interval(0.8).T, list(theirs["confint_80"].values()))


ROBUST = [fit for fit in FITS if "HC" in fitted(fit)[1] or "covariance" in fitted(fit)[1]]


@pytest.mark.parametrize("kind", ["HC0", "HC1", "HC2", "HC3", "HC4"])
@pytest.mark.parametrize("fit", ROBUST, ids=[NAMES[FITS.index(fit)] for fit in ROBUST])
def test_robust_covariances_are_those_of_sandwich(fit: Fit, kind: str) -> None:
    model, theirs = fitted(fit, covariance=kind)
    found = theirs["covariance"]["HC"] if "covariance" in theirs else theirs["HC"]
    if kind in found:
        close(np.asarray(model.covariance_), found[kind], 1e-6)
        close(model.summary().inference.standard_errors, np.sqrt(np.diag(found[kind])), 1e-6)
    assert model.covariance_.kind == kind


@pytest.mark.parametrize("fit", FITS[:5], ids=NAMES[:5])
def test_clustered_covariances_are_those_of_sandwich(fit: Fit) -> None:
    model, theirs = fitted(fit, covariance="clustered", groups="cluster")
    found = theirs["covariance"]["CL"] if "covariance" in theirs else theirs["CL"]
    rows, rank = model.summary().inference.rows, model.summary().inference.rank
    expected = np.array(found["HC0_adjusted"]) * (rows - 1) / (rows - rank)
    close(np.asarray(model.covariance_), expected, 1e-6)
    if "HC1_adjusted" in found:
        close(np.asarray(model.covariance_), found["HC1_adjusted"], 1e-6)


def in_parts(x: np.ndarray, y: np.ndarray, groups: np.ndarray, weight: np.ndarray) -> Iterator[dict[str, np.ndarray]]:
    for part in np.array_split(np.arange(len(y)), 7):
        yield {"X": x[part], "y": y[part], "groups": groups[part], "sample_weight": weight[part]}


@pytest.mark.parametrize("kind", ["HC4", "clustered", "newey-west"])
@pytest.mark.parametrize("make", [LinearRegression, GLM, LogisticRegression])
def test_rows_in_parts_have_the_same_covariances(kind: str, make: Any) -> None:
    data, x = r_data("binary"), r_design("binary")
    model = make(covariance=kind, weights="precision", tol=1e-12)
    names = np.array([f"cluster {each:g}" for each in data["cluster"]])
    groups = {"groups": names} if kind == "clustered" else {}
    expected = np.asarray(model.fit(x, data["y"], data["w"], **groups).covariance_)

    def stream() -> Iterator[dict[str, np.ndarray]]:
        for part in in_parts(x, data["y"], names, data["w"]):
            yield {name: each for name, each in part.items() if name != "groups" or groups}

    np.testing.assert_allclose(np.asarray(model.fit(stream).covariance_), expected, rtol=1e-7, atol=1e-12)
    table = pd.DataFrame(x, columns=list("abcd")).assign(y=data["y"], w=data["w"], cluster=names)
    frame = dask.dataframe.from_pandas(table, npartitions=3)
    named = {"groups": "cluster"} if groups else {}
    frame = frame if groups else frame.drop(columns="cluster")
    there = model.fit(frame, y="y", sample_weight="w", **named)
    np.testing.assert_allclose(np.asarray(there.covariance_), expected, rtol=1e-7, atol=1e-12)
    assert there.covariance_["a", "b"] == pytest.approx(expected[1, 2], rel=1e-6)


def test_settings_survive_a_file_and_a_copy(tmp_path: Path) -> None:
    data, x = r_data("linear"), r_design("linear")
    for make in (LinearRegression, GLM):
        model = make(covariance="clustered", weights="precision", dispersion=2.0).fit(
            x, data["y"], data["w"], groups=data["cluster"]
        )
        model.save(tmp_path / make.__name__)
        again = suffice.load(tmp_path / make.__name__)
        assert again.get_params() == model.get_params()
        np.testing.assert_array_equal(again.covariance_.matrix, model.covariance_.matrix)
        assert str(again.summary()) == str(model.summary())


def test_other_weights_and_dispersions_are_read_from_the_same_sums() -> None:
    data, x = r_data("linear"), r_design("linear")
    model = LinearRegression().fit(x, data["y"], data["w"])
    precise = model.with_params(weights="precision")
    assert str(precise.summary()) == str(LinearRegression(weights="precision").fit(x, data["y"], data["w"]).summary())
    halves = [
        LinearRegression(weights="precision").fit(x[s], data["y"][s], data["w"][s]) for s in (np.s_[:30], np.s_[30:])
    ]
    close((halves[0] + halves[1]).summary().inference.bic, precise.summary().inference.bic, 1e-9)
    assert (halves[0] + halves[1]).forget(x[30:], data["y"][30:], data["w"][30:]).summary().inference.rows == 30
    with pytest.raises(ValueError, match="covariance='HC1' needs the rows"):
        model.with_params(weights="sampling")


def test_sampling_weights_have_robust_errors() -> None:
    data, x = r_data("linear"), r_design("linear")
    theirs = np.array(r_results("linear")["weighted"]["covariance"]["HC"]["HC1"])
    for make in (LinearRegression, GLM):
        model = make(weights="sampling").fit(x, data["y"], data["w"] / data["w"].sum())
        close(model.covariance_.matrix, theirs, 1e-7)
        assert model.covariance_.kind == "HC1"
        assert [note.partition(":")[0] for note in model.summary().inference.notes] == ["weights='sampling'"]


def test_a_known_dispersion_scales_the_covariance() -> None:
    data, x = r_data("positive"), r_design("positive")
    theirs = r_results("glm")["gamma"]["log"]
    model = GammaRegressor(dispersion=0.5, tol=1e-12).fit(x, data["y"])
    fit = model.summary().inference
    close(fit.covariance, 0.5 / theirs["dispersion"] * np.array(theirs["vcov"]))
    assert (fit.distribution, fit.n_parameters) == ("z", 5)


@pytest.mark.parametrize("fit", [*FITS[:4], FITS[13]], ids=[*NAMES[:4], NAMES[13]])
def test_newey_wests_covariance_is_that_of_sandwich(fit: Fit) -> None:
    model, theirs = fitted(fit, covariance="newey-west", lags=4)
    found = theirs["newey_west_4"] if "newey_west_4" in theirs else theirs["covariance"]["newey_west"]["lag_4"]
    close(np.asarray(model.covariance_), found, 1e-6)


@pytest.mark.parametrize("fit", FITS[:4], ids=NAMES[:4])
@pytest.mark.parametrize("level", [80, 95])
def test_intervals_of_predictions_are_those_of_predict_lm(fit: Fit, level: int) -> None:
    model, theirs = fitted(fit)
    theirs, new = theirs[f"predict_{level}"], new_rows(theirs["new"])
    close(model.predict(new), theirs["fit"])
    close(model.predict_se(new), theirs["se_fit"])
    for of, name in (("mean", "confidence"), ("observation", "prediction")):
        close(model.predict_interval(new, level / 100, of=of), [theirs[name]["lower"], theirs[name]["upper"]])


PREDICTED = [fit for fit in FITS if "predict" in fitted(fit)[1]]


@pytest.mark.parametrize("fit", PREDICTED, ids=[NAMES[FITS.index(fit)] for fit in PREDICTED])
def test_errors_of_predictions_are_those_of_predict_glm(fit: Fit) -> None:
    model, theirs = fitted(fit)
    new, found = new_rows(theirs["new"]), theirs["predict"]
    close(model.predict_se(new), found["link_se"])
    close(model.predict_se(new, scale="mean"), found["response_se"])
    law = stats.norm if theirs["dispersion"] == 1 else stats.t(theirs["df_residual"])
    reach = law.isf(0.05) * np.array(found["link_se"])
    inverse = special.expit if theirs["link"] == "logit" else np.exp
    close(model.predict_interval(new, 0.9), inverse([found["link"] - reach, found["link"] + reach]))


def new_rows(new: Any) -> np.ndarray:
    group = np.array(new["group"])
    return np.column_stack([new["x1"], new["x2"], group == "b", group == "c"]).astype(float)


@pytest.mark.parametrize("make", [LinearRegression, GLM])
def test_a_stream_without_groups_is_refused(make: Any) -> None:
    data, x = r_data("linear"), r_design("linear")
    with pytest.raises(ValueError, match="covariance='clustered' needs groups"):
        make(covariance="clustered").fit(lambda: iter([(x, data["y"])]))

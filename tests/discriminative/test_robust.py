"""Robust covariances beside statsmodels', beside rows left out one by one, and on every kind of array."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import sparse, stats
from scipy.linalg import inv, sqrtm

import suffice
from suffice import GLM, LinearRegression, formula, store
from suffice.data import EncodedDataset
from suffice.discriminative import robust
from suffice.discriminative.robust import robust_covariance
from suffice.families import Response
from suffice.kernels import ArrayEngine, Batch, ThreadEngine
from suffice.statistics import Curvature

KINDS = ("HC0", "HC1", "HC2", "HC3")
ENGINE = ThreadEngine()
every_kind = pytest.mark.parametrize("kind", KINDS)


def rows_of(family: str, n: int = 80, d: int = 3, seed: int = 0) -> tuple[Batch, np.ndarray]:
    """Return rows and a theta that need not be the best."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    predictors = 2 if family == "multinomial" else 1
    theta = rng.normal(size=(d + 1, predictors)) / 3
    z = theta[0] + x @ theta[1:]
    y: Any = {
        "gaussian": lambda: z[:, 0] + rng.normal(size=n) * (1 + x[:, 0] ** 2),
        "bernoulli": lambda: (rng.random(n) < 1 / (1 + np.exp(-z[:, 0]))).astype(float),
        "poisson": lambda: rng.poisson(np.exp(z[:, 0])).astype(float),
        "multinomial": lambda: rng.integers(0, 3, size=n),
    }[family]()
    return Batch(x, y), theta


def covariance(kind: Any, rows: Batch, family: str, theta: np.ndarray, engine: Any = ENGINE) -> np.ndarray:
    response = Response.of(family)
    information = engine.accumulate(Curvature.over(response, theta), rows).hessian
    count = float(len(rows.y) if rows.weight is None else rows.weight.sum())
    data = EncodedDataset.of_batch(rows, engine)
    return robust_covariance(kind, data, response, theta, True, information, count).matrix


@every_kind
def test_least_squares_as_in_statsmodels(kind: Any) -> None:
    rows, _ = rows_of("gaussian")
    theirs = sm.OLS(rows.y, sm.add_constant(rows.x)).fit(cov_type=kind)
    ours = covariance(kind, rows, "gaussian", theirs.params[:, None])
    np.testing.assert_allclose(ours, theirs.cov_params(), rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("family", "theirs"), [("bernoulli", sm.families.Binomial()), ("poisson", sm.families.Poisson())]
)
def test_other_families_as_in_statsmodels_with_frequencies(family: str, theirs: Any) -> None:
    rows, _ = rows_of(family)
    often = np.random.default_rng(1).integers(1, 5, size=len(rows.y)).astype(float)
    fit = sm.GLM(rows.y, sm.add_constant(rows.x), family=theirs, freq_weights=often).fit(cov_type="HC0", tol=1e-14)
    weighted = Batch(rows.x, rows.y, often)
    theta = fit.params[:, None]
    plain = covariance("HC0", weighted, family, theta)
    np.testing.assert_allclose(plain, fit.cov_params(), rtol=1e-8)
    more = often.sum() / (often.sum() - 4)  # which statsmodels leaves out here
    np.testing.assert_allclose(covariance("HC1", weighted, family, theta), plain * more, rtol=1e-12)


@every_kind
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "multinomial"])
def test_a_weight_of_two_is_two_rows(kind: Any, family: str) -> None:
    rows, theta = rows_of(family)
    often = np.random.default_rng(2).integers(0, 4, size=len(rows.y))
    weighted = covariance(kind, Batch(rows.x, rows.y, often.astype(float)), family, theta)
    repeated = covariance(kind, Batch(np.repeat(rows.x, often, axis=0), np.repeat(rows.y, often)), family, theta)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("family", ["bernoulli", "multinomial"])
def test_leverages_beside_one_row_after_another(family: str) -> None:
    """HC3 is the jackknife of one Newton step, HC2 takes the root of the same matrix."""
    rows, theta = rows_of(family, n=40)
    response = Response.of(family)
    whole = ENGINE.accumulate(Curvature.over(response, theta), rows)
    design = np.column_stack([np.ones(40), rows.x])
    expected = {kind: np.zeros_like(whole.hessian) for kind in ("HC2", "HC3")}
    for x, y in zip(design, rows.y, strict=True):
        curve = response.curve((x @ theta)[None, :], np.array([y]))
        jacobian = np.kron(np.eye(theta.shape[1]), x)  # (t, q)
        without = whole.hessian - jacobian.T @ curve.curvature[0] @ jacobian
        step = np.linalg.solve(without, jacobian.T @ curve.slope[0])
        expected["HC3"] += np.outer(step, step)
        pull = np.eye(len(curve.slope[0])) - curve.curvature[0] @ jacobian @ inv(whole.hessian) @ jacobian.T
        half = np.linalg.solve(whole.hessian, jacobian.T @ inv(sqrtm(pull)) @ curve.slope[0])
        expected["HC2"] += np.outer(half, half)
    for kind, beside in expected.items():
        np.testing.assert_allclose(covariance(kind, rows, family, theta), beside, rtol=1e-9, atol=1e-13)


@every_kind
@pytest.mark.needs("torch")
def test_blocks_sparse_rows_and_other_libraries_do_not_matter(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, theta = rows_of("multinomial")
    rng = np.random.default_rng(3)
    rows = Batch(np.where(rows.x > 0, rows.x, 0.0), rows.y, rng.gamma(1.0, size=80), rng.normal(size=80))
    whole = covariance(kind, rows, "multinomial", theta)
    monkeypatch.setattr(robust, "CELLS", 7 * 16)
    close = {"rtol": 1e-9, "atol": 1e-14}
    np.testing.assert_allclose(covariance(kind, rows, "multinomial", theta), whole, **close)
    csr = Batch(sparse.csr_array(rows.x), rows.y, rows.weight, rows.offset)
    np.testing.assert_allclose(covariance(kind, csr, "multinomial", theta), whole, **close)
    import torch

    foreign = Batch(*(torch.asarray(np.array(part)) for part in (rows.x, rows.y, rows.weight, rows.offset)))
    np.testing.assert_allclose(covariance(kind, foreign, "multinomial", theta, ArrayEngine()), whole, **close)


@every_kind
def test_dependent_columns_leave_the_others_alone(kind: Any) -> None:
    rows, theta = rows_of("bernoulli")
    doubled = Batch(np.column_stack([rows.x, rows.x[:, 2] * 1e3]), rows.y)
    alone = covariance(kind, rows, "bernoulli", theta)
    beside = covariance(kind, doubled, "bernoulli", np.vstack([theta, [[0.0]]]))
    np.testing.assert_allclose(beside[:3, :3], alone[:3, :3], rtol=1e-8)


@every_kind
def test_a_row_that_only_one_column_sees_does_no_harm(kind: Any) -> None:
    """Its leverage is 1 and its residual 0."""
    rows, _ = rows_of("gaussian")
    lone = np.zeros(80)
    lone[5] = 1
    theirs = sm.OLS(rows.y, sm.add_constant(np.column_stack([rows.x, lone]))).fit()
    ours = covariance(kind, Batch(np.column_stack([rows.x, lone]), rows.y), "gaussian", theirs.params[:, None])
    rest = np.delete(np.arange(80), 5)
    fit = sm.OLS(rows.y[rest], sm.add_constant(rows.x[rest])).fit(cov_type="HC3" if kind == "HC1" else kind)
    assert np.isfinite(ours).all()
    if kind != "HC1":  # which counts the row
        np.testing.assert_allclose(ours[:4, :4], fit.cov_params(), rtol=1e-6, atol=1e-10)


def test_other_kinds_are_refused() -> None:
    rows, theta = rows_of("gaussian")
    data = EncodedDataset.of_batch(rows, ENGINE)
    with pytest.raises(ValueError, match=r"one of HC0, HC1, HC2, .* newey-west; got 'HC9'"):
        robust_covariance("HC9", data, Response.of("gaussian"), theta, True, np.eye(4), 80)


def test_a_file_with_the_covariance_of_the_intercept_at_0_is_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 2)) + 5
    model = LinearRegression(covariance="HC3").fit(x, x @ [1.0, 2.0] + rng.normal(size=40))
    model.save(tmp_path / "model")
    contents = store.read(tmp_path / "model")
    arrays = {name: array for name, array in contents.arrays.items() if name not in ("covariance", "undetermined")}
    arrays["robust"] = model.summary().inference.covariance
    store.write(tmp_path / "older", replace(contents, arrays=arrays))
    older = suffice.load(tmp_path / "older")
    errors = (each.summary().inference.standard_errors for each in (older, model))
    np.testing.assert_allclose(*errors, rtol=1e-10)
    intervals = (each.predict_interval(x[:3], 0.9) for each in (older, model))
    for ours, theirs in zip(*intervals, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.parametrize("model", [LinearRegression, GLM])
def test_no_residual_degrees_of_freedom_leave_no_errors(model: Any) -> None:
    x, y = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0]]), np.array([1.0, 2.0, 4.0])
    fit = model(covariance="HC0").fit(x, y).summary().inference
    assert np.isnan(fit.standard_errors).all()
    assert "no residual degrees of freedom" in fit.notes[-1]
    counts = GLM("poisson", covariance="HC3").fit(x, y)
    assert np.isnan(counts.summary().inference.standard_errors).all()
    with pytest.raises(ValueError, match="no residual degrees of freedom"):
        counts.predict_interval(x)


def test_lags_reach_over_batches_shorter_than_they_are() -> None:
    rows, _ = rows_of("gaussian")
    x, y = rows.x, rows.y
    whole = LinearRegression(covariance="newey-west", lags=5).fit(x, y)

    def batches() -> Any:
        for start in range(0, len(x), 2):
            yield x[start : start + 2], y[start : start + 2]

    parts = LinearRegression(covariance="newey-west", lags=5).fit(batches)
    np.testing.assert_allclose(np.asarray(parts.covariance_), np.asarray(whole.covariance_), rtol=1e-9)
    with pytest.raises(ValueError, match=f"lags=1000 is too many for {len(x)} rows: give a number below it"):
        LinearRegression(covariance="newey-west", lags=1000).fit(x, y)


def test_a_precision_that_is_one_for_all_rows_has_robust_errors() -> None:
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(60, 2)), np.clip(rng.beta(2.0, 3.0, 60), 0.01, 0.99)
    errors = {
        kind: GLM("beta", covariance=kind).fit(x, y).summary().inference.standard_errors
        for kind in ("HC0", "HC1", "HC3")
    }
    np.testing.assert_allclose(errors["HC1"], errors["HC0"] * np.sqrt(60 / 56))
    left_out = np.stack(
        [GLM("beta").fit(np.delete(x, row, 0), np.delete(y, row)).summary().inference.estimate for row in range(60)]
    )
    jackknife = np.sqrt(59 / 60 * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    np.testing.assert_allclose(errors["HC3"], jackknife, rtol=0.1)


LONE = pd.DataFrame({"x": np.random.default_rng(5).normal(size=14), "h": ["aa"] * 6 + ["bb"] * 7 + ["zz"]})
LONE["y"] = 1 + LONE["x"] + np.random.default_rng(6).normal(size=14)
LONE["n"] = np.random.default_rng(7).poisson(3, 14)
LEVERAGES = pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma"])


def lone_model(family: str, kind: str, terms: str = "x + h", rows: pd.DataFrame = LONE) -> Any:
    rows = rows.assign(n=rows["n"] + 1.0)
    link = {"link": "log"} if family == "gamma" else {}
    return formula.fit(
        f"{'y' if family == 'gaussian' else 'n'} ~ {terms}", rows, family=family, covariance=kind, **link
    )


@LEVERAGES
@pytest.mark.parametrize("kind", ["HC2", "HC3", "HC4"])
def test_a_category_of_one_row_has_an_unknown_robust_error(family: str, kind: str, tmp_path: Path) -> None:
    lone_model(family, kind).save(tmp_path / "model")
    others = lone_model(family, kind, rows=LONE[:13]).summary().inference.standard_errors
    for model in (lone_model(family, kind), suffice.load(tmp_path / "model")):
        fit = model.summary().inference
        assert np.isnan(fit.standard_errors).tolist() == [False, False, False, True]
        if kind != "HC4":  # whose powers depend on the number of rows
            np.testing.assert_allclose(fit.standard_errors[:3], others, rtol=1e-6)
        assert (
            f"row 13 of the fitted rows has leverage 1, so its residual is 0 whatever its error: {kind} errors of "
            in (fit.notes[-1])
        )
        assert "h[zz] are unknown" in fit.notes[-1]
        assert np.isnan(model.predict_se(LONE)).tolist() == [False] * 13 + [True]
        assert fit.f_test is None
        with pytest.raises(ValueError, match=r"there is no test: the coefficient h\[zz\]"):
            model.contrast("h[zz]")


@LEVERAGES
def test_a_reference_level_of_one_row_leaves_contrasts_with_it_unknown(family: str) -> None:
    model = lone_model(family, "HC3", "x + C(h, Treatment('zz'))")
    fit = model.summary().inference
    assert np.isnan(fit.standard_errors).tolist() == [True, False, True, True]
    np.testing.assert_allclose(model.predict_se(LONE)[:13], lone_model(family, "HC3").predict_se(LONE)[:13], rtol=1e-6)
    assert np.isnan(model.predict_se(LONE)[13])


@LEVERAGES
@pytest.mark.parametrize("kind", ["HC0", "HC1", "clustered", "newey-west"])
def test_robust_errors_that_leave_out_a_row_say_so(family: str, kind: str) -> None:
    design = np.column_stack([LONE["x"], LONE["h"] == "bb", LONE["h"] == "zz"])
    model = LinearRegression(covariance=kind) if family == "gaussian" else GLM(family, "log", covariance=kind)
    groups = {"groups": np.arange(14) // 2} if kind == "clustered" else {}
    notes = model.fit(design, LONE["n"] + 1.0, **groups).summary().inference.notes
    assert f"{kind} errors of x2 leave out its variance and are too small" in "".join(notes)
    assert "leverage" not in "".join(
        model.fit(design[:13, :2], LONE["n"][:13] + 1.0, **_cut(groups)).summary().inference.notes
    )


def _cut(groups: dict[str, Any]) -> dict[str, Any]:
    return {name: column[:13] for name, column in groups.items()}


@LEVERAGES
@pytest.mark.parametrize("names", [np.arange(8), np.array(list("abcdefgh"))], ids=["numbers", "strings"])
def test_coefficients_that_one_cluster_alone_determines_have_a_note(family: str, names: Any, tmp_path: Path) -> None:
    """The scores of that cluster sum to 0 along them: the error was too small, without a word."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(8), 6)
    x = np.column_stack([rng.normal(size=48), codes == 3, np.isin(codes, [1, 2])])
    y = np.round(np.exp(0.3 * x[:, 0] + 0.5 * rng.normal(size=8)[codes])) + 1
    model = (
        LinearRegression(covariance="clustered") if family == "gaussian" else GLM(family, "log", covariance="clustered")
    )
    model.fit(x, y, groups=names[codes]).save(tmp_path / "model")
    for fitted in model, suffice.load(tmp_path / "model"):
        assert (
            f"cluster {names[3]} alone determines coefficients: clustered errors of x1 leave out its variance and are "
            "too small"
        ) in fitted.summary().inference.notes
    assert "alone" not in "".join(model.fit(x[:, [0, 2]], y, groups=names[codes]).summary().inference.notes)


def test_rows_of_leverage_1_are_named_by_their_position_in_a_stream() -> None:
    design = np.column_stack([LONE["x"], LONE["h"] == "bb", LONE["h"] == "zz"]).astype(float)
    order = np.r_[13, 0:13]

    def batches() -> Any:
        for start in range(0, 14, 5):
            yield design[order][start : start + 5], LONE["y"].to_numpy()[order][start : start + 5]

    for model in (LinearRegression(covariance="HC3"), GLM("gaussian", covariance="HC3")):
        fit = model.fit(batches).summary().inference
        assert "row 0 of the fitted rows has leverage 1" in fit.notes[-1]
        assert np.isnan(fit.standard_errors).tolist() == [False, False, False, True]


def test_far_columns_do_not_hide_a_row_of_leverage_1() -> None:
    design = np.column_stack([LONE["x"] * 1e-9 + 1e3, LONE["h"] == "bb", (LONE["h"] == "zz") * 1e150])
    for model in (LinearRegression(covariance="HC3"), GLM("gaussian", covariance="HC3")):
        fit = model.fit(design, LONE["y"]).summary().inference
        assert np.isnan(fit.standard_errors).tolist() == [False, False, False, True], model
        assert np.isnan(model.predict_se(design)).tolist() == [False] * 13 + [True]


def clustered_rows(groups: int, per_group: int = 8) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(groups)
    group = np.repeat(np.arange(groups), per_group)
    x = rng.normal(size=(len(group), 2)) + rng.normal(size=(groups, 2))[group]
    return x, x @ [1.0, -1.0] + rng.normal(size=groups)[group] + rng.normal(size=len(group)), group


@pytest.mark.parametrize("kind", ["clustered", "clustered-residual-df"])
@pytest.mark.parametrize("model", [LinearRegression, GLM], ids=["sums", "glm"])
def test_tests_of_few_clusters_have_their_degrees_of_freedom(model: Any, kind: str, tmp_path: Path) -> None:
    x, y, group = clustered_rows(6)
    settings = {"cov_type": "cluster", "cov_kwds": {"groups": group, "df_correction": kind == "clustered"}}
    theirs = sm.OLS(y, sm.add_constant(x)).fit(**settings, use_t=True)
    model(covariance=kind).fit(x, y, groups=group).save(tmp_path / "model")
    for ours in (model(covariance=kind).fit(x, y, groups=group), suffice.load(tmp_path / "model")):
        fit = ours.summary().inference
        np.testing.assert_allclose(fit.interval(0.9), theirs.conf_int(0.1), rtol=1e-8)
        np.testing.assert_allclose(fit.p_values, theirs.pvalues, rtol=1e-6)
        expected = theirs.t_test([0.0, 1.0, -1.0])
        np.testing.assert_allclose(ours.contrast("x0 - x1")["p"], expected.pvalue, rtol=1e-6)
        free = 5 if kind == "clustered" else 45
        assert fit.f_test is not None
        assert fit.f_test.df_residual == free
        error, (low, high) = ours.predict_se(x[:3]), ours.predict_interval(x[:3])
        np.testing.assert_allclose((high - low) / 2, stats.t.isf(0.025, free) * error, rtol=1e-9)
        assert f"{kind}, 6 clusters" in str(ours.summary())
        assert fit.notes[-1].startswith("6 clusters are few")


def test_clusters_give_tests_of_counts_their_degrees_of_freedom() -> None:
    x, y, group = clustered_rows(7)
    counts = np.round(np.exp(y / 4))
    few = GLM("poisson", covariance="clustered").fit(x, counts, groups=group)
    by_rows = GLM("poisson", covariance="clustered-residual-df").fit(x, counts, groups=group).summary().inference
    fit = few.summary().inference
    assert (fit.distribution, fit.df_tests, by_rows.distribution) == ("t", 6.0, "z")
    np.testing.assert_allclose(fit.standard_errors, by_rows.standard_errors)
    np.testing.assert_allclose(fit.p_values, 2 * stats.t.sf(np.abs(fit.statistic), 6))
    low, high = few.predict_interval(x[:2])
    np.testing.assert_allclose(np.log(high / low), 2 * stats.t.isf(0.025, 6) * few.predict_se(x[:2]), rtol=1e-9)


def test_clusters_without_weight_and_many_clusters() -> None:
    x, y, group = clustered_rows(31, 3)
    weight = (group > 0).astype(float)
    for model in (LinearRegression(covariance="clustered"), GLM(covariance="clustered")):
        fit = model.fit(x, y, weight, groups=group).summary().inference
        assert fit.df_tests == 29
        assert not any("few" in note for note in fit.notes)
        assert any(
            "29 clusters are few" in note for note in model.fit(x, y, group > 1, groups=group).summary().inference.notes
        )


def test_the_automatic_lag_is_shown() -> None:
    x, y, _ = clustered_rows(20, 10)
    for model in (LinearRegression, GLM):
        text = str(model(covariance="newey-west").fit(x, y).summary())
        assert "newey-west, 4 lags" in text
        assert model(covariance="newey-west", lags=1).fit(x, y).summary().to_dict()["covariance"] == "newey-west, 1 lag"

"""Robust covariances beside statsmodels', beside rows left out one by one, and on every kind of array."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse
from scipy.linalg import inv, sqrtm

import suffice
from suffice import GLM, LinearRegression, store
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
    return robust_covariance(kind, EncodedDataset.of_batch(rows, engine), response, theta, True, information, count)


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
    with pytest.raises(ValueError, match="one of HC0, HC1, HC2, HC3, HC4, clustered, newey-west; got 'HC9'"):
        robust_covariance("HC9", data, Response.of("gaussian"), theta, True, np.eye(4), 80)


def test_a_file_with_the_covariance_of_the_intercept_at_0_is_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 2)) + 5
    model = LinearRegression(covariance="HC3").fit(x, x @ [1.0, 2.0] + rng.normal(size=40))
    model.save(tmp_path / "model")
    contents = store.read(tmp_path / "model")
    arrays = {name: array for name, array in contents.arrays.items() if name != "centred_robust"}
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

"""Intervals of predictions: of several classes, of new observations, of robust and penalised models, on every array."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import integrate, sparse, special, stats
from sklearn.base import clone

import suffice
from suffice import (
    GLM,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    SoftmaxRegression,
    store,
)
from suffice.families import NegativeBinomial, Tweedie

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
Z = 0.5 + X @ [0.6, -0.4]
COUNTS = RNG.poisson(np.exp(Z)).astype(float)
POSITIVE = RNG.gamma(3.0, np.exp(Z) / 3)
CLASSES = RNG.integers(0, 3, 120)
NEW = np.array([[0.0, 0.0], [1.5, -2.0], [-1.0, 0.3]])


def test_errors_of_probabilities_are_those_of_the_delta_method() -> None:
    theirs = sm.MNLogit(CLASSES, sm.add_constant(X)).fit(disp=0, method="newton", tol=1e-12)
    for model in (LogisticRegression(tol=1e-12), SoftmaxRegression(tol=1e-12), GLM("multinomial", tol=1e-12)):
        model.fit(X, CLASSES)
        ask: Any = getattr(model, "predict_proba", model.predict)
        p = ask(NEW)
        covariance = np.asarray(theirs.cov_params())  # of log-odds against the first class
        for row, shares, errors in zip(NEW, p, model.predict_se(NEW, scale="mean"), strict=True):
            slopes = (np.diag(shares) - np.outer(shares, shares))[:, 1:]
            jacobian = np.kron(slopes, np.array([1.0, *row]))
            np.testing.assert_allclose(errors, np.sqrt(np.diag(jacobian @ covariance @ jacobian.T)), rtol=1e-6)
        low, high = model.predict_interval(NEW, 0.9)
        reach = stats.norm.isf(0.05) * model.predict_se(NEW, scale="mean") / (p * (1 - p))
        np.testing.assert_allclose(special.logit(high) - special.logit(p), reach, rtol=1e-9)
        np.testing.assert_allclose(special.logit(p) - special.logit(low), reach, rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "y", "law"),
    [
        (PoissonRegressor(), COUNTS, lambda mean, phi: stats.poisson(mean)),
        (GLM(NegativeBinomial(2.0)), COUNTS, lambda mean, phi: stats.nbinom(2, 2 / (2 + mean))),
        (GammaRegressor(), POSITIVE, lambda mean, phi: stats.gamma(1 / phi, scale=mean * phi)),
        (GLM("inverse_gaussian", "log"), POSITIVE, lambda mean, phi: stats.invgauss(mean * phi, scale=1 / phi)),
        (GLM("gaussian", "log"), POSITIVE, lambda mean, phi: stats.norm(mean, np.sqrt(phi))),
        (GLM("exponential", "log"), POSITIVE, lambda mean, phi: stats.expon(scale=mean)),
    ],
    ids=["poisson", "negative binomial", "gamma", "inverse gaussian", "gaussian/log", "exponential"],
)
def test_intervals_of_observations_cover_what_they_say(model: Any, y: np.ndarray, law: Any) -> None:
    """The distribution function at the ends, averaged over the predictor's by another quadrature, is the level."""
    model.fit(X, y)
    fit = model.summary().inference
    error = stats.t(fit.df_residual) if fit.distribution == "t" else stats.norm()
    ends = model.predict_interval(NEW, 0.9, of="observation")
    predictors = np.log(model.predict(NEW))
    for share, row in zip((0.05, 0.95), ends, strict=True):
        for end, z, se in zip(row, predictors, model.predict_se(NEW), strict=True):

            def below(value: float, z: float = z, se: float = se) -> float:
                chance = lambda e: law(np.exp(z + se * e), fit.dispersion).cdf(value) * error.pdf(e)  # noqa: E731
                return float(integrate.quad(chance, -8, 8, epsabs=1e-10)[0])

            if fit.density:
                assert below(end) == pytest.approx(share, abs=1e-6)
            else:
                assert below(end) >= share > below(end - 1)


def test_observations_of_amounts_with_zeros() -> None:
    random = np.random.default_rng(5)
    family = Tweedie(1.5)
    x = random.normal(size=(120, 2))
    y = family.draw(family.natural_parameter(np.exp(0.5 + x @ [0.6, -0.4])), random)
    low, high = GLM(family).fit(x, y).predict_interval(x, 0.9, of="observation")
    assert np.mean(y > high) == pytest.approx(0.05, abs=0.045)
    assert np.mean(y < low) <= 0.05 + 0.03  # where 0 has a share of its own, less
    assert (low >= 0).all()


def test_ends_stay_in_the_range_of_the_mean() -> None:
    y = np.abs(POSITIVE) + 0.1
    for link in ("inverse", "identity", "sqrt"):
        model = GLM("gamma", link).fit(np.abs(X) + 0.1, y)
        low, high = model.predict_interval([[30.0, 0.0], [0.0, 40.0], [1.0, 1.0]])
        assert (low >= 0).all(), link
        assert (high >= low).all(), link


@pytest.mark.needs("torch")
@pytest.mark.parametrize(
    "model", [PoissonRegressor(), LogisticRegression(), GLM("beta"), LogisticRegression(C=1.0)], ids=str
)
def test_every_kind_of_rows_has_the_same_intervals(model: Any) -> None:
    import torch

    y = {"PoissonRegressor": COUNTS, "GLM": special.expit(Z + RNG.normal(size=120))}.get(type(model).__name__, CLASSES)
    model.fit(X, y)
    here = np.stack(model.predict_interval(NEW, 0.9))
    for other in (sparse.csr_array(NEW), NEW.tolist(), torch.asarray(NEW)):
        np.testing.assert_allclose(np.stack([np.asarray(end) for end in model.predict_interval(other, 0.9)]), here)
    batches = model.predict_interval(iter([NEW[:1], NEW[1:]]), 0.9)
    np.testing.assert_allclose(np.concatenate([np.stack(each) for each in batches], axis=1), here)


def test_columns_far_from_zero_keep_the_digits_of_intervals(tmp_path: Path) -> None:
    far = X + np.array([1e7, 0.0])
    near, model = (LogisticRegression(tol=1e-12).fit(x, CLASSES > 0) for x in (X, far))
    model.save(tmp_path / "model")
    for each in (model, suffice.load(tmp_path / "model")):
        np.testing.assert_allclose(each.predict_se(far), near.predict_se(X), rtol=1e-6)


def test_collinear_columns_leave_errors_of_predictions_as_they_are(tmp_path: Path) -> None:
    twice = np.column_stack([X, X[:, 0]])
    for settings in ({}, {"covariance": "HC3"}):
        with pytest.warns(suffice.discriminative.CollinearityWarning, match="x2 = a combination of x0"):
            model = PoissonRegressor(**settings, tol=1e-12).fit(twice, COUNTS)
        expected = PoissonRegressor(**settings, tol=1e-12).fit(X, COUNTS).predict_se(X)
        np.testing.assert_allclose(model.predict_se(twice), expected, rtol=1e-6)
        assert np.isnan(model.summary().inference.standard_errors).tolist() == [False, True, False, True]
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(suffice.load(tmp_path / "model").predict_se(twice), model.predict_se(twice))


def test_separated_classes_have_intervals_under_firths_penalty() -> None:
    x = np.arange(8.0)[:, None]
    low, high = LogisticRegression(bias_reduction=True).fit(x, np.arange(8) > 3).predict_interval(x)
    assert ((low >= 0) & (low < high) & (high <= 1)).all()


def test_a_known_dispersion_has_normal_intervals() -> None:
    for model in (LinearRegression(dispersion=2.0), GLM(dispersion=2.0)):
        model.fit(X, Z)
        low, high = model.predict_interval(NEW)
        np.testing.assert_allclose((high - low) / 2, stats.norm.isf(0.025) * model.predict_se(NEW))


def test_a_file_without_the_centre_of_its_covariance_is_read(tmp_path: Path) -> None:
    twice = np.column_stack([X, X[:, 0]])
    with pytest.warns(suffice.discriminative.CollinearityWarning, match="x2 = a combination of x0"):
        model = PoissonRegressor().fit(twice, COUNTS)
    model.save(tmp_path / "model")
    contents = store.read(tmp_path / "model")
    arrays = {name: each for name, each in contents.arrays.items() if name != "undetermined"}
    covariance = model.covariance_.matrix
    known = np.isfinite(np.diagonal(covariance))
    arrays |= {"known": known, "covariance": covariance[np.ix_(known, known)]}
    store.write(tmp_path / "older", replace(contents, arrays=arrays))
    np.testing.assert_array_equal(suffice.load(tmp_path / "older").covariance_.matrix, covariance)


@pytest.mark.needs("torch")
def test_rows_of_torch_have_diagnostics_profiles_and_anova() -> None:
    import torch

    model = PoissonRegressor(tol=1e-12).fit(X, COUNTS)
    x, y = torch.asarray(X), torch.asarray(COUNTS)
    there, here = model.diagnostics(x, y), model.diagnostics(X, COUNTS)
    np.testing.assert_allclose(there.dfbetas, here.dfbetas, rtol=1e-6, atol=1e-10)
    profile = np.asarray(model.confint(method="profile", X=x, y=y))
    np.testing.assert_allclose(profile, np.asarray(model.confint(method="profile", X=X, y=COUNTS)), rtol=1e-6)
    np.testing.assert_allclose(suffice.anova(model, X=x, y=y)["p"], suffice.anova(model, X=X, y=COUNTS)["p"], rtol=1e-6)


@pytest.mark.parametrize("model", [LinearRegression(), GLM("gaussian"), GLM("gamma", "log")], ids=repr)
def test_the_scale_of_sampling_weights_does_not_move_intervals_of_observations(model: Any) -> None:
    rng = np.random.default_rng(8)
    x, often = rng.normal(size=(80, 1)), rng.uniform(0.5, 2.0, 80)
    y = np.exp(rng.normal(size=80) / 4)
    model = clone(model).set_params(weights="sampling")
    ends = [np.stack(model.fit(x, y, scale * often).predict_interval(x[:3], of="observation")) for scale in (1, 1e6)]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-6)
    plain = np.stack(model.set_params(weights="frequency").fit(x, y).predict_interval(x[:3], of="observation"))
    np.testing.assert_allclose(ends[0], plain, rtol=0.2)  # weights that tell nothing about y
    assert "of weighted rows, and no test" in str(model.set_params(weights="sampling").fit(x, y, often).summary())


@pytest.mark.parametrize("number", [np.int64(4), np.float32(4.0)])
def test_a_dispersion_may_be_a_number_of_numpy(number: Any) -> None:
    x = np.random.default_rng(9).normal(size=(30, 1))
    y = np.arange(30) % 5
    for model in (LinearRegression(), GLM("poisson")):
        ends = [clone(model).set_params(dispersion=each).fit(x, y).confint() for each in (number, 4.0)]
        np.testing.assert_array_equal(np.asarray(ends[0]), np.asarray(ends[1]))

"""Rows that stand for several trials are one observation each: robust errors, degrees of freedom, criteria."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import sparse, stats

from suffice import GLM, LogisticRegression, PoissonRegressor, SoftmaxRegression
from suffice.data import EncodedDataset
from suffice.discriminative.robust import robust_covariance
from suffice.families import Response
from suffice.kernels import ArrayEngine, Batch

KINDS = ("HC0", "HC1", "HC2", "HC3")
LINKS = {
    "logit": (sm.families.links.Logit(), lambda z: np.exp(-z) / (1 + np.exp(-z)) ** 2),
    "probit": (sm.families.links.Probit(), stats.norm.pdf),
    "cloglog": (sm.families.links.CLogLog(), lambda z: np.exp(z - np.exp(z))),
}

# Milicer and Szczotka (1966), Age at menarche in Warsaw girls: age, girls, girls that have reached it.
MENARCHE = np.array(
    [
        [9.21, 376, 0], [10.21, 200, 0], [10.58, 93, 0], [10.83, 120, 2], [11.08, 90, 2], [11.33, 88, 5],
        [11.58, 105, 10], [11.83, 111, 17], [12.08, 100, 16], [12.33, 93, 29], [12.58, 100, 39], [12.83, 108, 51],
        [13.08, 99, 47], [13.33, 106, 67], [13.58, 105, 81], [13.83, 117, 88], [14.08, 98, 79], [14.33, 97, 90],
        [14.58, 120, 113], [14.83, 102, 95], [15.08, 122, 117], [15.33, 111, 107], [15.58, 94, 92], [15.83, 114, 112],
        [17.58, 1049, 1049],
    ]
)  # fmt: skip


def groups(n: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, successes and trials whose probabilities vary more than the model says."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 2))
    trials = random.integers(5, 120, n)
    p = 1 / (1 + np.exp(-x @ [0.8, -0.4] - 0.6 * random.normal(size=n)))
    return x, random.binomial(trials, p), trials


def sandwich(kind: str, link: str, x: np.ndarray, k: np.ndarray, n: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the covariance as R's sandwich defines it for ``glm(cbind(k, n - k) ~ x)``: a group is an observation."""
    design = sm.add_constant(x)
    z = design @ theta
    mean, slope = LINKS[link][0].inverse(z), LINKS[link][1](z)
    working = n * slope**2 / (mean * (1 - mean))
    bread = np.linalg.inv(design.T @ (working[:, None] * design))
    score = (k - n * mean) * slope / (mean * (1 - mean))
    leverage = working * np.einsum("ij,jk,ik->i", design, bread, design)
    factor = {
        "HC0": 1.0,
        "HC1": len(n) / (len(n) - design.shape[1]),
        "HC2": 1 / (1 - leverage),
        "HC3": 1 / (1 - leverage) ** 2,
    }[kind]
    return bread @ (design.T @ ((score**2 * factor)[:, None] * design)) @ bread


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("kind", KINDS)
def test_robust_errors_of_trials_are_those_of_the_sandwich(kind: Any, link: str) -> None:
    x, k, n = groups()
    model = GLM("binomial", link, covariance=kind, tol=1e-12).fit(x, k, trials=n)
    theirs = sandwich(kind, link, x, k, n, model.theta_[:, 0])
    fit = model.summary().inference
    np.testing.assert_allclose(fit.covariance, theirs, rtol=1e-9)
    shares = GLM("binomial", link, covariance=kind, tol=1e-12).fit(x, k / n, sample_weight=n).summary().inference
    np.testing.assert_allclose(shares.covariance, theirs, rtol=1e-9)
    if (kind, link) == ("HC0", "logit"):
        both = sm.GLM(np.column_stack([k, n - k]), sm.add_constant(x), family=sm.families.Binomial())
        np.testing.assert_allclose(fit.standard_errors, both.fit(cov_type=kind, tol=1e-14).bse, rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_a_group_of_weight_two_is_two_groups(kind: Any) -> None:
    x, k, n = groups()
    often = np.arange(len(n)) % 3
    model = GLM("binomial", covariance=kind, tol=1e-12)
    once = model.fit(x, k, often, trials=n).summary().inference
    x, k, n = (np.repeat(each, often, axis=0) for each in (x, k, n))
    twice = model.fit(x, k, trials=n).summary().inference
    np.testing.assert_allclose(once.covariance, twice.covariance, rtol=1e-8)
    assert once.rows == twice.rows
    assert once.bic == pytest.approx(twice.bic)


def test_weights_of_zeros_and_ones_still_count_rows() -> None:
    x, _, n = groups()
    y = (x[:, 0] + np.random.default_rng(1).normal(size=len(x)) > 0).astype(float)
    model = GLM("binomial", covariance="HC1", tol=1e-12)
    once = model.fit(x, y, n).summary().inference
    often = model.fit(np.repeat(x, n, axis=0), np.repeat(y, n)).summary().inference
    np.testing.assert_allclose(once.covariance, often.covariance, rtol=1e-8)
    assert once.rows == n.sum()


def test_rates_with_exposures_as_weights_are_counts_with_exposures() -> None:
    random = np.random.default_rng(2)
    x, hours = random.normal(size=(60, 2)), random.uniform(0.2, 40, 60)
    counts = random.poisson(hours * np.exp(0.3 * x[:, 0] + 0.5 * random.normal(size=60)))
    for kind in KINDS:
        model = PoissonRegressor(covariance=kind, tol=1e-12)
        known = model.fit(x, counts, exposure=hours).summary().inference
        rates = model.fit(x, counts / hours, sample_weight=hours).summary().inference
        np.testing.assert_allclose(rates.covariance, known.covariance, rtol=1e-7)
        for name in ("log_likelihood", "deviance", "df_residual", "aic", "bic"):
            assert getattr(rates, name) == pytest.approx(getattr(known, name), rel=1e-9), name


def test_degrees_of_freedom_count_groups_as_in_r() -> None:
    """R's glm of these rows: deviance 26.70 on 23 degrees of freedom, null deviance 3693.9 on 24, AIC 114.76."""
    age, girls, reached = MENARCHE.T
    for given in ({"y": reached, "trials": girls}, {"y": reached / girls, "sample_weight": girls}):
        fit = GLM("binomial").fit(age[:, None], **given).summary().inference
        assert (fit.rows, fit.df_residual) == (25, 23)
        assert round(fit.deviance, 2) == 26.70
        assert round(fit.null_deviance, 1) == 3693.9
        assert round(fit.aic, 2) == 114.76
        assert fit.bic == pytest.approx(fit.aic - 4 + 2 * np.log(25))
        np.testing.assert_allclose(fit.estimate, [-21.22639, 1.63197], rtol=1e-5)
        np.testing.assert_allclose(fit.standard_errors, [0.77068, 0.05895], rtol=1e-4)


@pytest.mark.needs("torch")
def test_shares_on_other_arrays() -> None:
    x, k, n = groups()
    response, theta = Response.of("bernoulli"), np.array([[0.1], [0.8], [-0.4]])
    rows = Batch(x, k / n, n.astype(float), trials=n.astype(float))
    information = np.diag([300.0, 200.0, 250.0])

    def covariance(rows: Batch, engine: Any = None) -> np.ndarray:
        data = EncodedDataset.of_batch(rows, engine or ArrayEngine())
        return robust_covariance("HC3", data, response, theta, True, information, len(k)).matrix

    whole = covariance(rows)
    np.testing.assert_allclose(covariance(Batch(sparse.csr_array(x), k / n, rows.weight, trials=rows.trials)), whole)
    import torch

    foreign = Batch(*(torch.asarray(each) for each in (x, k / n, rows.weight)), trials=torch.asarray(rows.trials))
    np.testing.assert_allclose(covariance(foreign), whole)
    model = GLM("binomial", "cloglog", covariance="HC2")
    here = model.fit(x, k, trials=n).summary().inference.covariance
    for other in (sparse.csr_array(x), torch.asarray(x)):
        np.testing.assert_allclose(model.fit(other, k, trials=n).summary().inference.covariance, here, rtol=1e-7)
    shares = model.fit(torch.asarray(x), torch.asarray(k / n), n).summary().inference
    np.testing.assert_allclose(shares.covariance, here, rtol=1e-7)


def test_classes_have_no_trials() -> None:
    with pytest.raises(ValueError, match="trials need counts of successes, but y of LogisticRegression holds"):
        LogisticRegression().fit(np.arange(4.0)[:, None], [3, 5, 5, 3], trials=[9, 9, 9, 9])


@pytest.mark.parametrize("make", [LogisticRegression, SoftmaxRegression])
def test_robust_errors_of_class_weights_are_those_of_variance_weights(make: Any) -> None:
    """The weight of a class multiplies the scores of its rows, which are squared: they are no more rows for it."""
    random = np.random.default_rng(5)
    x = random.normal(size=(400, 2))
    y = (random.random(400) < 1 / (1 + np.exp(3 - x[:, 0]))).astype(int)
    often = random.integers(1, 4, 400).astype(float)
    model = make(class_weight={0: 0.5, 1: 9.5}, covariance="HC0", tol=1e-12).fit(x, y, often)
    each = np.where(y == 1, 9.5, 0.5)
    design, family = sm.add_constant(x), sm.families.Binomial()
    theirs = sm.GLM(y, design, family=family, var_weights=each, freq_weights=often).fit(cov_type="HC0", tol=1e-14)
    fit = model.summary().inference
    np.testing.assert_allclose(fit.standard_errors, theirs.bse, rtol=1e-7)
    assert fit.rows == often.sum()
    assert fit.log_likelihood == pytest.approx(theirs.llf)
    for kind in KINDS:
        model = make(class_weight="balanced", covariance=kind, tol=1e-12)
        once = model.fit(x, y, often).summary().inference
        twice = model.fit(np.repeat(x, often.astype(int), axis=0), np.repeat(y, often.astype(int))).summary().inference
        np.testing.assert_allclose(once.covariance, twice.covariance, rtol=1e-7)

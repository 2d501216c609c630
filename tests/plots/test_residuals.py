"""Residuals and rootograms, compared with the models and with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import nbinom, poisson

from suffice import (
    GDA,
    GLM,
    GammaRegressor,
    LinearRegression,
    PoissonRegressor,
)
from suffice.families import NegativeBinomial
from suffice.plots import ResidualsDisplay
from tests.plots.conftest import Rows


def test_residuals_of_linear_and_generalised_linear_models() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(300, 2))
    counts = random.poisson(np.exp(0.5 + x @ [0.4, 0.2]))
    linear = LinearRegression().fit(x, counts)
    plain = ResidualsDisplay.from_estimator(linear, x, counts)
    np.testing.assert_allclose(plain.residuals, counts - linear.predict(x))
    model = PoissonRegressor().fit(x, counts)
    mean = model.predict(x)
    pearson = ResidualsDisplay.from_estimator(model, x, counts, kind="residuals")
    np.testing.assert_allclose(pearson.residuals, (counts - mean) / np.sqrt(mean))
    gamma = GammaRegressor().fit(x, counts + 1.0)
    relative = ResidualsDisplay.from_estimator(gamma, x, counts + 1.0)
    np.testing.assert_allclose(relative.residuals, (counts + 1.0) / gamma.predict(x) - 1)


def test_pearson_residuals_of_other_families() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(100, 2))
    y = (x[:, 0] + random.normal(size=100) > 0).astype(float)
    shares = GLM("bernoulli").fit(x, y)
    p = shares.predict(x)
    pearson = ResidualsDisplay.from_estimator(shares, x, y)
    np.testing.assert_allclose(pearson.residuals, (y - p) / np.sqrt(p * (1 - p)))
    plain = GLM("gaussian").fit(x, y)
    np.testing.assert_allclose(ResidualsDisplay.from_estimator(plain, x, y).residuals, y - plain.predict(x))


def test_expected_counts_are_poisson_by_default() -> None:
    display = ResidualsDisplay([0, 0, 1, 3], [0.5, 0.5, 1.0, 2.0], kind="counts").plot()
    assert display.observed.tolist() == [2, 1, 0, 1]
    expected = [sum(poisson.pmf(count, mean) for mean in (0.5, 0.5, 1.0, 2.0)) for count in range(4)]
    np.testing.assert_allclose(display.expected, expected)
    bottoms = [bar.get_y() for bar in display.ax_.patches]  # type: ignore[attr-defined]
    np.testing.assert_allclose(bottoms, np.sqrt(expected) - np.sqrt(display.observed))
    assert ResidualsDisplay([0.5], [1.0]).counts is None


def test_expected_counts_use_the_family_of_the_model() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(80, 1))
    y = random.negative_binomial(2, 2 / (2 + np.exp(x[:, 0])))
    model = GLM(NegativeBinomial(theta=2)).fit(x, y)
    display = ResidualsDisplay.from_estimator(model, x, y, kind="counts")
    mean = model.predict(x)
    expected = [nbinom(2, 2 / (2 + mean)).pmf(count).sum() for count in range(int(y.max()) + 1)]
    np.testing.assert_allclose(display.expected, expected, rtol=1e-9)
    np.testing.assert_allclose(display.residuals, (y - mean) / np.sqrt(mean + mean**2 / 2))


def test_residuals_from_predictions_equal_those_from_the_estimator() -> None:
    x = np.arange(12.0)[:, None]
    y = 2 * x[:, 0] + np.tile([0.5, -0.5], 6)
    model = LinearRegression().fit(x, y)
    one = ResidualsDisplay.from_predictions(y, model.predict(x))
    np.testing.assert_allclose(one.residuals, ResidualsDisplay.from_estimator(model, x, y).residuals)


def test_invalid_input_raises(two_classes: Rows) -> None:
    x, y = two_classes
    with pytest.raises(ValueError, match=r"kind must be one of .*; got 'beauty'"):
        ResidualsDisplay([0.5], [1.0], kind="beauty")
    with pytest.raises(ValueError, match="LinearRegression predicts 2 numbers per row: give one column at a time"):
        ResidualsDisplay.from_estimator(LinearRegression().fit(x, x[:, :2]), x, x[:, :2])
    with pytest.raises(ValueError, match="GDA predicts classes"):
        ResidualsDisplay.from_estimator(GDA().fit(x, y), x, y)
    with pytest.raises(ValueError, match="kind='counts' needs integers"):
        ResidualsDisplay([0.5], [1.0], kind="counts")
    with pytest.raises(ValueError, match="both must be"):
        ResidualsDisplay([0.5], [1.0, 2.0])
    with pytest.raises(ValueError, match="variances must be above 0"):
        ResidualsDisplay([0.5], [1.0], variance=[0.0])

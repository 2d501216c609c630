"""Displays of links, exponential families and Gaussian discriminants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import GDA, GLM, BernoulliNB, GammaRegressor, LinearRegression, LogisticRegression, PoissonRegressor
from suffice.families import Gamma, NegativeBinomial
from suffice.plots import DiscriminantDisplay, FamilyDisplay, LinkDisplay
from tests.plots.conftest import Rows


def test_link_of_logistic_regression_is_the_sigmoid(two_classes: Rows) -> None:
    x, y = two_classes
    model = LogisticRegression(C=1.0).fit(x, y)
    display = LinkDisplay.from_estimator(model, x, y)
    np.testing.assert_allclose(display.mean, 1 / (1 + np.exp(-display.z)))
    assert display.points is not None
    np.testing.assert_allclose(display.points[:, 0], model.decision_function(x))
    np.testing.assert_array_equal(model.classes_[display.points[:, 1].astype(int)], y)
    assert display.target == "P(y = middle)"


def test_link_of_a_poisson_regression_is_the_exponential() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2))
    y = random.poisson(np.exp(0.5 + x[:, 0]))
    model = GLM(family="poisson").fit(x, y)
    display = LinkDisplay.from_estimator(model, x, y)
    assert display.points is not None
    np.testing.assert_allclose(np.exp(display.points[:, 0]), model.predict(x))
    np.testing.assert_allclose(display.mean, np.exp(display.z))


@pytest.mark.parametrize(
    "model", [PoissonRegressor(), GammaRegressor(), LinearRegression()], ids=lambda m: type(m).__name__
)
def test_links_of_named_regressions_are_those_of_their_predictions(model: Any) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2))
    model.fit(x, random.poisson(np.exp(0.5 + x[:, 0])) + 1.0)
    display = LinkDisplay.from_estimator(model, x)
    at = np.interp(0.3, display.z, display.mean)
    theta = model.theta_.ravel()
    row = np.array([[(0.3 - theta[0]) / theta[1], 0.0]])  # its linear predictor is 0.3
    np.testing.assert_allclose(at, model.predict(row)[0], rtol=1e-3)


def test_boundaries_of_three_classes_are_drawn_once(three_classes: Rows) -> None:
    x, y = three_classes
    display = DiscriminantDisplay.from_estimator(GDA().fit(x[:, :2], y), x[:, :2], y, beside=None)
    drawn = [each for each in display.ax_.collections if getattr(each, "levels", [1.0])[0] == 0.0]
    points = np.concatenate([path.vertices for each in drawn for path in each.get_paths()])
    rounded = np.round(points, 6)
    assert len(points) > 50
    assert len(np.unique(rounded, axis=0)) > 0.95 * len(rounded)


def test_links_refuse_other_models(three_classes: Rows) -> None:
    x, y = three_classes
    with pytest.raises(ValueError, match="GDA has no link"):
        LinkDisplay.from_estimator(GDA().fit(x, y), x)
    with pytest.raises(ValueError, match="3 linear predictors: the link is of one"):
        LinkDisplay.from_estimator(LogisticRegression(C=1.0).fit(x, y), x)
    with pytest.raises(ValueError, match="low must be less than high; got 1 and 1"):
        LinkDisplay.from_link("logit", low=1, high=1)
    with pytest.raises(ValueError, match="no finite mean over z from -6 to 6"):
        LinkDisplay.from_link("inverse", low=-6, high=6)


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "exponential", NegativeBinomial(2.0)])
def test_derivatives_of_a_are_mean_and_variance(family: object) -> None:
    display = FamilyDisplay.from_family(family)
    inner = slice(2, -2)
    slope = np.gradient(display.log_partition, display.eta)
    np.testing.assert_allclose(slope[inner], display.mean[inner], rtol=2e-2, atol=1e-3)
    bend = np.gradient(display.mean, display.eta)
    np.testing.assert_allclose(bend[inner], display.variance[inner], rtol=5e-2, atol=1e-3)
    width = 1.0 if display.is_discrete else np.diff(display.y)[0]
    np.testing.assert_allclose(display.densities.sum(axis=1) * width, 1.0, atol=0.03)
    np.testing.assert_allclose((display.densities * display.y).sum(axis=1) * width, display.means, atol=0.3)


def test_family_of_a_model_is_drawn_at_its_predicted_means() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 1))
    model = GLM(family="poisson").fit(x, random.poisson(np.exp(x[:, 0])))
    display = FamilyDisplay.from_estimator(model, x)
    np.testing.assert_allclose(display.means, np.quantile(model.predict(x), [0.25, 0.5, 0.75]))
    of_poisson = FamilyDisplay.from_estimator(PoissonRegressor(alpha=0.0).fit(x, random.poisson(np.exp(x[:, 0]))), x)
    assert of_poisson.name == "poisson"
    logistic = LogisticRegression(C=1.0).fit(x, np.where(x[:, 0] + random.normal(size=60) > 0, "yes", "no"))
    coins = FamilyDisplay.from_estimator(logistic, x)
    assert coins.name == "bernoulli"
    np.testing.assert_allclose(coins.means, np.quantile(logistic.predict_proba(x)[:, 1], [0.25, 0.5, 0.75]))


def test_families_of_several_parameters_are_refused(two_classes: Rows) -> None:
    with pytest.raises(ValueError, match=r"the gamma family has not one natural parameter .*draw one that has"):
        FamilyDisplay.from_family(Gamma)
    with pytest.raises(ValueError, match=r"means must be inside \(0, 1\), the range of bernoulli; got \[2.0\]"):
        FamilyDisplay.from_family("bernoulli", means=[2.0])
    x = two_classes[0]
    with pytest.raises(ValueError, match=r"LinearRegression is no GLM, .*: use from_family"):
        FamilyDisplay.from_estimator(LinearRegression().fit(x, x[:, 0]), x)


def test_boundary_of_a_discriminant_is_where_classes_are_equally_probable(two_classes: Rows) -> None:
    x, y = two_classes
    frame = pd.DataFrame(x[:, :2], columns=["width", "length"])
    model = GDA().fit(frame, y)
    display = DiscriminantDisplay.from_estimator(model, frame, y, grid=6)
    assert display.features == ("width", "length")
    np.testing.assert_allclose(display.means, model.means_)
    point = pd.DataFrame([[display.first[2], display.second[1]]], columns=["width", "length"])
    for name, fitted in (("GDA", model), ("LogisticRegression", LogisticRegression().fit(frame, y))):
        p = fitted.predict_proba(point)[0]
        np.testing.assert_allclose(display.margins[name][0, 1, 2], p[0] - p[1], rtol=1e-6)
    alone = DiscriminantDisplay.from_estimator(model, frame, y, beside=None, grid=6)
    assert list(alone.margins) == ["GDA"]


def test_contours_of_a_class_are_at_its_standard_deviations(two_classes: Rows) -> None:
    x, y = two_classes
    display = DiscriminantDisplay.from_estimator(GDA("full").fit(x[:, :2], y), x[:, :2], y, grid=5)
    away = np.array([display.first[3], display.second[4]]) - display.means[1]
    expected = np.sqrt(away @ np.linalg.inv(display.covariances[1]) @ away)
    np.testing.assert_allclose(display.distances(1)[4, 3], expected)


def test_discriminants_refuse_other_models(three_classes: Rows) -> None:
    x, y = three_classes
    with pytest.raises(ValueError, match=r"two features, and the model has 3.*fit it to two"):
        DiscriminantDisplay.from_estimator(GDA().fit(x, y), x, y)
    two = x[:, :2]
    with pytest.raises(ValueError, match="LinearRegression has no class-conditional distributions"):
        DiscriminantDisplay.from_estimator(LinearRegression().fit(two, x[:, 2]), two, y)
    with pytest.raises(ValueError, match="BernoulliNB has no normal densities: give GDA or GaussianNB"):
        DiscriminantDisplay.from_estimator(BernoulliNB().fit(two > 0, y), two > 0, y)
    fewer = GDA().fit(two[:100], y[:100])
    with pytest.raises(ValueError, match="beside has the classes"):
        DiscriminantDisplay.from_estimator(GDA().fit(two, y), two, y, beside=fewer)
    with pytest.raises(ValueError, match="y holds 'high', which is none of the classes"):
        DiscriminantDisplay.from_estimator(fewer, two, y)

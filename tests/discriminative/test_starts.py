"""Fits without an intercept converge in a few steps: their start, and steps that the expected information misjudges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize

from suffice import GLM
from suffice.data import EncodedDataset
from suffice.discriminative.objective import NegativeLogLikelihood
from suffice.families import Response
from suffice.kernels import Batch
from suffice.solvers import Newton

LOG = sm.families.links.Log()


@pytest.mark.parametrize("family", ["gamma", "exponential"])
def test_means_far_from_what_the_model_can_say(family: str) -> None:
    """The gradient changes faster than the expected information tells: scoring alone took 144 steps, or did not end."""
    for seed in range(10):
        random = np.random.default_rng(seed)
        x = random.normal(size=(100, 3))
        y = random.gamma(2.0, np.exp(1 + x @ [0.5, -0.3, 0.2]) / 2)
        model = GLM(family, "log", fit_intercept=False).fit(x, y)
        assert model.solution_.converged
        assert model.n_iter_ <= 15
        reached = minimize(
            lambda theta, x=x, y=y: (y * np.exp(-x @ theta) + x @ theta).sum(),
            np.zeros(3),
            jac=lambda theta, x=x, y=y: x.T @ (1 - y * np.exp(-x @ theta)),
            options={"gtol": 1e-8},
        )
        np.testing.assert_allclose(model.coef_, reached.x, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e6])
@pytest.mark.parametrize(
    ("family", "theirs"),
    [("gamma", sm.families.Gamma(LOG)), ("exponential", sm.families.Gamma(LOG)), ("poisson", sm.families.Poisson())],
)
def test_a_column_of_ones_is_as_good_as_an_intercept(family: str, theirs: Any, scale: float) -> None:
    random = np.random.default_rng(3)
    x = sm.add_constant(random.normal(size=(100, 3)))
    mean = scale * np.exp(x @ [1.0, 0.5, -0.3, 0.2])
    y = random.poisson(mean) if family == "poisson" and scale >= 1 else random.gamma(2.0, mean / 2)
    model = GLM(family, "log", fit_intercept=False).fit(x, y)
    assert model.solution_.converged
    assert model.n_iter_ <= 12
    np.testing.assert_allclose(model.coef_, sm.GLM(y, x, family=theirs).fit(tol=1e-14).params, rtol=1e-4)


@pytest.mark.parametrize(
    ("family", "link"), [("gamma", "inverse"), ("gamma", "identity"), ("poisson", "identity"), ("gaussian", "log")]
)
@pytest.mark.parametrize("intercept", [True, False])
def test_other_families_and_links_start_well(family: str, link: str, intercept: bool) -> None:
    for seed in range(5):
        random = np.random.default_rng(seed)
        x = random.uniform(0.5, 2, size=(100, 3))
        z = x @ [0.5, 0.3, 0.2] + 0.3
        mean = {"inverse": 1 / z, "identity": z, "log": np.exp(z)}[link]
        y = {"gamma": random.gamma(2.0, mean / 2), "poisson": random.poisson(mean)}.get(family, mean + 0.3 * z)
        model = GLM(family, link, fit_intercept=intercept).fit(x, y)
        assert model.solution_.converged
        assert model.n_iter_ <= 20


def test_steps_of_canonical_links_are_newtons() -> None:
    """Where the information is the curvature itself, nothing is corrected: the gradient falls with its square."""
    random = np.random.default_rng(0)
    x = random.normal(size=(200, 3))
    y = (random.random(200) < 1 / (1 + np.exp(-x @ [1.0, -2.0, 0.5]))).astype(float)
    likelihood = NegativeLogLikelihood(EncodedDataset.of_batch(Batch(x, y)), Response.of("bernoulli"))
    theta = np.zeros((4, 1))
    trace = Newton(tol=1e-10).minimise(likelihood, theta).trace
    assert len(trace) > 3
    for step in trace:
        here = likelihood.value_gradient_hessian(theta)
        assert step.value == pytest.approx(here.value, rel=1e-12)
        np.testing.assert_allclose(step.theta, theta, rtol=1e-9, atol=1e-9)
        theta = theta - np.linalg.solve(here.hessian, here.gradient)

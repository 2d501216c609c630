"""Families and links of generalised linear models against R's glm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from suffice import GLM
from suffice.families import Response
from suffice.families.links import Power
from tests.references import r_data, r_design, r_results

CASES = {
    "binomial.probit": ("binomial", "probit"),
    "binomial.cauchit": ("binomial", "cauchit"),
    "binomial.cloglog": ("binomial", "cloglog"),
    "poisson.log": ("poisson", "log"),
    "poisson.sqrt": ("poisson", "sqrt"),
    "poisson.power_third": ("poisson", Power(1 / 3)),
    "gamma.log": ("gamma", "log"),
    "gamma.inverse": ("gamma", "inverse"),
    "gamma.identity": ("gamma", "identity"),
    "gamma.sqrt": ("gamma", "sqrt"),
    "inverse_gaussian.log": ("inverse_gaussian", "log"),
    "inverse_gaussian.canonical": ("inverse_gaussian", "inverse_squared"),
    "gaussian.log": ("gaussian", "log"),
    "gaussian.power_half": ("gaussian", "sqrt"),
}


def reference(name: str) -> tuple[Any, Any, Any]:
    group, model = name.split(".")
    found = r_results("glm")[group]
    rows = found["data"]
    design = r_design(rows, "x2 group" if model == "canonical" else "x1 x2 group")
    return found[model], design, r_data(rows)["y"]


@pytest.mark.parametrize("name", CASES)
def test_estimates_and_standard_errors_are_those_of_r(name: str) -> None:
    expected, X, y = reference(name)
    model = GLM(*CASES[name], tol=1e-10).fit(X, y)
    np.testing.assert_allclose([model.intercept_, *model.coef_], expected["coefficients"], rtol=1e-6, atol=1e-7)
    quasi = expected["dispersion"] / model.dispersion_  # R's quasi families have a dispersion where ours have none
    errors = model.summary().inference.standard_errors * np.sqrt(quasi)
    np.testing.assert_allclose(errors, expected["se"], rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), expected["fitted"], rtol=1e-6)
    assert model.facts_.deviance == pytest.approx(expected["deviance"], rel=1e-10)
    assert model.facts_.null_deviance == pytest.approx(expected["null_deviance"], rel=1e-8)
    if expected["dispersion"] == 1:
        assert model.facts_.log_likelihood == pytest.approx(expected["loglik"], rel=1e-10)


@pytest.mark.parametrize("name", ["gamma.log", "inverse_gaussian.log"])
def test_the_log_likelihood_is_that_of_r_at_its_dispersion(name: str) -> None:
    expected, X, y = reference(name)
    model = GLM(*CASES[name], tol=1e-10).fit(X, y)
    family = Response.of(*CASES[name]).likelihood
    phi = expected["deviance"] / len(y)  # R's logLik
    rows = (family.saturated(np, y).sum() - model.facts_.deviance / 2) / phi + family.log_base(np, y, phi).sum()
    assert rows == pytest.approx(expected["loglik"], rel=1e-10)

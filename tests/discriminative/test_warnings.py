"""Warnings of models: where they point to, and when there is nothing to warn about."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice.discriminative import CollinearityWarning, SeparationWarning
from suffice.discriminative.local_fit import FarFromDataWarning

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 2))
TWICE = np.column_stack([X, X[:, 0]])
LINE = np.arange(6.0)[:, None]
Y = RANDOM.integers(0, 2, 60)
THREE = RANDOM.integers(0, 3, 60)
APART = [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("warned", "kind"),
    [
        (lambda: suffice.LogisticRegression().fit(LINE, APART), SeparationWarning),
        (lambda: suffice.LogisticRegression().fit(TWICE, Y), CollinearityWarning),
        (lambda: suffice.LogisticRegression(max_iter=1, tol=1e-15).fit(X, Y), ConvergenceWarning),
        (lambda: suffice.LogisticRegression(bias_reduction=True, max_iter=1).fit(X, Y), ConvergenceWarning),
        (lambda: suffice.SoftmaxRegression().fit(LINE, [0, 0, 1, 1, 2, 2]), SeparationWarning),
        (lambda: suffice.SoftmaxRegression().fit(TWICE, THREE), CollinearityWarning),
        (lambda: suffice.GLM("binomial").fit(LINE, APART), SeparationWarning),
        (lambda: suffice.GLM("poisson").fit(TWICE, THREE), CollinearityWarning),
        (lambda: suffice.GLM("poisson", solver="batch", max_iter=1).fit(X, THREE), ConvergenceWarning),
        (lambda: suffice.LinearRegression().fit(TWICE, Y), CollinearityWarning),
        (lambda: suffice.NBLogisticRegression(C=1000.0, max_iter=1).fit(np.abs(X), Y), ConvergenceWarning),
        (lambda: suffice.Perceptron(max_iter=1).fit(X, Y), ConvergenceWarning),
        (
            lambda: suffice.LocallyWeightedRegression(bandwidth=0.01).fit(X, Y).predict([[1e3, 1e3]]),
            FarFromDataWarning,
        ),
    ],
)
def test_a_warning_points_to_the_line_that_called_the_model(warned: Callable[[], Any], kind: type[Warning]) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warned()
    mine = [each for each in found if issubclass(each.category, kind)]
    assert mine
    assert {each.filename for each in mine} == {__file__}


@pytest.mark.parametrize("seed", range(3))
def test_means_at_the_end_of_their_range_are_not_called_dependent_columns(seed: int) -> None:
    """Rows with a mean of 1 under the log link have a curvature that outweighs all others."""
    random = np.random.default_rng(seed)
    x = np.column_stack([random.integers(0, 2, 40), random.normal(size=40)]).astype(float)
    y = (random.random(40) < np.where(x[:, 0] == 1, 0.97, 0.4)).astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", CollinearityWarning)
        model = suffice.GLM("bernoulli", "log").fit(x, y)
    notes = model.summary().inference.notes
    assert any("singular, though no columns are collinear" in note for note in notes)
    assert not any("dependent columns" in note for note in notes)
    with (
        pytest.warns(ConvergenceWarning, match="at an end of their range"),
        pytest.warns(CollinearityWarning, match=r"x2 = a combination of x0"),
    ):
        suffice.GLM("bernoulli", "log").fit(np.column_stack([x, 2 * x[:, 0]]), y)


@pytest.mark.parametrize(("family", "link"), [("poisson", "identity"), ("bernoulli", "identity"), ("bernoulli", "log")])
def test_an_optimum_on_the_boundary_of_the_means_is_mentioned(family: str, link: str) -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(size=(30, 2))
    mean = np.maximum(0.02, 0.05 + x[:, 0] - 0.2 * x[:, 1])
    y = rng.poisson(mean) if family == "poisson" else rng.binomial(1, np.minimum(mean, 1))
    with pytest.warns(ConvergenceWarning, match="rows are at an end of their range, so the optimum is on the boundary"):
        model = suffice.GLM(family, link).fit(x, y)
    assert not model.solution_.converged
    assert "standard errors do not hold" in str(model.summary())


def test_an_optimum_inside_the_range_of_the_means_converges() -> None:
    x = np.linspace(0, 1, 40)[:, None]
    model = suffice.GLM("poisson", "identity").fit(x, np.arange(40) % 3 + 1)
    assert model.solution_.converged

"""Solver traces: steps of a solver and of expectation maximisation."""

from __future__ import annotations

import numpy as np
import pytest

from suffice import (
    GDA,
    LinearRegression,
    LogisticRegression,
    Perceptron,
)
from suffice.plots import SolverTraceDisplay
from tests.plots.conftest import Rows


def test_trace_equals_that_of_the_solver(two_classes: Rows) -> None:
    x, y = two_classes
    model = LogisticRegression(C=1.0).fit(x, y)
    display = SolverTraceDisplay.from_estimator(model)
    assert display.gradient_norm is not None
    for step, *shown in zip(model.solution_.trace, display.passes, display.values, display.gradient_norm, strict=True):
        assert (step.passes, -step.value, step.gradient_norm) == tuple(shown)
    assert len(display.axes_) == 2


def test_trace_of_least_squares_is_that_of_j(two_classes: Rows) -> None:
    x, _ = two_classes
    y = 3 + x @ np.arange(1.0, x.shape[1] + 1) + np.random.default_rng(0).normal(size=len(x))
    model = LinearRegression(solver="batch").fit(x, y)
    display = SolverTraceDisplay.from_estimator(model)
    assert display.values[0] == pytest.approx(0.5 * (y @ y))
    assert display.values[-1] == pytest.approx(0.5 * ((model.predict(x) - y) ** 2).sum())
    assert display.axes_[0].get_ylabel() == "J(θ)"
    assert f"steps lower J from {0.5 * (y @ y):,.0f}" in display.figure_.get_suptitle() + display.axes_[0].get_title()


def test_trace_of_expectation_maximisation(two_classes: Rows) -> None:
    x, y = two_classes
    model = GDA().fit(x[::4], y[::4], unlabelled=x)
    display = SolverTraceDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.values, model.em_trace_)
    assert len(display.axes_) == 1


def test_invalid_input_raises(two_classes: Rows) -> None:
    x, y = two_classes
    with pytest.raises(ValueError, match="GDA has no trace"):
        SolverTraceDisplay.from_estimator(GDA().fit(x, y))
    with pytest.raises(ValueError, match="no trace: the normal equations are solved, in one step; choose another"):
        SolverTraceDisplay.from_estimator(LinearRegression().fit(x, x[:, 0]))
    with pytest.raises(ValueError, match="Perceptron maximises no likelihood: trace_ and mistakes_ have its epochs"):
        SolverTraceDisplay.from_estimator(Perceptron().partial_fit(x, y, classes=np.unique(y)))
    with pytest.raises(ValueError, match="one entry per step"):
        SolverTraceDisplay([1, 2], [1.0])

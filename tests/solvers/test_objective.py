"""A user's own objective is minimised by every solver whose capabilities it has; traces hold theta."""

from __future__ import annotations

import numpy as np
import pytest

import suffice
from suffice import GLM, LinearRegression, LogisticRegression, PoissonRegressor
from suffice.solvers import (
    Auto,
    BatchGradient,
    CoordinateDescent,
    Newton,
    Objective,
    StochasticGradient,
    Trace,
    ValueGradient,
    ValueGradientHessian,
)
from suffice.solvers import base as solvers_base
from suffice.solvers.base import Capability, thin_trace
from suffice.solvers.dual import DualAscent
from suffice.solvers.quasi_newton import QuasiNewton
from suffice.solvers.truncated_newton import TruncatedNewton


class LogCosh(Objective):
    """sum of a log cosh(theta - c) + (theta - c)^2 / 2: convex, with its minimum at c."""

    centre, scale = np.array([[1.0], [-2.0]]), np.array([[1.0], [3.0]])

    def value_gradient(self, theta):
        away = theta - self.centre
        value = float((self.scale * np.log(np.cosh(away)) + away**2 / 2).sum())
        return ValueGradient(value, self.scale * np.tanh(away) + away)

    def _diagonal(self, theta):
        return self.scale / np.cosh(theta - self.centre) ** 2 + 1


class LogCoshWithDiagonal(LogCosh):
    capabilities = frozenset({"hessian_diagonal"})

    def hessian_diagonal(self, theta):
        return self._diagonal(theta)


class LogCoshWithProduct(LogCoshWithDiagonal):
    capabilities = frozenset({"hessian_diagonal", "hessian_product"})

    def hessian_product(self, theta):
        return lambda step: self._diagonal(theta) * step


class LogCoshWithHessian(LogCosh):
    capabilities = frozenset({"hessian"})

    def value_gradient_hessian(self, theta):
        return ValueGradientHessian(*self.value_gradient(theta), np.diagflat(self._diagonal(theta)))


START = np.zeros((2, 1))


@pytest.mark.parametrize(
    ("solver", "objective"),
    [
        (Newton(), LogCoshWithHessian()),
        (CoordinateDescent(np.zeros((2, 1))), LogCoshWithHessian()),
        (TruncatedNewton(), LogCoshWithProduct()),
        *[
            (solver, kind())
            for solver in (QuasiNewton(), BatchGradient(), Auto())
            for kind in (LogCosh, LogCoshWithDiagonal, LogCoshWithProduct, LogCoshWithHessian)
        ],
    ],
    ids=lambda each: type(each).__name__,
)
def test_an_objective_of_ones_own_is_minimised(solver, objective):
    solution = solver.minimise(objective, START)
    assert solution.converged
    np.testing.assert_allclose(solution.theta, LogCosh.centre, atol=1e-6)
    assert solution.value == pytest.approx(0, abs=1e-12)
    assert solution.gradient_norm == np.abs(solution.gradient).max() < 1e-6
    for step in solution.trace:
        value, gradient = objective.value_gradient(step.theta)
        assert (step.value, step.gradient_norm) == (value, np.abs(gradient).max())


@pytest.mark.parametrize(
    ("solver", "capability"),
    [
        (Newton(), "hessian"),
        (CoordinateDescent(np.zeros((2, 1))), "hessian"),
        (TruncatedNewton(), "hessian_product"),
        (StochasticGradient(), "epoch"),
        (DualAscent(), "dual"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_a_solver_names_what_an_objective_lacks(solver, capability: Capability):
    message = f"{type(solver).__name__} needs an objective that supports '{capability}', and LogCosh does not"
    with pytest.raises(TypeError, match=message):
        solver.minimise(LogCosh(), START)


def test_what_is_not_supported_cannot_be_called():
    for call in (Objective.value_gradient_hessian, Objective.hessian_diagonal, Objective.hessian_product):
        with pytest.raises(TypeError, match=r"LogCosh does not support 'hessian.*': ask supports"):
            call(LogCosh(), START)


# Traces.

RANDOM = np.random.default_rng(1)
X = RANDOM.normal(size=(200, 3))
Y = (RANDOM.random(200) < 1 / (1 + np.exp(-X @ [1.0, -1.0, 0.5] - 0.2))).astype(int)


def negative_log_likelihood(theta, x, y):
    z = theta[0, 0] + x @ theta[1:, 0]
    return float((np.logaddexp(0, z) - y * z).sum())


@pytest.mark.parametrize("far", [0.0, 1e6])
@pytest.mark.parametrize("solver", ["auto", "newton", "batch"])
def test_a_trace_holds_theta_of_every_step_in_the_units_of_the_rows(solver, far):
    model = LogisticRegression(solver=solver, max_iter=1000).fit(
        X + far, Y
    )  # far from zero, a solver sees centred rows
    steps = model.solution_.trace
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    for step in steps:
        assert step.value == pytest.approx(negative_log_likelihood(step.theta, X + far, Y), rel=1e-7)
    np.testing.assert_array_equal(steps[-1].theta, model.solution_.theta)
    assert model.n_iter_ == model.solution_.n_steps == len(steps)


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        LinearRegression("newton"),
        LogisticRegression(bias_reduction=True),
        LogisticRegression(C=1.0, l1_ratio=1.0),
    ],
    ids=str,
)
def test_other_fits_have_thetas_too(model):
    solution = model.fit(X, Y).solution_
    np.testing.assert_array_equal(solution.trace[-1].theta, solution.theta)
    assert all(step.theta.shape == solution.theta.shape for step in solution.trace)


def test_batches_add_a_step_each():
    model = PoissonRegressor()
    thetas = [model.partial_fit(X[at : at + 50], Y[at : at + 50]).theta_.copy() for at in range(0, 200, 50)]
    np.testing.assert_array_equal([step.theta for step in model.solution_.trace], thetas)


def test_a_long_trace_keeps_the_first_the_last_and_every_second_step(monkeypatch):
    monkeypatch.setattr(solvers_base, "MOST_STEPS", 8)
    trace = Trace()
    for number in range(1, 30):
        trace.add(START, float(number), START)
    numbers = [step.number for step in trace.steps]
    assert len(numbers) <= 8
    assert (numbers[0], numbers[-1]) == (1, 29)
    assert numbers == sorted(numbers)


def test_thetas_of_many_parameters_are_held_for_some_steps_only(monkeypatch):
    monkeypatch.setattr(solvers_base, "MOST_NUMBERS", 100)
    trace = Trace()
    for number in range(1, 30):
        trace.add(np.full((20, 1), number), float(number), None)
    held = [step.number for step in trace.steps if step.theta is not None]
    assert len(trace.steps) == 29
    assert 2 <= len(held) <= 5
    assert (held[0], held[-1]) == (1, 29)
    assert thin_trace(trace.steps) == tuple(trace.steps)


def test_a_file_holds_the_thetas_of_a_short_trace_alone(tmp_path):
    model = LogisticRegression().fit(X, Y)
    model.save(tmp_path / "short")
    again = suffice.load(tmp_path / "short")
    for one, two in zip(model.solution_.trace, again.solution_.trace, strict=True):
        assert one[:3] == two[:3]
        np.testing.assert_array_equal(one.theta, two.theta)
    long = GLM("binomial", solver=BatchGradient(step=1e-3, max_iter=1100, tol=1e-12))
    with pytest.warns(UserWarning, match="did not converge"):
        long.fit(X, Y)
    long.save(tmp_path / "long")
    read = suffice.load(tmp_path / "long")
    assert (read.n_iter_, len(read.solution_.trace)) == (1101, 1101)
    assert all(step.theta is None for step in read.solution_.trace)
    assert read.solution_.gradient_norm == long.solution_.gradient_norm

"""A solver of one's own is one class with a `minimise`: here the gradient method of Barzilai and Borwein."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

import suffice
from suffice import GLM, LinearRegression, LogisticRegression, PoissonRegressor, SoftmaxRegression
from suffice.solvers import Auto, Newton, Objective, Solution, Trace
from suffice.solvers.base import Convergence
from suffice.solvers.quasi_newton import QuasiNewton
from suffice.solvers.truncated_newton import TruncatedNewton
from suffice.store import StoreError


@dataclass(frozen=True)
class BarzilaiBorwein:
    """Steps along the gradient, each as long as the last change of the gradient suggests; the value may rise."""

    tol: float = 1e-8
    max_iter: int = 500

    def minimise(self, objective: Objective, start: np.ndarray) -> Solution:
        trace, test = Trace.of(objective), Convergence.of(objective, self.tol, start.size)
        theta = np.array(start, dtype=np.float64)
        value, gradient = objective.value_gradient(theta)
        trace.add(theta, value, gradient)
        scale = objective.hessian_diagonal(theta)  # makes the units of columns alike
        length, converged = 0.1, False
        for _ in range(self.max_iter):
            step = -length * gradient / scale
            converged = test.reached(float((gradient**2 / scale).sum()))
            if converged:
                break
            theta, before = theta + step, gradient
            value, gradient = objective.value_gradient(theta)
            trace.add(theta, value, gradient)
            length = float((step * scale * step).sum() / (step * (gradient - before)).sum())
        reason = "the scaled gradient vanishes" if converged else f"max_iter={self.max_iter} steps were made"
        return Solution(theta, value, gradient, converged, reason, tuple(trace.steps), weight=trace.weight)


RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 3)) * [1.0, 10.0, 0.1]
Z = 0.3 + X @ [0.5, -0.03, 2.0]
COUNTS = RANDOM.poisson(np.exp(Z))
CLASSES = (RANDOM.random(300) < 1 / (1 + np.exp(-Z))).astype(int)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LogisticRegression(), CLASSES),
        (LogisticRegression(C=1.0), CLASSES + (COUNTS > 2)),
        (SoftmaxRegression(), CLASSES + (COUNTS > 2)),
        (PoissonRegressor(), COUNTS),
        (GLM("gamma", "log"), COUNTS + 0.5),
        (LinearRegression(), Z + RANDOM.normal(size=300)),
    ],
    ids=str,
)
def test_regressions_are_fitted_by_a_solver_of_ones_own(model, y):
    expected = model.fit(X, y)
    found = clone(model).set_params(solver=BarzilaiBorwein()).fit(X, y)
    assert found.solution_.converged
    assert found.solution_.reason == "the scaled gradient vanishes"
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, rtol=1e-5, atol=1e-6)


def test_standard_errors_follow_from_the_theta_of_a_solver_of_ones_own():
    expected = LogisticRegression().fit(X, CLASSES).summary().frame()
    found = LogisticRegression(solver=BarzilaiBorwein()).fit(X, CLASSES).summary().frame()
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=1e-5, atol=1e-7)


def test_a_solver_of_ones_own_that_does_not_converge_is_told_of():
    with pytest.warns(UserWarning, match="LogisticRegression did not converge: max_iter=2 steps were made; pass 3"):
        LogisticRegression(solver=BarzilaiBorwein(max_iter=2)).fit(X, CLASSES)


def test_a_saved_model_names_the_solver_it_needs(tmp_path):
    model = LogisticRegression(solver=BarzilaiBorwein(tol=1e-7)).fit(X, CLASSES)
    model.save(tmp_path / "model")
    message = r"model needs the solver tests\.solvers\.test_own_solver:BarzilaiBorwein, .* families=\[BarzilaiBorwein\]"
    with pytest.raises(StoreError, match=message):
        suffice.load(tmp_path / "model")
    again = suffice.load(tmp_path / "model", families=[BarzilaiBorwein])
    assert again.solver == model.solver
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_a_solver_whose_settings_are_not_known_cannot_be_saved(tmp_path):
    class Plain:
        def minimise(self, objective, start):
            return BarzilaiBorwein().minimise(objective, start)

    model = LogisticRegression(solver=Plain()).fit(X, CLASSES)
    with pytest.raises(TypeError, match="cannot be saved, as its settings are unknown: make Plain a dataclass"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("solver", [TruncatedNewton(), QuasiNewton(), Newton(1e-6), Auto()], ids=repr)
def test_every_solver_of_the_library_can_be_saved(solver, tmp_path):
    LogisticRegression(solver=solver).fit(X, CLASSES).save(tmp_path / "model")
    assert suffice.load(tmp_path / "model").solver == solver

"""Batch gradient: where it arrives, and when it says that its steps are too long."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from suffice.families.response import Response
from suffice.kernels import Batch
from suffice.solvers import Objective, ValueGradient
from suffice.solvers.base import DivergenceError
from suffice.solvers.gradient import BatchGradient
from suffice.solvers.stochastic import StochasticGradient

from .rows import FAMILIES, GradientOnly, WithHessian, drawn, newton, start


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", [GradientOnly, WithHessian])
def test_it_arrives_at_the_optimum(family, kind):
    objective = drawn(family, kind=kind)
    solution = BatchGradient().minimise(objective, start(family))
    assert solution.converged
    assert solution.reason == "the largest scaled gradient is no more than 1e-08"
    np.testing.assert_allclose(solution.theta, newton(objective, start(family)), rtol=1e-5, atol=1e-6)
    values = [step.value for step in solution.trace]
    assert all(after <= before + 1e-9 * abs(before) for before, after in pairwise(values))


def test_a_given_step_is_the_notes_rule():
    objective = drawn("gaussian", 50)
    x = np.column_stack([np.ones(50), objective.batch.x])
    theta = np.zeros(4)
    for number in range(5):
        slope = x.T @ (objective.batch.y - x @ theta) - objective.l2 * theta * [0, 1, 1, 1]
        theta = theta + 0.1 / (1 + 0.5 * number) / 50 * slope
    solution = BatchGradient(step=0.1, decay=0.5, max_iter=5).minimise(objective, np.zeros((4, 1)))
    np.testing.assert_allclose(solution.theta[:, 0], theta, rtol=1e-12)
    assert not solution.converged
    assert solution.reason.startswith("all 5 steps were made, and the largest scaled gradient is still ")


@pytest.mark.parametrize("kind", [GradientOnly, WithHessian])
def test_the_trace_counts_every_pass(kind):
    objective = drawn("poisson", kind=kind)
    solution = BatchGradient(max_iter=30).minimise(objective, start("poisson"))
    assert solution.passes == objective.passes


@pytest.mark.parametrize(("family", "step"), [("gaussian", 3.0), ("poisson", 100.0), ("bernoulli", 1e4)])
@pytest.mark.parametrize("kind", [GradientOnly, WithHessian])
def test_steps_that_are_too_long_are_told(family, step, kind):
    objective = drawn(family, kind=kind)
    with pytest.raises(
        DivergenceError, match=rf"^step={step:g} is too long: after \d+ steps .*; try step=\S+$"
    ) as caught:
        BatchGradient(step=step).minimise(objective, start(family))
    better = float(str(caught.value).rpartition("=")[2])
    assert (
        BatchGradient(step=better).minimise(objective, start(family)).value
        < objective.value_gradient(start(family)).value
    )


@pytest.mark.parametrize("solver", [BatchGradient(max_iter=2), StochasticGradient(epochs=1, random_state=0)], ids=str)
def test_no_square_table_is_made_of_many_features(solver):
    x = sparse.random_array((30, 100_000), density=1e-3, rng=np.random.default_rng(0), format="csr")
    objective = WithHessian(Batch(x, np.arange(30) % 2), Response.of("bernoulli"), l2=1.0)
    assert solver.minimise(objective, np.zeros((100_001, 1))).value < 30 * np.log(2)


def test_a_start_at_the_optimum_is_the_end():
    objective = drawn("gaussian")
    best = newton(objective, start("gaussian"))
    solution = BatchGradient().minimise(objective, best)
    assert solution.converged
    assert np.array_equal(solution.theta, best)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 0.0}, "step must be finite and above 0, or None for a chosen one; got 0.0"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
        ({"power": -1.0}, "decay and power must be finite and not negative"),
    ],
)
def test_settings_must_make_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        BatchGradient(**settings)


def test_a_gradient_that_does_not_change_at_first_is_followed():
    class Ramp(Objective):
        """A line up to 1 and a parabola beyond: least at 2."""

        def value_gradient(self, theta):
            beyond = max(theta[0, 0] - 1, 0.0)
            return ValueGradient(beyond**2 / 2 - theta[0, 0], np.array([[beyond - 1]]))

    np.testing.assert_allclose(BatchGradient().minimise(Ramp(), np.zeros((1, 1))).theta, 2.0)

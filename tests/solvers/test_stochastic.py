"""Stochastic gradient: result, number of passes, and steps that are too long."""

from __future__ import annotations

import re

import numpy as np
import pytest

from suffice.families.response import Response
from suffice.kernels import Batch
from suffice.kernels.descent import Pace
from suffice.solvers.base import DivergenceError
from suffice.solvers.stochastic import StochasticGradient, shuffled

from .rows import FAMILIES, GradientOnly, drawn, newton, start


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("batch_rows", [1, 16])
@pytest.mark.parametrize("average", [True, False])
def test_it_comes_near_the_optimum(family, batch_rows, average):
    objective = drawn(family)
    solver = StochasticGradient(batch_rows=batch_rows, average=average, epochs=60, random_state=0)
    solution = solver.minimise(objective, start(family))
    best = newton(objective, start(family))
    gap = objective.value_gradient(solution.theta).value - objective.value_gradient(best).value
    assert 0 <= gap / objective.weight < (1e-4 if average else 1e-2)
    value, gradient = objective.value_gradient(solution.theta)
    assert solution.value == value
    assert np.array_equal(solution.gradient, gradient)


def test_an_epoch_is_the_notes_rule():
    objective = drawn("bernoulli", 40)
    solver = StochasticGradient(step=0.1, decay=0.05, power=1.0, epochs=1, shuffle=False, average=False)
    theta = np.zeros(4)
    for number, (x, y) in enumerate(zip(objective.batch.x, objective.batch.y, strict=True)):
        row = np.concatenate([[1.0], x])
        pull = objective.l2 / 40 * theta * [0, 1, 1, 1]
        theta = theta + 0.1 / (1 + 0.05 * number) * ((y - 1 / (1 + np.exp(-row @ theta))) * row - pull)
    np.testing.assert_allclose(solver.minimise(objective, np.zeros((4, 1))).theta[:, 0], theta, rtol=1e-12)


def test_later_epochs_count_more_in_the_average():
    objective = drawn("gaussian", 50)
    one, two = (objective.epoch(np.zeros((4, 1)), None, Pace(0.01, 0.1, 0.5)) for _ in range(2))
    two = objective.epoch(one.theta, None, Pace(0.01, 0.1, 0.5, first=50))
    solver = StochasticGradient(step=0.01, decay=0.1, epochs=2, shuffle=False, tol=0.0)
    np.testing.assert_allclose(
        solver.minimise(objective, np.zeros((4, 1))).theta, (one.mean + 2 * two.mean) / 3, rtol=1e-12
    )


def test_the_same_seed_gives_the_same_bits():
    objective = drawn("poisson")
    one, two, other = (
        StochasticGradient(epochs=3, random_state=seed).minimise(objective, start("poisson")).theta
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_sorted_rows_need_shuffling():
    objective = drawn("bernoulli", 400)
    order = np.argsort(objective.batch.y)
    objective.batch = Batch(objective.batch.x[order], objective.batch.y[order])
    best = objective.value_gradient(newton(objective, np.zeros((4, 1))))[0]

    def gap(shuffle: bool) -> float:
        solver = StochasticGradient(step=0.3, decay=0.0, epochs=5, average=False, shuffle=shuffle, random_state=0)
        return solver.minimise(objective, np.zeros((4, 1))).value - best

    assert gap(True) < gap(False) / 3


def test_the_trace_counts_every_pass():
    objective = drawn("bernoulli")
    solution = StochasticGradient(epochs=7, tol=1e-12, random_state=0).minimise(objective, start("bernoulli"))
    assert solution.passes == objective.passes
    assert len(solution.trace) == 8  # the start and the epochs
    assert not solution.converged
    assert re.fullmatch(r"all 7 epochs are over, and the largest scaled gradient is still \S+", solution.reason)
    passes = [step.passes for step in solution.trace]
    assert passes == sorted(passes)
    assert np.isfinite(solution.trace[-1].gradient_norm)


def test_it_stops_when_the_gradient_is_small():
    objective = drawn("bernoulli", 2000)
    solution = StochasticGradient(tol=3e-3, random_state=0).minimise(objective, start("bernoulli"))
    assert solution.converged
    assert len(solution.trace) < 30
    assert np.abs(solution.gradient).max() / 2000 <= 3e-3
    again = StochasticGradient(tol=3e-3, random_state=1).minimise(objective, solution.theta)
    assert again.converged
    assert again.passes == 1
    assert "at the start" in again.reason


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_the_step_it_chooses_suits_the_scale_of_the_features(family, scale):
    plain = drawn(family)
    solver = StochasticGradient(random_state=0, epochs=20, tol=0.0)

    def won(times: float) -> float:
        objective = GradientOnly(Batch(plain.batch.x * times, plain.batch.y), plain.response, intercept=False)
        return objective.value_gradient(np.zeros((3, 1))).value - solver.minimise(objective, np.zeros((3, 1))).value

    assert won(scale) == pytest.approx(won(1.0), rel=1e-2)


@pytest.mark.parametrize(("family", "step"), [("gaussian", 5.0), ("poisson", 50.0), ("bernoulli", 1e5)])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_steps_that_are_too_long_are_told(family, step, scale):
    objective = drawn(family, scale=scale)
    with pytest.raises(DivergenceError, match=rf"^step={step:g} is too long: in epoch 1 .*; try step=\S+$") as caught:
        StochasticGradient(step=step, random_state=0).minimise(objective, start(family))
    better = float(str(caught.value).rpartition("=")[2])
    assert better < step
    StochasticGradient(step=better, random_state=0).minimise(objective, start(family))


def test_noise_is_no_divergence():
    """Rows without anything to learn, of a large scale: every step makes things a little worse, and that is all."""
    rng = np.random.default_rng(0)
    objective = GradientOnly(Batch(rng.normal(size=(500, 3)), 1000 * rng.normal(size=500)), Response.of("gaussian"))
    StochasticGradient(step=0.05, decay=0.0, epochs=3, random_state=0).minimise(objective, np.zeros((4, 1)))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": -1.0}, "step must be finite and above 0; got -1"),
        ({"batch_rows": 0}, "at least one row"),
        ({"epochs": 0}, "epochs must be at least 1; got 0"),
        ({"decay": -1.0}, "decay must be finite and not negative; got -1"),
    ],
)
def test_settings_must_make_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        StochasticGradient(**settings)


def test_shuffled_orders_are_permutations_of_their_seed():
    assert np.array_equal(shuffled(4, None), [0, 1, 2, 3])
    assert shuffled(0, 3).shape == (0,)
    one = shuffled(1000, 3)
    assert one.dtype == np.int64
    assert np.array_equal(np.sort(one), np.arange(1000))
    assert np.array_equal(one, shuffled(1000, 3))
    assert not np.array_equal(one, shuffled(1000, 4))

"""Displays of steps: contours of a cost with the paths of solvers, tangents of Newton's method, local fits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from suffice import GDA, LinearRegression, LocallyWeightedRegression, LogisticRegression, Ridge
from suffice.plots import Animation, CostContoursDisplay, LocalFitDisplay, NewtonTangentDisplay
from suffice.solvers import BatchGradient, Newton, StochasticGradient
from tests.plots.conftest import Rows


@pytest.fixture
def line() -> Rows:
    random = np.random.default_rng(0)
    x = random.uniform(-1, 2, (30, 1))
    return x, 1 + 2 * x[:, 0] + random.normal(0, 0.5, 30)


def test_cost_on_the_grid_is_half_the_sum_of_squares(line: Rows) -> None:
    x, y = line
    model = Ridge(alpha=2.0).fit(x, y)
    display = CostContoursDisplay.from_estimator(model, x, y, grid=5)
    assert display.parameters == ("intercept", "θ of x0")
    expected = [
        [((y - one - two * x[:, 0]) ** 2).sum() / 2 + two**2 for one in display.first] for two in display.second
    ]
    np.testing.assert_allclose(display.cost - display.cost[0, 0], np.array(expected) - expected[0][0], atol=1e-9)
    np.testing.assert_allclose(display.optimum, [model.intercept_, model.coef_[0]])


def test_paths_of_all_solvers_begin_at_the_start_and_end_near_the_minimum(line: Rows) -> None:
    x, y = line
    display = CostContoursDisplay.from_estimator(LinearRegression().fit(x, y), x, y, start=(3.0, -1.0), grid=5)
    assert list(display.paths) == ["batch gradient", "stochastic gradient", "Newton"]
    for path in display.paths.values():
        np.testing.assert_array_equal(path[0], [3.0, -1.0])
        np.testing.assert_allclose(path[-1], display.optimum, atol=0.4)
    assert len(display.paths["stochastic gradient"]) > 3 * 30
    grid = [display.first[0], display.second[0]], [display.first[-1], display.second[-1]]
    for path in display.paths.values():
        assert (path > grid[0]).all()
        assert (path < grid[1]).all()


def test_solutions_of_two_features_without_an_intercept(two_classes: Rows) -> None:
    x, y = two_classes
    model = LogisticRegression(C=1.0, fit_intercept=False).fit(x[:, :2], y)
    objective = model.objective(x[:, :2], y)
    solutions = {"by hand": BatchGradient(step=0.1, max_iter=20).minimise(objective, np.zeros((2, 1)))}
    display = CostContoursDisplay.from_solutions(objective, solutions, grid=4)
    np.testing.assert_array_equal(display.paths["by hand"][-1], solutions["by hand"].theta.ravel())
    np.testing.assert_allclose(display.optimum, model.theta_.ravel(), rtol=1e-6)


def test_cost_contours_refuse_other_models(two_classes: Rows, line: Rows) -> None:
    x, y = two_classes
    with pytest.raises(ValueError, match="LogisticRegression has 4: intercept, θ of x0, θ of x1, θ of x2"):
        CostContoursDisplay.from_estimator(LogisticRegression(C=1.0).fit(x, y), x, y)
    with pytest.raises(ValueError, match="GDA has no objective"):
        CostContoursDisplay.from_estimator(GDA().fit(x, y), x, y)
    with pytest.warns(match="separates"):
        separated = LogisticRegression().fit([[1.0], [2.0], [3.0]], [0, 1, 1])
    with pytest.raises(ValueError, match="the cost has no minimum, since the classes are separated"):
        CostContoursDisplay.from_estimator(separated, [[1.0], [2.0], [3.0]], [0, 1, 1])
    with pytest.raises(ValueError, match="grid must be 2 or more; got 1"):
        CostContoursDisplay.from_estimator(LinearRegression().fit(*line), *line, grid=1)
    with pytest.raises(ValueError, match=r"paths\['a'\] must have the shape \(s, 2\)"):
        CostContoursDisplay([0, 1], [0, 1], np.zeros((2, 2)), {"a": [1.0, 2.0]}, [0, 0])


def test_steps_of_stochastic_gradient_are_those_of_its_epochs(line: Rows) -> None:
    x, y = line
    objective = LinearRegression().fit(x, y).objective(x, y)
    settings = {"step": 0.05, "epochs": 2, "average": False, "random_state": 3}
    epochs = StochasticGradient(**settings).minimise(objective, np.zeros((2, 1))).trace
    steps = StochasticGradient(**settings, trace_steps=True).minimise(objective, np.zeros((2, 1))).trace
    assert len(steps) == 1 + 2 * 30  # the start, and each row's step
    np.testing.assert_allclose(steps[30].theta, epochs[1].theta, rtol=1e-12)
    np.testing.assert_allclose(steps[-1].theta, epochs[2].theta, rtol=1e-12)
    np.testing.assert_allclose(sum(step.value for step in steps[1:31]), epochs[1].value)
    np.testing.assert_allclose(steps[30].passes, epochs[1].passes)
    assert steps[1].step == 0.05 > steps[30].step


def test_newton_finds_the_optimum_by_tangents(line: Rows) -> None:
    x, y = line
    classes = (y > 1).astype(int)
    model = LogisticRegression(C=1.0, fit_intercept=False).fit(x, classes)
    display = NewtonTangentDisplay.from_estimator(model, x, classes, start=0.5)
    np.testing.assert_allclose(display.guesses[-1], model.coef_.item(), rtol=1e-6)
    trace = Newton().minimise(model.objective(x, classes), np.array([[0.5]])).trace
    np.testing.assert_allclose(display.guesses[:3], [step.theta.item() for step in trace[:3]])
    assert abs(display.heights[-1]) < 1e-6


def test_newton_refuses_other_models_and_functions_without_a_root(two_classes: Rows) -> None:
    x, y = two_classes
    with pytest.raises(ValueError, match="one parameter, and LogisticRegression has 4"):
        NewtonTangentDisplay.from_estimator(LogisticRegression(C=1.0).fit(x, y), x, y)
    with pytest.raises(ValueError, match="GDA has no objective"):
        NewtonTangentDisplay.from_estimator(GDA().fit(x, y), x, y)
    with pytest.raises(ValueError, match=r"20 steps from start=0.5 do not reach a root"):
        NewtonTangentDisplay.from_function(lambda x: x**2 + 1, lambda x: 2 * x, start=0.5)
    with pytest.raises(ValueError, match="the tangent at 0 meets no zero"):
        NewtonTangentDisplay.from_function(lambda x: x**2 - 1, lambda x: 2 * x, start=0.0)


def test_local_fit_touches_the_curve_at_its_query() -> None:
    random = np.random.default_rng(0)
    x = random.uniform(0, 6, (50, 1))
    model = LocallyWeightedRegression(0.5).fit(x, np.sin(x[:, 0]))
    display = LocalFitDisplay.from_estimator(model, [1.0, 4.0])
    for fit in display.fits:
        np.testing.assert_allclose(fit.predict(fit.query[None, :]), model.predict(fit.query[None, :]))
    np.testing.assert_array_equal(display.curve, model.predict(display.grid[:, None]))
    assert len(display.axes_) == 2
    middle = LocalFitDisplay.from_estimator(model).fits[0].query[0]
    assert middle == (x.min() + x.max()) / 2


def test_local_fit_refuses_other_models(two_classes: Rows) -> None:
    x, y = two_classes
    with pytest.raises(ValueError, match="GDA has no local fits"):
        LocalFitDisplay.from_estimator(GDA().fit(x, y))
    with pytest.raises(ValueError, match=r"one feature, and the model has 3.*fit it to one"):
        LocalFitDisplay.from_estimator(LocallyWeightedRegression(1.0).fit(x, x[:, 0]))


def test_animations_have_a_frame_for_each_step(tmp_path: Path) -> None:
    display = NewtonTangentDisplay.from_function(lambda x: x**2 - 2, lambda x: 2 * x, start=3.0)
    animation = display.animate(seconds=0.2)
    assert animation.labels == [f"step {number}" for number in range(len(display.guesses))]
    with Image.open(animation.save(tmp_path / "newton.gif", background="#102030")) as drawn:
        assert drawn.n_frames == len(display.guesses)
        corner = drawn.convert("RGB").getpixel((0, drawn.height - 1))
    np.testing.assert_allclose(corner, (0x10, 0x20, 0x30), atol=4)
    html = animation.save(tmp_path / "newton.html").read_text(encoding="utf-8")
    assert html.count("<svg") == len(display.guesses)
    assert html.count(" hidden>") == len(display.guesses) - 1
    assert "http" not in html.replace("http://www.w3.org", "")


def test_animations_of_many_steps_are_thinned(line: Rows) -> None:
    x, y = line
    animation = CostContoursDisplay.from_estimator(LinearRegression().fit(x, y), x, y, grid=5).animate(max_frames=4)
    assert animation.labels[:2] == ["step 0", "step 1"]
    assert len(animation.labels) == 4
    assert animation.labels[-1] == "step 90"  # three epochs of 30 rows


def test_invalid_animations_raise(tmp_path: Path) -> None:
    display = NewtonTangentDisplay.from_function(lambda x: x**2 - 2, lambda x: 2 * x, start=3.0)
    with pytest.raises(ValueError, match="max_frames must be 2 or more; got 1"):
        display.animate(max_frames=1)
    with pytest.raises(ValueError, match="seconds must be above 0"):
        display.animate(seconds=0)
    with pytest.raises(ValueError, match=r"path must end with .gif or .html; got '.*newton.mp4'"):
        Animation([display.figure_], ["one"]).save(tmp_path / "newton.mp4")

"""Steps that can be seen: the rule of partial_fit row by row, traces, and the fit at one query."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from suffice import LinearRegression, LocallyWeightedRegression, LogisticRegression, Perceptron, Ridge
from suffice.solvers import BatchGradient, DivergenceError, StochasticGradient


@pytest.mark.parametrize(
    ("kind", "h"), [(LinearRegression, lambda z: z), (LogisticRegression, lambda z: 1 / (1 + np.exp(-z)))]
)
def test_partial_fit_row_by_row_is_the_lms_rule(kind, h):
    random = np.random.default_rng(0)
    x, y = random.normal(size=(20, 2)), random.integers(0, 2, 20)
    model, theta = kind(solver=StochasticGradient(step=0.1)), np.zeros(3)
    more = {"classes": [0, 1]} if kind is LogisticRegression else {}
    for number, (row, target) in enumerate(zip(x, y, strict=True), start=1):
        model.partial_fit(row[None, :], [target], **more)
        full = np.r_[1.0, row]
        theta = theta + 0.1 * (target - h(theta @ full)) * full
        np.testing.assert_allclose(model.theta_.ravel(), theta, rtol=1e-12, atol=1e-15)
        last = model.solution_.trace[-1]
        assert last.number == number
        np.testing.assert_allclose(last.theta.ravel(), theta, rtol=1e-12, atol=1e-15)


def test_the_trace_has_the_size_of_each_step():
    random = np.random.default_rng(0)
    x = random.normal(size=(50, 2))
    y = x @ [1.0, 2.0] + random.normal(size=50)
    steps = LinearRegression(BatchGradient(step=0.5, decay=0.1)).fit(x, y).solution_.trace
    assert np.isnan(steps[0].step)
    np.testing.assert_allclose([step.step for step in steps[1:4]], [0.5, 0.5 / 1.1, 0.5 / 1.2])
    classes = (y > 0.3).astype(int)
    newton = LogisticRegression(solver="newton", C=1.0).fit(x, classes).solution_.trace
    assert [step.step for step in newton[1:]] == [1.0] * (len(newton) - 1)


def lines(targets: int = 1) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2))
    y = 10 + x @ random.normal(size=(2, targets)) + random.normal(size=(60, targets))
    return x, y if targets > 1 else y[:, 0]


def cost(theta: np.ndarray, x: np.ndarray, y: np.ndarray, weight: np.ndarray | float = 1.0) -> float:
    """Return J as MATH.md has it, summed over targets."""
    errors = theta[0] + x @ theta[1:] - y.reshape(len(y), -1)
    return 0.5 * float((np.broadcast_to(weight, len(y)) @ errors**2).sum())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["normal", "newton", "lbfgs", "batch", "stochastic", "auto"])
def test_the_value_of_least_squares_is_j(solver):
    for targets, weight in ((1, None), (1, np.arange(60) % 4 + 0.5), (2, None)):
        (x, y), by = lines(targets), 1.0 if weight is None else weight
        model = LinearRegression(solver=solver).fit(x, y, weight)
        assert model.solution_.value == pytest.approx(cost(model.theta_, x, y, by), rel=1e-12)
        steps = model.solution_.trace
        if solver != "normal":
            assert steps[0].value == pytest.approx(cost(np.zeros((3, targets)), x, y, by), rel=1e-9)
        if solver != "stochastic":  # whose rows have their values before their own steps
            for step in steps:
                assert step.theta.shape == (3, targets)
                assert step.value == pytest.approx(cost(step.theta, x, y, by), rel=1e-9)
            assert steps[-1].value == model.solution_.value
    stream = LinearRegression(solver=solver).fit(lambda: iter([(x[:35], y[:35]), (x[35:], y[35:])]))
    assert stream.solution_.value == pytest.approx(cost(stream.theta_, x, y), rel=1e-12)
    far = LinearRegression(solver=solver).fit(x, y + 1e8)
    assert far.solution_.value == pytest.approx(cost(far.theta_, x, y + 1e8), rel=1e-5)


def test_the_value_has_the_penalty():
    x, y = lines()
    for solver in ("normal", "newton"):
        model = Ridge(2.0, solver=solver).fit(x, y)
        wanted = cost(model.theta_, x, y) + float(model.coef_ @ model.coef_)
        assert model.solution_.value == pytest.approx(wanted, rel=1e-12)
        assert model.objective(x, y).value_gradient(model.theta_).value == pytest.approx(wanted, rel=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_values_of_stochastic_steps_are_costs_of_their_rows_before_them():
    x, y = lines()
    weight, costs, theta = np.arange(60) % 2 + 1.0, [], np.zeros((3, 1))
    rule = StochasticGradient(step=0.1, decay=0.0, epochs=1, average=False, shuffle=False, trace_steps=True)
    steps = LinearRegression(solver=rule).fit(x, y, weight).solution_.trace[1:]
    for row, step in enumerate(steps):
        costs.append(cost(theta, x[row : row + 1], y[row : row + 1], weight[row]))
        assert step.value == pytest.approx(costs[-1], rel=1e-6)
        theta = step.theta
    online = LinearRegression(solver=StochasticGradient(step=0.1)).partial_fit(x, y, weight)
    assert online.solution_.value == pytest.approx(sum(costs), rel=1e-9)


def test_divergence_is_told_by_j_per_row():
    x, y = lines()
    start = cost(np.zeros((3, 1)), x, y) / 60
    for solver in (BatchGradient(step=10.0), StochasticGradient(step=10.0)):
        with pytest.raises(DivergenceError, match=f"the value per row rose from {start:.3g} to "):
            LinearRegression(solver=solver).fit(x, y)


def test_slow_batch_gradient_says_that_features_need_scaling():
    random = np.random.default_rng(0)
    x = np.c_[random.normal(0, 1000, 100), random.normal(0, 1, 100)]
    y = x @ [0.01, 3.0] + random.normal(size=100)
    with pytest.warns(ConvergenceWarning, match=r"condition number of the Hessian is .*e\+06.*scale the features"):
        LinearRegression(BatchGradient(max_iter=50)).fit(x, y)
    far = 50.0 + x[:, 1:]  # from 0: nearly collinear with the intercept
    with pytest.warns(ConvergenceWarning, match=r"to mean 0 and variance 1 \(then about 1\)"):
        LinearRegression(BatchGradient(max_iter=50)).fit(far, y)
    close = np.c_[x[:, 1], x[:, 1] + 1e-3 * random.normal(size=100)]
    with pytest.warns(ConvergenceWarning, match="nearly collinear"):
        LinearRegression(BatchGradient(max_iter=50)).fit(close, y)


def test_the_trace_of_a_perceptron_has_each_epoch():
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2))
    y = (x.sum(axis=1) > 0).astype(int)
    model = Perceptron(eta0=0.5).fit(x, y)
    assert len(model.trace_) == len(model.mistakes_) > 1
    assert {step.step for step in model.trace_} == {0.5}
    np.testing.assert_array_equal(model.trace_[-1].theta, model.theta_)
    np.testing.assert_array_equal(model.theta_.ravel(), np.r_[model.intercept_, model.coef_[0]])
    assert Perceptron(fit_intercept=False).fit(x, y).theta_.shape == (2, 1)


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("settings", [{}, {"l2": 2.0}, {"kernel": "tricube"}])
def test_local_fit_is_the_fit_of_predict(degree, settings):
    random = np.random.default_rng(0)
    x = random.uniform(0, 4, (80, 2))
    y = np.sin(x[:, 0]) + x[:, 1] + random.normal(0, 0.1, 80)
    model = LocallyWeightedRegression(bandwidth=1.5, degree=degree, **settings).fit(x, y)
    query = np.array([[1.0, 2.0]])
    fit = model.local_fit(query[0])
    np.testing.assert_allclose(fit.predict(query), model.predict(query), rtol=1e-9)
    assert len(fit.theta) == [1, 3, 6][degree]
    if not settings:
        np.testing.assert_allclose(fit.weights, np.exp(-((fit.X - query) ** 2).sum(axis=1) / (2 * 1.5**2)))


def test_local_fit_refuses_classes_and_several_targets():
    x = np.arange(6.0)[:, None]
    with pytest.raises(AttributeError, match="classes, not numbers"):
        LocallyWeightedRegression(family="bernoulli").fit(x, [0, 1, 0, 1, 0, 1]).local_fit(1.0)
    with pytest.raises(ValueError, match="one target; y has 2"):
        LocallyWeightedRegression().fit(x, np.c_[x, x]).local_fit(1.0)
    with pytest.raises(ValueError, match=r"one query, \(d,\); the shape of this one is \(2, 1\)"):
        LocallyWeightedRegression().fit(x, x[:, 0]).local_fit([[1.0], [2.0]])


def test_a_fit_at_a_query_is_printed_without_the_rows() -> None:
    x = np.arange(5.0)[:, None]
    fit = LocallyWeightedRegression(bandwidth=1.0).fit(x, x[:, 0]).local_fit(1.0)
    assert repr(fit) == f"QueryFit(query={fit.query!r}, theta={fit.theta!r}, degree=1)"

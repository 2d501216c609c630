"""Steps that can be seen: the rule of partial_fit row by row, traces, and the fit at one query."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from suffice import LinearRegression, LocallyWeightedRegression, LogisticRegression, Perceptron
from suffice.solvers import BatchGradient, StochasticGradient


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

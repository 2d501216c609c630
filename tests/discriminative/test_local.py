"""Locally weighted regression, compared with least squares at each query, other libraries and the course's
solutions."""

from __future__ import annotations

import warnings
from itertools import combinations_with_replacement

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from suffice.discriminative import FarFromDataWarning, LocallyWeightedRegression

from ..references.data import unpacked

KERNELS = {
    "gaussian": lambda r: np.exp(-(r**2) / 2),
    "epanechnikov": lambda r: np.maximum(0, 1 - r**2),
    "tricube": lambda r: np.maximum(0, 1 - r**3) ** 3,
    "uniform": lambda r: (r <= 1).astype(float),
}


def drawn(n: int = 300, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, np.sin(2 * x[:, 0]) + x.sum(axis=1) ** 2 / 4 + 0.1 * rng.normal(size=n), rng.random(n) + 0.1


def monomials(z: np.ndarray, degree: int) -> np.ndarray:
    columns = [np.ones(len(z))]
    for order in range(1, degree + 1):
        picks = combinations_with_replacement(range(z.shape[1]), order)
        columns += [np.prod(z[:, list(pick)], axis=1) for pick in picks]
    return np.stack(columns, axis=1)


def plain(x, y, weight, q, bandwidth, degree=1, kernel="gaussian", l2=0.0):
    """The local fit at one query by plain least squares, and the row that smooths the targets."""
    near = weight * KERNELS[kernel](np.linalg.norm(x - q, axis=1) / bandwidth)
    design = monomials(x - q, degree)
    ridge = np.sqrt(l2) * np.eye(design.shape[1])[1:]
    left = np.vstack([design * np.sqrt(near)[:, None], ridge])
    smoother = np.linalg.lstsq(left, np.vstack([np.diag(np.sqrt(near)), np.zeros((len(ridge), len(x)))]), rcond=None)
    return smoother[0][0] @ y, smoother[0][0]


# Beside least squares at each query.


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("d", [1, 3])
def test_least_squares_at_each_query(kernel: str, degree: int, d: int) -> None:
    x, y, weight = drawn(d=d)
    model = LocallyWeightedRegression(1.6, degree=degree, kernel=kernel).fit(x, y, sample_weight=weight)
    queries = x[:12] * 0.7
    expected = [plain(x, y, weight, q, 1.6, degree, kernel)[0] for q in queries]
    np.testing.assert_allclose(model.predict(queries), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("kernel", ["gaussian", "tricube"])
@pytest.mark.parametrize("degree", [1, 2])
def test_the_ridge_is_on_slopes_and_curvatures(degree: int, kernel: str) -> None:
    x, y, weight = drawn()
    model = LocallyWeightedRegression(1.3, degree=degree, kernel=kernel, l2=3.0).fit(x, y, sample_weight=weight)
    expected = [plain(x, y, weight, q, 1.3, degree, kernel, l2=3.0)[0] for q in x[:12] * 0.7]
    np.testing.assert_allclose(model.predict(x[:12] * 0.7), expected, rtol=1e-9)


def test_several_targets_are_fitted_as_each_alone() -> None:
    x, y, _ = drawn()
    both = LocallyWeightedRegression(0.5).fit(x, np.stack([y, 3 - y], axis=1))
    alone = LocallyWeightedRegression(0.5).fit(x, y)
    np.testing.assert_allclose(both.predict(x), np.stack([alone.predict(x), 3 - alone.predict(x)], axis=1), rtol=1e-12)
    mean, error = both.predict(x, return_std=True)
    assert mean.shape == error.shape == (300, 2)
    np.testing.assert_allclose(error[:, 0], alone.standard_error(x), rtol=1e-10)


def test_kernel_reg_of_statsmodels() -> None:
    from statsmodels.nonparametric import kernel_regression as reference

    x, y, _ = drawn(d=2)
    for degree, kind in ((0, "lc"), (1, "ll")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = reference.KernelReg(y, x, "cc", reg_type=kind, bw=[0.6, 0.6]).fit(x[:30])[0]
        ours = LocallyWeightedRegression(0.6, degree=degree).fit(x, y).predict(x[:30])
        np.testing.assert_allclose(ours, expected, rtol=1e-8, atol=1e-9)


def test_a_wide_bandwidth_is_ordinary_least_squares() -> None:
    x, y, weight = drawn()
    wide = LocallyWeightedRegression(1e6).fit(x, y, sample_weight=weight)
    plane = LinearRegression().fit(x, y, sample_weight=weight)
    np.testing.assert_allclose(wide.predict(x), plane.predict(x), rtol=1e-7, atol=1e-9)
    ridge = Ridge(alpha=7.0).fit(x, y, sample_weight=weight)
    held = LocallyWeightedRegression(1e6, l2=7.0).fit(x, y, sample_weight=weight)
    np.testing.assert_allclose(held.predict(x), ridge.predict(x), rtol=1e-7, atol=1e-9)


# Errors of the fit.


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_standard_errors(degree: int) -> None:
    x, y, weight = drawn(n=60)
    weight = np.round(weight * 3) + 1
    model = LocallyWeightedRegression(0.8, degree=degree).fit(x, y, sample_weight=weight)
    smoother = np.stack([plain(x, y, weight, q, 0.8, degree)[1] for q in x])
    lengths = (smoother**2 / weight).sum(axis=1)  # the variance of a row of weight w is 1 / w
    free = weight.sum() - 2 * np.trace(smoother) + weight @ lengths
    variance = weight @ (y - smoother @ y) ** 2 / free
    assert model.residual_variance_ == pytest.approx(variance, rel=1e-8)
    np.testing.assert_allclose(model.standard_error(x), np.sqrt(variance * lengths), rtol=1e-8)
    repeated = LocallyWeightedRegression(0.8, degree=degree).fit(
        np.repeat(x, weight.astype(int), axis=0), np.repeat(y, weight.astype(int))
    )
    np.testing.assert_allclose(repeated.standard_error(x), model.standard_error(x), rtol=1e-8)


def test_standard_errors_tell_how_far_fits_scatter() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 3, size=(200, 1))
    model = LocallyWeightedRegression(0.4)
    fits, errors = [], []
    for _ in range(200):
        mean, error = model.fit(x, 2 * x[:, 0] + rng.normal(size=200)).predict([[1.5]], return_std=True)
        fits.append(mean[0])
        errors.append(error[0])
    assert np.std(fits) == pytest.approx(np.mean(errors), rel=0.15)


def test_no_degrees_of_freedom_are_left() -> None:
    x = np.arange(10.0)[:, None]
    model = LocallyWeightedRegression(0.01).fit(x, x[:, 0] ** 2)
    with pytest.raises(ValueError, match="leaves no degrees of freedom"):
        model.standard_error(x)


# Leave-one-out.


@pytest.mark.parametrize(
    ("degree", "kernel"),
    [
        (0, "uniform"),
        (1, "gaussian"),
        (2, "epanechnikov"),
        *(pytest.param(degree, "gaussian", marks=pytest.mark.slow) for degree in (0, 2)),
        *(pytest.param(degree, "epanechnikov", marks=pytest.mark.slow) for degree in (0, 1)),
        *(pytest.param(degree, "uniform", marks=pytest.mark.slow) for degree in (1, 2)),
    ],
)
def test_leave_one_out_is_what_a_fit_without_the_row_predicts(kernel: str, degree: int) -> None:
    x, y, weight = drawn(n=60)
    x[7] = x[8]  # twice in the same place
    model = LocallyWeightedRegression("auto", degree=degree, kernel=kernel).fit(x, y, sample_weight=weight)
    assert model.leave_one_out_.shape[1] == 2
    assert np.all(np.diff(model.leave_one_out_[:, 0]) > 0)
    for bandwidth, score in model.leave_one_out_[::5]:
        left_out = []
        for row in range(60):
            rest = np.arange(60) != row
            one = LocallyWeightedRegression(bandwidth, degree=degree, kernel=kernel)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FarFromDataWarning)
                left_out.append(one.fit(x[rest], y[rest], sample_weight=weight[rest]).predict(x[row : row + 1])[0])
        expected = np.average((y - left_out) ** 2, weights=weight)
        assert score == pytest.approx(expected, rel=1e-6)
    assert model.bandwidth_ == model.leave_one_out_[np.argmin(model.leave_one_out_[:, 1]), 0]


def test_leave_one_out_is_the_residual_over_one_less_leverage() -> None:
    x, y, weight = drawn(n=80)
    model = LocallyWeightedRegression("auto").fit(x, y, sample_weight=weight)
    smoother = np.stack([plain(x, y, weight, q, model.bandwidth_)[1] for q in x])
    closed = (y - smoother @ y) / (1 - np.diag(smoother))
    assert model.leave_one_out_[:, 1].min() == pytest.approx(np.average(closed**2, weights=weight), rel=1e-8)


def test_auto_finds_a_bandwidth_that_predicts() -> None:
    x, y, _ = drawn(n=4000, d=1)  # more rows than are left out
    model = LocallyWeightedRegression("auto").fit(x, y)
    again = LocallyWeightedRegression("auto").fit(x, y)
    assert model.bandwidth_ == again.bandwidth_
    assert 0.02 < model.bandwidth_ < 0.5
    assert model.residual_variance_ == pytest.approx(0.01, rel=0.1)


def test_auto_of_rows_in_one_place_and_of_one_row() -> None:
    model = LocallyWeightedRegression("auto").fit(np.ones((5, 2)), np.arange(5.0))
    assert model.bandwidth_ == 1.0
    assert model.predict([[1.0, 1.0]])[0] == pytest.approx(2.0)
    with pytest.raises(ValueError, match="needs at least two rows"):
        LocallyWeightedRegression("auto").fit([[1.0]], [1.0])


# Numbers that are hard.


def test_offsets_keep_their_digits() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.integers(-500, 500, size=(200, 2)) / 256, rng.normal(size=200)  # exact beside 1e8
    near = LocallyWeightedRegression(0.5, degree=2).fit(x, y).predict(x)
    np.testing.assert_array_equal(LocallyWeightedRegression(0.5, degree=2).fit(x + 1e8, y).predict(x + 1e8), near)
    far = LocallyWeightedRegression(0.5, degree=2).fit(x, y + 1e8).predict(x) - 1e8
    np.testing.assert_allclose(far, near, atol=1e-6)


def test_float32_is_read_as_it_is() -> None:
    x, y, _ = drawn()
    narrow = x.astype(np.float32)
    one = LocallyWeightedRegression(0.5).fit(narrow, y.astype(np.float32)).predict(narrow)
    two = LocallyWeightedRegression(0.5).fit(narrow.astype(float), y.astype(np.float32)).predict(narrow.astype(float))
    np.testing.assert_array_equal(one, two)


def test_far_queries_rest_on_the_nearest_rows() -> None:
    x, y = np.arange(50.0)[:, None], np.arange(50.0) * 2 + 1
    model = LocallyWeightedRegression(1.0).fit(x, y)
    with pytest.warns(FarFromDataWarning, match=r"3 of the 4 queries .* the first of them X\[1\]"):
        answer = model.predict([[20.0], [60.0], [-1000.0], [1e8]])
    assert answer[:3] == pytest.approx([41.0, 121.0, 1.0])
    assert answer[3] == pytest.approx(99.0)
    assert np.isfinite(answer).all()
    with pytest.raises(OverflowError, match=r"the distances from x\[0\]"):
        model.predict([[1e300]])


@pytest.mark.parametrize("kernel", ["epanechnikov", "tricube", "uniform"])
def test_an_empty_neighbourhood_falls_back_on_the_nearest_rows(kernel: str) -> None:
    x, y = np.array([[0.0], [1.0], [3.0]]), np.array([1.0, 2.0, 5.0])
    model = LocallyWeightedRegression(0.25, kernel=kernel).fit(x, y)
    with pytest.warns(FarFromDataWarning, match="2 of the 3"):
        answer = model.predict([[0.1], [2.9 + 9], [0.5]])
    assert answer == pytest.approx([1.0, 5.0, 1.5])


@pytest.mark.parametrize("degree", [1, 2])
def test_neighbours_in_a_line_or_in_one_place(degree: int) -> None:
    t = np.linspace(-1, 1, 40)
    x, y = np.stack([t, 2 * t], axis=1), 3 * t + 1
    model = LocallyWeightedRegression(0.8, degree=degree).fit(x, y)
    np.testing.assert_allclose(model.predict(x), y, atol=1e-6)
    off = model.predict(x + np.array([0.2, -0.1]))  # across the line: nothing is known there
    assert np.abs(off).max() < 20
    lonely = LocallyWeightedRegression(0.8, degree=degree).fit(np.ones((4, 2)), [1.0, 2, 3, 4])
    assert lonely.predict([[1.0, 1.0], [1.5, 1.0]]) == pytest.approx([2.5, 2.5])
    single = LocallyWeightedRegression(0.8, degree=degree).fit([[1.0, 2.0]], [7.0])
    assert single.predict([[1.0, 2.2]])[0] == 7.0


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("kernel", ["gaussian", "tricube"])
@pytest.mark.parametrize("degree", [1, 2])
def test_an_answer_does_not_depend_on_what_else_is_asked(family: str, kernel: str, degree: int) -> None:
    x, y, _ = drawn(n=700)
    y = y > 0.3 if family == "bernoulli" else y
    model = LocallyWeightedRegression(2.5, family, degree=degree, kernel=kernel, l2=0.1).fit(x, y)
    ask = model.decision_function if family == "bernoulli" else model.predict
    whole = ask(x)
    for place in (0, 13, 699):
        np.testing.assert_array_equal(ask(x[place : place + 1]), whole[place : place + 1])
    np.testing.assert_array_equal(np.concatenate([ask(x[:123]), ask(x[123:])]), whole)


def test_an_answer_from_neighbours_in_a_line_does_not_depend_on_what_else_is_asked() -> None:
    x, y, _ = drawn(n=100)
    model = LocallyWeightedRegression(0.3, kernel="uniform").fit(x, y)
    whole = model.predict(x + 0.1)
    np.testing.assert_array_equal([model.predict(q[None])[0] for q in x + 0.1], whole)


# Classes.


def local_logistic(x, y, q, bandwidth):
    """The local logistic curve at a query by scikit-learn, held as ours is: about the nearest row, by mean squares."""
    distance = ((x - q) ** 2).sum(axis=1)
    nearest = x[np.argmin(distance)]
    near = np.exp((distance.min() - distance) / 2 / bandwidth**2)
    design = np.hstack([np.ones((len(x), 1)), x - nearest])
    scale = np.sqrt(np.average(design**2, axis=0, weights=near))
    curve = LogisticRegression(C=1e4, fit_intercept=False, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    curve.fit(design / scale, y, sample_weight=near)
    return curve.decision_function((np.hstack([[1.0], q - nearest]) / scale)[None])[0]


@pytest.mark.parametrize("bandwidth", [0.2, 0.6, 3.0])
def test_logistic_regression_at_each_query(bandwidth: float) -> None:
    x, y, _ = drawn()
    y = y > 0.5
    model = LocallyWeightedRegression(bandwidth, "bernoulli").fit(x, y)
    queries = x[:15] + 0.05
    expected = [local_logistic(x, y, q, bandwidth) for q in queries]
    np.testing.assert_allclose(model.decision_function(queries), expected, rtol=1e-5, atol=1e-6)


def test_a_wide_bandwidth_is_logistic_regression() -> None:
    x, y, weight = drawn()
    y = np.where(y > 0.5, "yes", "no")
    model = LocallyWeightedRegression(1e4, "bernoulli", l2=2.0).fit(x, y, sample_weight=weight)
    plane = LogisticRegression(C=0.5, tol=1e-10).fit(x, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(x), plane.predict_proba(x), atol=1e-4)
    np.testing.assert_array_equal(model.classes_, ["no", "yes"])
    np.testing.assert_array_equal(model.predict(x) == "yes", model.decision_function(x) > 0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(x)), model.predict_proba(x), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_separable_neighbourhoods_have_a_fit(kernel: str, degree: int) -> None:
    x = np.linspace(-3, 3, 61)[:, None]
    model = LocallyWeightedRegression(0.5, "bernoulli", degree=degree, kernel=kernel).fit(x, x[:, 0] > 0.02)
    log_odds = model.decision_function(x)
    assert np.isfinite(log_odds).all()
    assert model.score(x, x[:, 0] > 0.02) > 0.95
    assert np.abs(log_odds).max() < 100


def test_auto_leaves_one_out_of_classes() -> None:
    x, y, _ = drawn(n=60)
    y = y > 0.5
    model = LocallyWeightedRegression("auto", "bernoulli").fit(x, y)
    bandwidth, score = model.leave_one_out_[np.argmin(model.leave_one_out_[:, 1])]
    left_out = []
    for row in range(60):
        rest = np.arange(60) != row
        one = LocallyWeightedRegression(bandwidth, "bernoulli").fit(x[rest], y[rest])
        left_out.append(one.predict_log_proba(x[row : row + 1])[0, int(y[row])])
    assert score == pytest.approx(-np.mean(left_out), rel=1e-6)


def test_steps_that_do_not_suffice_are_said() -> None:
    x, y, _ = drawn()
    with pytest.warns(ConvergenceWarning, match="have not converged after max_iter=1 steps"):
        LocallyWeightedRegression(0.5, "bernoulli", max_iter=1).fit(x, y > 0.5).predict(x)


# The course's own data and answers.


def test_the_course_chooses_the_same_bandwidth() -> None:
    folder = unpacked("cs229") / "2018-ps1"
    train, valid, test = (
        np.loadtxt(folder / f"ds5_{part}.csv", delimiter=",", skiprows=1) for part in ("train", "valid", "test")
    )
    errors = {}
    for bandwidth in (3e-2, 5e-2, 1e-1, 5e-1, 1e0, 1e1):
        model = LocallyWeightedRegression(bandwidth).fit(train[:, :-1], train[:, -1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FarFromDataWarning)
            errors[bandwidth] = np.mean((valid[:, -1] - model.predict(valid[:, :-1])) ** 2)
    assert min(errors, key=errors.__getitem__) == 5e-2
    assert errors[5e-2] == pytest.approx(0.0124, abs=5e-5)
    best = LocallyWeightedRegression(5e-2).fit(train[:, :-1], train[:, -1])
    assert np.mean((test[:, -1] - best.predict(test[:, :-1])) ** 2) == pytest.approx(0.0170, abs=5e-5)

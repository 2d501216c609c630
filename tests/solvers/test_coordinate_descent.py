"""The elastic net meets the conditions for a minimum, however nearly the columns depend on each other."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet as Theirs

from suffice import GLM, ElasticNet, Lasso, LogisticRegression
from suffice.solvers.coordinate_descent import solve_quadratic


def cost(x: np.ndarray, y: np.ndarray, coef: np.ndarray, l1: float, l2: float = 0.0) -> float:
    return float(0.5 * ((y - x @ coef) ** 2).sum() + l1 * np.abs(coef).sum() + l2 / 2 * (coef**2).sum())


def least_cost(x: np.ndarray, y: np.ndarray, l1: float, l2: float) -> float:
    """Return the least cost over all patterns of signs, each solved for by itself."""
    best = cost(x, y, np.zeros(x.shape[1]), l1)
    for signs in product((-1.0, 0.0, 1.0), repeat=x.shape[1]):
        place = np.flatnonzero(signs)
        if not place.size:
            continue
        some, coef = x[:, place], np.zeros(x.shape[1])
        right = some.T @ y - l1 * np.array(signs)[place]
        coef[place] = np.linalg.solve(some.T @ some + l2 * np.eye(len(place)), right)
        if (coef * signs >= 0).all():
            best = min(best, cost(x, y, coef, l1, l2))
    return best


@pytest.mark.parametrize("l2", [0.0, 0.5])
def test_columns_far_from_zero_without_an_intercept(l2: float) -> None:
    for seed in range(0, 61, 3):
        random = np.random.default_rng(seed)
        x = random.normal(size=(20, 3)) + 1000
        y = random.normal(size=20)
        best = least_cost(x, y, 2.0, l2)
        linear = ElasticNet((2.0 + l2) / 20, l1_ratio=2.0 / (2.0 + l2), fit_intercept=False)
        for model in (linear, GLM(l1=2.0, l2=l2, fit_intercept=False)):
            model.fit(x, y)
            assert model.solution_.converged
            assert cost(x, y, model.coef_, 2.0, l2) == pytest.approx(best, rel=1e-9)


def test_several_targets_and_paths_are_optimal() -> None:
    random = np.random.default_rng(51)
    x = random.normal(size=(20, 3)) + 1000
    y = random.normal(size=(20, 2))
    model = Lasso(0.1, fit_intercept=False).fit(x, y)
    for coef, target in zip(model.coef_, y.T, strict=True):
        assert cost(x, target, coef, 2.0) == pytest.approx(least_cost(x, target, 2.0, 0.0), rel=1e-9)
    of_alphas = ElasticNet(fit_intercept=False).path(x, y[:, 0], alphas=[1.0, 0.1, 0.01])
    of_sums = GLM(fit_intercept=False).path(x, y[:, 0], penalties=[20.0, 2.0, 0.2], ratio=0.5)
    for path, penalties in ((of_alphas, 10 * of_alphas.penalties["alpha"]), (of_sums, of_sums.penalties["l2"])):
        for l1, l2, coef in zip(penalties, penalties, path.coef, strict=True):
            assert cost(x, y[:, 0], coef, l1, l2) == pytest.approx(least_cost(x, y[:, 0], l1, l2), rel=1e-9)


def test_it_finds_what_scikit_learn_does() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 80)) @ random.normal(size=(80, 80))
    y = x[:, :4].sum(axis=1) + random.normal(size=60)
    mine = ElasticNet(alpha=36 / 60, l1_ratio=30 / 36).fit(x, y)
    theirs = Theirs(alpha=36 / 60, l1_ratio=30 / 36, tol=1e-12, max_iter=100_000).fit(x, y)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-6 * np.abs(theirs.coef_).max())


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_far_from_zero_without_an_intercept(classes: int) -> None:
    random = np.random.default_rng(5)
    x = random.normal(size=(60, 3)) + 1000
    y = np.argmax((x - 1000) @ random.normal(size=(3, classes)) + random.gumbel(size=(60, classes)), axis=1)
    model = LogisticRegression(C=1.0, l1_ratio=1.0, fit_intercept=False).fit(x, y)
    assert model.solution_.converged
    p = model.predict_proba(x) if classes > 2 else model.predict_proba(x)[:, 1:]
    slopes = x.T @ ((np.eye(classes) if classes > 2 else np.array([[0.0], [1.0]]))[y] - p)
    coef = model.solution_.theta
    np.testing.assert_allclose(slopes[coef != 0], np.sign(coef[coef != 0]), atol=1e-3)
    assert (np.abs(slopes[coef == 0]) <= 1 + 1e-3).all()


def test_a_column_given_twice_does_no_harm() -> None:
    random = np.random.default_rng(1)
    one = random.normal(size=(30, 2))
    x = np.column_stack([one, one[:, 0]])
    matrix, right = x.T @ x, x.T @ (one @ [1.0, 2.0])
    theta, solved = solve_quadratic(matrix, right, np.full(3, 0.5), np.array([1.0, 0.0, -1.0]), 1e-10)
    assert solved
    alone, _ = solve_quadratic(matrix[:2, :2], right[:2], np.full(2, 0.5), np.zeros(2), 1e-10)
    np.testing.assert_allclose([theta[0] + theta[2], theta[1]], alone, rtol=1e-9)


def test_columns_too_nearly_dependent_to_solve_for_are_told() -> None:
    x, y = np.vander(np.linspace(1.0, 2.0, 20), 8), np.random.default_rng(32).normal(size=20)
    words = "Lasso did not converge: the conditions for a minimum do not hold at alpha = 5e-05, as columns nearly"
    with pytest.warns(ConvergenceWarning, match=words):
        Lasso(5e-5, fit_intercept=False).fit(x, y)
    with pytest.warns(ConvergenceWarning, match=words):
        Lasso(fit_intercept=False).path(x, y, alphas=[5e-5])
    with pytest.warns(ConvergenceWarning, match="GLM did not converge: coordinate descent did not reach the optimum"):
        GLM(l1=1e-3, fit_intercept=False).fit(x, y)


@pytest.mark.parametrize("seed", [4457, 4742])
def test_nearly_dependent_columns_of_many_scales_are_solved(seed: int) -> None:
    random = np.random.default_rng(seed)
    columns, rows = int(random.integers(1, 9)), int(random.integers(1, 25))
    x = 10.0 ** random.integers(-8, 9, columns) * (random.normal(size=(rows, columns)) + 1000)
    y = random.normal(size=rows)
    l1 = 10.0 ** random.integers(-9, 2) * (random.random(columns) < 0.8)
    start = random.normal(size=columns) * 10.0 ** random.integers(-3, 4)
    theta, solved = solve_quadratic(x.T @ x, x.T @ y, l1, start, 10.0 ** -random.integers(6, 14))
    assert solved
    assert 0.5 * ((y - x @ theta) ** 2).sum() + l1 @ np.abs(theta) <= 0.5 * (y**2).sum()

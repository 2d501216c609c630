"""Every solver reaches the same optimum; gradients and Hessians agree with finite differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model as scikit

from suffice import GLM, ElasticNet, Lasso, LogisticRegression, PoissonRegressor, SoftmaxRegression, solvers
from suffice.data import EncodedDataset
from suffice.discriminative.objective import NegativeLogLikelihood
from suffice.families import Gamma, Response, Tweedie
from suffice.kernels import ArrayEngine, Batch, ThreadEngine
from suffice.solvers.auto import Auto
from suffice.solvers.base import Objective, ValueGradient, ValueGradientHessian
from suffice.solvers.coordinate_descent import CoordinateDescent, subgradient
from suffice.solvers.linear_algebra import flat, shaped
from suffice.solvers.newton import Newton
from suffice.solvers.quasi_newton import QuasiNewton
from suffice.solvers.truncated_newton import TruncatedNewton, conjugate_gradients

from ..discriminative.cases import CASES, rows

RANDOM = np.random.default_rng(0)
RESPONSES = {
    "gaussian": RANDOM.normal(size=80),
    "bernoulli": RANDOM.integers(0, 2, 80).astype(float),
    "poisson": RANDOM.poisson(1.0, 80).astype(float),
    "multinomial": RANDOM.integers(0, 3, 80),
    "beta": RANDOM.beta(2, 3, 80),
}
X = RANDOM.normal(size=(80, 3))


def likelihood(family: str, **more: object) -> tuple[NegativeLogLikelihood, np.ndarray]:
    response, y = Response.of(family), RESPONSES[family]
    weight = 0.5 + np.arange(80) % 3
    offset = 0.1 * np.arange(80) / 80 if family != "multinomial" else None
    shape = (4, response.predictors(3) + (1 if more.get("symmetric") else 0))
    rows = Batch(X, y, weight, offset)
    return NegativeLogLikelihood(EncodedDataset.of_batch(rows), response, **more), 0.3 * RANDOM.normal(size=shape)


SETTINGS = [(family, {"l2": 0.7}) for family in RESPONSES] + [("multinomial", {"l2": 0.7, "symmetric": True})]


@pytest.mark.parametrize(("family", "more"), SETTINGS)
def test_gradients_are_differences_of_values(family: str, more: dict[str, object]) -> None:
    objective, theta = likelihood(family, **more)
    gradient = objective.value_gradient(theta).gradient
    step = 1e-6
    for place in np.ndindex(theta.shape):
        change = np.zeros_like(theta)
        change[place] = step
        difference = objective.value_gradient(theta + change).value - objective.value_gradient(theta - change).value
        np.testing.assert_allclose(gradient[place], difference / (2 * step), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("family", "more"), [each for each in SETTINGS if each[0] != "beta"])
def test_hessians_are_differences_of_gradients(family: str, more: dict[str, object]) -> None:
    """Under a canonical link the expected Hessian is the observed one."""
    objective, theta = likelihood(family, **more)
    hessian = objective.value_gradient_hessian(theta).hessian
    vector, step = RANDOM.normal(size=theta.size), 1e-6
    move = step * shaped(vector, theta)
    change = objective.value_gradient(theta + move).gradient - objective.value_gradient(theta - move).gradient
    expected = flat(change) / (2 * step)
    if more.get("symmetric"):  # raising all intercepts is given a curvature that it does not have
        vector = vector - np.tile(np.eye(4)[0], theta.shape[1]) * vector.reshape(-1, 4)[:, 0].mean()
    np.testing.assert_allclose(hessian @ vector, expected, rtol=1e-4, atol=1e-4)
    if not more.get("symmetric"):
        np.testing.assert_allclose(flat(objective.hessian_diagonal(theta)), np.diagonal(hessian), rtol=1e-9)
    if objective.supports("hessian_product", theta):
        product = objective.hessian_product(theta)
        np.testing.assert_allclose(flat(product(shaped(vector, theta))), hessian @ vector, rtol=1e-9)


POSITIVE = {Tweedie(1.5): RANDOM.poisson(1.0, 80) * RANDOM.gamma(2.0, size=80), Gamma: RANDOM.gamma(0.5, size=80)}


@pytest.mark.parametrize("family", POSITIVE)
def test_newton_steps_by_the_observed_hessian_and_returns_the_expected_one(family: Any) -> None:
    data = EncodedDataset.of_batch(Batch(X, POSITIVE[family], 0.5 + np.arange(80) % 3))
    objective = NegativeLogLikelihood(data, Response.of(family, "log"), l2=0.7)
    theta, vector, step = 0.3 * RANDOM.normal(size=(4, 1)), RANDOM.normal(size=(4, 1)), 1e-6
    ends = [objective.value_gradient(theta + sign * step * vector).gradient for sign in (1, -1)]
    observed = objective.value_gradient_observed(theta).hessian
    np.testing.assert_allclose(observed @ vector, (ends[0] - ends[1]) / (2 * step), rtol=1e-5, atol=1e-5)
    assert not np.allclose(observed, objective.value_gradient_hessian(theta).hessian, rtol=1e-2)

    class Expected(NegativeLogLikelihood):
        def supports(self, capability: Any, theta: np.ndarray) -> bool:
            return capability != "observed_hessian" and super().supports(capability, theta)

    solution = Newton().minimise(objective, np.zeros((4, 1)))
    other = Newton().minimise(Expected(data, objective.response, l2=0.7), np.zeros((4, 1)))
    assert solution.converged
    assert other.converged
    assert solution.passes < other.passes
    np.testing.assert_allclose(solution.theta, other.theta, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(solution.hessian, other.hessian, rtol=1e-6, atol=1e-6)


#: The solver of whole batches takes many passes over nearly separated rows: softmax shows the same.
SLOW = ("batch", "multinomial")


@pytest.mark.parametrize(
    ("solver", "case"),
    [
        pytest.param(solver, case, marks=[pytest.mark.slow] * ((solver, case.name) == SLOW), id=f"{solver}-{case.name}")
        for solver in ("newton", "batch", "stochastic")
        for case in CASES
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the stochastic one comes near, no more
def test_every_solver_reaches_the_same_optimum(case, solver: str) -> None:
    if case.name in ("gaussian/log", "gamma/inverse") and solver != "newton":
        pytest.skip("rows without noise: the optimum is a needle")
    if case.name in ("beta", "dirichlet", "probit", "cloglog") and solver != "newton":
        pytest.skip("slow: not compiled")
    if case.name == "multinomial" and solver == "stochastic":
        pytest.skip("nearly separated: theta is far off")
    x, y = rows(case, 400)
    best = case.make().fit(x, y)
    settings = {
        "newton": "newton",
        "batch": solvers.BatchGradient(max_iter=20_000, tol=1e-7),
        "stochastic": solvers.StochasticGradient(epochs=60, tol=2e-3, random_state=0),
    }
    model = case.make(solver=settings[solver]).fit(x, y)
    tolerance = {"newton": 1e-8, "batch": 1e-4, "stochastic": 0.1}[solver]
    np.testing.assert_allclose(model.theta_, best.theta_, atol=tolerance * max(1, np.abs(best.theta_).max()))
    trace = model.solution_.trace
    assert model.solution_.converged or solver == "stochastic"
    assert model.solution_.reason
    assert all(one.passes <= two.passes and one.seconds <= two.seconds for one, two in pairwise(trace))


def large(random: np.random.Generator, rows: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    x = random.normal(size=(rows, features))
    z = x @ random.normal(size=features) / np.sqrt(features)
    return x, (random.random(rows) < 1 / (1 + np.exp(-z))).astype(float)


def test_auto_samples_rows_where_there_are_many() -> None:
    x, y = large(np.random.default_rng(1), 40_000, 60)
    objective = NegativeLogLikelihood(EncodedDataset.of_batch(Batch(x, y)), Response.of("bernoulli"))
    start = np.zeros((61, 1))
    quick, exact = Auto().minimise(objective, start), Newton().minimise(objective, start)
    assert quick.trace[0].passes != 1.0  # a sample came first
    assert quick.converged
    assert quick.trace[-1].gradient_norm <= 1e-8
    np.testing.assert_allclose(quick.theta, exact.theta, atol=1e-7)
    np.testing.assert_allclose(quick.hessian, exact.hessian, rtol=1e-5, atol=1e-5 * np.abs(exact.hessian).max())


def test_a_rare_class_that_the_sample_misses_does_no_harm() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(30_000, 40))
    codes = (x[:, 0] + random.logistic(size=len(x)) > 0).astype(int)
    codes[:12] = 2
    objective = NegativeLogLikelihood(EncodedDataset.of_batch(Batch(x, codes)), Response.of("multinomial"), l2=1.0)
    start = np.zeros((41, 2))
    quick, exact = Auto(max_iter=300).minimise(objective, start), Newton().minimise(objective, start)
    assert quick.converged
    np.testing.assert_allclose(quick.theta, exact.theta, atol=1e-5)


def test_many_parameters_go_without_a_matrix() -> None:
    random = np.random.default_rng(3)
    x = sparse.random_array((300, 2100), density=0.02, random_state=0, format="csr")
    y = random.integers(0, 2, 300).astype(float)
    objective = NegativeLogLikelihood(EncodedDataset.of_batch(Batch(x, y)), Response.of("bernoulli"), l2=0.5)
    solution = TruncatedNewton().minimise(objective, np.zeros((2101, 1)))
    assert solution.converged
    tight = {"C": 2.0, "solver": "newton-cg", "tol": 1e-10, "max_iter": 1000}
    theirs = scikit.LogisticRegression(**tight).fit(x, y)
    np.testing.assert_allclose(solution.theta[1:, 0], theirs.coef_[0], atol=1e-5)
    labels = random.integers(0, 3, 300)
    mine, theirs = LogisticRegression(C=2.0).fit(x, labels), scikit.LogisticRegression(**tight).fit(x, labels)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-5)


def test_columns_that_csr_never_stores_have_no_coefficient() -> None:
    random = np.random.default_rng(4)
    narrow = sparse.random_array((200, 50), density=0.2, random_state=0, format="csr")
    places = np.sort(random.choice(5000, 50, replace=False))
    wide = sparse.csr_array((narrow.data, places[narrow.indices], narrow.indptr), shape=(200, 5000))
    y = random.integers(0, 2, 200)
    small, big = (LogisticRegression(C=1.0).fit(x, y) for x in (narrow, wide))
    np.testing.assert_allclose(big.coef_[0, places], small.coef_[0], rtol=1e-9)
    assert np.count_nonzero(big.coef_) == np.count_nonzero(small.coef_)
    np.testing.assert_allclose(big.predict_proba(wide), small.predict_proba(narrow), rtol=1e-9)


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "multinomial"])
@pytest.mark.parametrize("l1", [0.5, 5.0, 500.0])
def test_what_an_elastic_net_leaves_is_in_balance(family: str, l1: float) -> None:
    objective, theta = likelihood(family, l2=0.3)
    strength = np.array([[0.0], [l1], [l1], [l1]])
    solution = CoordinateDescent(strength).minimise(objective, np.zeros_like(theta))
    assert solution.converged
    gradient = objective.value_gradient(solution.theta).gradient
    assert np.abs(subgradient(gradient, solution.theta, np.broadcast_to(strength, theta.shape))).max() < 1e-5
    if l1 == 500.0:
        assert not solution.theta[1:].any()


def test_working_sets_find_what_all_features_together_do() -> None:
    random = np.random.default_rng(5)
    x = random.normal(size=(200, 2500))
    y = (x[:, :3].sum(axis=1) + random.logistic(size=200) > 0).astype(float)
    objective = NegativeLogLikelihood(EncodedDataset.of_batch(Batch(x, y)), Response.of("bernoulli"))
    strength = np.r_[0.0, np.full(2500, 8.0)][:, None]
    solution = CoordinateDescent(strength).minimise(objective, np.zeros((2501, 1)))
    assert solution.converged
    gradient = objective.value_gradient(solution.theta).gradient
    assert np.abs(subgradient(gradient, solution.theta, strength)).max() / 200 <= 1e-8
    assert 3 <= np.count_nonzero(solution.theta) < 150


def test_working_sets_serve_a_path_and_say_where_they_did_not_suffice() -> None:
    random = np.random.default_rng(1)
    x = sparse.random_array((60, 2100), density=0.1, rng=random, format="csr")
    y = (x[:, [0]].toarray()[:, 0] + 0.1 * random.normal(size=60) > 0.05).astype(int)
    path = LogisticRegression().path(x, y, Cs=[1.0, 1 / 3])
    np.testing.assert_allclose(path.coef[1], LogisticRegression(C=1.0, l1_ratio=1.0).fit(x, y).coef_[0], atol=1e-6)
    with pytest.warns(UserWarning, match="did not converge: max_iter=1 working sets were solved"):
        LogisticRegression(C=10.0, l1_ratio=1.0, max_iter=1).fit(x, y)


def test_paths_end_where_fits_do() -> None:
    settings: list[tuple[Any, Any, dict[str, Any], list[str]]] = [
        (LogisticRegression, CASES[1], {"Cs": 10, "l1_ratio": 0.7}, ["C", "l1_ratio"]),
        (PoissonRegressor, CASES[4], {"alphas": 10, "l1_ratio": 0.7}, ["alpha", "l1_ratio"]),
        (GLM, CASES[0], {"penalties": 10, "ratio": 0.7}, ["l1", "l2"]),
    ]
    for model, case, given, words in settings:
        x, y = rows(case)
        path = model().path(x, y, **given)
        assert list(path.penalties) == words
        assert path.nonzero[0] == 0
        assert (np.diff(path.log_likelihood) >= -1e-9 * abs(path.log_likelihood[0])).all()
        for place in (3, 9):
            fitted = model(**path.params(place)).fit(x, y)
            np.testing.assert_allclose(path.coef[place], np.ravel(fitted.coef_), atol=1e-6)
            np.testing.assert_allclose(path.intercept[place], np.ravel(fitted.intercept_)[0], atol=1e-6)


def test_paths_from_sums_end_where_fits_do() -> None:
    x, y = rows(CASES[0])
    path = ElasticNet(l1_ratio=0.7).path(x, y, alphas=10)
    assert path.nonzero[0] == 0
    for place in (3, 9):
        fitted = ElasticNet(**path.params(place)).fit(x, y)
        np.testing.assert_allclose(path.coef[place], fitted.coef_, atol=1e-6)
        np.testing.assert_allclose(path.intercept[place], fitted.intercept_, atol=1e-6)


def test_solvers_that_do_not_get_there_say_so() -> None:
    x, y = rows(CASES[4])
    with pytest.warns(UserWarning, match=r"PoissonRegressor did not converge: max_iter=1 .* pass .* largest gradient"):
        model = PoissonRegressor(max_iter=1).fit(x, y)
    assert not model.solution_.converged


@pytest.mark.needs("torch")
def test_foreign_arrays_give_the_same_optimum() -> None:
    import torch

    for case in (CASES[0], CASES[1], CASES[2], CASES[4]):
        x, y = rows(case)
        here, there = case.make().fit(x, y), case.make().fit(torch.asarray(x), torch.asarray(np.asarray(y)))
        np.testing.assert_allclose(there.theta_, here.theta_, rtol=1e-7, atol=1e-9)
        predicted = there.predict(torch.asarray(x))
        assert isinstance(predicted, torch.Tensor)
        np.testing.assert_allclose(predicted.numpy(), here.predict(x), rtol=1e-7)


def test_the_array_api_leads_to_the_same_optimum() -> None:
    x, y = rows(CASES[4])
    native, array_api = (EncodedDataset.of_batch(Batch(x, y), engine) for engine in (ThreadEngine(1), ArrayEngine()))
    one, two = (
        Newton().minimise(NegativeLogLikelihood(data, Response.of("poisson")), np.zeros((x.shape[1] + 1, 1)))
        for data in (native, array_api)
    )
    np.testing.assert_allclose(one.theta, two.theta, rtol=1e-8)


def _few_counts() -> NegativeLogLikelihood:
    x, y = np.array([[1.0, 2.0], [2.0, 1.0], [5.0, 6.0], [6.0, 5.5]]), np.array([0.0, 1.0, 1.0, 3.0])
    return NegativeLogLikelihood(EncodedDataset.of_batch(Batch(x, y)), Response.of("poisson"), True)


@pytest.mark.parametrize(
    "solver",
    [
        Newton(1e-8, 20),
        CoordinateDescent(np.full((3, 1), 0.1), 1e-8, 20),
        QuasiNewton(1e-8, 20, hessian=True),
        TruncatedNewton(1e-8, 20),
    ],
    ids=repr,
)
def test_a_start_where_the_rows_are_impossible_is_said_to_be_one(solver: Any) -> None:
    start = np.array([[1e4], [0.0], [0.0]])
    guess = [np.copy] if isinstance(solver, QuasiNewton) else []
    solution = solver.minimise(_few_counts(), start, *guess)
    assert (solution.converged, solution.reason) == (False, "the value is not finite at the start")
    np.testing.assert_array_equal(solution.theta, start)


def test_the_default_solver_says_so_too_where_it_would_sample_rows() -> None:
    x, y = RANDOM.normal(size=(2500, 120)), RANDOM.poisson(1.0, 2500).astype(float)
    objective = NegativeLogLikelihood(EncodedDataset.of_batch(Batch(x, y)), Response.of("poisson"), False)
    solution = Auto().minimise(objective, np.full((120, 1), 1e4))
    assert (solution.converged, solution.reason) == (False, "the value is not finite at the start")


@pytest.mark.parametrize(
    "solver",
    [TruncatedNewton(1e-8, 1), CoordinateDescent(np.full((3, 1), 0.1), 1e-8, 1), QuasiNewton(1e-8, 1)],
    ids=repr,
)
def test_a_solver_that_made_all_its_steps_says_how_many(solver: Any) -> None:
    guess = [np.copy] if isinstance(solver, QuasiNewton) else []
    solution = solver.minimise(_few_counts(), np.zeros((3, 1)), *guess)
    assert (solution.converged, solution.reason) == (False, "max_iter=1 steps were made")
    assert solution.value < _few_counts().value_gradient(np.zeros((3, 1))).value


@pytest.mark.filterwarnings("ignore:(Softmax|Logistic)Regression did not converge")
@pytest.mark.parametrize(("model", "c", "near"), [(SoftmaxRegression, 0.1, 5e-3), (LogisticRegression, 1.0, 0.025)])
def test_stochastic_steps_of_several_classes_reach_the_penalised_optimum(model: Any, c: float, near: float) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(300, 2))
    y = (x @ [1.0, 0.5] + random.normal(size=300) > 0).astype(int) + (x[:, 1] > 0.7)
    expected = model(C=c).fit(x, y).predict_proba(x)
    found = model(solver="stochastic", C=c).fit(x, y).predict_proba(x)
    np.testing.assert_allclose(found, expected, atol=near)


def test_a_path_says_how_many_coefficients_its_penalties_leave() -> None:
    path = Lasso().path(np.eye(4, 2), np.array([2.0, 1.0, 0.0, 0.0]), alphas=[2.5, 2.5e-4])
    assert repr(path) == "Path of 2 penalties, alpha from 2.5 to 0.00025: 0 to 2 coefficients"


def test_a_solver_without_hessian_computes_it_at_the_end_where_it_is_asked_for() -> None:
    solution = QuasiNewton(1e-8, 100, hessian=True).minimise(_few_counts(), np.zeros((3, 1)), np.copy)
    assert solution.converged
    np.testing.assert_allclose(
        solution.hessian, _few_counts().value_gradient_hessian(solution.theta).hessian, rtol=1e-6
    )


def test_a_solver_that_starts_at_the_optimum_takes_the_hessian_there() -> None:
    optimum = Newton(1e-12).minimise(_few_counts(), np.zeros((3, 1))).theta
    solution = QuasiNewton(1e-6, 100, hessian=True).minimise(_few_counts(), optimum, np.copy)
    np.testing.assert_array_equal(solution.theta, optimum)
    np.testing.assert_array_equal(solution.hessian, _few_counts().value_gradient_hessian(optimum).hessian)


def test_steps_that_are_far_too_short_are_doubled() -> None:
    shorter = QuasiNewton(1e-8, 100).minimise(_few_counts(), np.zeros((3, 1)), lambda gradient: 1e-4 * gradient)
    expected = Newton(1e-12).minimise(_few_counts(), np.zeros((3, 1)))
    assert shorter.converged
    np.testing.assert_allclose(shorter.theta, expected.theta, rtol=1e-5)


# Functions that no rows have: what a solver does where steps lead nowhere.


@dataclass
class Function(Objective):
    """A function of theta, (p, 1): infinite beyond its walls."""

    function: Callable[[np.ndarray], tuple[float, list[float]]]
    curvature: float = 1.0  #: what it says its Hessian is, in each direction
    weight: float = 1e6

    capabilities = frozenset({"hessian", "hessian_diagonal", "hessian_product"})

    def value_gradient(self, theta: np.ndarray) -> ValueGradient:
        value, gradient = self.function(theta[:, 0])
        return ValueGradient(value, np.array(gradient)[:, None])

    def value_gradient_hessian(self, theta: np.ndarray) -> ValueGradientHessian:
        return ValueGradientHessian(*self.value_gradient(theta), self.curvature * np.eye(len(theta)))

    def hessian_diagonal(self, theta: np.ndarray) -> np.ndarray:
        return np.full(theta.shape, self.curvature)

    def hessian_product(self, theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        return lambda step: self.curvature * step


def _minimise(solver: Any, objective: Function, start: list[float]) -> Any:
    return solver.minimise(objective, np.array(start)[:, None])


STEPS = [Newton(), QuasiNewton(), TruncatedNewton(), CoordinateDescent(np.zeros((1, 1)))]


@pytest.mark.parametrize("solver", STEPS, ids=repr)
def test_a_wall_that_the_gradient_points_at_ends_the_search(solver: Any) -> None:
    wall = Function(lambda x: (-x[0] if x[0] <= 1 else np.inf, [-1.0]))
    solution = _minimise(solver, wall, [1.0])
    assert (solution.converged, solution.reason) == (False, "no step along the gradient decreases the value")
    np.testing.assert_array_equal(solution.theta, [[1.0]])


@pytest.mark.parametrize("solver", [Newton(), CoordinateDescent(np.zeros((1, 1)))], ids=repr)
def test_a_step_that_no_halving_brings_back_ends_the_search(solver: Any) -> None:
    wall = Function(lambda x: (-x[0] if x[0] <= 1 else np.inf, [-1.0]), curvature=1e-20)
    solution = _minimise(solver, wall, [0.0])
    assert (solution.converged, solution.reason) == (False, "no step along the gradient decreases the value")


@pytest.mark.parametrize("solver", STEPS, ids=repr)
def test_steps_whose_gain_is_lost_in_rounding_end_the_search(solver: Any) -> None:
    plain = Function(lambda x: (-1e20, [-1.0]))
    solution = _minimise(solver, plain, [0.0])
    assert (solution.converged, solution.reason) == (False, "no step along the gradient decreases the value")
    assert len(solution.trace) < 20


@pytest.mark.parametrize("solver", [Newton(), QuasiNewton()], ids=repr)
def test_a_correction_that_points_out_of_the_range_is_forgotten(solver: Any) -> None:
    def ridge(x: np.ndarray) -> tuple[float, list[float]]:
        value = x[0] ** 2 / 2 - x[0] - min(x[1], x[1] - (x[1] - 1) * abs(x[1] - 1) / 2)
        return value if x[0] <= 1 else np.inf, [x[0] - 1, max(x[1] - 1, 0.0) - 1]

    solution = _minimise(solver, Function(ridge), [0.0, 0.0])
    assert solution.converged
    np.testing.assert_allclose(solution.theta, [[1.0], [2.0]], atol=1e-6)


def test_conjugate_gradients_follow_the_gradient_where_the_hessian_is_zero() -> None:
    right = np.array([[1.0], [2.0]])
    step, products = conjugate_gradients(np.zeros_like, right, np.array([[1.0], [4.0]]), 0.1)
    assert products == 1
    np.testing.assert_array_equal(step, [[1.0], [0.5]])

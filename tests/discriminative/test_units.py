"""Fits do not depend on the units of columns and targets: where a solver cannot get there, it says so."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import statsmodels.api as sm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import GLM, LinearRegression
from suffice.data import EncodedDataset
from suffice.discriminative import LocallyWeightedRegression
from suffice.discriminative.objective import NegativeLogLikelihood
from suffice.families import Response
from suffice.kernels import Batch, ThreadEngine
from suffice.kernels.errors import UnderflowError
from suffice.solvers.linear_algebra import inverse_of
from suffice.solvers.quasi_newton import QuasiNewton
from suffice.solvers.truncated_newton import TruncatedNewton

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 2))
Z = 0.3 + X @ np.array([0.5, -0.4])
Y: dict[str, Any] = {
    "gaussian": np.exp(Z) + 3 + 0.3 * RANDOM.normal(size=120),
    "bernoulli": (RANDOM.random(120) < 1 / (1 + np.exp(-Z))).astype(float),
    "poisson": RANDOM.poisson(np.exp(Z)).astype(float),
    "gamma": RANDOM.gamma(4, np.exp(Z) / 4),
    "exponential": RANDOM.exponential(np.exp(Z)),
    "multinomial": np.argmax(np.c_[Z, 0 * Z, -Z] + RANDOM.gumbel(size=(120, 3)), axis=1),
    "beta": RANDOM.beta(3, 4, 120),
    "dirichlet": RANDOM.dirichlet([2, 3, 4], 120),
}
LINKS = [
    *(("gaussian", "identity"), ("gaussian", "log"), ("bernoulli", "logit"), ("bernoulli", "probit")),
    *(("bernoulli", "cloglog"), ("poisson", "log"), ("gamma", "log"), ("gamma", "inverse"), ("exponential", None)),
    *(("multinomial", None), ("beta", None), ("dirichlet", None)),
]
#: Units of X, where its zero is, in its own units, and units of y.
UNITS = [(1e-6, 0.0, 1e-6), (1e-3, 1e6, 1.0), (1e6, 0.0, 1e-4), (1.0, 1e6, 1e6), (1e6, 1e6, 1.0)]


def fitted(family: str, link: str | None, units: tuple[float, float, float], **settings: Any) -> tuple[Any, bool]:
    """Return the means in the first units, and whether the solver says that it did not get there."""
    columns, zero, targets = units
    has_units = family in ("gaussian", "poisson", "gamma", "exponential")
    y = Y[family] * targets if has_units else Y[family]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        x = columns * (X + zero)
        means = GLM(family, link, **settings).fit(x, y).predict(x)
    return means / (targets if has_units else 1.0), bool(said)


@pytest.mark.parametrize(("family", "link"), LINKS)
def test_fits_do_not_depend_on_units(family: str, link: str | None) -> None:
    expected, _ = fitted(family, link, (1.0, 0.0, 1.0))
    for units in UNITS:
        means, said = fitted(family, link, units)
        assert not said, units
        np.testing.assert_allclose(means, expected, rtol=1e-6, err_msg=str(units))


@pytest.mark.parametrize("solver", ["batch", "stochastic"])
@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
def test_simple_solvers_arrive_or_say_that_they_did_not(family: str, solver: str) -> None:
    expected, _ = fitted(family, None, (1.0, 0.0, 1.0))
    for units in UNITS:
        means, said = fitted(family, None, units, solver=solver, max_iter=20, random_state=0)
        assert said or np.allclose(means, expected, rtol=1e-6), units


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_solvers_without_a_matrix_do_not_depend_on_units(family: str, scale: float) -> None:
    y = Y[family] * scale if family == "gaussian" else Y[family]
    objective = NegativeLogLikelihood(
        EncodedDataset.of_batch(Batch(X * scale, y), ThreadEngine(1)), Response.of(family)
    )
    start = np.zeros((3, 1))
    expected, _ = fitted(family, None, (1.0, 0.0, 1.0))
    guess = inverse_of(objective.value_gradient_hessian(start).hessian * 1.5)
    for solution in (TruncatedNewton().minimise(objective, start), QuasiNewton().minimise(objective, start, guess)):
        assert solution.converged
        means = objective.response.mean(objective.linear_predictors(solution.theta)) / (
            scale if family == "gaussian" else 1.0
        )
        np.testing.assert_allclose(means, expected, rtol=1e-6)


# Columns that nearly depend on each other, and large counts.


@pytest.mark.parametrize(
    "model", [GLM(), GLM(solver="newton"), LinearRegression(), LinearRegression(solver="newton")], ids=str
)
def test_longley_converges(model: Any) -> None:
    data = sm.datasets.longley.load_pandas()
    x, y = data.exog.to_numpy(), data.endog.to_numpy()
    expected = sm.OLS(y, sm.add_constant(x)).fit()
    np.testing.assert_allclose(model.fit(x, y).theta_[:, 0], expected.params, rtol=1e-6)
    assert model.solution_.converged


def test_counts_of_a_million_million_converge() -> None:
    y = np.random.default_rng(1).poisson(1e12 * np.exp(0.1 * X[:, 0])).astype(float)
    model = GLM("poisson").fit(X, y)
    assert model.solution_.converged
    assert model.coef_[0] == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_powers_of_years_are_not_collinear(family: str, degree: int) -> None:
    year = np.arange(1950.0, 2021.0)
    about = (year - 1985) / 35
    powers, centred = (np.column_stack([each**k for k in range(1, degree + 1)]) for each in (year, about))
    random = np.random.default_rng(2)
    mean = np.exp(1 + about + 0.5 * about**2 - about**3)
    y = random.poisson(mean).astype(float) if family == "poisson" else mean + random.normal(size=71)
    theirs = sm.GLM(
        y, sm.add_constant(centred), family=sm.families.Poisson() if family == "poisson" else sm.families.Gaussian()
    ).fit(tol=1e-14)
    models = [GLM(family), *([LinearRegression(), LinearRegression(solver="newton")] if family == "gaussian" else [])]
    for model in models:
        model.fit(powers, y)
        assert model.solution_.converged
        np.testing.assert_allclose(model.predict(powers), theirs.fittedvalues, rtol=1e-5)
        # The highest power has the same standard error, up to units.
        inference = model.summary().inference
        assert inference.standard_errors[-1] * 35**degree == pytest.approx(theirs.bse[-1], rel=1e-4)


def test_columns_that_depend_on_each_other_are_still_named() -> None:
    year = np.arange(1950.0, 2021.0)
    x = np.column_stack([year, year**2, 2 * year + 3])
    y = np.random.default_rng(0).normal(size=71)
    for model in (GLM(), LinearRegression()):
        with pytest.warns(UserWarning, match="x2 = a combination of"):
            model.fit(x, y)


REGRESSIONS = [
    suffice.LinearRegression(),
    suffice.Ridge(),
    suffice.RidgeCV(),
    suffice.Lasso(),
    suffice.LogisticRegression(),
    suffice.SoftmaxRegression(),
    suffice.OrdinalRegression(),
    suffice.PoissonRegressor(),
    suffice.GammaRegressor(),
    suffice.Perceptron(fit_intercept=False),
    LocallyWeightedRegression(),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", REGRESSIONS, ids=lambda model: type(model).__name__)
def test_features_whose_squares_underflow_are_refused(model: Any) -> None:
    """They were taken for constants, or had coefficients of few digits."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    z = x[:, 0] - x[:, 1] + rng.normal(size=60)
    y = z > 0 if type(model).__name__ == "LogisticRegression" else np.digitize(z, [-1, 1]) + 1
    for unit, weight in (1e-160, 1.0), (1e-200, 1.0), (1e-120, 1e-300):
        small, weights = x * [1.0, unit], np.full(60, weight)
        with pytest.raises(UnderflowError, match=r"squares of feature \d underflow float64: .*; rescale the feature"):
            clone(model).fit(small, y, sample_weight=weights)
    some_large = np.where(np.arange(60)[:, None] % 7 == 3, x, x * [1.0, 1e-200])  # as p-values
    clone(model).fit(some_large, y)
    with pytest.raises(OverflowError, match=r"the weights underflow float64: .*; rescale the weights"):
        clone(model).fit(x, y, sample_weight=np.full(60, 1e-320))


def test_squares_of_sparse_rows_and_streams_underflow() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2)) * [1.0, 1e-170]
    y = rng.poisson(1.0, 60)
    rare = np.where(np.arange(60)[:, None] % 7 == 3, x, [1.0, 0.0] * x)  # 0 in most rows
    for rows in (scipy.sparse.csr_array(x), rare, lambda: iter([(x[:30], y[:30]), (x[30:], y[30:])])):
        with pytest.raises(UnderflowError, match=r"feature 1 underflow"):
            suffice.PoissonRegressor().fit(rows, None if callable(rows) else y)


def test_targets_whose_squares_underflow_are_refused() -> None:
    """Their standard errors were 0."""
    x = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(UnderflowError, match=r"the sums of squares of target 0 underflow .*; rescale the target"):
        suffice.LinearRegression().fit(x, 1e-170 * x.sum(axis=1)).summary()

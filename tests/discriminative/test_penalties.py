"""Penalties mean what they mean in scikit-learn; parameters of other models raise with the conversion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn import linear_model as scikit
from sklearn.base import clone

import suffice
from suffice import GLM, GammaRegressor, LogisticRegression, PoissonRegressor, SoftmaxRegression, TweedieRegressor

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(150, 4))
WEIGHT = RANDOM.uniform(0.2, 3.0, 150)
TWO = (X[:, 0] + RANDOM.logistic(size=150) > 0).astype(int)
THREE = np.digitize(X[:, 0] + RANDOM.normal(size=150), [-0.5, 0.5])
MEAN = np.exp(0.3 * X[:, 0] + 0.2)
COUNTS = RANDOM.poisson(MEAN)
AMOUNTS = RANDOM.gamma(2.0, MEAN / 2)
CLAIMS = COUNTS * RANDOM.gamma(1.0, 1.0, 150)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weights"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize(
    "settings",
    [
        {"C": 0.5},
        {"C": 0.3, "l1_ratio": 0.5},
        {"C": 0.1, "l1_ratio": 1.0},
        {"C": 2.0, "class_weight": "balanced"},
        {"C": 2.0, "class_weight": {0: 2.0, 1: 1.0}, "fit_intercept": False},
    ],
    ids=str,
)
@pytest.mark.needs("scikit-learn 1.9")
def test_logistic_regression_is_that_of_scikit_learn(settings: dict[str, Any], y: Any, weight: Any) -> None:
    solver = "saga" if "l1_ratio" in settings else "newton-cg"
    theirs = scikit.LogisticRegression(**settings, solver=solver, tol=1e-10, max_iter=10_000).fit(X, y, weight)
    mine = LogisticRegression(**settings).fit(X, y, weight)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(mine.intercept_, theirs.intercept_, atol=1e-6)
    np.testing.assert_array_equal(mine.coef_ == 0, theirs.coef_ == 0)
    assert mine.n_iter_.shape == theirs.n_iter_.shape


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weights"])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize(
    ("mine", "theirs", "y"),
    [
        (PoissonRegressor(), scikit.PoissonRegressor(), COUNTS),
        (GammaRegressor(), scikit.GammaRegressor(), AMOUNTS),
        (TweedieRegressor(), scikit.TweedieRegressor(), AMOUNTS),
        (TweedieRegressor(link="log"), scikit.TweedieRegressor(link="log"), AMOUNTS),
        (TweedieRegressor(power=1.5), scikit.TweedieRegressor(power=1.5), CLAIMS),
        (TweedieRegressor(power=3), scikit.TweedieRegressor(power=3), MEAN * RANDOM.gamma(20.0, 0.05, 150)),
    ],
    ids=lambda each: "" if isinstance(each, np.ndarray) else str(each),
)
def test_generalised_linear_models_are_those_of_scikit_learn(
    mine: Any, theirs: Any, y: Any, alpha: float, weight: Any
) -> None:
    theirs = clone(theirs).set_params(alpha=alpha, solver="newton-cholesky", tol=1e-9, max_iter=1000).fit(X, y, weight)
    mine = clone(mine).set_params(alpha=alpha, tol=1e-10).fit(X, y, weight)
    np.testing.assert_allclose(mine.coef_, theirs.coef_, atol=1e-6)
    assert mine.intercept_ == pytest.approx(theirs.intercept_, abs=1e-6)
    assert isinstance(mine.n_iter_, int)
    assert mine.score(X, y, weight) == pytest.approx(theirs.score(X, y, weight), abs=1e-6)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"])
def test_solvers_of_scikit_learn_have_the_same_optimum(solver: str) -> None:
    expected = LogisticRegression(C=1.0).fit(X, THREE).coef_
    found = LogisticRegression(C=1.0, solver=solver, max_iter=1000).fit(X, THREE)
    np.testing.assert_allclose(found.coef_, expected, atol=1e-5)


OTHERS: dict[str, tuple[type, dict[str, Any], str]] = {
    "l2 of C": (LogisticRegression, {"l2": 2}, "LogisticRegression has no l2: l2=2 is C=0.5"),
    "no l2": (SoftmaxRegression, {"l2": 0.0}, "SoftmaxRegression has no l2: l2=0.0 is C=np.inf"),
    "l1 of C": (LogisticRegression, {"l1": 4}, "LogisticRegression has no l1: l1=4 is l1_ratio=1.0 with C=0.25"),
    "alpha of C": (LogisticRegression, {"alpha": 0.1}, "alpha=0.1 is C=10 / n, with n the total weight of the rows"),
    "firth": (LogisticRegression, {"penalty": "firth"}, "penalty='firth' is bias_reduction=True"),
    "penalty l1": (LogisticRegression, {"penalty": "l1"}, "penalty='l1' is l1_ratio=1.0 with C"),
    "penalty None": (LogisticRegression, {"penalty": None}, "penalty=None is C=np.inf"),
    "dual": (LogisticRegression, {"dual": True}, "has no dual, a setting of liblinear in scikit-learn: leave it out"),
    "l2 of alpha": (PoissonRegressor, {"l2": 3}, "l2=3 is alpha=3 / n, with n the total weight of the rows"),
    "C of alpha": (TweedieRegressor, {"C": 0.5}, "C=0.5 is alpha=2 / n, with n the total weight of the rows"),
    "alpha of GLM": (GLM, {"alpha": 0.1}, "GLM has no alpha: alpha=0.1 is l2=0.1 * n, with n the total weight"),
    "C of GLM": (GLM, {"C": 4}, "GLM has no C: C=4 is l2=0.25"),
    "C of ordinal": (suffice.OrdinalRegression, {"C": 4}, "OrdinalRegression has no C: C=4 is l2=0.25"),
    "l2 of text": (suffice.NBLogisticRegression, {"l2": 0.2}, "NBLogisticRegression has no l2: l2=0.2 is C=5"),
    "C of ridge": (suffice.Ridge, {"C": 2}, "Ridge has no C: C=2 is alpha=0.5"),
    "l1 of ridge": (suffice.Ridge, {"l1": 2}, "Ridge has no l1: l1=2 is alpha=2 / n of Lasso, with n the total weight"),
    "l1 of lasso": (suffice.Lasso, {"l1": 2}, "Lasso has no l1: l1=2 is alpha=2 / n, with n the total weight"),
    "ratio of lasso": (
        suffice.Lasso,
        {"l1_ratio": 0.5},
        "Lasso has no l1_ratio: l1_ratio=0.5 is l1_ratio=0.5 of Elast",
    ),
    "l2 of net": (suffice.ElasticNet, {"l2": 3}, "ElasticNet has no l2: l2=3 is l1_ratio=0.0 and alpha=3 / n, with n"),
    "l2 of least squares": (suffice.LinearRegression, {"l2": 2}, "LinearRegression has no l2: use Ridge(alpha=2)"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_parameter_of_another_model_raises_with_the_conversion(name: str) -> None:
    make: Callable[..., Any]
    make, given, words = OTHERS[name]
    for error, ask in ((TypeError, lambda: make(**given)), (ValueError, lambda: make().set_params(**given))):
        with pytest.raises(error) as caught:
            ask()
        assert words in str(caught.value)


def test_unknown_parameters_raise_as_elsewhere() -> None:
    make: Callable[..., Any] = LogisticRegression
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'depth'"):
        make(depth=3)
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        make().set_params(depth=3)
    assert "others" not in LogisticRegression().get_params()


def test_a_summary_names_the_penalty_as_it_was_given() -> None:
    assert "C = 0.5: standard errors are those of the posterior" in str(LogisticRegression(C=0.5).fit(X, TWO).summary())
    assert "alpha = 0.1: standard errors are" in str(PoissonRegressor(alpha=0.1).fit(X, COUNTS).summary())
    lasso = LogisticRegression(C=0.1, l1_ratio=1.0).fit(X, TWO)
    assert "C = 0.1, l1_ratio = 1: coefficients set to zero have no standard errors" in str(lasso.summary())


def test_a_stronger_penalty_than_l1_needs_sets_every_coefficient_to_zero_in_each_class() -> None:
    model = LogisticRegression(C=1e-3, l1_ratio=1.0).fit(X, THREE)
    assert not model.coef_.any()
    np.testing.assert_allclose(model.predict_proba(X)[0], np.bincount(THREE) / 150, rtol=1e-6)

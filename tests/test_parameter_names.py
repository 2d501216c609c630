"""Parameters, values and shapes of textbooks and other libraries raise, with what they are here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import suffice
from suffice import GDA, LinearRegression, LogisticRegression, Perceptron
from suffice.solvers import BatchGradient, Newton, StochasticGradient

X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
SOLVERS = "step sizes are the solver's, solver=BatchGradient(step=0.1) or solver=StochasticGradient(step=0.1)"

OTHER_NAMES: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "learning rate": (LinearRegression, {"learning_rate": 0.1}, f"LinearRegression has no learning_rate: {SOLVERS}"),
    "eta0": (LogisticRegression, {"eta0": 0.1}, f"LogisticRegression has no eta0: {SOLVERS}"),
    "alpha of the notes": (LinearRegression, {"alpha": 0.1}, "for a learning rate, solver=BatchGradient(step=0.1)"),
    "alpha of classes": (LogisticRegression, {"alpha": 0.1}, "as a learning rate, solver=BatchGradient(step=0.1)"),
    "lambda": (suffice.Ridge, {"lambda_": 2}, "Ridge has no lambda_: lambda_=2 is alpha=2"),
    "lambda of C": (LogisticRegression, {"lam": 2}, "LogisticRegression has no lam: lam=2 is C=0.5"),
    "lambda of GLM": (suffice.GLM, {"lam": 2}, "GLM has no lam: lam=2 is l2=2"),
    "tau": (suffice.LocallyWeightedRegression, {"tau": 0.3}, "has no tau: tau=0.3 is bandwidth=0.3"),
    "phi": (GDA, {"phi": [0.5, 0.5]}, "GDA has no phi: phi=[0.5, 0.5] is priors=[0.5, 0.5]"),
    "priors of words": (suffice.MultinomialNB, {"priors": "laplace"}, "is class_prior='laplace'"),
    "threshold": (suffice.BernoulliNB, {"threshold": 1}, "threshold=1 is binarize=1"),
    "epsilon": (suffice.GaussianNB, {"epsilon": 1e-9}, "epsilon=1e-09 is var_smoothing=1e-09"),
    "Laplace": (suffice.BernoulliNB, {"laplace": 1}, "BernoulliNB has no laplace: laplace=1 is alpha=1"),
    "covariance type": (GDA, {"covariance_type": "full"}, "covariance_type='full' is covariance='full'"),
    "solver of GDA": (GDA, {"solver": "svd"}, "GDA has no solver: one method serves all settings"),
    "epochs": (LogisticRegression, {"epochs": 9}, "LogisticRegression has no epochs: epochs=9 is max_iter=9"),
    "rate of the perceptron": (Perceptron, {"learning_rate": 0.3}, "learning_rate=0.3 is eta0=0.3"),
    "alpha of the perceptron": (Perceptron, {"alpha": 0.3}, "a learning rate alpha is eta0=0.3"),
    "seed": (suffice.AdditiveClassifier, {"seed": 3}, "AdditiveClassifier has no seed: seed=3 is random_state=3"),
    "text": (suffice.TextClassifier, {"smoothing": 1}, "TextClassifier has no smoothing: smoothing=1 is alpha=1"),
}
OF_SOLVERS: dict[str, tuple[Callable[..., Any], dict[str, Any], str]] = {
    "alpha": (BatchGradient, {"alpha": 0.1}, "BatchGradient has no alpha: alpha=0.1 is step=0.1"),
    "batch size": (StochasticGradient, {"batch_size": 32}, "batch_size=32 is batch_rows=32"),
    "epochs": (BatchGradient, {"epochs": 5}, "BatchGradient has no epochs: epochs=5 is max_iter=5"),
    "max_iter": (StochasticGradient, {"max_iter": 5}, "max_iter=5 is epochs=5"),
    "step": (Newton, {"alpha": 0.1}, "Newton.__init__() got an unexpected keyword argument 'alpha'"),
    "path": (suffice.LogisticRegressionCV, {"n_iter": 5}, "LogisticRegressionCV has no n_iter: n_iter=5 is max_iter=5"),
}


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_a_parameter_of_textbooks_raises_with_its_name_here(name: str) -> None:
    make, given, words = OTHER_NAMES[name]
    with pytest.raises(TypeError) as caught:  # noqa: PT011 - its message is compared
        make(**given)
    assert words in str(caught.value)
    with pytest.raises(ValueError) as caught_later:  # noqa: PT011
        make().set_params(**given)
    assert words in str(caught_later.value)


@pytest.mark.parametrize("name", OF_SOLVERS)
def test_a_parameter_of_a_solver_raises_with_its_name_here(name: str) -> None:
    make, given, words = OF_SOLVERS[name]
    with pytest.raises(TypeError) as caught:  # noqa: PT011
        make(**given)
    assert words in str(caught.value)


def test_parameters_of_a_class_of_a_users_own_are_its_own() -> None:
    class Steep(LogisticRegression):
        def __init__(self, learning_rate: float = 0.5, *, C: float = 1.0) -> None:
            super().__init__(C=C)
            self.learning_rate = learning_rate

    class Weighted(LogisticRegression):
        def __init__(self, **settings: Any) -> None:
            self.tau = settings.pop("tau", 1.0)
            super().__init__(**settings)

    assert Steep(learning_rate=0.1).set_params(learning_rate=0.2).fit(X, Y).learning_rate == 0.2
    assert Weighted(tau=2.0, C=3.0).C == 3.0


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            LinearRegression("gd"),
            "there is no solver 'gd': it is solver='batch'; with a step size of your own, so",
        ),
        (LogisticRegression(solver="SGD"), "it is solver='stochastic'; with a step size of your own, solver=Stoch"),
        (LogisticRegression(solver="irls"), "there is no solver 'irls': it is solver='newton'"),
        (LinearRegression("normal_equations"), "it is solver='normal'"),
        (LinearRegression("adam"), "solver must be one of normal, auto, newton"),
        (LogisticRegression(solver="ols"), "solver must be one of auto, newton"),
        (GDA("shared"), "covariance must be one of tied, full, .*; got 'shared': it is covariance='tied'"),
        (GDA("QDA"), "got 'QDA': it is covariance='full'"),
        (GDA("round"), "got 'round'$"),
        (suffice.GLM("logistic"), "there is no family 'logistic': logistic regression has family='bernoulli'"),
    ],
)
def test_a_value_of_textbooks_raises_with_its_name_here(model: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)


SYMBOLS = [
    (GDA(), {"mu_": "means_", "Sigma_": "covariance_", "phi": "priors_"}),
    (suffice.GaussianNB(), {"mu_": "theta_", "sigma_": "var_"}),
    (suffice.MultinomialNB(), {"phi_": "feature_log_prob_"}),
    (LinearRegression(), {"theta": "theta_", "w": "coef_", "bias_": "intercept_", "cost_": "solution_"}),
    (suffice.LocallyWeightedRegression(0.5), {"tau_": "bandwidth_", "theta_": "local_fit"}),
    (Perceptron(), {"theta": "theta_", "w_": "coef_"}),
]


@pytest.mark.parametrize(("model", "symbols"), SYMBOLS, ids=lambda each: type(each).__name__)
def test_a_symbol_of_textbooks_raises_with_the_attribute_that_it_is(model: Any, symbols: dict[str, str]) -> None:
    fitted = clone(model).fit(X, Y)
    for symbol, attribute in symbols.items():
        with pytest.raises(AttributeError, match=f"no attribute '{symbol}': see {attribute}$"):
            getattr(fitted, symbol)
        assert hasattr(fitted, attribute)
        assert not hasattr(fitted, symbol)
    with pytest.raises(AttributeError, match="object has no attribute 'depth_'"):
        _ = fitted.depth_
    assert not hasattr(clone(model), "theta_")


def test_a_property_that_raises_keeps_its_words() -> None:
    class Told(LinearRegression):
        @property
        def price_(self) -> float:
            raise AttributeError("the price is not kept")

    with pytest.raises(AttributeError, match="the price is not kept"):
        _ = Told().price_


COLUMNS = {
    "a list": ([1.0, 2.0, 3.0], r"X has one dimension, .* np.reshape\(X, \(-1, 1\)\) for n rows of one feature"),
    "an array": (np.array([1.0, 2.0, 3.0]), r"np.reshape\(X, \(1, -1\)\) for one row of d features"),
    "a column of pandas": (
        pd.DataFrame({"area": [1, 2, 3]})["area"],
        r"table\[\['area'\]\] instead of",
    ),
    "a column of Polars": (
        pl.DataFrame({"area": [1, 2, 3]})["area"],
        r"table\[\['area'\]\] instead of",
    ),
    "a series without a name": (pd.Series([1, 2, 3]), r"X.to_frame\(\)"),
    "a number": (np.array(3.0), r"X is a single value, .*: \[\[x\]\]"),
    "a dictionary": ({"area": [1, 2, 3]}, r"X is a dictionary, .*: pandas.DataFrame\(X\)"),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("model", [LinearRegression(), GDA(), suffice.MixedNB(), suffice.CategoricalNB()], ids=str)
def test_rows_without_two_dimensions_are_refused_with_the_way_out(name: str, model: Any) -> None:
    column, words = COLUMNS[name]
    with pytest.raises(ValueError, match=words):
        model.fit(column, [0, 1, 1])

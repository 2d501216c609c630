"""Parameters act when a model learns: what is set later, or changed in place, changes no fitted model."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

import suffice

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RANDOM = np.random.default_rng(0)
Y = np.arange(60) % 2
THREE = np.arange(60) % 3
NUMBERS = RANDOM.normal(size=(60, 3)) + Y[:, None] * [1.0, 0.5, 0.0]
COUNTS = RANDOM.poisson(1 + NUMBERS.clip(0))
Z = NUMBERS @ [0.8, -0.5, 0.3] + RANDOM.normal(size=60)
TEXTS = [" ".join(RANDOM.choice(["free", "money", "lunch", "monday"], 4, p=[0.4, 0.2, 0.2, 0.2])) for _ in Y]


class Case(NamedTuple):
    """A model, rows that suit it, and parameters that would change its answers."""

    name: str
    make: Callable[..., Any]
    x: Any
    y: Any
    other: dict[str, Any]
    fixed: Mapping[str, Any] = MappingProxyType({})  # parameters that change what is kept of the rows


SUMS = [
    Case("GaussianNB", suffice.GaussianNB, NUMBERS, Y, {"var_smoothing": 0.5, "priors": np.array([0.9, 0.1])}),
    Case("GDA", suffice.GDA, NUMBERS, Y, {"shrinkage": 0.5, "priors": {0: 0.9, 1: 0.1}}, {"covariance": "full"}),
    Case("MultinomialNB", suffice.MultinomialNB, COUNTS, Y, {"alpha": np.array([9.0, 1.0, 5.0]), "fit_prior": False}),
    Case("ComplementNB", suffice.ComplementNB, COUNTS, Y, {"alpha": 9.0, "norm": True}),
    Case("BernoulliNB", suffice.BernoulliNB, COUNTS, Y, {"alpha": 9.0, "class_prior": [0.9, 0.1]}, {"binarize": 1.5}),
    Case("PoissonNB", suffice.PoissonNB, COUNTS, Y, {"alpha": 9.0, "priors": [0.9, 0.1]}),
    Case("CategoricalNB", suffice.CategoricalNB, COUNTS, Y, {"alpha": 9.0, "min_categories": 20}, {"bins": 3}),
    Case(
        "bins",
        lambda **more: suffice.CategoricalNB(bins=[[0.0]] * 3, **more),
        NUMBERS,
        Y,
        {"alpha": 9.0},
        {"bins": None},
    ),
    Case(
        "MixedNB", suffice.MixedNB, NUMBERS, Y, {"var_smoothing": 0.5, "temperature": 3.0}, {"columns": {0: "ignore"}}
    ),
    Case("LinearRegression", suffice.LinearRegression, NUMBERS, Z, {"positive": True, "fit_intercept": False}),
    Case("Ridge", suffice.Ridge, NUMBERS, Z, {"alpha": 100.0}),
    Case("Lasso", lambda **more: suffice.Lasso(**{"alpha": 0.2, **more}), NUMBERS, Z, {"alpha": 0.01}),
    Case(
        "TextClassifier", suffice.TextClassifier, TEXTS, Y, {"alpha": 20.0, "temperature": 1.0}, {"features": "bigrams"}
    ),
]
OTHERS = [
    Case(
        "nb_logistic", lambda **more: suffice.TextClassifier("nb_logistic", **more), TEXTS, Y, {"C": 0.1, "alpha": 3.0}
    ),
    Case("LogisticRegression", suffice.LogisticRegression, NUMBERS, Y, {"C": 0.1}, {"fit_intercept": False}),
    Case("three classes", suffice.LogisticRegression, NUMBERS, THREE, {"C": 0.1}, {"fit_intercept": False}),
    Case("SoftmaxRegression", suffice.SoftmaxRegression, NUMBERS, THREE, {"C": 0.1}, {"fit_intercept": False}),
    Case("PoissonRegressor", suffice.PoissonRegressor, NUMBERS, COUNTS[:, 0], {"alpha": 9.0}, {"fit_intercept": False}),
    Case("GammaRegressor", suffice.GammaRegressor, NUMBERS, np.exp(Z), {"alpha": 9.0}, {"fit_intercept": False}),
    Case(
        "GLM",
        lambda **more: suffice.GLM(**{"family": "poisson", **more}),
        NUMBERS,
        COUNTS[:, 0],
        {"l2": 9.0},
        {"link": "identity"},
    ),
    Case("NBLogisticRegression", suffice.NBLogisticRegression, COUNTS, Y, {"norm": None, "binarize": None}),
    Case(
        "Perceptron",
        lambda **more: suffice.Perceptron(max_iter=3, tol=0.5, random_state=0, **more),
        NUMBERS,
        Y,
        {"average": True},
    ),
    Case("LocallyWeightedRegression", suffice.LocallyWeightedRegression, NUMBERS, Z, {"degree": 0, "l2": 5.0}),
]
ALL = SUMS + OTHERS
every = pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
every_sum = pytest.mark.parametrize("case", SUMS, ids=lambda case: case.name)


def answers(model: Any, x: Any) -> Any:
    for name in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, name):
            return getattr(model, name)(x)
    raise AssertionError


def same(one: Any, two: Any, x: Any) -> bool:
    return np.allclose(answers(one, x), answers(two, x), rtol=1e-7, atol=1e-9)


@every
def test_a_fitted_model_does_not_change_when_parameters_are_set(case: Case, tmp_path: Path) -> None:
    model = case.make().fit(case.x, case.y)
    before = answers(model, case.x)
    model.set_params(**case.other)
    copies = [model, copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    model.save(tmp_path / "model")
    for each in (*copies, suffice.load(tmp_path / "model")):
        np.testing.assert_allclose(answers(each, case.x), before, rtol=1e-12, atol=1e-12)
        for name, value in case.other.items():
            np.testing.assert_equal(np.asarray(each.get_params()[name]), np.asarray(value))
    fresh = case.make(**case.other).fit(case.x, case.y)
    assert not same(fresh, case.make().fit(case.x, case.y), case.x)  # the parameters matter
    assert same(model.fit(case.x, case.y), fresh, case.x)


@every
def test_a_fitted_model_does_not_change_when_fixed_parameters_are_set(case: Case) -> None:
    model = case.make().fit(case.x, case.y)
    before = answers(model, case.x)
    model.set_params(**case.fixed)
    np.testing.assert_array_equal(answers(model, case.x), before)


@every
def test_a_copy_learns_for_itself(case: Case) -> None:
    model = case.make().fit(case.x, case.y)
    if not hasattr(model, "partial_fit"):
        pytest.skip("it learns all at once")
    before = answers(model, case.x)
    other = copy.copy(model)
    for row in range(3):
        other.partial_fit(case.x[row : row + 1], case.y[row : row + 1])
    _ = answers(other, case.x)
    np.testing.assert_array_equal(answers(model, case.x), before)


@every_sum
def test_more_rows_are_learned_under_the_parameters_as_they_are_then(case: Case) -> None:
    half = len(case.y) // 2
    expected = case.make(**case.other).fit(case.x, case.y)
    first = case.make().fit(case.x[:half], case.y[:half]).set_params(**case.other)
    second = case.make().fit(case.x[half:], case.y[half:])
    assert same(first + second, expected, case.x)
    assert not same(second + first, expected, case.x)
    assert same(copy.deepcopy(first).partial_fit(case.x[half:], case.y[half:]), expected, case.x)
    whole = case.make().fit(case.x, case.y).set_params(**case.other)
    assert same(
        whole.forget(case.x[half:], case.y[half:]), case.make(**case.other).fit(case.x[:half], case.y[:half]), case.x
    )


@every
def test_what_changes_what_is_kept_is_refused_for_more_rows(case: Case) -> None:
    for name, value in case.fixed.items():
        model = case.make().fit(case.x, case.y)
        before = answers(model, case.x)
        model.set_params(**{name: value})
        with pytest.raises(ValueError, match=f"{name}=.* needs other sums.*fit again"):
            model.partial_fit(case.x, case.y)
        np.testing.assert_array_equal(answers(model, case.x), before)
        if hasattr(model, "with_params"):
            with pytest.raises(ValueError, match=f"{name}=.* needs other sums.*fit again"):
                model.with_params(**{name: value})


@every_sum
def test_with_params_reads_the_same_sums(case: Case, tmp_path: Path) -> None:
    model = case.make().fit(case.x, case.y)
    before = answers(model, case.x)
    other = model.with_params(**case.other)
    assert same(other, case.make(**case.other).fit(case.x, case.y), case.x)
    for name, value in case.other.items():
        np.testing.assert_equal(np.asarray(other.get_params()[name]), np.asarray(value))
    other.save(tmp_path / "model")
    assert same(suffice.load(tmp_path / "model"), other, case.x)
    other.partial_fit(case.x[:5], case.y[:5])
    np.testing.assert_array_equal(answers(model, case.x), before)


@every_sum
def test_with_params_refuses_what_makes_no_sense(case: Case) -> None:
    model = case.make().fit(case.x, case.y)
    with pytest.raises(ValueError, match="Invalid parameter 'smoothness'"):
        model.with_params(smoothness=1.0)
    name = "temperature" if hasattr(model, "temperature") else "tol"
    with pytest.raises(ValueError, match=f"{name} must be"):
        model.with_params(**{name: -1.0})
    with pytest.raises(ValueError, match="not fitted"):
        case.make().with_params(**case.other)


def test_auto_needs_rows_held_out() -> None:
    model = suffice.MultinomialNB().fit(COUNTS, Y)
    with pytest.raises(ValueError, match="alpha='auto' is chosen by held-out rows"):
        model.with_params(alpha="auto")
    chosen = suffice.MultinomialNB(alpha="auto").fit(COUNTS, Y)
    assert not same(chosen.with_params(class_prior=[0.9, 0.1]), chosen, COUNTS)


@pytest.mark.parametrize("change", ["array", "list", "dictionary"])
def test_priors_changed_in_place_change_no_fitted_model(change: str) -> None:
    priors: Any = {"array": np.array([0.9, 0.1]), "list": [0.9, 0.1], "dictionary": {0: 0.9, 1: 0.1}}[change]
    model = suffice.GaussianNB(priors=priors).fit(NUMBERS, Y)
    before = model.predict_proba(NUMBERS)
    priors[0], priors[1] = 0.1, 0.9
    np.testing.assert_array_equal(model.predict_proba(NUMBERS), before)
    model.partial_fit(NUMBERS[:2], Y[:2])  # learns under the priors as they are now
    np.testing.assert_allclose(model.class_prior_, [0.1, 0.9])


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    model = suffice.GaussianNB().fit(NUMBERS, Y)
    before = model.predict_proba(NUMBERS)
    model.set_params(var_smoothing=1.0)
    with pytest.raises(ValueError, match=r"infinity|finite"):
        model.fit(np.full((4, 2), np.inf), [0, 1, 0, 1])
    np.testing.assert_array_equal(model.predict_proba(NUMBERS), before)


# Attributes that are read from sums.


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (suffice.GaussianNB().fit(NUMBERS, Y), "theta_"),
        (suffice.GaussianNB().fit(NUMBERS, Y), "var_"),
        (suffice.GDA().fit(NUMBERS, Y), "means_"),
        (suffice.GDA().fit(NUMBERS, Y), "coef_"),
        (suffice.GDA().fit(NUMBERS, Y), "priors_"),
        (suffice.MultinomialNB().fit(COUNTS, Y), "feature_log_prob_"),
        (suffice.MultinomialNB().fit(COUNTS, Y), "class_log_prior_"),
        (suffice.MultinomialNB().fit(COUNTS, Y), "feature_count_"),
        (suffice.BernoulliNB().fit(COUNTS, Y), "feature_log_prob_"),
        (suffice.PoissonNB().fit(COUNTS, Y), "rate_"),
    ],
    ids=lambda each: each if isinstance(each, str) else type(each).__name__,
)
def test_attributes_read_from_sums_cannot_be_changed(model: Any, name: str) -> None:
    with pytest.raises(AttributeError, match=f"{name} of {type(model).__name__} is computed from its sums.*with_"):
        setattr(model, name, np.zeros(2))
    with pytest.raises(ValueError, match="read-only"):
        getattr(model, name)[0] = 0.0

"""Rows in float32: answers have the types of scikit-learn's, and the sums stay in float64."""

from typing import Any

import numpy as np
import pandas
import pytest
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.naive_bayes
from scipy import sparse

import suffice

RANDOM = np.random.default_rng(0)
X = RANDOM.poisson(3.0, (60, 4)).astype(np.float32)
CLASSES = RANDOM.integers(0, 3, 60)
VALUES = (X @ np.array([1.0, 2.0, 0.0, 1.0], dtype=np.float32) + RANDOM.exponential(size=60)).astype(np.float32)
ANSWERS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "decision_function", "transform")

PAIRS = {
    "GaussianNB": (suffice.GaussianNB(), sklearn.naive_bayes.GaussianNB(), CLASSES),
    "MultinomialNB": (suffice.MultinomialNB(), sklearn.naive_bayes.MultinomialNB(), CLASSES),
    "ComplementNB": (suffice.ComplementNB(), sklearn.naive_bayes.ComplementNB(), CLASSES),
    "BernoulliNB": (suffice.BernoulliNB(), sklearn.naive_bayes.BernoulliNB(), CLASSES),
    "CategoricalNB": (suffice.CategoricalNB(), sklearn.naive_bayes.CategoricalNB(), CLASSES),
    "GDA": (suffice.GDA(), sklearn.discriminant_analysis.LinearDiscriminantAnalysis(), CLASSES),
    "LogisticRegression": (suffice.LogisticRegression(), sklearn.linear_model.LogisticRegression(), CLASSES),
    "LinearRegression": (suffice.LinearRegression(), sklearn.linear_model.LinearRegression(), VALUES),
    "PoissonRegressor": (suffice.PoissonRegressor(), sklearn.linear_model.PoissonRegressor(), VALUES),
    "GammaRegressor": (suffice.GammaRegressor(), sklearn.linear_model.GammaRegressor(), VALUES + 1),
    "Perceptron": (suffice.Perceptron(), sklearn.linear_model.Perceptron(), CLASSES),
}


@pytest.mark.parametrize("name", PAIRS)
def test_answers_have_the_types_of_scikit_learns(name: str) -> None:
    mine, other, y = PAIRS[name]
    mine.fit(X, y)
    other.fit(X, y)
    for answer in ANSWERS:
        if hasattr(mine, answer) and hasattr(other, answer):
            assert getattr(mine, answer)(X).dtype == getattr(other, answer)(X).dtype, answer


@pytest.mark.parametrize("name", PAIRS)
def test_answers_are_those_of_float64_rounded(name: str) -> None:
    model, _, y = PAIRS[name]
    narrow, wide = model.fit(X, y), unfitted(model).fit(X.astype(np.float64), y)
    for answer in ANSWERS:
        if hasattr(model, answer):
            found, expected = getattr(narrow, answer)(X), getattr(wide, answer)(X.astype(np.float64))
            assert expected.dtype != np.float32
            if answer == "predict_log_proba" and found.dtype == np.float32:
                expected = np.where(expected > -(2.0**-25), 0.0, expected)  # the logarithm of 1 in float32
            np.testing.assert_array_equal(found, expected.astype(found.dtype))


def unfitted(model: Any) -> Any:
    """Return an unfitted copy."""
    return type(model)(**model.get_params())


@pytest.mark.parametrize("form", [sparse.csr_array, pandas.DataFrame], ids=["csr", "frame"])
def test_sparse_rows_and_data_frames_of_float32(form: Any) -> None:
    model = suffice.GaussianNB().fit(form(X), CLASSES)
    assert model.predict_proba(form(X)).dtype == np.float32
    assert model.predict_proba(form(X.astype(np.float64))).dtype == np.float64
    mixed = pandas.DataFrame(X).astype({0: np.float64})
    assert suffice.GaussianNB().fit(mixed, CLASSES).predict_proba(mixed).dtype == np.float64


@pytest.mark.needs("torch")
def test_torch_rows_of_float32() -> None:
    import torch

    rows = torch.asarray(X)
    model = suffice.LogisticRegression().fit(rows, torch.asarray(CLASSES))
    assert model.predict_proba(rows).dtype == torch.float32
    assert model.predict_proba(rows.double()).dtype == torch.float64


def test_sums_and_coefficients_stay_in_float64() -> None:
    model = suffice.GDA().fit(X, CLASSES)
    assert model.statistics_.mean.dtype == model.coef_.dtype == np.float64
    assert suffice.LinearRegression().fit(X, VALUES).coef_.dtype == np.float64


def test_intervals_of_float32_rows_are_not_rounded() -> None:
    model = suffice.LogisticRegression().fit(X, CLASSES == 1)
    for found, expected in zip(model.predict_interval(X), model.predict_interval(X.astype(np.float64)), strict=True):
        np.testing.assert_array_equal(found, expected)

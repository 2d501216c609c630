"""Rows so far from all classes that squared distances overflow: their classes cannot be compared, and are refused."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

from suffice import GDA, GaussianNB, MixedNB
from suffice.kernels.errors import ScoreOverflowError, UnderflowError

RANDOM = np.random.default_rng(0)
Y = np.arange(60) % 2
X = RANDOM.normal(size=(60, 2)) + Y[:, None] * [1.0, 0.0]
FAR = np.array([[0.1, 0.2], [1e160, 0.0], [0.3, -0.1], [-1e200, 1e200]])
MODELS = {
    "GaussianNB": GaussianNB(),
    "GDA, full": GDA("full"),
    "GDA, diagonal": GDA("diagonal"),
    "GDA, missing cells": GDA("full", missing="em"),
    "MixedNB": MixedNB(),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_row_too_far_to_compare_classes_is_named(name: str) -> None:
    """All classes score -inf there: the prior was given as their probabilities, and its first class predicted."""
    model: Any = MODELS[name].fit(X, Y)
    for predict in (model.predict, model.predict_proba, model.predict_log_proba):
        with pytest.raises(
            OverflowError, match=r"the scores of x\[1\] overflow float64; rescale the features"
        ) as raised:
            predict(FAR)
        assert isinstance(raised.value, ScoreOverflowError)
        assert raised.value.row == 1
    np.testing.assert_array_equal(model.log_evidence(FAR)[[1, 3]], -np.inf)
    np.testing.assert_array_equal(model.predict_joint_log_proba(FAR)[1], -np.inf)
    np.testing.assert_allclose(model.predict_proba(FAR[::2]).sum(axis=1), 1.0)


def test_a_far_row_with_a_missing_cell_and_one_of_a_tensor_are_named() -> None:
    model = GDA("full", missing="em").fit(X, Y)
    with pytest.raises(OverflowError, match=r"the scores of x\[1\] overflow"):
        model.predict([[0.1, np.nan], [1e160, np.nan]])
    for each in (GaussianNB().fit(X, Y), GDA("full").fit(X, Y)):
        with pytest.raises(OverflowError, match=r"the scores of x\[1\] overflow"):
            each.predict(torch.tensor(FAR))


def test_a_class_that_alone_is_too_far_off_is_impossible() -> None:
    narrow = GaussianNB(priors=[0.5, 0.5], var_smoothing=0.0).fit([[0.0], [1e-100], [0.0], [1e100]], [0, 0, 1, 1])
    np.testing.assert_array_equal(narrow.predict_proba([[1e100]]), [[0.0, 1.0]])


def test_linear_scores_of_far_rows_are_compared() -> None:
    np.testing.assert_array_equal(GDA().fit(X, Y).predict_proba([[1e160, 0.0], [-1e160, 0.0]]), [[0, 1], [1, 0]])


def test_the_error_keeps_its_row_between_processes() -> None:
    assert pickle.loads(pickle.dumps(ScoreOverflowError(7))).row == 7


@pytest.mark.parametrize(("unit", "weight"), [(1e-200, 1.0), (1e-120, 1e-300), (1e-200, 1e300), (1e-200, 1e-300)])
@pytest.mark.parametrize("model", [GaussianNB(), MixedNB(), GDA(), GDA("full"), GDA("diagonal")])
def test_features_whose_squares_underflow_are_no_constants(model: Any, unit: float, weight: float) -> None:
    """All variances were 0, and every row of the class with the larger prior."""
    with pytest.raises(UnderflowError, match=r"the sums of squares of feature 0 underflow .*; rescale the feature"):
        clone(model).fit(unit * X, Y, sample_weight=np.full(60, weight))


@pytest.mark.parametrize("model", [GaussianNB(), GDA()])
def test_small_and_large_units_and_weights_keep_the_answer(model: Any) -> None:
    expected = clone(model).fit(X, Y).predict_proba(X)
    for kept in (1e-145, 1e145):
        np.testing.assert_allclose(clone(model).fit(kept * X, Y).predict_proba(kept * X), expected, rtol=1e-6)
    weighted = clone(model).fit(X, Y, sample_weight=np.full(60, 1e-300))
    np.testing.assert_allclose(weighted.predict_proba(X), expected, rtol=1e-6)
    with_constant = np.column_stack([X, np.ones(60)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the constant
        clone(model).fit(with_constant, Y, sample_weight=np.full(60, 1e-300))
    with pytest.raises(OverflowError, match=r"the sums of x overflow float64; rescale feature 0"):
        clone(model).fit(1e160 * X, Y, sample_weight=np.full(60, 1e-300))

"""Rows so far from all classes that squared distances overflow: their classes cannot be compared, and are refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from suffice import GDA, GaussianNB, MixedNB
from suffice.kernels.errors import ScoreOverflowError

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

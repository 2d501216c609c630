"""Targets that stay on a device with their rows."""

from __future__ import annotations

from typing import Any

import array_api_strict as xp
import numpy as np
import pytest
from sklearn.base import clone

from suffice import GDA, GammaRegressor, GaussianNB, LinearRegression, LogisticRegression, SoftmaxRegression
from suffice.kernels.array_blocks import to_host
from suffice.kernels.targets import all_finite, are_together, discovered
from suffice.statistics import Labels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
Y = (X[:, 0] + RNG.normal(size=600) > 0).astype(np.int64) + (X[:, 1] > 1)
WEIGHT = RNG.random(600)


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1, 2, 1],
        [5, 5, 7],
        [-3, 4, -3],
        [0, 10_000, 5],
        [3],
        [True, False, True],
        [True, True],
        [False],
        np.array([0, 1, 1], dtype=np.uint8),
        np.array([2**40, 0], dtype=np.int64),
    ],
    ids=str,
)
def test_classes_are_found_where_they_are(labels: Any) -> None:
    expected, codes = Labels.discover(np.asarray(labels))
    found = discovered(xp.asarray(np.asarray(labels)))
    assert found is not None
    assert found[0] == expected
    np.testing.assert_array_equal(to_host(found[1]), codes)


@pytest.mark.parametrize("other", [[0.0, 1.0], [[0], [1]]], ids=str)
def test_others_come_to_the_host(other: Any) -> None:
    assert discovered(xp.asarray(np.asarray(other))) is None


@pytest.mark.needs("torch")
def test_what_is_together() -> None:
    import torch

    assert are_together(torch.zeros(2), torch.zeros(2))
    assert not are_together(torch.zeros(2), np.zeros(2))
    assert not are_together(torch.zeros(2), xp.asarray([0.0]))
    assert all_finite(torch.zeros(2))
    assert not all_finite(torch.tensor([0.0, float("inf")]))


@pytest.mark.parametrize("change", [lambda y: y, lambda y: y + 5, lambda y: y * 1000, lambda y: y > 0])
@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        GDA(),
        GaussianNB(temperature="auto"),
        LogisticRegression(tol=1e-12),
        SoftmaxRegression(tol=1e-12),
        LogisticRegression(class_weight="balanced", C=1.0, tol=1e-12),
    ],
    ids=repr,
)
@pytest.mark.needs("torch")
def test_classifiers_with_targets_beside_their_rows(model: Any, change: Any) -> None:
    import torch

    there = clone(model).fit(torch.tensor(X), torch.tensor(change(Y)), sample_weight=WEIGHT)
    here = clone(model).fit(X, change(Y), sample_weight=WEIGHT)
    np.testing.assert_allclose(there.predict_proba(torch.tensor(X)).numpy(), here.predict_proba(X), atol=1e-10)
    np.testing.assert_array_equal(there.predict(torch.tensor(X)), here.predict(X))
    assert there.classes_.dtype == here.classes_.dtype
    if hasattr(here, "facts_"):
        np.testing.assert_allclose(list(there.facts_.plain().values()), list(here.facts_.plain().values()), rtol=1e-10)


@pytest.mark.parametrize("model", [LinearRegression(), LinearRegression("newton"), GammaRegressor(tol=1e-12)], ids=repr)
@pytest.mark.needs("torch")
def test_regressions_with_targets_beside_their_rows(model: Any) -> None:
    import torch

    y = np.exp(X[:, 0] / 3) + 0.1
    there = clone(model).fit(torch.tensor(X), torch.tensor(y), sample_weight=WEIGHT)
    here = clone(model).fit(X, y, sample_weight=WEIGHT)
    np.testing.assert_allclose(there.theta_, here.theta_, atol=1e-9)


@pytest.mark.needs("torch")
def test_what_is_not_finite_is_named() -> None:
    import torch

    y = torch.tensor(np.where(np.arange(600) == 7, np.nan, 1.0))
    with pytest.raises(ValueError, match=r"Input y contains NaN: y\[7\] is nan"):
        LinearRegression().fit(torch.tensor(X), y)


@pytest.mark.needs("torch")
def test_one_target_for_each_row() -> None:
    import torch

    with pytest.raises(ValueError, match="X has 600 rows and y has 3: there must be one per row"):
        GaussianNB().fit(torch.tensor(X), torch.tensor([0, 1, 0]))
    with pytest.raises(ValueError, match="X has 600 rows and y has 3: there must be one per row"):
        LogisticRegression().fit(torch.tensor(X), torch.tensor([0, 1, 0]))

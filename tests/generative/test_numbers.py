"""Numbers that bit others: each has a test here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import xlogy

from suffice import GDA, BernoulliNB, GaussianNB, MultinomialNB

from .rows import CASES


def test_a_large_feature_does_not_drown_a_small_one() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 500)
    x = np.c_[1e-6 * (random.normal(size=500) + 6 * y), 1e6 * random.normal(size=500)]
    assert GaussianNB().fit(x, y).score(x, y) > 0.95


@pytest.mark.parametrize(("offset", "dtype"), [(1e4, np.float32), (1e8, np.float64)])
@pytest.mark.parametrize("make", [lambda: GaussianNB(var_smoothing=0), GDA, lambda: GDA("full")])
def test_an_offset_costs_no_digits(make: Any, offset: float, dtype: Any) -> None:
    x, y = CASES[0].draw(200)
    far = (x - x.mean(0)).round(2).astype(dtype) + dtype(offset)
    near = far.astype(np.float64) - offset
    np.testing.assert_allclose(
        make().fit(far, y).predict_proba(far), make().fit(near, y).predict_proba(near), atol=1e-6
    )


def test_float32_is_summed_in_float64() -> None:
    rows = np.full((1, 1), 2**24, dtype=np.float32)
    model = MultinomialNB().fit(rows, [0])
    for _ in range(3):
        model.partial_fit(np.ones((1, 1), dtype=np.float32), [0])
    assert model.feature_count_[0, 0] == 2**24 + 3


def test_no_smoothing_gives_no_nan() -> None:
    x, y = CASES[2].draw(40)
    x[y == 0, 3] = 0
    model = MultinomialNB(alpha=0).fit(x, y)
    p = model.feature_count_ / model.feature_count_.sum(axis=1, keepdims=True)
    expected = xlogy(x[:, None, :], p).sum(axis=2) + model.class_log_prior_
    np.testing.assert_allclose(model.predict_joint_log_proba(x), expected)


def test_absence_near_certainty_keeps_its_digits() -> None:
    rows = 10_000_000
    x = np.array([[1.0], [0.0]])
    model = BernoulliNB(alpha=1e-9).fit(x, [0, 0], sample_weight=[rows, 1])
    model.partial_fit(x, [1, 1])
    joint = model.predict_joint_log_proba([[0.0]])[0, 0] - model.class_log_prior_[0]
    np.testing.assert_allclose(joint, np.log((1 + 1e-9) / (rows + 1 + 2e-9)), rtol=1e-12)


def test_a_class_absent_from_a_batch_and_batches_of_one() -> None:
    x, y = CASES[0].draw(40)
    model = GDA("full").fit(x[y != 2], y[y != 2])
    for row in np.flatnonzero(y == 2):
        model.partial_fit(x[row : row + 1], [2])
    np.testing.assert_allclose(model.predict_proba(x), GDA("full").fit(x, y).predict_proba(x), atol=1e-10)


def test_forgetting_says_what_it_costs() -> None:
    x = np.array([[1.0], [1.001], [1.002], [-1e6], [1e6]])
    model = GaussianNB().fit(x, [0, 0, 0, 0, 0])
    with pytest.raises(ArithmeticError, match=r"digits .* anew"):
        model.forget(x[3:], [0, 0])
    assert model.class_count_[0] == 5
    calm, labels = CASES[0].draw(60)
    assert GaussianNB().fit(calm, labels).forget(calm[:5], labels[:5]).digits_lost_ < 3

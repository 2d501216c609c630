"""Numbers that bit others: each has a test here."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import xlogy

from suffice import GDA, BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB, PoissonNB

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
    with pytest.raises(ArithmeticError, match=r"too few digits are left of feature 0: .*: fit the remaining rows"):
        model.forget(x[3:], [0, 0])
    assert model.class_count_[0] == 5
    calm, labels = CASES[0].draw(60)
    assert GaussianNB().fit(calm, labels).forget(calm[:5], labels[:5]).statistics_.digits_kept() > 10


def _word_rows() -> tuple[Any, Any]:
    x = sp.random_array((40, 300), density=0.02, random_state=0, format="csr")
    x.data = np.ceil(3 * x.data)
    return x, np.arange(40) % 3


@pytest.mark.parametrize("kind", [MultinomialNB, ComplementNB, PoissonNB, BernoulliNB])
def test_sparse_rows_learnt_one_by_one_are_those_learnt_at_once(kind: Any) -> None:
    """Sparse and dense rows, with and without weights, and predictions in between."""
    x, y = _word_rows()
    weight = np.where(np.arange(40) % 2, 2.0, 1.0)
    model = kind().partial_fit(x[:10], y[:10], classes=[0, 1, 2], sample_weight=weight[:10])
    for row in range(10, 40):
        one = x[[row]] if row % 5 else x[[row]].toarray()
        model.partial_fit(one, y[[row]], sample_weight=weight[[row]] if row % 2 else None)
        if row % 7 == 0:
            at_once = kind().fit(x[: row + 1], y[: row + 1], sample_weight=weight[: row + 1])
            asked = x[[row - 9]]
            np.testing.assert_allclose(model.predict_log_proba(asked), at_once.predict_log_proba(asked), rtol=1e-12)
    np.testing.assert_allclose(model.class_count_, kind().fit(x, y, sample_weight=weight).class_count_)


def test_a_sparse_row_between_two_batches_is_read_as_all_words_would_be() -> None:
    x, y = _word_rows()
    model = MultinomialNB(alpha=0.5)
    for row in range(40):
        model.partial_fit(x[[row]], y[[row]], classes=[0, 1, 2])
    narrow = model.predict_joint_log_proba(x[[3]])
    np.testing.assert_allclose(narrow, model.predict_joint_log_proba(x[[3]].toarray()), rtol=1e-12)


def test_without_smoothing_a_class_that_lacks_a_word_is_ruled_out_between_batches() -> None:
    model = MultinomialNB(alpha=0.0).partial_fit(sp.csr_array(np.eye(2, 20)), [0, 1])
    model.partial_fit(sp.csr_array(np.eye(2, 20)), [0, 1])
    np.testing.assert_array_equal(model.predict_proba(sp.csr_array(np.eye(2, 20))), np.eye(2))


def test_missing_cells_of_sparse_rows_are_skipped_as_those_of_dense_rows() -> None:
    x = np.array([[1.0, 0, 2], [0, 1, 0], [1, 1, 0], [0, 0, 3]])
    model = BernoulliNB().fit(x, [0, 1, 0, 1])
    x[1, 2] = np.nan
    np.testing.assert_allclose(model.predict_proba(sp.csr_array(x)), model.predict_proba(x), rtol=1e-12)


def test_codes_of_categories_may_be_large_and_negative() -> None:
    x = np.array([[10**9, -1], [5, 2], [10**9, 2], [5, -1]])
    names, y = x.astype(str), [0, 1, 0, 1]
    expected = CategoricalNB().fit(names, y).predict_proba(names)
    np.testing.assert_allclose(CategoricalNB().fit(x, y).predict_proba(x), expected, rtol=1e-12)


@pytest.mark.needs("torch")
def test_categories_come_as_tensors() -> None:
    import torch

    x = np.array([[0, 1], [1, 0], [0, 0], [1, 1]])
    model = CategoricalNB().fit(torch.tensor(x), [0, 1, 0, 1])
    expected = CategoricalNB().fit(x, [0, 1, 0, 1]).predict_proba(x)
    np.testing.assert_array_equal(np.asarray(model.predict_proba(torch.tensor(x))), expected)


def test_samples_come_from_a_random_state_of_numpy() -> None:
    model = GaussianNB().fit(np.array([[0.0], [1.0], [4.0], [6.0]]), [0, 0, 1, 1])
    one, two = (model.sample(5, random_state=np.random.RandomState(3))[0] for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, model.sample(5, random_state=np.random.RandomState(4))[0])

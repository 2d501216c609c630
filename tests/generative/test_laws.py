"""New classes in later batches, buffered rows, changed settings; forgetting undoes learning."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from suffice.statistics import NegativeEvidenceError

from .rows import CASES, Case

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_that_forgets = pytest.mark.parametrize("case", [case for case in CASES if case.forgets], ids=str)


def assert_same(one: Any, two: Any, x: Any, case: Case) -> None:
    """Compare two models by what they say about rows."""
    np.testing.assert_array_equal(one.classes_, two.classes_)
    tolerance = 1e-12 if case.exact else 1e-10
    for method in ("predict_joint_log_proba", "predict_proba", "log_evidence"):
        np.testing.assert_allclose(getattr(one, method)(x), getattr(two, method)(x), rtol=tolerance, atol=tolerance)


@each_that_forgets
def test_forgetting_undoes_learning(case: Case) -> None:
    x, y = case.draw(60)
    model = case.make().fit(x, y)
    model.forget(x[40:], y[40:])
    assert_same(model, case.make().fit(x[:40], y[:40]), x, case)
    assert 7 < model.statistics_.digits_kept() <= 15.9


@each_that_forgets
def test_what_was_never_learnt_is_not_forgotten(case: Case) -> None:
    x, y = case.draw(40)
    model = case.make().fit(x, y)
    before = model.predict_proba(x)
    with pytest.raises(NegativeEvidenceError, match="these rows were never in the sum"):
        model.forget(np.concatenate([x, x]), np.concatenate([y, y]))
    with pytest.raises(ValueError, match="do not exist"):
        model.forget(x[:1], [7])
    np.testing.assert_array_equal(model.predict_proba(x), before)


@each_case
def test_classes_are_discovered_and_merged(case: Case) -> None:
    x, y = case.draw(60)
    label = np.array(["ham", "spam", "work"])[y]
    one = case.make().fit(x[label != "work"], label[label != "work"])
    two = case.make().fit(x[label != "spam"][:0:-1], label[label != "spam"][:0:-1])
    both = one + two
    assert both.classes_.tolist() == ["ham", "spam", "work"]
    assert one.classes_.tolist() == ["ham", "spam"]
    rows = np.concatenate([np.flatnonzero(label != "work"), np.flatnonzero(label != "spam")[1:]])
    assert_same(both, case.make().fit(x[rows], label[rows]), x, case)


@each_case
def test_settings_are_read_anew_without_a_second_pass(case: Case) -> None:
    x, y = case.draw(40)
    model = case.make().fit(x, y)
    before = model.predict_proba(x)
    softer = model.with_params(temperature=3.0)
    assert softer.predict_proba(x).max(axis=1).mean() < before.max(axis=1).mean()
    np.testing.assert_allclose(softer.with_params(temperature=1.0).predict_proba(x), before)


@each_case
def test_models_pickle_with_rows_that_wait(case: Case) -> None:
    x, y = case.draw(40)
    model = case.make().fit(x[:30], y[:30])
    model.partial_fit(x[30:31], y[30:31])
    again = pickle.loads(pickle.dumps(model))
    assert_same(again, model, x, case)
    again.partial_fit(x[31:], y[31:])
    assert_same(again, case.make().fit(x, y), x, case)


def test_models_of_different_kinds_and_settings_do_not_merge() -> None:
    from suffice import BernoulliNB, MultinomialNB

    x, y = CASES[2].draw(40)
    with pytest.raises(TypeError, match="unsupported operand"):
        BernoulliNB().fit(x, y) + MultinomialNB().fit(x, y)
    with pytest.raises(ValueError, match=r"binarize=0\.0 and binarize=1\.0"):
        BernoulliNB().fit(x, y) + BernoulliNB(binarize=1.0).fit(x, y)
    with pytest.raises(ValueError, match="4 and of 3 features"):
        MultinomialNB().fit(x, y) + MultinomialNB().fit(x[:, :3], y)

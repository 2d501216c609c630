"""Measures of a mail filter, compared with scikit-learn and brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_auc_score, roc_curve

from suffice.mail.outcome import Outcome
from suffice.metrics import area_above_roc, binomial_interval, delong_variance, logit_interval, rank

scores = st.sampled_from([-np.inf, -2.0, -0.5, 0.0, 0.5, 1.0, 3.0, np.inf]) | st.floats(-50, 50)
outcomes = st.builds(
    lambda rows, cut: Outcome([spam for spam, _ in rows], [score for _, score in rows], cut=cut),
    st.lists(st.tuples(st.booleans(), scores), max_size=40),
    st.sampled_from([-1.0, 0.0, 0.5]),
)
both_kinds = outcomes.filter(lambda outcome: len(set(outcome.spam.tolist())) == 2)


def random_outcome(n: int, seed: int = 0, apart: float = 2.0) -> Outcome:
    random = np.random.default_rng(seed)
    spam = random.random(n) < 0.4
    return Outcome(spam, (random.normal(np.where(spam, apart, -apart), 2.0)).round(1))


def percent(shares: tuple[float, float]) -> tuple[float, float]:
    return 100 * shares[0], 100 * shares[1]


@given(both_kinds)
def test_roca_is_scikit_learns_area(outcome: Outcome) -> None:
    finite = np.clip(outcome.score, -1e6, 1e6)  # scikit-learn refuses infinite scores; the order is the same
    assert outcome.roca == pytest.approx(100 * (1 - roc_auc_score(outcome.spam, finite)), abs=1e-9)


@given(both_kinds)
def test_roca_is_the_share_of_pairs_in_the_wrong_order(outcome: Outcome) -> None:
    spam, ham = outcome.score[outcome.spam], outcome.score[~outcome.spam]
    wrong = sum((h > s) + 0.5 * (h == s) for s in spam for h in ham)
    assert outcome.roca == pytest.approx(100 * wrong / (len(spam) * len(ham)), rel=1e-15)


@given(both_kinds)
def test_roca_depends_on_the_order_of_scores_alone(outcome: Outcome) -> None:
    ranks = np.unique(outcome.score, return_inverse=True)[1]
    assert Outcome(outcome.spam, ranks**3 - 7.0, cut=2.0).roca == outcome.roca
    assert Outcome(~outcome.spam, -outcome.score).roca == outcome.roca


@given(outcomes)
def test_errors_are_counted_at_the_cut(outcome: Outcome) -> None:
    rows = list(zip(outcome.spam, outcome.score, strict=True))
    lost = sum(not spam and score >= outcome.cut for spam, score in rows)
    missed = sum(spam and score < outcome.cut for spam, score in rows)
    spams = sum(spam for spam, _ in rows)
    assert (outcome.ham_lost, outcome.spam_missed) == (lost, missed)
    np.testing.assert_equal(outcome.hm, 100 * lost / (len(rows) - spams) if len(rows) > spams else np.nan)
    np.testing.assert_equal(outcome.sm, 100 * missed / spams if spams else np.nan)


@given(both_kinds)
def test_the_logistic_average(outcome: Outcome) -> None:
    spams = outcome.spam.sum()
    hm = (outcome.ham_lost + 0.5) / (len(outcome) - spams + 1)
    sm = (outcome.spam_missed + 0.5) / (spams + 1)
    assert outcome.lam == pytest.approx(100 * expit((logit(hm) + logit(sm)) / 2))
    low, high = outcome.interval("lam")
    assert 0 < low < outcome.lam < high < 100


@given(both_kinds)
def test_the_roc_curve_contains_the_cut_and_has_the_area(outcome: Outcome) -> None:
    curve = outcome.roc()
    assert (curve.hm[0], curve.sm[0], curve.hm[-1], curve.sm[-1]) == (0, 100, 100, 0)
    assert (np.diff(curve.hm) >= 0).all()
    assert (np.diff(curve.sm) <= 0).all()
    assert np.trapezoid(curve.sm, curve.hm) / 100 == pytest.approx(outcome.roca)
    assert ((curve.hm == outcome.hm) & (curve.sm == outcome.sm)).any()
    fpr, tpr, _ = roc_curve(outcome.spam, np.clip(outcome.score, -1e6, 1e6), drop_intermediate=False)
    np.testing.assert_allclose(curve.hm, 100 * fpr)
    np.testing.assert_allclose(curve.sm, 100 * (1 - tpr), atol=1e-9)


@given(both_kinds, st.sampled_from([0.0, 0.1, 10.0, 34.0, 100.0]))
def test_sm_at_equals_a_search_over_all_cuts(outcome: Outcome, price: float) -> None:
    cuts = [*outcome.score.tolist(), None]  # the last cut files nothing, not even infinite scores
    tried = []
    for cut in cuts:
        filed = outcome.score >= cut if cut is not None else np.zeros(len(outcome), dtype=bool)
        if 100 * filed[~outcome.spam].mean() <= price:
            tried.append(100 * (~filed[outcome.spam]).mean())
    assert outcome.sm_at(price) == pytest.approx(min(tried))


def test_intervals_of_error_rates_are_clopper_pearson() -> None:
    outcome = random_outcome(500)
    hams = int((~outcome.spam).sum())
    assert outcome.interval("hm", 0.9) == percent(binomial_interval(outcome.ham_lost, hams, 0.9))
    assert outcome.interval("sm", 0.9) == percent(binomial_interval(outcome.spam_missed, 500 - hams, 0.9))


def test_the_interval_of_roca_is_normal_on_the_logit_scale_with_delongs_variance() -> None:
    outcome = random_outcome(60)
    ranking = rank(outcome.spam, outcome.score)
    share = area_above_roc(ranking)
    expected = logit_interval(logit(share), delong_variance(ranking) / (share * (1 - share)) ** 2)
    assert outcome.interval("roca") == pytest.approx(percent(expected), rel=1e-12)


@pytest.mark.parametrize("measure", ["roca", "lam"])
def test_intervals_have_their_nominal_coverage(measure: Any) -> None:
    truth = getattr(random_outcome(400_000, seed=99), measure)
    held = [
        low <= truth <= high for low, high in (random_outcome(150, seed).interval(measure, 0.9) for seed in range(400))
    ]
    assert np.mean(held) == pytest.approx(0.9, abs=0.045)


def test_intervals_without_errors_are_not_empty() -> None:
    outcome = Outcome([False] * 40 + [True] * 100, [-1.0] * 40 + [1.0] * 100)
    low, high = outcome.interval("roca")
    assert outcome.roca == low == 0
    assert high == pytest.approx(100 * (1 - 0.025 ** (1 / 40)))
    reverse = Outcome(~outcome.spam, outcome.score)
    assert reverse.interval("roca") == pytest.approx((100 - high, 100))


def test_constant_scores_have_an_area_of_one_half() -> None:
    outcome = Outcome([False, True] * 6, np.zeros(12))
    assert outcome.roca == 50
    assert outcome.interval("roca") == percent(binomial_interval(3, 6))


@pytest.mark.parametrize("spam", [[], [True], [False, False]])
def test_one_class_alone_gives_nan(spam: list[bool]) -> None:
    outcome = Outcome(spam, np.zeros(len(spam)))
    assert np.isnan([outcome.roca, outcome.lam]).all()
    assert np.isnan(outcome.sm_at()) == (True not in spam or False not in spam)
    assert outcome.interval("roca") == outcome.interval("lam") == (0, 100)
    assert outcome.interval("sm" if True not in spam else "hm") == (0, 100)
    assert np.isnan(outcome.learning_curve(3).roca).all()
    assert len(outcome.roc().hm) == 1 + bool(spam)
    assert outcome.calibration_curve().counts.sum() == len(spam)


def test_a_single_message_of_a_class_has_an_exact_interval() -> None:
    assert Outcome([True, False, False], [0.0, 1.0, -1.0]).interval("roca") == (0, 100)
    assert Outcome([True, False, False], [2.0, 1.0, -1.0]).interval("roca") == pytest.approx((0, 97.5))


@given(outcomes, st.integers(0, 45))
def test_parts_before_and_after_add_up(outcome: Outcome, k: int) -> None:
    later = outcome.after(k)
    k = min(k, len(outcome))
    np.testing.assert_array_equal(later.score, outcome.score[k:])
    assert later.cut == outcome.cut
    if 0 < k < len(outcome):
        curve = outcome.learning_curve([k, len(outcome)])
        assert curve.ham_lost.sum() == outcome.ham_lost
        assert curve.spam_missed.tolist() == [outcome.spam_missed - later.spam_missed, later.spam_missed]
        np.testing.assert_equal(curve.roca[-1], outcome.roca)


@given(outcomes, st.integers(1, 60))
def test_the_learning_curve_ends_with_the_last_message(outcome: Outcome, points: int) -> None:
    curve = outcome.learning_curve(points)
    assert len(curve.seen) == min(points, len(outcome))
    assert (np.diff(curve.seen, prepend=0) > 0).all()
    assert curve.ham_lost.sum() == outcome.ham_lost
    for seen, roca in zip(curve.seen, curve.roca, strict=True):
        np.testing.assert_equal(roca, Outcome(outcome.spam[:seen], outcome.score[:seen]).roca)
    if len(outcome):
        assert curve.seen[-1] == len(outcome)


def test_the_calibration_curve_is_scikit_learns() -> None:
    outcome = random_outcome(2000)
    found = outcome.calibration_curve(15)
    observed, predicted = calibration_curve(outcome.spam, expit(outcome.score), n_bins=15)
    np.testing.assert_allclose(found.observed, observed)
    np.testing.assert_allclose(found.predicted, predicted)
    assert found.counts.sum() == 2000
    assert np.isnan(Outcome([], []).calibration_error())


def test_certain_scores_are_probabilities_0_and_1() -> None:
    found = Outcome([False, True, True], [-np.inf, np.inf, 1000.0]).calibration_curve(4)
    assert (found.predicted.tolist(), found.counts.tolist()) == ([0, 1], [1, 2])
    assert Outcome([True, True], [4.0, np.inf]).calibration_curve(4).counts.tolist() == [2]


def test_the_unsure_zone_includes_its_start() -> None:
    outcome = Outcome([True, True, False, False, False], [1.0, 2.0, 2.0, 0.9, 1.5], unsure=(1.0, 2.0))
    assert outcome.unsure_share == (pytest.approx(100 / 3), 50)
    assert Outcome([True, False], [0.0, 0.0]).unsure_share == (0, 0)
    assert outcome.after(2).unsure == (1.0, 2.0)


def test_an_outcome_does_not_change() -> None:
    spam, score = np.array([True, False]), np.array([1.0, -1.0])
    outcome = Outcome(spam, score)
    score[:] = 0
    assert outcome.score.tolist() == [1, -1]
    with pytest.raises(ValueError, match="read-only"):
        outcome.score[0] = 5


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Outcome([True], [1.0, 2.0]), r"one entry per message; their shapes are \(1,\) and \(2,\)"),
        (lambda: Outcome([True, False], [1.0, np.nan]), "the score of message 1 is nan"),
        (lambda: Outcome([2, 0], [1.0, 2.0]), "spam must be true or false for each message; got .*2"),
        (lambda: Outcome(["spam"], [1.0]), "spam must be true or false for each message; got .*'spam'"),
        (lambda: Outcome([True], [1.0], cut=np.nan), "the cut is nan"),
        (lambda: Outcome([True], [1.0], unsure=(2.0, 1.0)), "low <= high"),
        (lambda: random_outcome(9).interval("auc"), "measure must be 'roca', 'hm', 'sm' or 'lam'; got 'auc'"),
        (lambda: random_outcome(9).interval("hm", 95), "level must be between 0 and 1; got 95"),
        (lambda: random_outcome(9).sm_at(-1), "hm must be a percentage"),
        (lambda: random_outcome(9).after(-1), "k must be 0 or more"),
        (lambda: random_outcome(9).calibration_curve(0), "bins must be 1 or more"),
        (lambda: random_outcome(9).learning_curve(0), "points must be 1 or more"),
        (lambda: random_outcome(9).learning_curve([3, 2]), r"points must increase, .*\[3, 2\]"),
        (lambda: random_outcome(9).learning_curve([10]), "at most 9 messages"),
    ],
)
def test_invalid_input_is_named(wrong: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wrong()

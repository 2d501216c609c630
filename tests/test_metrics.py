"""Measures of predictions beside scikit-learn, SciPy and plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import beta, norm
from sklearn import calibration
from sklearn import metrics as reference

from suffice import metrics
from suffice.metrics import rank
from suffice.statistics import Labels

rows = st.lists(
    st.tuples(st.booleans(), st.sampled_from([-2.0, -0.5, 0.0, 0.5, 3.0]) | st.floats(-50, 50)), min_size=2, max_size=40
).filter(lambda rows: len({positive for positive, _ in rows}) == 2)


def arrays(rows: list[tuple[bool, float]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([positive for positive, _ in rows]), np.array([score for _, score in rows])


def simulated(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    positive = random.random(n) < 0.4
    return positive, random.normal(np.where(positive, 1.0, -1.0), 1.5).round(1)


# Losses.


def test_losses_of_classes_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    scores, codes = random.normal(size=(200, 3)), random.integers(0, 3, 200)
    found = metrics.row_losses("classes", scores, codes)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert found["log loss"].mean() == pytest.approx(reference.log_loss(codes, p))
    assert found["accuracy"].mean() == reference.accuracy_score(codes, scores.argmax(axis=1))
    np.testing.assert_allclose(metrics.log_losses(p[np.arange(200), codes]), found["log loss"])


def test_losses_of_counts_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(1)
    rates = random.gamma(2.0, 1.0, 100)
    values = random.poisson(rates).astype(np.float64)
    found = {name: each.mean() for name, each in metrics.row_losses("counts", rates, values).items()}
    assert found == {
        "deviance": pytest.approx(reference.mean_poisson_deviance(values, rates)),
        "squared error": pytest.approx(reference.mean_squared_error(values, rates)),
        "absolute error": pytest.approx(reference.mean_absolute_error(values, rates)),
    }


def test_an_impossible_class_and_a_negative_rate_have_finite_losses() -> None:
    assert metrics.log_losses(np.array([0.0])) == pytest.approx(-np.log(1e-15))
    assert metrics.row_losses("classes", np.array([[0.0, -np.inf]]), np.array([1]))["log loss"] == pytest.approx(
        -np.log(1e-15)
    )
    assert np.isfinite(metrics.poisson_deviances(np.array([3.0]), np.array([-2.0]))).all()


def test_the_class_baseline_is_a_model_of_the_class_frequencies() -> None:
    codes = np.array([0] * 50 + [1] * 30 + [2] * 20)
    p = np.tile([0.5, 0.3, 0.2], (100, 1))
    found = metrics.class_baseline([50, 30, 20])
    assert found["accuracy"] == reference.accuracy_score(codes, p.argmax(axis=1))
    assert found["log loss"] == pytest.approx(reference.log_loss(codes, p))
    assert found["Brier score"] == pytest.approx(((np.eye(3)[codes] - p) ** 2).sum(axis=1).mean())
    two = metrics.class_baseline([30, 10])["Brier score"]
    assert two == pytest.approx(reference.brier_score_loss([0] * 30 + [1] * 10, [0.25] * 40))


# ROC and precision-recall curves.


@given(rows)
def test_roc_curves_are_those_of_scikit_learn(rows: list[tuple[bool, float]]) -> None:
    positive, scores = arrays(rows)
    ranking = rank(positive, scores)
    fpr, tpr, _ = reference.roc_curve(positive, scores, drop_intermediate=False)
    np.testing.assert_allclose(metrics.roc_curve(ranking), (fpr, tpr))
    assert metrics.roc_auc(ranking) == pytest.approx(reference.roc_auc_score(positive, scores))


@given(rows)
def test_the_corners_of_a_roc_curve_have_its_area(rows: list[tuple[bool, float]]) -> None:
    ranking = rank(*arrays(rows))
    corners = metrics.corners(ranking)
    assert len(corners.true_positives) <= len(ranking.true_positives)
    assert set(zip(*corners, strict=True)) <= set(zip(*ranking, strict=True))
    assert metrics.roc_auc(corners) == pytest.approx(metrics.roc_auc(ranking))


@given(rows)
def test_precision_recall_curves_are_those_of_scikit_learn(rows: list[tuple[bool, float]]) -> None:
    positive, scores = arrays(rows)
    curve = metrics.precision_recall_curve(rank(positive, scores))
    precision, recall, _ = reference.precision_recall_curve(positive, scores)
    np.testing.assert_allclose(curve.precision, precision)
    np.testing.assert_allclose(curve.recall, recall)
    assert metrics.average_precision(*curve) == pytest.approx(reference.average_precision_score(positive, scores))


def test_histograms_of_scores_rank_as_the_scores_do() -> None:
    positive, scores = simulated(300)
    values = np.unique(scores)
    histograms = [
        np.bincount(np.searchsorted(values, scores[kind]), minlength=len(values)) for kind in (~positive, positive)
    ]
    found = metrics.rank_histograms(*(each.astype(np.float64) for each in histograms))
    np.testing.assert_array_equal(found, rank(positive, scores))


def test_an_area_close_to_zero_keeps_its_digits() -> None:
    positive = np.arange(200_000) >= 100_000
    scores = np.arange(200_000.0)
    scores[99_999], scores[100_000] = scores[100_000], scores[99_999]
    assert metrics.area_above_roc(rank(positive, scores)) == 1e-10


def test_the_variance_of_the_area_is_delongs() -> None:
    positive, scores = simulated(60)
    ours, theirs = scores[positive], scores[~positive]
    wrong = (theirs[None] > ours[:, None]) + 0.5 * (theirs[None] == ours[:, None])
    expected = wrong.mean(axis=1).var(ddof=1) / len(ours) + wrong.mean(axis=0).var(ddof=1) / len(theirs)
    assert metrics.delong_variance(rank(positive, scores)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("positive", [[], [True], [False, False]])
def test_one_class_alone_has_no_area(positive: list[bool]) -> None:
    ranking = rank(np.array(positive, dtype=bool), np.zeros(len(positive)))
    assert np.isnan(metrics.roc_auc(ranking))
    assert metrics.delong_variance(ranking) == 0


# Calibration.


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_calibration_curves_are_those_of_scikit_learn(strategy: str) -> None:
    positive, scores = simulated(2000)
    p = expit(scores + np.random.default_rng(3).normal(size=2000))
    sums = metrics.calibration_sums if strategy == "uniform" else metrics.quantile_calibration_sums
    curve = metrics.calibration_curve(sums(p, positive, 15))
    observed, predicted = calibration.calibration_curve(positive, p, n_bins=15, strategy=strategy)
    np.testing.assert_allclose(curve.observed, observed)
    np.testing.assert_allclose(curve.predicted, predicted)
    assert curve.counts.sum() == 2000


def test_calibration_error_by_hand() -> None:
    sums = metrics.calibration_sums(np.array([0.1, 0.2, 0.9, 0.9]), np.array([False, True, True, True]), 2)
    assert metrics.calibration_error(metrics.calibration_curve(sums)) == pytest.approx((2 * 0.35 + 2 * 0.1) / 4)
    assert np.isnan(metrics.calibration_error(metrics.calibration_curve(np.zeros((3, 2)))))


@pytest.mark.parametrize("sums", [metrics.calibration_sums, metrics.quantile_calibration_sums])
def test_bins_must_be_positive(sums: Any) -> None:
    with pytest.raises(ValueError, match="bins must be 1 or more; got 0"):
        sums(np.array([0.5]), np.array([True]), 0)


# Confusion matrices.


def test_measures_of_classes_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(2)
    codes, predicted = random.integers(0, 4, 300), random.integers(0, 4, 300)
    confusion = metrics.confusion_matrix(codes, predicted, 4)
    np.testing.assert_array_equal(confusion, reference.confusion_matrix(codes, predicted))
    expected = reference.precision_recall_fscore_support(codes, predicted)
    np.testing.assert_allclose(metrics.class_measures(confusion), expected)


# Intervals.


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (3, 10), (1, 5000), (40, 300), (0, 1), (60_000, 100_000)])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_binomial_limits_are_quantiles_of_beta(k: int, n: int, level: float) -> None:
    tail = (1 - level) / 2
    expected = (beta.ppf(tail, k, n - k + 1) if k else 0.0, beta.ppf(1 - tail, k + 1, n - k) if k < n else 1.0)
    np.testing.assert_allclose(metrics.binomial_interval(k, n, level), expected, rtol=1e-9)


def test_binomial_limits_between_two_counts_and_without_trials() -> None:
    low, high = metrics.binomial_interval(2.5, 10)
    assert (low, high) == (metrics.binomial_interval(2, 10)[0], metrics.binomial_interval(3, 10)[1])
    assert metrics.binomial_interval(0, 0) == (0, 1)


@pytest.mark.parametrize("n", [7, 49, 100, 6500])
def test_the_mean_and_the_interval_of_equal_values_have_no_rounding_error(n: int) -> None:
    right, error = metrics.mean_and_error(np.ones(n), np.full(n, 0.1))
    assert (right, error) == metrics.mean_and_error(np.ones(n)) == (1.0, 0.0)
    assert metrics.share_interval(right, error, n) == metrics.binomial_interval(n, n)
    assert metrics.share_interval(29 / 100, 0.0, 100) == metrics.binomial_interval(29, 100)


def test_logit_limits_are_normal_on_the_logit_scale() -> None:
    low, high = metrics.logit_interval(1.0, 0.04, 0.9)
    assert (logit(low), logit(high)) == pytest.approx(norm.interval(0.9, 1.0, 0.2))


# Evaluation.


def test_an_evaluation_of_batches_is_that_of_all_rows() -> None:
    random = np.random.default_rng(5)
    p, codes = random.dirichlet([1, 1], 400), random.integers(0, 2, 400)
    whole, parts = (metrics.Evaluation("classes", Labels(("a", "b"))) for _ in range(2))
    whole.add(p, codes)
    for start in range(0, 400, 150):
        parts.add(p[start : start + 150], codes[start : start + 150])
    assert parts.summary() == pytest.approx(whole.summary())
    assert whole.summary()["ROC AUC"] == pytest.approx(reference.roc_auc_score(codes, p[:, 1]), abs=1e-3)
    assert whole.summary()["Brier score"] == pytest.approx(reference.brier_score_loss(codes, p[:, 1]))


def test_an_evaluation_of_numbers_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(6)
    values, expected = random.normal(1e3, 1, (2, 200))
    found = metrics.Evaluation("numbers", Labels())
    found.add(expected[:50], values[:50])
    found.add(expected[50:], values[50:])
    assert found.summary() == {
        "RMSE": pytest.approx(reference.root_mean_squared_error(values, expected)),
        "MAE": pytest.approx(reference.mean_absolute_error(values, expected)),
        "R²": pytest.approx(reference.r2_score(values, expected)),
    }

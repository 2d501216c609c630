import numpy as np
import pytest
from scipy import stats

from suffice.families import Bernoulli
from suffice.statistics import Labels, PresenceCounts

LABELS = Labels(("ham", "spam"))


def counts(rows, present):
    return PresenceCounts(LABELS, np.array(rows, dtype=float), np.array(present, dtype=float))


def test_log_prob_agrees_with_scipy():
    p, y = np.array([0.0, 0.01, 0.5, 0.99, 1.0]), np.array([[0], [1]])
    np.testing.assert_allclose(Bernoulli(p).log_prob(y), stats.bernoulli.logpmf(y, p), rtol=1e-13)


@pytest.mark.parametrize("eta", [-700.0, -40.0, 0.0, 40.0, 700.0])
def test_extreme_log_odds(eta):
    member = Bernoulli.from_natural(eta)
    np.testing.assert_allclose(member.natural, eta, rtol=1e-14)
    np.testing.assert_allclose(member.log_prob([0, 1]), [-max(eta, 0), min(eta, 0)], rtol=1e-12, atol=0.7)
    assert np.isfinite([Bernoulli.log_partition(eta), Bernoulli.mean(eta), Bernoulli.variance(eta)]).all()
    assert Bernoulli.variance(eta) > 0


def test_samples_fit():
    draws = Bernoulli(0.3).sample(5000, 3)
    assert stats.binomtest(int(draws.sum()), 5000, 0.3).pvalue > 1e-4
    assert Bernoulli([0.0, 1.0]).sample(50, 3).mean(axis=0).tolist() == [0, 1]


def test_estimate_by_hand():
    seen = counts([10, 4], [[3, 10, 0], [4, 0, 1]])
    np.testing.assert_array_equal(Bernoulli.estimate(seen).p, [[0.3, 1.0, 0.0], [1.0, 0.0, 0.25]])
    smoothed = Bernoulli.estimate(seen, alpha=[1, 0.5, 0])
    np.testing.assert_allclose(smoothed.p, [[4 / 12, 10.5 / 11, 0], [5 / 6, 0.5 / 5, 0.25]])
    np.testing.assert_allclose(smoothed.q, [[8 / 12, 0.5 / 11, 1], [1 / 6, 4.5 / 5, 0.75]])


def test_zero_counts_are_impossible_not_nan():
    assert Bernoulli.estimate(counts([2, 2], [[0], [2]])).log_prob([1]).tolist() == [[-np.inf], [0.0]]


def test_complement_keeps_its_digits_near_one():
    rows = 2.0**53  # 1 - p would round to 0 or 2**-53
    member = Bernoulli.estimate(counts([rows, 1], [[rows - 1, 0], [0, 0]]), alpha=0.25)
    np.testing.assert_allclose(member.q[0, 0], 1.25 / rows, rtol=1e-12)
    np.testing.assert_allclose(member.log_prob([0, 0])[0, 0], np.log(1.25 / rows), rtol=1e-12)
    np.testing.assert_allclose(member.log_prob([1, 0])[0, 0], -1.25 / rows, rtol=1e-9)


def test_a_class_without_rows():
    seen = counts([3, 0], [[1, 2], [0, 0]])
    with pytest.raises(ValueError, match="class 'spam' has no rows: its probability is undefined; give alpha > 0"):
        Bernoulli.estimate(seen)
    with pytest.raises(ValueError, match="class 'spam' has no rows"):
        Bernoulli.estimate(seen, alpha=[1, 0])
    assert Bernoulli.estimate(seen, alpha=1).p[1].tolist() == [0.5, 0.5]


def test_missing_cells_are_as_if_never_there():
    cells = np.array([[8.0, 10.0, 0.0], [4.0, 2.0, 4.0]])
    seen = PresenceCounts(LABELS, np.array([10.0, 4.0]), np.array([[2.0, 10.0, 0.0], [4.0, 0.0, 1.0]]), cells)
    words = "feature 2 is missing in every row of class 'ham': its probability is undefined; give alpha > 0"
    with pytest.raises(ValueError, match=words):
        Bernoulli.estimate(seen)
    with pytest.raises(ValueError, match=words):
        Bernoulli.estimate(seen, alpha=[1, 1, 0])
    member = Bernoulli.estimate(seen, alpha=[0, 0.5, 1])
    np.testing.assert_allclose(member.p, [[2 / 8, 10.5 / 11, 1 / 2], [1, 0.5 / 3, 2 / 6]])
    np.testing.assert_allclose(member.q, [[6 / 8, 0.5 / 11, 1 / 2], [0, 2.5 / 3, 4 / 6]])


@pytest.mark.parametrize(("p", "q"), [(1.5, None), (np.nan, None), (0.5, 0.4)])
def test_bad_parameters(p, q):
    with pytest.raises(ValueError, match=r"^[pq] is "):
        Bernoulli(p, q)

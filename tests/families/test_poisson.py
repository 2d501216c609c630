import numpy as np
import pytest
from scipy import stats

from suffice.families import Multinomial, Poisson
from suffice.statistics import EventCounts, Labels


def counts(rows, table):
    return EventCounts(Labels(("mon", "sun")), np.array(rows, dtype=float), np.array(table, dtype=float))


def test_log_prob_agrees_with_scipy():
    rate, y = np.array([0.0, 1e-8, 3.0, 1e6]), np.array([[0], [1], [4], [10**6]])
    np.testing.assert_allclose(Poisson(rate).log_prob(y), stats.poisson.logpmf(y, rate), rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("eta", [-700.0, -1.0, 700.0])
def test_extreme_log_rates(eta):
    assert Poisson.from_natural(eta).natural == pytest.approx(eta, rel=1e-14)
    assert Poisson.mean(eta) == Poisson.variance(eta) == Poisson.log_partition(eta) == np.exp(eta)


def test_estimate_by_hand():
    seen = counts([4, 2], [[10, 0], [1, 0]])
    np.testing.assert_array_equal(Poisson.estimate(seen).rate, [[2.5, 0], [0.5, 0]])
    np.testing.assert_allclose(Poisson.estimate(seen, alpha=[1, 2]).rate, [[11 / 5, 2 / 6], [2 / 3, 2 / 4]])
    assert Poisson.estimate(seen).log_prob([0, 1])[0].tolist() == [-2.5, -np.inf]
    with pytest.raises(ValueError, match="class 'sun' has no rows: its rate is undefined; give alpha > 0"):
        Poisson.estimate(counts([4, 0], [[1, 1], [0, 0]]))


def test_missing_cells_are_as_if_never_there():
    cells = np.array([[4.0, 0.0], [1.0, 2.0]])
    seen = EventCounts(Labels(("mon", "sun")), np.array([4.0, 2.0]), np.array([[10.0, 0.0], [3.0, 1.0]]), cells)
    with pytest.raises(ValueError, match="feature 1 is missing in every row of class 'mon': its rate is undefined"):
        Poisson.estimate(seen)
    np.testing.assert_allclose(Poisson.estimate(seen, alpha=2).rate, [[12 / 6, 1], [5 / 3, 3 / 4]])
    full = EventCounts(seen.labels, seen.rows, seen.counts)
    np.testing.assert_array_equal(Multinomial.estimate(seen, alpha=1).p, Multinomial.estimate(full, alpha=1).p)


def test_samples_fit():
    draws = Poisson(2.0).sample(4000, 8)
    seen = np.bincount(np.minimum(draws, 7), minlength=8)
    share = np.append(stats.poisson.pmf(np.arange(7), 2.0), stats.poisson.sf(6, 2.0))
    assert stats.chisquare(seen, 4000 * share).pvalue > 1e-4


def test_bad_rate():
    with pytest.raises(ValueError, match=r"rate\[1\] is -2.0"):
        Poisson([1.0, -2.0])

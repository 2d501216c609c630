import numpy as np
import pytest
from scipy import stats

from suffice.families import Exponential


def test_log_prob_and_samples_agree_with_scipy():
    rate, y = np.array([1e-6, 2.0, 1e6]), np.array([[0.0], [1e-3], [1e4]])
    np.testing.assert_allclose(Exponential(rate).log_prob(y), stats.expon.logpdf(y, scale=1 / rate), rtol=1e-12)
    assert stats.kstest(Exponential(2.0).sample(3000, 9), "expon", (0, 0.5)).pvalue > 1e-4


def test_extreme_natural_parameters():
    eta = np.array([-700.0, -1e-300])
    np.testing.assert_allclose(Exponential.mean(eta), [1 / 700, 1e300])
    assert np.isfinite(Exponential.log_partition(eta)).all()


def test_estimate_by_hand(diagonal):
    moments = diagonal(np.array([[1.0], [3.0]]), np.array([[8.0]]))
    np.testing.assert_allclose(Exponential.estimate(moments).rate, [[0.5], [0.125]])
    np.testing.assert_allclose(Exponential.estimate(moments, alpha=2).rate, [[4 / (4 + 8)], [3 / (8 + 8)]])


def test_no_estimate(diagonal):
    with pytest.raises(ValueError, match="class 'b' has no rows: its mean is undefined; give alpha > 0"):
        Exponential.estimate(diagonal(np.ones((2, 1)), np.zeros((0, 1)), names=("a", "b")))
    with pytest.raises(ValueError, match="feature 0 does not vary in class 0: its mean is 0"):
        Exponential.estimate(diagonal(np.zeros((2, 1))), alpha=1)
    with pytest.raises(ValueError, match=r"-eta is -1.0: it must be a finite number above 0"):
        Exponential.from_natural(1.0)


def test_missing_cells_are_as_if_never_there(gappy):
    left, right = np.array([[1.0, np.nan, np.nan], [np.nan, 3.0, np.nan]]), np.array([[8.0, np.nan, np.nan]])
    with pytest.raises(ValueError, match="feature 2 is missing in every row of class 0: its mean is undefined"):
        Exponential.estimate(gappy(left, right), alpha=[1, 1, 0])
    member = Exponential.estimate(gappy(left, right), alpha=1)
    np.testing.assert_allclose(1 / member.rate, [[(1 + 4.5) / 2, 3.0, 1.0], [(8 + 4.5) / 2, 3.0, 1.0]])

import numpy as np
import pytest
from scipy import stats

from suffice.families import Beta
from suffice.statistics import DiagonalMoments, Labels


def test_log_prob_and_samples_agree_with_scipy():
    a, b, y = np.array([1e-3, 0.5, 1.0, 1e5]), np.array([1e-3, 2.0, 5.0, 1e5]), np.array([[1e-300], [0.5], [1 - 1e-10]])
    np.testing.assert_allclose(Beta(a, b).log_prob(y), stats.beta.logpdf(y, a, b), rtol=1e-9, atol=1e-8)
    assert stats.kstest(Beta(0.6, 3.0).sample(3000, 9), "beta", (0.6, 3.0)).pvalue > 1e-4
    tiny = Beta(1e-3, 1e-3)
    tiny.check_support(tiny.sample(500, 1))


def test_estimate_inverts_the_mean_statistic():
    a, b = np.meshgrid([1e-3, 0.3, 7.0, 1e6], [1e-3, 0.3, 7.0, 1e6])
    mean = Beta.mean(Beta(a, b).natural)
    columns = np.concatenate([mean[..., 0], mean[..., 1]], axis=1)
    member = Beta.estimate(DiagonalMoments(Labels((0, 1, 2, 3)), np.ones(4), columns, np.zeros((4, 8))))
    # digamma(1e6) - digamma(1e6 + 0.001) is 1e-9, known to 1e-15: six digits is what float64 allows there.
    np.testing.assert_allclose(member.a, a, rtol=2e-5)
    np.testing.assert_allclose(member.b, b, rtol=2e-5)


def test_estimate_is_scipys_fit(diagonal):
    x = stats.beta.rvs([0.4, 6.0], [3.0, 2.0], size=(300, 2), random_state=1)
    member = Beta.estimate(diagonal(Beta.sufficient_columns(x)))
    for feature in range(2):
        a, b, _, _ = stats.beta.fit(x[:, feature], floc=0, fscale=1)
        np.testing.assert_allclose([member.a[0, feature], member.b[0, feature]], [a, b], rtol=1e-4)


def test_smoothing_adds_uniform_pseudo_observations(diagonal):
    x = np.array([[0.2], [0.4], [0.9]])
    member = Beta.estimate(diagonal(Beta.sufficient_columns(x), np.zeros((0, 2))), alpha=2)
    expected = (Beta.sufficient(x)[:, 0].sum(axis=0) + 2 * np.array([-1.0, -1.0])) / 5  # E log of a uniform is -1
    np.testing.assert_allclose(Beta.mean(member.natural)[0, 0], expected, rtol=1e-10)
    np.testing.assert_allclose([member.a[1, 0], member.b[1, 0]], [1.0, 1.0], rtol=1e-9)


def test_no_estimate(diagonal):
    same = Beta.sufficient_columns(np.full((5, 1), 0.3))
    with pytest.raises(ValueError, match="feature 0 does not vary in class 0: its concentration is undefined"):
        Beta.estimate(diagonal(same))
    with pytest.raises(ValueError, match="class 1 has no rows: its concentration is undefined; give alpha > 0"):
        Beta.estimate(diagonal(same, np.zeros((0, 2))))
    with pytest.raises(ValueError, match=r"x\[0, 1\] is 1.0: a beta value must be above 0 and below 1"):
        Beta.sufficient_columns([[0.5, 1.0]])

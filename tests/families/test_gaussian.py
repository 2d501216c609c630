import numpy as np
import pytest
from scipy import stats

from suffice.families import Gaussian, GaussianKnownVariance


@pytest.mark.parametrize("kind", [Gaussian, GaussianKnownVariance])
def test_log_prob_and_samples_agree_with_scipy(kind):
    member, truth = kind([1.0, -3.0], [0.25, 9.0]), stats.norm([1.0, -3.0], [0.5, 3.0])
    y = np.array([[0.0], [1e-8], [50.0], [-1e6]])
    np.testing.assert_allclose(member.log_prob(y), truth.logpdf(y), rtol=1e-13)
    draws = member.sample(3000, 11)
    assert stats.kstest(draws[:, 1], "norm", (-3, 3)).pvalue > 1e-4


def test_moments_of_the_statistic_agree_with_scipy():
    truth = stats.norm(1.5, 2.0)
    raw = [truth.moment(order) for order in range(5)]
    eta = Gaussian(1.5, 4.0).natural
    np.testing.assert_allclose(Gaussian.mean(eta), raw[1:3], rtol=1e-12)
    cross = raw[3] - raw[1] * raw[2]
    expected = [[raw[2] - raw[1] ** 2, cross], [cross, raw[4] - raw[2] ** 2]]
    np.testing.assert_allclose(Gaussian.variance(eta), expected, rtol=1e-12)


def test_estimate_is_mean_and_mean_square(diagonal):
    x = np.random.default_rng(0).normal(1e8, [1.0, 1e-3], size=(50, 2))
    member = Gaussian.estimate(diagonal(x[:20], x[20:]))
    np.testing.assert_allclose(member.mu, [x[:20].mean(axis=0), x[20:].mean(axis=0)], rtol=1e-15)
    np.testing.assert_allclose(member.sigma2, [x[:20].var(axis=0), x[20:].var(axis=0)], rtol=1e-7)


def test_smoothing_by_hand(diagonal):
    left, right = np.array([[0.0], [2.0]]), np.array([[10.0], [14.0], [18.0]])
    pooled = np.concatenate([left, right]).var()
    member = Gaussian.estimate(diagonal(left, right), alpha=0.5)
    np.testing.assert_allclose(member.sigma2, [[(2 + 0.5 * pooled) / 2.5], [(32 + 0.5 * pooled) / 3.5]])
    np.testing.assert_array_equal(member.mu, [[1.0], [14.0]])


def test_smoothing_knows_no_units(diagonal):
    """A feature's smoothing comes from its own scale: a large neighbour must not drown it."""
    x = np.random.default_rng(1).normal(size=(30, 2))
    alone = Gaussian.estimate(diagonal(x[:10], x[10:]), alpha=1).sigma2
    scaled = Gaussian.estimate(diagonal(x[:10] * [1.0, 1e9], x[10:] * [1.0, 1e9]), alpha=1).sigma2
    np.testing.assert_allclose(scaled, alone * [1.0, 1e18], rtol=1e-12)


def test_a_feature_that_never_varies_tells_nothing(diagonal):
    x = np.column_stack([np.full(9, 0.1), np.arange(9.0)])
    moments = diagonal(x[:2], x[2:])
    density = Gaussian.estimate(moments, alpha=1e-3).log_prob([5.0, 0.0])
    assert density[0, 0] == pytest.approx(density[1, 0], rel=1e-12)
    with pytest.raises(
        ValueError, match="feature 0 does not vary in class 0: its variance is undefined; give alpha > 0"
    ):
        Gaussian.estimate(moments)


def test_a_class_without_rows(diagonal):
    moments = diagonal(np.array([[1.0], [3.0]]), np.zeros((0, 1)), names=("ham", "spam"))
    for kind in (Gaussian, GaussianKnownVariance):
        with pytest.raises(ValueError, match="class 'spam' has no rows: its mean is undefined; give alpha > 0"):
            kind.estimate(moments)
    member = Gaussian.estimate(moments, alpha=2)
    np.testing.assert_allclose([member.mu[1, 0], member.sigma2[1, 0]], [2.0, 1.0])
    nothing = diagonal(np.zeros((0, 1)))
    with pytest.raises(ValueError, match="no rows in any class"):
        Gaussian.estimate(nothing, alpha=1)
    with pytest.raises(ValueError, match="no classes"):
        Gaussian.estimate(type(nothing).zero())


def rows_with_gaps() -> list[np.ndarray]:
    x = np.random.default_rng(3).normal([1e4, -2.0, 0.5], [1.0, 1e-3, 30.0], size=(60, 3))
    x[np.random.default_rng(4).random(x.shape) < 0.3] = np.nan
    return [x[:25], x[25:]]


def test_missing_cells_are_as_if_never_there(gappy):
    classes = rows_with_gaps()
    moments = gappy(*classes)
    means = np.array([np.nanmean(x, axis=0) for x in classes])
    member = Gaussian.estimate(moments)
    np.testing.assert_allclose(member.mu, means, rtol=1e-14)
    np.testing.assert_allclose(member.sigma2, [np.nanvar(x, axis=0) for x in classes], rtol=1e-9)
    whole = np.concatenate(classes)
    pooled_mean, pooled = np.nanmean(whole, axis=0), np.nanvar(whole, axis=0)
    known = np.array([(~np.isnan(x)).sum(axis=0) for x in classes])
    spread = known * np.array([np.nanvar(x, axis=0) for x in classes])
    alpha = np.array([0.5, 1, 2])
    smoothed = Gaussian.estimate(moments, alpha)
    np.testing.assert_allclose(smoothed.sigma2, (spread + alpha * pooled) / (known + alpha), rtol=1e-9)
    np.testing.assert_array_equal(smoothed.mu, member.mu)
    shrunk = GaussianKnownVariance.estimate(moments, alpha=2).mu
    np.testing.assert_allclose(shrunk, (known * means + 2 * pooled_mean) / (known + 2), rtol=1e-13)


def test_a_feature_that_no_row_of_a_class_knows(gappy):
    left, right = np.array([[1.0, 5.0], [3.0, 7.0]]), np.array([[2.0, np.nan], [4.0, np.nan]])
    moments = gappy(left, right)
    words = "feature 1 is missing in every row of class 1: its mean is undefined; give alpha > 0, or drop the feature"
    for kind in (Gaussian, GaussianKnownVariance):
        with pytest.raises(ValueError, match=words):
            kind.estimate(moments)
        with pytest.raises(ValueError, match=words):
            kind.estimate(moments, alpha=[1, 0])
    member = Gaussian.estimate(moments, alpha=1)
    np.testing.assert_allclose([member.mu[1, 1], member.sigma2[1, 1]], [6.0, 1.0])
    assert GaussianKnownVariance.estimate(moments, alpha=1).mu[1, 1] == 6


def test_a_feature_that_no_row_knows_tells_nothing(gappy):
    left, right = np.array([[1.0, np.nan], [3.0, np.nan]]), np.array([[2.0, np.nan], [8.0, np.nan]])
    member = Gaussian.estimate(gappy(left, right), alpha=1e-3)
    assert member.mu[:, 1].tolist() == [0, 0]
    assert member.sigma2[:, 1].tolist() == [1, 1]
    with pytest.raises(ValueError, match="feature 1 is missing in every row of class 0"):
        Gaussian.estimate(gappy(left, right))


def test_known_variance_shrinks_the_mean(diagonal):
    moments = diagonal(np.array([[0.0], [2.0]]), np.array([[10.0]]))
    np.testing.assert_allclose(GaussianKnownVariance.estimate(moments).mu, [[1.0], [10.0]])
    member = GaussianKnownVariance.estimate(moments, alpha=2, known=4.0)
    np.testing.assert_allclose(member.mu, [[(2 + 2 * 4) / 4], [(10 + 2 * 4) / 3]])
    assert (member.sigma2 == 4).all()


@pytest.mark.parametrize(("mu", "sigma2"), [(np.nan, 1.0), (0.0, 0.0), (0.0, -1.0), (0.0, np.inf)])
def test_bad_parameters(mu, sigma2):
    with pytest.raises(ValueError, match="it must be a finite number"):
        Gaussian(mu, sigma2)

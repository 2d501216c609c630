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

import numpy as np
import pytest
from scipy import stats

from suffice.families import InverseGaussian, Response
from suffice.statistics import DiagonalMoments, Labels


def scipys(mu, shape):
    return stats.invgauss(np.asarray(mu) / shape, scale=shape)


def test_log_prob_and_samples_agree_with_scipy():
    mu, shape, y = np.array([1e-3, 0.5, 20.0]), np.array([1e-2, 2.0, 5.0]), np.array([[1e-4], [0.9], [40.0]])
    np.testing.assert_allclose(InverseGaussian(mu, shape).log_prob(y), scipys(mu, shape).logpdf(y), rtol=1e-9)
    drawn = InverseGaussian(2.0, 3.0).sample(3000, 9)
    assert stats.kstest(drawn, scipys(2.0, 3.0).cdf).pvalue > 1e-4
    assert (InverseGaussian(1e-300, 1e-300).sample(50, 1) > 0).all()


def test_moments_of_the_statistic_agree_with_quadrature():
    eta, member = InverseGaussian(2.0, 3.0).natural, scipys(2.0, 3.0)
    inverse = [member.expect(lambda y, k=k: y**-k) for k in (1, 2)]
    np.testing.assert_allclose(InverseGaussian.mean(eta), [member.mean(), inverse[0]], rtol=1e-6)
    variance = InverseGaussian.variance(eta)
    np.testing.assert_allclose(np.diagonal(variance), [member.var(), inverse[1] - inverse[0] ** 2], rtol=1e-6)
    assert variance[0, 1] == pytest.approx(1 - member.mean() * inverse[0], rel=1e-6)


def test_estimate_inverts_the_mean_statistic():
    mu, shape = np.meshgrid([1e-3, 0.3, 700.0], [1e-3, 1.0, 1e3])
    mean = InverseGaussian.mean(InverseGaussian(mu, shape).natural)
    columns = np.concatenate([mean[..., 0], mean[..., 1]], axis=1)
    member = InverseGaussian.estimate(DiagonalMoments(Labels((0, 1, 2)), np.ones(3), columns, np.zeros((3, 6))))
    np.testing.assert_allclose(member.mu, mu, rtol=1e-9)
    np.testing.assert_allclose(member.shape, shape, rtol=1e-6)


def test_estimate_maximises_the_likelihood(diagonal):
    x = stats.invgauss.rvs(0.8, scale=2.0, size=(200, 1), random_state=1)
    member = InverseGaussian.estimate(diagonal(InverseGaussian.sufficient_columns(x)))
    best = member.log_prob(x).sum()
    for other in ((1.01, 1.0), (0.99, 1.0), (1.0, 1.01), (1.0, 0.99)):
        assert InverseGaussian(member.mu * other[0], member.shape * other[1]).log_prob(x).sum() < best
    ratio, _, scale = stats.invgauss.fit(x[:, 0], floc=0)
    np.testing.assert_allclose([member.mu[0, 0], member.shape[0, 0]], [ratio * scale, scale], rtol=1e-4)


def test_smoothing_adds_pseudo_observations_whose_spread_is_their_mean(diagonal):
    left, right = np.array([[1.0], [2.0], [4.0]]), np.array([[8.0]])
    both = [InverseGaussian.sufficient_columns(x) for x in (left, right)]
    member = InverseGaussian.estimate(diagonal(*both), alpha=2.0)
    pooled = 15 / 4
    np.testing.assert_allclose(member.mu[:, 0], [(7 + 2 * pooled) / 5, (8 + 2 * pooled) / 3])
    inverse = np.array([(1.75 + 4 / pooled) / 5, (1 / 8 + 4 / pooled) / 3])
    np.testing.assert_allclose(member.shape[:, 0], 1 / (inverse - 1 / member.mu[:, 0]))


def test_values_that_cannot_be_are_refused(diagonal):
    with pytest.raises(ValueError, match=r"x\[1, 0\] is 0.0: an inverse_gaussian value must be a finite number above"):
        InverseGaussian.sufficient_columns([[1.0], [0.0]])
    with pytest.raises(ValueError, match=r"y\[0\] is 0.0: a.* inverse_gaussian target must be a finite number above 0"):
        Response.of("inverse_gaussian").check_targets([0.0])
    with pytest.raises(ValueError, match="shape is"):
        InverseGaussian.estimate(diagonal(InverseGaussian.sufficient_columns([[3.0], [3.0]])))


def test_deviance_keeps_its_digits():
    y = np.array([1e6, 1e6 * (1 + 1e-9)])
    deviance = Response.of("inverse_gaussian", "identity").deviance(np.full((2, 1), 1e6), y)
    np.testing.assert_allclose(deviance, [0.0, 1e-24], rtol=1e-6)

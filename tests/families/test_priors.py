import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf, oas

from suffice.families import priors
from suffice.families.base import positive_root


def test_laplace_refuses_shares_of_nothing():
    with pytest.raises(ValueError, match=r"the total\[1\] is 0.0: shares of nothing are undefined; give alpha > 0"):
        priors.laplace([[1, 2], [0, 0]], 0.0)
    np.testing.assert_allclose(priors.laplace([[1, 2], [0, 0]], [1, 3]), [[2 / 7, 5 / 7], [0.25, 0.75]])


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_oas_is_scikit_learns_in_any_units(scale):
    x = np.random.default_rng(0).normal(size=(12, 4)) * [1, 2, 3, 4]
    covariance = np.cov(x.T, bias=True)
    np.testing.assert_allclose(priors.oas_shrinkage(covariance * scale, 12), oas(x)[1], rtol=1e-12)


def test_oas_of_batches_and_of_nothing():
    batch = np.stack([np.eye(2), np.zeros((2, 2)), [[2.0, 1.0], [1.0, 1.0]]])
    share = priors.oas_shrinkage(batch, [5, 5, 500])
    assert share[:2].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(share[2], priors.oas_shrinkage(batch[2], 500))


@pytest.mark.parametrize("scale", [1e-75, 1.0, 1e75])
def test_ledoit_and_wolfs_is_scikit_learns_in_any_units(scale):
    x = np.random.default_rng(0).exponential(size=(12, 4)) * [1, 2, 3, 4]
    z = x - x.mean(axis=0)
    quartic = ((z**2).sum(axis=1) ** 2).sum()
    share = priors.ledoit_wolf_shrinkage(z.T @ z / 12 * scale**2, 12, quartic * scale**4)
    np.testing.assert_allclose(share, ledoit_wolf(x)[1], rtol=1e-12)


def test_ledoit_and_wolfs_of_batches_and_of_nothing():
    sphere, line = np.eye(2), np.array([[1.0, 1.0], [1.0, 1.0]])
    batch = np.stack([np.zeros((2, 2)), np.zeros((2, 2)), sphere, line])
    share = priors.ledoit_wolf_shrinkage(batch, [0, 5, 4, 4], [0.0, 0.0, 16.0, 16.0])
    assert share.tolist() == [0.0, 0.0, 0.0, 0.0]  # nothing to shrink, no way to go, and rows that never differ
    assert priors.ledoit_wolf_shrinkage([[3.0]], 10, 500.0) == 0  # one feature is its own sphere


def test_pseudo_mean_of_no_rows_is_the_base():
    mean = priors.pseudo_mean(np.array([4.0, 0.0]), np.array([3.0, 0.0]), np.array([0.0, 7.0]), np.array([1.0, 2.0]))
    assert mean.tolist() == [3.0, 7.0]


def test_pooled_moments_are_those_of_all_rows(diagonal):
    x = np.random.default_rng(2).normal(1e8, 1.0, size=(30, 2))
    mean, variance = diagonal(x[:4], np.zeros((0, 2)), x[4:]).pooled()
    np.testing.assert_allclose(mean, x.mean(axis=0), rtol=1e-15)
    np.testing.assert_allclose(variance, x.var(axis=0), rtol=1e-6)


def test_pooled_moments_are_those_of_all_known_cells(gappy):
    x = np.random.default_rng(2).normal(1e8, 1.0, size=(30, 4))
    x[np.random.default_rng(3).random(x.shape) < 0.4] = np.nan
    x[:12, 1] = x[12:, 2] = x[:, 3] = np.nan
    mean, variance = gappy(x[:4], x[4:12], x[12:]).pooled()
    np.testing.assert_allclose(mean[:3], np.nanmean(x[:, :3], axis=0), rtol=1e-15)
    np.testing.assert_allclose(variance[:3], np.nanvar(x[:, :3], axis=0), rtol=1e-6)
    assert (mean[3], variance[3]) == (0, 0)


def test_ridge_is_half_a_square_with_its_derivatives():
    theta, strength = np.array([[1.0, -2.0], [0.5, 3.0]]), np.array([[0.0], [4.0]])
    penalty = priors.ridge(theta, strength)
    assert penalty.value == (0.25 + 9) * 4 / 2
    np.testing.assert_array_equal(penalty.gradient, strength * theta)
    np.testing.assert_array_equal(penalty.curvature, strength * np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"strength is -1.0"):
        priors.ridge(theta, -1.0)


def test_root_from_a_hopeless_start():
    target = np.array([1e-12, 1.0, 1e12])
    root = positive_root(lambda x: (target - x, -np.ones(3)), np.array([1e3, 1e-12, 1e3]))
    np.testing.assert_allclose(root, target, rtol=1e-12)
    flat = positive_root(lambda x: (np.sign(3.0 - x), np.zeros(1)), np.ones(1))  # no slope at all: bisection
    np.testing.assert_allclose(flat, 3.0, rtol=1e-12)

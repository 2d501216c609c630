import numpy as np
import pytest
from scipy import stats
from sklearn.covariance import oas, shrunk_covariance

from suffice.families import MultivariateGaussian, SingularCovarianceError

MU = np.array([[1.0, -2.0, 0.5], [0.0, 0.0, 3.0]])
A = np.random.default_rng(3).normal(size=(2, 3, 3))
SIGMA = A @ A.swapaxes(-1, -2) + 0.1 * np.eye(3)
X = np.random.default_rng(4).normal(size=(40, 3)) @ A[0].T


def test_log_prob_agrees_with_scipy():
    y = np.random.default_rng(5).normal(size=(4, 5, 1, 3))
    truth = np.stack([stats.multivariate_normal(m, s).logpdf(y[..., 0, :]) for m, s in zip(MU, SIGMA, strict=True)], -1)
    np.testing.assert_allclose(MultivariateGaussian(MU, SIGMA).log_prob(y), truth, rtol=1e-11)


def test_one_covariance_serves_many_means():
    shared = MultivariateGaussian(MU, SIGMA[0])
    apart = MultivariateGaussian(MU, np.stack([SIGMA[0], SIGMA[0]]))
    y = np.random.default_rng(5).normal(size=(7, 1, 3))
    np.testing.assert_allclose(shared.log_prob(y), apart.log_prob(y), rtol=1e-13)
    np.testing.assert_allclose(shared.natural, apart.natural, rtol=1e-13)
    np.testing.assert_array_equal(shared.sample(2, 1), apart.sample(2, 1))


def test_units_do_not_matter():
    """The same data in metres and in nanometres: a test in absolute units would call one of them singular."""
    units = np.array([1.0, 1e-9, 1e9])
    scaled = MultivariateGaussian(MU * units, SIGMA * units[:, None] * units)
    moved = scaled.log_prob(MU[0] * units * 1.1) + np.log(units).sum()
    np.testing.assert_allclose(moved, MultivariateGaussian(MU, SIGMA).log_prob(MU[0] * 1.1), rtol=1e-10)


def test_samples_fit():
    member = MultivariateGaussian(MU[0], SIGMA[0])
    white = (member.sample(2000, 6) - MU[0]) @ member.whitener.T
    assert stats.kstest((white**2).sum(axis=1), "chi2", (3,)).pvalue > 1e-4
    np.testing.assert_allclose(np.cov(white.T), np.eye(3), atol=0.12)


def test_estimate_is_scatter_over_weight(full):
    moments = full(X[:15], X[15:])
    member = MultivariateGaussian.estimate(moments)
    np.testing.assert_allclose(member.mu, [X[:15].mean(axis=0), X[15:].mean(axis=0)])
    np.testing.assert_allclose(member.covariance[0], np.cov(X[:15].T, bias=True), rtol=1e-10)
    tied = MultivariateGaussian.estimate(moments.tied())
    shared = (15 * np.cov(X[:15].T, bias=True) + 25 * np.cov(X[15:].T, bias=True)) / 40
    np.testing.assert_allclose(tied.covariance, shared, rtol=1e-10)


def test_shrinkage_is_scikit_learns(full):
    member = MultivariateGaussian.estimate(full(X), shrinkage=0.3)
    np.testing.assert_allclose(member.covariance[0], shrunk_covariance(np.cov(X.T, bias=True), 0.3), rtol=1e-10)
    for rows in (X, X[:6]):
        member = MultivariateGaussian.estimate(full(rows), shrinkage="oas")
        np.testing.assert_allclose(member.covariance[0], oas(rows)[0], rtol=1e-10)


@pytest.mark.parametrize("units", [1e-12, 1.0, 1e12])
def test_a_singular_class_is_named_with_the_cure(full, units):
    flat = X[15:] * units
    flat[:, 2] = flat[:, 0] - 2 * flat[:, 1]
    moments = full(X[:15], flat, names=("ham", "spam"))
    cure = "feature [012] is constant or a combination of others; give shrinkage > 0, or drop the feature"
    with pytest.raises(SingularCovarianceError, match=f"the covariance of class 'spam' is singular: {cure}"):
        MultivariateGaussian.estimate(moments)
    assert np.isfinite(MultivariateGaussian.estimate(moments, shrinkage=0.01).log_prob(X[:, None])).all()
    few = full(X[:1] * units, X[:2] * units)
    with pytest.raises(SingularCovarianceError, match="the covariance of all classes together is singular"):
        MultivariateGaussian.estimate(few.tied())
    with pytest.raises(SingularCovarianceError, match="the covariance of class 0 is singular: feature 0"):
        MultivariateGaussian.estimate(few, shrinkage=0.5)


def test_nearly_dependent_is_not_singular():
    close = 1 - 1e-10
    member = MultivariateGaussian([0.0, 0.0], [[1.0, close], [close, 1.0]])
    np.testing.assert_allclose(member.log_prob([0.0, 0.0]), -np.log(2 * np.pi) - np.log(1 - close**2) / 2, rtol=1e-6)


def test_bad_input(full):
    moments = full(X[:15], X[15:])
    with pytest.raises(ValueError, match=r"shrinkage is 1.5: it must be between 0 and 1"):
        MultivariateGaussian.estimate(moments, shrinkage=1.5)
    with pytest.raises(ValueError, match="got 'ledoit'"):
        MultivariateGaussian.estimate(moments, shrinkage="ledoit")
    with pytest.raises(ValueError, match="class 1 has no rows: its mean is undefined; drop the class"):
        MultivariateGaussian.estimate(type(moments)(moments.labels, np.array([1.0, 0.0]), moments.mean, moments.spread))
    with pytest.raises(ValueError, match=r"covariance\[0, 1\] is 0.5: it must be symmetric"):
        MultivariateGaussian([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(ValueError, match="disagree"):
        MultivariateGaussian([0.0, 0.0], np.eye(3))
    with pytest.raises(SingularCovarianceError, match=r"covariance\[1\] is singular: feature 1"):
        MultivariateGaussian([0.0, 0.0], [np.eye(2), np.diag([1.0, 0.0])])

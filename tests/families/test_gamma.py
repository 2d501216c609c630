from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import digamma

from suffice.families import Gamma, gamma
from suffice.families.base import positive_root
from suffice.families.gamma import solve_shape
from suffice.statistics import DiagonalMoments, Labels

SHAPES = np.logspace(-3, 6, 37)


def test_log_prob_and_samples_agree_with_scipy():
    shape, rate, y = (
        np.array([1e-3, 0.5, 1.0, 1e6]),
        np.array([1e-3, 2.0, 5.0, 1e6]),
        np.array([[1e-300], [0.9], [1e3]]),
    )
    truth = stats.gamma.logpdf(y, shape, scale=1 / rate)
    np.testing.assert_allclose(Gamma(shape, rate).log_prob(y), truth, rtol=1e-9)
    assert stats.kstest(Gamma(0.6, 3.0).sample(3000, 9), "gamma", (0.6, 0, 1 / 3)).pvalue > 1e-4
    assert (Gamma(1e-3, 1.0).sample(500, 1) > 0).all()


def test_moments_of_the_statistic_agree_with_scipy():
    eta = Gamma(2.5, 3.0).natural
    log_y, y = stats.loggamma(2.5), stats.gamma(2.5, scale=1 / 3)
    np.testing.assert_allclose(Gamma.mean(eta), [log_y.mean() - np.log(3), y.mean()])
    np.testing.assert_allclose(np.diagonal(Gamma.variance(eta)), [log_y.var(), y.var()])


def test_the_shape_is_found_at_every_scale(monkeypatch):
    monkeypatch.setattr(gamma, "positive_root", partial(positive_root, steps=5))  # Newton's pace, not bisection's
    np.testing.assert_allclose(solve_shape(np.log(SHAPES) - digamma(SHAPES)), SHAPES, rtol=1e-7)


def test_estimate_inverts_the_mean_statistic():
    shape, rate = np.meshgrid([1e-3, 0.3, 7.0, 1e6], [1e-6, 1.0, 1e6])
    mean = Gamma.mean(Gamma(shape, rate).natural)
    moments = DiagonalMoments(
        Labels((0, 1, 2)), np.ones(3), np.concatenate([mean[..., 0], mean[..., 1]], 1), np.zeros((3, 8))
    )
    member = Gamma.estimate(moments)
    np.testing.assert_allclose(member.shape, shape, rtol=1e-6)
    np.testing.assert_allclose(member.rate, rate, rtol=1e-6)


def test_estimate_is_scipys_fit(diagonal):
    x = stats.gamma.rvs([0.4, 6.0], scale=[10.0, 0.1], size=(300, 2), random_state=1)
    member = Gamma.estimate(diagonal(Gamma.sufficient_columns(x)))
    for feature in range(2):
        shape, _, scale = stats.gamma.fit(x[:, feature], floc=0)
        np.testing.assert_allclose([member.shape[0, feature], member.rate[0, feature]], [shape, 1 / scale], rtol=1e-4)


def test_smoothing_adds_exponential_pseudo_observations(diagonal):
    left, right = np.array([[1.0], [2.0], [4.0]]), np.array([[8.0]])
    member = Gamma.estimate(diagonal(Gamma.sufficient_columns(left), Gamma.sufficient_columns(right)), alpha=2)
    pooled = np.concatenate([left, right]).mean()
    base = np.array([np.log(pooled) - np.euler_gamma, pooled])
    expected = [(Gamma.sufficient(x)[:, 0].sum(axis=0) + 2 * base) / (len(x) + 2) for x in (left, right)]
    np.testing.assert_allclose(Gamma.mean(member.natural)[:, 0], expected, rtol=1e-10)


def test_no_estimate(diagonal):
    def columns(x):
        return diagonal(Gamma.sufficient_columns(np.full((5, 1), 0.1)), Gamma.sufficient_columns(x), names=("a", "b"))

    with pytest.raises(
        ValueError, match="feature 0 does not vary in class 'a': its shape is undefined; give alpha > 0"
    ):
        Gamma.estimate(columns([[1.0], [2.0]]))
    with pytest.raises(ValueError, match="class 'b' has no rows: its shape is undefined; give alpha > 0"):
        Gamma.estimate(columns(np.zeros((0, 1))))
    empty = Gamma.estimate(columns(np.zeros((0, 1))), alpha=1)
    np.testing.assert_allclose([empty.shape[1, 0], empty.rate[1, 0]], [1.0, 10.0], rtol=1e-9)
    with pytest.raises(ValueError, match=r"x\[1, 0\] is 0.0: a gamma value must be a finite number above 0"):
        Gamma.sufficient_columns([[1.0], [0.0]])


def test_a_root_is_approached_by_as_many_steps_as_are_allowed() -> None:
    def excess(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 1 - x * x / 9, -2 * x / 9

    np.testing.assert_allclose(positive_root(excess, np.ones(1), steps=1), np.exp(4))  # Newton's step in log x
    np.testing.assert_allclose(positive_root(excess, np.ones(1)), 3.0)

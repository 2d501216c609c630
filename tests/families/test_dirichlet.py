from functools import partial

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import digamma

from suffice.families import Dirichlet, dirichlet
from suffice.families.base import positive_root
from suffice.families.dirichlet import inverse_digamma, solve_concentration


def test_log_prob_agrees_with_scipy():
    y = np.array([[0.2, 0.3, 0.5], [1e-10, 0.4, 0.6 - 1e-10]])
    for a in ([1.0, 1.0, 1.0], [1e-3, 2.0, 40.0], [1e5, 2e5, 3e5]):
        truth = [stats.dirichlet.logpdf(row, a) for row in y]
        np.testing.assert_allclose(Dirichlet(a).log_prob(y), truth, rtol=1e-9)


def test_inverse_digamma():
    x = np.logspace(-6, 9, 61)
    np.testing.assert_allclose(inverse_digamma(digamma(x)), x, rtol=1e-12)


@pytest.mark.parametrize(
    "a", [[1e-3] * 3, [1e6] * 4, [1e-3, 1.0, 1e3], [1e-3, 1e6], [0.5] * 200, [1e-3, 1e6, 1e6]], ids=str
)
def test_the_concentration_is_found_at_every_scale(monkeypatch, a):
    monkeypatch.setattr(dirichlet, "positive_root", partial(positive_root, steps=20))  # bisection needs over 40
    a = np.array(a)
    np.testing.assert_allclose(solve_concentration(digamma(a) - digamma(a.sum())), a, rtol=2e-5)


def test_estimate_maximises_the_likelihood(diagonal):
    x = stats.dirichlet.rvs([0.4, 2.0, 6.0], size=200, random_state=1)
    columns = Dirichlet.sufficient_columns(x)
    member = Dirichlet.estimate(diagonal(columns))

    def loss(log_a):
        return -Dirichlet(np.exp(log_a)).log_prob(x).sum()

    best = optimize.minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10})
    np.testing.assert_allclose(member.concentration[0], np.exp(best.x), rtol=1e-5)
    np.testing.assert_allclose(Dirichlet.mean(member.natural)[0], columns.mean(axis=0), rtol=1e-10)


def test_smoothing_adds_uniform_pseudo_observations(diagonal):
    columns = Dirichlet.sufficient_columns([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    member = Dirichlet.estimate(diagonal(columns, np.zeros((0, 3))), alpha=3)
    uniform = digamma(1) - digamma(3)
    np.testing.assert_allclose(Dirichlet.mean(member.natural)[0], (columns.sum(axis=0) + 3 * uniform) / 5, rtol=1e-10)
    np.testing.assert_allclose(member.concentration[1], 1.0, rtol=1e-9)


def test_samples_fit():
    draws = Dirichlet([0.3, 2.0, 1.2]).sample(3000, 4)
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)
    assert stats.kstest(draws[:, 0], "beta", (0.3, 3.2)).pvalue > 1e-4
    small = Dirichlet([1e-3] * 3)
    small.check_support(small.sample(300, 1))


def test_bad_input(diagonal):
    same = Dirichlet.sufficient_columns([[0.2, 0.8], [0.2, 0.8]])
    with pytest.raises(ValueError, match="class 0: its concentration is undefined; give alpha > 0"):
        Dirichlet.estimate(diagonal(same))
    with pytest.raises(
        ValueError, match=r"x\[1\] is \[0.5 0.4\]: a dirichlet value must be positive parts that sum to 1"
    ):
        Dirichlet.sufficient_columns([[0.2, 0.8], [0.5, 0.4]])
    with pytest.raises(ValueError, match=r"x\[0\] is \[0. 1.\]"):
        Dirichlet.sufficient_columns([[0.0, 1.0]])
    with pytest.raises(ValueError, match="two parts or more"):
        Dirichlet([1.0])

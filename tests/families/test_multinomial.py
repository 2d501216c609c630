import numpy as np
import pytest
from scipy import stats

from suffice.families import Categorical, Multinomial
from suffice.statistics import EventCounts, Labels

P = np.array([0.2, 0.3, 0.5])


def counts(rows, table):
    return EventCounts(Labels(("ham", "spam")), np.array(rows, dtype=float), np.array(table, dtype=float))


def test_log_prob_carries_the_coefficient():
    y = np.array([[0, 0, 0], [1, 2, 3], [10, 0, 0], [10**6, 10**6, 2 * 10**6]])
    np.testing.assert_allclose(Multinomial(P).log_prob(y), stats.multinomial.logpmf(y, y.sum(axis=1), P), rtol=1e-9)


def test_documents_of_any_length_under_each_class():
    members = Multinomial([P, [0.0, 0.5, 0.5]])
    density = members.log_prob(np.array([[[1, 2, 3]], [[0, 2, 0]]]))
    assert density.shape == (2, 2)
    assert density[0, 1] == -np.inf
    np.testing.assert_allclose(density[1], 2 * np.log([0.3, 0.5]))


def test_estimate_by_hand():
    seen = counts([2, 1], [[3, 1, 0], [0, 0, 2]])
    np.testing.assert_array_equal(Multinomial.estimate(seen).p, [[0.75, 0.25, 0], [0, 0, 1]])
    np.testing.assert_allclose(Multinomial.estimate(seen, alpha=1).p, np.array([[4, 2, 1], [1, 1, 3]]) / [[7], [5]])
    np.testing.assert_allclose(Multinomial.estimate(seen, alpha=[1, 0, 0.5]).p[0], np.array([4, 1, 0.5]) / 5.5)


def test_a_class_whose_documents_are_empty():
    with pytest.raises(ValueError, match="class 'spam' has no counts: its probabilities are undefined; give alpha > 0"):
        Multinomial.estimate(counts([2, 3], [[3, 1], [0, 0]]))


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf, [1.0, -1.0], [1.0, 1.0, 1.0]])
def test_alpha_is_refused(alpha):
    with pytest.raises(ValueError, match=r"^alpha"):
        Multinomial.estimate(counts([1, 1], [[1, 1], [1, 1]]), alpha)


def test_one_trial_is_categorical():
    eta = Multinomial(P).natural
    for quantity in ("log_partition", "mean", "variance"):
        np.testing.assert_array_equal(getattr(Multinomial, quantity)(eta), getattr(Categorical, quantity)(eta))
        np.testing.assert_allclose(getattr(Multinomial, quantity)(eta, 3), 3 * getattr(Categorical, quantity)(eta))


def test_samples_fit():
    assert (Multinomial(P).sample(20, 2).sum(axis=1) == 1).all()
    draws = Multinomial(P).sample(800, 2, trials=np.arange(800) % 7)
    np.testing.assert_array_equal(draws.sum(axis=1), np.arange(800) % 7)
    assert stats.chisquare(draws.sum(axis=0), draws.sum() * P).pvalue > 1e-4

import numpy as np
import pytest
from scipy import stats

from suffice.families import Categorical
from suffice.statistics import CategoryCounts, Labels


def counts(rows, table, sizes):
    return CategoryCounts(Labels(("a", "b")), np.array(rows, dtype=float), np.array(table, dtype=float), sizes)


def test_log_prob_of_each_code_under_each_class():
    p = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    density = Categorical(p).log_prob(np.arange(3)[:, None])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(density, np.log(p).T)


def test_estimates_are_one_per_feature():
    seen = counts([4, 2], [[3, 1, 0, 4, 0], [0, 2, 1, 0, 1]], (2, 3))
    colour, size = Categorical.estimate(seen, alpha=[0, 1])
    np.testing.assert_allclose(colour.p, [[0.75, 0.25], [0, 1]])
    np.testing.assert_allclose(size.p, [[1 / 7, 5 / 7, 1 / 7], [2 / 5, 1 / 5, 2 / 5]])
    assert colour.log_prob([0, 0]).tolist() == [np.log(0.75), -np.inf]


def test_a_class_without_rows():
    seen = counts([4, 0], [[3, 1], [0, 0]], (2,))
    with pytest.raises(ValueError, match="class 'b' has no rows: its probabilities are undefined; give alpha > 0"):
        Categorical.estimate(seen)
    assert Categorical.estimate(seen, alpha=0.1)[0].p[1].tolist() == [0.5, 0.5]


def test_samples_fit_and_never_show_the_impossible():
    p = np.array([0.0, 0.1, 0.2, 0.7, 0.0])
    seen = np.bincount(Categorical(p).sample(5000, 5), minlength=5)
    assert seen[[0, 4]].tolist() == [0, 0]
    assert stats.chisquare(seen[1:4], 5000 * p[1:4]).pvalue > 1e-4


@pytest.mark.parametrize("eta", [[700.0, 0.0], [-700.0, -700.0], [700.0, 700.0]])
def test_extreme_log_ratios(eta):
    np.testing.assert_allclose(Categorical.from_natural(eta).natural, eta, rtol=1e-14)
    np.testing.assert_allclose(Categorical.log_partition(eta), max(0, *eta), atol=1.2)
    assert np.isfinite(Categorical.variance(eta)).all()
    assert (np.diagonal(Categorical.variance(eta)) > 0).all()


def test_codes_do_not_say_how_many_categories():
    with pytest.raises(ValueError, match="categories must be given"):
        Categorical.sufficient(1)
    with pytest.raises(ValueError, match=r"y\[1\] is 4"):
        Categorical.sufficient([0, 4], categories=3)
    assert Categorical.sufficient([0, 1], categories=4).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_bad_parameters():
    with pytest.raises(ValueError, match=r"the sum of p\[1\] is 0.9: probabilities must sum to 1"):
        Categorical([[0.5, 0.5], [0.5, 0.4]])
    with pytest.raises(ValueError, match=r"p\[0\] is -0.5"):
        Categorical([-0.5, 1.5])
    with pytest.raises(ValueError, match="its shape is"):
        Categorical(1.0)
    with pytest.raises(ValueError, match="last category of probability 0"):
        _ = Categorical([0.5, 0.5, 0.0]).natural

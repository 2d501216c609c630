"""Families that are objects with parameters: negative binomial and Tweedie, against scipy and the laws they obey."""

import pickle

import mpmath
import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from suffice import GLM
from suffice.families import Beta, Family, NegativeBinomial, Poisson, Response, Tweedie, as_family

FAMILIES = [NegativeBinomial(theta=0.7), NegativeBinomial(theta=2), Tweedie(power=1.2), Tweedie(power=1.5)]
EVERY = pytest.mark.parametrize("family", FAMILIES, ids=repr)
MEANS = np.array([1e-6, 0.3, 1.0, 7.0, 1e5])


@EVERY
def test_mean_and_variance_are_derivatives_of_the_log_partition(family):
    eta = family.natural_parameter(MEANS)
    h = 1e-4 * np.abs(eta)
    np.testing.assert_allclose(family.mean(eta), MEANS, rtol=1e-9)
    slope = (family.log_partition(eta + h) - family.log_partition(eta - h)) / (2 * h)
    np.testing.assert_allclose(slope, MEANS, rtol=1e-6)
    np.testing.assert_allclose((family.mean(eta + h) - family.mean(eta - h)) / (2 * h), family.variance(eta), rtol=1e-6)
    np.testing.assert_allclose(family.variance_function(MEANS), family.variance(eta), rtol=1e-9)


@EVERY
@pytest.mark.parametrize("link", ["log", "identity", "inverse", "canonical"])
def test_slopes_of_a_row_are_derivatives_of_its_value(family, link):
    response = Response.of(family, link)
    y = np.array([0.0, 1.0, 4.0, 9.0])
    z = response.link.link(np.array([0.5, 1.0, 2.0, 11.0]))[:, None]
    found = response.curve(z, y)
    value = [response.curve(z + step * np.abs(z) + step, y).value for step in (-1e-5, 1e-5)]
    width = 2 * (1e-5 * np.abs(z[:, 0]) + 1e-5)
    np.testing.assert_allclose(found.slope[:, 0], (value[1] - value[0]) / width, rtol=1e-6, atol=1e-8)
    mean, slope = response.link.mean_and_slope(z[:, 0])
    np.testing.assert_allclose(found.curvature[:, 0, 0], slope**2 / family.variance_function(mean), rtol=1e-12)


@EVERY
def test_a_mean_that_cannot_be_has_no_likelihood_and_no_slope(family):
    response = Response.of(family, "identity")
    found = response.curve(np.array([[-1.0], [np.inf], [2.0]]), np.array([0.0, 1.0, 1.0]))
    assert found.value[0] == -np.inf
    assert np.isfinite(found.value[2])
    assert found.slope[0] == found.curvature[0] == 0
    far = Response.of(family).curve(np.array([[-1e9], [1e9], [-300.0], [400.0]]), np.array([0.0, 1.0, 2.0, 3.0]))
    assert all(np.isfinite(part).all() for part in far)


@EVERY
def test_a_deviance_is_twice_what_the_value_falls_short_of_its_largest(family):
    response, y = Response.of(family), np.array([0.0, 0.0, 1.0, 6.0])
    means = np.exp(np.linspace(-12, 4, 100_001))
    for target in y:
        best = response.curve(np.log(means)[:, None], np.full(len(means), target)).value.max()
        assert float(response.saturated([target])[0]) == pytest.approx(best, abs=0.02)
        assert float(response.saturated([target])[0]) >= best - 1e-12
    np.testing.assert_allclose(response.deviance(np.log(np.maximum(y, 1e-99))[:, None], y), 0.0, atol=1e-12)


def test_the_negative_binomial_is_scipys():
    y, mean = np.array([0.0, 1.0, 5.0, 40.0]), np.array([0.5, 3.0, 4.0, 20.0])
    for theta in (0.5, 2.0, 1e4):
        expected = stats.nbinom(theta, theta / (theta + mean)).logpmf(y)
        np.testing.assert_allclose(NegativeBinomial(theta).log_likelihood(y, mean), expected, rtol=1e-9)
    np.testing.assert_array_equal(NegativeBinomial(2).log_likelihood([-1.0, 0.5], 1.0), -np.inf)
    np.testing.assert_allclose(NegativeBinomial(1e9).log_likelihood(y, mean), Poisson(mean).log_prob(y), rtol=1e-6)


@pytest.mark.parametrize("power", [1.01, 1.2, 1.5, 1.8, 1.99])
@pytest.mark.parametrize(("y", "dispersion"), [(1e-6, 1.0), (0.1, 1.0), (5.0, 2.0), (3.0, 30.0), (100.0, 0.01)])
def test_the_tweedie_density_is_its_series(power, y, dispersion):
    with mpmath.workdps(30):
        p, phi, at = mpmath.mpf(power), mpmath.mpf(dispersion), mpmath.mpf(y)
        alpha = (2 - p) / (p - 1)
        log_z = alpha * mpmath.log(at / (p - 1)) - (1 + alpha) * mpmath.log(phi) - mpmath.log(2 - p)
        largest = int(at ** (2 - p) / (phi * (2 - p)))
        reach = int(12 * mpmath.sqrt(largest / (1 + alpha))) + 40
        terms = [
            mpmath.exp(j * log_z - mpmath.loggamma(j + 1) - mpmath.loggamma(alpha * j))
            for j in range(max(1, largest - reach), largest + reach)
        ]
        expected = float(mpmath.log(mpmath.fsum(terms)) - mpmath.log(at))
    found = float(Tweedie(power).log_base([y], dispersion)[0])
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_tweedie_density_has_no_step_where_the_saddlepoint_begins():
    family = Tweedie(1.5)
    y = np.array([0.9999, 1.0001]) * (0.5 * 1e7) ** 2
    centred = family.log_base(y) + family.saturated(y) + 0.75 * np.log(y)  # a constant, but for 1 / y
    assert centred[0] == pytest.approx(centred[1], abs=1e-7)


def test_tweedie_probabilities_add_up_to_one():
    family, y = Tweedie(1.4), np.linspace(0, 60, 400_001)[1:]
    density = np.exp(family.log_likelihood(y, 2.0, 1.5))
    nothing = np.exp(family.log_likelihood([0.0], 2.0, 1.5)[0])
    assert nothing + np.trapezoid(density, y) + density[0] * y[0] / 2 == pytest.approx(1, abs=1e-5)


@EVERY
def test_draws_have_the_mean_and_the_variance(family):
    eta = family.natural_parameter(np.full(200_000, 3.0))
    drawn = family.draw(eta, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(3.0, rel=0.02)
    assert drawn.var() == pytest.approx(float(family.variance_function(3.0)), rel=0.05)


@EVERY
def test_families_are_equal_by_their_parameters(family):
    again = pickle.loads(pickle.dumps(family))
    assert again == family
    assert hash(again) == hash(family)
    assert again != NegativeBinomial(theta=17)
    assert Response.of(again) == Response.of(family)
    assert pickle.loads(pickle.dumps(Response.of(family, "identity"))) == Response.of(family, "identity")
    assert clone(GLM(family)).family == family


def test_what_a_family_is_not():
    with pytest.raises(ValueError, match=r"theta is 0.0: it must be a finite number above 0"):
        NegativeBinomial(0)
    with pytest.raises(ValueError, match="power is 2; it must be above 1 and below 2: use the family 'gamma'"):
        Tweedie(2)
    with pytest.raises(ValueError, match=r"power is 2.5; it must be above 1 and below 2$"):
        Tweedie(2.5)
    with pytest.raises(ValueError, match=r"'tweedie' has parameters: give Tweedie\(power=...\)"):
        as_family("tweedie")
    with pytest.raises(ValueError, match="theta of NegativeBinomial is not known: give it, or let GLM estimate it"):
        NegativeBinomial().variance_function([1.0])
    with pytest.raises(TypeError, match=r"the family Tweedie needs arguments .*: give Tweedie\(power=...\)"):
        as_family(Tweedie)
    with pytest.raises(TypeError, match="family must be a name, or a class or an instance of Family; got 3"):
        GLM(3).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="there is no response tweedie/logit; there are: tweedie/log, tweedie/ident"):
        Response.of(Tweedie(1.5), "logit")
    with pytest.raises(ValueError, match=r"y\[1\] is 0.5: a negative_binomial target must be a whole number, 0 or"):
        Response.of(NegativeBinomial(2)).check_targets([0.0, 0.5])


def test_a_mean_does_not_tell_two_parameters():
    with pytest.raises(NotImplementedError, match="Beta has no canonical link: its eta does not follow from the mean"):
        Beta.natural_parameter(0.5)


def test_a_family_that_lacks_something_says_what():
    class Half(Family):
        name = "half"
        support = "a number"

        def log_partition(self, eta):
            return eta

    with pytest.raises(TypeError, match=r"abstract class Half .*mean.*variance"):
        Response.of(Half)
    Half.mean = Half.variance = Half.log_partition
    Half.__abstractmethods__ = frozenset()
    with pytest.raises(NotImplementedError, match=r"Half must define natural_parameter\(mean\) for this"):
        Response.of(Half).curve(np.zeros((1, 1)), np.zeros(1))
    with pytest.raises(NotImplementedError, match=r"Half must define draw\(eta, random\) for this"):
        Half().draw(0.0, np.random.default_rng(0))


def test_a_family_of_ones_own_may_not_take_the_name_of_another():
    class Poisson(Family):
        name = "poisson"
        support = "a number"

        def log_partition(self, eta):
            return eta

        mean = variance = log_partition

    with pytest.raises(ValueError, match=r"the name 'poisson' of .*Poisson is that of another family: give it its own"):
        Response.of(Poisson)


def test_devices_get_their_own_arrays_back():
    strict = pytest.importorskip("array_api_strict")
    response = Response.of(NegativeBinomial(2))
    z, y = np.array([[0.0], [1.0]]), np.array([1.0, 3.0])
    found = response.curve(strict.asarray(z), strict.asarray(y))
    for part, expected in zip(found, response.curve(z, y), strict=True):
        assert type(part) is type(strict.asarray(z))
        np.testing.assert_array_equal(np.asarray(part), expected)


def test_canonical_names_the_link_under_which_the_predictor_is_eta():
    assert Response.of("poisson", "canonical") == Response.of("poisson", "log")
    assert Response.of("gamma", "canonical").link.name == "negative_inverse"
    family = Tweedie(1.5)
    eta = family.natural_parameter(MEANS)
    np.testing.assert_allclose(Response.of(family, "canonical").mean(eta[:, None]), MEANS, rtol=1e-12)
    with pytest.raises(ValueError, match="there is no response beta/canonical; there are: gaussian/identity"):
        Response.of("beta", "canonical")


@pytest.mark.parametrize("theta", [0.3, 2.0, 500.0])
def test_the_score_of_theta_is_the_derivative_of_the_log_likelihood(theta):
    y, mean, h = np.array([0.0, 1.0, 5.0, 40.0]), np.array([0.5, 3.0, 4.0, 20.0]), 1e-3 * theta
    before, at, after = (NegativeBinomial(theta + step).log_likelihood(y, mean) for step in (-h, 0.0, h))
    score, information = NegativeBinomial(theta).score(y, mean)
    np.testing.assert_allclose(score, (after - before) / (2 * h), rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(information, (2 * at - before - after) / h**2, rtol=1e-3, atol=1e-9)

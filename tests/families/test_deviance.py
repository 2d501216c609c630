"""Responses: means, variances, saturated values, log b(y) and start values."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from suffice.families import Dirichlet, Exponential, GaussianKnownVariance, Multinomial, Poisson, Response
from suffice.families.bernoulli import log_choose
from suffice.families.response import NAMED

from .test_response import EVERY, LIBRARIES, PAIRS, TARGETS, grid, legal, namespace, skip_probit


def means_of(response):
    """Means that the link reaches and the family can have."""
    return response.link.mean(legal(response))


def predictor_of(response, mean):
    return np.reshape(response.link.link(mean), (-1, 1))


@EVERY
@pytest.mark.parametrize("library", LIBRARIES)
def test_mean_is_what_the_link_gives_back(response, library):
    skip_probit(response, library)
    z = namespace(library).asarray(legal(response)[:, None])
    np.testing.assert_allclose(np.asarray(response.mean(z)), means_of(response), rtol=1e-14)


@EVERY
def test_information_is_the_squared_slope_of_the_mean_over_the_variance(response):
    z = legal(response)
    mean, slope = response.link.mean_and_slope(z)
    y = np.full_like(z, TARGETS[response.family.name][1])
    information = response.curve(z[:, None], y).curvature[:, 0, 0]
    np.testing.assert_allclose(information, slope**2 / response.unit_variance(mean), rtol=1e-10)


@EVERY
@pytest.mark.parametrize("library", LIBRARIES)
def test_no_mean_does_better_than_y_itself(response, library):
    skip_probit(response, library)
    xp = namespace(library)
    y = means_of(response)
    at_y = response.curve(xp.asarray(predictor_of(response, y)), xp.asarray(y)).value
    best = response.saturated(xp.asarray(y))
    np.testing.assert_allclose(np.asarray(best), np.asarray(at_y), rtol=1e-12, atol=1e-12)
    z, y = grid(response)
    short = np.asarray(response.saturated(xp.asarray(y)) - response.curve(xp.asarray(z), xp.asarray(y)).value)
    assert (short >= -1e-12).all()
    deviance = np.asarray(response.deviance(xp.asarray(z), xp.asarray(y)))
    np.testing.assert_allclose(deviance, 2 * short, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "bernoulli", "poisson", "gamma"])
def test_deviance_and_variance_against_statsmodels(name):
    from statsmodels.genmod import families

    theirs = {
        "gaussian": families.Gaussian,
        "bernoulli": families.Binomial,
        "poisson": families.Poisson,
        "gamma": families.Gamma,
    }[name]()
    for response in (Response.of(*pair) for pair in PAIRS if pair[0] == name):
        z, y = grid(response)
        mean = response.mean(z)
        np.testing.assert_allclose(response.deviance(z, y), theirs.resid_dev(y, mean) ** 2, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(response.unit_variance(mean), theirs.variance(mean), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("gaussian", metrics.mean_squared_error),
        ("poisson", metrics.mean_poisson_deviance),
        ("gamma", metrics.mean_gamma_deviance),
    ],
)
def test_deviance_against_scikit_learn(name, theirs):
    response = Response.of(name, "log")
    rng = np.random.default_rng(0)
    y, z, w = rng.poisson(3.0, 40) + (name == "gamma"), rng.normal(size=(40, 1)), rng.random(40)
    expected = theirs(y, response.mean(z), sample_weight=w)
    assert np.average(response.deviance(z, y), weights=w) == pytest.approx(expected, rel=1e-12)


@EVERY
def test_rounding_makes_no_deviance_negative(response):
    low, high = min(means_of(response)), max(means_of(response))
    y = np.linspace(low, high, 999)
    deviance = response.deviance(predictor_of(response, y), y)
    assert (deviance >= 0).all()
    np.testing.assert_allclose(deviance, 0, atol=1e-12)


def test_deviance_keeps_its_digits_far_from_zero():
    y, z = np.array([1e9 + 0.5, 1e9 - 1]), np.full((2, 1), 1e9)
    np.testing.assert_array_equal(Response.of("gaussian").deviance(z, y), [0.25, 1.0])


@pytest.mark.parametrize("library", LIBRARIES)
def test_deviance_at_the_ends(library):
    xp = namespace(library)
    for name, y, best in (("bernoulli", [0.0, 1.0], [0.0, 0.0]), ("poisson", [0.0], [0.0])):
        np.testing.assert_array_equal(np.asarray(Response.of(name).saturated(xp.asarray(y))), best)
    assert np.asarray(Response.of("exponential").saturated(xp.asarray([0.0]))).tolist() == [np.inf]
    impossible = Response.of("poisson", "identity").deviance(xp.asarray([[-1.0]], dtype=xp.float64), xp.asarray([2.0]))
    assert np.asarray(impossible).tolist() == [np.inf]


@EVERY
@pytest.mark.parametrize("library", LIBRARIES)
def test_value_and_base_make_the_log_likelihood(response, library):
    z, y = grid(response)
    if response.family.name in ("bernoulli", "poisson"):
        y = np.floor(y)
    mean = response.mean(z)
    full = {
        "gaussian": lambda: GaussianKnownVariance(mean).log_prob(y),
        "bernoulli": lambda: stats.bernoulli.logpmf(y, mean),
        "poisson": lambda: Poisson(mean).log_prob(y),
        "exponential": lambda: Exponential(1 / mean).log_prob(y),
        "gamma": lambda: stats.gamma.logpdf(y, 1, scale=mean),
        "inverse_gaussian": lambda: stats.invgauss.logpdf(y, mean),
    }[response.family.name]()
    base = np.asarray(response.log_base(namespace(library).asarray(y)))
    assert base.shape == y.shape
    np.testing.assert_allclose(response.curve(z, y).value + base, full, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_proportions_with_trials_as_weights_are_binomial(link):
    rng = np.random.default_rng(1)
    trials = rng.integers(1, 60, 30).astype(float)
    events = np.round(trials * rng.random(30))
    events[:2], events[2:4] = 0, trials[2:4]
    y, z = events / trials, rng.normal(size=(30, 1))
    response = Response.of("bernoulli", link)
    mean = response.mean(z)
    ours = trials * response.curve(z, y).value + log_choose(trials, trials * y)
    np.testing.assert_allclose(ours, stats.binom.logpmf(events, trials, mean), rtol=1e-9, atol=1e-9)
    from statsmodels.genmod import families

    theirs = families.Binomial().deviance(y, mean, var_weights=trials)
    assert trials @ response.deviance(z, y) == pytest.approx(theirs, rel=1e-9)


def test_log_choose():
    np.testing.assert_allclose(log_choose(5, [0, 1, 2]), np.log([1, 5, 10]), atol=1e-14)
    assert log_choose(1e15, 1.0) == pytest.approx(np.log(1e15), rel=1e-12)  # log-gammas of 1e15 would leave nothing
    with pytest.raises(ValueError, match=r"events\[1\] is 6.0: events must be between 0 and the trials"):
        log_choose(5, [1, 6])


@EVERY
def test_a_solver_starts_at_the_mean(response):
    for mean in means_of(response):
        start = response.start(mean)
        assert start.shape == (1,)
        np.testing.assert_allclose(response.mean(start[None, :]), [mean], rtol=1e-12)


@EVERY
@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_a_start_is_finite_at_the_ends_of_the_range(response, mean):
    start = response.start(mean)
    assert np.isfinite(start).all()
    assert abs(response.mean(start[None, :])[0] - mean) <= 1.1e-6
    assert np.isfinite(response.curve(start[None, :], np.array([TARGETS[response.family.name][1]])).value).all()


def test_starts_of_several_predictors():
    shares = np.array([0.2, 0.5, 0.3])
    classes = Response.of("multinomial")
    np.testing.assert_allclose(classes.mean(classes.start(shares)[None, :]), [shares])
    assert np.isfinite(classes.start([0.0, 1.0, 0.0])).all()
    beta = Response.of("beta", "probit")
    np.testing.assert_allclose(beta.mean(beta.start(0.3)[None, :]), [0.3])
    np.testing.assert_allclose(np.exp(beta.start(0.3, 0.21 / 8)[1]), 7.0)
    assert np.isfinite(beta.start(0.3, 0.0)).all()
    parts = Response.of("dirichlet")
    np.testing.assert_allclose(parts.mean(parts.start(shares)[None, :]), [shares])
    np.testing.assert_allclose(np.exp(parts.start(shares, shares * (1 - shares) / 8)).sum(), 7.0)
    with pytest.raises(ValueError, match="mean is nan"):
        Response.of("poisson").start(np.nan)


def test_how_many_predictors():
    counts = {name: Response.of(name).predictors(3) for name in NAMED}
    assert counts == {**dict.fromkeys(TARGETS, 1), "multinomial": 2, "beta": 2, "dirichlet": 3}
    assert Response.of("multinomial").predictor_names(3) == ("class 0", "class 1")
    assert Response.of("dirichlet").predictor_names(2) == ("part 0", "part 1")
    with pytest.raises(ValueError, match="needs 2 classes or more; there is 1"):
        Response.of("multinomial").predictors(1)
    with pytest.raises(ValueError, match="2 parts or more; there is 1"):
        Response.of("dirichlet").predictors(1)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_rest_of_shares(library):
    xp = namespace(library)
    z, codes = np.random.default_rng(0).normal(size=(6, 2)), np.arange(6) % 3
    classes = Response.of(Multinomial)
    p = np.asarray(classes.mean(xp.asarray(z)))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    deviance = np.asarray(classes.deviance(xp.asarray(z), xp.asarray(codes)))
    np.testing.assert_allclose(deviance, -2 * np.log(p[np.arange(6), codes]))
    assert not np.asarray(classes.log_base(xp.asarray(codes))).any()
    member = Dirichlet([0.5, 2.0, 3.5])
    parts = Response.of(Dirichlet)
    mean = parts.mean(xp.asarray(np.log(member.concentration[None, :])))
    y = xp.asarray(member.sample(4, random_state=0))
    assert tuple(parts.log_base(y).shape) == (4,)
    variance = np.asarray(parts.unit_variance(mean))[0] / 7
    np.testing.assert_allclose(variance, stats.dirichlet(member.concentration).var())
    for response, target in ((parts, y), (Response.of("beta"), y[:, 0])):
        with pytest.raises(ValueError, match="has no deviance: the density at y is unbounded"):
            response.saturated(target)

import pickle

import array_api_strict
import numpy as np
import pytest
from scipy import special

from suffice.families import links

SCALAR = [
    links.identity,
    links.log,
    links.logit,
    links.probit,
    links.cloglog,
    links.cauchit,
    links.inverse,
    links.negative_inverse,
    links.sqrt,
    links.inverse_squared,
    links.Power(1 / 3),
]
EVERY = pytest.mark.parametrize("link", SCALAR, ids=lambda link: link.name)
Z = np.array([-3.0, -0.7, -0.1, 0.2, 0.9, 2.5])


def legal(link):
    """Predictors on the side where the mean is positive."""
    if isinstance(link, links.Power):
        return Z[Z > 0]
    return {"inverse": Z[Z > 0], "negative_inverse": Z[Z < 0]}.get(link.name, Z)


@EVERY
def test_link_undoes_mean(link):
    np.testing.assert_allclose(link.link(link.mean(legal(link))), legal(link), rtol=1e-12)


@EVERY
def test_slope_is_the_derivative_of_the_mean(link):
    z, h = legal(link), 1e-4
    near, far = (link.mean(z + step) - link.mean(z - step) for step in (h, 2 * h))
    mean, slope = link.mean_and_slope(z)
    np.testing.assert_array_equal(mean, link.mean(z))
    np.testing.assert_allclose(slope, (8 * near - far) / (12 * h), rtol=1e-9, atol=1e-11)


@EVERY
@pytest.mark.parametrize("z", [-np.inf, -1e200, -709.0, -700.0, 700.0, 709.0, 1e200, np.inf])
def test_no_predictor_is_too_far(link, z):
    mean, slope = link.mean_and_slope(np.array([z]))
    assert not np.isnan([mean, slope]).any()
    if link.name not in ("identity", "inverse", "negative_inverse", "inverse_squared"):
        assert np.isfinite([mean, slope]).all()
        assert slope >= 0


def test_means_far_out_keep_their_digits():
    assert links.logit.mean(-700.0) == pytest.approx(np.exp(-700), rel=1e-13)
    assert links.logit.mean_and_slope(700.0)[1] == pytest.approx(np.exp(-700), rel=1e-13)
    assert links.cloglog.mean(-700.0) == pytest.approx(np.exp(-700), rel=1e-13)
    assert links.probit.mean(-37.0) == pytest.approx(special.ndtr(-37.0), rel=1e-13)
    assert links.log.mean(700.0) == pytest.approx(np.exp(700), rel=1e-13)


@EVERY
def test_the_ends_of_the_mean_are_infinitely_far(link):
    with np.errstate(all="raise", divide="warn"):
        ends = link.link(np.array([0.0, 1.0]))
    assert not np.isnan(ends).any()


def test_softmax():
    z = np.array([[0.5, -1.0, 2.0], [700.0, 0.0, -700.0], [-800.0, -800.0, -800.0]])
    p, slope = links.softmax.mean_and_slope(z)
    np.testing.assert_allclose(p, special.softmax(np.append(z, np.zeros((3, 1)), axis=1), axis=1), rtol=1e-13)
    np.testing.assert_allclose(links.softmax.link(p)[0], z[0], rtol=1e-13)
    np.testing.assert_allclose(slope[0], (np.diag(p[0]) - np.outer(p[0], p[0]))[:, :-1], atol=1e-16)
    assert slope[1, 0, 0] == pytest.approx(np.exp(-700), rel=1e-12)  # p (1 - p), where 1 - p rounds to 0


@pytest.mark.parametrize("link", [*SCALAR, links.softmax], ids=lambda link: link.name)
def test_links_work_in_other_libraries_and_pickle(link):
    assert pickle.loads(pickle.dumps(link)) == link == links.by_name(link.name)
    z = legal(link)[None, :]
    if link is links.probit:
        with pytest.raises(TypeError, match="probit link needs the normal distribution, which array_api_strict lacks"):
            link.mean(array_api_strict.asarray(z))
        return
    for numbers, strict in zip(link.mean_and_slope(z), link.mean_and_slope(array_api_strict.asarray(z)), strict=True):
        np.testing.assert_allclose(np.asarray(strict), numbers, rtol=1e-14)


def test_unknown_name():
    with pytest.raises(ValueError, match="there is no link 'lgoit'; there are: identity, log, logit"):
        links.by_name("lgoit")


def test_softmax_slopes_keep_their_digits_where_a_probability_rounds_to_one():
    slope = links.softmax.mean_and_slope(np.array([40.0]))[1]
    np.testing.assert_allclose(slope, np.exp(-40) * np.array([[1.0], [-1.0]]), rtol=1e-13)
    several = links.share_covariance(np, np.array([1.0, 1e-20, 2e-20]))
    np.testing.assert_allclose(np.diagonal(several), [3e-20, 1e-20, 2e-20], rtol=1e-13)


@pytest.mark.parametrize("exponent", [0.5, -2, 1 / 3, 1e-3, 4])
def test_a_power_link_is_found_by_its_name(exponent):
    link = links.Power(exponent)
    assert links.by_name(link.name) == link
    np.testing.assert_allclose(link.link(np.array([0.5, 2.0])), np.array([0.5, 2.0]) ** exponent)


def test_means_below_the_range_of_a_power_link_are_those_at_its_end():
    np.testing.assert_array_equal(links.sqrt.mean([-3.0, 0.0, 3.0]), [0.0, 0.0, 9.0])


def test_bad_powers_are_refused():
    with pytest.raises(ValueError, match="exponent is 0; it must be a finite number other than 0: use the link 'log'"):
        links.Power(0)
    with pytest.raises(ValueError, match=r"link 'power\(1e999\)': exponent is inf; it must be a finite number other"):
        links.by_name("power(1e999)")
    with pytest.raises(ValueError, match=r"link 'power\(--1\)': could not convert"):
        links.by_name("power(--1)")


def test_the_cauchit_link_keeps_its_digits_in_both_tails():
    assert links.cauchit.mean(-1e8) == pytest.approx(1e-8 / np.pi, rel=1e-12)
    assert links.cauchit.link(1e-8) == pytest.approx(-1e8 / np.pi, rel=1e-12)

import pickle

import array_api_compat
import array_api_strict
import numpy as np
import pytest
from scipy import special, stats

from suffice.families import (
    Bernoulli,
    Categorical,
    Curve,
    Exponential,
    GaussianKnownVariance,
    Multinomial,
    Poisson,
    Response,
    links,
)
from suffice.families.response import NAMED
from suffice.families.row_likelihood import ScalarLikelihood
from tests.requirements import require

PAIRS = [
    (name, link)
    for name, family in NAMED.items()
    if isinstance(family.row_likelihood, ScalarLikelihood)
    for link in family.row_likelihood.link_names
]
EVERY = pytest.mark.parametrize("response", [Response.of(*pair) for pair in PAIRS], ids=lambda r: r.name)
LIBRARIES = ["numpy", "array_api_strict", "torch"]
TARGETS = {
    "gaussian": [-3.0, 0.0, 2.5],
    "bernoulli": [0.0, 0.3, 1.0],
    "poisson": [0.0, 1.0, 7.0],
    "exponential": [0.0, 0.4, 5.0],
    "gamma": [1e-3, 0.4, 5.0],
    "inverse_gaussian": [1e-3, 0.4, 5.0],
}


def namespace(library):
    if library == "torch":
        require("torch")
        import array_api_compat.torch as xp

        return xp
    return array_api_strict if library == "array_api_strict" else array_api_compat.array_namespace(np.zeros(1))


def legal(response):
    """Predictors inside the range that the family allows."""
    form = response.likelihood.form(response.link)
    z = np.array([-2.9, -1.1, -0.4, 0.15, 0.6, 0.9, 2.3])
    return z[(z > form.low) & (z < form.high)]


def grid(response, z=None):
    """Every predictor with every target, and the targets."""
    z, y = np.meshgrid(legal(response) if z is None else z, TARGETS[response.family.name])
    return z.reshape(-1, 1), y.reshape(-1)


def curve(response, z, y, library="numpy"):
    xp = namespace(library)
    found = response.curve(xp.asarray(z), xp.asarray(y))
    assert all(
        array_api_compat.array_namespace(part) is array_api_compat.array_namespace(xp.asarray(z)) for part in found
    )
    return Curve(*(np.asarray(part) for part in found))


def slope_of(function, z, h=1e-4):
    """The fourth-order central difference by each predictor, on a new last axis."""
    parts = []
    for unit in np.eye(z.shape[1]):
        near, far = (function(z + step * unit) - function(z - step * unit) for step in (h, 2 * h))
        parts.append((8 * near - far) / (12 * h))
    return np.stack(parts, axis=-1)


def skip_probit(response, library):
    if library == "array_api_strict" and response.link is links.probit:
        pytest.skip("array_api_strict has no normal distribution")


@EVERY
@pytest.mark.parametrize("library", LIBRARIES)
def test_slope_and_curvature_are_derivatives_of_value(response, library):
    skip_probit(response, library)
    z, y = grid(response)
    found = curve(response, z, y, library)
    assert [part.shape for part in found] == [(len(y),), (len(y), 1), (len(y), 1, 1)]
    numeric = slope_of(lambda at: curve(response, at, y, library).value, z)
    np.testing.assert_allclose(found.slope, numeric, rtol=1e-7, atol=1e-8)
    mean = response.link.mean(z[:, 0])  # the expected curvature is the one at y = its mean, for value is linear in y
    numeric = -slope_of(lambda at: curve(response, at, mean, library).slope, z)
    np.testing.assert_allclose(found.curvature, numeric, rtol=1e-7, atol=1e-8)


@EVERY
def test_value_is_the_log_likelihood_without_its_base(response):
    z, y = grid(response)
    mean = response.link.mean(z[:, 0])
    value = response.curve(z, y).value
    if response.family is Bernoulli:
        expected = special.xlogy(y, mean) + special.xlog1py(1 - y, -mean)
    elif response.family is Poisson:
        expected = Poisson(mean).log_prob(y) - Poisson.log_base(y)
    elif response.family.name == "gaussian":
        expected = GaussianKnownVariance(mean).log_prob(y) - GaussianKnownVariance.log_base(y)
    elif response.family.name == "inverse_gaussian":
        expected = stats.invgauss.logpdf(y, mean) + np.log(2 * np.pi * y**3) / 2 + 0.5 / y
    else:
        expected = Exponential(1 / mean).log_prob(y)
    np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-12)


@EVERY
@pytest.mark.parametrize("library", LIBRARIES)
def test_no_predictor_gives_nan(response, library):
    skip_probit(response, library)
    far = [0.0, 1e-300, 1e-12, 1.0, 37.0, 300.0, 700.0, 709.0, 720.0, 1e5, 1e300, np.inf]
    found = curve(response, *grid(response, np.concatenate([far, np.negative(far)])), library)
    assert not any(np.isnan(part).any() for part in found)
    assert (found.value < np.inf).all()
    assert (found.curvature >= 0).all()


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("name", "link", "z", "y", "value", "slope", "curvature"),
    [
        ("bernoulli", "logit", 700.0, 0.0, -700.0, -1.0, np.exp(-700)),
        ("bernoulli", "logit", 700.0, 1.0, -np.exp(-700), np.exp(-700), np.exp(-700)),
        ("bernoulli", "logit", -700.0, 1.0, -700.0, 1.0, np.exp(-700)),
        ("bernoulli", "probit", -700.0, 1.0, special.log_ndtr(-700.0), 700.0 + 1 / 700, 0.0),
        ("bernoulli", "probit", 700.0, 1.0, 0.0, 0.0, 0.0),
        ("bernoulli", "cloglog", -700.0, 1.0, -700.0, 1.0, np.exp(-700)),
        ("bernoulli", "cloglog", -700.0, 0.0, -np.exp(-700), -np.exp(-700), np.exp(-700)),
        ("bernoulli", "cloglog", 700.0, 1.0, 0.0, 0.0, 0.0),
        ("bernoulli", "cloglog", -31.0, 1.0, -31.0 - np.exp(-31) / 2, 1.0, np.exp(-31)),
        ("bernoulli", "log", -700.0, 1.0, -700.0, 1.0, np.exp(-700)),
        ("poisson", "log", 700.0, 3.0, -np.exp(700), -np.exp(700), np.exp(700)),
        ("poisson", "log", -700.0, 3.0, -2100.0, 3.0, np.exp(-700)),
        ("gamma", "log", -700.0, 3.0, -3 * np.exp(700), 3 * np.exp(700), 1.0),
        ("gamma", "log", 700.0, 3.0, -700.0, -1.0, 1.0),
        ("gamma", "inverse", 700.0, 3.0, np.log(700) - 2100, 1 / 700 - 3, 700.0**-2),
        ("exponential", "negative_inverse", -700.0, 0.0, np.log(700), -1 / 700, 700.0**-2),
        ("gaussian", "log", -700.0, 3.0, 3 * np.exp(-700), 3 * np.exp(-700), 0.0),
        ("gaussian", "identity", 1e50, 0.0, -5e99, -1e50, 1.0),
    ],
)
def test_limits_keep_their_digits(library, name, link, z, y, value, slope, curvature):
    response = Response.of(name, link)
    skip_probit(response, library)
    found = curve(response, np.array([[z]]), np.array([y]), library)
    np.testing.assert_allclose(np.ravel([*map(np.ravel, found)]), [value, slope, curvature], rtol=1e-8, atol=1e-310)


@pytest.mark.parametrize(
    ("name", "link", "outside", "edge"),
    [  # predictors whose mean the family cannot have; (z, y, value) at the edge of those it can
        ("bernoulli", "log", [1e-9, 700.0], [(0.0, 1.0, 0.0), (0.0, 0.0, -np.inf)]),
        ("bernoulli", "identity", [-1e-9, 1.1], [(0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 0.0, -np.inf)]),
        ("poisson", "identity", [-1e-9, -700.0], [(0.0, 0.0, 0.0), (0.0, 2.0, -np.inf)]),
        ("exponential", "negative_inverse", [0.0, 3.0], []),
        ("gamma", "negative_inverse", [0.0, 3.0], []),
        ("gamma", "inverse", [0.0, -3.0], []),
        ("exponential", "identity", [0.0, -3.0], []),
    ],
)
def test_a_mean_that_cannot_be_has_no_likelihood(name, link, outside, edge):
    response = Response.of(name, link)
    found = response.curve(*grid(response, outside))
    assert (found.value == -np.inf).all()
    assert not found.slope.any()
    assert not found.curvature.any()
    for z, y, value in edge:
        at_edge = response.curve(np.array([[z]]), np.array([y]))
        assert at_edge.value.tolist() == [value]
        assert np.isfinite(at_edge.slope).all()
        assert np.isfinite(at_edge.curvature).all()


@pytest.mark.parametrize("library", LIBRARIES)
def test_softmax(library):
    response = Response.of(Multinomial)
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(12, 3)) * 2, np.arange(12) % 4
    found = curve(response, z, y, library)
    expected = Categorical.from_natural(z).log_prob(y)
    np.testing.assert_allclose(found.value, expected, rtol=1e-12)
    numeric = slope_of(lambda at: curve(response, at, y, library).value, z)
    np.testing.assert_allclose(found.slope, numeric, atol=1e-9)
    numeric = -slope_of(lambda at: curve(response, at, y, library).slope, z)
    np.testing.assert_allclose(found.curvature, numeric, atol=1e-9)


@pytest.mark.parametrize("library", LIBRARIES)
def test_softmax_far_out(library):
    z = np.array([[700.0, 0.0], [-700.0, -700.0], [1e5, -1e5], [np.inf, -np.inf], [700.0, 700.0]])
    for code in range(3):
        found = curve(Response.of("multinomial"), z, np.full(5, code), library)
        assert all(np.isfinite(part).all() for part in found)
        assert (found.curvature[:, [0, 1], [0, 1]] >= 0).all()
    np.testing.assert_allclose(found.value[[0, 1, 4]], [-700.0, 0.0, -700 - np.log(2)], atol=1e-12)


def test_two_classes_are_bernoulli():
    z, y = np.linspace(-40, 40, 9)[:, None], np.arange(9) % 2
    two, one = Response.of("multinomial").curve(z, 1 - y), Response.of("bernoulli").curve(z, y)
    for part, other in zip(two, one, strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-9, atol=1e-15)


def test_names_and_pairs():
    assert Response.of(Bernoulli).name == "bernoulli/logit"
    assert Response.of("gaussian").name == "gaussian/identity"
    assert Response.of("gamma").name == "gamma/negative_inverse"
    assert Response.of("poisson", links.identity) == Response(Poisson, links.identity)
    response = Response.of("bernoulli", "probit")
    assert pickle.loads(pickle.dumps(response)) == response
    with pytest.raises(ValueError, match="there is no response poisson/logit; there are: gaussian/identity"):
        Response.of("poisson", "logit")
    with pytest.raises(ValueError, match="there is no regression for 'poison'; there is for: gaussian"):
        Response.of("poison")
    with pytest.raises(ValueError, match="there is no regression for 'categorical'"):
        Response.of(Categorical)
    with pytest.raises(ValueError, match="there is no response categorical/softmax"):
        Response.of(Categorical, "softmax")


def test_the_usual_link_is_the_canonical_one_where_that_is_offered():
    for name in NAMED:
        usual = Response.of(name)
        others = {"beta": links.logit, "dirichlet": links.log, "inverse_gaussian": links.log}
        assert usual.link is others.get(name, usual.family.canonical_link)
    assert Response.of("inverse_gaussian", "canonical").link is links.inverse_squared


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("bernoulli", [0.0, 0.5, 1.5], r"y\[2\] is 1.5: a bernoulli target must be between 0 and 1"),
        ("poisson", [2.5, -1.0], r"y\[1\] is -1.0: a poisson target must be a finite number, 0 or more"),
        ("exponential", [0.0, np.inf], r"y\[1\] is inf"),
        ("gamma", [1.0, 0.0], r"y\[1\] is 0.0: a gamma target must be a finite number above 0"),
        ("gaussian", [np.nan, 0.0], r"y\[0\] is nan: a gaussian target must be a finite number"),
        ("multinomial", [0.0, 2.0, 3.0], r"y\[2\] is 3.0: a multinomial target must be a code from 0 to 2"),
    ],
)
def test_targets(library, name, y, message):
    response, targets = Response.of(name), namespace(library).asarray(np.array(y))
    with pytest.raises(ValueError, match=message):
        response.check_targets(targets, **({"classes": 3} if name == "multinomial" else {}))
    response.check_targets(targets[1:] if name == "gaussian" else targets[:1])


def test_legal_targets_are_let_through():
    for name, y in {**TARGETS, "poisson": [0.0, 0.5], "multinomial": [0, 1, 2]}.items():
        Response.of(name).check_targets(y)
    Response.of("multinomial").check_targets(np.array([0, 2]), classes=3)
    with pytest.raises(ValueError, match="a code, 0 or more"):
        Response.of("multinomial").check_targets([0.5])


def test_bad_predictors():
    with pytest.raises(TypeError, match=r"predictor must be float64, \(n, t\); got float32"):
        Response.of("poisson").curve(np.zeros((2, 1), dtype=np.float32), np.zeros(2))
    with pytest.raises(ValueError, match="poisson/log has one predictor per row; got 2"):
        Response.of("poisson").curve(np.zeros((2, 2)), np.zeros(2))
    with pytest.raises(ValueError, match=r"y must have one target per row, \(2,\); its shape is \(2, 1\)"):
        Response.of("poisson").curve(np.zeros((2, 1)), np.zeros((2, 1)))
    with pytest.raises(TypeError, match="probit link needs the normal distribution, which array_api_strict lacks"):
        Response.of("bernoulli", "probit").curve(array_api_strict.zeros((1, 1)), array_api_strict.zeros(1))


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_rows(library):
    for pair in [*PAIRS, ("multinomial", "softmax"), ("beta", "logit"), ("dirichlet", "log")]:
        if pair[1] != "probit" or library != "array_api_strict":
            response, targets = Response.of(*pair), 2
            t = response.predictors(targets)
            found = curve(response, np.zeros((0, t)), np.zeros((0, 2) if response.vector_targets else 0), library)
            assert [part.shape for part in found] == [(0,), (0, t), (0, t, t)]


def test_integer_targets_are_fine():
    z = np.zeros((3, 1))
    whole = Response.of("poisson").curve(z, np.array([0, 1, 2]))
    np.testing.assert_array_equal(whole.slope[:, 0], [-1, 0, 1])

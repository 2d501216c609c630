"""Laws of every exponential family."""

import dataclasses
import pickle
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from suffice import families
from suffice.families import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Distribution,
    Exponential,
    Gamma,
    Gaussian,
    GaussianKnownVariance,
    InverseGaussian,
    Multinomial,
    MultivariateGaussian,
    Poisson,
)

SIGMA = np.array([[[2.0, 0.6], [0.6, 1.0]], [[1.0, -0.3], [-0.3, 0.5]]])
KNOWN = np.array([0.5, 3.0])
NOTHING: Mapping[str, Any] = MappingProxyType({})


class Case(NamedTuple):
    member: Distribution  # a batch of two
    y: Any  # values, a row for each draw: (n, 2) or (n, 2, k)
    outside: Any  # a value outside the support
    sufficient: Mapping[str, Any] = NOTHING
    base: Mapping[str, Any] = NOTHING
    partition: Mapping[str, Any] = NOTHING  # what log_partition, mean and variance take besides eta
    sample: Mapping[str, Any] = NOTHING


CASES = [
    Case(Bernoulli([0.2, 0.9]), [[0, 1], [1, 0]], 0.5),
    Case(Categorical([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]), [[0, 2], [1, 1]], 3, sufficient={"categories": 3}),
    Case(
        Multinomial([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1]]),
        [[[4, 0, 1], [2, 2, 1]], [[0, 5, 0], [0, 0, 5]]],
        [1, -1, 2],
        partition={"trials": 5},
        sample={"trials": 5},
    ),
    Case(Gaussian([1.0, -2.0], [0.5, 3.0]), [[0.0, 1.0], [4.0, -3.0]], np.inf),
    Case(
        GaussianKnownVariance([1.0, -2.0], KNOWN),
        [[0.0, 1.0], [4.0, -3.0]],
        -np.inf,
        base={"known": KNOWN},
        partition={"known": KNOWN},
    ),
    Case(MultivariateGaussian([[1.0, -2.0], [0.0, 0.5]], SIGMA), [[[0.0, 1.0], [2.0, 2.0]]], [np.inf, 0.0]),
    Case(Poisson([0.3, 20.0]), [[0, 18], [2, 25]], 1.5),
    Case(Exponential([0.3, 20.0]), [[0.0, 0.1], [2.0, 0.01]], -1.0),
    Case(Gamma([0.7, 5.0], [0.3, 20.0]), [[0.1, 0.1], [2.0, 0.3]], 0.0),
    Case(InverseGaussian([0.7, 5.0], [0.3, 20.0]), [[0.1, 4.0], [2.0, 6.0]], 0.0),
    Case(Beta([0.7, 5.0], [2.0, 3.0]), [[0.1, 0.4], [0.9, 0.6]], 1.0),
    Case(Dirichlet([[0.7, 2.0, 3.0], [5.0, 4.0, 3.0]]), [[[0.1, 0.4, 0.5], [0.3, 0.3, 0.4]]], [0.5, 0.4, 0.3]),
]
EVERY = pytest.mark.parametrize("case", CASES, ids=lambda case: type(case.member).__name__)


def dot(eta: np.ndarray, t: np.ndarray, vector: bool) -> np.ndarray:
    return (eta * t).sum(axis=-1) if vector else eta * t


def is_vector(case: Case) -> bool:
    return case.member.natural.ndim > 1


def derivative(function: Any, eta: np.ndarray, vector: bool) -> np.ndarray:
    """The fourth-order central difference; by the last axis of eta where it is a vector."""

    def along(direction: np.ndarray) -> np.ndarray:
        h = 3e-4
        near = function(eta + h * direction) - function(eta - h * direction)
        far = function(eta + 2 * h * direction) - function(eta - 2 * h * direction)
        return (8 * near - far) / (12 * h)

    if not vector:
        return along(np.ones(()))
    return np.stack([along(unit) for unit in np.eye(eta.shape[-1])], axis=-1)


def test_every_family_is_here():
    exported = [getattr(families, name) for name in families.__all__]
    concrete = {kind for kind in exported if isinstance(kind, type) and issubclass(kind, Distribution)} - {Distribution}
    assert concrete == {type(case.member) for case in CASES}


@EVERY
def test_log_prob_has_the_exponential_form(case):
    kind, eta = type(case.member), case.member.natural
    form = kind.log_base(case.y, **case.base) - kind.log_partition(eta, **case.partition)
    form = form + dot(eta, kind.sufficient(case.y, **case.sufficient), is_vector(case))
    np.testing.assert_allclose(case.member.log_prob(case.y), form, rtol=1e-12, atol=1e-12)


@EVERY
def test_mean_is_the_slope_of_the_partition(case):
    kind, eta = type(case.member), case.member.natural
    slope = derivative(lambda at: kind.log_partition(at, **case.partition), eta, is_vector(case))
    np.testing.assert_allclose(kind.mean(eta, **case.partition), slope, rtol=1e-8, atol=1e-9)


@EVERY
def test_variance_is_the_slope_of_the_mean(case):
    kind, eta = type(case.member), case.member.natural
    slope = derivative(lambda at: kind.mean(at, **case.partition), eta, is_vector(case))
    variance = kind.variance(eta, **case.partition)
    np.testing.assert_allclose(variance, slope, rtol=1e-8, atol=1e-9)
    if is_vector(case):
        np.testing.assert_allclose(variance, variance.swapaxes(-1, -2), atol=1e-12)


@EVERY
def test_natural_parameters_survive_a_round_trip(case):
    kind = type(case.member)
    options = {name: value for name, value in case.partition.items() if name == "known"}
    back = kind.from_natural(case.member.natural, **options)
    for field in dataclasses.fields(case.member):
        np.testing.assert_allclose(getattr(back, field.name), getattr(case.member, field.name), rtol=1e-12, atol=1e-14)


@EVERY
def test_samples_average_to_the_mean_statistic(case):
    kind, eta = type(case.member), case.member.natural
    draws = case.member.sample(4000, random_state=7, **case.sample)
    case.member.check_support(draws)
    variance = kind.variance(eta, **case.partition)
    deviation = np.sqrt(np.diagonal(variance, axis1=-2, axis2=-1) if is_vector(case) else variance)
    off = kind.sufficient(draws, **case.sufficient).mean(axis=0) - kind.mean(eta, **case.partition)
    assert np.all(np.abs(off) <= 4.5 * deviation / np.sqrt(4000))


@EVERY
def test_sample_shapes_and_seeds(case):
    member = case.member
    tail = np.shape(case.y)[2:]
    assert member.batch_shape == (2,)
    assert member.sample(**case.sample).shape == (2, *tail)
    assert member.sample((4, 3), 1, **case.sample).shape == (4, 3, 2, *tail)
    again = member.sample(5, np.random.default_rng(1), **case.sample)
    np.testing.assert_array_equal(member.sample(5, 1, **case.sample), again)


@EVERY
def test_a_batch_is_its_members(case):
    member, kind = case.member, type(case.member)
    batch = member.log_prob(np.asarray(case.y)[:, :1])  # each value under both members
    assert batch.shape == (len(case.y), 2)
    for index in range(2):
        parts = {
            field.name: getattr(member, field.name)[index]
            for field in dataclasses.fields(member)
            if field.name != "factor"
        }
        alone = kind(**parts)
        assert alone.batch_shape == ()
        np.testing.assert_allclose(alone.log_prob(np.asarray(case.y)[:, 0]), batch[:, index], rtol=1e-12)


@EVERY
def test_batches_have_any_shape(case):
    kind, eta, y = type(case.member), case.member.natural, np.asarray(case.y, dtype=float)
    for quantity in (kind.log_partition, kind.mean, kind.variance):
        deeper = quantity(eta[None, :, None], **case.partition if "trials" in case.partition else {})
        flat = quantity(eta, **case.partition if "trials" in case.partition else {})
        np.testing.assert_allclose(deeper, flat[None, :, None], rtol=1e-13)
    deep, flat = kind.from_natural(eta[None, :, None]), kind.from_natural(eta)
    assert deep.batch_shape == (1, 2, 1)
    np.testing.assert_allclose(deep.natural, eta[None, :, None], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(deep.log_prob(y[:, None, :, None]), flat.log_prob(y)[:, None, :, None], rtol=1e-12)
    assert deep.sample(3, 1, **case.sample).shape == (3, 1, 2, 1, *y.shape[2:])


@EVERY
def test_outside_the_support(case):
    good = np.asarray(case.y, dtype=float)[:, 0]
    bad = np.concatenate([good, [case.outside]])
    with pytest.raises(
        ValueError, match=rf"y\[{len(good)}\] is .*: a {case.member.name} value must be {case.member.support}"
    ):
        case.member.check_support(bad)
    case.member.check_support(good)
    density = case.member.log_prob(bad[:, None])
    assert np.isfinite(density[:-1]).all()
    assert (density[-1] == -np.inf).all()
    missing = np.array(bad)
    missing[0] = np.nan
    assert np.isnan(case.member.log_prob(missing[:, None])[0]).all()
    with pytest.raises(ValueError, match=r"y\[0\] is \[?nan"):
        case.member.check_support(missing)


@pytest.mark.parametrize(
    ("kind", "eta"),
    [
        (Bernoulli, [-700.0, 700.0]),
        (Categorical, [[700.0, 10.0], [-700.0, -700.0]]),
        (Multinomial, [[700.0, 10.0], [700.0, 700.0]]),
        (Gaussian, [[700.0, -700.0], [-700.0, -1e-3], [0.0, -1e100]]),
        (GaussianKnownVariance, [-700.0, 700.0]),
        (MultivariateGaussian, [[700.0, -700.0, -700.0, 0.0, 0.0, -1e-3]]),
        (Poisson, [-700.0, 700.0]),
        (Exponential, [-700.0, -1e-100]),
        (Gamma, [[700.0, -700.0], [-1 + 1e-10, -1e-10]]),
        (Beta, [[700.0, 700.0], [-1 + 1e-10, 700.0]]),
        (Dirichlet, [[700.0, 0.0, -1 + 1e-10]]),
    ],
)
def test_extreme_natural_parameters_stay_finite(kind, eta):
    for quantity in (kind.log_partition, kind.mean, kind.variance):
        assert np.isfinite(quantity(eta)).all()
    np.testing.assert_allclose(kind.from_natural(eta).natural, eta, rtol=1e-10, atol=1e-10)


@EVERY
def test_members_are_frozen_and_pickle(case):
    field = dataclasses.fields(case.member)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(case.member, field, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        getattr(case.member, field)[0] = 1.0
    back = pickle.loads(pickle.dumps(case.member))
    np.testing.assert_array_equal(back.log_prob(case.y), case.member.log_prob(case.y))

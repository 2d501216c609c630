"""One suite for every set of kernels that scores rows: each reading of each score must agree with the oracle."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import Batch
from suffice.kernels.inputs import JOINT, Reading
from tests.each import for_each

from . import oracle_scores
from .backends import RANGES, Backend, every_dtype

NAN, INF = float("nan"), float("inf")
READINGS = [
    JOINT,
    Reading("posterior"),
    Reading("log_posterior"),
    Reading("posterior", temperature=2.5),
    Reading("log_posterior", temperature=0.5),
    Reading("evidence", temperature=3.0),
    Reading("best", temperature=3.0),
]
every_reading = for_each("reading", READINGS)
KERNELS = ["linear_scores", "diagonal_scores", "quadratic_scores", "category_scores"]
every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def sizes_of(features: int) -> tuple[int, ...]:
    return tuple(2 + j % 5 for j in range(features))


def parameters(kernel: str, features: int, classes: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Arguments after the batch, up to the reading."""
    shape, intercept = (classes, features), rng.normal(size=classes)
    match kernel:
        case "linear_scores":
            return rng.normal(size=shape), intercept
        case "diagonal_scores":
            return rng.normal(size=shape), rng.gamma(2.0, size=shape) + 0.1, intercept
        case "quadratic_scores":
            return rng.normal(size=shape), rng.normal(size=(*shape, features)) / max(1, features) ** 0.5, intercept
        case _:
            sizes = sizes_of(features)
            return rng.normal(size=(sum(sizes), classes)) - 2, sizes, intercept


def features_of(kernel: str, rows: int, features: int, rng: np.random.Generator) -> np.ndarray:
    if kernel == "category_scores":
        codes = [rng.integers(0, size, rows) for size in sizes_of(features)]
        return np.stack(codes, axis=1).astype(float) if codes else np.zeros((rows, 0))
    return rng.normal(size=(rows, features)) * 2 + 0.5


def check(backend: Backend, kernel: str, host: Batch, *arguments: Any, **more: Any) -> np.ndarray:
    batch = backend.batch(host)
    seen = getattr(backend.kernels, kernel)(batch, *arguments, **more)
    assert type(seen) is (np.ndarray if backend.sparse else type(batch.x))
    expected = getattr(oracle_scores, kernel)(host, *arguments, **more)
    agree(to_host(seen), expected)
    return expected


def agree(seen: np.ndarray, expected: np.ndarray) -> None:
    assert seen.shape == expected.shape
    assert seen.dtype == (np.int64 if expected.dtype.kind == "i" else np.float64)
    if seen.dtype == np.int64:
        assert np.array_equal(seen, expected)
    else:
        np.testing.assert_allclose(seen, expected, rtol=1e-11, atol=1e-11)


@every_kernel
@every_reading
@for_each("classes", [1, 2, 5, 41])
def test_every_reading_of_every_score(kernels_and_arrays, kernel, reading, classes):
    rng = np.random.default_rng(classes)
    host = Batch(features_of(kernel, 40, 6, rng), start=3, stop=38)
    check(kernels_and_arrays, kernel, host, *parameters(kernel, 6, classes, rng), reading)


@every_kernel
@for_each("features", [0, 1, 2, 3, 5, 7, 8, 20, 31, 33, 70])
def test_any_number_of_features(kernels_and_arrays, kernel, features):
    rng = np.random.default_rng(features)
    host = Batch(features_of(kernel, 70, features, rng))
    check(kernels_and_arrays, kernel, host, *parameters(kernel, features, 2, rng))


@every_kernel
@every_dtype
@for_each("start, stop", RANGES)
def test_every_dtype_and_range(kernels_and_arrays, kernel, cast, start, stop):
    rng = np.random.default_rng(4)
    host = Batch(cast(features_of(kernel, 23, 5, rng)), start=start, stop=stop)
    for reading in READINGS if host.x.dtype == float or (start, stop) == RANGES[1] else [JOINT]:
        check(kernels_and_arrays, kernel, host, *parameters(kernel, 5, 3, rng), reading)


@every_kernel
@for_each("layout", ["Fortran", "spaced", "reversed"])
def test_any_layout(kernels_and_arrays, kernel, layout):
    rng = np.random.default_rng(5)
    x = features_of(kernel, 100, 37, rng)
    if layout == "Fortran":
        x = np.asfortranarray(x)
    elif layout == "spaced":
        x = np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3]
    else:
        x = np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]
    check(kernels_and_arrays, kernel, Batch(x), *parameters(kernel, 37, 3, rng))


@every_kernel
@every_reading
def test_impossible_classes(kernels_and_arrays, kernel, reading):
    rng = np.random.default_rng(6)
    host = Batch(features_of(kernel, 24, 4, rng))
    *model, intercept = parameters(kernel, 4, 4, rng)
    for impossible in ([1], [0, 1, 3], [0, 1, 2, 3]):
        barred = np.where(np.isin(np.arange(4), impossible), -INF, intercept)
        prior = np.array([0.1, 0.0, 0.5, 0.4])
        asked = replace(reading, prior=prior)
        seen = check(kernels_and_arrays, kernel, host, *model, barred, asked)
        assert not np.isnan(seen).any()
        check(kernels_and_arrays, kernel, host, *model, barred, reading)  # where all are impossible: uniform


@for_each("reading", [JOINT, Reading("best")])
@for_each("threshold", [None, 0.0, 0.7, -0.4, -INF])
@for_each("gaps", [False, True])
@for_each("classes", [2, 5])
def test_presences_and_missing_cells_in_linear_scores(kernels_and_arrays, reading, threshold, gaps, classes):
    rng = np.random.default_rng(7)
    x = np.where(rng.random((150, 35)) < 0.5, rng.normal(size=(150, 35)), 0)
    if gaps:
        x[rng.random(x.shape) < 0.1] = NAN
        x[100:130] = np.where(np.isnan(x[100:130]), 1, x[100:130])  # rows without gaps among others
    missing = rng.normal(size=(classes, 35))
    coef, intercept = parameters("linear_scores", 35, classes, rng)
    check(
        kernels_and_arrays,
        "linear_scores",
        Batch(x, start=5),
        coef,
        intercept,
        reading,
        threshold=threshold,
        missing=missing,
    )
    if not gaps:
        check(kernels_and_arrays, "linear_scores", Batch(x), coef, intercept, reading, threshold=threshold)


@every_reading
def test_missing_cells_are_integrated_out_of_gaussians(kernels_and_arrays, reading):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(150, 35))
    x[rng.random(x.shape) < 0.2] = NAN
    x[7] = NAN
    model = parameters("diagonal_scores", 35, 3, rng)
    check(kernels_and_arrays, "diagonal_scores", Batch(x, start=2), *model, reading)


@for_each("reading", [JOINT, Reading("best")])
@for_each("dtype", [np.float64, np.float32, np.int8, np.int64])
def test_missing_and_impossible_categories(kernels_and_arrays, reading, dtype):
    rng = np.random.default_rng(9)
    x = features_of("category_scores", 150, 6, rng)
    x[rng.random(x.shape) < 0.2] = -1
    x[3, 2] = -7
    if dtype in (np.float64, np.float32):
        x[rng.random(x.shape) < 0.2] = NAN
    tables, sizes, intercept = parameters("category_scores", 6, 3, rng)
    tables[rng.random(tables.shape) < 0.1] = -INF
    check(kernels_and_arrays, "category_scores", Batch(x.astype(dtype)), tables, sizes, intercept, reading)


def test_what_is_above_the_diagonal_of_a_whitener_is_not_read(kernels_and_arrays):
    rng = np.random.default_rng(10)
    batch = kernels_and_arrays.batch(Batch(rng.normal(size=(9, 5))))
    mean, whitener, intercept = parameters("quadratic_scores", 5, 2, rng)
    one, two = (
        kernels_and_arrays.kernels.quadratic_scores(batch, mean, form, intercept)
        for form in (whitener, np.tril(whitener))
    )
    assert np.array_equal(to_host(one), to_host(two))


def test_an_offset_costs_no_digits(kernels_and_arrays):
    rng = np.random.default_rng(11)
    x = rng.normal(size=(70, 5))
    mean, variance, intercept = parameters("diagonal_scores", 5, 2, rng)
    for kernel, shape in (("diagonal_scores", variance), ("quadratic_scores", np.stack([np.eye(5)] * 2))):
        far = check(kernels_and_arrays, kernel, Batch(x + 2.0**30), mean + 2.0**30, shape, intercept)
        near = check(kernels_and_arrays, kernel, Batch(x), mean, shape, intercept)
        np.testing.assert_allclose(far, near, rtol=1e-5)


def test_rows_out_of_reach_score_minus_infinity(kernels_and_arrays):
    """No class can have produced them as far as float64 can tell, so they get the prior."""
    x = np.array([[0.0, 0.0], [1e200, 1e200], [-1.7e308, 1.7e308]])
    batch = kernels_and_arrays.batch(Batch(x))
    mean, intercept, prior = np.array([[0.0, 1.0], [-1.0, 0.0]]), np.log([0.5, 0.5]), np.array([0.2, 0.8])
    turn = np.array([[[1.0, 0.0], [1.0, 1.0]]] * 2)
    for kernel, shape in (("diagonal_scores", np.full((2, 2), 0.5)), ("quadratic_scores", turn * 2)):
        ask = getattr(kernels_and_arrays.kernels, kernel)
        assert np.array_equal(to_host(ask(batch, mean, shape, intercept))[1:], np.full((2, 2), -INF))
        posterior = to_host(ask(batch, mean, shape, intercept, Reading("posterior", prior=prior)))
        assert np.array_equal(posterior[1:], [prior, prior])
        assert np.array_equal(to_host(ask(batch, mean, shape, intercept, Reading("best", prior=prior)))[1:], [1, 1])
        assert np.array_equal(to_host(ask(batch, mean, shape, intercept, Reading("evidence")))[1:], [-INF, -INF])


def test_tiny_and_huge_variances(kernels_and_arrays):
    batch = kernels_and_arrays.batch(Batch(np.array([[1.0, 0.0], [1.0, 1e150]])))
    mean, variance = np.array([[1.0, 0.0]]), np.array([[5e-324, 1e300]])
    scores = to_host(kernels_and_arrays.kernels.diagonal_scores(batch, mean, variance, np.zeros(1)))[:, 0]
    level = -np.log(2 * np.pi) - (np.log(5e-324) + np.log(1e300)) / 2
    np.testing.assert_allclose(scores, [level, level - 0.5], rtol=1e-12)


def test_the_first_of_equal_classes_is_best(kernels_and_arrays):
    batch = kernels_and_arrays.batch(Batch(np.zeros((70, 2))))
    for intercept, first in (([0.0, 0.0, 0.0], 0), ([-1.0, 2.0, 2.0], 1), ([-INF, -3.0, -INF], 1)):
        best = kernels_and_arrays.kernels.linear_scores(batch, np.zeros((3, 2)), np.array(intercept), Reading("best"))
        assert np.array_equal(to_host(best), np.full(70, first))


scores_of_any_size = st.one_of(
    st.floats(-1e308, 1e308), st.floats(-40, 40), st.just(-INF), st.sampled_from([0.0, -0.0])
)


@given(
    scores=stn.arrays(
        np.float64, st.tuples(st.integers(0, 6), st.integers(1, 5)), elements=scores_of_any_size, fill=st.nothing()
    ),
    temperature=st.sampled_from([1.0, 0.25, 30.0, 1e-307, 1e300]),
)
def test_readings_of_any_scores(kernels_and_arrays, scores, temperature):
    """Nothing is NaN, posteriors sum to 1, and one reading follows from another."""
    read, array = kernels_and_arrays.kernels.read_scores, np.array
    if not kernels_and_arrays.sparse:
        array = kernels_and_arrays.arrays
    seen = {
        what: to_host(read(array(scores), Reading(what, temperature)))
        for what in ("joint", "log_posterior", "posterior", "evidence", "best")
    }
    assert np.array_equal(seen["joint"], scores)
    assert not any(np.isnan(result).any() for result in seen.values())
    with np.errstate(all="ignore"):
        for what, result in seen.items():
            agree(result, oracle_scores.read_scores(scores, Reading(what, temperature)))
        np.testing.assert_allclose(seen["posterior"].sum(axis=1), np.ones(len(scores)), rtol=1e-13)
        np.testing.assert_allclose(np.exp(seen["log_posterior"]), seen["posterior"], rtol=1e-12, atol=1e-300)


def test_small_doubts_keep_their_digits(kernels_and_arrays):
    """log p of a class that is nearly certain is minus what is left to the others, not 0."""
    scores = np.array([[0.0, -50.0, -60.0]] * 70)
    array = scores if kernels_and_arrays.sparse else kernels_and_arrays.arrays(scores)
    logs = to_host(kernels_and_arrays.kernels.read_scores(array, Reading("log_posterior")))
    np.testing.assert_allclose(logs[:, 0], -(np.exp(-50) + np.exp(-60)), rtol=1e-13)

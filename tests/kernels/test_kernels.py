"""One suite for every set of kernels, on every kind of array it sums: each must agree with the oracle."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import Batch
from tests.each import for_each

from . import oracle
from .agreement import agree, check
from .backends import (
    CLASSES,
    RANGES,
    RESPONSES,
    Question,
    counts,
    every_dtype,
    every_question,
    labelled,
    maybe_weighted,
    real,
    weights_of,
)
from .class_sums import ClassSums

# Sums per class.


class TestClassSums(ClassSums):
    @pytest.fixture
    def backend(self, kernels_and_arrays):
        return kernels_and_arrays


@every_question
def test_rows_may_have_no_features(kernels_and_arrays, question):
    host = labelled(question.features, True)
    empty = Question(question.kernel, more=((),) if question.kernel == "category_counts" else question.more)
    check(kernels_and_arrays, empty, replace(host, x=host.x[:, :0]))


@for_each("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.bool_])
def test_codes_are_integers_of_any_kind(kernels_and_arrays, dtype):
    host = labelled(counts, False)
    check(kernels_and_arrays, Question("event_counts"), replace(host, y=host.y.astype(dtype)))


def test_counts_are_exact(kernels_and_arrays):
    host = Batch(np.full((20, 1), 2**24 + 1, dtype=np.int32))
    _, events = kernels_and_arrays.kernels.event_counts(kernels_and_arrays.batch(host), 1)
    assert events[0, 0] == 20 * (2**24 + 1)


# Spreads.


@pytest.mark.parametrize("kernel", ["diagonal_moments", "full_moments", "tied_moments", "normal_equations"])
@maybe_weighted
def test_an_offset_costs_no_digits(kernels_and_arrays, kernel, weighted):
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(100, 4))  # more rows than are summed before a reference moves
    x = 1e8 * np.array([1, -1, 1, 3]) + noise + np.linspace(0, 3, 100)[:, None]  # drifts from block to block
    host = Batch(x[:, :3], x[:, 3], weights_of(rng, 100) if weighted else None)
    classes = ()
    if kernel != "normal_equations":
        host, classes = replace(host, y=rng.integers(0, 3, size=100)), (3,)
    *_, spread = getattr(kernels_and_arrays.kernels, kernel)(kernels_and_arrays.batch(host), *classes)
    *_, truth = getattr(oracle, kernel)(host, *classes)
    root = np.sqrt(truth if kernel == "diagonal_moments" else np.diagonal(truth, axis1=-2, axis2=-1))
    scale = truth if kernel == "diagonal_moments" else root[..., :, None] * root[..., None, :]
    assert np.all(np.abs(spread - truth) <= 1e-8 * scale)


@pytest.mark.parametrize("kernel", ["diagonal_moments", "full_moments", "tied_moments"])
@maybe_weighted
def test_a_constant_feature_does_not_spread(kernels_and_arrays, kernel, weighted):
    host = labelled(lambda _, n, d: np.full((n, d), 0.1), weighted, n=40)
    _, mean, spread = getattr(kernels_and_arrays.kernels, kernel)(kernels_and_arrays.batch(host), CLASSES)
    assert np.all(mean == 0.1)
    assert np.all(spread == 0)


@pytest.mark.parametrize("kernel", ["full_moments", "tied_moments", "normal_equations"])
@maybe_weighted
def test_scatters_are_exactly_symmetric(kernels_and_arrays, kernel, weighted):
    batch = kernels_and_arrays.batch(labelled(real, weighted))
    classes = () if kernel == "normal_equations" else (CLASSES,)
    *_, scatter = getattr(kernels_and_arrays.kernels, kernel)(batch, *classes)
    assert np.array_equal(scatter, np.swapaxes(scatter, -1, -2))


# Regressions.


@every_dtype
@maybe_weighted
@for_each("targets", [None, 1, 2], ids=["y (n,)", "y (n, 1)", "y (n, 2)"])
def test_normal_equations_equal_the_oracle(kernels_and_arrays, cast, weighted, targets):
    rng = np.random.default_rng(2)
    y = rng.normal(size=23 if targets is None else (23, targets))
    host = Batch(cast(real(rng, 23, 4)), y, weights_of(rng, 23) if weighted else None)
    for start, stop in RANGES if host.x.dtype == float else RANGES[1:2]:
        part = replace(host, start=start, stop=stop)
        seen = kernels_and_arrays.kernels.normal_equations(kernels_and_arrays.batch(part))
        agree("normal_equations", part, seen, oracle.normal_equations(part))


@pytest.mark.parametrize(("response", "predictors", "row_curve"), RESPONSES.values(), ids=RESPONSES.keys())
@for_each("intercept", [False, True], ids=["through 0", "intercept"])
@maybe_weighted
@for_each("columns", [None, 1, 2], ids=["no offset", "offset (n,)", "offset (n, t)"])
def test_curvature_equals_the_oracle(kernels_and_arrays, response, predictors, row_curve, intercept, weighted, columns):
    rng = np.random.default_rng(3)
    host = Batch(
        rng.normal(size=(23, 3)),
        rng.integers(0, predictors + 1, size=23),
        weights_of(rng, 23) if weighted else None,
        None if columns is None else rng.normal(size=(23, predictors)[:columns]),
    )
    theta = rng.normal(size=(3 + intercept, predictors))
    for start, stop in RANGES:
        part = replace(host, start=start, stop=stop)
        asked = kernels_and_arrays.batch(part), response, theta, intercept
        seen = kernels_and_arrays.kernels.curvature(*asked, True)
        for ours, truth in zip(seen, oracle.curvature(part, row_curve, theta, intercept), strict=True):
            assert np.shape(ours) == np.shape(truth)
            np.testing.assert_allclose(ours, truth, rtol=1e-12, atol=1e-12)
        assert np.array_equal(seen[3], seen[3].T)
        *first, hessian = kernels_and_arrays.kernels.curvature(*asked, False)
        for ours, truth in zip(first, seen[:3], strict=True):
            np.testing.assert_allclose(ours, truth, rtol=1e-14, atol=1e-14)
        assert hessian.shape == (0, 0)


@every_dtype
@for_each("start, stop", RANGES)
def test_linear_scores_equal_the_oracle(kernels_and_arrays, cast, start, stop):
    rng = np.random.default_rng(4)
    host = Batch(cast(real(rng, 23, 4)), start=start, stop=stop)
    coef, intercept = rng.normal(size=(3, 4)), rng.normal(size=3)
    batch = kernels_and_arrays.batch(host)
    scores = kernels_and_arrays.kernels.linear_scores(batch, coef, intercept)
    assert kernels_and_arrays.sparse or type(scores) is type(batch.x)
    np.testing.assert_allclose(to_host(scores), oracle.linear_scores(host, coef, intercept), rtol=1e-12, atol=1e-12)


# Arrays of every form.


def spaced(array: np.ndarray) -> np.ndarray:
    wide = np.zeros([2 * size for size in array.shape], dtype=array.dtype)
    every_other = (slice(None, None, 2),) * array.ndim
    wide[every_other] = array
    return wide[every_other]


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "spaced": spaced,
    "Fortran": lambda array: np.array(array, order="F"),
    "reversed": lambda array: np.ascontiguousarray(array[::-1])[::-1],
}


@for_each("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
@every_question
def test_any_layout_read_only(kernels_and_arrays, layout, question):
    host = labelled(question.features, True)
    arrays = [layout(array) for array in (host.x, host.y, host.weight)]
    for array in arrays:
        array.flags.writeable = False
    check(kernels_and_arrays, question, Batch(*arrays))


@every_question
def test_columns_may_stay_on_the_host(kernels_and_arrays, question):
    host = labelled(question.features, True)
    batch = replace(host, x=kernels_and_arrays.arrays(host.x))
    seen = getattr(kernels_and_arrays.kernels, question.kernel)(batch, CLASSES, *question.more)
    agree(question.kernel, host, seen, getattr(oracle, question.kernel)(host, CLASSES, *question.more))

"""Third and fourth powers of the distance from given means, on every set of kernels."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from suffice.kernels.engine import Batch
from suffice.kernels.native import NativeKernels, quartic_moments
from tests.each import for_each

from . import oracle
from .backends import CLASSES, FEATURES, RANGES, Backend, counts, every_dtype, labelled, maybe_weighted, real

MEAN = np.random.default_rng(5).normal(size=(CLASSES, FEATURES))


def check(backend: Backend, host: Batch, mean: np.ndarray = MEAN) -> None:
    cubes, quartic = backend.kernels.quartic_moments(backend.batch(host), len(mean), mean)
    expected = oracle.quartic_moments(host, len(mean), mean)
    size = 1e-13 * np.sum(expected[1] + 1)
    np.testing.assert_allclose(cubes, expected[0], rtol=1e-13, atol=size)
    np.testing.assert_allclose(quartic, expected[1], rtol=1e-13)


@every_dtype
@maybe_weighted
def test_powers_equal_the_oracle(kernels_and_arrays, cast, weighted):
    host = labelled(real, weighted)
    check(kernels_and_arrays, replace(host, x=cast(host.x)))


@for_each("start, stop", RANGES)
def test_only_rows_from_start_to_stop_count(kernels_and_arrays, start, stop):
    check(kernels_and_arrays, replace(labelled(real, True), start=start, stop=stop))


@maybe_weighted
@for_each("n", [0, 1, 14])
def test_one_class_needs_no_y(kernels_and_arrays, weighted, n):
    check(kernels_and_arrays, replace(labelled(real, weighted, n), y=None), MEAN[:1])


def test_classes_may_be_missing_and_rows_may_have_no_features(kernels_and_arrays):
    host = labelled(counts, True)
    check(kernels_and_arrays, replace(host, y=np.where(host.y == 1, 4, 2)), np.vstack([MEAN, MEAN]))
    check(kernels_and_arrays, replace(host, x=host.x[:, :0]), np.zeros((CLASSES, 0)))


def test_a_row_of_weight_0_adds_nothing_however_far_away(kernels_and_arrays):
    host = labelled(real, True)
    x, weight = host.x.copy(), host.weight.copy()
    x[3], weight[3] = 1e200, 0
    check(kernels_and_arrays, replace(host, x=x, weight=weight))


@for_each(
    "spoil, error, message",
    [
        (lambda x, y, w: x.__setitem__((9, 1), np.nan), ValueError, "x[9, 1] is nan; it must be finite"),
        (lambda x, y, w: y.__setitem__(9, 5), ValueError, "y[9] is 5; class codes must be 0 to 2"),
        (
            lambda x, y, w: w.__setitem__(9, -1),
            ValueError,
            "weight[9] is -1; weights must be finite and not negative",
        ),
        (
            lambda x, y, w: x.__setitem__((slice(None), 2), np.linspace(-1, 1, 23) * 1e100),
            OverflowError,
            "the sums of x overflow float64; rescale feature 2",
        ),
        (
            lambda x, y, w: x.__setitem__((slice(None), 2), np.linspace(-1, 1, 23) * 1e308),
            OverflowError,
            "the sums of x overflow float64; rescale feature 2",
        ),
    ],
    ids=["x", "y", "weight", "overflow", "great overflow"],
)
def test_bad_rows_are_named(kernels_and_arrays, spoil, error, message):
    host = labelled(real, True)
    columns = host.x.copy(), host.y.copy(), host.weight.copy()
    spoil(*columns)
    batch = kernels_and_arrays.batch(Batch(*columns, start=2, stop=20))
    with pytest.raises(error) as caught:
        kernels_and_arrays.kernels.quartic_moments(batch, CLASSES, MEAN)
    assert str(caught.value) == message


def test_means_must_fit(kernels_and_arrays):
    batch, kernels = kernels_and_arrays.batch(labelled(real, False)), kernels_and_arrays.kernels
    with pytest.raises(ValueError, match=r"^mean must have shape \(3, 4\); got \(3, 2\)$"):
        kernels.quartic_moments(batch, CLASSES, MEAN[:, :2])
    with pytest.raises(ValueError, match=r"^mean\[1, 2\] is nan; it must be finite$"):
        kernels.quartic_moments(batch, CLASSES, np.where(np.arange(12).reshape(3, 4) == 6, np.nan, MEAN))
    with pytest.raises(ValueError, match=r"^y is needed: it says which of the 3 classes"):
        kernels.quartic_moments(replace(batch, y=None), CLASSES, MEAN)


@for_each("layout", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@maybe_weighted
def test_native_blocks_of_five_rows(layout, weighted):
    host = replace(labelled(counts, weighted), start=1, stop=22)
    cubes, quartic = quartic_moments(replace(host, x=layout(host.x)), MEAN, block_bytes=8 * FEATURES * 5)
    expected = oracle.quartic_moments(host, CLASSES, MEAN)
    np.testing.assert_allclose(cubes, expected[0], rtol=1e-12)
    np.testing.assert_allclose(quartic, expected[1], rtol=1e-13)


def test_broken_sparse_rows_are_refused():
    x = sparse.csr_array(np.eye(3))
    x.indices = np.array([0, 9, 2])
    with pytest.raises(ValueError, match="broken"):
        NativeKernels().quartic_moments(Batch(x), 1, np.zeros((1, 3)))

"""Array kernels: devices, columns of other libraries, bounded memory."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from suffice.families.response import Response
from suffice.kernels.array_blocks import to_host
from suffice.kernels.array_kernels import ArrayKernels
from suffice.kernels.engine import Batch
from tests.requirements import require_module

rng = np.random.default_rng(0)
X, Y, WEIGHT = rng.normal(size=(30, 4)), rng.integers(0, 3, size=30), rng.gamma(1.0, size=30)
HOST = Batch(X, Y, WEIGHT)
FULL = ArrayKernels().full_moments(HOST, 3)


def agrees(batch: Batch) -> None:
    for seen, expected in zip(ArrayKernels(block_rows=7).full_moments(batch, 3), FULL, strict=True):
        np.testing.assert_allclose(seen, expected, rtol=1e-12, atol=1e-12)


def test_sparse_rows_are_sent_to_the_engine_that_sums_them():
    message = r"^ArrayEngine sums dense arrays; x is a scipy csr_array: use ThreadEngine, or x\.toarray\(\)$"
    with pytest.raises(TypeError, match=message):
        ArrayKernels().event_counts(Batch(sparse.csr_array(np.eye(3))), 1)


@pytest.mark.parametrize("name", ["x", "y", "weight"])
def test_what_follows_no_array_api_is_refused(name):
    class Table:
        shape = (30, 4) if name == "x" else (30,)

    message = f"^{name} must be an array of a library that follows the array API; got Table$"
    with pytest.raises(TypeError, match=message):
        ArrayKernels().diagonal_moments(replace(HOST, **{name: Table()}), 3)


@pytest.mark.parametrize("dtype", ["U3", "O", "datetime64[s]"])
def test_what_is_no_number_is_refused(dtype):
    x = np.zeros((2, 1), dtype=dtype)
    with pytest.raises(TypeError, match=r"^x must hold real numbers; got "):
        ArrayKernels().event_counts(Batch(x), 1)


def test_a_block_has_at_least_one_row():
    with pytest.raises(ValueError, match=r"^block_rows must be at least 1; got 0$"):
        ArrayKernels(block_rows=0)


@pytest.fixture
def strict():
    import array_api_strict

    return array_api_strict


@pytest.fixture
def torch():
    return require_module("torch")


class TestStrictDevices:
    def test_rows_stay_on_their_device_and_sums_come_to_the_host(self, strict):
        there = strict.Device("device1")
        x = strict.asarray(X, device=there)
        agrees(Batch(x, Y, WEIGHT))
        agrees(Batch(x, strict.asarray(Y), strict.asarray(WEIGHT, device=there)))
        gaps = np.where(X > 1, np.nan, X)
        plain = ArrayKernels(7).diagonal_moments(Batch(gaps, Y, WEIGHT), 3, True)
        for one, two in zip(
            ArrayKernels(7).diagonal_moments(Batch(strict.asarray(gaps, device=there), Y, WEIGHT), 3, True),
            plain,
            strict=True,
        ):
            np.testing.assert_allclose(one, two, rtol=1e-14)
        scores = ArrayKernels(7).linear_scores(Batch(x), np.eye(4), np.zeros(4))
        assert scores.device == there
        np.testing.assert_array_equal(to_host(scores), X)

    def test_a_device_without_float64_is_refused_by_name(self, strict):
        x = strict.asarray(X.astype(np.float32), device=strict.Device("no_float64"))
        with pytest.raises(TypeError, match=r"float64, which device .*no_float64.* does not offer"):
            ArrayKernels().diagonal_moments(Batch(x), 1)


class TestTorch:
    def test_strided_and_transposed_views(self, torch):
        x = torch.asarray(X)
        wide = torch.repeat_interleave(torch.repeat_interleave(x, 2, dim=0), 3, dim=1)
        agrees(Batch(wide[::2, ::3], Y, WEIGHT))
        agrees(Batch(torch.asarray(X.T.copy()).T, Y, WEIGHT))

    def test_rows_that_track_gradients(self, torch):
        agrees(Batch(torch.asarray(X).requires_grad_(), Y, WEIGHT))

    def test_half_precision_is_summed_in_float64(self, torch):
        x = torch.full((3000, 1), 1.0, dtype=torch.bfloat16)
        assert ArrayKernels().event_counts(Batch(x), 1)[1] == 3000

    def test_codes_beyond_int64_are_named_as_they_are(self, torch):
        y = torch.asarray(np.array([0, 2**64 - 1], dtype=np.uint64))
        with pytest.raises(ValueError, match=r"^y\[1\] is 18446744073709551615; class codes must be 0 to 1$"):
            ArrayKernels().class_weights(Batch(torch.zeros((2, 1)), y), 2)

    def test_columns_of_another_library(self, torch):
        agrees(Batch(X, torch.asarray(Y), torch.asarray(WEIGHT)))

    def test_host_columns_of_any_layout(self, torch):
        y, weight = np.ascontiguousarray(Y[::-1])[::-1], WEIGHT.astype(">f8")
        weight.flags.writeable = False
        agrees(Batch(torch.asarray(X), y, weight))


@pytest.mark.parametrize(
    "odd",
    [lambda x: x.astype(">f8"), np.asmatrix, lambda x: x.astype(np.longdouble)],
    ids=["swapped bytes", "matrix", "longdouble"],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_odd_numpy_arrays(odd):
    agrees(Batch(odd(X), Y, WEIGHT))


def test_a_row_of_weight_0_may_be_impossible():
    """A mean that a family cannot have gives the value -inf, which counts for nothing where nothing counts."""
    batch = Batch(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0]), np.array([1.0, 0.0]))
    _, value, _, _ = ArrayKernels().curvature(batch, Response.of("poisson", "identity"), np.ones((1, 1)), False, True)
    assert value == -1


def test_memory_is_bounded_by_the_block():
    n, d = 60_000, 10
    batch = Batch(np.ones((n, d), dtype=np.float32), np.zeros(n, dtype=np.int32), np.ones(n, dtype=np.float32), None)
    gaps = replace(batch, x=np.where(np.arange(n)[:, None] % 3, batch.x, np.float32(np.nan)))
    kernels = ArrayKernels(block_rows=500)
    asked = [
        lambda: kernels.class_weights(batch, 5),
        lambda: kernels.event_counts(batch, 5),
        lambda: kernels.presence_counts(batch, 5, 0.5),
        lambda: kernels.category_counts(batch, 5, (2,) * d),
        lambda: kernels.diagonal_moments(batch, 5),
        lambda: kernels.event_counts(gaps, 5, True),
        lambda: kernels.presence_counts(gaps, 5, 0.5, True),
        lambda: kernels.diagonal_moments(gaps, 5, True),
        lambda: kernels.full_moments(batch, 5),
        lambda: kernels.tied_moments(batch, 5),
        lambda: kernels.quartic_moments(batch, 5, np.zeros((5, d))),
        lambda: kernels.normal_equations(batch),
        lambda: kernels.curvature(batch, Response.of("poisson"), np.zeros((d, 1)), False, True),
    ]
    for question in asked:
        tracemalloc.start()
        question()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < batch.x.nbytes / 4

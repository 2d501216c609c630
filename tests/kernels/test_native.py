"""Native code: instruction sets, broken sparse matrices, unusual memory layouts, elementary functions."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, log_expit

import suffice
from suffice import _native
from suffice.families import Response
from suffice.kernels import Batch
from suffice.kernels.native import NativeKernels

KERNELS = NativeKernels()


def at(response: str, predictor: float, y: float) -> tuple[float, float, float]:
    """Return value, slope and curvature of one row without features: the elementary functions, laid bare."""
    batch = Batch(np.zeros((1, 0)), np.array([y]), offset=np.array([predictor]))
    _, value, gradient, hessian = KERNELS.curvature(
        batch, Response.of(*response.split("/")), np.zeros((1, 1)), True, True
    )
    return value, gradient[0, 0], hessian[0, 0]


def test_exponential_is_right_to_the_last_digits_everywhere(instruction_set):
    points = np.concatenate([np.linspace(-744, 709.7, 1500), np.linspace(-2, 2, 501), [0.0, 1e-300, -1e-20, 709.782]])
    found = np.array([-at("poisson/log", point, 0.0)[1] for point in points])
    np.testing.assert_allclose(found, np.exp(points), rtol=4.5e-16, atol=5e-324)
    assert at("poisson/log", 710.0, 1.0)[0] == -np.inf
    assert at("poisson/log", -1e308, 0.0) == (-0.0, -0.0, 0.0)


def test_logistic_curve_is_right_to_the_last_digits_everywhere(instruction_set):
    points = np.concatenate([np.linspace(-740, 740, 1001), np.linspace(-3, 3, 1001), [0.0, 1e-17, -1e-17, 36.7, -36.7]])
    found = np.array([at("bernoulli/logit", point, 1.0) for point in points])
    np.testing.assert_allclose(found[:, 0], log_expit(points), rtol=2e-15, atol=1e-323)
    np.testing.assert_allclose(found[:, 1], expit(-points), rtol=1e-15, atol=1.2e-16)
    e = np.exp(-np.abs(points))
    np.testing.assert_allclose(found[:, 2], e / (1 + e) ** 2, rtol=1e-15, atol=1e-322)


def test_every_instruction_set_gives_the_same_sums(instruction_set):
    rng = np.random.default_rng(0)
    for d in (1, 3, 8, 20, 63, 64, 65, 100):
        batch = Batch(rng.normal(size=(300, d)), rng.integers(0, 3, 300), rng.random(300))
        weights, mean, spread = KERNELS.full_moments(batch, 3)
        for code in range(3):
            x, w = batch.x[batch.y == code], batch.weight[batch.y == code]
            np.testing.assert_allclose(weights[code], w.sum(), rtol=1e-13)
            np.testing.assert_allclose(mean[code], w @ x / w.sum(), atol=1e-14)
            centred = x - w @ x / w.sum()
            np.testing.assert_allclose(spread[code], (centred * w[:, None]).T @ centred, atol=1e-12)


def test_every_instruction_set_skips_missing_cells(instruction_set):
    rng = np.random.default_rng(0)
    for d in (1, 3, 8, 20, 65):
        x, y, weight = rng.poisson(2.0, size=(3000, d)).astype(float), rng.integers(0, 3, 3000), rng.random(3000)
        x[rng.random(x.shape) < 0.2] = np.nan
        for form in (x, sp.csr_array(x)):
            batch = Batch(form, y, weight)
            _, events, known = KERNELS.event_counts(batch, 3, True)
            _, present, known_too = KERNELS.presence_counts(batch, 3, 1.0, True)
            _, mean, spread, cells = KERNELS.diagonal_moments(batch, 3, True)
            for code in range(3):
                w = np.where(np.isnan(x[y == code]), 0.0, weight[y == code][:, None])
                values = np.nan_to_num(x[y == code])
                for found in (known, known_too, cells):
                    np.testing.assert_allclose(found[code], w.sum(axis=0), rtol=1e-12)
                np.testing.assert_allclose(events[code], (w * values).sum(axis=0), rtol=1e-12)
                np.testing.assert_allclose(present[code], (w * (values > 1)).sum(axis=0), rtol=1e-12)
                centre = (w * values).sum(axis=0) / w.sum(axis=0)
                np.testing.assert_allclose(mean[code], centre, rtol=1e-12)
                np.testing.assert_allclose(spread[code], (w * (values - centre) ** 2).sum(axis=0), rtol=1e-12)


def test_an_unknown_instruction_set_is_refused():
    with pytest.raises(ValueError, match="this machine does not run abacus"):
        _native.use("abacus")


def csr(**parts: object) -> Batch:
    x = sp.csr_matrix(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]))
    for name, value in parts.items():
        setattr(x, name, value)
    return Batch(x, np.array([0, 1]))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"indices": np.array([0, 9, 1], dtype=np.int32)}, r"x.indices\[1\] is 9, which is out of range"),
        ({"indices": np.array([0, 2, -1], dtype=np.int32)}, r"x.indices\[2\] is -1, which is out of range"),
        ({"indptr": np.array([0, 2, 900], dtype=np.int32)}, r"x.indptr\[2\] is 900, which is out of range"),
        ({"indptr": np.array([0, -2, 3], dtype=np.int32)}, r"x.indptr\[1\] is -2, which is out of range"),
        ({"indptr": np.array([0, 2], dtype=np.int32)}, r"x.indptr has 2 entries for 2 rows"),
        ({"data": np.array([1.0, np.nan, 1.0])}, r"x\[0, 2\] is nan; it must be finite"),
        ({"data": np.array([1.0, 2.0])}, r"x.indptr\[2\] is 3, which is out of range"),
    ],
)
@pytest.mark.parametrize("kernel", ["event_counts", "diagonal_moments", "tied_moments", "full_moments"])
def test_a_broken_csr_matrix_is_an_error(kernel, parts, message):
    with pytest.raises(ValueError, match=message):
        getattr(KERNELS, kernel)(csr(**parts), 2)


def test_columns_stored_twice_or_out_of_order_mean_their_sum():
    x = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    batch, dense = Batch(x), Batch(x.toarray())
    for kernel in ("event_counts", "diagonal_moments", "tied_moments"):
        for one, two in zip(getattr(KERNELS, kernel)(batch, 1), getattr(KERNELS, kernel)(dense, 1), strict=True):
            assert np.array_equal(one, two)
    assert np.array_equal(KERNELS.presence_counts(batch, 1, 0.5)[1], [[1, 0, 1]])
    assert not x.has_sorted_indices  # the user's matrix is as it was


def test_a_cell_stored_twice_is_missing_once():
    x = sp.csr_matrix((np.array([np.nan, 2.0, 4.0, np.nan, np.nan]), np.array([2, 0, 2, 1, 1]), np.array([0, 3, 5])))
    for kernel, more in (("event_counts", ()), ("presence_counts", (0.5,)), ("diagonal_moments", ())):
        sparse, dense = (getattr(KERNELS, kernel)(Batch(form), 1, *more, True) for form in (x, x.toarray()))
        for one, two in zip(sparse, dense, strict=True):
            assert np.array_equal(one, two)
        assert sparse[-1].tolist() == [[2, 1, 1]]


def test_a_known_cell_keeps_its_digits_beside_heavy_rows_that_miss_it():
    rng = np.random.default_rng(0)
    x = np.full((2000, 2), np.nan)
    x[::500] = [[3.0, 1e8 + 1], [5.0, 1e8 + 2], [5.0, 1e8 + 2], [3.0, 1e8 + 3]]
    weight = np.where(np.isnan(x[:, 0]), 1e6 * rng.random(2000), 0.1)
    for form in (x, sp.csr_array(x)):
        for kernel, more in (("event_counts", ()), ("presence_counts", (4.0,)), ("diagonal_moments", ())):
            *_, cells = getattr(KERNELS, kernel)(Batch(form, weight=weight), 1, *more, True)
            np.testing.assert_allclose(cells, [[0.4, 0.4]], rtol=1e-12)
        _, mean, spread, _ = KERNELS.diagonal_moments(Batch(form, weight=weight), 1, True)
        np.testing.assert_allclose(mean, [[4.0, 1e8 + 2]], rtol=1e-15)
        np.testing.assert_allclose(spread, [[0.4, 0.2]], rtol=1e-12)


def test_weights_that_round_leave_no_zeros_between_stored_values():
    rng = np.random.default_rng(0)
    x, weight = 1e8 + rng.normal(size=(200_000, 2)), rng.random(200_000)  # more values than lie between two folds
    _, mean, spread = KERNELS.diagonal_moments(Batch(sp.csr_array(x), weight=weight), 1)
    centre = weight @ (x - 1e8) / weight.sum()
    np.testing.assert_allclose(mean[0], 1e8 + centre, rtol=1e-15)
    np.testing.assert_allclose(spread[0], weight @ (x - 1e8 - centre) ** 2, rtol=1e-9)


@pytest.mark.parametrize("threshold", [-1.5, -0.5, 0.0, 1.0])
def test_presence_of_what_is_not_stored_follows_the_threshold(threshold):
    x = np.array([[0.0, -1.0, 2.0], [0.0, 0.0, 1.0], [-2.0, 3.0, 0.0]])
    y = np.array([0, 1, 1])
    sparse, dense = (KERNELS.presence_counts(Batch(form, y), 2, threshold)[1] for form in (sp.csr_array(x), x))
    assert np.array_equal(sparse, dense)
    assert np.array_equal(dense[1], (x[1:] > threshold).sum(axis=0))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize(
    "dtype", [np.float64, np.float32, np.int64, np.int32, np.int16, np.int8, np.uint8, bool, ">f8"]
)
def test_every_csr_type_is_read(index, dtype):
    x = sp.csr_matrix(np.array([[1, 0, 1], [0, 1, 0]]))
    x = sp.csr_matrix((x.data.astype(dtype), x.indices.astype(index), x.indptr.astype(index)), shape=x.shape)
    assert np.array_equal(KERNELS.event_counts(Batch(x), 1)[1], [[1, 1, 1]])


def odd_memory() -> dict[str, np.ndarray]:
    base = np.arange(24.0).reshape(4, 6)
    packed = np.zeros(4, dtype=[("flag", "i1"), ("values", "f8", 3)])
    packed["values"] = base[:, :3]
    frozen = base.copy()
    frozen.flags.writeable = False
    shifted = np.frombuffer(b"\0" + base.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(4, 6)
    return {
        "Fortran order": np.asfortranarray(base),
        "every second column": base[:, ::2],
        "rows from last to first": base[::-1],
        "columns from last to first": base[:, ::-1],
        "transposed": base.T,
        "one row seen four times": np.broadcast_to(base[0], (4, 6)),
        "read-only": frozen,
        "a field of a packed record": packed["values"],
        "not aligned": shifted,
        "the other byte order": base.astype(">f8"),
        "half precision": base.astype(np.float16),
        "long double": base.astype(np.longdouble),
        "no columns": base[:, :0],
        "no rows": base[:0],
    }


@pytest.mark.parametrize("name", odd_memory())
def test_any_memory_is_read_as_it_lies(name):
    x = odd_memory()[name]
    y = np.arange(len(x)) % 2
    plain = np.ascontiguousarray(x, dtype=np.float64)
    for kernel in ("event_counts", "diagonal_moments", "tied_moments", "full_moments"):
        found, expected = (getattr(KERNELS, kernel)(Batch(form, y), 2) for form in (x, plain))
        for one, two in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-14, atol=1e-12)
    coef = np.ones((2, x.shape[1]))
    np.testing.assert_allclose(KERNELS.linear_scores(Batch(x), coef, np.zeros(2)), plain @ coef.T, rtol=1e-14)


def test_other_arrays_are_sent_to_the_right_engine():
    with pytest.raises(TypeError, match=r"x is a scipy csc_matrix: use x.tocsr\(\)"):
        KERNELS.event_counts(Batch(sp.csc_matrix(np.ones((2, 2)))), 1)
    import array_api_strict as strict

    with pytest.raises(TypeError, match=r"use ArrayEngine, or numpy.asarray\(x\)"):
        KERNELS.event_counts(Batch(strict.ones((2, 2))), 1)


def test_a_response_that_is_not_compiled_works_on_dense_and_sparse_rows():
    rng = np.random.default_rng(0)
    x = rng.poisson(0.5, (500, 4)).astype(float)
    y = rng.integers(0, 2, 500).astype(float)
    probit, theta = Response.of("bernoulli", "probit"), rng.normal(size=(5, 1)) / 5
    dense, sparse = (KERNELS.curvature(Batch(form, y), probit, theta, True, True) for form in (x, sp.csr_array(x)))
    for one, two in zip(dense, sparse, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-10)
    y[400] = np.nan
    with pytest.raises(ValueError, match=r"y\[400\] is nan"):
        KERNELS.curvature(Batch(sp.csr_array(x), y, start=300), probit, theta, True, True)


def test_the_stub_declares_every_name_of_the_native_module():
    stub = ast.parse((Path(suffice.__file__).parent / "_native.pyi").read_text())
    declared = {node.name for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert declared == {name for name in dir(_native) if not name.startswith("_")}

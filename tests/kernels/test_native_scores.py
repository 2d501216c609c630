"""Native scores: instruction sets, sparse matrices, memory, the interpreter lock."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from suffice.kernels import Batch, ThreadEngine
from suffice.kernels.inputs import JOINT, Reading
from suffice.kernels.native import NativeKernels

from . import oracle_scores
from .test_scores import KERNELS, NAN, READINGS, agree, features_of, parameters

NATIVE = NativeKernels()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("features", "classes"), [(1, 33), (3, 9), (4, 5), (11, 4), (20, 3), (64, 1), (67, 2)])
def test_every_instruction_set_gives_the_same_scores(instruction_set, kernel, features, classes):
    rng = np.random.default_rng(features)
    x, model = features_of(kernel, 130, features, rng), parameters(kernel, features, classes, rng)
    expected = getattr(oracle_scores, kernel)(Batch(x), *model)
    for form in (x, sp.csr_array(x)):
        agree(getattr(NATIVE, kernel)(Batch(form), *model), expected)


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: f"{reading.what}, {reading.temperature}")
def test_every_instruction_set_reads_scores_alike(instruction_set, reading):
    rng = np.random.default_rng(0)
    for classes in (1, 2, 3, 300):
        scores = rng.normal(size=(130, classes)) * rng.choice([1.0, 30.0, 1e6], size=(130, 1))
        scores[rng.random(scores.shape) < 0.1] = -np.inf
        agree(NATIVE.read_scores(scores, reading), oracle_scores.read_scores(scores, reading))


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "missing"])
def test_every_instruction_set_treats_missing_cells_alike(instruction_set, gaps):
    rng = np.random.default_rng(1)
    x = np.where(rng.random((130, 40)) < 0.4, rng.normal(size=(130, 40)), 0)
    if gaps:
        x[rng.random(x.shape) < 0.1] = NAN
    coef, missing, intercept = rng.normal(size=(3, 40)), rng.normal(size=(3, 40)), rng.normal(size=3)
    for form in (x, sp.csr_array(x)):
        for threshold in (None, 0.3, -0.3):
            asked = JOINT, threshold, missing
            agree(
                NATIVE.linear_scores(Batch(form), coef, intercept, *asked),
                oracle_scores.linear_scores(Batch(x), coef, intercept, *asked),
            )
        agree(
            NATIVE.diagonal_scores(Batch(form), coef, missing**2 + 0.1, intercept),
            oracle_scores.diagonal_scores(Batch(x), coef, missing**2 + 0.1, intercept),
        )


@pytest.mark.parametrize("kernel", ["linear_scores", "diagonal_scores"])
def test_a_row_scores_the_same_whatever_its_neighbours_lack(kernel):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(64, 70))
    holed = x.copy()
    holed[::2, 1::3] = NAN
    model = parameters(kernel, 70, 3, rng)
    more = {"missing": model[0]} if kernel == "linear_scores" else {}
    whole, parted = (getattr(NATIVE, kernel)(Batch(form), *model, **more) for form in (x, holed))
    assert np.array_equal(whole[1::2], parted[1::2])


def test_the_whole_range_of_the_evidence(instruction_set):
    """log(1 + u) for u from 0 to 999, beside the exact sum of a thousand equal or falling terms."""
    for classes in (1, 2, 3, 5, 64, 1000):
        scores = np.zeros((classes, classes))
        scores[np.triu_indices(classes, 1)] = -np.inf  # row r has r + 1 terms
        found = NATIVE.read_scores(scores, Reading("evidence"))
        np.testing.assert_allclose(found, np.log(np.arange(1, classes + 1)), rtol=4e-16)
    small = np.linspace(-80, 0, 500)
    found = NATIVE.read_scores(np.stack([np.zeros(500), small], axis=1), Reading("evidence"))
    np.testing.assert_allclose(found, np.log1p(np.exp(small)), rtol=1e-15)


def test_columns_stored_twice_or_out_of_order_mean_their_sum():
    x = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    rng = np.random.default_rng(3)
    for threshold in (None, 4.5, -0.5):
        for missing in (None, np.ones((2, 3))):
            model = *parameters("linear_scores", 3, 2, rng), JOINT, threshold, missing
            agree(NATIVE.linear_scores(Batch(x), *model), NATIVE.linear_scores(Batch(x.toarray()), *model))
    for kernel in ("diagonal_scores", "quadratic_scores"):
        model = parameters(kernel, 3, 2, rng)
        agree(getattr(NATIVE, kernel)(Batch(x), *model), getattr(NATIVE, kernel)(Batch(x.toarray()), *model))
    codes, tables = sp.csr_matrix(x, dtype=np.int32), rng.normal(size=(12, 2))
    asked = tables, (3, 3, 6), np.zeros(2)
    agree(NATIVE.category_scores(Batch(codes), *asked), NATIVE.category_scores(Batch(codes.toarray()), *asked))
    assert not x.has_sorted_indices  # the user's matrix is as it was


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"indices": np.array([0, 9, 1], dtype=np.int32)}, r"x.indices\[1\] is 9, which is out of range"),
        ({"indices": np.array([0, 2, -1], dtype=np.int32)}, r"x.indices\[2\] is -1, which is out of range"),
        ({"indptr": np.array([0, 2, 900], dtype=np.int32)}, r"x.indptr\[2\] is 900, which is out of range"),
        ({"data": np.array([1.0, 2.0])}, r"x.indptr\[2\] is 3, which is out of range"),
    ],
)
def test_a_broken_csr_matrix_is_an_error(kernel, parts, message):
    x = sp.csr_matrix(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    for name, value in parts.items():
        setattr(x, name, value)
    model = parameters(kernel, 3, 2, np.random.default_rng(0))
    with pytest.raises(ValueError, match=message):
        getattr(NATIVE, kernel)(Batch(x), *model)
    if kernel == "linear_scores":
        with pytest.raises(ValueError, match=message):
            NATIVE.linear_scores(Batch(x), *model, threshold=0.5)


@pytest.mark.parametrize("dtype", [np.float16, ">f8", np.longdouble])
@pytest.mark.parametrize("kernel", KERNELS)
def test_odd_types_are_converted_and_named_by_their_own_rows(kernel, dtype):
    rng = np.random.default_rng(4)
    x = np.rint(features_of(kernel, 90, 3, rng)).astype(dtype)
    model = parameters(kernel, 3, 2, rng)
    asked = (Batch(form, start=30, stop=80) for form in (x, x.astype(float)))
    agree(*(getattr(NATIVE, kernel)(batch, *model) for batch in asked))
    x[50, 1] = np.inf
    with pytest.raises(ValueError, match=r"^x\[50, 1\] is inf; "):
        getattr(NATIVE, kernel)(Batch(x, start=30, stop=80), *model)


def test_scores_to_be_read_may_lie_anyhow():
    scores = np.random.default_rng(5).normal(size=(130, 6))
    expected = NATIVE.read_scores(scores, Reading("posterior"))
    wide = np.repeat(scores, 2, axis=1)[:, ::2]
    shifted = np.frombuffer(b"\0" + scores.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(130, 6)
    for form in (np.asfortranarray(scores), wide, shifted, scores.astype(">f8"), scores[::-1][::-1]):
        assert np.array_equal(NATIVE.read_scores(form, Reading("posterior")), expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_threads_score_the_rows_in_their_order(kernel):
    rng = np.random.default_rng(6)
    batch = Batch(features_of(kernel, 20_000, 6, rng))
    model = *parameters(kernel, 6, 3, rng), Reading("posterior")
    parts = ThreadEngine(3).map(lambda part, kernels: getattr(kernels, kernel)(part, *model), batch)
    assert np.array_equal(np.concatenate(list(parts)), getattr(NATIVE, kernel)(batch, *model))

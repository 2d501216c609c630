"""Rows of the host that are brought to a device: the sums, the scores and the errors of rows that lie there already."""

import copy
import gc
import pickle
from dataclasses import replace

import numpy as np
import pytest

from suffice.families.response import Response
from suffice.kernels import ArrayEngine, Batch, staging
from suffice.kernels.array_blocks import to_host
from suffice.statistics import Curvature, DiagonalMoments, Labels, NormalEquations, TiedMoments
from tests.requirements import require, require_module

torch = require_module("torch")

LABELS = Labels.of([0, 1, 2])

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(1500, 6)).astype(np.float32), rng.integers(0, 3, 1500)
WEIGHT = rng.gamma(1.0, size=1500)
HOST = Batch(X, Y, WEIGHT)


@pytest.fixture(params=["cpu", "cuda"])
def engine(monkeypatch, request):
    """An engine whose blocks hold 100 rows of six float32 numbers, or so."""
    if request.param == "cuda":
        require("cuda")
    staging.stager_for.cache_clear()
    monkeypatch.setattr(staging, "BLOCK_BYTES", 5_000)
    monkeypatch.setattr(staging, "PIECE_BYTES", 1000)
    yield ArrayEngine(device=request.param)
    staging.stager_for.cache_clear()


def agree(one, two):
    for name, array in one.to_arrays().items():
        if name not in ("bounds", "depth"):  # of rounding errors, which follow from how the rows are cut
            np.testing.assert_allclose(array, two.to_arrays()[name], rtol=1e-12, atol=1e-9, err_msg=name)


KINDS = {
    "NumPy": lambda array: array,
    "torch": torch.asarray,
    "Fortran": np.asfortranarray,
    "strided": lambda array: np.repeat(array, 2, axis=0)[::2],
    "read-only": lambda array: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape),
    "swapped bytes": lambda array: array.astype(array.dtype.newbyteorder(">")),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_sums_are_those_of_rows_that_stay(engine, kind):
    batch = Batch(*(kind(np.ascontiguousarray(array)) for array in (X, Y, WEIGHT)))
    for what in (DiagonalMoments.over(LABELS), TiedMoments.over(LABELS)):
        agree(engine.accumulate(what, batch), ArrayEngine().accumulate(what, HOST))
    part = replace(batch, start=377, stop=1001)
    agree(engine.accumulate(what, part), ArrayEngine().accumulate(what, replace(HOST, start=377, stop=1001)))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint16, np.uint64, np.bool_])
def test_numbers_of_any_type_are_sent_to_the_device(engine, dtype):
    x = (10 * np.abs(X)).astype(dtype)
    what = DiagonalMoments.over(LABELS)
    agree(engine.accumulate(what, Batch(x, Y.astype(np.uint32))), ArrayEngine().accumulate(what, Batch(x, Y)))


def test_rows_come_in_blocks(engine):
    heights = list(engine.map(lambda batch, kernels: batch.rows, HOST))
    assert sum(heights) == 1500
    assert len(heights) > 10


def test_a_stream_of_batches(engine):
    batches = [Batch(X[start : start + 400], Y[start : start + 400]) for start in range(0, 1500, 400)]
    what = TiedMoments.over(LABELS)
    agree(engine.accumulate(what, iter(batches)), ArrayEngine().accumulate(what, Batch(X, Y)))


def test_scores_come_back_as_the_rows_came(engine):
    coef = rng.normal(size=(3, 6))
    plain = X @ coef.T
    for x in (X, torch.asarray(X)):
        parts = list(engine.map(lambda batch, kernels: kernels.linear_scores(batch, coef, np.zeros(3)), Batch(x)))
        assert all(type(part) is type(x) for part in parts)
        np.testing.assert_allclose(np.concatenate([to_host(part) for part in parts]), plain, rtol=1e-5, atol=1e-5)


def test_bad_cells_are_named_as_the_caller_counts(engine):
    bad = X.copy()
    bad[1210, 4] = np.nan
    with pytest.raises(ValueError, match=r"^x\[1210, 4\] is nan; it must be finite") as caught:
        engine.accumulate(DiagonalMoments.over(LABELS), iter([HOST, Batch(bad, Y)]))
    assert caught.value.__notes__ == ["in batch 1, counted from 0"]
    with pytest.raises(ValueError, match=r"^y\[1499\] is 3; class codes must be 0 to 2"):
        engine.accumulate(DiagonalMoments.over(LABELS), Batch(X, np.append(Y[:-1], 3)))
    with pytest.raises(ValueError, match=r"^weight\[17\] is -1; weights must be finite and not negative"):
        engine.accumulate(DiagonalMoments.over(LABELS), Batch(X, Y, np.where(np.arange(1500) == 17, -1.0, 1.0)))
    agree(
        engine.accumulate(DiagonalMoments.over(LABELS), HOST),
        ArrayEngine().accumulate(DiagonalMoments.over(LABELS), HOST),
    )


def test_rows_that_are_read_again_stay_there(engine):
    response, y = Response.of("bernoulli"), (Y > 0).astype(np.float64)
    rows = Batch(X, y)
    for scale in (0.0, 0.1, 0.2, 0.3):
        what = Curvature.over(response, np.full((7, 1), scale), True, False)
        agree(engine.accumulate(what, rows), ArrayEngine().accumulate(what, Batch(X, y)))
    (kept,) = engine._kept.values()  # noqa: SLF001
    assert sum(part.host.rows for part in kept.parts) == 1500
    del rows
    gc.collect()
    assert not engine._kept  # noqa: SLF001


def test_rows_that_do_not_fit_on_the_device_are_sent_every_time(engine, monkeypatch):
    monkeypatch.setattr("suffice.kernels.arrays.WORKING_BYTES", 0)
    monkeypatch.setattr("suffice.kernels.memory.device_memory", lambda device: 40_000)
    what = NormalEquations.over()
    rows = Batch(X, WEIGHT)
    for _ in range(3):
        agree(engine.accumulate(what, rows), ArrayEngine().accumulate(what, Batch(X, WEIGHT)))
    (kept,) = engine._kept.values()  # noqa: SLF001
    assert 0 < sum(part.host.rows for part in kept.parts) < 1000


def test_a_map_that_is_closed_early_leaves_nothing_behind(engine):
    parts = engine.map(lambda batch, kernels: batch.rows, HOST)
    next(parts)
    parts.close()
    agree(engine.accumulate(TiedMoments.over(LABELS), HOST), ArrayEngine().accumulate(TiedMoments.over(LABELS), HOST))


def test_an_engine_is_copied_without_its_threads(engine):
    for twin in (copy.deepcopy(engine), pickle.loads(pickle.dumps(engine))):
        assert repr(twin) == repr(engine)
        agree(twin.accumulate(TiedMoments.over(LABELS), HOST), engine.accumulate(TiedMoments.over(LABELS), HOST))


def test_what_is_there_already_is_not_sent(engine):
    what = TiedMoments.over(LABELS)
    placed = Batch(*(torch.asarray(array, device=engine.device) for array in (X, Y, WEIGHT)))
    agree(engine.accumulate(what, placed), ArrayEngine().accumulate(what, HOST))
    assert engine.accumulate(what, Batch(X[:0], Y[:0])).weight == 0


@pytest.mark.parametrize("dtype", [np.float32, np.uint16, np.bool_])
def test_a_long_column_is_brought_whole(engine, dtype):
    column = (10 * np.abs(X[:, 0])).astype(dtype)
    for _ in range(2):
        there = staging.stager_for(engine.device).bring(column)
        np.testing.assert_array_equal(there.cpu().numpy(), column)


def test_numbers_that_no_device_takes_stay(engine):
    what, rows = DiagonalMoments.over(LABELS), torch.asarray(np.round(X))
    agree(
        engine.accumulate(what, Batch(rows.to(torch.bfloat16), Y)),
        ArrayEngine().accumulate(what, Batch(np.round(X), Y)),
    )
    weight = WEIGHT.astype(np.longdouble)
    agree(engine.accumulate(what, Batch(X, Y, weight)), ArrayEngine().accumulate(what, HOST))


@pytest.mark.parametrize("name", ["nowhere", 1.5])
def test_a_device_must_be_one(name):
    with pytest.raises(ValueError, match=r"^device must name a torch device, such as 'cuda'; got "):
        ArrayEngine(device=name)


@pytest.mark.needs("no cuda")
def test_a_device_must_be_there():
    with pytest.raises(ValueError, match=r"^device is 'cuda', and torch finds no CUDA device here: leave device out$"):
        ArrayEngine(device="cuda")

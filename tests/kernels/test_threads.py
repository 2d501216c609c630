"""ThreadEngine: order, errors, determinism, memory and the number of threads."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from suffice.kernels import ArrayEngine, Batch, ThreadEngine
from suffice.kernels.engine import _group_cores
from suffice.kernels.native import NativeKernels
from suffice.statistics import DiagonalMoments, EventCounts, Labels, Parts, TiedMoments

LABELS = Labels.of(["a", "b", "c"])
ENGINES = [ThreadEngine(1), ThreadEngine(2), ThreadEngine(5), ArrayEngine(), ArrayEngine(block_rows=100)]


def rows(n: int = 50_000, d: int = 6) -> Batch:  # more cells than one thread sums alone
    rng = np.random.default_rng(0)
    return Batch(rng.normal(5, 2, (n, d)), rng.integers(0, 3, n), rng.random(n))


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_engines_agree_on_one_batch_and_on_many(engine):
    batch = rows()
    expected = ThreadEngine(1).accumulate(TiedMoments.over(LABELS), batch)
    pieces = [
        Batch(batch.x[i : i + 999], batch.y[i : i + 999], batch.weight[i : i + 999]) for i in range(0, 50_000, 999)
    ]
    for batches in (batch, [batch], pieces, iter(pieces)):
        found = engine.accumulate(TiedMoments.over(LABELS), batches)
        np.testing.assert_allclose(found.weights, expected.weights, rtol=1e-12)
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-12)
        np.testing.assert_allclose(found.spread, expected.spread, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("engine", ENGINES, ids=repr)
def test_map_keeps_the_order_of_the_rows(engine):
    batches = [Batch(np.full((size, 8), float(number))) for number, size in enumerate((5, 30_000, 0, 7, 50_000, 1))]
    scores = engine.map(lambda batch, kernels: kernels.linear_scores(batch, np.ones((1, 8)), np.zeros(1)), batches)
    found = np.concatenate([np.asarray(part) for part in scores])[:, 0]
    assert np.array_equal(found, np.concatenate([batch.x[:, 0] * 8 for batch in batches]))


@pytest.mark.parametrize("kind", [TiedMoments, EventCounts, DiagonalMoments])
def test_any_number_of_threads_gives_the_same_bits(kind):
    """Of one batch, of several, of a stream, and of a batch that a thread of the engine sums by itself."""
    batch = rows(60_000)
    batch = replace(batch, x=np.abs(batch.x))
    assert len(batch.parts()) > 1
    small = replace(batch, stop=100)
    what = kind.over(LABELS)
    wanted = ThreadEngine(1).accumulate(what, batch)
    several = ThreadEngine(1).accumulate(what, [small, batch, small])
    for threads in (2, 3, 5, 7):
        engine = ThreadEngine(threads)
        assert engine.accumulate(what, batch) == wanted
        assert engine.accumulate(what, [small, batch, small]) == several
        assert engine.accumulate(what, iter([small, batch, small])) == several
        inside = engine.map(lambda part, kernels, engine=engine: engine.accumulate(what, batch), iter([batch]))
        assert all(found == wanted for found in inside)


def test_rows_are_cut_by_what_there_is_to_read_and_to_add():
    x = sp.csr_array((1000, 10**6))
    wide, tall = Batch(np.broadcast_to(0.0, (300, 3000))), Batch(np.broadcast_to(0.0, (10**6, 20)))
    parts = {
        "sparse rows without a value": len(Batch(x).parts()),
        "as many numbers to add as to read": len(wide.parts(TiedMoments.over().cost_of(wide))),
        "fewer": len(wide.parts(DiagonalMoments.over().cost_of(wide))),
        "many rows": len(tall.parts(TiedMoments.over().cost_of(tall))),
        "queries, each against many rows": len(Batch(np.zeros((10, 2)), work=10**6).parts()),
    }
    assert list(parts.values()) == [1, 1, 2, 8, 8]
    assert sum(part.rows for part in tall.parts()) == tall.rows


def test_several_statistics_cost_what_each_of_them_does():
    batch, each = rows(), [TiedMoments.over(LABELS), EventCounts.over(LABELS)]
    costs = [what.cost_of(batch) for what in each]
    assert Parts.over(each).cost_of(batch) == tuple(map(sum, zip(*costs, strict=True)))


def test_the_first_of_several_bad_rows_is_named():
    x = np.ones((10**6, 3))
    x[400_000::100_000, 1] = np.nan  # in every part but the first
    batch = Batch(x, np.zeros(len(x), dtype=int))
    for threads in (1, 2, 5):
        with pytest.raises(ValueError, match=r"x\[400000, 1\] is nan"):
            ThreadEngine(threads).accumulate(DiagonalMoments.over(LABELS), batch)


def test_ctrl_c_ends_a_sum_and_leaves_the_engine_usable():
    engine, batch, is_here = ThreadEngine(2), rows(400_000), threading.Event()

    def interrupted(part, kernels):
        if threading.current_thread() is threading.main_thread():
            is_here.set()
            raise KeyboardInterrupt
        is_here.wait()
        return kernels.class_weights(part, 3)

    with pytest.raises(KeyboardInterrupt):
        list(engine.map(interrupted, batch))
    assert engine.accumulate(TiedMoments.over(LABELS), batch) == ThreadEngine(1).accumulate(
        TiedMoments.over(LABELS), batch
    )


@pytest.mark.parametrize("engine", [ThreadEngine(2), ArrayEngine()], ids=repr)
def test_no_batches_is_an_error_and_empty_batches_are_not(engine):
    with pytest.raises(ValueError, match="no batches: there is nothing to sum"):
        engine.accumulate(DiagonalMoments.over(LABELS), [])
    empty = Batch(np.zeros((0, 3)), np.zeros(0, dtype=int))
    assert engine.accumulate(DiagonalMoments.over(LABELS), [empty, empty]).weight == 0


@pytest.mark.parametrize("engine", [ThreadEngine(2), ArrayEngine()], ids=repr)
@pytest.mark.parametrize("size", [10, 100_000])
def test_an_error_names_the_row_and_the_batch(engine, size):
    good = Batch(np.ones((size, 3)), np.zeros(size, dtype=int))
    spoiled = np.ones((size, 3))
    spoiled[size - 2, 1] = np.nan
    bad = Batch(spoiled, good.y)
    with pytest.raises(ValueError, match=rf"x\[{size - 2}, 1\] is nan; it must be finite") as caught:
        engine.accumulate(DiagonalMoments.over(LABELS), iter([good, good, bad, good]))
    assert caught.value.__notes__ == ["in batch 2, counted from 0"]


def test_a_generator_that_fails_is_not_swallowed():
    def broken():
        yield rows()
        raise OSError("the disk went away")

    with pytest.raises(OSError, match="the disk went away"):
        ThreadEngine(2).accumulate(DiagonalMoments.over(LABELS), broken())


def test_bad_numbers_of_threads():
    with pytest.raises(ValueError, match="threads must be at least 1; got 0"):
        ThreadEngine(0)
    assert ThreadEngine().threads >= 1


def test_engines_and_summaries_are_pickled():
    engine, what = pickle.loads(pickle.dumps((ThreadEngine(2), EventCounts.over(LABELS))))
    assert engine.threads == 2
    assert engine.accumulate(what, Batch(np.ones((3, 2)), np.arange(3))).weight == 3


def test_an_engine_may_be_used_inside_itself():
    engine = ThreadEngine(2)
    batch = rows()

    def nested(part, kernels):
        return engine.accumulate(TiedMoments.over(LABELS), part)

    found = engine.accumulate(nested, [batch, batch, batch])
    assert found.weight == pytest.approx(3 * batch.weight.sum())


def test_a_result_nobody_waits_for_leaves_the_engine_usable():
    engine, batch = ThreadEngine(2), rows()
    first = next(engine.map(TiedMoments.over(LABELS), (batch for _ in range(100))))
    assert first.weight > 0
    assert engine.accumulate(TiedMoments.over(LABELS), batch).weight == pytest.approx(batch.weight.sum())


def test_the_number_of_threads_may_change_between_sums(monkeypatch):
    engine, batch = ThreadEngine(), rows()
    for count in (2, 3, 2):
        monkeypatch.setattr("suffice.kernels.engine.permitted_threads", lambda count=count: count)
        assert engine.threads == count
        assert engine.accumulate(TiedMoments.over(LABELS), batch).weight == pytest.approx(batch.weight.sum())


@pytest.mark.parametrize(("text", "cores"), [("150000 100000\n", 2), ("max 100000\n", math.inf)])
def test_a_control_group_limits_the_threads(monkeypatch, text, cores):
    monkeypatch.setattr(Path, "read_text", lambda path: text)
    assert _group_cores.__wrapped__() == cores


@pytest.mark.needs("posix")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_starts_its_own_threads():
    engine, batch = ThreadEngine(2), rows()
    engine.accumulate(TiedMoments.over(LABELS), batch)
    child = os.fork()
    if child == 0:
        os._exit(0 if engine.accumulate(TiedMoments.over(LABELS), batch).weight > 0 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_other_threads_run_while_a_kernel_sums():
    """A thread gives up the interpreter's lock only where it says so, as the kernel must: its turn never ends here."""
    before = sys.getswitchinterval()
    batch = Batch(np.ones((100_000, 40)), np.zeros(100_000, dtype=int))
    summing, seen = False, 0

    def work():
        nonlocal summing
        for _ in range(100):
            summing = True
            NativeKernels().full_moments(batch, 1)
            summing = False
            if seen:
                return

    worker = threading.Thread(target=work)
    try:
        sys.setswitchinterval(3600)
        worker.start()
        while worker.is_alive():
            seen += summing
            time.sleep(1e-4)
    finally:
        sys.setswitchinterval(before)
        worker.join()
    assert seen


STREAM = """
import sys
import numpy as np
import scipy.sparse as sp
from suffice.kernels import ArrayEngine, Batch, ThreadEngine
from suffice.statistics import EventCounts, Labels, TiedMoments
from tests.peak_memory import peak_megabytes

engine = ThreadEngine(2) if sys.argv[1] == "threads" else ArrayEngine()
labels = Labels.of([0, 1])
x = np.random.default_rng(0).random((20_000, 50))  # 8 MB
x = sp.csr_matrix(x) if sys.argv[2] == "csr" else x
def batches(number):
    for _ in range(number):
        yield Batch(x.copy(), np.arange(20_000) % 2)
kind = EventCounts if sys.argv[2] == "csr" else TiedMoments
engine.accumulate(kind.over(labels), batches(4))
before = peak_megabytes()
total = engine.accumulate(kind.over(labels), batches(16))  # 128 MB pass through
assert total.weight == 16 * 20_000
print(peak_megabytes() - before)
"""


@pytest.mark.needs("posix")
@pytest.mark.parametrize(("engine", "layout"), [("threads", "dense"), ("threads", "csr"), ("arrays", "dense")])
def test_memory_is_bounded_by_the_batch(engine, layout):
    """128 MB stream through in batches of 8 MB: after four of them the peak of memory no longer rises by even three."""
    run = subprocess.run([sys.executable, "-c", STREAM, engine, layout], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 24, run.stdout


def test_sparse_rows_are_split_by_what_they_store():
    lengths = np.concatenate([np.full(10, 1000), np.full(990, 1)])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    x = sp.csr_matrix((np.ones(indptr[-1]), np.zeros(indptr[-1], dtype=int), indptr), shape=(1000, 3))
    parts = list(Batch(x).split(2))
    assert [(part.start, part.stop) for part in parts] == [(0, 6), (6, 1000)]
    assert [part.rows for part in Batch(sp.csr_matrix((7, 3))).split(3)] == [7]
    x.indptr[500] = -5  # broken: still every row in one part, for the kernel to complain about
    assert sum(part.rows for part in Batch(x).split(4)) == 1000


def test_sparse_and_dense_rows_give_the_same_sums():
    rng = np.random.default_rng(1)
    x = np.where(rng.random((5000, 30)) < 0.2, rng.integers(1, 9, (5000, 30)), 0).astype(float)
    y = rng.integers(0, 3, 5000)
    for kind in (EventCounts, TiedMoments, DiagonalMoments):
        dense, sparse = (ThreadEngine(2).accumulate(kind.over(LABELS), Batch(form, y)) for form in (x, sp.csr_array(x)))
        for name, array in dense.to_arrays().items():
            if name not in ("bounds", "depth"):  # of rounding errors
                np.testing.assert_allclose(sparse.to_arrays()[name], array, rtol=1e-12, atol=1e-9)


def sum_and_count() -> tuple[int, int]:
    """Sum many rows; return how many of our threads there are then, and how many the default allows."""
    from suffice.kernels.engine import permitted_threads

    ThreadEngine().accumulate(DiagonalMoments.over(LABELS), rows(200_000))
    ours = sum(thread.name.startswith("suffice") for thread in threading.enumerate())
    return ours, permitted_threads()


def test_workers_of_a_process_pool_start_no_more_threads_than_they_are_told() -> None:
    import joblib

    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(sum_and_count)() for _ in range(2))
    assert found == [(0, 1)] * 2
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)


def test_threads_are_bounded_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from suffice.kernels.engine import permitted_threads

    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(64)))
    monkeypatch.setattr("suffice.kernels.engine._group_cores", lambda: 16)
    monkeypatch.setattr("suffice.kernels.engine._openmp_libraries", lambda scikit_learn: ())
    for said, expected in [("", 16), ("3", 3), ("2,1", 2), ("100", 16), ("many", 16), ("0", 1)]:
        monkeypatch.setenv("OMP_NUM_THREADS", said)
        assert permitted_threads() == expected
        assert ThreadEngine().threads == expected
        assert ThreadEngine(40).threads == 40  # an explicit number wins
    copied = pickle.loads(pickle.dumps(ThreadEngine()))
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert copied.threads == 5  # a default stays one


def test_threadpool_limits_hold_for_our_threads() -> None:
    import sklearn.cluster  # noqa: F401  (loads OpenMP)
    import threadpoolctl

    from suffice.kernels.engine import permitted_threads

    with threadpoolctl.threadpool_limits(limits=1):
        assert permitted_threads() == 1
        batch = rows(200_000)
        one = ThreadEngine().accumulate(DiagonalMoments.over(LABELS), batch)
    assert one == ThreadEngine(1).accumulate(DiagonalMoments.over(LABELS), batch)

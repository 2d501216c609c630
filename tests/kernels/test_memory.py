"""Blocks are made smaller if memory runs out: the sums do not change."""

import numpy as np
import pytest

from suffice.families.bernoulli import Bernoulli
from suffice.families.links import logit
from suffice.families.response import Response
from suffice.kernels import ArrayEngine, Batch, staging
from suffice.kernels.array_kernels import ArrayKernels
from suffice.kernels.inputs import host_memory
from suffice.kernels.memory import out_of_memory
from suffice.kernels.neighbourhood import Neighbourhood
from suffice.statistics import DiagonalMoments, Labels, TiedMoments
from tests.requirements import require_module

torch = require_module("torch")

needs_cuda = pytest.mark.needs("cuda")

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(1000, 3)), rng.integers(0, 2, 1000)


class Greedy(Response):
    """A response that asks for more memory than there is where it sees more than a hundred rows."""

    error: type[Exception] = MemoryError

    def curve(self, predictor, y):
        if predictor.shape[0] > 100:
            raise self.error(f"no room for {predictor.shape[0]} rows")
        return super().curve(predictor, y)


@pytest.mark.parametrize("error", [MemoryError, torch.OutOfMemoryError])
def test_a_kernel_goes_on_in_smaller_blocks(error):
    greedy = type("Greedy", (Greedy,), {"error": error})(Bernoulli, logit)
    batch, theta = Batch(torch.asarray(X), torch.asarray(Y)), np.full((4, 1), 0.1)
    seen = ArrayKernels(400).curvature(batch, greedy, theta, True, True)
    expected = ArrayKernels().curvature(batch, Response.of("bernoulli"), theta, True, True)
    for ours, truth in zip(seen, expected, strict=True):
        np.testing.assert_allclose(ours, truth, rtol=1e-12)


def test_what_no_block_is_small_enough_for_is_said():
    greedy = Greedy(Bernoulli, logit)
    with pytest.raises(MemoryError, match="no room for 1000 rows"):
        ArrayKernels(share=2**20, block_rows=2**40).curvature(Batch(X, Y), greedy, np.zeros((3, 1)), False, False)


def test_other_errors_are_not_taken_for_it():
    assert not out_of_memory(RuntimeError("CUDA error: out of memory, they say"))
    assert out_of_memory(torch.cuda.OutOfMemoryError("no"))


def test_local_fits_go_on_in_smaller_blocks():
    rows, hood = Batch(X, X[:, 0] ** 2), Neighbourhood("gaussian", 1.0, 1)
    for kernels in (ArrayKernels(share=512), ArrayKernels(block_rows=50, share=2)):
        for ours, truth in zip(
            kernels.local_moments(Batch(X[:5]), rows, hood),
            ArrayKernels().local_moments(Batch(X[:5]), rows, hood),
            strict=True,
        ):
            np.testing.assert_allclose(ours, truth, rtol=1e-12)


def test_rows_for_a_device_without_room_are_sent_in_smaller_blocks(monkeypatch):
    send = staging.Stager._send  # noqa: SLF001

    def greedy(self, slot, name, rows, keep):
        if rows.nbytes > 2**17:
            raise torch.OutOfMemoryError("no room")
        return send(self, slot, name, rows, keep)

    staging.stager_for.cache_clear()
    monkeypatch.setattr(staging, "BLOCK_BYTES", 2**19)
    x = np.tile(X, (40, 1))
    monkeypatch.setattr(staging.Stager, "_send", greedy)
    ours, truth = (
        engine.accumulate(TiedMoments.over(), Batch(x)) for engine in (ArrayEngine(device="cpu"), ArrayEngine())
    )
    for name, array in ours.to_arrays().items():
        if name not in ("bounds", "depth"):  # of rounding errors, which follow from how the rows are cut
            np.testing.assert_allclose(array, truth.to_arrays()[name], rtol=1e-10, atol=1e-9)
    assert staging.stager_for("cpu").block_bytes <= 2**17
    monkeypatch.setattr(staging.Stager, "_send", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError("no room")))
    with pytest.raises(torch.OutOfMemoryError, match="no room"):
        ArrayEngine(device="cpu").accumulate(DiagonalMoments.over(), Batch(x))
    staging.stager_for.cache_clear()


def test_memory_that_a_system_does_not_tell_is_no_limit(monkeypatch):
    monkeypatch.delattr("os.sysconf")
    assert host_memory.__wrapped__() == 1 << 47


@needs_cuda
class TestCUDA:
    @pytest.fixture
    def small(self):
        """A device that gives a hundredth of its memory."""
        torch.cuda.empty_cache()
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(0.01)
        yield total // 100
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(1.0)

    def test_sums_are_taken_in_blocks_where_rows_fill_the_memory(self, small):
        rows = int(0.7 * small) // 40
        x = torch.ones((rows, 10), dtype=torch.int32, device="cuda")  # for integers there are no fused kernels
        weights, events = ArrayKernels().event_counts(Batch(x), 1)
        assert weights == rows
        assert np.all(events == rows)

    def test_rows_of_the_host_are_sent_in_smaller_blocks(self, small, monkeypatch):
        staging.stager_for.cache_clear()
        monkeypatch.setattr(staging, "BLOCK_BYTES", small)
        x = rng.normal(size=(small // 100, 40)).astype(np.float32)
        y = rng.integers(0, 2, len(x))
        engine, labels = ArrayEngine(device="cuda"), Labels.of([0, 1])
        for what in (DiagonalMoments.over(labels), TiedMoments.over(labels)):
            seen, truth = engine.accumulate(what, Batch(x, y)), ArrayEngine().accumulate(what, Batch(x, y))
            for name, array in seen.to_arrays().items():
                if name not in ("bounds", "depth"):
                    np.testing.assert_allclose(array, truth.to_arrays()[name], rtol=1e-10, atol=1e-6)
        assert staging.stager_for("cuda").block_bytes < small
        staging.stager_for.cache_clear()

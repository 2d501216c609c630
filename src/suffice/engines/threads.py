"""Threads on one machine: rows are split evenly, native kernels sum the parts, the parts are added in order."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from suffice.engines.base import Engine, named
from suffice.engines.batch import Batch
from suffice.engines.kernels import Kernels
from suffice.engines.native import NativeKernels

R = TypeVar("R")

#: A batch with fewer values to read than this is summed sooner than a thread is started.
_SMALL = 1 << 18


class ThreadEngine(Engine):
    """Sums NumPy arrays and scipy CSR matrices with native kernels in threads.

    The result is the same, to the last bit, for the same number of threads.

    Parameters
    ----------
    threads
        How many threads to use; as many as this process may run on by default.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.statistics import DiagonalMoments
    >>> rows = (Batch(np.full((2, 1), value)) for value in (1.0, 2.0, 3.0))
    >>> ThreadEngine().accumulate(DiagonalMoments.over(), rows).mean
    array([[2.]])
    """

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1; got {threads}")
        self.threads = threads or _cores()
        self.kernels: Kernels = NativeKernels()
        self._pool: ThreadPoolExecutor | None = None
        self._owner = 0

    def __repr__(self) -> str:
        return f"ThreadEngine(threads={self.threads})"

    def __reduce__(self) -> tuple[type[ThreadEngine], tuple[int]]:
        return ThreadEngine, (self.threads,)

    def _workers(self) -> ThreadPoolExecutor:
        """Return the engine's threads, which wait between calls; a forked process has to start its own."""
        if self._pool is None or self._owner != os.getpid():
            self._pool = ThreadPoolExecutor(self.threads, "suffice", initializer=_mark_worker)
            self._owner = os.getpid()
        return self._pool

    def _map(self, function: Callable[[Batch, Kernels], R], batches: Iterable[Batch]) -> Iterator[R]:
        pending: deque[Future[R]] = deque()
        lone = isinstance(batches, list) and len(batches) == 1
        alone = self.threads == 1 or hasattr(_here, "is_worker")  # a worker that waits for workers may wait for ever
        try:
            for number, batch in enumerate(batches):
                if alone or _size(batch) < _SMALL:
                    while pending:
                        yield pending.popleft().result()
                    yield named(function, batch, self.kernels, number)
                    continue
                parts = list(batch.split(self.threads))
                handed = parts[:-1] if lone else parts  # with nothing else to read, this thread takes its part too
                pending.extend(self._workers().submit(named, function, part, self.kernels, number) for part in handed)
                if lone:
                    pending.append(_finished(named(function, parts[-1], self.kernels, number)))
                # The next batch may be read while this one is summed, but no more than that are held.
                while len(pending) > len(parts):
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
            wait(pending)


def _finished(result: R) -> Future[R]:
    future: Future[R] = Future()
    future.set_result(result)
    return future


_here = threading.local()


def _mark_worker() -> None:
    _here.is_worker = True


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _size(batch: Batch) -> int:
    stored = getattr(batch.x, "nnz", None)
    return batch.work * (batch.rows * batch.features if stored is None else max(batch.rows, int(stored)))

"""Threads on one machine: rows are cut by size, native kernels sum the parts, the parts are added in order."""

from __future__ import annotations

import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from suffice.kernels.base import Engine, named
from suffice.kernels.batch import SMALL, Batch
from suffice.kernels.native import NativeKernels
from suffice.kernels.protocol import Kernels
from suffice.statistics.base import Summariser

R = TypeVar("R")


class ThreadEngine(Engine):
    """Sums NumPy arrays and scipy CSR matrices with native kernels in threads.

    The result has the same bits for any number of threads: where rows are cut depends on how many numbers there are to
    read and to add, and the sums of the parts are added in the order of the rows. Threads take one part after another.

    Parameters
    ----------
    threads
        How many threads to use. By default as many as :func:`permitted_threads` allows when rows are summed: one for
        each core that this process may run on, and no more than OMP_NUM_THREADS or a ``threadpool_limits`` of
        threadpoolctl.

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
        self._given = threads
        self.kernels: Kernels = NativeKernels()
        self._pool: ThreadPoolExecutor | None = None
        self._owner = (0, 0)  # the process whose threads wait, and how many they are at most
        self._changing = threading.Lock()

    @property
    def threads(self) -> int:
        """How many threads sum rows now."""
        return self._given or permitted_threads()

    def __repr__(self) -> str:
        return f"ThreadEngine(threads={self.threads})"

    def __reduce__(self) -> tuple[type[ThreadEngine], tuple[int | None]]:
        return ThreadEngine, (self._given,)

    def _submit(self, threads: int, function: Callable[..., R], *args: Any) -> Future[R]:
        """Hand work to the engine's threads, which wait between calls; a forked process has to start its own."""
        with self._changing:
            owner = (os.getpid(), threads)
            if self._pool is None or self._owner != owner:
                if self._pool is not None and self._owner[0] == owner[0]:
                    self._pool.shutdown(wait=False)  # what it was handed is still finished
                self._pool = ThreadPoolExecutor(threads, "suffice", initializer=_mark_worker)
                self._owner = owner
            return self._pool.submit(function, *args)

    def _map(self, function: Callable[[Batch, Kernels], R], batches: Iterable[Batch]) -> Iterator[R]:
        lone = isinstance(batches, list) and len(batches) == 1
        threads = 1 if hasattr(_here, "is_worker") else 0  # 0: not asked for yet. A worker must not wait for workers
        pending: deque[Future[R]] = deque()
        queue: deque[tuple[Future[R], Callable[[], R]]] = deque()
        try:
            for number, batch in enumerate(batches):
                is_small = batch.size < SMALL
                cost = function.cost_of(batch) if isinstance(function, Summariser) and not is_small else None
                parts = [batch] if is_small else batch.parts(cost)
                threads = threads if is_small else threads or self.threads
                if is_small or threads == 1 or (lone and len(parts) == 1):
                    while pending:
                        yield pending.popleft().result()
                    for part in parts:
                        yield named(function, part, self.kernels, number)
                    continue
                for part in parts:
                    pending.append(Future())
                    queue.append((pending[-1], partial(named, function, part, self.kernels, number)))
                for _ in range(min(len(parts), threads) - lone):  # with nothing else to read, this thread works too
                    self._submit(threads, _work_off, queue)
                # The next batch may be read while this one is summed, but no more than that are held.
                while len(pending) > (0 if lone else len(parts)):
                    if lone and not pending[0].done() and _work_next(queue):
                        continue
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
            _work_off(queue)  # of what was cancelled, this only tells those who wait
            wait(pending)


def _work_next(queue: deque[tuple[Future[R], Callable[[], R]]]) -> bool:
    """Do the work that waits longest, unless it was cancelled; return whether there was any."""
    try:
        future, work = queue.popleft()
    except IndexError:
        return False
    try:
        if future.set_running_or_notify_cancel():
            future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
        if not isinstance(error, Exception):  # Ctrl-C; an error is raised where the result is asked for, in order
            raise
    finally:
        del future, work  # the error's traceback holds this frame
    return True


def _work_off(queue: deque[tuple[Future[R], Callable[[], R]]]) -> None:
    while _work_next(queue):
        pass


_here = threading.local()


def _mark_worker() -> None:
    _here.is_worker = True


def permitted_threads() -> int:
    """Return how many threads may work at a time in this process, as seen from this thread.

    One for each core that the process may run on (its affinity, and the share of its control group), but no more than
    OMP_NUM_THREADS says, which process pools such as joblib's set in their workers, and than OpenMP may start, which
    ``threadpoolctl.threadpool_limits`` changes.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    said = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    limits = [int(said)] if said.isdecimal() else []
    limits.extend(library.num_threads for library in _openmp_libraries("sklearn" in sys.modules))
    return max(1, int(min([cores, _group_cores(), *limits])))


@cache
def _openmp_libraries(_scikit_learn: bool) -> tuple[Any, ...]:
    """Return the OpenMP libraries of this process. To find them takes milliseconds, to ask them a microsecond.

    scikit-learn brings its own: they are looked for again once it is there.
    """
    try:
        from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]
    except ImportError:
        return ()
    return tuple(ThreadpoolController().select(user_api="openmp").lib_controllers)


@cache
def _group_cores() -> float:
    """Return how many cores the control group of this process may use at a time, rounded up; infinity for any."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return math.ceil(int(quota) / int(period))
    except (OSError, ValueError):  # no such file, or "max"
        return math.inf

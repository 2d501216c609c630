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
from typing import Any, Generic, Self, TypeVar

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

    @property
    def n_jobs(self) -> int | None:
        """The number of threads that was given, if one was."""
        return self._given

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
        if isinstance(batches, list) and len(batches) == 1:
            return self._map_one(function, batches[0])
        return self._map_many(function, batches)

    def _map_one(self, function: Callable[[Batch, Kernels], R], batch: Batch) -> Iterator[R]:
        """Yield the results of the parts of a batch; with nothing else to read, this thread works too."""
        parts = _parts(function, batch)
        threads = 1 if len(parts) == 1 or hasattr(_here, "is_worker") else self.threads
        if threads == 1:  # a worker must not wait for workers
            for part in parts:
                yield named(function, part, self.kernels, 0)
            return
        with _Tasks[R]() as tasks:
            for part in parts:
                tasks.add(partial(named, function, part, self.kernels, 0))
            for _ in range(min(len(parts), threads) - 1):
                self._submit(threads, tasks.work)
            while tasks.pending:
                if tasks.pending[0].done() or not tasks.work_once():
                    yield tasks.pending.popleft().result()

    def _map_many(self, function: Callable[[Batch, Kernels], R], batches: Iterable[Batch]) -> Iterator[R]:
        threads = 1 if hasattr(_here, "is_worker") else 0  # not asked for yet
        with _Tasks[R]() as tasks:
            for number, batch in enumerate(batches):
                parts = _parts(function, batch)
                is_small = batch.size < SMALL
                threads = threads if is_small else threads or self.threads
                if is_small or threads == 1:
                    while tasks.pending:
                        yield tasks.pending.popleft().result()
                    for part in parts:
                        yield named(function, part, self.kernels, number)
                    continue
                for part in parts:
                    tasks.add(partial(named, function, part, self.kernels, number))
                    self._submit(threads, tasks.work)
                # The next batch may be read while this one is summed, but no more than that are held.
                while len(tasks.pending) > len(parts):
                    yield tasks.pending.popleft().result()
            while tasks.pending:
                yield tasks.pending.popleft().result()


def _parts(function: Callable[..., Any], batch: Batch) -> list[Batch]:
    """Return the parts that a function is applied to, one by one."""
    if batch.size < SMALL:
        return [batch]
    return batch.parts(function.cost_of(batch) if isinstance(function, Summariser) else None)


class _Tasks(Generic[R]):
    """Work that waits for a thread, and the results to come, in the order in which the work was added."""

    def __init__(self) -> None:
        self.pending: deque[Future[R]] = deque()
        self._queue: deque[tuple[Future[R], Callable[[], R]]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Cancel what no thread has begun, and wait for the rest."""
        for future in self.pending:
            future.cancel()
        self.work()  # of what was cancelled, this only tells those who wait
        wait(self.pending)

    def add(self, work: Callable[[], R]) -> None:
        """Add work, and its result to those that are pending."""
        self.pending.append(Future())
        self._queue.append((self.pending[-1], work))

    def work(self) -> None:
        """Work until nothing waits."""
        while self.work_once():
            pass

    def work_once(self) -> bool:
        """Do the work that waits longest, unless it was cancelled; return whether there was any."""
        try:
            future, work = self._queue.popleft()
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

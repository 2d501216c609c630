"""Engines: cut batches of rows into parts, run kernels over the parts in threads, add their statistics in order."""

from __future__ import annotations

import math
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar

import numpy as np

from suffice.kernels.libraries import is_foreign, joined
from suffice.kernels.protocol import Kernels
from suffice.statistics.base import Addable, Cost, Summariser

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

S = TypeVar("S", bound=Addable)
R = TypeVar("R")
A = TypeVar("A")

#: Fewer numbers than this are read sooner than two threads are brought to work on them.
SMALL = 1 << 18
#: Numbers that are read in the time that it takes to begin another part.
_PART = 1 << 18
#: Numbers that are read in the time in which one number of a part's result is allocated and added.
_ADDING = 16
#: Rows are cut into no more parts than this.
_MOST = 32


@dataclass(frozen=True)
class Batch:
    """Rows to be summed. Arrays stay where they are: a part of a batch is the same arrays with another row range.

    Parameters
    ----------
    x
        Features, (n, d): any array of the engine's library, or a scipy CSR matrix.
    y
        Class codes 0 to k - 1, (n,), for sums per class; targets, (n,) or (n, t), for regressions.
    weight
        One weight per row, (n,); every row counts once where it is None.
    offset
        A known part of the linear predictor, (n,) or (n, t); zero where it is None.
    trials
        The factor in ``weight`` that belongs to one observation, (n,), and is not a frequency: the
        trials that a target is the mean of, the weight of a class; 1 where it is None.
    groups
        The cluster of each row, (n,), by name, on the host: for clustered standard errors. Kernels do not read it.
    start, stop
        The rows that count; all of them by default.
    work
        How many numbers are read for each number of x: for queries against rows, the number of rows. Engines start
        threads where there is enough to do.

    Examples
    --------
    >>> import numpy as np
    >>> [(part.start, part.stop) for part in Batch(np.zeros((10, 2))).split(3)]
    [(0, 3), (3, 6), (6, 10)]
    """

    x: Any
    y: Any = None
    weight: Any = None
    offset: Any = None
    start: int = 0
    stop: int = -1
    work: int = 1
    trials: Any = None
    groups: Any = None
    rows: int = field(init=False, repr=False)  #: how many rows count
    features: int = field(init=False, repr=False)  #: how many features a row has

    def __post_init__(self) -> None:
        shape = getattr(self.x, "shape", None)
        if shape is None or len(shape) != 2:
            raise ValueError(f"x must be two-dimensional, rows by features; got {_seen(self.x)}")
        for name in ("y", "weight", "offset", "trials", "groups"):
            column = getattr(self, name)
            if column is None:
                continue
            seen = getattr(column, "shape", None)
            if seen is None or len(seen) not in ((1, 2) if name in ("y", "offset") else (1,)) or seen[0] != shape[0]:
                raise ValueError(f"{name} must have one entry per row of x, which has {shape[0]}; got {_seen(column)}")
        if self.stop == -1:
            object.__setattr__(self, "stop", shape[0])
        if not 0 <= self.start <= self.stop <= shape[0]:
            raise ValueError(f"rows {self.start} to {self.stop} are not among the {shape[0]} rows of x")
        object.__setattr__(self, "rows", self.stop - self.start)
        object.__setattr__(self, "features", int(shape[1]))

    @property
    def size(self) -> int:
        """How many numbers are read: those of all features, or those that CSR stores, times the work."""
        stored = getattr(self.x, "nnz", None)
        if stored is None:
            return self.work * self.rows * self.features
        return self.work * max(self.rows, int(stored) * self.rows // max(1, int(self.x.shape[0])))

    def parts(self, cost: Cost | None = None) -> list[Batch]:
        """Return the rows in the parts in which they are summed.

        Where rows are cut depends on their number and on the cost of their sum, not on the number of threads: the sum
        of the parts has the same bits for any. There are 1, 2, 4, 8, 16 or 32 parts, about the root of the work in
        units of what one more part costs, since the sums of the parts are added one by one.

        Parameters
        ----------
        cost
            Of the sum over all rows; by default that of reading them, with nothing to add.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.statistics.base import Cost
        >>> batch = Batch(np.zeros((500_000, 40), dtype=np.int8))
        >>> len(batch.parts()), len(batch.parts(Cost(batch.size, result=50_000)))
        (8, 4)
        """
        work, result = cost or (self.size, 0)
        adding = _ADDING * result
        if work < SMALL + adding:
            return [self]
        times = max(1, work // (_PART + adding))
        return list(self.split(min(_MOST, max(2, 1 << (times.bit_length() - 1) // 2))))

    def split(self, parts: int) -> Iterator[Batch]:
        """Yield the rows in ``parts`` consecutive ranges of nearly equal work, leaving out empty ones.

        Work is the number of rows, or of stored values where x is CSR.
        """
        for start, stop in pairwise(self._bounds(parts)):
            if stop > start:
                yield replace(self, start=start, stop=stop)

    def _bounds(self, parts: int) -> list[int]:
        ends = getattr(self.x, "indptr", None)
        if ends is None or len(ends) != self.x.shape[0] + 1:
            return [self.start + self.rows * part // parts for part in range(parts + 1)]
        ends = ends[self.start : self.stop + 1]
        shares = [int(ends[0]) + (int(ends[-1]) - int(ends[0])) * part // parts for part in range(1, parts)]
        inner = [self.start + int(cut) for cut in ends.searchsorted(shares)]
        # The indices of a broken matrix may fall: the cuts must not, so that every row is in one part.
        return sorted([self.start, *(min(cut, self.stop) for cut in inner), self.stop])


def _seen(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"a {type(value).__name__}, which is not an array" if shape is None else f"shape {tuple(shape)}"


class Engine(ABC):
    """Where batches live, and which kernels sum one of them. Models receive an engine and never ask which."""

    kernels: Kernels  #: what sums one batch, or a part of it

    @property
    def n_jobs(self) -> int | None:
        """The number of threads that was given, if one was."""
        return None

    def accumulate(self, summarise: Callable[[Batch, Kernels], S], batches: Batch | Iterable[Batch]) -> S:
        """Return the sum of the statistics of all batches.

        Parameters
        ----------
        summarise
            Turns rows into a statistic with the engine's kernels; ``SomeStatistic.over(...)`` makes one.
        batches
            One batch, or any number of them; they may come from a generator larger than memory.
        """
        total: S | None = None
        for statistic in self.map(summarise, batches):
            total = statistic if total is None else total + statistic
        if total is None:
            raise ValueError("no batches: there is nothing to sum")
        return total

    def map(self, function: Callable[[Batch, Kernels], R], batches: Batch | Iterable[Batch]) -> Iterator[R]:
        """Yield the results of a function of rows and kernels, in the order of the rows.

        An engine may cut a batch into parts and yield one result for each.
        """
        return self._map(function, [batches] if isinstance(batches, Batch) else batches)

    def map_rows(self, function: Callable[[Batch, Kernels], Any], batch: Batch) -> Any:
        """Return the results for the rows of a batch as one array of their library."""
        arrays = list(self.map(function, batch))
        return arrays[0] if len(arrays) == 1 else joined(arrays)

    def fold(self, function: Callable[[A, Batch, Kernels], A], state: A, batches: Batch | Iterable[Batch]) -> A:
        """Return the state after ``state = function(state, batch, kernels)``, batch by batch.

        For what must see rows one after another: no batch is split, and the next is read when one is done.

        Examples
        --------
        >>> import numpy as np
        >>> from suffice.kernels import ThreadEngine
        >>> batches = (Batch(np.zeros((rows, 1))) for rows in (2, 3))
        >>> ThreadEngine().fold(lambda seen, batch, kernels: [*seen, batch.rows], [], batches)
        [2, 3]
        """
        for number, batch in enumerate([batches] if isinstance(batches, Batch) else batches):
            state = named(partial(function, state), batch, self.kernels, number)
        return state

    @abstractmethod
    def _map(self, function: Callable[[Batch, Kernels], R], batches: Iterable[Batch]) -> Iterator[R]:
        """Yield the results in order, holding no more batches at a time than are being worked on."""


def named(function: Callable[[Batch, Kernels], R], batch: Batch, kernels: Kernels, number: int) -> R:
    """Return function(batch, kernels), adding the batch's number to an error."""
    try:
        return function(batch, kernels)
    except Exception as error:
        error.add_note(f"in batch {number}, counted from 0")
        raise


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
        from suffice.kernels.native import NativeKernels

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
                from concurrent.futures import ThreadPoolExecutor  # slow to import, and few rows need no threads

                self._pool = ThreadPoolExecutor(threads, "suffice", initializer=_mark_worker)
                self._owner = owner
            return self._pool.submit(function, *args)

    def _map(self, function: Callable[[Batch, Kernels], R], batches: Iterable[Batch]) -> Iterator[R]:
        if isinstance(batches, list) and len(batches) == 1:
            return self._map_one(function, batches[0])
        return self._map_many(function, batches)

    def _map_one(self, function: Callable[[Batch, Kernels], R], batch: Batch) -> Iterator[R]:
        """Return the results of the parts of a batch; with nothing else to read, this thread works too."""
        parts = _parts(function, batch)
        if len(parts) == 1:
            return iter([named(function, batch, self.kernels, 0)])
        threads = 1 if hasattr(_here, "is_worker") else self.threads
        if threads == 1:  # a worker must not wait for workers
            return (named(function, part, self.kernels, 0) for part in parts)
        return self._map_parts(function, parts, threads)

    def _map_parts(self, function: Callable[[Batch, Kernels], R], parts: list[Batch], threads: int) -> Iterator[R]:
        tasks: _Tasks[R] = _Tasks()
        with tasks:
            for part in parts:
                tasks.add(partial(named, function, part, self.kernels, 0))
            for _ in range(min(len(parts), threads) - 1):
                self._submit(threads, tasks.work)
            while tasks.pending:
                if tasks.pending[0].done() or not tasks.work_once():
                    yield tasks.pending.popleft().result()

    def _map_many(self, function: Callable[[Batch, Kernels], R], batches: Iterable[Batch]) -> Iterator[R]:
        threads = 1 if hasattr(_here, "is_worker") else 0  # not asked for yet
        tasks: _Tasks[R] = _Tasks()
        with tasks:
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
                # At most the next batch is read while this one is summed.
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
        if not self.pending:
            return
        for future in self.pending:
            future.cancel()
        self.work()  # if cancelled, this only notifies waiting threads
        from concurrent.futures import wait

        wait(self.pending)

    def add(self, work: Callable[[], R]) -> None:
        """Add work, and its result to those that are pending."""
        from concurrent.futures import Future

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


class Execution(NamedTuple):
    """How rows are summed: the settings ``n_jobs`` and ``device`` of an estimator."""

    n_jobs: int | None = None  #: threads; None for all permitted cores, -1 for all cores of the machine
    device: str | None = None  #: where rows in host memory are sent; None where they are


@cache
def default_engine() -> ThreadEngine:
    """Return the engine that all models share, whose threads wait between calls."""
    return ThreadEngine()


def engine_for(choice: Engine | Execution | None, x: Any) -> Engine:
    """Return the engine that reads an array under these settings.

    Examples
    --------
    >>> engine_for(Execution(n_jobs=3), np.zeros((1, 1)))
    ThreadEngine(threads=3)
    """
    if isinstance(choice, Engine):
        return choice
    n_jobs, device = choice or (None, None)
    threads = default_engine() if n_jobs is None else _threads(n_jobs)
    if device is not None and device != "cpu":
        return _on_device(device)
    if isinstance(x, np.ndarray) or not is_foreign(x):
        return threads
    from suffice.kernels.arrays import ArrayEngine

    return ArrayEngine()


@cache
def _threads(n_jobs: Any) -> ThreadEngine:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or not (n_jobs == -1 or n_jobs >= 1):
        raise ValueError(f"n_jobs must be None, -1 or a whole number of at least 1; got {n_jobs!r}")
    return ThreadEngine((os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs))


@cache
def _on_device(device: Any) -> Engine:
    if not isinstance(device, str) or device.partition(":")[0] != "cuda":
        raise ValueError(f"device must be None, 'cpu', 'cuda' or the like of 'cuda:1'; got {device!r}")
    from suffice.kernels.arrays import ArrayEngine  # on a GPU

    return ArrayEngine(device=device)  # on a GPU

"""Prefetching: a thread reads the next batches while the current one is processed."""

from __future__ import annotations

import atexit
import queue
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from suffice.tables.sources.base import Source

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

_END = object()
#: Running reader threads, and the events that stop them.
_READERS: WeakKeyDictionary[threading.Thread, threading.Event] = WeakKeyDictionary()
#: Seconds to wait for a reader at exit; a reader that waits for standard input does not end.
_JOIN_SECONDS = 2.0
#: Number of batches that are read ahead.
_PREFETCHED_BATCHES = 32


def prefetch(items: Iterable[T], depth: int = 2) -> Generator[T, None, None]:
    """Iterate over items that a thread reads ahead, at most ``ahead`` of them; it starts at once.

    Examples
    --------
    >>> list(prefetch(range(3)))
    [0, 1, 2]
    """
    waiting: queue.Queue[Any] = queue.Queue(depth)
    stopped = threading.Event()
    thread = threading.Thread(target=_read, args=(items, waiting, stopped), name="suffice-reader", daemon=True)
    _READERS[thread] = stopped
    thread.start()
    return _yield_items(items, waiting, stopped, thread)


@atexit.register
def _stop_readers() -> None:
    """Stop the threads that are still reading when the process ends, as after Ctrl-C.

    The interpreter would kill them in native code, which aborts the process.
    """
    readers = list(_READERS.items())
    for _, stopped in readers:
        stopped.set()
    for thread, _ in readers:
        thread.join(_JOIN_SECONDS)


def _read(items: Iterable[Any], waiting: queue.Queue[Any], stopped: threading.Event) -> None:
    def offer(item: Any, error: BaseException | None = None) -> bool:
        while not stopped.is_set():
            try:
                waiting.put((item, error), timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    try:
        for item in items:
            if not offer(item):
                return
        offer(_END)
    except BaseException as error:  # raised in the consumer's thread
        offer(_END, error)


def _yield_items(
    items: Iterable[T], waiting: queue.Queue[Any], stopped: threading.Event, thread: threading.Thread
) -> Generator[T, None, None]:
    try:
        while True:
            item, error = waiting.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        stopped.set()
        thread.join()
        if isinstance(items, Generator):
            items.close()


class PrefetchedSource(Source):
    """A source whose first rows are read ahead by another thread."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.name, self.missing, self.whole = source.name, source.missing, source.whole
        self.numbers = source.numbers
        self.categorical, self.notes = source.categorical, source.notes
        self._expected = source.rows()
        self._schema = source.schema()
        self._columns = list(source.columns_by_file())  # now: the connection of a source is not shared by threads
        self._prefetched: Generator[pa.RecordBatch, None, None] | None = prefetch(source.batches(), _PREFETCHED_BATCHES)

    def schema(self) -> pa.Schema:
        """Return the names and types of the columns."""
        return self._schema

    def rows(self) -> int | None:
        """Return the approximate number of rows."""
        return self._expected

    def columns_by_file(self) -> Iterable[tuple[str, Sequence[str]]]:
        """Return the columns of each of several files."""
        return self._columns

    def read_as_written(self, columns: Iterable[str]) -> None:
        """Read columns as strings; the rows that were read ahead are dropped."""
        begun, self._prefetched = self._prefetched, None
        if begun is not None:
            begun.close()
        self._source.read_as_written(columns)
        self._schema, self.whole = self._source.schema(), self._source.whole

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order, of all columns or of some."""
        begun, self._prefetched = self._prefetched, None
        if begun is None:
            return self._source.batches(columns)
        return begun if columns is None else (batch.select(list(columns)) for batch in begun)

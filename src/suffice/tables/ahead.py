"""Reading the next batch while this one is summed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_END = object()


def ahead(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """Yield items that another thread has read before they are asked for, so many at most.

    Examples
    --------
    >>> list(ahead(range(3)))
    [0, 1, 2]
    """
    waiting: queue.Queue[Any] = queue.Queue(depth)
    stopped = threading.Event()

    def offer(item: Any) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for item in items:
                if not offer((item, None)):
                    return
            offer((_END, None))
        except BaseException as error:  # the reader of the items shall see it
            offer((_END, error))

    thread = threading.Thread(target=work, name="suffice-reader", daemon=True)
    thread.start()
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

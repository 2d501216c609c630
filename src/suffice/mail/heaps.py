"""Mail of several classes as one stream, and the stream as heaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from suffice.mail.boxes import Letter, Skipped, count, letters

T = TypeVar("T")


def mixed(
    classes: Mapping[str, Sequence[str]], skip: Callable[[Skipped], object] = lambda _: None
) -> Iterator[tuple[bytes, str]]:
    """Return the messages of several classes with their class, each class spread over the whole stream.

    A regression that learns message by message would otherwise end up with what it saw last.

    Parameters
    ----------
    classes
        Files and folders of each class.
    skip
        Called with what is no mail.
    """
    streams = {label: iter(letters(paths)) for label, paths in classes.items()}
    sizes = {label: count(paths) or 1 for label, paths in classes.items()}
    taken = dict.fromkeys(streams, 0)
    while streams:
        label = min(streams, key=lambda name: taken[name] / sizes[name])
        found = next(streams[label], None)
        if found is None:
            del streams[label]
            continue
        if isinstance(found, Letter):
            taken[label] += len(found.data)
            yield found.data, label
        else:
            skip(found)


def heaps(stream: Iterable[T], size: Callable[[T], int], most: int, bytes_: int) -> Iterator[list[T]]:
    """Return a stream in heaps of so many things, or of so many bytes.

    Examples
    --------
    >>> list(heaps([b"a", b"bb", b"c", b"d"], len, 3, 3))
    [[b'a', b'bb'], [b'c', b'd']]
    """
    heap: list[T] = []
    held = 0
    for each in stream:
        heap.append(each)
        held += size(each)
        if len(heap) >= most or held >= bytes_:
            yield heap
            heap, held = [], 0
    if heap:
        yield heap

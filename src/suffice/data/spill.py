"""Objects as blocks of raw bytes: arrays are written as they lie in memory, and read in place."""

from __future__ import annotations

import mmap
import pickle
import struct
import tempfile
from collections.abc import Iterator
from typing import IO, Any

#: Arrays start at multiples of this many bytes within a block.
ALIGNED = 64
#: A :class:`Spill` holds so many bytes in memory before it writes to a file.
IN_MEMORY = 1 << 27


def pack(thing: Any) -> list[bytes | memoryview]:
    """Return the bytes of an object in order; arrays are not copied.

    Examples
    --------
    >>> unpack(memoryview(b"".join(pack({"numbers": [1, 2]}))))
    {'numbers': [1, 2]}
    """
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    raws = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    sizes = [raw.nbytes for raw in raws]
    packed: list[bytes | memoryview] = [struct.pack(f"<{len(sizes) + 1}q", len(sizes), *sizes)]
    at = len(packed[0])
    for raw in raws:
        packed += [bytes(-at % ALIGNED), raw]
        at += -at % ALIGNED + raw.nbytes
    return packed


def unpack(memory: memoryview) -> Any:
    """Return the object that :func:`pack` wrote; its arrays lie in this memory, and cannot be written to."""
    count = struct.unpack_from("<q", memory)[0]
    sizes = struct.unpack_from(f"<{count}q", memory, 8)
    at = 8 * (count + 1)
    parts = []
    for size in sizes:
        at += -at % ALIGNED
        parts.append(memory[at : at + size])
        at += size
    return pickle.loads(parts[0], buffers=parts[1:])


class Spill:
    """Objects that are read several times in order: in memory while they are few, then in a temporary file.

    The file has no name, or is deleted when it is closed: nothing of it is left behind, however the process ends.

    Examples
    --------
    >>> with Spill() as spill:
    ...     spill.add([1])
    ...     spill.add([2])
    ...     list(spill), list(spill)
    ([[1], [2]], [[1], [2]])
    """

    def __init__(self, in_memory: int | None = None) -> None:
        self._left = IN_MEMORY if in_memory is None else in_memory
        self._held: list[bytes] = []
        self._file: IO[bytes] | None = None
        self._places: list[tuple[int, int]] = []  # where blocks of the file start, and their lengths

    @property
    def is_on_disk(self) -> bool:
        """Whether a file is in use."""
        return self._file is not None

    def add(self, thing: Any) -> None:
        """Keep an object."""
        packed = pack(thing)
        size = sum(memoryview(piece).nbytes for piece in packed)
        if self._file is None and size <= self._left:
            self._left -= size
            self._held.append(b"".join(packed))
            return
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="suffice-")  # noqa: SIM115 (closed by close)
            self._file.write(bytes(-self._file.tell() % mmap.ALLOCATIONGRANULARITY))
            self._places.append((self._file.tell(), size))
            for piece in packed:
                self._file.write(piece)
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror}; rows that are read several times are kept there: TMPDIR names another folder",
                tempfile.gettempdir(),
            ) from None

    def __iter__(self) -> Iterator[Any]:
        """Yield the objects in order; one block of the file is in memory at a time."""
        for block in self._held:
            yield unpack(memoryview(block))
        if self._file is None:
            return
        self._file.flush()
        for start, size in self._places:
            yield unpack(memoryview(mmap.mmap(self._file.fileno(), size, offset=start, access=mmap.ACCESS_READ)))

    def close(self) -> None:
        """Delete what is kept."""
        self._held, self._places = [], []
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

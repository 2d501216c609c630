"""Things that Spark's workers keep between passes: files of raw arrays on the executors' own disks, read in place.

Spark's cache would hold them in the memory of its virtual machine, and send them through a socket for every pass. A
file is in the system's page cache, and its arrays are memory-mapped. What Spark caches is the name of the file:
so it sends a task to where the file is, mostly, and makes the file again where an executor was lost.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suffice.data.spill import pack, unpack


class LostBlockError(OSError):
    """A file is not on the machine where it is wanted."""


@dataclass(frozen=True)
class Block:
    """A thing in a file of this machine."""

    path: str

    @classmethod
    def of(cls, thing: Any) -> Block:
        """Write a thing; its arrays are written as they lie in memory.

        Examples
        --------
        >>> block = Block.of({"numbers": [1, 2]})
        >>> block.read()
        {'numbers': [1, 2]}
        >>> block.remove()
        """
        packed = pack(thing)
        folder = Path(_local_folder())
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"suffice-{uuid.uuid4().hex}"
        try:
            with path.open("wb") as file:
                file.writelines(packed)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise OSError(error.errno, f"{error.strerror}; rows are kept there between passes", str(path)) from None
        return cls(str(path))

    def read(self) -> Any:
        """Return the thing; its arrays lie in the file, and cannot be written to."""
        try:
            with Path(self.path).open("rb") as file:
                memory = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except FileNotFoundError:
            raise LostBlockError(f"{self.path} is not here") from None
        return unpack(memory)

    def remove(self) -> None:
        """Delete the file, if it is here."""
        with suppress(OSError):
            Path(self.path).unlink()


def _local_folder() -> str:
    """Return the folder that Spark gives an executor for its own files, and clears at the end."""
    for name in ("SPARK_LOCAL_DIRS", "LOCAL_DIRS"):
        if os.environ.get(name):
            return os.environ[name].split(os.pathsep)[0].split(",")[0]
    from pyspark import SparkFiles

    with suppress(Exception):  # outside of a task there is none
        root = str(SparkFiles.getRootDirectory())
        if Path(root).is_absolute():
            return root
    return tempfile.gettempdir()

"""Read and write model files, on disk or in an object store. Writes are atomic."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from suffice.object_store import local_path, remote_path
from suffice.store.atomic_file import atomic_file
from suffice.store.contents import CURE, HEADER_LIMIT, Contents, StoreError, pack, read_about, unpack


def write(path: str | os.PathLike[str], contents: Contents) -> None:
    """Write a model file, atomically; an existing file is replaced.

    A reader sees the old file or the new one, and a failure leaves the old one unchanged.

    Parameters
    ----------
    path
        A path, or a URL of an object store (``s3://``, ``gs://``). ``~`` is not expanded. As with ``open``, a link is
        followed, a new file gets the permissions that the umask allows and an existing one keeps its own.
    contents
        The contents.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/model", Contents("Mean", {"alpha": 0.5}, {}, {"mean": np.arange(2.0)}))
    ...     read(f"{folder}/model")
    Contents(kind='Mean', settings={'alpha': 0.5}, statistics={}, arrays={'mean': array([0., 1.])})
    """
    remote = remote_path(path)
    if remote is not None:
        remote.write(pack(contents))
        return
    place = Path(os.path.realpath(local_path(path)))
    with suppress(FileNotFoundError):
        _check_place(place)
    if not place.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder for the model does not exist", str(place.parent))
    data = pack(contents)
    with atomic_file(place) as temporary, temporary.open("wb") as file:
        file.write(data)


def read(path: str | os.PathLike[str]) -> Contents:
    """Return the contents of a model file. Nothing in the file is executed.

    Raises
    ------
    StoreError
        If the file is not a model file, is damaged, or has a format newer than ``FORMAT``.
    OSError
        If there is no file, or it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "model").write_text("a poem, not a model")
    ...     try:
    ...         read(f"{folder}/model")
    ...     except StoreError as error:
    ...         print(str(error).removeprefix(folder))
    /model is not a model file: pass one that save() or suffice fit wrote
    """
    name, size, opened = _open(path)
    try:
        with opened as file:
            about = _about(file, size)
            file.seek(0)
            data = file.read()
        return unpack(about, data)
    except StoreError as error:
        raise StoreError(f"{name} {error}") from error.__cause__
    except OSError:
        raise
    except MemoryError as error:
        raise StoreError(f"{name} does not fit in memory: read it on a larger machine, if you trust it") from error
    except Exception as error:  # damaged bytes may raise anything from KeyError to RecursionError
        why = f"{type(error).__name__}: {error}"
        raise StoreError(f"{name} is not a model file, or is damaged ({why}): {CURE}") from error


def _open(path: str | os.PathLike[str]) -> tuple[str, int, AbstractContextManager[BinaryIO]]:
    """Return the name of a file, its length in bytes, and a context manager that opens it for reading."""
    remote = remote_path(path)
    if remote is not None:
        return remote.url, remote.size(), remote.open()
    place = Path(local_path(path))
    return str(place), _check_place(place), place.open("rb")


def _about(file: BinaryIO, size: int) -> dict[str, Any]:
    """Return the metadata of the model; only the header is read."""
    if size == 0:
        raise StoreError(f"is empty: {CURE}")
    start = file.read(9)
    length = int.from_bytes(start[:8], "little")
    if start[8:] != b"{" or length > HEADER_LIMIT:
        database = " but an SQLite database, as suffice mail writes" if start == b"SQLite fo" else ""
        raise StoreError(f"is not a model file{database}: pass one that save() or suffice fit wrote")
    if length > size - 8:
        raise StoreError(f"is truncated: its header has {length} bytes, of which {size - 8} are left: {CURE}")
    return read_about(start[8:] + file.read(length - 1))


def _check_place(place: Path) -> int:
    """Return the length of a file; raise if it is a folder or a device."""
    found = place.stat()
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "a device"
        raise StoreError(f"{place} is {what}: name a file")
    return found.st_size

"""Atomic file operations: unique names, exclusive renames, copies and renames flushed to disk; full disks."""

from __future__ import annotations

import errno
import itertools
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

_CHUNK = 1 << 20
#: Errors of a disk without space, of a used-up quota, and of a limit on the size of files.
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_counter = itertools.count(1)


def unique_name() -> str:
    """Return a file name that is unique among machines, by the rules of Maildir: time, process, counter, host."""
    now = time.time_ns()
    machine = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "localhost")
    host = machine.replace("/", "\\057").replace(":", "\\072")
    return f"{now // 10**9}.M{now // 1000 % 10**6}P{os.getpid()}Q{next(_counter)}.{host}"


def create_file(path: Path) -> BinaryIO:
    """Create a file that only its owner can read, and open it for writing."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    return os.fdopen(os.open(path, flags, 0o600), "wb")


def is_disk_full(folder: Path) -> bool:
    """Return whether a file of a few pages cannot be written to a folder because the disk, or the quota, is full."""
    path = folder / f".{unique_name()}"
    try:
        with create_file(path) as file:
            file.write(bytes(1 << 16))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno in _FULL
    finally:
        with suppress(OSError):
            path.unlink()
    return False


def copy_file(source: Path, target: Path) -> None:
    """Copy a file with its permissions and times, and flush the copy to disk."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(source, flags), "rb") as reading, create_file(target) as writing:
        while part := reading.read(_CHUNK):
            writing.write(part)
        status = os.fstat(reading.fileno())
        target.chmod(status.st_mode & 0o777)
        writing.flush()
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))  # servers show it as the time of delivery
        os.fsync(writing.fileno())


def rename_exclusive(source: Path, target: Path) -> None:
    """Rename a file; raise FileExistsError if the target exists."""
    exclusive = _system_rename()
    if exclusive is not None:
        code = exclusive(os.fsencode(source), os.fsencode(target))
        if code == 0:
            return
        if code not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
            raise OSError(code, os.strerror(code), str(source), None, str(target))
    if os.name != "nt" and os.path.lexists(target):  # some file systems, such as NFS, have no exclusive rename
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    source.rename(target)


@cache
def _system_rename() -> Callable[[bytes, bytes], int] | None:
    """Return the system call for an exclusive rename, if there is one; it returns 0 or an error number."""
    import ctypes

    at_cwd, no_replace, no_replace_on_mac = -100, 1, 4
    try:
        system = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            on_mac = system.renamex_np
            return lambda source, target: on_mac(source, target, no_replace_on_mac) and ctypes.get_errno()
        on_linux = system.renameat2
    except (
        AttributeError,
        OSError,
        TypeError,
    ):  # pragma: no cover  (an older system; or Windows, where a rename never replaces)
        return None
    return lambda source, target: on_linux(at_cwd, source, at_cwd, target, no_replace) and ctypes.get_errno()


def sync_folder(folder: Path) -> None:
    """Flush a directory's entries to disk."""
    if os.name == "nt":
        return  # directories cannot be opened there
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

"""Files that appear whole, under names that nothing else has."""

from __future__ import annotations

import errno
import itertools
import os
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import BinaryIO

_COPIED = 1 << 20
_numbers = itertools.count(1)


def unique() -> str:
    """Return a name that no other message has: time, process, number, machine."""
    now = time.time_ns()
    machine = os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "localhost")
    host = machine.replace("/", "\\057").replace(":", "\\072")
    return f"{now // 10**9}.M{now // 1000 % 10**6}P{os.getpid()}Q{next(_numbers)}.{host}"


def opened(temporary: Path) -> BinaryIO:
    """Return a new file that its owner only may read, to write to."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    return os.fdopen(os.open(temporary, flags, 0o600), "wb")


def copy(source: Path, target: Path) -> None:
    """Copy a file, its rights and times with it, safe on disk."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(source, flags), "rb") as reading, opened(target) as writing:
        while part := reading.read(_COPIED):
            writing.write(part)
        about = os.fstat(reading.fileno())
        target.chmod(about.st_mode & 0o777)
        writing.flush()
        os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))  # servers show this as the time of arrival
        os.fsync(writing.fileno())


def rename(source: Path, target: Path) -> None:
    """Rename a file, and raise FileExistsError where there is one of this name."""
    exclusive = _exclusive_rename()
    if exclusive is not None:
        code = exclusive(os.fsencode(source), os.fsencode(target))
        if code == 0:
            return
        if code not in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
            raise OSError(code, os.strerror(code), str(source), None, str(target))
    if os.name != "nt" and os.path.lexists(target):  # some file systems, NFS for one, cannot look and rename at once
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    source.rename(target)


@cache
def _exclusive_rename() -> Callable[[bytes, bytes], int] | None:
    """Return the system's own way to rename a file unless the name is taken, if it has one; 0 is success."""
    import ctypes

    here, no_replace, no_replace_on_mac = -100, 1, 4
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
    ):  # pragma: no cover  (an older system, or Windows, which never replaces)
        return None
    return lambda source, target: on_linux(here, source, here, target, no_replace) and ctypes.get_errno()


def sync(folder: Path) -> None:
    """Make sure that a folder's names are on disk."""
    if os.name == "nt":
        return  # folders cannot be opened there
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

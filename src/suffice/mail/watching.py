"""Watching Maildirs: something is done whenever mail comes, or is moved."""

from __future__ import annotations

import os
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

#: Where the system tells of changes, folders are still looked at after so many seconds: what other machines change in
#: shared folders is not told.
_LOOK = 30.0
#: After a change, it must be quiet for so many seconds, or so many must have passed, before something is done.
_QUIET, _BUSY = 0.3, 3.0
#: The times of folders may be so many nanoseconds coarse.
_COARSE = 2 * 10**9

Seen = dict[str, tuple[int, ...]]  # each folder's device, number and time of its last change


def watch(
    paths: Iterable[str | os.PathLike[str]],
    on_change: Callable[[], object],
    *,
    poll: float = 2.0,
    told: bool = True,
) -> None:
    """Call a function at once, and then whenever messages come to Maildirs or are moved in them.

    It returns at SIGINT or SIGTERM, after the call that is under way; a second signal acts as it would otherwise. An
    exception of the function ends it, too. Folders may be made, removed and replaced meanwhile.

    Parameters
    ----------
    paths
        The Maildirs, which are watched with the folders in them.
    on_change
        What to call. Many changes in a short time are one.
    poll
        Seconds between two looks at the folders, where the system does not tell of changes.
    told
        Whether to let the system tell of changes, as Linux can.

    Raises
    ------
    FileNotFoundError
        Where a path is no Maildir when it begins.
    """
    boxes = [os.fspath(path) for path in paths]
    for box in boxes:
        if not _whole([box], _look([box])):
            raise FileNotFoundError(f"{box!r} is no Maildir: it has no folders 'cur' and 'new'")
    with _Stop() as stop:
        bell = _bell() if told else None
        try:
            _watch(boxes, on_change, poll, stop, bell)
        finally:
            if bell is not None:
                bell.close()


def _watch(boxes: list[str], on_change: Callable[[], object], poll: float, stop: _Stop, bell: _Bell | None) -> None:
    seen: Seen | None = None
    rung = False
    while not stop.asked:
        now = _look(boxes)  # before the call: what changes during it is seen after it
        if bell is not None and not bell.watch(now):
            bell = None  # there are more folders than the system tells of
        whole = _whole(boxes, now)
        if whole and (rung or now != seen):
            try:
                on_change()
            except FileNotFoundError:
                if _whole(boxes, _look(boxes)):
                    raise
        # A folder that has just changed may change again without its time showing it.
        seen = now if bell is not None or not _recent(now) else None
        rung = stop.wait(_LOOK if bell is not None and whole else poll, bell)
        busy = time.monotonic() + _BUSY
        while rung and not stop.asked and time.monotonic() < busy and stop.wait(_QUIET, bell):
            pass


def _look(boxes: list[str]) -> Seen:
    """Return the folders of Maildirs as they are."""
    seen: Seen = {}
    for box in boxes:
        try:
            with os.scandir(box) as inside:
                folders = [each.path for each in inside if each.is_dir() and each.name not in ("cur", "new", "tmp")]
        except OSError:
            continue
        for folder in (box, *folders):
            for part in ("", "cur", "new"):
                place = Path(folder, part)
                try:
                    about = place.stat()
                except OSError:
                    continue
                # Programs keep files of their own beside cur and new: only the folders count there.
                seen[str(place)] = (about.st_dev, about.st_ino, about.st_mtime_ns if part else 0)
    return seen


def _whole(boxes: list[str], seen: Seen) -> bool:
    return all(str(Path(box, part)) in seen for box in boxes for part in ("cur", "new"))


def _recent(seen: Seen) -> bool:
    latest = max((changed for _, _, changed in seen.values()), default=0)
    return time.time_ns() - latest < _COARSE


class _Stop:
    """The wish to stop, as signals tell it, which ends any waiting."""

    def __enter__(self) -> _Stop:
        import socket

        self.asked = False
        self._end, self._far_end = socket.socketpair()
        self._before: dict[int, Any] = {}
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                self._before[number] = signal.signal(number, self._ask)
            except ValueError:  # signals come to the main thread only
                break
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        self._restore()
        self._far_end.send(b"!")

    def _restore(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()
        self._end.close()
        self._far_end.close()

    def wait(self, seconds: float, bell: _Bell | None) -> bool:
        """Wait for a signal or the bell; return whether the bell rang."""
        until = time.monotonic() + seconds
        while not self.asked and (left := until - time.monotonic()) > 0:
            waited: list[_Bell | socket.socket] = [self._end] if bell is None else [self._end, bell]
            ready, _, _ = select.select(waited, [], [], left)
            if bell is not None and bell in ready and bell.rings():
                return True
        return False


class _Bell:
    """Linux's inotify, which rings when files come to folders."""

    _CREATED, _MOVED_HERE, _DELETED, _MOVED_AWAY = 0x100, 0x80, 0x400, 0x800
    _FOLDERS_ONLY, _FOLDER, _LOST = 0x01000000, 0x40000000, 0x4000
    _EVENT = struct.Struct("iIII")

    def __init__(self) -> None:
        import ctypes

        system = ctypes.CDLL(None, use_errno=True)
        self._add = system.inotify_add_watch
        self._file = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._roots: set[int] = set()
        if self._file < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def watch(self, folders: Iterable[str]) -> bool:
        """Watch these folders, again if they were replaced; return False if they are too many."""
        wanted = self._CREATED | self._MOVED_HERE | self._DELETED | self._MOVED_AWAY | self._FOLDERS_ONLY
        for folder in folders:
            number = self._add(self._file, os.fsencode(folder), wanted)
            if number < 0 and Path(folder).is_dir():
                return False
            if Path(folder).name not in ("cur", "new"):
                self._roots.add(number)
        return True

    def rings(self) -> bool:
        """Return whether files came to folders of messages, or folders to Maildirs, since it was asked last."""
        rung = False
        of_folders = self._FOLDER | self._DELETED | self._MOVED_AWAY | self._LOST
        with suppress(BlockingIOError):
            while True:
                data, at = os.read(self._file, 1 << 16), 0
                while at < len(data):
                    number, mask, _, length = self._EVENT.unpack_from(data, at)
                    at += self._EVENT.size + length
                    rung |= number not in self._roots or bool(mask & of_folders)
        return rung

    def fileno(self) -> int:
        """Return the number of the file that is ready to be read when the bell rings."""
        return int(self._file)

    def close(self) -> None:
        """Watch no more."""
        os.close(self._file)


def _bell() -> _Bell | None:
    """Return the system's bell, if it has one."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return _Bell()
    except OSError:  # there are more of them than the system allows a user
        return None

"""Watching Maildirs: call a function whenever messages arrive or are moved."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchfiles import Change

#: After a change, the function is called when nothing changes for the first time, or after the second, in milliseconds.
_QUIET, _LONGEST = 100, 3000
#: Resolution of modification times that is assumed, in nanoseconds.
_RESOLUTION = 2 * 10**9

Snapshot = dict[str, tuple[int, ...]]  # device, inode and modification time of each folder
Notifications = Generator[set[tuple["Change", str]], None, None]


def watch_folders(
    paths: Iterable[str | os.PathLike[str]],
    on_change: Callable[[], object],
    *,
    poll: float = 2.0,
    notify: bool = True,
) -> None:
    """Call a function now, and again whenever messages arrive in Maildirs or are moved.

    It ends on SIGTERM, and on SIGINT with KeyboardInterrupt, after the current call; a second signal has its usual
    effect. An exception of the function is raised. Folders can be created, removed and replaced meanwhile.

    Parameters
    ----------
    paths
        The Maildirs, which are watched with the folders in them.
    on_change
        The function. It is called once for changes in quick succession.
    poll
        Seconds between comparisons of modification times. They detect changes for which the system sends no
        notification, such as those of other machines in network folders.
    notify
        Whether to use notifications of the system, too.

    Raises
    ------
    FileNotFoundError
        If a path is not a Maildir at the start.
    """
    boxes = [os.fspath(path) for path in paths]
    for box in boxes:
        if not _is_complete([box], _take_snapshot([box])):
            raise FileNotFoundError(f"{box!r} is not a Maildir: it has no folders 'cur' and 'new'")
    with stop_on_signals() as stop:
        _watch(boxes, on_change, poll, stop, notify)


def _watch(boxes: list[str], on_change: Callable[[], object], poll: float, stop: Event, notify: bool) -> None:
    seen: Snapshot | None = None
    notified = False
    watched: list[tuple[int, ...] | None] = []
    notifications: Notifications | None = None
    while not stop.is_set():
        now = _take_snapshot(boxes)  # before the call: a change during the call shows after it
        is_complete = _is_complete(boxes, now)
        if is_complete and (notified or now != seen):
            try:
                on_change()
            except FileNotFoundError:
                if _is_complete(boxes, _take_snapshot(boxes)):
                    raise
        # A folder that has just changed may change again within the resolution of its modification time.
        seen = now if notifications is not None or not _is_recent(now) else None
        roots = [now.get(box) for box in boxes]
        if roots != watched:  # at the start, and after a Maildir was replaced
            if notifications is not None:
                notifications.close()
            watched = roots
            notifications = _open_notifications(boxes, poll, stop) if notify and is_complete else None
        notified = False
        if notifications is None:
            stop.wait(poll)
            continue
        try:
            notified = bool(next(notifications, None))
        except (OSError, RuntimeError, UnicodeError):  # too many watches, or a path that is not text
            notifications = None


def _open_notifications(boxes: list[str], poll: float, stop: Event) -> Notifications:
    try:
        from watchfiles import watch
    except ImportError as error:
        raise ImportError("watching folders needs watchfiles: pip install 'suffice[mail]'") from error
    notifications: Notifications = watch(
        *boxes,
        watch_filter=_is_relevant,
        debounce=_LONGEST,
        step=_QUIET,
        rust_timeout=max(1, round(1000 * poll)),
        yield_on_timeout=True,
        stop_event=stop,
        ignore_permission_denied=True,
    )
    return notifications


def _is_relevant(change: Change, path: str) -> bool:
    """Return whether a message or a folder was added or removed; mail programs write other files beside them."""
    folder = os.path.basename(os.path.dirname(path))  # noqa: PTH119, PTH120  (called for every change)
    if folder in ("cur", "new"):
        return bool(change.name != "modified")
    return bool(change.name == "added") and folder != "tmp" and Path(path).is_dir()


def _take_snapshot(boxes: list[str]) -> Snapshot:
    """Return the present state of the folders of Maildirs."""
    found: Snapshot = {}
    for box in boxes:
        try:
            with os.scandir(box) as inside:
                folders = [each.path for each in inside if each.is_dir() and each.name not in ("cur", "new", "tmp")]
        except OSError:
            continue
        for folder in (box, *folders):
            for part in ("", "cur", "new"):
                path = Path(folder, part)
                try:
                    status = path.stat()
                except OSError:
                    continue
                # Mail programs write other files beside cur and new: the time of their parent says nothing.
                found[str(path)] = (status.st_dev, status.st_ino, status.st_mtime_ns if part else 0)
    return found


def _is_complete(boxes: list[str], snapshot: Snapshot) -> bool:
    return all(str(Path(box, part)) in snapshot for box in boxes for part in ("cur", "new"))


def _is_recent(snapshot: Snapshot) -> bool:
    latest = max((modified for _, _, modified in snapshot.values()), default=0)
    return time.time_ns() - latest < _RESOLUTION


@contextmanager
def stop_on_signals() -> Iterator[Event]:
    """Yield an event that the first SIGINT or SIGTERM sets; raise KeyboardInterrupt at the end if it was SIGINT."""
    stop = Event()
    received: list[int] = []
    handlers: dict[int, Any] = {}

    def restore() -> None:
        while handlers:
            signal.signal(*handlers.popitem())

    def handle(number: int, frame: FrameType | None) -> None:
        restore()
        received.append(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            handlers[number] = signal.signal(number, handle)
        except ValueError:  # only the main thread receives signals
            break
    try:
        yield stop
    finally:
        restore()
    if signal.SIGINT in received:
        raise KeyboardInterrupt

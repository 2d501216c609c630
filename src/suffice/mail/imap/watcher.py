"""Watching a folder on an IMAP server: IDLE, or polling, and new connections after failures."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from threading import Event

from suffice.mail.imap.connection import ImapConnection
from suffice.mail.imap.errors import ConnectionLostError, LoginError
from suffice.mail.imap.folders import ImapFolder
from suffice.mail.watcher import stop_on_signals

#: Seconds after which IDLE is ended and begun again; servers and routers close connections that are silent for longer.
IDLE = 540.0
#: Seconds between checks of a server without IDLE, and between checks whether the process was asked to stop.
POLL, STEP = 30.0, 1.0
#: Longest delay before a new connection, in seconds, and refused logins in a row after which it gives up.
LONGEST_DELAY, REFUSALS = 300.0, 3


def watch_imap_folder(
    connect: Callable[[], ImapConnection],
    on_change: Callable[[ImapFolder], object],
    remark: Callable[[str], object] = lambda _: None,
) -> None:
    """Call a function now, and again whenever the folder of a connection changes, until SIGINT or SIGTERM.

    SIGTERM ends it, SIGINT with KeyboardInterrupt, both after the current call.
    The first connection must succeed. Later, after an error of the connection or the server, a new one is opened, after
    a delay that doubles with each failure, is at most :data:`LONGEST_DELAY` seconds, and varies by chance.

    Parameters
    ----------
    connect
        Opens a connection.
    on_change
        The function; it is called with the folder.
    remark
        Called with a sentence when the connection is lost.
    """
    with stop_on_signals() as stop:
        connection: ImapConnection | None = connect()
        failures = refusals = 0
        while not stop.is_set():
            try:
                if connection is None:
                    connection = connect()
                with connection:
                    box = ImapFolder(connection, connection.resolve(connection.address.folder))
                    while not stop.is_set():
                        before = box.state()
                        on_change(box)
                        failures = refusals = 0
                        if box.state() == before:
                            _wait(connection, stop)
            except (BrokenPipeError, FileNotFoundError):  # of standard output; of the folder
                raise
            except (ConnectionLostError, LoginError, OSError) as error:
                failures += 1
                refusals = refusals + 1 if isinstance(error, LoginError) else 0
                if refusals == REFUSALS:
                    raise
                delay = min(LONGEST_DELAY, 2.0 ** min(failures, 20)) * random.uniform(0.25, 0.75)
                remark(f"{error}; trying again in {delay:.0f} s")
                stop.wait(delay)
            connection = None


def _wait(connection: ImapConnection, stop: Event) -> None:
    """Wait until the selected folder changes, or it is time to look at all folders."""
    if "IDLE" not in connection.capabilities:
        stop.wait(POLL)
        return
    connection.begin_idle()
    end = time.monotonic() + IDLE
    while not stop.is_set() and time.monotonic() < end and not connection.wait(STEP):
        pass
    connection.call(connection.client.idle_done)

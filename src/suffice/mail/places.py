"""Where a filter's file lies unless it is said."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from suffice.mail.errors import MailError

#: The environment variable that names another file.
VARIABLE = "SUFFICE_MAIL"


def default_place() -> Path:
    """Return the file of the user's own filter: ``$SUFFICE_MAIL``, or ``mail.db`` in the user's data folder.

    Examples
    --------
    >>> default_place().name
    'mail.db'
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    if sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or _home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        folder = _home() / "Library" / "Application Support"
    else:
        given = Path(os.environ.get("XDG_DATA_HOME", ""))
        folder = given if given.is_absolute() else _home() / ".local" / "share"
    return folder / "suffice" / "mail.db"


def _home() -> Path:
    try:
        home = Path.home()
    except RuntimeError:
        home = Path()
    if not home.is_absolute() or (home == Path("/") and not os.environ.get("HOME")):
        raise MailError(f"there is no home folder: name the filter's file with --filter or ${VARIABLE}")
    return home

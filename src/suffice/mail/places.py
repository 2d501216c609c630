"""Where a filter's file lies unless it is said."""

from __future__ import annotations

import os
import sys
from pathlib import Path

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
        folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return folder / "suffice" / "mail.db"

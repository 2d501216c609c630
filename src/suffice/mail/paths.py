"""Path of the user's own filter."""

from __future__ import annotations

import os
from pathlib import Path

from suffice.mail.errors import MailError

#: The environment variable that names another file.
VARIABLE = "SUFFICE_MAIL"


def default_path() -> Path:
    """Return the file of the user's own filter: ``$SUFFICE_MAIL``, or ``mail.db`` in the user's data folder.

    Examples
    --------
    >>> default_path().name
    'mail.db'
    """
    if named := os.environ.get(VARIABLE):
        return Path(named)
    from platformdirs import user_data_path

    try:
        folder = user_data_path("suffice", appauthor=False)
    except RuntimeError:  # of later versions; earlier ones return a path that is not absolute
        folder = Path()
    is_root = not os.environ.get("HOME") and folder.is_relative_to("/.local")  # users of daemons have the home /
    if is_root or not folder.is_absolute():
        raise MailError(f"there is no home folder: name the filter's file with --filter or ${VARIABLE}")
    return folder / "mail.db"

"""Warnings that point to the line of the user's code."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from pathlib import Path

#: Files whose frames are skipped: those of this package, and of ``contextlib`` between them.
_OURS = (str(Path(__file__).parent) + os.sep, str(contextlib.__file__))


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning for the innermost line outside of this package.

    Parameters
    ----------
    message
        The problem, and the cure.
    category
        The class of the warning.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     warn_user("columns depend on each other: drop one")
    >>> print(found[0].message)
    columns depend on each other: drop one
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)

"""Permissions that hold, though the superuser runs the tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def open_folder() -> Iterator[Path]:
    """Give a folder that every user can reach."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    try:
        yield place
    finally:
        place.chmod(0o755)
        shutil.rmtree(place)


def without_rights(work: Callable[[], T]) -> T:
    """Return what a function returns while permissions hold for this process: the superuser may do anything."""
    if os.getuid() != 0:
        return work()
    groups = os.getgroups()
    os.setgroups([])
    os.setresgid(65534, 65534, 0)
    os.setresuid(65534, 65534, 0)
    try:
        return work()
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(0, 0, 0)
        os.setgroups(groups)

"""Real data sets, unpacked once; tests that need them skip where they are not there."""

from __future__ import annotations

import tarfile
import tempfile
from pathlib import Path

from tests.requirements import data_archive


def unpacked(name: str) -> Path:
    """Return the folder of an archive among the data that the environment variable SUFFICE_DATA points to."""
    archive = data_archive(name)
    cache = Path(__file__).parents[2] / ".cache"
    folder = cache / name
    if not folder.exists():
        cache.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as fresh:
            with tarfile.open(archive) as tar:
                tar.extractall(fresh, filter="data")
            try:
                Path(fresh, name).rename(folder)
            except OSError:  # another process was faster
                assert folder.exists()
    return folder

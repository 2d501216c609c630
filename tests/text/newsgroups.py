"""The 18,846 articles of 20 Newsgroups; tests that need them skip where they are not there."""

from __future__ import annotations

import os
import tarfile
from functools import cache
from pathlib import Path

import pytest


@cache
def _read(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        articles = (tar.extractfile(member) for member in tar if member.isfile() and "20news-bydate-" in member.name)
        return [article.read().decode("latin-1") for article in articles if article is not None]


def articles() -> list[str]:
    """Return all articles, headers and all."""
    archive = Path(os.environ.get("SUFFICE_DATA", ""), "20news-bydate.tar.gz")
    if not archive.is_file():
        pytest.skip("SUFFICE_DATA names no folder with 20news-bydate.tar.gz")
    return _read(archive)

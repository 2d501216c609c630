"""The 18,846 articles of 20 Newsgroups; tests that need them skip where they are not there."""

from __future__ import annotations

import tarfile
from functools import cache
from pathlib import Path

from tests.requirements import data_archive


@cache
def _read(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        articles = (tar.extractfile(member) for member in tar if member.isfile() and "20news-bydate-" in member.name)
        return [article.read().decode("latin-1") for article in articles if article is not None]


def articles() -> list[str]:
    """Return all articles, headers and all."""
    return _read(data_archive("20news-bydate"))

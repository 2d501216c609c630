"""Files and folders at URLs: ``s3://``, ``gs://`` and ``memory://`` with fsspec; ``file://``, which is local."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from suffice.errors import MissingExtraError

#: The package that fsspec needs for each scheme, besides itself.
DRIVERS = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "memory": "fsspec"}
#: The supported schemes, for messages.
SCHEMES = "s3://, gs://, memory:// and file://"
#: One letter before the colon is a drive; ``Path`` turns two slashes into one.
_URL = re.compile(r"([a-z][a-z0-9+.-]+):(//?)", re.IGNORECASE)


def scheme_of(location: str | os.PathLike[str]) -> str | None:
    """Return the scheme of a URL in lower case; None for a path.

    Examples
    --------
    >>> scheme_of("S3://bucket/rows"), scheme_of("C:/rows"), scheme_of("rows.csv::table")
    ('s3', None, None)
    """
    found = _URL.match(os.fspath(location))
    return found.group(1).lower() if found else None


def local_path(location: str | os.PathLike[str]) -> str:
    """Return the path of a ``file://`` URL; a path is returned unchanged.

    Examples
    --------
    >>> local_path("file:///tmp/50%25.csv"), local_path("rows.csv")
    ('/tmp/50%.csv', 'rows.csv')
    """
    text = os.fspath(location)
    if scheme_of(text) != "file":
        return text
    from urllib.parse import unquote, urlsplit
    from urllib.request import url2pathname

    parts = urlsplit(text.replace("#", "%23").replace("?", "%3F"))
    if parts.netloc not in ("", "localhost"):
        raise ValueError(f"{text} names the host {parts.netloc!r}: write file:/// and the path from the root")
    return url2pathname(parts.path) if os.name == "nt" else unquote(parts.path)


@dataclass(frozen=True)
class RemotePath:
    """A file or a folder of an object store.

    Examples
    --------
    >>> place = remote_path("memory://models/a")
    >>> place.write(b"bytes")
    >>> place.size(), place.read()
    (5, b'bytes')
    """

    url: str
    path: str  #: as the file system spells it
    files: Any  #: the file system of fsspec

    def size(self) -> int:
        """Return the length of a file in bytes; raise if it is a folder, or does not exist."""
        with self._naming():
            about = self.files.info(self.path)
        if about["type"] == "directory":
            raise IsADirectoryError(f"{self.url} is a folder: name a file")
        return int(about["size"])

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the file for reading."""
        with self._naming():
            opened = self.files.open(self.path, "rb")
        with opened as file:
            yield file

    def read(self) -> bytes:
        """Return the contents of the file."""
        with self.open() as file:
            return bytes(file.read())

    def write(self, data: bytes) -> None:
        """Write a file in one request, or in a multipart upload, which is atomic too."""
        with self._naming("there is no such bucket or folder to write to"):
            self.files.pipe_file(self.path, data)

    def find(self) -> list[str]:
        """Return the paths of all files in and below a folder; of a file, its own; of a glob, those that match."""
        with self._naming():
            if any(mark in self.path for mark in "*?["):
                found = self.files.glob(self.path)
            else:
                self.files.invalidate_cache()
                found = self.files.find(self.path)
        return sorted(map(str, found))

    def fetch(self, path: str, to: str) -> None:
        """Download one of the files that :meth:`find` returned."""
        with self._naming():
            self.files.get_file(path, to)

    def url_of(self, path: str) -> str:
        """Return the URL of one of the files that :meth:`find` returned."""
        return str(self.files.unstrip_protocol(path))

    @contextmanager
    def _naming(self, missing: str = "there is no such file or folder") -> Iterator[None]:
        """Add the URL to errors; drivers raise many types of them."""
        try:
            yield
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.url}: {missing}; check the name") from None
        except PermissionError as error:
            raise PermissionError(f"{self.url}: access is denied ({error}); check the credentials") from None
        except (ImportError, OSError, MemoryError):
            raise
        except Exception as error:
            raise OSError(
                f"{self.url} cannot be reached ({type(error).__name__}: {error}); check the name, the network and the "
                "credentials"
            ) from error


def remote_path(location: str | os.PathLike[str]) -> RemotePath | None:
    """Return the file or folder of a URL in an object store; None for a path and for ``file://``.

    Raises
    ------
    MissingExtraError
        If fsspec, or the package that it needs for the scheme, is not installed.
    ValueError
        If the scheme is not supported.
    """
    url = os.fspath(location)
    scheme = scheme_of(url)
    if scheme in (None, "file"):
        return None
    if scheme not in DRIVERS:
        raise ValueError(f"{url} has the scheme {scheme}://, which is none of {SCHEMES}: give the path of a copy")
    match = _URL.match(url)
    assert match is not None
    url = f"{scheme}://{url[match.end() :]}"
    try:
        import fsspec

        files, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise MissingExtraError(
            f"{url} needs {' and '.join(sorted({'fsspec', DRIVERS[scheme]}))} ({error}): pip install 'suffice[cloud]'"
        ) from None
    return RemotePath(url, path, files)

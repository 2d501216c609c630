"""Documents from files: a folder with one file each, or a file with one line each. Read as they are wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice import _native

#: About so many bytes are read at a time.
CHUNK = 1 << 26


class Labelled(NamedTuple):
    """Some documents, and the class of each."""

    texts: Any  # a list of bytes, or a Cut
    labels: npt.NDArray[Any] | None


class Cut(NamedTuple):
    """Documents that lie in one buffer."""

    buffer: bytes
    begins: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.begins)

    def native(self, lower: bool) -> Any:
        """Return the documents as native code reads them."""
        return _native.text.Documents(self.buffer, self.begins, self.ends, lower)


@dataclass
class folder:  # noqa: N801  (called like a function, and read like a file)
    """The files of a folder, each a document; the subfolder that a file lies in is its class.

    Files that cannot be read are left out, and listed in ``skipped`` with the reason.

    Parameters
    ----------
    path
        The folder. Files right in it have no class.
    pattern
        Which files, as :meth:`pathlib.Path.glob` takes it within each class's folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     Path(place, "spam").mkdir()
    ...     _ = Path(place, "spam", "1.txt").write_text("free money")
    ...     for texts, labels in folder(place):
    ...         print(texts, labels)
    [b'free money'] ['spam']
    """

    path: str | os.PathLike[str]
    pattern: str = "**/*"
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not Path(self.path).is_dir():
            raise FileNotFoundError(f"there is no folder {os.fspath(self.path)!r}")

    def __iter__(self) -> Iterator[Labelled]:
        self.skipped.clear()
        texts: list[bytes] = []
        labels: list[str] = []
        size = 0
        for file, label in self._files():
            try:
                text = file.read_bytes()
            except OSError as error:
                self.skipped.append((str(file), error.strerror or type(error).__name__))
                continue
            texts.append(text)
            labels.append(label)
            size += len(text)
            if size >= CHUNK:
                yield Labelled(texts, np.array(labels))
                texts, labels, size = [], [], 0
        if texts:
            yield Labelled(texts, np.array(labels))

    def _files(self) -> Iterator[tuple[Path, str]]:
        home = Path(self.path)
        inside = sorted(each for each in home.iterdir() if each.is_dir() and not each.name.startswith("."))
        for place in inside:
            for file in sorted(place.glob(self.pattern)):
                if not file.is_dir():
                    yield file, place.name


@dataclass
class lines:  # noqa: N801
    r"""The lines of a file, each a class, a separator and a document; or only a document.

    The file may be larger than memory.

    Parameters
    ----------
    path
        The file.
    separator
        What stands between the class and the document: one ASCII character.
    labelled
        Whether lines begin with a class.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = Path(place, "sms").write_text("ham\tlunch?\nspam\tfree money\n")
    ...     for texts, labels in lines(f"{place}/sms"):
    ...         print(len(texts), labels)
    2 ['ham' 'spam']
    """

    path: str | os.PathLike[str]
    separator: str = "\t"
    labelled: bool = True
    chunk: int = CHUNK

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or not self.separator.isascii() or self.separator in "\r\n":
            raise ValueError(f"separator must be one ASCII character that ends no line; got {self.separator!r}")
        if not Path(self.path).is_file():
            raise FileNotFoundError(f"there is no file {os.fspath(self.path)!r}")

    def __iter__(self) -> Iterator[Labelled]:
        labels = _native.text.Words() if self.labelled else None
        done = 0
        with Path(self.path).open("rb") as file, ThreadPoolExecutor(1) as reader:
            rest, coming = b"", reader.submit(file.read, self.chunk)
            while chunk := coming.result():
                coming = reader.submit(file.read, self.chunk)  # while this one is learnt
                data = rest + chunk if rest else chunk
                size = data.rfind(b"\n") + 1
                if size == 0:  # a line that is longer than what is read at a time
                    rest = data
                    continue
                rest = data[size:]
                found = _native.text.lines(data, size, self.separator, labels)
                yield self._labelled(data, found, labels, done)
                done += len(found[0])
            if rest:
                found = _native.text.lines(rest, len(rest), self.separator, labels)
                yield self._labelled(rest, found, labels, done)

    def _labelled(self, data: bytes, found: Any, labels: Any, done: int) -> Labelled:
        begins, ends, codes = found
        if labels is None:
            return Labelled(Cut(data, begins, ends), None)
        filled = (ends > begins) | (codes >= 0)  # lines with nothing in them are no documents
        bad = np.flatnonzero((codes < 0) & filled)
        if bad.size:
            line = data[begins[bad[0]] : ends[bad[0]]][:60].decode("utf-8", "replace")
            raise ValueError(
                f"line {done + int(bad[0]) + 1} of {os.fspath(self.path)} has no {self.separator!r} between class and "
                f"document: {line!r}"
            )
        names = np.array(labels.list(), dtype=str)
        return Labelled(Cut(data, begins[filled], ends[filled]), names[codes[filled]])

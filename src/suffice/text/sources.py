"""Sources of documents: a folder with one file per document, a file with one line per document, a stream."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.text.documents import Documents, decode_texts, is_utf8, list_texts
from suffice.text.features import Features

#: About how many bytes are read at a time.
CHUNK = 1 << 26
#: The number of pairs (text, label) of a stream that are one batch.
_PAIRS = 4096


class LabelledTexts(NamedTuple):
    """Documents, and the class of each."""

    texts: Any  # a list of bytes, or a TextBuffer
    labels: npt.NDArray[Any] | None


class TextBuffer(NamedTuple):
    """Documents in one buffer of bytes."""

    buffer: bytes
    begins: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.begins)

    def split(self) -> list[bytes]:
        """Return the documents as a list."""
        return [self.buffer[begin:end] for begin, end in zip(self.begins, self.ends, strict=True)]


@dataclass
class folder:  # noqa: N801  (called like a function, and read like a file)
    """The files of a folder as documents; the class of a file is the name of its subfolder.

    Files that cannot be read are left out, and listed in ``skipped`` with the reason.

    Parameters
    ----------
    path
        The folder. Files outside subfolders have no class and are left out.
    pattern
        The files to read, as :meth:`pathlib.Path.glob` takes it, in the folder of each class.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     Path(directory, "spam").mkdir()
    ...     _ = Path(directory, "spam", "1.txt").write_text("free money")
    ...     for texts, labels in folder(directory):
    ...         print(texts, labels)
    [b'free money'] ['spam']
    """

    path: str | os.PathLike[str]
    pattern: str = "**/*"
    skipped: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not Path(self.path).is_dir():
            raise FileNotFoundError(f"there is no folder {os.fspath(self.path)!r}")

    def __iter__(self) -> Iterator[LabelledTexts]:
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
                yield LabelledTexts(texts, np.array(labels))
                texts, labels, size = [], [], 0
        if texts:
            yield LabelledTexts(texts, np.array(labels))

    def _files(self) -> Iterator[tuple[Path, str]]:
        directories = (each for each in Path(self.path).iterdir() if each.is_dir() and not each.name.startswith("."))
        for directory in sorted(directories):
            for file in sorted(directory.glob(self.pattern)):
                if not file.is_dir():
                    yield file, directory.name


@dataclass
class lines:  # noqa: N801
    r"""The lines of a file: a class, a separator and a document each, or a document alone.

    The file may be larger than memory.

    Parameters
    ----------
    path
        The file.
    separator
        The ASCII character between class and document.
    labelled
        Whether lines begin with a class.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     _ = Path(directory, "sms").write_text("ham\tlunch?\nspam\tfree money\n")
    ...     for texts, labels in lines(f"{directory}/sms"):
    ...         print(len(texts), labels)
    2 ['ham' 'spam']
    """

    path: str | os.PathLike[str]
    separator: str = "\t"
    labelled: bool = True
    chunk: int = CHUNK

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or not self.separator.isascii() or self.separator in "\r\n":
            raise ValueError(f"separator must be one ASCII character other than a line break; got {self.separator!r}")
        if not Path(self.path).is_file():
            raise FileNotFoundError(f"there is no file {os.fspath(self.path)!r}")

    def __iter__(self) -> Iterator[LabelledTexts]:
        labels = _native.text.Words() if self.labelled else None
        line = 0
        with Path(self.path).open("rb") as file, ThreadPoolExecutor(1) as reader:
            rest, pending = b"", reader.submit(file.read, self.chunk)
            while chunk := pending.result():
                pending = reader.submit(file.read, self.chunk)  # read ahead while the caller uses this chunk
                data = rest + chunk if rest else chunk
                size = data.rfind(b"\n") + 1
                if size == 0:  # a line longer than a chunk
                    rest = data
                    continue
                rest = data[size:]
                found = _native.text.lines(data, size, self.separator, labels)
                yield self._split_labels(data, found, labels, line)
                line += len(found[0])
            if rest:
                found = _native.text.lines(rest, len(rest), self.separator, labels)
                yield self._split_labels(rest, found, labels, line)

    def _split_labels(self, data: bytes, found: Any, labels: Any, line: int) -> LabelledTexts:
        begins, ends, codes = found
        if labels is None:
            return LabelledTexts(TextBuffer(data, begins, ends), None)
        filled = (ends > begins) | (codes >= 0)  # empty lines are not documents
        invalid = np.flatnonzero((codes < 0) & filled)
        if invalid.size:
            text = data[begins[invalid[0]] : ends[invalid[0]]][:60].decode("utf-8", "replace")
            raise ValueError(
                f"line {line + int(invalid[0]) + 1} of {os.fspath(self.path)} has no {self.separator!r} between class "
                f"and document: {text!r}"
            )
        names = np.array(labels.list(), dtype=str)
        return LabelledTexts(TextBuffer(data, begins[filled], ends[filled]), names[codes[filled]])


def open_source(X: Any) -> Any:
    """Return the source at a path: the files of a folder, or the lines of a file; anything else unchanged.

    Examples
    --------
    >>> open_source(["free money"])
    ['free money']
    """
    if isinstance(X, Path):
        return folder(X) if X.is_dir() else lines(X)
    return X


def read_documents(X: Any, features: Features, encoding: str) -> Documents:
    """Return documents in memory as the rows of a batch; bytes that are not valid text separate words.

    Examples
    --------
    >>> len(read_documents(["free money", "lunch?"], Features(), "utf-8"))
    2
    """
    if isinstance(X, TextBuffer):
        if is_utf8(encoding):
            return Documents(_native.text.Documents(X.buffer, X.begins, X.ends, features.lowers))
        X = X.split()
    return Documents(decode_texts(X, encoding, "replace"), features.lowers)


def labelled_batches(stream: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the batches of a stream as tuples (texts, labels) or (texts, labels, weights).

    Pairs (text, label) of single documents are collected into batches.

    Examples
    --------
    >>> list(labelled_batches([("free", "spam"), ("lunch", "ham"), (["money"], ["spam"])]))
    [(['free', 'lunch'], ['spam', 'ham']), (['money'], ['spam'])]
    """
    pairs: list[tuple[Any, Any]] = []
    for number, item in enumerate(stream):
        if not isinstance(item, tuple) or len(item) not in (2, 3):
            raise ValueError(
                f"item {number} of the stream is a {type(item).__name__}; a stream yields pairs (text, label), or "
                "batches (texts, labels) or (texts, labels, weights)"
            )
        if len(item) == 2 and isinstance(item[0], str | bytes):
            pairs.append(item)
            if len(pairs) == _PAIRS:
                yield _join_pairs(pairs)
                pairs = []
            continue
        if pairs:
            yield _join_pairs(pairs)
            pairs = []
        texts, labels, *weight = item
        if labels is None:
            raise ValueError(f"item {number} of the stream has no classes: it cannot be learned from")
        yield texts if isinstance(texts, TextBuffer) else list_texts(texts), labels, *weight
    if pairs:
        yield _join_pairs(pairs)


def _join_pairs(pairs: list[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    texts, labels = zip(*pairs, strict=True)
    return list(texts), list(labels)

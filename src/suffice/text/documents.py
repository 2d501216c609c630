"""Documents: texts of any collection as the rows of a batch."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.text.features import Features

#: The number of documents of a batch.
_BATCH = 1 << 16
#: Types of texts, of which none is a path.
_TEXTS = frozenset({str, bytes})


class Documents:
    """Texts as the rows of a batch, which an engine splits into parts of about equal size in bytes.

    Parameters
    ----------
    texts
        Strings, or bytes in UTF-8; bytes that are not valid UTF-8 separate words.
    lower
        Whether the tokeniser converts letters to lower case.
    first
        The position of the first document, for error messages.

    Examples
    --------
    >>> Documents(["free money", b"lunch?"]).shape
    (2, 1)
    """

    def __init__(self, texts: Sequence[str | bytes] | Any, lower: bool = True, first: int = 0) -> None:
        given: Any = texts
        self.native = (
            given if isinstance(given, _native.text.Documents) else _native.text.Documents(list(given), first, lower)
        )
        self.shape = (len(self.native), 1)
        self.indptr: npt.NDArray[np.int64] = self.native.ends()

    @property
    def nnz(self) -> int:
        """The number of bytes of all documents."""
        return int(self.indptr[-1])

    def __len__(self) -> int:
        return self.shape[0]


def list_texts(X: Any) -> list[str | bytes]:
    """Return a collection of documents in memory as a list.

    Lists, arrays, columns of data frames, data frames with one column, and any iterable. A path is replaced by the
    content of the file.

    Examples
    --------
    >>> list_texts(np.array(["free money", "lunch?"]))
    ['free money', 'lunch?']
    """
    if isinstance(X, str | bytes | Path):
        raise ValueError(
            f"X must be a collection of documents, not one {type(X).__name__}: pass [text], or "
            "suffice.text.folder(path) or suffice.text.lines(path) for files"
        )
    texts = X if isinstance(X, list) else _list_column(X)
    kinds = set(map(type, texts))
    if not kinds <= _TEXTS and any(issubclass(kind, Path) for kind in kinds):
        return [text.read_bytes() if isinstance(text, Path) else text for text in texts]
    return texts


def _list_column(X: Any) -> list[Any]:
    """Return the entries of an array, a column or an iterable."""
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 2:
        if shape[1] != 1:
            raise ValueError(f"X must be one column of documents; it has {shape[1]}: pass the one with the text")
        if hasattr(X, "iloc"):
            X = X.iloc[:, 0]
        elif hasattr(X, "column"):  # Arrow
            X = X.column(0)
        else:
            X = X[:, 0] if isinstance(X, np.ndarray) else X.to_series()
    elif shape is not None and len(shape) != 1:
        raise ValueError(f"X must be one column of documents; its shape is {tuple(shape)}")
    for method in ("tolist", "to_list", "to_pylist"):  # NumPy and pandas, polars, Arrow
        if hasattr(X, method):
            return list(getattr(X, method)())
    if not isinstance(X, Iterable):
        raise TypeError(f"X must be a collection of documents; got {type(X).__name__}")
    return list(X)


def batch_documents(texts: list[str | bytes], features: Features) -> Iterator[Documents]:
    """Yield documents in batches: texts that are not ASCII are copied, one batch at a time.

    Examples
    --------
    >>> [len(batch) for batch in batch_documents(["free money", "lunch?"], Features())]
    [2]
    """
    for first in range(0, len(texts), _BATCH):
        yield Documents(texts[first : first + _BATCH], features.lowers, first)


def is_utf8(encoding: str) -> bool:
    """Whether an encoding is UTF-8, which needs no decoding; raise for an unknown encoding."""
    try:
        codecs.lookup(encoding)
    except (LookupError, TypeError, ValueError):
        raise ValueError(f"encoding is {encoding!r}: name a codec of Python, such as 'utf-8' or 'latin-1'") from None
    return encoding.lower().replace("_", "-") in ("utf-8", "utf8")


def decode_texts(X: Any, encoding: str = "utf-8", errors: str = "strict") -> list[str | bytes]:
    r"""Return documents as a list in which all bytes are UTF-8.

    Examples
    --------
    >>> decode_texts([b"caf\xe9"], "latin-1")
    ['café']
    """
    texts = list_texts(X)
    plain = is_utf8(encoding)
    if plain and errors == "replace":
        return texts
    for position, text in enumerate(texts):
        if isinstance(text, bytes):
            try:
                decoded = text.decode(encoding, errors)
            except UnicodeDecodeError as error:
                cure = "give its encoding, or replace invalid bytes (decode_error='replace')"
                reason = f"{error.reason}; documents[{position}] is not valid {encoding}: {cure}"
                raise UnicodeDecodeError(error.encoding, error.object, error.start, error.end, reason) from None
            if not plain or errors != "strict":
                texts = list(texts) if texts is X else texts
                texts[position] = decoded
    return texts

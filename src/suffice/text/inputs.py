"""Documents and classes as they come in: lists, columns, paths, sources, streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.data.stream import numbered
from suffice.statistics.base import FloatArray
from suffice.text.documents import Documents, decoded, is_utf8
from suffice.text.features import Features
from suffice.text.sources import Cut, folder, lines

#: So many single documents of a stream are learnt at a time.
_TOGETHER = 4096


class Arrived(NamedTuple):
    """Some validated documents."""

    documents: Documents
    labels: npt.NDArray[Any] | None
    weight: FloatArray | None


def source_of(X: Any) -> Any:
    """Return a path as what reads it: a folder of files, or the lines of a file."""
    if isinstance(X, Path):
        return folder(X) if X.is_dir() else lines(X)
    return X


def is_stream(X: Any) -> bool:
    """Whether documents bring their classes with them."""
    return isinstance(X, folder | lines) or validation.is_iterator(X)


def arrived(X: Any, y: Any, weight: Any, features: Features, encoding: str) -> Arrived:
    """Return documents in memory, their classes and weights, checked."""
    documents = read(X, features, encoding)
    labels = None if y is None else validation.targets(y, len(documents))
    return Arrived(documents, labels, validation.weights(weight, len(documents)))


def read(X: Any, features: Features, encoding: str) -> Documents:
    """Return documents in memory as engines read them; bytes that are no text separate words."""
    if isinstance(X, Cut):
        if is_utf8(encoding):
            return Documents(X.native(features.lowers))
        X = [X.buffer[begin:end] for begin, end in zip(X.begins, X.ends, strict=True)]
    return Documents(decoded(X, encoding, "replace"), features.lowers)


def batches(stream: Any, features: Features, encoding: str) -> Iterator[tuple[int, Arrived]]:
    """Yield what a stream brings: batches (texts, labels) or (texts, labels, weights), or pairs (text, label).

    Each comes with the number of the stream's item; pairs, which are put together, with that of the last of them.
    """
    waiting: list[tuple[Any, Any]] = []
    for number, item in enumerate(stream):
        if not isinstance(item, tuple) or len(item) not in (2, 3):
            raise ValueError(
                f"item {number} of the stream is a {type(item).__name__}; a stream brings pairs (text, label), or "
                "batches (texts, labels) or (texts, labels, weights)"
            )
        if len(item) == 2 and isinstance(item[0], str | bytes):
            waiting.append(item)
            if len(waiting) == _TOGETHER:
                yield number, _paired(waiting, features, encoding)
                waiting = []
            continue
        if waiting:
            yield number - 1, _paired(waiting, features, encoding)
            waiting = []
        texts, labels, weight = (*item, None)[:3]
        with numbered(number):
            if labels is None:
                raise ValueError("these documents come without classes: there is nothing to learn from them")
            came = arrived(texts, labels, weight, features, encoding)
        yield number, came
    if waiting:
        yield number, _paired(waiting, features, encoding)


def _paired(pairs: list[tuple[Any, Any]], features: Features, encoding: str) -> Arrived:
    texts, labels = zip(*pairs, strict=True)
    return arrived(list(texts), np.array(labels), None, features, encoding)

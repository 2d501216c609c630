"""Streams of batches, larger than memory in total: each pass reads one batch after the other."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any, Self, TypeVar
from zlib import crc32

import numpy as np

from suffice.data.dataset import Dataset, Piece, columns_of_piece, first_rows, length, missing_targets, no_rows
from suffice.data.frames import as_frame, cells_of, column_names, select_columns
from suffice.data.sample import take_rows
from suffice.data.spill import Spill
from suffice.user_warnings import warn_user

R = TypeVar("R")

#: Methods that start a stream: of a table of ``suffice.tables``, a dataset of pyarrow, a lazy frame of Polars.
STARTS = ("batches", "to_batches", "collect_batches")
#: Names of the entries of a batch that is a tuple.
ENTRIES = ("X", "y", "sample_weight")


class SpillWarning(UserWarning):
    """Batches that can be read once only were written to a temporary file, to be read again."""


class StreamDataset(Dataset):
    """Batches of a stream, and the functions applied to each, in this process.

    Parameters
    ----------
    read
        Starts the stream, and returns an iterator over its batches.
    steps
        Functions applied to each batch, in order.
    is_read_once
        Whether ``read`` can be called once only. :meth:`persist` then writes what does not fit in memory to a file.
    head
        The first batch.
    spill
        The batches that are kept, which ``read`` returns.
    """

    is_in_process = True

    def __init__(
        self,
        read: Callable[[], Iterator[Any]],
        steps: Sequence[Callable[[Any], Any]] = (),
        *,
        is_read_once: bool = False,
        head: Any = None,
        spill: Spill | None = None,
    ) -> None:
        self._read = read
        self._steps = tuple(steps)
        self._is_read_once = is_read_once
        self._head = head
        self._spill = spill

    def map_parts(self, function: Callable[[Any], Any]) -> Self:
        """Return the results of a function of each batch."""
        return type(self)(
            self._read, (*self._steps, function), is_read_once=self._is_read_once, head=self._head, spill=self._spill
        )

    def select(self, *names: str) -> Self:
        """Return the same rows with less beside them."""
        return self.map_parts(partial(_less, names))

    def persist(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> tuple[Self, Any]:
        """Return the batches, made once; and a function of each, added up.

        They are kept in memory while they are few. Beyond that, a stream that can be read again is, and one that
        cannot is kept in a temporary file.
        """
        spill: Spill | None = Spill()
        total: Any = None
        try:
            for part in self.iterate():
                one = function(part)
                total = one if total is None else add(total, one)
                if spill is None:
                    continue
                spill.add(part)
                if spill.is_on_disk and not self._is_read_once:
                    spill.close()
                    spill = None
        except BaseException:
            if spill is not None:
                spill.close()
            raise
        if spill is None:
            return self, total
        if spill.is_on_disk:
            warn_user(
                "X is a stream that is read once, and its rows are needed several times: they were written to a "
                "temporary file, which is deleted after the fit. Give a function that starts the stream to have it "
                "read again instead",
                SpillWarning,
            )
        return type(self)(spill.__iter__, head=self._head, spill=spill), total

    @property
    def is_rereadable(self) -> bool:
        """Whether the stream can be started again."""
        return not self._is_read_once

    def rereadable(self) -> Self:
        """Return the same batches, kept where they are read once."""
        return self.persist(_nothing, operator.add)[0] if self._is_read_once else self

    def release(self) -> None:
        """Delete what is kept."""
        if self._spill is not None:
            self._spill.close()

    def reduce(self, add: Callable[[R, R], R]) -> R | None:
        """Return all batches added up in order."""
        total: R | None = None
        for part in self.iterate():
            total = part if total is None else add(total, part)
        return total

    def iterate(self) -> Iterator[Any]:
        """Yield what the steps make of each batch, in order."""
        for number, part in enumerate(self._read()):
            made = part
            with numbered(number):
                for step in self._steps:
                    if made is None:
                        break
                    made = step(made)
            if made is not None:
                yield made

    def fold(self, function: Callable[[R, Any], R], state: R) -> R:
        """Return the state after all batches, one after another."""
        for part in self.iterate():
            state = function(state, part)
        return state

    def map_rows(
        self, function: Callable[[Any], Any], names: Sequence[str], features: Sequence[str] | None = None
    ) -> Any:
        """Return an iterator over the results of each batch: an array, or a tuple of arrays."""
        return self.map_parts(partial(_of_x, function, None if features is None else list(features))).iterate()

    def example(self) -> Any:
        """Return the first rows of the stream."""
        return first_rows(self._head["X"])


def is_stream(x: Any) -> bool:
    """Whether x is a stream of batches: an iterator, a function that starts one, or a table that is read in batches.

    Examples
    --------
    >>> is_stream(iter([])), is_stream(lambda: iter([])), is_stream([[1.0]])
    (True, True, False)
    """
    return isinstance(x, Iterator) or _starts(x) is not None


def stream_dataset(X: Any, **beside: Any) -> StreamDataset:
    """Return the batches of a stream.

    Parameters
    ----------
    X
        An iterator over batches; a function without arguments that returns one, each time anew; a dataset of pyarrow; a
        lazy frame of Polars; or an object with a method ``batches`` that returns an iterator. A batch is a tuple (X, y)
        or (X, y, sample_weight), a dictionary of the arguments of ``fit`` ("X", "y", "offset", ...), or X alone, where
        the others are columns of it.
    **beside
        The names of the columns of X that hold y, sample_weight and so on; None where the batches bring them.
    """
    named: dict[str, str | list[str]] = {}
    for name, value in beside.items():
        if value is None:
            continue
        if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise ValueError(
                f"X is a {type(X).__name__}, a stream whose batches bring their own {name}: leave {name} out, give the "
                "name of a column of X, or gather the rows of X first"
            )
        named[name] = value
    start = _starts(X)
    piece = partial(_known_piece, named, tuple(beside))
    batches = X if start is None else start()
    passed: list[Any] = []
    head = None
    for number, batch in enumerate(batches):
        passed.append(batch)
        with numbered(number):
            head = piece(batch)
        if head is not None:
            break
    if start is not None and hasattr(batches, "close"):
        batches.close()
    if head is None:
        raise no_rows()
    if start is None:
        return StreamDataset(_once(_pieces(chain(passed, X), piece)), is_read_once=True, head=head)
    return StreamDataset(_Passes(start, piece, head), head=head)


@contextmanager
def numbered(batch: int) -> Iterator[None]:
    """Add the number of a batch of a stream to an error."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in batch {batch} of the stream, counted from 0")
        raise


class _Passes:
    """Passes over a stream that is restarted for each: all of them must yield the same rows.

    The number of rows and the first row of each batch are compared. A function that returns the same iterator each
    time, or draws new rows, would otherwise give a wrong fit without an error.
    """

    def __init__(self, start: Callable[[], Iterator[Any]], piece: Callable[[Any], Piece | None], head: Piece) -> None:
        self._start = start
        self._piece = piece
        self._head = _fingerprint(head)
        self._first: tuple[int, int] | None = None  # rows and fingerprint of the first pass

    def __call__(self) -> Iterator[Piece]:
        rows = total = 0
        for piece in _pieces(self._start(), self._piece):
            found = _fingerprint(piece)
            if not rows and found != self._head:
                raise _changed("another first batch")
            rows, total = rows + length(piece["X"]), crc32(found.to_bytes(4, "little"), total)
            yield piece
        if not rows:
            raise _changed("no rows")
        if self._first is None:
            self._first = rows, total
        elif self._first != (rows, total):
            before = self._first[0]
            raise _changed(f"{rows} rows, and {before} before" if rows != before else "other rows than before")


def _fingerprint(piece: Piece) -> int:
    """Return a checksum of the first row of a piece, its target and weight included."""
    columns = [value for name, value in piece.items() if name != "place"]
    firsts = [take_rows(value, slice(1)) for value in columns]
    return crc32(pickle.dumps([cells_of(first) for first in firsts]))


def _changed(what: str) -> ValueError:
    return ValueError(
        f"the stream was started again, and brought {what}: a function must start the stream from its beginning each "
        "time, and give the same rows"
    )


def _starts(x: Any) -> Callable[[], Iterator[Any]] | None:
    """Return the function that starts a stream that can be read again; None for anything else."""
    if hasattr(x, "shape"):  # rows that are here, of Arrow among others
        return None
    for name in STARTS:
        if callable(getattr(x, name, None)):
            return partial(_batches_of, x, name)
    return partial(_called, x) if callable(x) and not isinstance(x, Iterator) else None


def _batches_of(source: Any, method: str) -> Iterator[Any]:
    return iter(getattr(source, method)())


def _called(start: Callable[[], Any]) -> Iterator[Any]:
    found = start()
    try:
        return iter(found)
    except TypeError:
        raise TypeError(
            f"X is a function, which must return an iterator over batches; it returned {_described(found)}"
        ) from None


def _once(batches: Iterator[Any]) -> Callable[[], Iterator[Any]]:
    """Return a function that returns the batches of a stream, once."""
    left = [batches]

    def read() -> Iterator[Any]:
        if not left:
            raise TypeError(
                "X is a stream that is read once, and its rows are needed several times: give a function that starts "
                "the stream"
            )
        return left.pop()

    return read


def _pieces(batches: Iterator[Any], piece: Callable[[Any], Piece | None]) -> Iterator[Piece]:
    """Yield batches with rows as pieces, with their places in the stream."""
    for number, batch in enumerate(batches):
        with numbered(number):
            found = piece(batch)
        if found is not None:
            yield {**found, "place": (number, 0)}


def _known_piece(named: dict[str, str | list[str]], columns: tuple[str, ...], batch: Any) -> Piece | None:
    """Return a batch as :func:`piece_of` does; raise where it brings to ``fit`` what the model does not take."""
    piece = piece_of(named, "y" in columns, batch)
    known = ("X", *columns)
    more = [name for name in piece or () if name not in known]
    if more and "y" in columns:
        raise ValueError(f"a batch of the stream brings {more[0]!r}; it may bring {', '.join(known)}")
    return piece


def piece_of(named: dict[str, str | list[str]], needs_targets: bool, batch: Any) -> Piece | None:
    """Return a batch by the names of the arguments that its entries are; None where it has no rows.

    Examples
    --------
    >>> piece_of({}, True, ([[1.0], [2.0]], [0, 1]))
    {'X': [[1.0], [2.0]], 'y': [0, 1]}
    """
    entries = _entries(batch)
    if "X" not in entries:
        raise ValueError(f"a batch of the stream must hold X; it holds {', '.join(map(str, entries)) or 'nothing'}")
    x = entries.pop("X")
    piece = columns_of_piece(as_frame(x), {name: value for name, value in entries.items() if value is not None}, named)
    columns = column_names(piece["X"]) if needs_targets and "y" not in piece else None
    if columns is not None:
        raise missing_targets(f"give the name of the column of X that holds it; its columns are {columns}")
    if needs_targets and "y" not in piece:
        raise missing_targets(
            f"a batch of the stream must be a tuple (X, y) or (X, y, sample_weight), or a dictionary with both; got "
            f"{_described(batch)}"
        )
    return piece if length(piece["X"]) else None


def _entries(batch: Any) -> dict[str, Any]:
    if isinstance(batch, Mapping):
        return dict(batch)
    if isinstance(batch, tuple):
        if not 1 <= len(batch) <= len(ENTRIES):
            raise ValueError(
                "a batch of the stream must be a tuple (X, y) or (X, y, sample_weight); got one of "
                f"{len(batch)} entries: give a dictionary for others"
            )
        return dict(zip(ENTRIES, batch, strict=False))
    return {"X": batch}


def _described(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"a {type(value).__name__}" + ("" if shape is None else f" of shape {tuple(shape)}")


def _nothing(_: Any) -> None:
    return None


def _less(names: tuple[str, ...], piece: Piece) -> Piece:
    return {name: value for name, value in piece.items() if name in (*names, "place")}


def _of_x(function: Callable[[Any], Any], features: list[str] | None, piece: Piece) -> Any:
    answer = function(piece if features is None else {**piece, "X": select_columns(piece["X"], features)})
    return tuple(map(np.asarray, answer)) if isinstance(answer, tuple) else np.asarray(answer)

"""Dataset, the interface to rows that models are fitted through; as_dataset, which returns one for X."""

from __future__ import annotations

import copy
import importlib
import operator
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from suffice.data.frames import column_names, data_frame, fill_masked, is_masked, select_columns, split_columns
from suffice.data.sample import draw_rows, merge_samples, take_rows
from suffice.kernels.engine import Batch, Engine, Execution, ThreadEngine, default_engine, engine_for
from suffice.kernels.libraries import CLUSTERS, cluster_of, is_foreign, taken
from suffice.kernels.protocol import Kernels
from suffice.statistics.base import Addable

S = TypeVar("S", bound=Addable)
A = TypeVar("A")
R = TypeVar("R")

#: X and the other entries of its rows, by argument name; and the "place" of the part in the order of all, if parts are
#: numbered.
Piece = dict[str, Any]


class Dataset(ABC):
    """Rows in parts and in order: in memory, in files, on the workers of a cluster.

    A part is a dictionary with ``"X"`` and what belongs to its rows (``"y"``, ``"sample_weight"``, ``"offset"`` and so
    on, by the names of the arguments of ``fit``), or what a function made of such a part. To be cut into folds by
    ``cross_validate``, parts also hold their ``"place"``: two whole numbers by which parts are ordered. Every estimator
    takes a dataset in the place of X. A backend implements the methods below. The functions that it is given pickle,
    so that they can be sent to other processes.
    """

    #: Whether parts are worked on in this process, so that a model's own settings for threads apply to them.
    is_in_process: ClassVar[bool] = False

    @property
    def is_rereadable(self) -> bool:
        """Whether the parts can be read several times."""
        return True

    @property
    def in_memory(self) -> Any:
        """The only part, where all rows are one part in this process; None otherwise."""
        return None

    @property
    def aggregates(self) -> Any:
        """The sums that a database computes, :class:`~suffice.data.sql.DatabaseSums`; None where parts are read."""
        return None

    @abstractmethod
    def map_parts(self, function: Callable[[Any], Any]) -> Dataset:
        """Return the results of a function of each part; nothing need be computed before they are asked for."""

    @abstractmethod
    def reduce(self, add: Callable[[R, R], R]) -> R | None:
        """Return the sum of all parts, added in an order that does not change; parts that are None are skipped.

        None where there are no parts.
        """

    def map_reduce(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> R | None:
        """Return the sum of a function of each part, as :meth:`map_parts` and :meth:`reduce` compute it."""
        return self.map_parts(function).reduce(add)

    @abstractmethod
    def iterate(self) -> Iterator[Any]:
        """Yield the parts in order, in this process; those that are None are skipped."""

    @abstractmethod
    def fold(self, function: Callable[[R, Any], R], state: R) -> R:
        """Return the state after ``state = function(state, part)``, part by part in order."""

    @abstractmethod
    def persist(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> tuple[Dataset, Any]:
        """Return the parts, computed once and kept between passes, and the sum of a function of each part."""

    def rereadable(self) -> Dataset:
        """Return the same parts, which can be read several times; they are kept where they could not be."""
        return self

    @abstractmethod
    def release(self) -> None:
        """Delete what :meth:`persist` or :meth:`rereadable` keeps."""

    @abstractmethod
    def map_rows(
        self, function: Callable[[Any], Any], names: Sequence[str], features: Sequence[str] | None = None
    ) -> Any:
        """Return the results for each row, lazily, as a collection of the kind of X.

        Parameters
        ----------
        function
            Returns the results for the rows of one part: an array, or a tuple of arrays for several names.
        names
            The names of the result columns, if the collection has named columns. For several names, the result is a
            tuple of collections if columns are collections.
        features
            The columns that X is to have in the parts; all by default. Other columns remain in the result where
            a collection has columns.
        """

    @abstractmethod
    def example(self) -> Any:
        """Return one row or more of the kind that X has in every part: of the rows, or invented."""

    @abstractmethod
    def select(self, *names: str) -> Dataset:
        """Return the same rows with these entries of the parts alone."""


@contextmanager
def read_again(data: Dataset) -> Iterator[Dataset]:
    """Yield the same rows as a dataset that can be read several times; what is kept for that is deleted afterwards."""
    kept = data.rereadable()
    try:
        yield kept
    finally:
        if kept is not data:
            kept.release()


def columns_of_piece(x: Any, also: Piece, named: dict[str, str | list[str]]) -> Piece:
    """Return X with the entries that belong to its rows, some of which may be columns of X.

    Parameters
    ----------
    x
        Rows, with columns that are no features where some are named.
    also
        One entry per row, by the name of the argument that brings it.
    named
        The column of X, or the columns, that are such an entry.
    """
    if named:
        taken, there = listed(named.values()), column_names(x) or []
        for name in taken:
            if name not in there:
                raise ValueError(f"X has no column {name!r}; its columns are {there}")
        also = {**also, **{key: split_columns(x, column) for key, column in named.items()}}
        x = select_columns(x, [name for name in there if name not in taken])
    piece = {"X": fill_masked(x), **{name: unmasked(name, value) for name, value in also.items()}}
    check_lengths(piece)
    return piece


def unmasked(name: str, values: Any) -> Any:
    """Return what belongs to rows; raise where a masked array hides an entry.

    Examples
    --------
    >>> unmasked("y", np.ma.array([1, 2], mask=[0, 1]))
    Traceback (most recent call last):
    ValueError: y[1] is masked: only cells of X may be missing; drop the row, for example with X[~y.mask]
    """
    if not is_masked(values):
        return values
    hidden = np.argwhere(np.ma.getmaskarray(values))
    if len(hidden):
        place = ", ".join(map(str, hidden[0].tolist()))
        raise ValueError(
            f"{name}[{place}] is masked: only cells of X may be missing; drop the row, for example with X[~{name}.mask]"
        )
    return np.asarray(values.data)


def check_lengths(piece: Piece) -> None:
    """Raise where what belongs to the rows of X has not one entry for each.

    Examples
    --------
    >>> check_lengths({"X": [[1.0], [2.0]], "y": [0]})
    Traceback (most recent call last):
    ValueError: X has 2 rows and y has 1: there must be one per row
    """
    rows = length(piece["X"])
    for name, column in piece.items():
        if name != "X" and length(column) != rows:
            raise wrong_length(name, rows, length(column))


def wrong_length(name: str, rows: int, count: int) -> ValueError:
    """Return the error about an argument that has not one entry for each row of X."""
    return ValueError(f"X has {rows} rows and {name} has {count}: there must be one per row")


def columns_of_answer(answer: Any) -> tuple[npt.NDArray[Any], ...]:
    """Return the results for the rows of a part, an array or a tuple of arrays, as a tuple.

    Examples
    --------
    >>> columns_of_answer([1.0, 2.0])
    (array([1., 2.]),)
    """
    return tuple(map(np.asarray, answer)) if isinstance(answer, tuple) else (np.asarray(answer),)


def listed(names: Iterable[str | list[str]]) -> list[str]:
    """Return all names, each once.

    Examples
    --------
    >>> listed(["y", ["a", "y"]])
    ['y', 'a']
    """
    return list(dict.fromkeys(name for each in names for name in ([each] if isinstance(each, str) else each)))


def length(x: Any) -> int:
    """Return the number of rows.

    Examples
    --------
    >>> length([1, 2]), length(np.zeros((3, 1)))
    (2, 3)
    """
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def first_rows(x: Any) -> Any:
    """Return the first two rows of an array, a list or a data frame, and all of anything else.

    Examples
    --------
    >>> first_rows([[1.0], [2.0], [3.0]])
    [[1.0], [2.0]]
    """
    return take_rows(x, slice(2)) if isinstance(x, list | np.ndarray) or data_frame(x) is not None else x


def stand_in(x: Any, beside: Iterable[str]) -> Piece:
    """Return an invented part: X, and ones for everything that belongs to its rows."""
    return {"X": x, **{name: np.ones(len(x) if isinstance(x, list) else x.shape[0]) for name in beside}}


class ArrayDataset(Dataset):
    """One part in memory: arrays of NumPy, torch and the like, CSR matrices, data frames.

    Examples
    --------
    >>> data = ArrayDataset({"X": [[1.0], [2.0]], "y": [0, 1]})
    >>> data.map_parts(lambda part: len(part["X"])).in_memory
    2
    """

    is_in_process = True

    def __init__(self, part: Any) -> None:
        self._part = part

    @property
    def in_memory(self) -> Any:
        """The part."""
        return self._part

    def map_parts(self, function: Callable[[Any], Any]) -> Self:
        """Return the result of a function of the part, which is computed at once."""
        return type(self)(function(self._part))

    def reduce(self, add: Callable[[R, R], R]) -> R | None:
        """Return the part."""
        part: R | None = self._part
        return part

    def map_reduce(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> R | None:
        """Return a function of the part."""
        return function(self._part)

    def iterate(self) -> Iterator[Any]:
        """Yield the part."""
        if self._part is not None:
            yield self._part

    def fold(self, function: Callable[[R, Any], R], state: R) -> R:
        """Return ``function(state, part)``."""
        return state if self._part is None else function(state, self._part)

    def persist(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> tuple[Self, Any]:
        """Return this dataset, which is in memory already, and a function of its part."""
        return self, None if self._part is None else function(self._part)

    def release(self) -> None:
        """Keep the arrays: they are the user's."""

    def map_rows(
        self, function: Callable[[Any], Any], names: Sequence[str], features: Sequence[str] | None = None
    ) -> Any:
        """Return the results for the rows."""
        return function(self._part)

    def example(self) -> Any:
        """Return the first rows."""
        return first_rows(self._part["X"])

    def select(self, *names: str) -> Self:
        """Return the same rows with these entries alone."""
        return type(self)({name: value for name, value in self._part.items() if name in names})


#: A map of memory of more bytes than this is read in blocks of rows: what is made of all rows may not fit in memory.
MAPPED = 1 << 28
#: The bytes of such a block.
BLOCK = 1 << 25


def as_dataset(X: Any, **columns: Any) -> Dataset:
    """Return X and what belongs to its rows as a dataset.

    Parameters
    ----------
    X
        Rows in memory (an array, a CSR matrix, a data frame, a list), a path, a URL or a list of paths of files (see
        :func:`suffice.tables.open_table`), a stream of batches (an iterator, a function that starts one, a dataset of
        pyarrow, a lazy frame of Polars, an object with a method ``batches``), a collection of Dask, a data frame of
        Spark, or a :class:`Dataset`. A large map of memory (``np.memmap``) is a stream of blocks of its rows.
    **columns
        What belongs to the rows, by the name of the argument of ``fit``: one entry per row, the name of a column of X,
        or None.

    Examples
    --------
    >>> as_dataset([[1.0]], y=[0]).in_memory
    {'X': [[1.0]], 'y': [0]}
    """
    X, columns = fill_masked(X), {name: unmasked(name, value) for name, value in columns.items()}
    found: Dataset | None = None
    if isinstance(X, np.memmap):
        found = _mapped_dataset(X, **columns)
    elif not isinstance(X, np.ndarray):
        of_rows = isinstance(X, list | tuple) and any(not _is_named(value) for value in columns.values())
        table = X if of_rows else open_location(X)  # a list of strings with an entry of y for each is no list of files
        found = dataset_in_parts(table, **columns)
    if found is not None:
        return found
    X, columns = take_named_columns(X, columns)
    piece = {"X": X, **{name: value for name, value in columns.items() if value is not None}}
    sized = {name: value for name, value in piece.items() if _has_rows(value)}
    if "X" in sized:
        if not length(X):
            raise no_rows()
        check_lengths(sized)
    return ArrayDataset(piece)


def take_named_columns(X: Any, columns: Piece) -> tuple[Any, Piece]:
    """Return a data frame in memory without the columns that are given by name, and what belongs to its rows.

    Examples
    --------
    >>> import pandas as pd
    >>> X, given = take_named_columns(pd.DataFrame({"x": [1.0], "sold": [True]}), {"y": "sold", "sample_weight": None})
    >>> X.columns.tolist(), given["y"].tolist()
    (['x'], [True])
    """
    named: dict[str, str | list[str]] = {name: value for name, value in columns.items() if isinstance(value, str)}
    if not named or data_frame(X) is None:
        return X, columns
    piece = columns_of_piece(X, {}, named)
    return piece.pop("X"), {**columns, **piece}


def _has_rows(value: Any) -> bool:
    """Whether a value holds one entry per row, rather than one for all of them."""
    shape = getattr(value, "shape", None)
    return isinstance(value, list | tuple) if shape is None else len(shape) > 0


def _mapped_dataset(X: np.memmap[Any, Any], **columns: Any) -> Dataset | None:
    """Return a large map of memory in blocks of rows; None for a small one, and for one that ``fit`` refuses."""
    beside = {name: np.asarray(value) for name, value in columns.items() if value is not None}
    is_whole = X.ndim == 2 and all(np.shape(value)[:1] == X.shape[:1] for value in beside.values())
    if X.nbytes <= MAPPED or not is_whole or ("y" in columns and "y" not in beside):
        return None
    from suffice.data.stream import stream_dataset

    rows = max(BLOCK * len(X) // X.nbytes, 1)

    def blocks() -> Iterator[dict[str, Any]]:
        for at in range(0, len(X), rows):
            block = {name: value[at : at + rows] for name, value in beside.items()}
            yield {"X": np.asarray(X[at : at + rows]), **block}

    return stream_dataset(blocks, **dict.fromkeys(columns))


def _is_named(value: Any) -> bool:
    """Whether what belongs to the rows is left out, or given by the names of columns."""
    names = value if isinstance(value, list | tuple) else [value]
    return value is None or all(isinstance(name, str) for name in names)


def is_in_parts(X: Any) -> bool:
    """Whether X is no array or table in memory: a location, a stream, a collection of a cluster or a dataset.

    Examples
    --------
    >>> is_in_parts([[1.0]]), is_in_parts(iter([])), is_in_parts("rows.csv")
    (False, True, True)
    """
    from suffice.data.stream import is_stream

    return isinstance(X, Dataset) or cluster_of(X) is not None or is_location(X) or is_stream(X)


def is_location(X: Any) -> bool:
    """Whether X is a path, a URL or a list of them.

    Examples
    --------
    >>> is_location("rows.csv"), is_location(["a.csv", "b.csv"]), is_location([["a"], ["b"]])
    (True, True, False)
    """
    several = X if isinstance(X, list | tuple) and X else [X]
    return all(isinstance(each, str | os.PathLike) for each in several)


def open_location(X: Any) -> Any:
    """Return the table at a path, a URL or a list of them; anything else as it is.

    Examples
    --------
    >>> open_location([[1.0]])
    [[1.0]]
    """
    if not is_location(X):
        return X
    tables = importlib.import_module("suffice.tables")  # which is above this layer: it is found by name
    try:
        source = tables.open_table(X)
    except FileNotFoundError as error:
        if isinstance(X, list | tuple) and not all(_LOCATION.search(os.fspath(each)) for each in X):
            raise texts_error(X) from None
        error.add_note("if X holds texts, use TextClassifier or CountVectorizer")
        raise
    source.check_same_columns()
    return source


#: What a path or a URL has, and most texts have not: a separator of folders, a suffix.
_LOCATION = re.compile(r"[/\\]|\.\w{1,8}$")


def texts_error(X: Any) -> ValueError:
    """Return the error about texts in the place of rows.

    Examples
    --------
    >>> texts_error(["buy now"])
    ValueError("X holds texts: use TextClassifier or CountVectorizer; X[0] is 'buy now'")
    """
    first = next(iter(X))
    shown = first if len(first) <= 40 else first[:37] + type(first)(b"..." if isinstance(first, bytes) else "...")
    return ValueError(f"X holds texts: use TextClassifier or CountVectorizer; X[0] is {shown!r}")


def dataset_in_parts(X: Any, **columns: Any) -> Dataset | None:
    """Return rows in parts, of a stream, a cluster or a dataset; None for rows in memory."""
    if isinstance(X, Dataset):
        given = [name for name, value in columns.items() if value is not None]
        if given:
            raise ValueError(
                f"X is a {type(X).__name__}, a dataset whose parts bring their own {given[0]}: leave {given[0]} out"
            )
        return X
    library = cluster_of(X)
    if library is not None and "y" in columns and columns["y"] is None:
        raise missing_targets()
    if library is not None:
        return _FACTORIES[library](X, **columns)
    from suffice.data.stream import is_stream, stream_dataset

    return stream_dataset(X, **columns) if is_stream(X) else None


def register(library: str, factory: Callable[..., Dataset]) -> None:
    """Let every estimator take the collections of a library as X.

    Parameters
    ----------
    library
        The package that the type of such a collection is defined in: its top-level name.
    factory
        Called with X and what belongs to its rows by the names of the arguments of ``fit`` (None where the user left
        it out; the name of a column where the factory allows that); returns a :class:`Dataset`.
    """
    CLUSTERS.add(library)
    _FACTORIES[library] = factory


def _dask(X: Any, **columns: Any) -> Dataset:
    from suffice.data.dask import dask_dataset

    return dask_dataset(X, **columns)


def _spark(X: Any, **columns: Any) -> Dataset:
    from suffice.data.spark import spark_dataset

    return spark_dataset(X, **columns)


_FACTORIES: dict[str, Callable[..., Dataset]] = {"dask": _dask, "pyspark": _spark}


def text_columns(x: Any) -> list[str] | None:
    """Return the columns of strings of a cluster's data frame of several columns; None for anything else.

    Examples
    --------
    >>> text_columns([[1.0]])
    """
    if cluster_of(x) is None or getattr(x, "ndim", 2) != 2 or len(getattr(x, "columns", ())) < 2:
        return None
    kinds = dict(x.dtypes)  # of Spark, pairs of name and type; of Dask, a series of types by name
    return [str(name) for name, kind in kinds.items() if str(kind) in ("string", "object", "str")]


#: Of rows on a device, no more than this many are drawn: the positions are drawn on the host.
_MOST_DRAWN = 1 << 20


@dataclass(frozen=True, eq=False)
class EncodedDataset:
    """A dataset whose parts are batches: validated rows, with class codes or targets in y.

    Examples
    --------
    >>> from suffice.statistics import DiagonalMoments
    >>> data = EncodedDataset.of_batch(Batch(np.array([[1.0], [3.0]])))
    >>> data.n_rows, data.sum(DiagonalMoments.over()).mean
    (2, array([[2.]]))
    """

    parts: Dataset  #: of Batch
    engine_for_part: Callable[[Batch], Engine]  #: what sums a part where it is
    n_rows: int
    n_features: int
    counted_weight: float | None = None  #: the weight of all rows; None where it is still to be summed
    held_sample: Batch | None = (
        None  #: a sample; the weight of a row is the number of rows it represents. None for rows in memory
    )

    @classmethod
    def of_batch(cls, batch: Batch, engine: Engine | Execution | None = None) -> EncodedDataset:
        """Return rows in memory."""
        return cls(ArrayDataset(batch), partial(_engine_here, engine), batch.rows, batch.features)

    @classmethod
    def of_parts(cls, parts: Dataset, engine: Engine | Execution | None = None) -> EncodedDataset:
        """Return a dataset of batches, which are computed and kept from here on."""
        if parts.in_memory is not None:
            return cls.of_batch(parts.in_memory, engine)
        summary: Summary | None
        kept, summary = parts.persist(Summary.of, Summary.plus)
        if summary is None:
            raise no_rows()
        return cls(
            kept, engine_for_parts(parts, engine), summary.rows, summary.features, summary.weight, summary.batch()
        )

    @property
    def batch(self) -> Batch | None:
        """All rows, where they are in memory; None otherwise."""
        batch: Batch | None = self.parts.in_memory
        return batch

    @cached_property
    def weight(self) -> float:
        """The weight of all rows."""
        if self.counted_weight is not None:
            return self.counted_weight
        batch = self.parts.in_memory
        weight = batch.weight
        return float(batch.rows) if weight is None else float(weight[batch.start : batch.stop].sum())

    @cached_property
    def some_rows(self) -> Batch:
        """All rows if they are in memory; else a sample, weighted by the number of rows that each represents."""
        found: Batch = self.parts.in_memory if self.held_sample is None else self.held_sample
        return found

    @property
    def engine_for_some_rows(self) -> Engine:
        """The engine that reads :attr:`some_rows`."""
        return self.engine_for_part(self.some_rows) if self.held_sample is None else default_engine()

    def sum(self, summarise: Callable[[Batch, Kernels], S]) -> S:
        """Return the sum of the statistics of all rows: one pass."""
        total: S | None = self.parts.map_reduce(partial(_sum_part, self.engine_for_part, summarise), operator.add)
        if total is None:
            raise no_rows()
        return total

    def map(self, function: Callable[[Batch, Kernels], R]) -> Iterator[R]:
        """Yield the results of a function of rows and kernels, in the order of the rows: one pass.

        A part may be cut, with one result for each of its pieces.
        """
        for results in self.parts.map_parts(partial(_map_part, self.engine_for_part, function)).iterate():
            yield from results

    def fold(self, function: Callable[[A, Batch, Kernels], A], state: A) -> A:
        """Return the state after all rows, batch after batch in order: one pass."""
        return self.parts.fold(partial(_fold_part, self.engine_for_part, function), state)

    def reduce(self, function: Callable[[Batch, Engine], R]) -> R:
        """Return the sum of a function of each part and its engine: one pass."""
        total: R | None = self.parts.map_reduce(partial(_reduce_part, self.engine_for_part, function), operator.add)
        if total is None:
            raise no_rows()
        return total

    def transform(self, function: Callable[[Batch, Engine], Batch], persist: bool = False) -> EncodedDataset:
        """Return other batches of the same rows, computed in each pass; or once, and kept."""
        parts = self.parts.map_parts(partial(_reduce_part, self.engine_for_part, function))
        if self.held_sample is None:
            batch = parts.in_memory
            return replace(self, parts=parts, n_rows=batch.rows, n_features=batch.features, counted_weight=None)
        sample = function(self.held_sample, self.engine_for_some_rows)
        found = replace(self, parts=parts, n_features=sample.features, held_sample=sample)
        if persist:
            found = replace(found, parts=parts.persist(_nothing, operator.add)[0])
        return found

    def sample(self, count: int, strided: bool = False) -> EncodedDataset:
        """Return about ``count`` rows from all over the dataset, in memory.

        With ``strided``, rows at equal distances are taken, which copies nothing of an array of NumPy. Otherwise one
        row of each stretch is drawn, so that a period in the rows does not matter.
        """
        rows = self.some_rows
        if self.held_sample is not None:
            return EncodedDataset.of_batch(rows).sample(count, strided)
        if is_foreign(rows.x):
            count = min(count, _MOST_DRAWN)
        every = max(rows.rows // max(count, 1), 1)
        if strided and isinstance(rows.x, np.ndarray):
            some = slice(rows.start + every // 2, rows.stop, every)
            y, weight, offset = (None if c is None else c[some] for c in (rows.y, rows.weight, rows.offset))
            return self._with(Batch(rows.x[some], y, weight, offset))
        places = rows.start + every * np.arange(rows.rows // every)
        places += np.random.default_rng(0).integers(0, every, len(places))
        return self._with(Batch(*(taken(column, places) for column in (rows.x, rows.y, rows.weight, rows.offset))))

    def _with(self, batch: Batch) -> EncodedDataset:
        return EncodedDataset(ArrayDataset(batch), self.engine_for_part, batch.rows, batch.features)

    def release(self) -> None:
        """Delete what is kept of the parts between passes."""
        self.parts.release()


class Summary(NamedTuple):
    """Facts about batches after the first pass."""

    rows: int
    features: int
    weight: float
    sample: Any

    @classmethod
    def of(cls, batch: Batch) -> Summary:
        """Return the facts about one batch."""
        columns = {"X": batch.x, "y": batch.y, "weight": batch.weight, "offset": batch.offset}
        weight = float(batch.rows if batch.weight is None else batch.weight.sum())
        return cls(batch.rows, batch.features, weight, draw_rows(columns))

    def plus(self, other: Summary) -> Summary:
        """Return the same of both."""
        sample = merge_samples(self.sample, other.sample)
        return Summary(self.rows + other.rows, self.features, self.weight + other.weight, sample)

    def batch(self) -> Batch:
        """Return the sample as a batch, weighted by the number of rows that each represents."""
        columns, stands_for = self.sample
        weight = stands_for if columns["weight"] is None else columns["weight"] * stands_for
        return Batch(columns["X"], columns["y"], weight, columns["offset"])


def missing_targets(cure: str | None = None) -> ValueError:
    """Return the error about rows without y; how to give it is a note."""
    error = ValueError("y is missing: the fit requires y to be passed, but the target y is None")
    if cure is not None:
        error.add_note(cure)
    return error


def no_rows() -> ValueError:
    """Return the error about a dataset without rows."""
    return ValueError("X has no rows (samples): there is nothing to learn from")


def engine_for_parts(parts: Dataset, given: Engine | Execution | None) -> Callable[[Batch], Engine]:
    """Return which engine sums a part: the one that a model was given, or else what reads the rows.

    A worker uses one thread by default: a cluster gives each of its workers a share of the cores already.
    """
    is_given = given is not None and given != Execution()
    return partial(_engine_here, given) if parts.is_in_process or is_given else _engine_of_worker


def model_for_parts(model: Any, parts: Dataset) -> Any:
    """Return a copy of a model whose engine sums parts where they are; see :func:`engine_for_parts`."""
    if parts.is_in_process or any(getattr(model, name, None) is not None for name in ("n_jobs", "device")):
        return model
    copied = copy.copy(model)
    copied.n_jobs = 1
    return copied


@cache
def _one_thread() -> ThreadEngine:
    return ThreadEngine(threads=1)


def _engine_here(given: Engine | Execution | None, batch: Batch) -> Engine:
    return engine_for(given, batch.x)


def _engine_of_worker(_: Batch) -> Engine:
    return _one_thread()


def _sum_part(engine: Callable[[Batch], Engine], summarise: Callable[[Batch, Kernels], S], batch: Batch) -> S:
    return engine(batch).accumulate(summarise, batch)


def _map_part(engine: Callable[[Batch], Engine], function: Callable[[Batch, Kernels], R], batch: Batch) -> list[R]:
    return list(engine(batch).map(function, batch))


def _fold_part(
    engine: Callable[[Batch], Engine], function: Callable[[A, Batch, Kernels], A], state: A, batch: Batch
) -> A:
    return engine(batch).fold(function, state, batch)


def _reduce_part(engine: Callable[[Batch], Engine], function: Callable[[Batch, Engine], R], batch: Batch) -> R:
    return function(batch, engine(batch))


def _nothing(_: Any) -> None:
    return None

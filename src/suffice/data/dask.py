"""Rows of Dask collections: parts stay on Dask's workers, and functions run there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self, TypeVar

import dask
import dask.array as da
import numpy as np
from dask.base import get_scheduler
from dask.delayed import Delayed

from suffice.data.dataset import (
    Dataset,
    Piece,
    columns_of_answer,
    columns_of_piece,
    length,
    listed,
    stand_in,
    wrong_length,
)
from suffice.data.workers import (
    ClusterError,
    Failure,
    absent,
    added,
    check_version,
    guarded,
    lacks_us,
    own_version,
    raised,
)

R = TypeVar("R")

#: Number of sums that one task of the tree adds.
FAN = 8
#: A function that pickles to more bytes than this is sent to each worker once, not with every task.
LARGE = 1 << 16
#: Evaluated on a worker: its version of suffice, empty if unknown, None if not installed. Plain Python, for workers
#: that cannot import this module.
_VERSION = (
    "next((found.version for found in __import__('importlib.metadata').metadata.distributions(name='suffice')), '') "
    "if __import__('importlib.util').util.find_spec('suffice') else None"
)


class DaskDataset(Dataset):
    """Parts that Dask computes, each a delayed value."""

    def __init__(
        self, parts: Sequence[Delayed], source: Any = None, named: Sequence[str] = (), beside: Sequence[str] = ()
    ) -> None:
        self._parts = list(parts)
        self._source = source  # the given X: results are collections of the same kind
        self._named = list(named)  # the columns of it that are not features
        self._beside = list(beside)  # what comes with X

    def map_parts(self, function: Callable[[Any], Any]) -> Self:
        """Return the results of a function of each part."""
        task = dask.delayed(guarded, pure=False)
        shared = _shared(function)
        return type(self)([task(shared, number, part) for number, part in enumerate(self._parts)])

    def select(self, *names: str) -> Self:
        """Return the same rows with less beside them."""
        task = dask.delayed(_less, pure=False)
        return type(self)([task(part, names) for part in self._parts])

    def persist(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> tuple[Self, Any]:
        """Return the parts, computed once and kept by the workers; and the sum of a function of each."""
        with _on_workers():
            kept = type(self)(list(dask.persist(*self._parts)))
        return kept, kept.map_parts(function).reduce(add)

    def release(self) -> None:
        """Release the parts."""
        self._parts = []

    def reduce(self, add: Callable[[R, R], R]) -> R | None:
        """Return the sum of all parts, along a tree."""
        sums: list[Any] = list(self._parts)
        task = dask.delayed(added, pure=False)
        while len(sums) > 1:
            sums = [task(add, sums[start : start + FAN]) for start in range(0, len(sums), FAN)]
        with _on_workers():
            total: R | None = raised(dask.compute(sums[0])[0])
        return total

    def iterate(self) -> Iterator[Any]:
        """Yield the parts in order."""
        with _on_workers():
            found = dask.compute(*self._parts)
        return iter([raised(part) for part in found if part is not None])

    def fold(self, function: Callable[[R, Any], R], state: R) -> R:
        """Return the state after all parts in order; it is passed from worker to worker."""
        task = dask.delayed(_step, pure=False)
        now: Any = state
        for number, part in enumerate(self._parts):
            now = task(function, now, number, part)
        with _on_workers():
            last: R = raised(dask.compute(now)[0])
        return last

    def example(self) -> Any:
        """Return an invented row of the kind of X."""
        return _example(self._source, self._named)

    def map_rows(
        self, function: Callable[[Any], Any], names: Sequence[str], features: Sequence[str] | None = None
    ) -> Any:
        """Return the results for each row as a Dask array, with the chunks of the rows; a tuple for several names."""
        few = list(features) if features is not None and _is_frame(self._source) else None
        _check_there(few or [], self._source)
        ask = partial(_of_x, function, few)
        examples = columns_of_answer(ask(stand_in(self.example(), self._beside)))
        task = dask.delayed(_answered, pure=False, nout=len(examples))
        shared = _shared(ask)
        chunks = self._source.chunks[0] if isinstance(self._source, da.Array) else (math.nan,) * len(self._parts)
        answers = [task(shared, number, part, examples) for number, part in enumerate(self._parts)]
        columns = tuple(
            da.concatenate(
                [
                    da.from_delayed(answer[place], shape=(rows, *example.shape[1:]), dtype=example.dtype)
                    for answer, rows in zip(answers, chunks, strict=True)
                ],
                axis=0,
                allow_unknown_chunksizes=True,
            )
            for place, example in enumerate(examples)
        )
        return columns if len(names) > 1 else columns[0]


def dask_dataset(X: Any, **beside: Any) -> DaskDataset:
    """Return rows and what comes beside them (``y``, ``sample_weight`` and so on) as parts.

    Parameters
    ----------
    X
        A Dask array, data frame, series or bag.
    **beside
        One entry per row: Dask arrays or series in the same parts; NumPy arrays where the rows of each part of X are
        known; the name of a column of X where that is a data frame, or a list of names; or None.
    """
    columns = list(X.columns) if _is_frame(X) else None
    named = {key: value for key, value in beside.items() if _is_named(value, columns)}
    for key, value in named.items():
        if columns is None:
            raise ValueError(
                f"{key}={value!r} names a column, and X is not a Dask data frame: give {key} as a Dask collection"
            )
        _check_there(listed([value]), X)
    _check_workers()
    x_parts, rows = _parts_of("X", X)
    others: dict[str, list[Any]] = {}
    for key, value in beside.items():
        if value is not None and key not in named:
            others[key] = _aligned(key, value, len(x_parts), rows)
    width = int(X.shape[1]) if isinstance(X, da.Array) and X.ndim == 2 and not math.isnan(X.shape[1]) else None
    taken = listed(named.values())
    piece = dask.delayed(_piece, pure=False)
    parts = []
    for number, x in enumerate(x_parts):
        also = {key: column[number] for key, column in others.items()}
        parts.append(piece(number, x, also, named, columns, width))
    return DaskDataset(parts, X, taken, [key for key, value in beside.items() if value is not None])


def _is_named(value: Any, columns: list[Any] | None) -> bool:
    """Whether what comes beside X names columns of it; of an array, a list of strings is a list of labels."""
    several = columns is not None and isinstance(value, list) and all(isinstance(name, str) for name in value)
    return isinstance(value, str) or several


def _check_there(names: list[str], x: Any) -> None:
    missing = [name for name in names if name not in x.columns]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}; its columns are {list(x.columns)}")


def _is_frame(x: Any) -> bool:
    return hasattr(x, "columns") and getattr(x, "ndim", 0) == 2  # a series of Dask has columns, too


def _parts_of(name: str, collection: Any) -> tuple[list[Any], list[float] | None]:
    """Return the parts of a collection, and the number of rows of each if it is known."""
    if isinstance(collection, da.Array):
        if collection.ndim not in (1, 2):
            raise ValueError(f"{name} must have one or two dimensions; got a Dask array of shape {collection.shape}")
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        rows = [float(size) for size in collection.chunks[0]]
        known = not any(map(math.isnan, rows))
        return list(collection.to_delayed().reshape(-1)), rows if known else None
    return list(collection.to_delayed()), None


def _aligned(name: str, column: Any, parts: int, rows: list[float] | None) -> list[Any]:
    """Return the parts of what comes beside X, in the parts of X."""
    if type(column).__module__.partition(".")[0] != "dask":
        if rows is None:
            raise ValueError(
                f"{name} is not a Dask collection, and the number of rows of each part of X is unknown: give the name "
                "of a column of X, or a Dask collection in the same parts; for an array, call X.compute_chunk_sizes()"
            )
        column = da.from_array(np.asarray(column), chunks=(tuple(map(int, rows)), *[-1] * (np.ndim(column) - 1)))
    pieces, its = _parts_of(name, column)
    if rows is not None and its is not None and rows != its:
        if sum(rows) != sum(its):
            raise wrong_length(name, int(sum(rows)), int(sum(its)))
        pieces, _ = _parts_of(name, column.rechunk({0: tuple(map(int, rows))}))
    if len(pieces) != parts:
        raise ValueError(
            f"X has {parts} parts and {name} has {len(pieces)}, and the number of rows of each is unknown: give both "
            "in the same parts, as of one data frame, or call compute_chunk_sizes() on both"
        )
    return pieces


def _piece(
    number: int, x: Any, also: Piece, named: dict[str, str | list[str]], columns: list[Any] | None, width: int | None
) -> Piece | Failure | None:
    """Return one part on a worker: X and what comes beside it; None where it has no rows."""
    try:
        x = x if hasattr(x, "shape") else list(x)  # a bag's part may be an iterator
        also = {key: value if hasattr(value, "shape") else list(value) for key, value in also.items()}
        if columns is not None:
            _check_columns(list(x.columns), columns)
        if width is not None and x.shape[1] != width:
            raise ValueError(f"X has {x.shape[1]} columns in this partition, and {width} by its shape")
        piece = columns_of_piece(x, also, named)
        return {**piece, "place": (number, 0)} if length(piece["X"]) else None
    except Exception as error:
        error.add_note(f"in partition {number}, counted from 0")
        return Failure(error.with_traceback(None))


def _check_columns(got: list[str], expected: list[str]) -> None:
    if got == expected:
        return
    lost = [name for name in expected if name not in got]
    more = [name for name in got if name not in expected]
    what = (
        f"lacks the column {lost[0]!r}" if lost else f"has a column {more[0]!r} more" if more else "has another order"
    )
    raise ValueError(f"this partition {what}: its columns are {got}, and those of X are {expected}")


def _less(part: Any, names: tuple[str, ...]) -> Any:
    wanted = (*names, "place")
    return {key: part[key] for key in part if key in wanted} if isinstance(part, dict) else part


def _step(function: Callable[[Any, Any], Any], state: Any, number: int, part: Any) -> Any:
    if isinstance(state, Failure) or part is None:
        return state
    return guarded(partial(function, state), number, part)


def _of_x(function: Callable[[Any], Any], features: list[str] | None, piece: Piece) -> Any:
    return function(piece if features is None else {**piece, "X": piece["X"][features]})


def _answered(function: Callable[[Any], Any], number: int, part: Any, examples: Any) -> Any:
    """Return the result columns of one part; empty ones of the right shape for a part without rows."""
    if part is None:
        return tuple(example[:0] for example in examples)
    answers = columns_of_answer(raised(guarded(function, number, part)))
    return tuple(answer.astype(example.dtype, copy=False) for answer, example in zip(answers, examples, strict=True))


def _example(x: Any, named: list[str]) -> Any:
    if isinstance(x, da.Array):
        return np.ones((1, *x.shape[1:]), dtype=x.dtype)
    if hasattr(x, "_meta_nonempty"):
        some = x._meta_nonempty.iloc[:1].copy()
        if not _is_frame(x):
            return some
        some = some.drop(columns=named)
        # Cells that are not numbers raise on a worker: an invented one passes everywhere.
        some[[name for name in some if some[name].dtype.kind == "O"]] = "1"
        return some
    return [""]  # a bag of texts


def _shared(function: Any) -> Any:
    """Return a function as an argument of tasks; a large one is sent once."""
    import cloudpickle

    return dask.delayed(function, traverse=False) if len(cloudpickle.dumps(function)) > LARGE else function


def _check_workers() -> None:
    """Raise if a worker has no ``suffice``, or another version of it.

    Dask itself would lose workers without it one by one, and wait forever.
    """
    client: Any = getattr(get_scheduler(), "__self__", None)
    if not hasattr(client, "run"):  # Dask computes in this process
        return
    found = client.run(eval, _VERSION, {}, on_error="return").values()
    if any(each is None or isinstance(each, ModuleNotFoundError) for each in found):
        raise _absent()
    for each in found:
        check_version("Dask cluster", each if isinstance(each, str) else "", own_version())


def _absent() -> ClusterError:
    return absent("Dask cluster", "on its scheduler too (pip install suffice), and start them again")


@contextmanager
def _on_workers() -> Iterator[None]:
    """Translate a failure of the cluster into a ClusterError."""
    try:
        yield
    except Exception as error:
        if lacks_us(error):
            raise _absent() from error
        raise

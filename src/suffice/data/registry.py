"""Which dataset reads what a user gives as X."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from suffice.data.dataset import ArrayDataset, Dataset
from suffice.data.stream import is_stream, stream_dataset
from suffice.kernels.libraries import CLUSTERS, cluster_of

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
    if isinstance(X, np.memmap):
        found = _mapped_dataset(X, **columns)
    else:
        of_rows = isinstance(X, list) and any(not _is_named(value) for value in columns.values())
        table = X if of_rows else open_location(X)  # a list of strings with an entry of y for each is no list of files
        found = None if isinstance(X, np.ndarray) else dataset_in_parts(table, **columns)
    if found is not None:
        return found
    return ArrayDataset({"X": X, **{name: value for name, value in columns.items() if value is not None}})


def _mapped_dataset(X: np.memmap[Any, Any], **columns: Any) -> Dataset | None:
    """Return a large map of memory in blocks of rows; None for a small one, and for one that ``fit`` refuses."""
    beside = {name: np.asarray(value) for name, value in columns.items() if value is not None}
    is_whole = X.ndim == 2 and all(np.shape(value)[:1] == X.shape[:1] for value in beside.values())
    if X.nbytes <= MAPPED or not is_whole or ("y" in columns and "y" not in beside):
        return None
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
    source = importlib.import_module("suffice.tables").open_table(X)  # which is above this layer: it is found by name
    source.check_same_columns()
    return source


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
        raise ValueError("y is missing: the fit requires y to be passed, but the target y is None")
    if library is not None:
        return _FACTORIES[library](X, **columns)
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

"""Types of arguments: rows, columns beside them, priors and weights of classes, as estimators take them.

Names for annotations, as in ``numpy.typing``; nothing is checked at run time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Union

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from suffice.data import Dataset
    from suffice.tables.sources.base import Source

__all__ = [
    "ClassLabel",
    "ClassPriors",
    "ClassWeight",
    "MatrixLike",
    "RandomState",
    "TableLike",
    "TextsLike",
    "VectorLike",
]


class SparseMatrix(Protocol):
    """A sparse matrix or array of scipy."""

    def tocsr(self) -> Any:
        """Return the matrix in the CSR format."""


class ArrowTable(Protocol):
    """A table that exports its columns as Arrow does: of pyarrow, Polars, DuckDB, pandas."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return the columns as a stream of Arrow's C interface."""


class ClusterFrame(Protocol):
    """A data frame of Spark."""

    def toPandas(self) -> Any:  # noqa: N802 - Spark's name
        """Return the rows in memory."""


#: Rows, (n, d): nested sequences; arrays of NumPy, torch, CuPy, JAX or Dask; sparse matrices; data frames of pandas,
#: Polars, Arrow, Dask or Spark; paths and URLs of files; streams of batches, or a function that returns one; a
#: :class:`~suffice.data.Dataset`.
MatrixLike: TypeAlias = Union[
    npt.ArrayLike,
    SparseMatrix,
    ArrowTable,
    ClusterFrame,
    "os.PathLike[str]",
    Iterable[Any],
    Callable[[], Iterable[Any]],
    "Dataset",
]
#: One value for each row, (n,): a sequence, an array or a series; the name of a column, where rows are a table.
VectorLike: TypeAlias = npt.ArrayLike | ArrowTable | Iterable[Any] | None
#: Texts, as ``str`` or ``bytes``: a sequence, a series, an array, a stream, files, or a collection on a cluster.
TextsLike: TypeAlias = Union[npt.ArrayLike, ArrowTable, ClusterFrame, "os.PathLike[str]", Iterable[Any], "Dataset"]
#: A table: a data frame of any library, a file, a folder, a glob or a list of them, a URL, a table of a database, an
#: iterator over data frames, a function that returns one, or a source of ``suffice.tables``.
TableLike: TypeAlias = Union[
    str, "os.PathLike[str]", ArrowTable, ClusterFrame, Iterable[Any], Callable[[], Iterable[Any]], "Source"
]
#: The name of a class, as in y.
ClassLabel: TypeAlias = str | int | float | bool | np.generic
#: The prior of each class: an array in the order of the classes, a dictionary from class to prior, "laplace", or None.
ClassPriors: TypeAlias = npt.ArrayLike | Mapping[Any, float] | Literal["laplace"] | None
#: The weight of each class: a dictionary from class to weight, "balanced", or None.
ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None
#: A seed or a generator of random numbers; None for numbers that differ at every call.
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None

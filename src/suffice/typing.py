"""Types of arguments: rows, columns beside them, priors and weights of classes, as estimators take them.

Names for annotations, as in ``numpy.typing``; nothing is checked at run time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Union

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy import sparse

    from suffice.data import Dataset
    from suffice.tables.sources.base import Source

__all__ = [
    "ClassLabel",
    "ClassPriors",
    "ClassWeight",
    "FoldsLike",
    "MatrixLike",
    "NumbersLike",
    "RandomState",
    "ScoringLike",
    "SolverLike",
    "SparseRows",
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


class Splitter(Protocol):
    """A splitter of rows into folds, as those of ``sklearn.model_selection``."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[Any]:
        """Return pairs of indices of rows: those to learn, and those held out."""


class Minimiser(Protocol):
    """A solver: one of ``suffice.solvers``, or your own."""

    def minimise(self, objective: Any, start: npt.NDArray[np.float64]) -> Any:
        """Return the minimum of the objective as a :class:`~suffice.solvers.Solution`."""


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
#: Rows of counts, (n, V): a sparse matrix, or a sparse array where scikit-learn's configuration says so.
SparseRows: TypeAlias = Union["sparse.csr_matrix", "sparse.csr_array"]
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
#: Numbers to choose from, as penalties: a sequence or an array.
NumbersLike: TypeAlias = Sequence[float] | npt.NDArray[Any]
#: A solver, or its name: "auto", "newton", "batch", "stochastic"; regressions of one penalty know further names.
SolverLike: TypeAlias = str | Minimiser
#: Folds: their number, a splitter of scikit-learn, or pairs of indices of rows; None for five.
FoldsLike: TypeAlias = int | Splitter | Iterable[Any] | None
#: A measure: scikit-learn's name of it, or a function of the model, the rows and their targets; None for ``score``.
ScoringLike: TypeAlias = str | Callable[..., float] | None
#: A seed or a generator of random numbers; None for numbers that differ at every call.
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None

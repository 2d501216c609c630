"""Arrays of other libraries: which library an array belongs to, and results in that library, on that device."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt

from suffice.families.links import array_namespace, to_host

#: The libraries whose collections live in parts, and are not arrays; see :func:`suffice.data.register`.
CLUSTERS: set[str] = {"dask", "pyspark"}


def cluster_of(x: Any) -> str | None:
    """Return the name of the library that spreads x over a cluster, if one does.

    Examples
    --------
    >>> cluster_of(np.zeros((1, 1)))
    """
    library = type(x).__module__.partition(".")[0]
    return library if library in CLUSTERS else None


def is_sparse(x: Any) -> bool:
    """Whether x is a sparse matrix or array of scipy.

    Examples
    --------
    >>> import scipy
    >>> is_sparse(scipy.sparse.eye_array(2))
    True
    """
    # An array of scipy.sparse exists only where the module was imported, which takes longer than to import NumPy.
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(x))


def is_foreign(x: Any) -> bool:
    """Whether x is an array of a library other than NumPy: torch, CuPy, JAX and the like.

    Examples
    --------
    >>> is_foreign(np.zeros(1)), is_foreign([0.0])
    (False, False)
    """
    if isinstance(x, np.ndarray | list | tuple) or is_sparse(x) or cluster_of(x) is not None:
        return False
    return bool(array_api_compat.is_array_api_obj(x))


def joined(arrays: Sequence[Any]) -> Any:
    """Return arrays of consecutive rows as one array of their library."""
    return array_namespace(arrays[0]).concat(arrays)


def beside(x: Any, values: npt.NDArray[Any]) -> Any:
    """Return numbers of the host in the library and on the device of x."""
    if is_sparse(x) or isinstance(x, np.ndarray):
        return values
    return array_namespace(x).asarray(values, device=array_api_compat.device(x))


def dense(x: Any) -> npt.NDArray[np.float64]:
    """Return rows as a NumPy array of float64.

    Examples
    --------
    >>> import scipy
    >>> dense(scipy.sparse.eye_array(2))
    array([[1., 0.],
           [0., 1.]])
    """
    if is_sparse(x):
        return np.asarray(x.toarray(), dtype=np.float64)
    return np.asarray(x if isinstance(x, np.ndarray) else to_host(x), dtype=np.float64)


def is_float32(x: Any) -> bool:
    """Whether an array, sparse matrix or data frame holds float32 alone.

    Examples
    --------
    >>> is_float32(np.zeros(1, dtype=np.float32)), is_float32(np.zeros(1)), is_float32([[0.0]])
    (True, False, False)
    """
    if isinstance(x, np.ndarray):
        return bool(x.dtype == np.float32)
    kinds = [x.dtype] if hasattr(x, "dtype") else list(getattr(x, "dtypes", ()))
    return bool(kinds) and all(str(kind).rpartition(".")[2].lower() == "float32" for kind in kinds)


def to_float32(array: Any) -> Any:
    """Return an array of any library in float32.

    Examples
    --------
    >>> to_float32(np.ones(1))
    array([1.], dtype=float32)
    """
    if isinstance(array, np.ndarray):
        return array.astype(np.float32)
    xp = array_namespace(array)
    return xp.astype(array, xp.float32)


def logs_to_float32(array: Any) -> Any:
    """Return log-probabilities in float32: 0 where the probability is 1 in float32.

    Examples
    --------
    >>> logs_to_float32(np.array([-0.5, -1e-9]))
    array([-0.5,  0. ], dtype=float32)
    """
    narrow = to_float32(array)
    xp = array_namespace(narrow)
    return xp.where(narrow > -(2.0**-25), xp.zeros_like(narrow), narrow)


def named_classes(classes: npt.NDArray[Any], codes: Any) -> Any:
    """Return the classes of codes: in the codes' library if they are numbers, else in NumPy."""
    if isinstance(codes, np.ndarray) or classes.dtype.kind not in "biuf":
        return classes[np.asarray(codes if isinstance(codes, np.ndarray) else to_host(codes))]
    return array_namespace(codes).take(beside(codes, classes), codes)


def taken(array: Any, places: npt.NDArray[np.intp], axis: int = 0) -> Any:
    """Return some rows or columns of an array of any library, or of CSR; None of None."""
    if array is None:
        return None
    if is_foreign(array):
        return array_namespace(array).take(array, beside(array, places), axis=axis)
    return array[places] if axis == 0 else array[:, places]

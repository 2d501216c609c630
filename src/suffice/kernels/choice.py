"""Which engine reads an array, where the user has not said."""

from __future__ import annotations

from functools import cache
from typing import Any

import array_api_compat
import numpy as np
from scipy import sparse

from suffice.kernels.arrays import ArrayEngine
from suffice.kernels.base import Engine
from suffice.kernels.threads import ThreadEngine

#: The libraries whose collections live in parts, and are not arrays; see :func:`suffice.data.register`.
CLUSTERS: set[str] = {"dask", "pyspark"}


@cache
def default_engine() -> ThreadEngine:
    """Return the engine that all models share, whose threads wait between calls."""
    return ThreadEngine()


def engine_for(engine: Engine | None, x: Any) -> Engine:
    """Return the engine a model was given, or else the one that reads this kind of array.

    Examples
    --------
    >>> engine_for(ThreadEngine(threads=3), np.zeros((1, 1)))
    ThreadEngine(threads=3)
    """
    if engine is not None:
        if not isinstance(engine, Engine):
            raise TypeError(f"engine must be None or an engine such as ThreadEngine(); got {engine!r}")
        return engine
    return ArrayEngine() if is_foreign(x) else default_engine()


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
    >>> is_sparse(sparse.eye_array(2))
    True
    """
    return bool(sparse.issparse(x))


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

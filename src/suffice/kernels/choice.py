"""Which engine reads an array, under the settings n_jobs and device of an estimator."""

from __future__ import annotations

import os
from functools import cache
from typing import Any, NamedTuple

import array_api_compat
import numpy as np
from scipy import sparse

from suffice.kernels.arrays import ArrayEngine
from suffice.kernels.base import Engine
from suffice.kernels.threads import ThreadEngine

#: The libraries whose collections live in parts, and are not arrays; see :func:`suffice.data.register`.
CLUSTERS: set[str] = {"dask", "pyspark"}


class Execution(NamedTuple):
    """How rows are summed: the settings ``n_jobs`` and ``device`` of an estimator."""

    n_jobs: int | None = None  #: threads; None for all permitted cores, -1 for all cores of the machine
    device: str | None = None  #: where rows in host memory are sent; None where they are


@cache
def default_engine() -> ThreadEngine:
    """Return the engine that all models share, whose threads wait between calls."""
    return ThreadEngine()


def engine_for(choice: Engine | Execution | None, x: Any) -> Engine:
    """Return the engine that reads an array under these settings.

    Examples
    --------
    >>> engine_for(Execution(n_jobs=3), np.zeros((1, 1)))
    ThreadEngine(threads=3)
    """
    if isinstance(choice, Engine):
        return choice
    n_jobs, device = choice or (None, None)
    threads = default_engine() if n_jobs is None else _threads(n_jobs)
    if device is not None and device != "cpu":
        return _on_device(device)
    return ArrayEngine() if is_foreign(x) else threads


@cache
def _threads(n_jobs: Any) -> ThreadEngine:
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or not (n_jobs == -1 or n_jobs >= 1):
        raise ValueError(f"n_jobs must be None, -1 or a whole number of at least 1; got {n_jobs!r}")
    return ThreadEngine((os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs))


@cache
def _on_device(device: Any) -> ArrayEngine:
    if not isinstance(device, str) or device.partition(":")[0] != "cuda":
        raise ValueError(f"device must be None, 'cpu', 'cuda' or the like of 'cuda:1'; got {device!r}")
    return ArrayEngine(device=device)  # on a GPU


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

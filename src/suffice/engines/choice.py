"""Which engine reads an array, where the user has not said."""

from __future__ import annotations

from functools import cache
from typing import Any

import array_api_compat
import numpy as np
from scipy import sparse

from suffice.engines.arrays import ArrayEngine
from suffice.engines.base import Engine
from suffice.engines.threads import ThreadEngine


@cache
def _threads() -> ThreadEngine:
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
        return engine
    return ArrayEngine() if is_foreign(x) else _threads()


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
    if isinstance(x, np.ndarray | list | tuple) or is_sparse(x):
        return False
    return bool(array_api_compat.is_array_api_obj(x))

"""What an engine gives back row by row: joined, and in the library and on the device the rows came in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt

from suffice.kernels.array_blocks import to_host
from suffice.kernels.choice import is_foreign, is_sparse


def joined(parts: Iterable[Any]) -> Any:
    """Return the results of consecutive rows as one array of their library."""
    arrays = list(parts)
    if len(arrays) == 1:
        return arrays[0]
    return array_api_compat.array_namespace(arrays[0]).concat(arrays)


def beside(x: Any, values: npt.NDArray[Any]) -> Any:
    """Return numbers of the host in the library and on the device of x."""
    if is_sparse(x) or isinstance(x, np.ndarray):
        return values
    return array_api_compat.array_namespace(x).asarray(values, device=array_api_compat.device(x))


def named_classes(classes: npt.NDArray[Any], codes: Any) -> Any:
    """Return the classes that codes stand for: in the codes' library where they are numbers, else in NumPy's."""
    if isinstance(codes, np.ndarray) or classes.dtype.kind not in "biuf":
        return classes[np.asarray(codes if isinstance(codes, np.ndarray) else to_host(codes))]
    return array_api_compat.array_namespace(codes).take(beside(codes, classes), codes)


def taken(array: Any, places: npt.NDArray[np.intp], axis: int = 0) -> Any:
    """Return some rows or columns of an array of any library, or of CSR; None of None."""
    if array is None:
        return None
    if is_foreign(array):
        return array_api_compat.array_namespace(array).take(array, beside(array, places), axis=axis)
    return array[places] if axis == 0 else array[:, places]

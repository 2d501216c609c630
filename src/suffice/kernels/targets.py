"""Targets on a device: checked and encoded there, without a copy to the host."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

from suffice.families.links import array_namespace
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import beside, is_foreign
from suffice.statistics import Labels

#: Largest range of integer labels that are searched one by one, without sorting.
FEW = 64


def are_together(x: Any, y: Any) -> bool:
    """Whether x and y are arrays of one library other than NumPy, on one device."""
    if not (is_foreign(x) and is_foreign(y)):
        return False
    same = array_namespace(x) is array_namespace(y)
    return bool(same and array_api_compat.device(x) == array_api_compat.device(y))


def discovered(y: Any) -> tuple[Labels, Any] | None:
    """Return the classes of whole numbers or booleans on a device, (n,), and each row's code there; None of others.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> labels, codes = discovered(xp.asarray([7, 3, 7]))
    >>> labels.names, to_host(codes)
    ((3, 7), array([1, 0, 1]))
    """
    xp = array_namespace(y)
    if y.ndim != 1 or y.shape[0] == 0 or not xp.isdtype(y.dtype, ("bool", "integral")):
        return None
    if xp.isdtype(y.dtype, "bool"):
        values = [value for value in (False, True) if bool(xp.any(y == value))]
        codes = xp.astype(y, xp.int8)
        return Labels(tuple(values)), codes if len(values) == 2 else xp.zeros_like(codes)
    low, high = int(xp.min(y)), int(xp.max(y))
    if high - low < FEW:
        present = [value for value in range(low, high + 1) if bool(xp.any(y == value))]
        if present == list(range(len(present))):
            return Labels(tuple(present)), y
        places = np.zeros(high - low + 1, dtype=np.int64)
        places[np.array(present) - low] = np.arange(len(present))
        return Labels(tuple(present)), xp.take(beside(y, places), xp.astype(y, xp.int64) - low)
    values_there, codes = xp.unique_inverse(y)
    return Labels(tuple(to_host(values_there).tolist())), codes


def all_finite(y: Any) -> bool:
    """Whether a device's numbers are finite.

    Examples
    --------
    >>> import array_api_strict as xp
    >>> all_finite(xp.asarray([1.0, float("nan")]))
    False
    """
    xp = array_namespace(y)
    return not xp.isdtype(y.dtype, ("real floating", "complex floating")) or bool(xp.all(xp.isfinite(y)))

"""Numbers of terms in few bytes: values on a grid of a power of 2, standard errors on a logarithmic scale.

Numbers are rounded when a model is fitted, so that the file has exactly those of the model in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray

#: Steps of standard errors per factor of 2: they are right to 2 %.
STEPS = 16
#: Code of a standard error of 0.
ZERO = 255


def to_grid(numbers: FloatArray, dtype: npt.DTypeLike) -> tuple[npt.NDArray[Any], int]:
    """Return integers and an exponent: numbers are the integers times 2 to this exponent.

    The grid is the finest on which the largest number fits into the type.

    Examples
    --------
    >>> integers, exponent = to_grid(np.array([0.75, -0.1]), np.int16)
    >>> integers, exponent
    (array([24576, -3277], dtype=int16), -15)
    >>> from_grid(integers, exponent)
    array([ 0.75     , -0.1000061])
    """
    limits = np.iinfo(dtype)
    exponent = int(np.frexp(np.abs(numbers).max(initial=0.0))[1]) - (limits.bits - 1)
    integers = np.clip(np.rint(np.ldexp(numbers, -exponent)), -limits.max, limits.max)
    return integers.astype(dtype), exponent


def from_grid(integers: npt.NDArray[Any], exponent: int) -> FloatArray:
    """Return the numbers that :func:`to_grid` wrote."""
    return np.asarray(np.ldexp(integers.astype(np.float64), exponent))


def round_to_grid(numbers: FloatArray, dtype: npt.DTypeLike) -> FloatArray:
    """Return numbers rounded to the grid."""
    return from_grid(*to_grid(numbers, dtype))


def to_log_codes(errors: FloatArray) -> tuple[npt.NDArray[np.uint8], float]:
    """Return a byte for each standard error, the number of steps below the largest, and the largest.

    Examples
    --------
    >>> codes, largest = to_log_codes(np.array([2.0, 1.0, 0.0]))
    >>> codes, from_log_codes(codes, largest)
    (array([  0,  16, 255], dtype=uint8), array([2., 1., 0.]))
    """
    largest = float(errors.max(initial=0.0))
    codes = np.full(errors.shape, ZERO, dtype=np.uint8)
    known = errors > 0
    steps = STEPS * (np.log2(largest) - np.log2(errors[known])) if largest else np.empty(0)
    codes[known] = np.minimum(np.rint(steps), ZERO - 1)
    return codes, largest


def from_log_codes(codes: npt.NDArray[np.uint8], largest: float) -> FloatArray:
    """Return the standard errors that :func:`to_log_codes` wrote."""
    return np.where(codes == ZERO, 0.0, largest * np.exp2(codes / -float(STEPS)))


def round_errors(errors: FloatArray) -> FloatArray:
    """Return standard errors rounded to the logarithmic scale."""
    return from_log_codes(*to_log_codes(errors))

"""What a regression reads beside the features, as the native code reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.kernels import errors
from suffice.kernels.native_rows import read_codes, read_column, read_targets

if TYPE_CHECKING:
    from suffice.kernels.batch import Batch
    from suffice.kernels.protocol import FloatArray

#: The responses whose curve is compiled, by ``Response.kernel``; the numbers are those of Model::Family in
#: native/kernels.hpp.
COMPILED: dict[str | None, int] = {
    "gaussian/identity": 0,
    "bernoulli/logit": 1,
    "poisson/log": 2,
    "gamma/log": 3,
    "exponential/log": 3,
    "multinomial/softmax": 4,
}
_SOFTMAX = COMPILED["multinomial/softmax"]


class Regression(NamedTuple):
    """What belongs to the rows that count, and where theta is."""

    codes: npt.NDArray[np.int64] | None  # (n,), of the multinomial
    target: FloatArray | None  # (n,), of all others
    offset: FloatArray | None  # (n t,)
    theta: FloatArray  # (p, t)


def read_regression(batch: Batch, family: int, theta: FloatArray, intercept: bool, alike: bool = False) -> Regression:
    """Return targets, offset and theta, or raise where they fit neither the family nor each other.

    With softmax, theta has a column less than there are classes, or as many where all are treated ``alike``.
    """
    theta = np.ascontiguousarray(theta, dtype=np.float64)
    errors.check_theta(theta, batch.features + int(intercept))
    predictors = theta.shape[1]
    if predictors < 1 or (family != _SOFTMAX and predictors != 1):
        raise errors.wrong_shape("theta", f"({theta.shape[0]}, 1)", theta.shape)
    errors.check_offset(batch.offset, predictors)
    offset = None if batch.offset is None else read_column("offset", batch.offset, batch)
    if offset is not None and offset.size != batch.rows * predictors:
        offset = np.repeat(offset, predictors)
    codes = read_codes(batch, predictors + (not alike)) if family == _SOFTMAX else None
    target = None if family == _SOFTMAX else np.ascontiguousarray(read_targets(batch), dtype=np.float64).reshape(-1)
    if target is not None and target.size != batch.rows:
        raise errors.wrong_shape("y", f"({len(batch.y)},)", batch.y.shape)
    return Regression(codes, target, offset, theta)

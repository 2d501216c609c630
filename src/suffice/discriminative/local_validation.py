"""What comes to local fits, and what goes back: numbers that are checked, arrays of the right library, warnings."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from suffice import validation
from suffice.discriminative.local_fit import Answer
from suffice.kernels.array_blocks import to_host
from suffice.kernels.choice import is_foreign, is_sparse
from suffice.statistics.base import FloatArray
from suffice.user_warnings import warn_user

#: Below this kernel weight of the nearest row, a query counts as far from all of them (Gaussian: 7.4 bandwidths).
_FAR = float(np.log(1e-12))


class FarFromDataWarning(UserWarning):
    """A query lies so far from all rows that its answer rests on the nearest of them alone."""


def warn_of(answer: Answer, bandwidth: float, max_iter: int) -> None:
    """Warn about queries far from all rows, and about fits that were not finished."""
    count = len(answer.value)
    far = np.flatnonzero(answer.log_weight < _FAR)
    if far.size:
        warn_user(
            f"{far.size} of the {count} queries lie far from all rows for bandwidth {bandwidth:g}, the first of them "
            f"X[{far[0]}]: their answers rest on the nearest rows alone",
            FarFromDataWarning,
        )
    lost = np.flatnonzero(~answer.converged)
    if lost.size:
        warn_user(
            f"the fits at {lost.size} of the {count} queries, the first of them X[{lost[0]}], have not converged after "
            f"max_iter={max_iter} steps: allow more, or raise l2 or tol",
            ConvergenceWarning,
        )


def check_rows(x: Any) -> None:
    """Raise where X is sparse, or about its first number that is NaN or infinite."""
    if is_sparse(x):
        raise TypeError("LocallyWeightedRegression keeps dense rows, and X is sparse: use X.toarray()")
    validation.check_finite(x)


def numbers(y: Any, rows: int) -> tuple[FloatArray, tuple[int, ...]]:
    """Return targets in float64, (n, t), every one finite, and the shape of one row's."""
    if y is None:
        raise ValueError("y is missing: the fit requires y to be passed, but the target y is None")
    column = np.asarray(to_host(y) if is_foreign(y) else y)
    if column.dtype.kind not in "biufO" or column.ndim not in (1, 2):
        raise ValueError(
            f"y must hold numbers, (n,) or (n, t); got {column.dtype} of shape {column.shape}. Use family='bernoulli' "
            "for classes"
        )
    if column.shape[0] != rows:
        raise ValueError(f"X has {rows} rows and y has {column.shape[0]}: there must be one target per row")
    column = column.astype(np.float64)
    bad = np.argwhere(~np.isfinite(column))
    if bad.size:
        at = tuple(int(index) for index in bad[0])
        value = column[at]
        raise ValueError(
            f"Input y contains {'NaN' if np.isnan(value) else 'infinity'}: y[{', '.join(map(str, at))}] is {value:g}; "
            "targets must be finite"
        )
    return column.reshape(rows, -1), column.shape[1:]


def beside(X: Any, answer: npt.NDArray[Any]) -> Any:
    """Return an answer in the array library of the queries, on their device; labels that are words stay NumPy's."""
    if not is_foreign(X) or answer.dtype.kind not in "biuf":
        return answer
    return array_api_compat.array_namespace(X).asarray(answer, device=array_api_compat.device(X))

"""The regularisation path of the elastic net."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray


@dataclass(frozen=True, eq=False)
class Path:
    """Coefficients for a series of penalties, the largest first."""

    l1: FloatArray  #: (v,)
    l2: FloatArray  #: (v,)
    coef: FloatArray  #: (v, d), or (v, t, d) for several predictors
    intercept: FloatArray  #: (v,), or (v, t)
    log_likelihood: FloatArray  #: (v,), without the penalty and the terms that do not depend on theta

    def __len__(self) -> int:
        return len(self.l1)

    def __repr__(self) -> str:
        return (
            f"Path of {len(self)} penalties, l1 from {self.l1[0]:.4g} to {self.l1[-1]:.4g}: "
            f"{self.nonzero[0]} to {self.nonzero[-1]} coefficients"
        )

    @property
    def nonzero(self) -> npt.NDArray[np.intp]:
        """The number of coefficients other than zero, (v,)."""
        return np.asarray(np.count_nonzero(self.coef.reshape(len(self), -1), axis=1))


def strengths(steepest: float, penalties: Any, count: int, least: float, ratio: float) -> FloatArray:
    """Return the penalties of a path, the largest first: the given ones, or ``count`` of them.

    Parameters
    ----------
    steepest
        The largest gradient at zero coefficients: with a penalty of that size all stay zero.
    least
        The smallest penalty as a share of the largest.
    ratio
        The share of a penalty that is l1.
    """
    if not 0 < ratio <= 1:
        raise ValueError(f"ratio must be above 0 and at most 1, the share of l1 in a penalty; got {ratio!r}")
    if penalties is not None:
        given = np.sort(np.asarray(penalties, dtype=np.float64).ravel())[::-1]
        bad = np.flatnonzero(~((given >= 0) & np.isfinite(given)))
        if not given.size or bad.size:
            raise ValueError(f"penalties must be finite numbers, 0 or more; got {penalties!r}")
        return given
    if not (isinstance(count, int | np.integer) and count >= 1):
        raise ValueError(f"count must be a whole number, 1 or more; got {count!r}")
    if not 0 < least < 1:
        raise ValueError(f"least must be a share between 0 and 1; got {least!r}")
    # A little more than the gradient, for its rounding error.
    return np.asarray(steepest * (1 + 1e-6) / ratio * np.logspace(0, np.log10(least), int(count)))


def solve_path(
    penalties: FloatArray, ratio: float, start: FloatArray, solve: Callable[[float, float, FloatArray], Any]
) -> Path:
    """Return the path over penalties, each started from the solution of the last.

    Parameters
    ----------
    solve
        Given l1, l2 and an initial theta, returns coefficients, (t, d), intercepts, (t,), the log-likelihood and the
        next initial theta.
    """
    theta, coefs, intercepts, values = start, [], [], []
    for penalty in penalties:
        coef, intercept, value, theta = solve(float(penalty) * ratio, float(penalty) * (1 - ratio), theta)
        coefs.append(coef[0] if len(coef) == 1 else coef)
        intercepts.append(intercept[0] if len(intercept) == 1 else intercept)
        values.append(value)
    return Path(penalties * ratio, penalties * (1 - ratio), np.array(coefs), np.array(intercepts), np.array(values))

"""The regularisation path of the elastic net."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray

#: Given penalties, (v,), and the share of l1, returns them by the names of a model's parameters.
PenaltyNames = Callable[[FloatArray, float], dict[str, FloatArray]]


@dataclass(frozen=True, eq=False)
class Path:
    """Coefficients for a series of penalties, the largest first.

    Examples
    --------
    >>> from suffice import Lasso
    >>> path = Lasso().path(np.array([[0.0], [1.0], [2.0]]), [0.0, 1.0, 2.0], alphas=[0.5, 0.25])
    >>> path
    Path of 2 penalties, alpha from 0.5 to 0.25: 1 to 1 coefficients
    >>> Lasso(**path.params(1))
    Lasso(alpha=0.25)
    """

    #: The penalties by the names of the model's parameters, each (v,): C, alpha, l1_ratio, or l1 and l2.
    penalties: Mapping[str, FloatArray]
    coef: FloatArray  #: (v, d), or (v, t, d) for several predictors
    intercept: FloatArray  #: (v,), or (v, t)
    log_likelihood: FloatArray  #: (v,), without the penalty and the terms that do not depend on theta

    def __len__(self) -> int:
        return len(self.coef)

    def __repr__(self) -> str:
        name, values = next(iter(self.penalties.items()))
        return (
            f"Path of {len(self)} penalties, {name} from {values[0]:.4g} to {values[-1]:.4g}: "
            f"{self.nonzero[0]} to {self.nonzero[-1]} coefficients"
        )

    def params(self, place: int) -> dict[str, float]:
        """Return the parameters of a model whose fit has the coefficients at this place."""
        return {name: float(values[place]) for name, values in self.penalties.items()}

    @property
    def nonzero(self) -> npt.NDArray[np.intp]:
        """The number of coefficients other than zero, (v,)."""
        return np.asarray(np.count_nonzero(self.coef.reshape(len(self), -1), axis=1))


def by_alpha(weight: float) -> PenaltyNames:
    """Return the function that gives penalties of rows of this total weight as alpha and l1_ratio."""
    return lambda penalty, ratio: {"alpha": penalty / weight, "l1_ratio": np.full(len(penalty), ratio)}


def by_c(penalty: FloatArray, ratio: float) -> dict[str, FloatArray]:
    """Return penalties as C and l1_ratio."""
    inverse = np.divide(1.0, penalty, out=np.full(len(penalty), np.inf), where=penalty > 0)
    return {"C": inverse, "l1_ratio": np.full(len(penalty), ratio)}


def inverse_cs(values: Any) -> FloatArray:
    """Return the penalties of values of C; raise if one is not above 0."""
    given = np.asarray(values, dtype=np.float64).ravel()
    if not given.size or not (given > 0).all():
        raise ValueError(f"Cs must be numbers above 0, inf without a penalty, or their number; got {values!r}")
    return np.asarray(1 / given)


def by_l1_l2(penalty: FloatArray, ratio: float) -> dict[str, FloatArray]:
    """Return penalties as l1 and l2."""
    return {"l1": penalty * ratio, "l2": penalty * (1 - ratio)}


def is_count(value: Any) -> bool:
    """Whether penalties are given by their number."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def strengths(steepest: float, penalties: Any, eps: float, ratio: float, word: str = "penalties") -> FloatArray:
    """Return the penalties of a path, the largest first: the given ones, or a number of them.

    Parameters
    ----------
    steepest
        The largest gradient at zero coefficients: with a penalty of that size all stay zero.
    penalties
        The penalties, or their number.
    eps
        The smallest penalty as a share of the largest.
    ratio
        The share of a penalty that is l1.
    word
        The name of the argument that gave the penalties, for errors.
    """
    if not is_count(penalties):
        given = np.sort(np.asarray(penalties, dtype=np.float64).ravel())[::-1]
        bad = np.flatnonzero(~((given >= 0) & np.isfinite(given)))
        if not given.size or bad.size:
            raise ValueError(f"{word} must be finite numbers, 0 or more, or their number; got {penalties!r}")
        return given
    if penalties < 1:
        raise ValueError(f"{word} must be penalties, or their number, 1 or more; got {penalties!r}")
    if not 0 < eps < 1:
        raise ValueError(f"eps must be a share between 0 and 1; got {eps!r}")
    # A little more than the gradient, for its rounding error.
    return np.asarray(steepest * (1 + 1e-6) / ratio * np.logspace(0, np.log10(eps), int(penalties)))


def alpha_strengths(steepest: float, alphas: Any, eps: float, ratio: float, weight: float) -> FloatArray:
    """Return the penalties of a path that are given by alphas, or by their number, of rows of this total weight."""
    if is_count(alphas):
        return strengths(steepest, alphas, eps, ratio, "alphas")
    return weight * strengths(steepest, alphas, eps, ratio, "alphas")


def check_ratio(ratio: Any, word: str) -> None:
    """Raise if the share of l1 of a path is not above 0 and at most 1."""
    if not (isinstance(ratio, int | float | np.number) and 0 < ratio <= 1):
        raise ValueError(f"{word} of a path must be above 0 and at most 1, the share of l1 in a penalty; got {ratio!r}")


def solve_path(
    penalties: FloatArray,
    ratio: float,
    start: FloatArray,
    solve: Callable[[float, float, FloatArray], Any],
    names: PenaltyNames,
) -> Path:
    """Return the path over penalties, each started from the solution of the last.

    Parameters
    ----------
    solve
        Given l1, l2 and an initial theta, returns coefficients, (t, d), intercepts, (t,), the log-likelihood and the
        next initial theta.
    names
        Given penalties and the share of l1, returns them by the names of the model's parameters.
    """
    theta, coefs, intercepts, values = start, [], [], []
    for penalty in penalties:
        coef, intercept, value, theta = solve(float(penalty) * ratio, float(penalty) * (1 - ratio), theta)
        coefs.append(coef[0] if len(coef) == 1 else coef)
        intercepts.append(intercept[0] if len(intercept) == 1 else intercept)
        values.append(value)
    return Path(names(penalties, ratio), np.array(coefs), np.array(intercepts), np.array(values))

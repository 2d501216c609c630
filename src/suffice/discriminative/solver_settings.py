"""Which solver a setting names, and what is said where it did not get there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from suffice import solvers
from suffice.solvers import Solution
from suffice.user_warnings import warn_user

#: Of a name: the solver, given tol, max_iter, whether the Hessian at the end is wanted, and a seed.
NAMED: dict[str, Callable[[float, int, bool, Any], Any]] = {
    "auto": lambda tol, steps, hessian, seed: solvers.Auto(tol, steps, hessian),
    "newton": lambda tol, steps, hessian, seed: solvers.Newton(tol, steps),
    "batch": lambda tol, steps, hessian, seed: solvers.BatchGradient(tol=tol, max_iter=steps),
    "stochastic": lambda tol, steps, hessian, seed: solvers.StochasticGradient(
        tol=tol, epochs=steps, random_state=seed
    ),
}


def solver_of(solver: Any, tol: float, max_iter: int, hessian: bool, seed: Any) -> Any:
    """Return the solver that a setting names, or the one it is."""
    if hasattr(solver, "minimise"):
        return solver
    if solver not in NAMED:
        raise ValueError(f"solver must be one of {', '.join(NAMED)}, or a solver of suffice.solvers; got {solver!r}")
    return NAMED[solver](tol, max_iter, hessian, seed)


def warn_unless_converged(model: Any, solution: Solution) -> None:
    """Warn where a solver has not converged, with the last line of its trace."""
    if not solution.converged:
        last = f"; {solution.trace[-1]}" if solution.trace else ""
        warn_user(
            f"{type(model).__name__} did not converge: {solution.reason}{last}. Raise max_iter, or try another solver",
            ConvergenceWarning,
        )


def warn_unsolved(model: Any, l1: float) -> None:
    """Warn where an elastic net could not be read from sums."""
    warn_user(
        f"{type(model).__name__} did not converge: the conditions for a minimum do not hold at l1={l1:g}, as columns "
        "nearly depend on each other. Standardise the columns, or give l2 > 0",
        ConvergenceWarning,
    )


class CollinearityWarning(UserWarning):
    """Columns that are sums of multiples of others: their coefficients are not determined by the rows."""


class PrecisionWarning(UserWarning):
    """Numbers of which rounding leaves no digit, and which are not given."""


def dependence(name: str, others: list[str]) -> str:
    """Return a sentence about a column that is a combination of others, or of none.

    Examples
    --------
    >>> dependence("total", ["north", "south"])
    'total = a combination of north, south'
    """
    return f"{name} = a combination of {', '.join(others)}" if others else f"{name} is constant"

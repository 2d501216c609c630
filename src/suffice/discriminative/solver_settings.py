"""Which solver a setting names, and what is said where it did not get there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from suffice import solvers
from suffice.solvers import Solution
from suffice.solvers.quasi_newton import QuasiNewton
from suffice.solvers.truncated_newton import TruncatedNewton
from suffice.store import StoreError, class_name
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


#: The solvers that a file names, by the name of the class.
SOLVERS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        solvers.Auto,
        solvers.Newton,
        solvers.BatchGradient,
        solvers.StochasticGradient,
        QuasiNewton,
        TruncatedNewton,
    )
}


def solver_of(solver: Any, tol: float, max_iter: int, hessian: bool, seed: Any) -> Any:
    """Return the solver that a setting names, or the one it is."""
    if hasattr(solver, "minimise"):
        return solver
    if solver not in NAMED:
        raise ValueError(f"solver must be one of {', '.join(NAMED)}, or a solver of suffice.solvers; got {solver!r}")
    return NAMED[solver](tol, max_iter, hessian, seed)


def write_solver(solver: Any) -> dict[str, Any]:
    """Return a solver as a file holds it: its name, or that of its class where it is the user's, and its settings.

    Examples
    --------
    >>> write_solver(solvers.Newton(tol=1e-6))
    {'solver': 'Newton', 'tol': 1e-06, 'max_iter': 100}
    """
    kind = type(solver)
    if not is_dataclass(solver):
        raise TypeError(
            f"solver={solver!r} cannot be saved, as its settings are not known: make {kind.__name__} a dataclass, or "
            "set_params(solver='auto') before saving; a fitted model does not change by that"
        )
    own = SOLVERS.get(kind.__name__) is not kind
    settings = {field.name: getattr(solver, field.name) for field in fields(solver)}
    return {"solver": class_name(kind) if own else kind.__name__, **settings}


def read_solver(plain: Mapping[str, Any], given: Mapping[str, type]) -> Any:
    """Return the solver that :func:`write_solver` wrote; a class of the user's is taken from those given."""
    settings = dict(plain)
    name = settings.pop("solver")
    known: dict[str, type] = {**SOLVERS, **given}
    if name not in known:
        short = name.rpartition(":")[2].rpartition(".")[2]
        raise StoreError(
            f"needs the solver {name}, which is not part of suffice: import the class yourself and give load(path, "
            f"families=[{short}])"
        )
    return known[name](**settings)


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

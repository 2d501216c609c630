"""When a solver has converged: measures that depend on the units of neither columns nor targets."""

from __future__ import annotations

import math
from dataclasses import dataclass

from suffice.solvers.objective import Objective

#: A value that falls by no more than this share of its size has not fallen: it is rounding.
ROUNDING = 1e-13
#: Beyond this many rows the decrement is held at what this many may leave: 1e4 tol standard errors.
ROWS = 1e8
#: Each parameter lets the decrement be 4 times as large, 25 times at most, where there are so many rows.
MOST, LARGE = 25, 1e5
#: Where rounding ends the search, predictors may be this far off, relative to their scale.
ROUNDED = 1e-6
#: So many steps without a smaller decrement, each too short to be seen in the value, end the search.
IDLE = 3


@dataclass
class Convergence:
    """The tests that end a search, and how far it has come.

    A search is judged by Newton's decrement, ``gradient' Hessian^-1 gradient``: twice the distance of the value from
    the minimum, were it a parabola, and the squared distance of theta from the optimum in standard errors. It is
    compared with the weight of the rows times the scale of one row's value, so that the root mean square error of the
    linear predictors is a small multiple of ``tol`` of their scale: 1, and 5 at most where there are many rows.

    Examples
    --------
    >>> test = Convergence(tol=1e-8, weight=100.0, unit=1.0)
    >>> test.reached(1e-14), test.reached(1e-13)
    (True, False)
    """

    tol: float
    weight: float
    unit: float  #: the scale of one row's value: :attr:`Objective.unit`
    parameters: int = 1
    _least: float = math.inf  # the smallest decrement so far
    _idle: int = 0  # steps since then

    @classmethod
    def of(cls, objective: Objective, tol: float, parameters: int) -> Convergence:
        """Return the tests for an objective with so many parameters."""
        return cls(tol, objective.weight, objective.unit, parameters)

    @property
    def goal(self) -> float:
        """The largest decrement at which a search has converged."""
        return self._allowed(self.tol)

    def reached(self, decrement: float, by_first: float = math.inf) -> bool:
        """Whether the decrement is as small as ``tol`` asks for.

        ``by_first`` is the decrement by the Hessian at the start. Where classes are separated, the Hessian vanishes
        while theta grows without end: then that one decides, within 1e4 tol standard errors.
        """
        return decrement <= self.goal or (by_first <= self.goal and decrement <= ROWS * self.tol**2 * self.unit)

    def slack(self, value: float) -> float:
        """Return the difference of values that is rounding."""
        return ROUNDING * (abs(value) + 0.01 * self.weight * self.unit)  # terms of a value near zero may be larger

    def stalls(self, decrement: float, decrease: float, value: float) -> bool:
        """Whether rounding keeps the decrement from falling: to be asked once a step, with the last decrease."""
        smaller = decrement < 0.9 * self._least
        self._least = min(decrement, self._least)
        self._idle = 0 if smaller or decrease > self.slack(value) else self._idle + 1
        return self._idle >= IDLE

    def stuck(self, decrement: float) -> tuple[bool, str]:
        """Return whether a search that finds no better point has converged, and why it stops."""
        if decrement <= self._allowed(max(self.tol, ROUNDED)):
            return True, "the value cannot be lowered further in double precision"
        return False, "no step along the gradient lowers the value"

    def _allowed(self, tol: float) -> float:
        many = min(4 * self.parameters, MOST) if self.weight >= LARGE else 1  # passes cost, and errors are small
        return tol * tol * self.unit * min(many * self.weight, ROWS)

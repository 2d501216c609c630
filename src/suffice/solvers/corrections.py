"""Corrections of a guess of the inverse curvature by how slopes changed along the last steps: L-BFGS."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from suffice.solvers.linear_algebra import Symmetric
from suffice.solvers.objective import flat, inner, shaped
from suffice.statistics.base import FloatArray

#: How many changes of the slope are remembered.
MEMORY = 20


Guess = Callable[[FloatArray], FloatArray]


def inverse_of(information: FloatArray) -> Guess:
    """Return what multiplies a slope by the inverse of an information matrix.

    Examples
    --------
    >>> inverse_of(np.array([[4.0]]))(np.array([[2.0]]))
    array([[0.5]])
    """
    factored = Symmetric.of(information)
    return lambda slope: shaped(factored.solve(flat(slope)), slope)


class Corrections:
    """The last steps and what they did to the slope: L-BFGS, over a first guess of the inverse curvature."""

    def __init__(self, guess: Guess) -> None:
        self.guess = guess
        self._pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=MEMORY)

    def __len__(self) -> int:
        return len(self._pairs)

    def add(self, step: FloatArray, change: FloatArray) -> None:
        """Take in a step and the fall of the slope along it; one that tells of no curvature is left out."""
        bent = inner(step, change)
        if bent > 1e-14 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self._pairs.append((step, change, bent))

    def solve(self, slope: FloatArray) -> FloatArray:
        """Return the step to where the slope would vanish."""
        shares = []
        rest = slope.copy()
        for step, change, bent in reversed(self._pairs):
            share = inner(step, rest) / bent
            shares.append(share)
            rest -= share * change
        result = self.guess(rest)
        for (step, change, bent), share in zip(self._pairs, reversed(shares), strict=True):
            result += (share - inner(change, result) / bent) * step
        return result

    def clear(self) -> None:
        """Forget all corrections."""
        self._pairs.clear()

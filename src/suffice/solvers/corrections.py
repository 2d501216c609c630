"""L-BFGS: a guess of the inverse Hessian, corrected by how gradients changed along the last steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from suffice.solvers.linear_algebra import Symmetric
from suffice.solvers.objective import flat, inner, shaped
from suffice.statistics.base import FloatArray

#: How many changes of the gradient are remembered.
MEMORY = 20


Preconditioner = Callable[[FloatArray], FloatArray]


def inverse_of(hessian: FloatArray) -> Preconditioner:
    """Return the function that multiplies a gradient by the inverse of a Hessian.

    Examples
    --------
    >>> inverse_of(np.array([[4.0]]))(np.array([[2.0]]))
    array([[0.5]])
    """
    factored = Symmetric.of(hessian)
    return lambda gradient: shaped(factored.solve(flat(gradient)), gradient)


class Corrections:
    """The last steps and the changes of the gradient along them: L-BFGS, over a guess of the inverse Hessian."""

    def __init__(self, guess: Preconditioner) -> None:
        self.guess = guess
        self._pairs: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=MEMORY)

    def __len__(self) -> int:
        return len(self._pairs)

    def add(self, step: FloatArray, change: FloatArray) -> None:
        """Add a step and the change of the gradient along it, unless they show no positive curvature."""
        curvature = inner(step, change)
        if curvature > 1e-14 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self._pairs.append((step, change, curvature))

    def solve(self, gradient: FloatArray) -> FloatArray:
        """Return the inverse Hessian times a gradient."""
        shares = []
        rest = gradient.copy()
        for step, change, curvature in reversed(self._pairs):
            share = inner(step, rest) / curvature
            shares.append(share)
            rest -= share * change
        result = self.guess(rest)
        for (step, change, curvature), share in zip(self._pairs, reversed(shares), strict=True):
            result += (share - inner(change, result) / curvature) * step
        return result

    def clear(self) -> None:
        """Forget all corrections."""
        self._pairs.clear()

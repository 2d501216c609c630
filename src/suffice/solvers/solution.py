"""What a solver gives back: where it stopped, why, and the way it went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from suffice.statistics.base import FloatArray


class DivergenceError(ValueError):
    """Steps so long that they lead away from where they should."""


class Step(NamedTuple):
    """One line of a trace."""

    passes: float  #: passes over the rows so far; a part of the rows counts as its share
    log_likelihood: float  #: of all rows, less the penalty; without the terms that do not depend on theta
    gradient_norm: float  #: the largest slope, divided by the weight of the rows
    seconds: float  #: since the solver was started

    def __str__(self) -> str:
        return (
            f"pass {self.passes:.4g}: log-likelihood {self.log_likelihood:.10g}, largest slope per row "
            f"{self.gradient_norm:.2g}, {self.seconds:.3g} s"
        )


@dataclass(frozen=True)
class Solution:
    """Where a solver stopped.

    Examples
    --------
    >>> import numpy as np
    >>> Solution(np.zeros((1, 1)), 0.0, np.zeros((1, 1)), True, "the gradient vanishes").why
    'the gradient vanishes'
    """

    theta: FloatArray  #: (p, t), one column per linear predictor
    log_likelihood: float  #: at theta, less the penalty
    gradient: FloatArray  #: of the log-likelihood less the penalty, at theta
    converged: bool
    why: str  #: why the solver stopped, in words
    trace: tuple[Step, ...] = field(default=(), repr=False)
    information: FloatArray | None = field(default=None, repr=False)
    """The negative expected Hessian of the rows' log-likelihood, (p t, p t), theta column by column: at theta, where it
    is known there."""

    @property
    def passes(self) -> float:
        """How many passes over the rows were made."""
        return self.trace[-1].passes if self.trace else 0.0

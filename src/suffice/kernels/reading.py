"""What to make of the joint log-probabilities of rows and classes: posterior, evidence, best class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from suffice.kernels.protocol import FloatArray

#: Devices read a number that is smaller, and no longer has all its digits, as 0.
_LEAST = float(np.finfo(np.float64).tiny)

What = Literal["joint", "log_posterior", "posterior", "evidence", "best"]


@dataclass(frozen=True, eq=False)
class Reading:
    """What to make of the joint log-probabilities log p(x, y) of a row.

    A score of -inf says that the class cannot have produced the row.

    Parameters
    ----------
    what
        ``"joint"`` leaves them as they are, (n, k). ``"posterior"`` and ``"log_posterior"`` tell how likely each class
        is, (n, k). ``"evidence"`` is log p(x), (n,). ``"best"`` is the first of the likeliest classes, (n,) int64.
    temperature
        The posterior is proportional to p(x, y) ** (1 / temperature). Nothing else depends on it.
    prior
        The posterior of a row that no class can have produced, (k,); uniform where it is None.

    Examples
    --------
    >>> from suffice.kernels.array_kernels import ArrayKernels
    >>> scores = np.log([[0.1, 0.3], [0.2, 0.2]])
    >>> ArrayKernels().read_scores(scores, Reading("posterior")).round(6)
    array([[0.25, 0.75],
           [0.5 , 0.5 ]])
    >>> ArrayKernels().read_scores(scores, Reading("best"))
    array([1, 0])
    """

    what: What = "joint"
    temperature: float = 1.0
    prior: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.what not in get_args(What):
            raise ValueError(f"what must be one of {', '.join(get_args(What))}; got {self.what!r}")
        if not _LEAST <= self.temperature < math.inf:
            raise ValueError(f"temperature must be finite and greater than 0; got {self.temperature:g}")
        if self.prior is None:
            return
        prior = np.ascontiguousarray(self.prior, dtype=np.float64)
        if prior.ndim != 1:
            raise ValueError(f"prior must have shape (k,); got {prior.shape}")
        bad = np.flatnonzero(~((prior >= 0) & (prior < math.inf)))
        if bad.size:
            raise ValueError(f"prior[{bad[0]}] is {prior[bad[0]]:g}; probabilities must be finite and not negative")
        if not math.isclose(prior.sum(), 1, rel_tol=1e-6):
            raise ValueError(f"prior must sum to 1; yours sums to {prior.sum():g}")
        object.__setattr__(self, "prior", prior)

    def prior_over(self, classes: int) -> FloatArray:
        """Return the posterior of a row that no class can have produced, (k,).

        >>> Reading().prior_over(2)
        array([0.5, 0.5])
        """
        if self.prior is None:
            return np.full(classes, 1 / classes)
        if self.prior.shape != (classes,):
            raise ValueError(f"prior must have shape ({classes},); got {self.prior.shape}")
        return self.prior


#: The joint log-probabilities as they are.
JOINT = Reading()

"""The fast default: a few rows tell where to start and how the land bends; all rows tell the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from suffice.solvers.corrections import inverse_of
from suffice.solvers.dual import Climbed, DualAscent
from suffice.solvers.newton import Newton
from suffice.solvers.objective import MANY, Trace
from suffice.solvers.quasi_newton import QuasiNewton
from suffice.solvers.solution import Solution
from suffice.solvers.truncated_newton import Multiplied, TruncatedNewton
from suffice.statistics.base import FloatArray

#: Where a pass with curvature costs no more than this many products, Newton's method is at its end before others start.
SMALL = 3e7
#: Where it costs no more than this many, Newton's method goes on where others are at a loss.
AFFORDABLE = 1e11
#: A pass with curvature over a share s of the rows costs about as much as one without over all: s q is about this.
FAIR = 45.0
#: The first steps are made on this many times fewer rows than the curvature is taken from.
FEWER = 4
#: The curvature of few rows may vanish where that of all does not: this share of the first one is put on its diagonal.
DAMPING = 1e-3
#: Up to so many parameters, a pass with curvature takes a small multiple of one without.
FEW = 128
#: So many rounds by the dual lead to the optimum, or show that it is far.
ROUNDS = 40


class Sampled(Multiplied, Climbed, Protocol):
    """A log-likelihood that can be asked about some of its rows."""

    @property
    def has_slow_passes(self) -> bool:
        """Whether a pass takes its time to be asked for, however few its rows: Newton's method makes the fewest."""

    @property
    def count(self) -> int:
        """How many rows there are."""

    def sample(self, count: int, strided: bool = False) -> Sampled:
        """Return the log-likelihood of about ``count`` rows; with ``strided``, of rows at equal distances."""


@dataclass(frozen=True)
class Auto:
    """The fast default.

    Few rows: Newton's method. Many rows: a sample's optimum is the start, and a larger sample's curvature there,
    corrected by how the slopes of all rows change (L-BFGS), makes the steps: about six passes over all rows. Many
    parameters: the dual, row after row, of classes on sparse rows under a ridge; else, and from there on, Newton's
    steps are solved by conjugate gradients, or (with several predictors) L-BFGS starts from the diagonal of the
    curvature.

    Examples
    --------
    >>> from suffice.discriminative.objective import Likelihood
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> from suffice.families import Response
    >>> rows = Batch(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 1.0, 4.0]))
    >>> solution = Auto().minimise(Likelihood(ThreadEngine(), rows, Response.of("poisson")), np.zeros((2, 1)))
    >>> solution.theta.ravel().round(4), solution.converged
    (array([-1.6784,  1.012 ]), True)
    """

    tol: float = 1e-8
    max_iter: int = 100
    information: bool = True  #: whether the curvature at the end is wanted

    def minimise(self, objective: Sampled, start: FloatArray) -> Solution:
        """Return where minus the log-likelihood is least."""
        size = start.size
        if size > MANY:
            return self._large(objective, start)
        rows = int(objective.count * min(0.25, FAIR / size))
        if objective.count * float(size) ** 2 <= SMALL or rows < 5 * size:
            return Newton(self.tol, self.max_iter).minimise(objective, start)
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far has no finite value, and is not taken
            found = self._sampled(objective, start, rows)
        if found.converged or objective.count * float(size) ** 2 > AFFORDABLE:
            return found
        # Columns that nearly depend on each other: slopes tell little, and the rows that were sampled may have misled.
        there = found.log_likelihood > objective.slope(start).value
        other = Newton(self.tol, self.max_iter).minimise(objective, found.theta if there else start)
        return found if found.log_likelihood > other.log_likelihood else other

    def _sampled(self, objective: Sampled, start: FloatArray, rows: int) -> Solution:
        few, more = objective.sample(rows // FEWER), objective.sample(rows, strided=True)
        trace = Trace.of(objective)
        first = few.curvature(start)
        if not np.isfinite(first.value):
            return Newton(self.tol, self.max_iter).minimise(objective, start)
        rough = QuasiNewton(1e-3, 15).minimise(few, start, inverse_of(first.information))
        there = more.curvature(rough.theta)
        information = there.information
        damping = DAMPING * more.weight / few.weight * first.information.diagonal()
        np.fill_diagonal(information, information.diagonal() + damping)
        trace.passes = ((rough.passes + 1) * few.count + more.count) / objective.count
        solve = inverse_of(information)
        share = more.weight / objective.weight
        theta = rough.theta + solve(there.gradient) if np.isfinite(there.value) else rough.theta
        if objective.has_slow_passes and theta.size <= FEW:
            return Newton(self.tol, self.max_iter).minimise(objective, theta, trace)
        solver = QuasiNewton(self.tol, self.max_iter, self.information)
        return solver.minimise(objective, theta, lambda slope: share * solve(slope), trace)

    def _large(self, objective: Sampled, start: FloatArray) -> Solution:
        near = DualAscent(self.tol, ROUNDS).minimise(objective, start)
        if near is not None and near.converged:
            return near
        if near is not None and np.isfinite(near.log_likelihood):
            start = near.theta
        if start.shape[1] == 1:
            return TruncatedNewton(self.tol, self.max_iter).minimise(objective, start)
        trace = Trace.of(objective)
        across = 1 / np.maximum(objective.diagonal(start), np.finfo(np.float64).tiny)
        trace.passes = 1.0
        return QuasiNewton(self.tol, max(self.max_iter, 1000)).minimise(
            objective, start, lambda slope: across * slope, trace
        )

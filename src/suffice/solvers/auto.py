"""Default solver: warm start and preconditioner from a row sample, then L-BFGS over all rows. Solvers by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.solvers.base import MANY, Objective, SampledObjective, Solution, Trace, has_dual, has_sample
from suffice.solvers.dual import DualAscent
from suffice.solvers.gradient import BatchGradient
from suffice.solvers.linear_algebra import inverse_of
from suffice.solvers.newton import Newton
from suffice.solvers.quasi_newton import QuasiNewton
from suffice.solvers.stochastic import StochasticGradient
from suffice.solvers.truncated_newton import TruncatedNewton
from suffice.statistics.base import FloatArray

#: Newton's method is used if a pass with the Hessian costs at most this many products.
SMALL = 3e7
#: Newton's method continues if others have not converged and a pass costs at most this many.
AFFORDABLE = 1e11
#: A pass with the Hessian over a share s of the rows costs as much as one without over all rows if s q is this.
FAIR = 45.0
#: The first steps use this many times fewer rows than the sample of the Hessian.
FEWER = 4
#: The Hessian of a sample may be singular though that of all rows is not: this share of it is added to its diagonal.
DAMPING = 1e-3
#: Up to this many parameters, a pass with the Hessian takes a small multiple of one without.
FEW = 128
#: Most rounds of dual ascent before another solver continues.
ROUNDS = 40


@dataclass(frozen=True)
class Auto:
    """Default solver: chooses the method by the size of the problem.

    Few rows: Newton's method. Many rows: L-BFGS from the optimum of a sample, preconditioned by the Hessian of a larger
    sample: about six passes over all rows. Many parameters: dual coordinate ascent for classes on sparse rows with a
    ridge; then, and otherwise, truncated Newton (conjugate gradients), or L-BFGS preconditioned by the diagonal of the
    Hessian if there are several predictors. Objectives that support less: the first available of Newton's method,
    truncated Newton and L-BFGS.

    Examples
    --------
    >>> from suffice.data import EncodedDataset
    >>> from suffice.discriminative.objective import NegativeLogLikelihood
    >>> from suffice.families import Response
    >>> from suffice.kernels import Batch
    >>> rows = Batch(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 1.0, 4.0]))
    >>> objective = NegativeLogLikelihood(EncodedDataset.of_batch(rows), Response.of("poisson"))
    >>> solution = Auto().minimise(objective, np.zeros((2, 1)))
    >>> solution.theta.ravel().round(4), solution.converged
    (array([-1.6784,  1.012 ]), True)
    """

    tol: float = 1e-8
    max_iter: int = 100
    hessian: bool = True  #: whether to return the Hessian at the optimum

    def minimise(self, objective: Objective, start: FloatArray) -> Solution:
        """Return the minimum of the objective."""
        size, work = start.size, objective.n_rows * float(start.size) ** 2
        if size > MANY or not objective.supports("hessian", start):
            return self._without_hessian(objective, start)
        rows = int(objective.n_rows * min(0.25, FAIR / size))
        if work <= SMALL or rows < 5 * size or not has_sample(objective, start):
            return Newton(self.tol, self.max_iter).minimise(objective, start)
        with np.errstate(over="ignore", invalid="ignore"):  # a step whose value is not finite is rejected
            found = self._sampled(objective, start, rows)
        if found.converged or work > AFFORDABLE:
            return found
        # Nearly collinear columns: gradients are small, and the sample's preconditioner may be poor.
        better = found.value < objective.value_gradient(start).value
        other = Newton(self.tol, self.max_iter).minimise(objective, found.theta if better else start)
        return found if found.value < other.value else other

    def _sampled(self, objective: SampledObjective, start: FloatArray, rows: int) -> Solution:
        few, more = objective.sample(rows // FEWER), objective.sample(rows, strided=True)
        trace = Trace.of(objective)
        first = few.value_gradient_hessian(start)
        if not np.isfinite(first.value):
            return Newton(self.tol, self.max_iter).minimise(objective, start)
        rough = QuasiNewton(1e-3, 15).minimise(few, start, inverse_of(first.hessian))
        there = more.value_gradient_hessian(rough.theta)
        hessian = there.hessian
        damping = DAMPING * more.weight / few.weight * first.hessian.diagonal()
        np.fill_diagonal(hessian, hessian.diagonal() + damping)
        trace.passes = ((rough.passes + 1) * few.n_rows + more.n_rows) / objective.n_rows
        solve = inverse_of(hessian)
        share = more.weight / objective.weight
        theta = rough.theta - solve(there.gradient) if np.isfinite(there.value) else rough.theta
        if objective.has_slow_passes and theta.size <= FEW:
            return Newton(self.tol, self.max_iter).minimise(objective, theta, trace)
        solver = QuasiNewton(self.tol, self.max_iter, self.hessian)
        return solver.minimise(objective, theta, lambda gradient: share * solve(gradient), trace)

    def _without_hessian(self, objective: Objective, start: FloatArray) -> Solution:
        if has_dual(objective, start):
            near = DualAscent(self.tol, ROUNDS).minimise(objective, start)
            if near.converged:
                return near
            if np.isfinite(near.value):
                start = near.theta
        if objective.supports("hessian_product", start) and objective.supports("hessian_diagonal", start):
            return TruncatedNewton(self.tol, self.max_iter).minimise(objective, start)
        return QuasiNewton(self.tol, max(self.max_iter, 1000)).minimise(objective, start)


#: The solver of a name, given tol, max_iter, whether to return the Hessian, and a seed.
NAMED: dict[str, Callable[[float, int, bool, Any], Any]] = {
    "auto": lambda tol, steps, hessian, seed: Auto(tol, steps, hessian),
    "newton": lambda tol, steps, hessian, seed: Newton(tol, steps),
    "batch": lambda tol, steps, hessian, seed: BatchGradient(tol=tol, max_iter=steps),
    "stochastic": lambda tol, steps, hessian, seed: StochasticGradient(tol=tol, epochs=steps, random_state=seed),
    # Names of scikit-learn: the same method, or the default solver, of the same optimum.
    "lbfgs": lambda tol, steps, hessian, seed: QuasiNewton(tol, steps, hessian),
    "newton-cholesky": lambda tol, steps, hessian, seed: Newton(tol, steps),
    **dict.fromkeys(("newton-cg", "sag", "saga"), lambda tol, steps, hessian, seed: Auto(tol, steps, hessian)),
}
#: Other words for a named solver; "normal" is of least squares alone.
_SYNONYMS = {
    **dict.fromkeys(("gd", "bgd", "gradient", "gradient_descent", "batch_gradient_descent"), "batch"),
    **dict.fromkeys(("sgd", "lms", "stochastic_gradient_descent", "widrow-hoff"), "stochastic"),
    **dict.fromkeys(("irls", "fisher", "fisher_scoring", "newton-raphson", "newton_raphson"), "newton"),
    **dict.fromkeys(("normal_equation", "normal_equations", "closed_form", "ols", "cholesky"), "normal"),
}
_STEPPED = {"batch": "BatchGradient", "stochastic": "StochasticGradient"}


def solver_of(solver: Any, tol: float, max_iter: int, hessian: bool, seed: Any, also: tuple[str, ...] = ()) -> Any:
    """Return the solver of a name with these settings; a solver is returned as it is.

    Parameters
    ----------
    solver, tol, max_iter, hessian, seed
        The name or the solver, and its settings.
    also
        Further names that the model takes, for the error.

    Examples
    --------
    >>> solver_of("newton", 1e-8, 100, False, None), solver_of(BatchGradient(step=0.5), 1e-8, 100, False, None).step
    (Newton(tol=1e-08, max_iter=100), 0.5)
    """
    if hasattr(solver, "minimise"):
        return solver
    if solver not in NAMED:
        if solver == "liblinear":
            raise ValueError("there is no solver 'liblinear', which penalises the intercept: use 'auto'")
        known = (*also, *NAMED)
        name = _SYNONYMS.get(str(solver).lower().replace(" ", "_"))
        if name not in known:
            raise ValueError(
                f"solver must be one of {', '.join(known)}, or a solver of suffice.solvers; got {solver!r}"
            )
        step = f"; with a step size of your own, solver={_STEPPED[name]}(step=0.1)" if name in _STEPPED else ""
        raise ValueError(f"there is no solver {solver!r}: it is solver={name!r}{step}")
    return NAMED[solver](tol, max_iter, hessian, seed)

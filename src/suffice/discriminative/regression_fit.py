"""The fit of a regression with a ridge penalty, and the contents of its file; free of estimators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.data import EncodedDataset
from suffice.discriminative.encoding import drop_rows_without_weight
from suffice.discriminative.facts import Facts, facts_of
from suffice.discriminative.layout import lay_out
from suffice.discriminative.normal_equations import solve_normal_equations
from suffice.discriminative.objective import NegativeLogLikelihood
from suffice.discriminative.theta_covariance import ThetaCovariance
from suffice.families import Response
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import engine_for
from suffice.kernels.inputs import check_host_memory
from suffice.solvers import Solution
from suffice.solvers.auto import solver_of
from suffice.solvers.base import MANY
from suffice.solvers.linear_algebra import Symmetric
from suffice.statistics import NormalEquations
from suffice.statistics.base import FloatArray
from suffice.store import Contents

#: A model file has the theta of each step of the trace if that is at most this many numbers.
SMALL_TRACE = 4096
#: Largest number of steps of a solver.
_MAX_ITER = 100


@dataclass(frozen=True, eq=False)
class RegressionFit:
    """A regression with an intercept, fitted by maximum likelihood with a ridge penalty."""

    features: int
    solution: Solution
    facts: Facts
    covariance: ThetaCovariance | None  #: None if the solver computed no Hessian
    information: FloatArray | None  #: the Hessian, if it is in the coordinates of X
    weight: float  #: of the rows

    def contents(self, kind: str, settings: Mapping[str, Any]) -> Contents:
        """Return the file contents of the estimator that this is a fit of.

        Parameters
        ----------
        kind
            The class of the estimator.
        settings
            Its parameters, as a file has them, and its classes.
        """
        progress = {"seen": self.weight, "pace": None, "warm": False}
        arrays = {} if self.information is None else {"curvature": self.information}
        settings = {"feature_names": None, "notes": [], "progress": progress, **settings}
        return regression_contents(kind, self.features, self.solution, self.facts, self.covariance, settings, arrays)


def fit_ridge(
    rows: Batch, response: Response, targets: int, l2: float, solver: str, tol: float, alike: bool = False
) -> RegressionFit:
    """Return the theta that maximises the log-likelihood minus l2 times half the squares of the coefficients.

    Parameters
    ----------
    rows
        Rows with their targets and weights, dense or CSR.
    response
        The family and link of the targets.
    targets
        The number of classes whose codes are the targets; 1 for numbers.
    l2
        The penalty of every coefficient but the intercepts.
    solver, tol
        The name of the solver, and its tolerance.
    alike
        Whether theta has a column for every class, instead of one less.

    Examples
    --------
    >>> rows = Batch(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 0.0, 1.0]))
    >>> fit_ridge(rows, Response.of("bernoulli"), 1, 1.0, "newton", 1e-8).solution.theta.ravel().round(3)
    array([-0.679,  0.453])
    """
    data = EncodedDataset.of_batch(drop_rows_without_weight(rows))
    laid, layout = lay_out(data, intercept=True)
    likelihood = NegativeLogLikelihood(
        laid, response, l2=l2, symmetric=alike, predictors=response.predictors(targets) + alike
    )
    check_host_memory((data.n_rows, data.n_features), "theta, its gradient and coef_", 4, *likelihood.shape)
    start = null_theta(likelihood, targets)
    solution = solver_of(solver, tol, _MAX_ITER, False, 0).minimise(likelihood, start)
    if not np.isfinite(solution.value):
        raise ValueError(f"there is no theta with finite likelihood ({response.name}): standardise the columns")
    theta, hessian = solution.theta, solution.hessian
    rank = count_identified(likelihood, theta, None if hessian is None else Symmetric.of(hessian))
    penalty = float(l2 / 2 * (theta[1:] * theta[1:]).sum())
    facts = facts_of(likelihood, theta, penalty - solution.value, rank)
    covariance = None if hessian is None else ThetaCovariance.classical(layout, hessian, facts.dispersion)
    information = hessian if layout.is_plain else None
    outward = layout.solution_outward(solution)
    return RegressionFit(data.n_features, outward, facts, covariance, information, likelihood.weight)


def null_theta(likelihood: NegativeLogLikelihood, targets: int) -> FloatArray:
    """Return the theta of the null model, whose mean is the mean of y.

    If it is impossible (no intercept, or offsets that put means out of range), that of a least-squares fit of the link
    of each target.

    Parameters
    ----------
    likelihood
        The objective.
    targets
        The number of classes, or of parts of y; 1 for plain numbers.
    """
    response, rows, intercept = likelihood.response, likelihood.data.some_rows, likelihood.intercept
    start = np.zeros(likelihood.shape)
    if targets == 1 or response.vector_targets:
        level = response.start(*likelihood.target_moments)
        if rows.offset is not None:
            level = level - np.average(rows.offset, weights=rows.weight)
        if intercept:
            start[0] = level
    if intercept and rows.offset is None:
        return start
    few = likelihood.sample(min(max(1000, 10 * start.size), 10 * MANY))
    value = few.value_gradient(start).value
    flat_start = not intercept and response.family.name not in ("bernoulli", "multinomial")
    if not np.isfinite(value) or (flat_start and start.size <= MANY):
        linked = _linked(few, start)
        start = linked if not np.isfinite(value) or few.value_gradient(linked).value < value else start
    return start


def _linked(likelihood: NegativeLogLikelihood, start: FloatArray) -> FloatArray:
    """Return an initial theta by least squares on the link of each target, as the first step of R's glm."""
    rows, response = likelihood.data.some_rows, likelihood.response
    if start.shape[1] > 1:
        return start
    y = to_host(rows.y)
    aims = response.start((y + np.average(y, weights=rows.weight)) / 2)  # inside the range of means
    weight = response.curve(aims[:, None], y).curvature[:, 0, 0]
    weight = np.ascontiguousarray(weight if rows.weight is None else weight * rows.weight)
    offset = rows.offset if rows.offset is not None else 0.0
    near = replace(rows, y=aims - offset, weight=weight, offset=None)
    sums = engine_for(None, rows.x).accumulate(NormalEquations.over(), near)
    return solve_normal_equations(sums, likelihood.intercept).theta


def count_identified(
    likelihood: NegativeLogLikelihood, theta: FloatArray, information: Symmetric | None, is_sparse: bool = False
) -> int:
    """Return the number of identified parameters.

    Parameters
    ----------
    likelihood
        The objective.
    theta
        Its optimum.
    information
        The Hessian there; None if it is unknown.
    is_sparse
        Whether an l1 penalty has set parameters to 0, which are not counted.
    """
    if is_sparse:
        rank = int(np.count_nonzero(theta))
    elif likelihood.free is not None:
        rank = int(likelihood.free.sum())
    else:
        rank = theta.size
    if information is not None:
        rank -= theta.size - information.rank
    return rank - int(likelihood.symmetric and likelihood.intercept)


def regression_contents(
    kind: str,
    features: int,
    solution: Solution,
    facts: Facts | None,
    covariance: ThetaCovariance | None,
    settings: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
) -> Contents:
    """Return the file contents of a regression.

    Parameters
    ----------
    kind
        The class of the estimator.
    features, solution, facts, covariance
        The fit; facts and covariance are None if they are unknown.
    settings, arrays
        Whatever else the estimator has in its file.
    """
    found = {"theta": solution.theta, "gradient": solution.gradient}
    thetas = [step.theta for step in solution.trace if step.theta is not None]
    if len(thetas) == len(solution.trace) and len(thetas) * solution.theta.size <= SMALL_TRACE:
        found["trace_theta"] = np.stack(thetas)
    if covariance is not None:
        found |= covariance.arrays()
    about = {
        "value": solution.value,
        "converged": solution.converged,
        "reason": solution.reason,
        "weight": solution.weight,
        # Without times of steps: the same fit gives the same file.
        "trace": [
            [step.passes, step.value, step.gradient_norm, 0.0, None, step.number, step.step] for step in solution.trace
        ],
    }
    written = {"features": features, "facts": None if facts is None else facts.plain(), "solution": about}
    return Contents(kind, {**settings, **written}, {}, {**found, **arrays})

"""Solvers that minimise an :class:`Objective` by its values, gradients and Hessians."""

from suffice.solvers.auto import Auto
from suffice.solvers.base import (
    DivergenceError,
    DualObjective,
    Objective,
    SGDObjective,
    Solution,
    Step,
    Trace,
    ValueGradient,
    ValueGradientHessian,
)
from suffice.solvers.coordinate_descent import CoordinateDescent
from suffice.solvers.gradient import BatchGradient
from suffice.solvers.newton import Newton
from suffice.solvers.quasi_newton import QuasiNewton
from suffice.solvers.stochastic import StochasticGradient
from suffice.solvers.truncated_newton import TruncatedNewton

__all__ = [
    "Auto",
    "BatchGradient",
    "CoordinateDescent",
    "DivergenceError",
    "DualObjective",
    "Newton",
    "Objective",
    "QuasiNewton",
    "SGDObjective",
    "Solution",
    "Step",
    "StochasticGradient",
    "Trace",
    "TruncatedNewton",
    "ValueGradient",
    "ValueGradientHessian",
]

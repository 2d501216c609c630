"""Solvers: numbers in, numbers out. A solver asks an objective for slopes and curvatures, and never sees a row."""

from suffice.solvers.auto import Auto
from suffice.solvers.elastic_net import ElasticNet
from suffice.solvers.gradient import BatchGradient
from suffice.solvers.newton import Newton
from suffice.solvers.objective import Bend, Objective, Slope
from suffice.solvers.solution import DivergenceError, Solution, Step
from suffice.solvers.stochastic import StochasticGradient

__all__ = [
    "Auto",
    "BatchGradient",
    "Bend",
    "DivergenceError",
    "ElasticNet",
    "Newton",
    "Objective",
    "Slope",
    "Solution",
    "Step",
    "StochasticGradient",
]

"""Solvers: numbers in, numbers out. A solver asks an objective for slopes and curvatures, and never sees a row."""

from suffice.solvers.auto import Auto
from suffice.solvers.elastic_net import ElasticNet
from suffice.solvers.newton import Newton
from suffice.solvers.objective import Bend, Objective, Slope
from suffice.solvers.solution import Solution, Step

__all__ = ["Auto", "Bend", "ElasticNet", "Newton", "Objective", "Slope", "Solution", "Step"]

"""Solvers: numbers in, numbers out. A solver asks an objective for slopes and curvatures, and never sees a row."""

from suffice.solvers.solution import Solution, Step

__all__ = ["Solution", "Step"]

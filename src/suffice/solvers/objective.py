"""What a solver is told about: a log-likelihood to be raised, by its slopes and curvatures at a point."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, Self

import numpy as np

from suffice.solvers.solution import Step
from suffice.statistics.base import FloatArray

#: Above this many parameters no matrix of curvatures is made.
MANY = 2000


class Slope(NamedTuple):
    """A log-likelihood less its penalty, and its gradient, at one theta."""

    value: float
    gradient: FloatArray  # the shape of theta


class Bend(NamedTuple):
    """A log-likelihood less its penalty, with its gradient and curvature, at one theta."""

    value: float
    gradient: FloatArray  # the shape of theta
    information: FloatArray  # (q, q), the negative expected Hessian, theta read column by column: of rows and penalty


class Objective(Protocol):
    """A log-likelihood of rows less a penalty, which solvers raise. Each question costs one pass over the rows."""

    @property
    def weight(self) -> float:
        """The total weight of the rows."""

    @property
    def unit(self) -> float:
        """The scale of one row's log-likelihood: the variance of gaussian targets, whose units it has; else about 1."""

    def slope(self, theta: FloatArray) -> Slope:
        """Return value and gradient."""

    def curvature(self, theta: FloatArray) -> Bend:
        """Return value, gradient and information."""


def flat(theta: FloatArray) -> FloatArray:
    """Return theta, (p, t), read column by column, (p t,): the order of an information matrix.

    Examples
    --------
    >>> flat(np.array([[1.0, 3.0], [2.0, 4.0]]))
    array([1., 2., 3., 4.])
    """
    return np.ascontiguousarray(theta.T).reshape(-1)


def shaped(vector: FloatArray, like: FloatArray) -> FloatArray:
    """Return a vector in the shape of theta: the inverse of :func:`flat`.

    Examples
    --------
    >>> shaped(np.array([1.0, 2.0, 3.0, 4.0]), np.zeros((2, 2)))
    array([[1., 3.],
           [2., 4.]])
    """
    return np.ascontiguousarray(vector.reshape(like.T.shape).T)


def inner(one: FloatArray, two: FloatArray) -> float:
    """Return the sum of products of two arrays of one shape. No BLAS, whose threads would wait in the engine's way.

    Examples
    --------
    >>> inner(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]))
    11.0
    """
    return float(np.einsum("i,i->", one.reshape(-1), two.reshape(-1)))


def steepest(gradient: FloatArray, weight: float) -> float:
    """Return the largest slope, per unit of weight."""
    return float(np.abs(gradient).max(initial=0.0)) / weight


@dataclass
class Trace:
    """The way a solver goes, as it goes."""

    weight: float
    steps: list[Step] = field(default_factory=list)
    passes: float = 0.0
    started: float = field(default_factory=time.perf_counter)

    @classmethod
    def of(cls, objective: Objective) -> Self:
        """Return the empty trace of a solver that starts now."""
        return cls(objective.weight)

    def add(self, value: float, gradient: FloatArray | None, passes: float = 1.0) -> float:
        """Take down where a pass over the rows has led; return the largest slope per unit of weight, NaN if unknown."""
        self.passes += passes
        norm = math.nan if gradient is None else steepest(gradient, self.weight)
        self.steps.append(Step(self.passes, value, norm, time.perf_counter() - self.started))
        return norm

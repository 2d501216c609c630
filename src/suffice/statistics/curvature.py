"""Value, gradient and curvature of a log-likelihood at one point: what a solver's step is made from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.statistics.base import Cost, FloatArray, Statistics, check_factor, product_work


@dataclass(frozen=True, eq=False)
class Curvature(Statistics):
    """A log-likelihood's value, gradient and negative expected Hessian at one ``theta``; others do not add to it.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> from suffice.families import Response
    >>> rows = Batch(np.array([[-1.0], [1.0]]), np.array([0.0, 1.0]))
    >>> what = Curvature.over(Response.of("bernoulli"), np.zeros((2, 1)))
    >>> at_zero = ThreadEngine().accumulate(what, [rows])
    >>> at_zero.gradient.ravel(), at_zero.hessian
    (array([0., 1.]), array([[0.5, 0. ],
           [0. , 0.5]]))
    """

    subtracts = False

    total: float
    theta: FloatArray  # (p, t), one column per linear predictor
    value: float
    gradient: FloatArray  # (p, t)
    hessian: FloatArray  # (p t, p t), theta read column by column; (0, 0) where it was not asked for

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        size = self.theta.size
        return {"gradient": self.theta.shape, **({"hessian": (size, size)} if self.hessian.size else {})}

    @classmethod
    def zero(cls) -> Self:
        """Return the log-likelihood of no rows."""
        return cls(0.0, np.zeros((0, 0)), 0.0, np.zeros((0, 0)), np.zeros((0, 0)))

    @classmethod
    def of(
        cls, batch: Any, kernels: Any, response: Any, theta: FloatArray, intercept: bool = True, hessian: bool = True
    ) -> Self:
        """Return the log-likelihood of one batch under a family and link; with an intercept it is theta's first row."""
        theta = np.array(theta, dtype=np.float64)  # a copy: solvers move theta in place
        weight, value, gradient, curve = kernels.curvature(batch, response, theta, intercept, hessian)
        return cls(weight, theta, value, gradient, curve)

    @classmethod
    def cost_of(
        cls, batch: Any, response: Any, theta: FloatArray, intercept: bool = True, hessian: bool = True
    ) -> Cost:
        """Return the cost of the gradient, a pass for each predictor, and of the Hessian where it is asked for."""
        work = batch.size * (1 + theta.shape[1])
        if hessian:
            return Cost(work + product_work(batch.rows, theta.size), theta.size**2)
        return Cost(work, theta.size)

    @property
    def weight(self) -> float:
        """The total weight of the rows."""
        return self.total

    def _check(self, other: Self) -> None:
        if not np.array_equal(self.theta, other.theta):
            raise ValueError("log-likelihoods taken at different theta do not go together")
        if self.hessian.shape != other.hessian.shape:
            raise ValueError("log-likelihoods with and without a Hessian do not go together")

    def _plus(self, other: Self) -> Self:
        self._check(other)
        return replace(
            self,
            total=self.total + other.total,
            value=self.value + other.value,
            gradient=self.gradient + other.gradient,
            hessian=self.hessian + other.hessian,
        )

    def scaled(self, factor: float) -> Self:
        """Return the log-likelihood with every row's weight multiplied by ``factor``."""
        factor = check_factor(factor)
        return replace(
            self,
            total=self.total * factor,
            value=self.value * factor,
            gradient=self.gradient * factor,
            hessian=self.hessian * factor,
        )

"""Normal equations: all that least squares needs to know of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice.statistics.base import Cost, FloatArray, Removal, Statistics, product_work
from suffice.statistics.labels import ONE_CLASS
from suffice.statistics.moments import TiedMoments


@dataclass(frozen=True, eq=False)
class NormalEquations(Statistics):
    """Weight, mean and centred scatter of the rows [x, y]: XᵀWX, XᵀWy and yᵀWy about the means.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> x = np.array([[0.0], [1.0], [2.0]])
    >>> line = ThreadEngine().accumulate(NormalEquations.over(), [Batch(x, 3 + 2 * x[:, 0])])
    >>> slope = np.linalg.solve(line.xx, line.xy)
    >>> slope, line.mean_y - line.mean_x @ slope
    (array([[2.]]), array([3.]))
    """

    total: float
    mean: FloatArray  # (d + t,)
    scatter: FloatArray  # (d + t, d + t), centred
    targets: int  # t, the columns of y

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        if not 0 <= self.targets <= self.mean.size:
            raise ValueError(f"targets must be 0 to {self.mean.size}, the columns of [x, y]; got {self.targets}")
        return {"mean": (self.mean.size,), "scatter": (self.mean.size, self.mean.size)}

    @classmethod
    def zero(cls) -> Self:
        """Return the normal equations of no rows."""
        return cls(0.0, np.zeros(0), np.zeros((0, 0)), 0)

    @classmethod
    def of(cls, batch: Any, kernels: Any) -> Self:
        """Return the normal equations of one batch, whose y holds one target or several."""
        weight, mean, scatter = kernels.normal_equations(batch)
        return cls(weight, mean, scatter, len(mean) - batch.features)

    @classmethod
    def cost_of(cls, batch: Any, *what: Any) -> Cost:
        """Return the cost of the products of all pairs of columns of [x, y]."""
        width = batch.features + (batch.y.shape[1] if len(batch.y.shape) == 2 else 1)
        return Cost(batch.size + product_work(batch.rows, width), width * width)

    @property
    def weight(self) -> float:
        """The total weight of the rows."""
        return self.total

    @property
    def features(self) -> int:
        """How many features a row has."""
        return self.mean.size - self.targets

    @property
    def mean_x(self) -> FloatArray:
        """The mean of x, (d,)."""
        return self.mean[: self.features]

    @property
    def mean_y(self) -> FloatArray:
        """The mean of y, (t,)."""
        return self.mean[self.features :]

    @property
    def xx(self) -> FloatArray:
        """The centred products of features, (d, d)."""
        return self.scatter[: self.features, : self.features]

    @property
    def xy(self) -> FloatArray:
        """The centred products of features with targets, (d, t)."""
        return self.scatter[: self.features, self.features :]

    @property
    def yy(self) -> FloatArray:
        """The centred products of targets, (t, t)."""
        return self.scatter[self.features :, self.features :]

    def about_zero(self) -> FloatArray:
        """Return the raw products of the rows [x, y], (d + t, d + t): for a fit through the origin."""
        return self.scatter + self.total * np.outer(self.mean, self.mean)

    def _moments(self) -> TiedMoments:
        return TiedMoments(ONE_CLASS, np.array([self.total]), self.mean[None, :], self.scatter)

    def _read(self, moments: TiedMoments) -> Self:
        return type(self)(moments.weight, moments.mean[0], moments.spread, self.targets)

    def _check(self, other: Self) -> None:
        mine, theirs = (self.features, self.targets), (other.features, other.targets)
        if mine != theirs:
            raise ValueError(f"normal equations of (features, targets) {mine} and {theirs} do not go together")

    def _plus(self, other: Self) -> Self:
        self._check(other)
        return self._read(self._moments() + other._moments())

    def _minus(self, other: Self) -> Removal:
        self._check(other)
        removal = self._moments()._minus(other._moments())
        return removal._replace(left=self._read(removal.left))

    def scaled(self, factor: float) -> Self:
        """Return the normal equations with every row's weight multiplied by ``factor``."""
        return self._read(self._moments().scaled(factor))

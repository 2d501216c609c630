"""Normal equations: all that least squares needs to know of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from suffice.statistics.base import Cost, Statistics, product_work
from suffice.statistics.labels import ONE_CLASS
from suffice.statistics.moments import DEPTH, TiedMoments
from suffice.statistics.rounding import NO_BOUNDS, UNKNOWN, Bounds, FloatArray


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
    total_error: float = field(default=0.0, kw_only=True)
    bounds: FloatArray = field(default_factory=lambda: np.zeros((4, 0)), kw_only=True)  # (4, d + t), as of moments
    depth: float = field(default=DEPTH, kw_only=True)  # rows of a batch that were summed one after another, at most
    least: float = field(default=1.0, kw_only=True)  # the least weight of a row; 0 if it is not known
    forgotten: float = field(default=0.0, kw_only=True)  # the weight of the rows that were taken out

    _bound_fields = frozenset({"total_error", "bounds", "depth", "least", "forgotten"})

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        if not 0 <= self.targets <= self.mean.size:
            raise ValueError(f"targets must be 0 to {self.mean.size}, the columns of [x, y]; got {self.targets}")
        width = self.mean.size
        return {"mean": (width,), "scatter": (width, width), "bounds": (4, width if self.bounds.size else 0)}

    @classmethod
    def zero(cls) -> Self:
        """Return the normal equations of no rows."""
        return cls(0.0, np.zeros(0), np.zeros((0, 0)), 0)

    @classmethod
    def of(cls, batch: Any, kernels: Any) -> Self:
        """Return the normal equations of one batch, whose y holds one target or several."""
        weight, mean, scatter = kernels.normal_equations(batch)
        moments = TiedMoments(ONE_CLASS, np.array([weight]), mean[None], scatter)
        return cls._of_moments(moments._with_bounds(batch, kernels), len(mean) - batch.features)

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

    @property
    def error(self) -> Bounds:
        """The bounds of the rounding error of mean and scatter, (1, d + t)."""
        return self._moments().error

    def transformed(self, A: FloatArray, b: FloatArray) -> Self:
        """Return the normal equations of the rows [A x + b, y], for A of shape (e, d)."""
        whole = np.zeros((len(A) + self.targets, self.mean.size))
        whole[: len(A), : self.features] = A
        whole[len(A) :, self.features :] = np.eye(self.targets)
        return self._of_moments(
            self._moments().transformed(whole, np.concatenate([b, np.zeros(self.targets)])), self.targets
        )

    def _moments(self) -> TiedMoments:
        return TiedMoments(
            ONE_CLASS,
            np.array([self.total]),
            self.mean[None, :],
            self.scatter,
            weights_error=np.array([self.total_error]),
            bounds=self.bounds[:, None] if self.bounds.size else NO_BOUNDS,
            depth=self.depth,
            least=self.least,
            forgotten=self.forgotten,
        )

    @classmethod
    def _of_moments(cls, moments: TiedMoments, targets: int) -> Self:
        return cls(
            moments.weight,
            moments.mean[0],
            moments.spread,
            targets,
            total_error=float(moments.weights_error[0]),
            bounds=moments.bounds.reshape(4, -1),
            depth=moments.depth,
            least=moments.least,
            forgotten=moments.forgotten,
        )

    def _check(self, other: Self) -> None:
        mine, theirs = (self.features, self.targets), (other.features, other.targets)
        if mine != theirs:
            raise ValueError(f"normal equations of (features, targets) {mine} and {theirs} do not go together")

    def _plus(self, other: Self) -> Self:
        self._check(other)
        return self._of_moments(self._moments() + other._moments(), self.targets)

    def _minus(self, other: Self) -> Self:
        self._check(other)
        return self._of_moments(self._moments() - other._moments(), self.targets)

    def scaled(self, factor: float) -> Self:
        """Return the normal equations with every row's weight multiplied by ``factor``."""
        return self._of_moments(self._moments().scaled(factor), self.targets)

    def digits_kept(self) -> float:
        """Return to how many decimal digits the sum is known at least: means in standard deviations, and spreads."""
        return self._moments().digits_kept()

    def _unbounded(self) -> Self:
        return self._with(total_error=UNKNOWN, least=0.0)

"""Moments of each class up to the fourth order of pairs of features: the sum for Ledoit and Wolf's shrinkage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from suffice.statistics.base import Cost, placed
from suffice.statistics.labels import ONE_CLASS, Labels
from suffice.statistics.moments import FullMoments
from suffice.statistics.rounding import FloatArray


@dataclass(frozen=True, eq=False)
class QuarticMoments(FullMoments):
    """Means and scatter of each class, and the third and fourth central moments of pairs of features.

    They give the fourth powers of distances of standardised rows, in any units of the features. Two groups have the
    moments about their common mean that each of them has there; moved from its own mean by a step, a group's moments
    change by what its weight, scatter and third moments say. Rows cannot be taken out: fourth powers of outliers would
    leave no digits.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> moments = ThreadEngine().accumulate(QuarticMoments.over(), Batch(np.array([[0.0], [0.0], [3.0]])))
    >>> moments.spread.ravel(), moments.cubes.ravel(), moments.quartic.ravel()  # of -1, -1 and 2
    (array([6.]), array([6.]), array([18.]))
    """

    subtracts = False

    cubes: FloatArray  # (k, d, d), the sums of z_j^2 z_l
    quartic: FloatArray  # (k, d, d), the sums of z_j^2 z_l^2

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        shapes = super()._shapes()
        return {**shapes, "cubes": shapes["spread"], "quartic": shapes["spread"]}

    @classmethod
    def zero(cls) -> Self:
        """Return the moments of no rows."""
        return cls(Labels(), np.zeros(0), np.zeros((0, 0)), *(np.zeros((0, 0, 0)) for _ in range(3)))

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS) -> Self:
        """Return the moments of one batch, whose y holds codes into ``labels``; the rows are read twice."""
        full = FullMoments.of(batch, kernels, labels)
        return cls._beside(full, *kernels.quartic_moments(batch, len(labels), full.mean))

    @classmethod
    def cost_of(cls, batch: Any, labels: Labels = ONE_CLASS, *what: Any) -> Cost:
        """Return the cost of the sums: the products of rows with twice the features, and three arrays (k, d, d)."""
        cost = super().cost_of(batch, labels)
        return Cost(5 * cost.work, 3 * cost.result)

    def _full(self) -> FullMoments:
        return FullMoments(self.labels, self.weights, self.mean, self.spread, **self._rounding())

    @classmethod
    def _beside(cls, full: FullMoments, cubes: FloatArray, quartic: FloatArray) -> Self:
        return cls(full.labels, full.weights, full.mean, full.spread, cubes, quartic, **full._rounding())

    def aligned(self, labels: Labels) -> Self:
        """Return the same sums over a vocabulary that holds these classes and perhaps more."""
        if labels == self.labels:
            return self
        places = labels.positions(self.labels)
        cubes, quartic = (placed(array, places, len(labels)) for array in (self.cubes, self.quartic))
        return self._beside(self._full().aligned(labels), cubes, quartic)

    def scaled(self, factor: float) -> Self:
        """Return the moments with every row's weight multiplied by ``factor``."""
        return self._beside(self._full().scaled(factor), self.cubes * factor, self.quartic * factor)

    def _plus(self, other: Self) -> Self:
        one, two = self._paired(other)
        full = one._full()._plus(two._full())
        here, there = one._about(full.mean), two._about(full.mean)
        return self._beside(full, here.cubes + there.cubes, here.quartic + there.quartic)

    def _about(self, centre: FloatArray) -> _Powers:
        """Return the third and fourth moments about another centre, (k, d)."""
        move = _Move(self, centre)
        return _Powers(self.cubes + move.cubes, self.quartic + move.quartic(self.cubes))


class _Powers(NamedTuple):
    cubes: FloatArray  # (k, d, d)
    quartic: FloatArray  # (k, d, d)


class _Move:
    """What third and fourth moments gain where they are taken about a centre, not about the mean.

    With the step s from the mean to the centre, w the weight and S the scatter, and since the z sum to 0, the sum of
    z_j^2 z_l gains -S_jj s_l - 2 s_j S_jl - w s_j^2 s_l, and with C its value about the mean, the sum of z_j^2 z_l^2
    gains S_jj s_l^2 + S_ll s_j^2 + 4 s_j s_l S_jl + w s_j^2 s_l^2 - 2 s_l C_jl - 2 s_j C_lj.
    """

    def __init__(self, group: FullMoments, centre: FloatArray) -> None:
        # A class without rows has no mean to step from.
        self.step = np.where(group.weights[:, None] > 0, centre - group.mean, 0.0)  # (k, d)
        self._group = group

    @property
    def cubes(self) -> FloatArray:
        """What the third moments gain, (k, d, d)."""
        group, down, across = self._group, self.step[:, :, None], self.step[:, None, :]
        own = np.diagonal(group.spread, axis1=1, axis2=2)[:, :, None] + group.weights[:, None, None] * down**2
        return np.asarray(-own * across - 2 * down * group.spread)

    def quartic(self, cubes: FloatArray) -> FloatArray:
        """Return what the fourth moments gain, (k, d, d), given the third moments about the mean."""
        group, down, across = self._group, self.step[:, :, None], self.step[:, None, :]
        half = np.diagonal(group.spread, axis1=1, axis2=2)[:, :, None] * across**2 - 2 * across * cubes
        both = 4 * group.spread + group.weights[:, None, None] * down * across
        return np.asarray(half + half.swapaxes(1, 2) + down * across * both)

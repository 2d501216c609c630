"""Moments of each class up to the fourth power of distance: what Ledoit and Wolf's shrinkage remembers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from suffice.statistics.base import FloatArray, Removal
from suffice.statistics.labels import ONE_CLASS, Labels
from suffice.statistics.moments import EPSILON, FullMoments, check_squares, relative_noise


@dataclass(frozen=True, eq=False)
class QuarticMoments(FullMoments):
    """Means and scatter of each class, and the third and fourth powers of its rows' distance from the mean.

    Two groups have the powers about their common mean that each of them has there; moved from its own mean by a step, a
    group's powers change by what its weight, scatter and cubes say.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> moments = ThreadEngine().accumulate(QuarticMoments.over(), Batch(np.array([[0.0], [0.0], [3.0]])))
    >>> moments.spread.ravel(), moments.cubes.ravel(), moments.quartic  # of -1, -1 and 2
    (array([6.]), array([6.]), array([18.]))
    """

    cubes: FloatArray  # (k, d), the sum of ||z||^2 z
    quartic: FloatArray  # (k,), the sum of ||z||^4

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {**super()._shapes(), "cubes": self.mean.shape, "quartic": self.weights.shape}

    @classmethod
    def zero(cls) -> Self:
        """Return the moments of no rows."""
        return cls(Labels(), np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0, 0)), np.zeros((0, 0)), np.zeros(0))

    @classmethod
    def of(cls, batch: Any, kernels: Any, labels: Labels = ONE_CLASS) -> Self:
        """Return the moments of one batch, whose y holds codes into ``labels``; the rows are read twice."""
        weights, mean, spread = kernels.full_moments(batch, len(labels))
        return cls(labels, weights, mean, spread, *kernels.quartic_moments(batch, len(labels), mean))

    def _full(self) -> FullMoments:
        return FullMoments(self.labels, self.weights, self.mean, self.spread)

    def _beside(self, full: FullMoments, cubes: FloatArray, quartic: FloatArray) -> Self:
        return type(self)(full.labels, full.weights, full.mean, full.spread, cubes, quartic)

    def aligned(self, labels: Labels) -> Self:
        """Return the same sums over a vocabulary that holds these classes and perhaps more."""
        if labels == self.labels:
            return self
        places = labels.positions(self.labels)
        cubes, quartic = np.zeros((len(labels), self.features)), np.zeros(len(labels))
        cubes[places], quartic[places] = self.cubes, self.quartic
        return self._beside(self._full().aligned(labels), cubes, quartic)

    def scaled(self, factor: float) -> Self:
        """Return the moments with every row's weight multiplied by ``factor``."""
        return self._beside(self._full().scaled(factor), self.cubes * factor, self.quartic * factor)

    def _plus(self, other: Self) -> Self:
        one, two = self._paired(other)
        full = one._full()._plus(two._full())
        here, there = one._about(full.mean), two._about(full.mean)
        return self._beside(full, here.cubes + there.cubes, here.quartic + there.quartic)

    def _minus(self, other: Self) -> Removal:
        whole, part = self._paired(other)
        full, lost, place = whole._full()._minus(part._full())
        stays = full.weights > 0
        gone = part._about(whole.mean)
        back = _Move(full, whole.mean)  # from the mean of what stays to the mean of all
        cubes = np.where(stays[:, None], whole.cubes - gone.cubes - back.cubes, 0.0)
        before = np.where(stays, whole.quartic, 0.0)
        quartic = np.where(stays, whole.quartic - gone.quartic - back.quartic(cubes), 0.0)
        # Rounding blurs the terms, and the means between which they are taken; cubes lose less than fourth powers do.
        growth = np.where(stays, whole.weights / np.where(stays, full.weights, 1.0), 0.0) * (part.weights > 0)
        blur = EPSILON * (_norm(whole.mean) + _norm(part.mean)) * growth
        doubt = EPSILON * (before + np.where(stays, part.quartic, 0.0))
        for group, size, distance in (
            (whole, _cubes_at_most(whole), back.distance),
            (part, _cubes_at_most(part), _Move(part, whole.mean).distance),
            (full, _norm(cubes), back.distance),
        ):
            reach = _reach(group, size, distance)
            doubt = doubt + np.where(stays, _reach(group, size, distance + blur) - (1 - EPSILON) * reach, 0.0)
        check_squares(before, quartic, doubt, whole.weight, "sum of fourth powers")
        noise = relative_noise(before, quartic, doubt)
        return Removal(self._beside(full, cubes, quartic), max(lost, float(np.log10(noise.max(initial=1.0)))), place)

    def _about(self, centre: FloatArray) -> _Powers:
        """Return the cubes and fourth powers of distances from another centre, (k, d)."""
        move = _Move(self, centre)
        return _Powers(self.cubes + move.cubes, self.quartic + move.quartic(self.cubes))


class _Powers(NamedTuple):
    cubes: FloatArray  # (k, d)
    quartic: FloatArray  # (k,)


class _Move:
    """What cubes and fourth powers gain where distances are taken from a centre, not from the mean.

    With the step s from the mean to the centre, w the weight and S the scatter, and since the z sum to 0:
    the cubes gain -(tr S + w s's) s - 2 S s, and the fourth powers -4 s'cubes + 4 s'S s + 2 s's tr S + w (s's)^2.
    """

    def __init__(self, group: FullMoments, centre: FloatArray) -> None:
        # A class without rows has no mean to step from.
        self._step = np.where(group.weights[:, None] > 0, centre - group.mean, 0.0)
        self._squared = (self._step**2).sum(axis=1)
        self._trace = np.trace(group.spread, axis1=1, axis2=2)
        self._weights = group.weights
        self._pull = np.einsum("kij,kj->ki", group.spread, self._step)

    @property
    def distance(self) -> FloatArray:
        """The length of the step, (k,)."""
        return np.asarray(np.sqrt(self._squared))

    @property
    def cubes(self) -> FloatArray:
        """What the cubes gain, (k, d)."""
        return np.asarray(-(self._trace + self._weights * self._squared)[:, None] * self._step - 2 * self._pull)

    def quartic(self, cubes: FloatArray) -> FloatArray:
        """Return what the fourth powers gain, (k,), given the cubes about the mean."""
        products = (self._step * (self._pull - cubes)).sum(axis=1)
        return np.asarray(4 * products + (2 * self._trace + self._weights * self._squared) * self._squared)


def _norm(rows: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(rows, axis=1))


def _cubes_at_most(group: QuarticMoments) -> FloatArray:
    """Return what the length of the cubes cannot exceed, (k,), by Cauchy and Schwarz."""
    return np.asarray(np.sqrt(np.maximum(group.quartic * np.trace(group.spread, axis1=1, axis2=2), 0.0)))


def _reach(group: FullMoments, cubes: FloatArray, distance: FloatArray) -> FloatArray:
    """Return the most that a step of this length can change the fourth powers, (k,)."""
    trace = np.trace(group.spread, axis1=1, axis2=2)
    return np.asarray(4 * distance * cubes + 6 * distance**2 * trace + group.weights * distance**4)

"""A statistic of the tests' own: this one file defines it and puts it under the laws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from suffice.statistics import Statistics
from suffice.statistics.base import check_factor
from suffice.statistics.rounding import FloatArray, difference

from . import EPSILON, Kind, Rows, lawful, whole_numbers


@dataclass(frozen=True, eq=False)
class WeightedTotal(Statistics):
    """The weighted sum of each feature."""

    total: float
    sums: FloatArray  # (d,)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        return {"sums": (self.sums.size,)}

    @classmethod
    def zero(cls) -> Self:
        return cls(0.0, np.zeros(0))

    @classmethod
    def of(cls, batch: Any, kernels: Any) -> Self:
        weight = np.ones(len(batch.x)) if batch.weight is None else batch.weight
        rows = slice(batch.start, batch.stop)
        return cls(float(weight[rows].sum()), weight[rows] @ batch.x[rows].astype(float))

    @property
    def weight(self) -> float:
        return self.total

    def _plus(self, other: Self) -> Self:
        if len(self.sums) != len(other.sums):
            raise ValueError("totals of different features do not go together")
        return type(self)(self.total + other.total, self.sums + other.sums)

    def _minus(self, other: Self) -> Self:
        numbers = (np.append(each.sums, each.total) for each in (self, other))
        left, _ = difference(
            *numbers, np.full(len(self.sums) + 1, 1e-12 * self.total), lambda place: f"sums[{place[0]}]"
        )
        return type(self)(float(left[-1]), left[:-1])

    def scaled(self, factor: float) -> Self:
        factor = check_factor(factor)
        return type(self)(self.total * factor, self.sums * factor)


def close(one: WeightedTotal, two: WeightedTotal, rows: Rows, slack: float) -> None:
    tolerance = 100 * EPSILON * slack
    np.testing.assert_allclose(one.weight, two.weight, rtol=tolerance)
    np.testing.assert_allclose(one.sums, two.sums, rtol=tolerance, atol=tolerance * 4 * rows.weight.sum())


lawful(Kind(WeightedTotal, lambda labels: WeightedTotal.over(), whole_numbers, close))

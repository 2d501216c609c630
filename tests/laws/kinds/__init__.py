"""The kinds of statistic that the laws are proved for: every module in this folder registers its own.

A new kind of statistic is put under the laws by one file here, which may hold the statistic itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
from hypothesis.extra.numpy import arrays

from suffice.kernels import Batch, ThreadEngine
from suffice.statistics import Labels, Statistics

Array = npt.NDArray[Any]
ENGINE = ThreadEngine(threads=2)
CLASSES = Labels.of(["ham", "spam", "work"])
EPSILON = np.finfo(float).eps


@dataclass(frozen=True)
class Rows:
    """Rows to be summed: features, classes or targets, weights."""

    x: Array
    y: Array
    weight: Array

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Any) -> Rows:
        return Rows(self.x[rows], self.y[rows], self.weight[rows])

    def repeated(self) -> Rows:
        """Return each row as often as its (whole) weight says, weighing 1."""
        times = self.weight.astype(int)
        return Rows(*(np.repeat(part, times, axis=0) for part in (self.x, self.y)), np.ones(times.sum()))


# To make a strategy takes longer than to draw from it: each is made once.
FEW = st.integers(0, 8)
WEIGHTS = cache(
    lambda n: st.one_of(
        st.just(np.ones(n)),
        arrays(float, n, elements=st.integers(0, 3).map(float)),
        arrays(float, n, elements=st.floats(0.015625, 8, width=16)),
    )
)
TARGETS = cache(lambda n: arrays(float, n, elements=st.integers(0, 9).map(float)))
CODES = cache(lambda n: arrays(np.int64, n, elements=st.integers(0, len(CLASSES) - 1)))
OFFSETS, SCALES = st.sampled_from([0.0, 1e4, 1e8]), st.sampled_from([1e-3, 1.0, 1e3])
MEASUREMENTS = cache(lambda shape: arrays(float, shape, elements=st.floats(-8, 8, width=16)))
COUNTS = cache(lambda n: arrays(float, (n, 3), elements=st.integers(0, 4).map(float)))
GAPS = cache(lambda shape: arrays(bool, shape))


@dataclass(frozen=True)
class Kind:
    """A statistic, the rows it is proved on, and how its sums are compared."""

    statistic: type[Statistics]
    summarise: Callable[[Labels], Callable[..., Statistics]]
    features: Callable[[st.DrawFn, int], Array]
    close: Callable[[Any, Any, Rows, float], None]
    targets: bool = False  # y holds numbers; class codes otherwise
    trait: str = ""  # tells two kinds of one statistic apart

    def __str__(self) -> str:
        return self.statistic.__name__ + (f", {self.trait}" if self.trait else "")

    def of(self, rows: Rows, labels: Labels = CLASSES) -> Any:
        return ENGINE.accumulate(self.summarise(labels), Batch(rows.x, rows.y, rows.weight))

    @cached_property
    def rows(self) -> st.SearchStrategy[Rows]:
        """Rows to be summed, none or a few."""
        return st.composite(self._draw)()

    def _draw(self, draw: st.DrawFn) -> Rows:
        n = draw(FEW)
        weight = draw(WEIGHTS(n))
        y = draw(TARGETS(n) if self.targets else CODES(n))
        return Rows(self.features(draw, n), y, weight)


KINDS: dict[str, Kind] = {}


def lawful(kind: Kind) -> Kind:
    """Put a kind of statistic under the laws."""
    KINDS[str(kind)] = kind
    return kind


# What the kinds draw and compare.


def measurements(draw: st.DrawFn, n: int, columns: int = 3) -> Array:
    """Draw numbers of any scale, near 0 or far from it."""
    offset, scale = draw(OFFSETS), draw(SCALES)
    return offset + scale * draw(MEASUREMENTS((n, columns)))


def whole_numbers(draw: st.DrawFn, n: int) -> Array:
    """Draw small counts."""
    return draw(COUNTS(n))


def with_gaps(features: Callable[[st.DrawFn, int], Array]) -> Callable[[st.DrawFn, int], Array]:
    """Return a drawer of the same numbers, some of which are missing: none, a few or all."""

    def draw_with_gaps(draw: st.DrawFn, n: int) -> Array:
        x = features(draw, n)
        x[draw(GAPS(x.shape))] = np.nan
        return x

    return draw_with_gaps


def close_counts(one: Any, two: Any, rows: Rows, slack: float) -> None:
    """Compare counts: whole numbers must be equal, fractions to rounding."""
    assert one.labels == two.labels
    exact = slack == 1 and np.array_equal(rows.weight, np.rint(rows.weight))
    tolerance = 0.0 if exact else 100 * EPSILON * slack
    np.testing.assert_allclose(one.rows, two.rows, rtol=tolerance, atol=tolerance * rows.weight.sum())
    size = np.fmax.reduce(np.abs(rows.x), axis=None, initial=1.0) * rows.weight.sum()
    np.testing.assert_allclose(one.counts, two.counts, rtol=tolerance, atol=tolerance * size)
    if hasattr(one, "observed"):
        np.testing.assert_allclose(one.observed, two.observed, rtol=tolerance, atol=tolerance * rows.weight.sum())
        assert not one.counts[one.observed == 0].any()


def close_moments(
    weights: tuple[Any, Any],
    means: tuple[Any, Any],
    spreads: tuple[Any, Any],
    values: Array,
    weight: Array,
    slack: float,
) -> None:
    """Compare moments: an entry's rounding is of the size of the rows, times their spread where it is squared."""
    total, size = weight.sum(), np.fmax.reduce(np.abs(values), axis=None, initial=0.0)
    width = np.fmax.reduce(np.fmax.reduce(values) - np.fmin.reduce(values), initial=0.0) if len(values) else 0.0
    np.testing.assert_allclose(*weights, rtol=100 * EPSILON * slack, atol=100 * EPSILON * slack * total)
    np.testing.assert_allclose(*means, rtol=0, atol=100 * EPSILON * slack * (size + width))
    rounding = width**2 + size * width * 10 + EPSILON * size**2 * 100
    np.testing.assert_allclose(*spreads, rtol=0, atol=100 * EPSILON * slack * total * rounding)


for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")

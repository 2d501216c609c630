"""Intervals about the predictions of a linear model: how far the truth may lie, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from suffice.engines import Batch, Engine
from suffice.engines.results import beside, joined
from suffice.solvers.linear_algebra import Symmetric
from suffice.statistics.base import FloatArray


@dataclass(frozen=True, eq=False)
class Interval:
    """What the width of an interval depends on."""

    centre: FloatArray  # (d,), where the prediction is surest
    products: Symmetric  # of the features about the centre
    level_variance: float  # of the prediction at the centre, at unit noise
    noise: FloatArray  # (t,), the variance of each target
    df: float
    level: float  # the probability that an interval covers
    of: str  # "target" or "mean"

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ValueError(f"interval must be a probability between 0 and 1, as 0.95; got {self.level!r}")
        if self.of not in ("target", "mean"):
            raise ValueError(f"of must be 'target' or 'mean'; got {self.of!r}")


def interval_of(engine: Engine, x: Any, interval: Interval) -> Any:
    """Return how far each interval reaches to either side of the prediction, (n, t), in the library of x."""
    score = partial(_distances, interval.centre[None, :], interval.products.whitener()[None, :, :])
    distances = -2 * joined(engine.map(score, Batch(x)))[:, :1]  # squared, at unit noise
    spread = distances + interval.level_variance + (interval.of == "target")
    reach = float(stats.t.isf((1 - interval.level) / 2, interval.df)) * np.sqrt(interval.noise)
    return spread**0.5 * beside(x, reach)[None, :]


def _distances(centre: FloatArray, whitener: FloatArray, batch: Batch, kernels: Any) -> Any:
    return kernels.quadratic_scores(batch, centre, whitener, np.zeros(1))

"""Intervals about the predictions of a linear model: how far the truth may lie, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import stats

from suffice.kernels import Batch, Engine
from suffice.kernels.libraries import beside
from suffice.solvers.linear_algebra import Symmetric
from suffice.statistics.base import FloatArray


@dataclass(frozen=True, eq=False)
class Interval:
    """What the width of an interval depends on."""

    centre: FloatArray  # (d,), where the prediction is surest
    whitener: FloatArray  # W, (d, d), lower triangular: the variance of the mean grows by |W (x - centre)|²
    level_variance: float  # of the mean at the centre
    scale: FloatArray  # (t,), what these two are multiplied by: the noise, where they are at unit noise
    noise: FloatArray  # (t,), the variance of each target
    df: float
    level: float  # the probability that an interval covers
    of: str  # "target" or "mean"

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ValueError(f"interval must be a probability between 0 and 1, as 0.95; got {self.level!r}")
        if self.of not in ("target", "mean"):
            raise ValueError(f"of must be 'target' or 'mean'; got {self.of!r}")

    @classmethod
    def robust(
        cls,
        covariance: FloatArray,
        centre: FloatArray,
        intercept: bool,
        noise: FloatArray,
        df: float,
        level: float,
        of: str,
    ) -> Self:
        """Return what an interval depends on where the covariance of theta, (p, p), was estimated from the rows.

        The intercept is that at the centre, (d,), near which x is: the variance at 0 may be so large that it has no
        digits of that at x.
        """
        known = np.where(np.isfinite(covariance), covariance, 0.0)  # what is not determined has coefficients of 0
        first = int(intercept)
        slopes = Symmetric.of(known[first:, first:])
        level_variance = 0.0
        if intercept:
            further = -slopes.solve(known[1:, 0])
            level_variance = max(float(known[0, 0] + known[1:, 0] @ further), 0.0)
            centre = centre + further
        root = np.asarray(np.linalg.qr(_root(known[first:, first:])[:, ::-1], mode="r"))  # turned round: lower
        return cls(centre, np.ascontiguousarray(root[::-1, ::-1]), level_variance, np.ones(1), noise, df, level, of)


def interval_of(engine: Engine, x: Any, interval: Interval) -> Any:
    """Return how far each interval reaches to either side of the prediction, (n, t), in the library of x."""
    score = partial(_distances, interval.centre[None, :], interval.whitener[None, :, :])
    distances = -2 * engine.map_rows(score, Batch(x))[:, :1]  # squared
    of_target = interval.noise if interval.of == "target" else np.zeros_like(interval.noise)
    variance = (distances + interval.level_variance) * beside(x, interval.scale)[None, :] + beside(x, of_target)[
        None, :
    ]
    return float(stats.t.isf((1 - interval.level) / 2, interval.df)) * variance**0.5


def _root(matrix: FloatArray) -> FloatArray:
    """Return R for which R'R is a matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def _distances(centre: FloatArray, whitener: FloatArray, batch: Batch, kernels: Any) -> Any:
    return kernels.quadratic_scores(batch, centre, whitener, np.zeros(1))

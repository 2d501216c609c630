"""Structures of covariances: what each remembers, what it shares, and what it cannot be read from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from suffice.statistics import DiagonalMoments, FullMoments, Labels, TiedMoments
from suffice.statistics.base import FloatArray
from suffice.statistics.moments import never_varies


class Structure(NamedTuple):
    """What a covariance structure remembers, and what it shares."""

    moments: type[Any]
    tied: bool  # one covariance for all classes
    spherical: bool = False  # one variance for all features


STRUCTURES = {
    "tied": Structure(TiedMoments, tied=True),
    "full": Structure(FullMoments, tied=False),
    "diagonal": Structure(DiagonalMoments, tied=False),
    "tied_diagonal": Structure(DiagonalMoments, tied=True),
    "spherical": Structure(DiagonalMoments, tied=False, spherical=True),
    "tied_spherical": Structure(DiagonalMoments, tied=True, spherical=True),
}


def left_variances(
    structure: Structure, share: float, weights: FloatArray, spread: FloatArray, total: FloatArray, overall: FloatArray
) -> FloatArray:
    """Return the variances of each class, (n, k, d), from what is left for each row."""
    if structure.tied:
        variance = np.broadcast_to(spread.sum(axis=1, keepdims=True) / total[:, None, None], spread.shape)
    else:
        variance = spread / weights[:, :, None]
    level = variance.mean(axis=2, keepdims=True)
    return np.broadcast_to(level, spread.shape) if structure.spherical else (1 - share) * variance + share * level


def without_gaps(statistics: Any, tied: bool) -> Any:
    """Return the sums with a class that has no rows described by all other rows: its prior is 0 anyway."""
    empty = statistics.weights <= 0
    if not empty.any() or empty.all():
        return statistics
    weights = statistics.weights
    centre = weights @ statistics.mean / weights.sum()
    mean = np.where(empty[:, None], centre, statistics.mean)
    if tied:  # the scatter is there already; a weight that changes no sum lets the class be read
        return replace(statistics, mean=mean, weights=np.where(empty, 1e-300, weights))
    shared = statistics.spread.sum(axis=0) / weights.sum()
    each = empty.reshape(-1, *(1 for _ in shared.shape))
    spread = np.where(each, shared, statistics.spread)
    cells = {}
    if isinstance(statistics, DiagonalMoments) and statistics.cells.size:
        cells["cells"] = np.where(empty[:, None], 1.0, statistics.cells)
    return replace(statistics, mean=mean, spread=spread, weights=np.where(empty, 1.0, weights), **cells)


def require_cells(labels: Labels, observed: FloatArray) -> None:
    """Refuse a feature that is missing in every row of a class."""
    if not (observed > 0).all():
        code, feature = np.unravel_index(int(np.argmin(observed > 0)), observed.shape)
        raise ValueError(
            f"feature {feature} is missing in every row of class {labels.names[int(code)]!r}: its variance is "
            "undefined; drop the feature"
        )


def require_rows_that_differ(statistics: Any) -> None:
    """Raise where no class has rows that differ: one row, or copies of it."""
    spread = statistics.spread
    own = spread if isinstance(statistics, DiagonalMoments) else np.diagonal(spread, axis1=-2, axis2=-1)
    if not (own > 0).any():
        raise ValueError(
            "a covariance cannot be learned from one sample, or from rows that are alike in each class: give more rows"
        )


def require_any_spread(moments: Any) -> None:
    """Refuse a class whose rows are all alike: no shrinkage makes a covariance of nothing."""
    if moments.spread.ndim == 3:
        flat = (np.trace(moments.spread, axis1=1, axis2=2) <= 0) & (moments.weights > 0)
        if flat.any():
            label = moments.labels.names[int(np.argmax(flat))]
            raise ValueError(
                f"the covariance of class {label!r} is singular: all rows of the class are alike; give it rows that "
                "differ, or share one covariance (covariance='tied')"
            )


def require_spread(labels: Labels, mean: FloatArray, variance: FloatArray) -> None:
    """Refuse a feature that does not vary in a class."""
    constant = never_varies(mean, variance)
    if constant.any():
        code, feature = np.unravel_index(int(np.argmax(constant)), constant.shape)
        raise ValueError(
            f"the covariance of class {labels.names[int(code)]!r} is singular: feature {feature} is constant; give "
            "shrinkage > 0, or drop the feature"
        )

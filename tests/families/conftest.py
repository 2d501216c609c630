"""Statistics of rows, summed here the plain way."""

from collections.abc import Callable

import numpy as np
import pytest

from suffice.statistics import DiagonalMoments, FullMoments, Labels


@pytest.fixture
def diagonal() -> Callable[..., DiagonalMoments]:
    """Moments of one array of rows per class; an empty array is a class without rows."""

    def of(*classes: np.ndarray, names: tuple = ()) -> DiagonalMoments:
        rows = [np.asarray(x, dtype=float) for x in classes]
        mean = [x.mean(axis=0) if len(x) else np.zeros(x.shape[1]) for x in rows]
        spread = [((x - m) ** 2).sum(axis=0) for x, m in zip(rows, mean, strict=True)]
        labels = Labels(names or tuple(range(len(rows))))
        return DiagonalMoments(labels, np.array([len(x) for x in rows]), np.array(mean), np.array(spread))

    return of


@pytest.fixture
def gappy() -> Callable[..., DiagonalMoments]:
    """Moments of the known cells of one array of rows per class, NaN where a cell is missing."""

    def of(*classes: np.ndarray) -> DiagonalMoments:
        known = [~np.isnan(x) for x in classes]
        cells = np.array([k.sum(axis=0) for k in known], dtype=float)
        sums = np.array([np.where(k, x, 0).sum(axis=0) for k, x in zip(known, classes, strict=True)])
        mean = sums / np.maximum(cells, 1)
        apart = [np.where(k, x - m, 0.0) for k, x, m in zip(known, classes, mean, strict=True)]
        spread = [(z * z).sum(axis=0) for z in apart]
        weights = np.array([len(x) for x in classes], dtype=float)
        return DiagonalMoments(Labels(tuple(range(len(classes)))), weights, mean, np.array(spread), cells)

    return of


@pytest.fixture
def full() -> Callable[..., FullMoments]:
    def of(*classes: np.ndarray, names: tuple = ()) -> FullMoments:
        mean = [x.mean(axis=0) for x in classes]
        spread = [(x - m).T @ (x - m) for x, m in zip(classes, mean, strict=True)]
        labels = Labels(names or tuple(range(len(classes))))
        return FullMoments(labels, np.array([len(x) for x in classes]), np.array(mean), np.array(spread))

    return of

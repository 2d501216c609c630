"""Folds of rows that are held out: stratified, by groups, or in the order of time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray

Codes = npt.NDArray[np.int64]

#: Number of strata of a target of numbers whose rows are in groups.
_STRATA = 10


def assign_folds(
    values: npt.NDArray[Any], folds: int, random: np.random.Generator, groups: Codes | None = None
) -> Codes:
    """Return the fold of each row, stratified by class or by quantiles of numbers; rows of a group are in one fold.

    Parameters
    ----------
    values
        Codes of classes, or numbers.
    folds
        Number of folds.
    random
        Order of equal values.
    groups
        The group of each row, 0, 1, …; None: each row is alone.

    Examples
    --------
    >>> assign_folds(np.array([0, 0, 1, 1]), 2, np.random.default_rng(0), np.array([0, 0, 1, 1]))
    array([0, 0, 1, 1])
    """
    order = np.lexsort((random.random(len(values)), values))
    places = np.empty(len(values), dtype=np.int64)
    if groups is None:
        places[order] = np.arange(len(values)) % folds
        return places
    strata = values
    if np.issubdtype(values.dtype, np.floating):
        strata = np.empty(len(values), dtype=np.int64)
        strata[order] = np.arange(len(values)) * _STRATA // len(values)
    return _assign_groups(groups, strata, folds)[groups]


def _assign_groups(groups: Codes, strata: Codes, folds: int) -> Codes:
    """Return the fold of each group: the largest first, each where rows of its most frequent stratum are fewest."""
    sizes = np.bincount(groups)
    pairs, counts = np.unique(groups * (int(strata.max()) + 1) + strata, return_counts=True)
    owner, stratum = np.divmod(pairs, int(strata.max()) + 1)
    best = np.zeros(len(sizes), dtype=np.int64)
    frequent = np.argsort(counts, kind="stable")  # the most frequent stratum of a group is set last
    best[owner[frequent]] = stratum[frequent]
    of_stratum = [[0] * folds for _ in range(int(strata.max()) + 1)]
    total = [0] * folds
    found = np.empty(len(sizes), dtype=np.int64)
    for group in np.argsort(-sizes, kind="stable").tolist():
        size, rows = int(sizes[group]), of_stratum[best[group]]
        fold = min(range(folds), key=lambda each: (rows[each], total[each]))
        rows[fold] += size
        total[fold] += size
        found[group] = fold
    return found


def assign_folds_by_time(times: FloatArray, folds: int) -> Codes:
    """Return the fold of each row, the earliest rows in fold 0; rows of the same time are in one fold.

    Parameters
    ----------
    times
        The time of each row, as a number; two at least differ.
    folds
        Number of folds.

    Examples
    --------
    >>> assign_folds_by_time(np.array([5.0, 1.0, 1.0, 3.0]), 2)
    array([1, 0, 0, 1])
    """
    _, place, counts = np.unique(times, return_inverse=True, return_counts=True)
    before = np.cumsum(counts) - counts
    found = (before * folds // len(times))[place]
    if found.max() == 0:  # most rows are of the first time
        found = (place > 0).astype(np.int64)
    return np.asarray(np.unique(found, return_inverse=True)[1], dtype=np.int64)

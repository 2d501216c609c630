"""Rows by their contents: an order that does not depend on how they were given, and copies of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.additive.backfitting import BinnedRows

#: Groups of equal rows show copies if they contradict independent draws by this many standard errors.
ERRORS = 4.0
#: And if, of the groups of rows that agree in all columns, of the same size, this share agrees in the target, too.
AGREEING = 0.9


def merge_copies(rows: BinnedRows) -> tuple[BinnedRows, int]:
    """Return rows in which copies are one row with the sum of their weights, and the number of rows that this saves.

    Copies agree in the bins of all columns, in target and offset. Held out, a row is not unseen if a copy of it was
    learned, and noise that all copies share would be fitted. Where few values are possible, however, rows that agree
    may be different observations, and all are kept: :func:`excess_sizes` tells which.

    Parameters
    ----------
    rows
        The rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bins, target = rng.integers(1, 200, size=(2, 100)).astype(np.uint8), rng.normal(size=100)
    >>> twice = BinnedRows(np.tile(bins, 2), np.tile(target, 2), None, None, "gaussian")
    >>> merged, saved = merge_copies(twice)
    >>> len(merged), saved, merged.weight[:3]
    (100, 100, array([2., 2., 2.]))
    """
    cells = _hash_cells(rows)
    group = group_copies(cells, cells + _random_codes(rows.target, 1))
    if group is None:
        return rows, 0
    order = order_by_content(rows)
    first = order[np.unique(group[order], return_index=True)[1]]
    weight = np.bincount(group, weights=rows.weight).astype(np.float64)
    return replace(rows.take(first), weight=weight), len(rows) - len(first)


def order_by_content(rows: BinnedRows) -> npt.NDArray[np.int64]:
    """Return an order of the rows, (n,), that depends on their contents alone: bins, targets, and what else they have.

    Rows that change places are equal. Numbers count by their ranks: their units do not matter, nor do equal weights.

    Examples
    --------
    >>> bins, target = np.array([[1, 2, 2, 3]], dtype=np.uint8), np.array([0.5, 0.1, 0.5, 0.1])
    >>> one, two = (BinnedRows(bins[:, at], target[at], None, None, "gaussian") for at in ([0, 1, 2, 3], [2, 3, 1, 0]))
    >>> bool((one.take(order_by_content(one)).bins == two.take(order_by_content(two)).bins).all())
    True
    """
    others = np.zeros(len(rows), dtype=np.uint64)
    for seed, numbers in enumerate((rows.target, rows.weight, rows.group, rows.time), start=3):
        if numbers is not None and np.ptp(numbers) > 0:
            others += _random_codes(numbers, seed)
    return np.lexsort((others, _hash_cells(rows)))


def group_copies(cells: npt.NDArray[np.uint64], keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64] | None:
    """Return the group of each row, 0, 1, … by the first row, if equal rows are copies; None if they agree by chance.

    Parameters
    ----------
    cells
        A number for each row, the same for rows that agree in all columns.
    keys
        The same for rows that agree in the target, too.

    Examples
    --------
    >>> keys = np.arange(100, dtype=np.uint64)
    >>> group_copies(np.tile(keys, 2), np.tile(keys, 2))[-3:], group_copies(keys, keys)
    (array([97, 98, 99]), None)
    """
    _, first, group, sizes = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    suspects = excess_sizes(sizes)
    if not len(suspects):
        return None
    totals = np.unique(cells, return_inverse=True, return_counts=True)
    size = totals[2][totals[1][first]]  # of the group that agrees in all columns, for each group with one target
    if not any((sizes[size == k] == k).sum() >= AGREEING * len(np.unique(cells[first][size == k])) for k in suspects):
        return None
    return np.asarray(np.argsort(np.argsort(first))[group])


def excess_sizes(sizes: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Return the sizes k of which there are more groups of equal rows than independent draws give.

    Let f(k) be the number of groups of k rows. If rows are drawn independently, from any distribution, the
    expectations of k! f(k) are moments of a mixture of Poisson distributions, which are log-convex in k:
    k f(k)^2 <= (k + 1) f(k - 1) f(k + 1). Equal rows of a table of categories meet that. Rows given twice do not: there
    are pairs, but hardly any triples. Balanced designs, with the same number of trials in each cell, do not either;
    their trials differ in the target.

    Examples
    --------
    >>> sizes = np.bincount(np.random.default_rng(0).integers(500, size=1000))  # few values: rows agree by chance
    >>> excess_sizes(sizes[sizes > 0]), excess_sizes(np.repeat([1, 2], 300))
    (array([], dtype=int64), array([2]))
    """
    f = np.append(np.bincount(sizes, minlength=4).astype(np.float64), 0.0)
    k = np.arange(2, len(f) - 1)
    below, here, above = f[1:-2], f[2:-1], f[3:]
    excess = k * here**2 - (k + 1) * below * above
    variance = (2 * k * here) ** 2 * here + ((k + 1) * below) ** 2 * (above + 1) + ((k + 1) * above) ** 2 * (below + 1)
    found: npt.NDArray[np.intp] = k[excess > ERRORS * np.sqrt(variance)]
    return found


def _hash_cells(rows: BinnedRows) -> npt.NDArray[np.uint64]:
    """Return a number for each row, the same for rows that agree in all columns and the offset."""
    random = np.random.default_rng(0)
    found = np.zeros(len(rows), dtype=np.uint64) if rows.offset is None else _random_codes(rows.offset, 2)
    for column in filter(np.ptp, rows.bins):  # a constant column says nothing of a row
        found += random.integers(1 << 63, size=256, dtype=np.uint64)[column]
    return found


def _random_codes(numbers: npt.NDArray[Any], seed: int) -> npt.NDArray[np.uint64]:
    """Return a random number for each distinct number."""
    distinct, place = np.unique(numbers, return_inverse=True)
    return np.random.default_rng(seed).integers(1 << 63, size=len(distinct), dtype=np.uint64)[place]

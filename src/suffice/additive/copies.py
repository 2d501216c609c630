"""Copies of rows: rows given twice, told from rows that agree by chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from suffice.additive.backfitting import BinnedRows
from suffice.statistics.base import FloatArray

#: A column tells copies from chance if it has at least this many bins with rows, and none with more than this multiple
#: of the mean count.
LEAST_VALUES, LARGEST_COUNT = 24, 4.0
#: Neighbouring bins that are merged when rows that are similar, but no copies, are counted.
MERGED = 8
#: Rows are copies if more than this share of the pairs that agree in merged bins agree in all of them. By chance it is
#: 1 / MERGED, and at most twice that if one column falls with another, whose merged bins then overlap.
COPIED_SHARE = 0.4
#: Whether there are copies is seen in at most this many rows, drawn at random.
MOST_ROWS = 50_000


def merge_copies(rows: BinnedRows, ordered: Sequence[bool]) -> tuple[BinnedRows, int]:
    """Return rows in which copies are one row with the sum of their weights, and the number of rows that this saves.

    Copies agree in the bins of all columns, in target and offset. Held out, a row is not unseen if a copy of it was
    learned, and noise that all copies share would be fitted. Where few values are possible, however, rows that agree
    may be different observations, and all are kept. Which it is, columns with many bins tell: rows that agree by chance
    lie in neighbouring bins of such a column about as often as in the same one; copies are always in the same.

    Parameters
    ----------
    rows
        The rows.
    ordered
        Whether the bins of each column are ranges of numbers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bins, target = rng.integers(1, 200, size=(2, 100)).astype(np.uint8), rng.normal(size=100)
    >>> twice = BinnedRows(np.tile(bins, 2), np.tile(target, 2), None, None, "gaussian")
    >>> merged, saved = merge_copies(twice, [True, True])
    >>> len(merged), saved, merged.weight[:3]
    (100, 100, array([2., 2., 2.]))
    """
    n = len(rows)
    some = rows if n <= MOST_ROWS else rows.take(np.random.default_rng(0).permutation(n)[:MOST_ROWS])
    if not _has_copies(some, ordered):
        return rows, 0
    key = _hash_cells(rows, _codes(rows.target), [])
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    weight = np.bincount(group, weights=rows.weight).astype(np.float64)
    order = np.argsort(first)  # of the first row of each group
    return replace(rows.take(first[order]), weight=weight[order]), n - len(first)


def _has_copies(rows: BinnedRows, ordered: Sequence[bool]) -> bool:
    """Whether rows that agree are copies rather than chance."""
    target = _codes(rows.target)
    _, first, counts = np.unique(_hash_cells(rows, target, []), return_index=True, return_counts=True)
    if len(first) == len(rows):
        return False
    smooth = [j for j, column in enumerate(rows.bins) if ordered[j] and _is_smooth(np.bincount(column[first]))]
    has_numbers = rows.family in ("gaussian", "tweedie") and _is_smooth(np.bincount(target[first]))
    if not smooth and not has_numbers:
        return False
    near = np.unique(_hash_cells(rows, target // MERGED if has_numbers else target, smooth), return_counts=True)[1]
    return _pairs(counts) > COPIED_SHARE * _pairs(near)


def _codes(numbers: FloatArray) -> npt.NDArray[np.int64]:
    """Return the rank of each number among the distinct ones."""
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def _is_smooth(counts: npt.NDArray[np.intp]) -> bool:
    """Whether there are many values, and none of them is much more frequent than others."""
    counts = counts[counts > 0]
    return len(counts) >= LEAST_VALUES and bool(counts.max() <= LARGEST_COUNT * max(counts.mean(), 1.0))


def _hash_cells(rows: BinnedRows, target: npt.NDArray[np.int64], merged: list[int]) -> npt.NDArray[np.uint64]:
    """Return a number for each row, the same for rows that agree; neighbouring bins of some columns are merged."""
    random = np.random.default_rng(0)
    found = random.integers(1 << 63, size=int(target.max(initial=0)) + 1, dtype=np.uint64)[target]
    if rows.offset is not None:
        places = _codes(rows.offset)
        found += random.integers(1 << 63, size=int(places.max(initial=0)) + 1, dtype=np.uint64)[places]
    for at, column in enumerate(rows.bins):
        table = random.integers(1 << 63, size=256, dtype=np.uint64)
        if at in merged:
            bins = np.arange(256)
            table = np.where(bins == 0, table, table[1 + (bins - 1) // MERGED])  # missing cells are no neighbours
        found += table[column]
    return np.asarray(found)


def _pairs(counts: npt.NDArray[np.intp]) -> float:
    """Return the number of pairs of rows within groups of these sizes."""
    return float((counts * (counts - 1.0)).sum() / 2)

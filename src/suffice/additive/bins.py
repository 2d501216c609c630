"""Bins of columns: numbers by quantiles, categories by level, and one bin for missing cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.generative.columns import Column

Bins = npt.NDArray[np.uint8]

#: Bin of missing cells.
MISSING = 0
#: Bin of levels of a category that were not learned, or are pooled because they are rare.
OTHER = 1
#: Most bins of known cells: with those of missing cells and other levels they fit into a byte.
MOST_BINS = 254


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """The bins of one column.

    Bin 0 is that of missing cells. For numbers, bin ``1 + i`` holds those from edge ``i - 1`` (included) to edge ``i``
    (excluded). For categories, bin 1 holds all levels that have no bin of their own, and bin ``2 + i`` level i.

    Examples
    --------
    >>> from suffice.generative.columns import read_columns
    >>> column = read_columns(np.array([[1.0], [2.0], [np.nan], [4.0]]))[0]
    >>> bins = ColumnBins.of(column, 254)
    >>> bins.labels(), bins.encode(column)
    (['missing', 'below 1.5', '1.5 to 3', '3 or more'], array([1, 2, 0, 3], dtype=uint8))
    """

    name: str | int
    edges: FloatArray | None  # of numbers, increasing
    levels: tuple[Any, ...] | None = None  # of categories
    low: float = 0.0  # the least number learned
    high: float = 0.0

    @classmethod
    def of(cls, column: Column, most: int) -> ColumnBins:
        """Return the bins of a column of training rows, at most ``most`` for known cells."""
        if is_number(column):
            return cls.of_numbers(column.name, known_numbers(column), most)
        return cls.of_levels(column.name, count_levels(column), most)

    @classmethod
    def of_numbers(
        cls,
        name: str | int,
        numbers: FloatArray,
        most: int,
        range_: tuple[float, float] | None = None,
        counts: npt.NDArray[np.int64] | None = None,
    ) -> ColumnBins:
        """Return bins for numbers; ``range_`` is that of the column if these are a sample of it.

        ``counts`` says how often each number occurs, once by default.
        """
        if not len(numbers):
            return cls(name, np.empty(0))
        if counts is None:
            distinct, counts = np.unique(numbers, return_counts=True)
        else:
            distinct, place = np.unique(numbers, return_inverse=True)
            counts = np.bincount(place, counts).astype(np.int64)
        low, high = (float(distinct[0]), float(distinct[-1])) if range_ is None else map(float, range_)
        if len(distinct) <= most:
            edges = distinct[:-1] + (distinct[1:] - distinct[:-1]) / 2
        else:
            # Lower quantiles are numbers of the column, so that many equal numbers have a bin of their own.
            shares = np.linspace(0.0, 1.0, most + 1)[1:-1]
            up_to = np.cumsum(counts)
            ranks = np.floor((up_to[-1] - 1) * shares)
            edges = np.unique(distinct[np.searchsorted(up_to, ranks, side="right")])
            edges = edges[edges > low]
        return cls(name, edges, None, low, high)

    @classmethod
    def of_levels(cls, name: str | int, counts: Mapping[str, int], most: int) -> ColumnBins:
        """Return bins for the levels of a category, the most frequent ones if there are too many."""
        kept = sorted(counts, key=lambda level: (-counts[level], level))[: most - 1]
        return cls(name, None, tuple(sorted(kept)))

    @property
    def ordered(self) -> bool:
        """Whether the bins are ranges of numbers."""
        return self.edges is not None

    def __len__(self) -> int:
        return len(self.edges) + 2 if self.edges is not None else len(self.levels or ()) + 2

    def encode(self, column: Column) -> Bins:
        """Return the bin of each cell."""
        if self.edges is None:
            places = {level: 2 + i for i, level in enumerate(self.levels or ())}
            found = (places.get(_text(cell), OTHER) for cell in column.values.tolist())
            bins = np.fromiter(found, dtype=np.uint8, count=len(column.values))
            bins[~column.known] = MISSING
            return bins
        if not is_number(column):
            other = (at for at, cell in enumerate(column.cells.tolist()) if not isinstance(cell, Real))
            row = column.row_of(next(other, 0))
            raise ValueError(
                f"column {self.name!r} was learned as numbers; row {row} is {column.values[row]!r}: give numbers, or "
                "NaN for a missing cell"
            )
        bins = np.full(len(column.values), MISSING, dtype=np.uint8)
        bins[column.known] = np.searchsorted(self.edges, known_numbers(column), side="right") + 1
        return bins

    def encode_numbers(self, numbers: FloatArray) -> Bins:
        """Return the bin of each number; NaN is missing."""
        assert self.edges is not None
        bins = (np.searchsorted(self.edges, numbers, side="right") + 1).astype(np.uint8)
        bins[np.isnan(numbers)] = MISSING
        return bins

    def encode_codes(self, names: Sequence[str], codes: npt.NDArray[np.signedinteger[Any]]) -> Bins:
        """Return the bin of each cell, given by the place of its level among some names; -1 is missing."""
        places = {level: 2 + i for i, level in enumerate(self.levels or ())}
        table = np.array([*(places.get(name, OTHER) for name in names), MISSING], dtype=np.uint8)
        return np.asarray(table[codes])

    def places(self) -> FloatArray:
        """Return the middle of each bin of numbers, from -1 at the least number to 1 at the greatest.

        That of missing cells is 0.

        Examples
        --------
        >>> ColumnBins("age", np.array([10.0, 30.0]), None, 0.0, 40.0).places()
        array([ 0.  , -0.75,  0.  ,  0.75])
        """
        assert self.edges is not None
        half = (self.high / 2 - self.low / 2) or 1.0
        ends = (np.concatenate([[self.low], self.edges, [self.high]]) - (self.low / 2 + self.high / 2)) / half
        return np.concatenate([[0.0], ends[:-1] + np.diff(ends) / 2])

    def labels(self) -> list[str]:
        """Return what each bin holds, in a few words."""
        if self.edges is None:
            return ["missing", "other", *map(str, self.levels or ())]
        edges = [f"{edge:.6g}" for edge in self.edges]
        if not edges:
            return ["missing", "any number"]
        between = [f"{low} to {high}" for low, high in pairwise(edges)]
        return ["missing", f"below {edges[0]}", *between, f"{edges[-1]} or more"]


def is_number(column: Column) -> bool:
    """Whether the cells of a column are numbers; a column without known cells is one."""
    return column.type in ("int", "float", "bool", "nothing")


def known_numbers(column: Column) -> FloatArray:
    """Return the known cells of a column of numbers; raise if one is infinite."""
    numbers = column.cells.astype(np.float64) + 0.0  # -0.0 is 0.0
    infinite = np.flatnonzero(~np.isfinite(numbers))
    if len(infinite):
        raise ValueError(
            f"X contains infinity: column {column.name!r}, row {column.row_of(int(infinite[0]))} is "
            f"{numbers[infinite[0]]}; give a finite number, or NaN for a missing cell"
        )
    return numbers


def count_levels(column: Column) -> Counter[str]:
    """Return the number of rows of each level of a category.

    Examples
    --------
    >>> from suffice.generative.columns import read_columns
    >>> count_levels(read_columns([["red"], ["blue "], [None], ["blue"]])[0])
    Counter({'blue': 2, 'red': 1})
    """
    return Counter(map(_text, column.cells.tolist()))


def _text(cell: Any) -> str:
    """Return the level of a cell: numbers and strings that look alike are one level."""
    return cell.strip() if isinstance(cell, str) else str(cell)


def group_bins(bins: ColumnBins, counts: FloatArray, most: int) -> npt.NDArray[np.int32]:
    """Return a group for each bin, (256,), for pairs of columns: at most ``most`` groups of about equal counts.

    Missing cells keep a group of their own, the first, if there are any. Of categories, the most frequent levels have
    groups of their own, and the others share the last one.

    Examples
    --------
    >>> group_bins(ColumnBins("age", np.arange(5.0)), np.array([0, 1, 1, 4, 1, 1, 1]), 3)[:7]
    array([0, 0, 0, 1, 2, 2, 2], dtype=int32)
    """
    groups = np.zeros(256, dtype=np.int32)
    size = len(bins)
    if not bins.ordered:
        order = np.argsort(-counts[:size], kind="stable")
        order = order[counts[order] > 0]
        groups[order] = np.minimum(np.arange(len(order)), most - 1)
        return groups
    first = int(counts[MISSING] > 0)
    known = counts[1:size]
    present = known > 0
    if present.sum() <= most:
        found = np.maximum(np.cumsum(present) - 1, 0)
    else:
        middle = (np.cumsum(known) - known / 2) / known.sum()
        found = np.unique(np.minimum((middle * most).astype(int), most - 1), return_inverse=True)[1]
    groups[1:size] = found + first
    return groups


def widen_bins(
    bins: ColumnBins, counts: npt.NDArray[np.integer[Any]], most: int
) -> tuple[ColumnBins, npt.NDArray[np.uint8]]:
    """Return bins of numbers of which at most ``most`` hold known cells, and the new bin of each bin, (256,).

    Examples
    --------
    >>> wider, table = widen_bins(ColumnBins("age", np.arange(5.0)), np.array([0, 1, 1, 4, 1, 1, 1]), 3)
    >>> wider.edges, table[:7]
    (array([1., 2.]), array([0, 1, 1, 2, 3, 3, 3], dtype=uint8))
    """
    if bins.edges is None or len(bins.edges) < most:
        return bins, np.arange(256, dtype=np.uint8)
    known = counts.astype(np.float64)
    known[MISSING] = 0.0
    groups = group_bins(bins, known, most)
    table = (groups + 1).astype(np.uint8)
    table[MISSING] = MISSING
    size = len(bins)
    return replace(bins, edges=bins.edges[np.diff(groups[1:size]) > 0]), table

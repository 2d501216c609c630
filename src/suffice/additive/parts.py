"""Rows in parts: one pass finds the bins of the columns, another gathers all rows here, one byte a cell."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice import _native, validation
from suffice.additive.binned_fit import EncodedRows
from suffice.additive.bins import Bins, ColumnBins, count_levels, is_number, known_numbers
from suffice.data.dataset import Dataset, Piece, no_rows
from suffice.discriminative.perceptron import ClassTotals
from suffice.generative.columns import Column
from suffice.kernels.inputs import host_memory
from suffice.statistics.base import FloatArray

#: Quantiles are those of a random sample of so many different rows; of many columns, so many cells, but not fewer rows.
MOST_ROWS, MOST_CELLS, FEWEST_ROWS = 200_000, 1 << 23, 20_000
#: Of a category with more levels than this, the most frequent half is kept of the parts that were read.
MOST_LEVELS = 200_000
#: Rows in bins that take more than this share of the machine's memory are kept in a temporary file.
SHARE = 0.25

Reader = Callable[[Any], list[Column]]


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first pass finds of some rows: of each column, what its bins depend on.

    The result depends neither on the order of the rows nor on the parts that they are in, up to levels of categories
    that are beyond :data:`MOST_LEVELS`: the rows of the sample are those with the smallest keys, which are random
    numbers that depend on a row's numbers alone.
    """

    rows: int  # of weight above 0
    names: tuple[str | int, ...]
    kinds: tuple[str | None, ...]  # "numbers" or "names"; None: no cell is known
    ranges: FloatArray  # (d, 2), the least and the greatest number
    distinct: tuple[FloatArray | None, ...]  # the distinct numbers; None where they are more than a column has bins
    levels: tuple[Counter[str], ...]  # rows of each level of a category
    sample: dict[int, FloatArray]  # numbers of the sampled rows by column, NaN where they are missing
    keys: npt.NDArray[np.uint64]  # of the sampled rows, which are different, increasing
    counts: npt.NDArray[np.int64]  # how many rows are equal to each sampled row
    classes: ClassTotals | None = None

    @classmethod
    def of(cls, read: Reader, most: int, has_classes: bool, piece: Piece) -> Survey:
        """Return the survey of one part; ``most`` is the number of bins."""
        columns = read(piece["X"])
        rows = len(columns[0].values)
        with validation.one_of_many():
            weight = validation.weights(piece.get("sample_weight"), rows)
        classes = ClassTotals.of(piece)._replace(codes=None) if has_classes else None
        if weight is not None:
            columns = take_cells(columns, weight > 0)
            rows = int(np.count_nonzero(weight))
        kinds, distinct, levels, numbers = [], [], [], {}
        ranges = np.tile([np.inf, -np.inf], (len(columns), 1))
        keys = np.zeros(rows, dtype=np.uint64)
        for at, column in enumerate(columns):
            kinds.append(_kind(column))
            found: FloatArray | None = np.empty(0)
            if kinds[-1] == "numbers":
                cells = known_numbers(column)
                found = np.unique(cells)
                ranges[at] = found[0], found[-1]
                found = found if len(found) <= most else None
                numbers[at] = np.full(rows, np.nan)
                numbers[at][column.known] = cells
                keys[column.known] += _native.rows.mixed(cells.view(np.uint64) + np.uint64(at))
            distinct.append(found)
            levels.append(count_levels(column) if kinds[-1] == "names" else Counter())
        names, once = tuple(column.name for column in columns), np.ones(rows, dtype=np.int64)
        whole = cls(rows, names, tuple(kinds), ranges, tuple(distinct), tuple(levels), numbers, keys, once, classes)
        return whole._thinned()

    def plus(self, most: int, other: Survey) -> Survey:
        """Return the survey of both."""
        for name, one, two in zip(self.names, self.kinds, other.kinds, strict=True):
            if one and two and one != two:
                raise ValueError(
                    f"column {name!r} holds numbers in one part of X and text in another: convert it to one of them"
                )
        distinct = []
        for mine, theirs in zip(self.distinct, other.distinct, strict=True):
            both = None if mine is None or theirs is None else np.union1d(mine, theirs)
            distinct.append(both if both is None or len(both) <= most else None)
        sample = {
            at: np.concatenate([self._cells(at), other._cells(at)]) for at in sorted({*self.sample, *other.sample})
        }
        classes = self.classes
        if classes is not None and other.classes is not None:
            classes = classes.plus(other.classes)
        return Survey(
            self.rows + other.rows,
            self.names,
            tuple(one or two for one, two in zip(self.kinds, other.kinds, strict=True)),
            np.stack(
                [np.minimum(self.ranges[:, 0], other.ranges[:, 0]), np.maximum(self.ranges[:, 1], other.ranges[:, 1])],
                axis=1,
            ),
            tuple(distinct),
            tuple(_frequent(one + two) for one, two in zip(self.levels, other.levels, strict=True)),
            sample,
            np.concatenate([self.keys, other.keys]),
            np.concatenate([self.counts, other.counts]),
            classes,
        )._thinned()

    def bins(self, most: int) -> list[ColumnBins]:
        """Return the bins of all columns."""
        found = []
        for at, (name, kind) in enumerate(zip(self.names, self.kinds, strict=True)):
            if kind == "names":
                found.append(ColumnBins.of_levels(name, self.levels[at], most))
                continue
            numbers, counts = self.distinct[at], None
            if numbers is None:
                cells = self._cells(at)
                numbers, counts = cells[~np.isnan(cells)], self.counts[~np.isnan(cells)]
                if self.counts.sum() < self.rows:  # one row that is given often need not be the whole sample
                    counts = np.minimum(counts, (counts.sum() - counts.max(initial=0)) // most + 1)
            found.append(ColumnBins.of_numbers(name, numbers, most, tuple(self.ranges[at]), counts))
        return found

    def _cells(self, column: int) -> FloatArray:
        """Return a column of the sample; NaN where these parts have no number in it."""
        return self.sample[column] if column in self.sample else np.full(len(self.keys), np.nan)

    def _thinned(self) -> Survey:
        """Return the survey with a sample of different rows that is no larger than it may be."""
        most = int(np.clip(MOST_CELLS // max(len(self.sample), 1), FEWEST_ROWS, MOST_ROWS))
        order = np.argsort(self.keys, kind="stable")  # fast where two sorted samples were added
        keys = self.keys[order]
        is_first = np.ones(len(keys), dtype=bool)
        is_first[1:] = keys[1:] != keys[:-1]
        starts = np.flatnonzero(is_first)
        counts = np.add.reduceat(self.counts[order], starts)[:most]
        kept = order[starts[:most]]
        sample = {at: cells[kept] for at, cells in self.sample.items()}
        return replace(self, sample=sample, keys=self.keys[kept], counts=counts)


#: Returns targets and weights of a part's rows, which are so many.
Targets = Callable[[Piece, int], tuple[FloatArray, FloatArray | None]]


def survey_parts(data: Dataset, read: Reader, most: int, has_classes: bool) -> Survey:
    """Return the survey of all rows: one pass."""
    found: Survey | None = data.map_parts(partial(Survey.of, read, most, has_classes)).reduce(partial(_added, most))
    if found is None:
        raise no_rows()
    return found


def encode_columns(columns: Sequence[Column], bins: Sequence[ColumnBins]) -> Bins:
    """Return the bin of each cell, (d, n)."""
    return np.ascontiguousarray([each.encode(column) for each, column in zip(bins, columns, strict=True)])


def encode_part(read: Reader, bins: Sequence[ColumnBins], targets: Targets, piece: Piece) -> EncodedRows:
    """Return the rows of a part in bins."""
    columns = read(piece["X"])
    rows = len(columns[0].values)
    target, weight = targets(piece, rows)
    offset = validation.per_row("offset", piece.get("offset"), rows)
    if weight is not None and not weight.all():
        kept = weight > 0
        columns = take_cells(columns, kept)
        target, weight, offset = target[kept], weight[kept], None if offset is None else offset[kept]
    return EncodedRows(encode_columns(columns, bins), np.asarray(target, dtype=np.float64), weight, offset)


def gather_parts(data: Dataset, encode: Callable[[Piece], EncodedRows], features: int, rows: int) -> EncodedRows:
    """Return all rows in bins, of which there are at most ``rows``: one pass.

    Where they are large, the bins are in a temporary file without a name, which is gone with the array.
    """
    bins = byte_array((features, rows))
    others: list[tuple[FloatArray, FloatArray | None, FloatArray | None]] = []
    at = 0
    for part in data.map_parts(encode).iterate():
        stop = at + len(part.target)
        bins[:, at:stop] = part.bins
        others.append((part.target, part.weight, part.offset))
        at = stop
    targets, weights, offsets = zip(*others, strict=True)
    sizes = [len(target) for target in targets]
    return EncodedRows(
        bins[:, :at], np.concatenate(targets), _joined(weights, sizes, 1.0), _joined(offsets, sizes, 0.0)
    )


def take_cells(columns: Sequence[Column], rows: npt.NDArray[np.bool_]) -> list[Column]:
    """Return some rows of columns."""
    return [replace(each, values=each.values[rows], known=each.known[rows]) for each in columns]


def _added(most: int, one: Survey, two: Survey) -> Survey:
    return one.plus(most, two)


def _kind(column: Column) -> str | None:
    if not column.known.any():
        return None
    return "numbers" if is_number(column) else "names"


def _frequent(levels: Counter[str]) -> Counter[str]:
    """Return the most frequent levels, if there are too many."""
    return levels if len(levels) <= MOST_LEVELS else Counter(dict(levels.most_common(MOST_LEVELS // 2)))


def _joined(columns: Sequence[FloatArray | None], sizes: Sequence[int], default: float) -> FloatArray | None:
    """Return the entries of all rows, where a part without them has the default; None where none has them."""
    if all(column is None for column in columns):
        return None
    filled = [np.full(size, default) if each is None else each for each, size in zip(columns, sizes, strict=True)]
    return np.concatenate(filled)


def byte_array(shape: tuple[int, int]) -> Bins:
    """Return an array to be filled, in a temporary file if it is large."""
    size = shape[0] * shape[1]
    if size <= SHARE * host_memory():
        return np.empty(shape, dtype=np.uint8)
    with tempfile.TemporaryFile(prefix="suffice-") as file:
        try:
            if hasattr(os, "posix_fallocate"):  # a full disk is an error here, and none while the array is filled
                os.posix_fallocate(file.fileno(), 0, size)
            return np.memmap(file, dtype=np.uint8, mode="w+", shape=shape)
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror}; rows in bins, {size / 1e9:.3g} GB, are kept there: TMPDIR names another folder",
                tempfile.gettempdir(),
            ) from None

"""Rows of a table in few bytes, kept between passes over them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.data.spill import Spill
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.encoding import Block, Names, Targets
from suffice.tables.schema import Feature
from suffice.tables.sources.base import arrow

#: The kept rows of a table take no more than this share of the free space for temporary files.
_SHARE_OF_FREE = 0.5
#: Types of numbers; a column is kept in the first that holds all of its cells exactly.
_NUMBERS = (np.int8, np.int16, np.float32)
#: A type is tried on so many cells of a column first.
_LOOKED_AT = 64


class CompactRows:
    """Rows that were read once and are needed again: in memory while they are few, then in a temporary file.

    Numbers take 1, 2, 4 or 8 bytes, whichever loses nothing; names are codes of 1, 2 or 4 bytes. The temporary file is
    deleted however the process ends.

    Parameters
    ----------
    features
        What the columns are.
    in_memory
        How many bytes are held before rows are written to a file; see :class:`Spill`.
    most
        How many bytes are kept in all; by default half of the free space for temporary files. Beyond that, all rows
        are let go, and :attr:`is_complete` is false.

    Examples
    --------
    >>> block = Block((), (np.array([1.0, np.nan, 0.25]),), 3)
    >>> with CompactRows(()) as rows:
    ...     rows.add(block, Targets(np.ones(3, dtype=bool), Labels(("no", "yes")), np.array([0, 1, 1])))
    ...     [(block.columns[0].tolist(), codes.tolist()) for block, codes in rows.read(Labels(("maybe", "no", "yes")))]
    [([1.0, nan, 0.25], [1, 2, 2])]
    """

    def __init__(self, features: tuple[Feature, ...], in_memory: int | None = None, most: int | None = None) -> None:
        self._features = features
        self._spill: Spill | None = Spill(in_memory)
        self._most = most
        self.size = 0  #: bytes that are kept
        self.rows = 0

    @property
    def is_complete(self) -> bool:
        """Whether all rows that were added are kept."""
        return self._spill is not None

    def add(self, block: Block, answers: Targets) -> None:
        """Keep some rows and their targets."""
        if self._spill is None:
            return
        columns = tuple(map(_compact, block.columns))
        values = (_narrow_codes if len(answers.labels) else _narrow_numbers)(answers.values)
        self.rows += block.rows
        self.size += values.nbytes + sum(
            (column[1] if isinstance(column, tuple) else column).nbytes for column in columns
        )
        if self._most is None:
            self._most = free_temporary_space()
        if self.size > self._most:
            self.close()
        else:
            self._spill.add((columns, answers.labels.names, values, block.rows, block.first))

    def read(self, labels: Labels) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield the rows in their order, with codes of these classes, or numbers where there are none."""
        assert self._spill is not None  # rows are read before they are let go
        for columns, names, values, rows, first in self._spill:
            block = Block(self._features, tuple(map(_restored, columns)), rows, first)
            yield block, labels._places(names)[values] if len(labels) else values.astype(np.float64, copy=False)

    def close(self) -> None:
        """Delete the rows."""
        if self._spill is not None:
            self._spill.close()
            self._spill = None

    def __enter__(self) -> CompactRows:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def free_temporary_space() -> int:
    """Return how many bytes of temporary files may still be written."""
    return int(_SHARE_OF_FREE * shutil.disk_usage(tempfile.gettempdir()).free)


def _compact(column: Any) -> Any:
    """Return a column of a block in few bytes."""
    if isinstance(column, Names):
        return column.vocabulary.names, _narrow_codes(column.codes + 1)  # 0 is missing
    return arrow().array(column, arrow().large_string()) if isinstance(column, list) else _narrow_numbers(column)


def _restored(column: Any) -> Any:
    """Return the column that :func:`_compact` made small."""
    if isinstance(column, tuple):
        names, codes = column
        return Names(Labels(names), codes.astype(np.int64) - 1)
    return column.astype(np.float64, copy=False) if isinstance(column, np.ndarray) else column.to_pylist()


def _narrow_codes(codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return codes, 0 or more, in the smallest type that holds them."""
    return codes.astype(np.min_scalar_type(int(codes.max(initial=0))))


def _narrow_numbers(cells: FloatArray) -> npt.NDArray[Any]:
    """Return numbers in the smallest type that holds them exactly.

    Examples
    --------
    >>> [_narrow_numbers(np.array(cells)).dtype.name for cells in ([3.0, 0.0], [0.5, np.nan], [0.1, 1.0])]
    ['int8', 'float32', 'float64']
    """
    few = cells[:: max(len(cells) // _LOOKED_AT, 1)]
    for kind in _NUMBERS:
        with np.errstate(invalid="ignore", over="ignore"):  # NaN and large numbers are no integers, which is seen below
            if all(np.array_equal(each.astype(kind), each, equal_nan=True) for each in (few, cells)):
                return cells.astype(kind)
    return np.ascontiguousarray(cells)

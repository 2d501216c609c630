"""Rows of a table in a compact encoding, kept between passes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.data.spill import Spill
from suffice.statistics import Labels
from suffice.tables.arrow_arrays import from_strings
from suffice.tables.encoding import Block, CodedColumn, PackedNumbers, Targets
from suffice.tables.schema import Feature

#: Largest share of the free space for temporary files that the kept rows of a table take.
_SHARE_OF_FREE = 0.5


class CompactRows:
    """Rows that are read several times: in memory up to a limit, then in a temporary file.

    Numbers take the fewest of 1, 2, 4 or 8 bytes that represent them exactly; categories are codes of 1, 2 or 4 bytes.
    The temporary file is deleted however the process ends.

    Parameters
    ----------
    features
        The features of the table.
    in_memory
        Number of bytes in memory before rows are written to a file; see :class:`Spill`.
    most
        Maximum number of bytes; half of the free space for temporary files by default. Beyond it, all rows are deleted,
        and :attr:`is_complete` is false.

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

    def add(self, block: Block, targets: Targets) -> None:
        """Keep some rows and their targets."""
        if self._spill is None:
            return
        columns = tuple(map(_packed, block.columns))
        values = _narrow_codes(targets.values) if len(targets.labels) else PackedNumbers.of(targets.values)
        weights = [] if block.weights is None else [PackedNumbers.of(block.weights)]
        self.rows += block.rows
        self.size += sum(map(_size_of, (values, *columns, *weights)))
        if self._most is None:
            self._most = free_temporary_space()
        if self.size > self._most:
            self.close()
        else:
            self._spill.add((columns, targets.labels.names, values, weights, block.rows, block.first))

    def read(self, labels: Labels, *, packed: bool = False) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield the rows in order, each block with the codes of these classes, or with numbers if there are none.

        Parameters
        ----------
        labels
            The classes.
        packed
            Whether numbers are left as :class:`PackedNumbers`, which :meth:`Design.encode` reads.
        """
        assert self._spill is not None  # rows are not read after they were deleted
        for columns, names, values, weights, rows, first in self._spill:
            found = tuple(_column(column, packed) for column in columns)
            targets = labels.find(names)[values] if len(labels) else values.unpacked()
            yield Block(self._features, found, rows, first, weights[0].unpacked() if weights else None), targets

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
    """Return the number of bytes that may be written to temporary files."""
    return int(_SHARE_OF_FREE * shutil.disk_usage(tempfile.gettempdir()).free)


def _packed(column: Any) -> Any:
    """Return a column of a block in the compact encoding."""
    if isinstance(column, CodedColumn):
        return CodedColumn(column.vocabulary, _narrow_codes(column.codes))
    return from_strings(column) if isinstance(column, list) else PackedNumbers.of(column)


def _size_of(column: Any) -> int:
    """Return the size of an encoded column in bytes."""
    if isinstance(column, CodedColumn | PackedNumbers):
        column = column.codes if isinstance(column, CodedColumn) else column.cells
    return int(column.nbytes)


def _column(column: Any, packed: bool) -> Any:
    """Return the column of a block that :func:`_packed` encoded."""
    if isinstance(column, PackedNumbers):
        return column if packed else column.unpacked()
    return column if isinstance(column, CodedColumn) else column.to_pylist()


def _narrow_codes(codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return codes, -1 or more, in the smallest type that holds them.

    Examples
    --------
    >>> _narrow_codes(np.array([-1, 100])).dtype.name, _narrow_codes(np.array([1000])).dtype.name
    ('int8', 'int16')
    """
    return codes.astype(np.min_scalar_type(-1 - int(codes.max(initial=0))))

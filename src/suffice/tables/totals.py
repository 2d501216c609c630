"""Rows of totals at the end of a table, which are no observations."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from suffice.tables.cells import cell_type

if TYPE_CHECKING:
    import pyarrow as pa

_WORDS = re.compile(
    "((grand[ -]?|sub[ -]?)?totals?|sum|summe|gesamt(summe|betrag)?|insgesamt|totale|totaal|somme|suma):?",
    re.IGNORECASE,
)


def find_total(batches: Sequence[pa.RecordBatch]) -> tuple[str, str] | None:
    """Return the column and the word that say that the last row has totals; None if it has none.

    The word is in no other row of the column, and the row has a number.

    Examples
    --------
    >>> import pyarrow as pa
    >>> find_total([pa.record_batch({"city": ["Bonn", "Kiel", "Summe"], "sold": [3, 4, 7]})])
    ('city', 'Summe')
    """
    rows = sum(batch.num_rows for batch in batches)
    if rows < 2 or not batches[-1].num_rows:
        return None
    kinds = dict(zip(batches[-1].schema.names, map(cell_type, batches[-1].schema.types), strict=True))
    last: dict[str, Any] = batches[-1].slice(batches[-1].num_rows - 1).to_pylist()[0]
    if not any(kinds[name] in ("number", "whole") and cell is not None for name, cell in last.items()):
        return None
    for name, cell in last.items():
        if kinds[name] == "name" and isinstance(cell, str) and _WORDS.fullmatch(cell.strip()):
            count = sum(batch.column(name).to_pylist().count(cell) for batch in batches)
            return (name, cell.strip()) if count == 1 else None
    return None


def without_total(batches: Iterable[pa.RecordBatch]) -> Generator[pa.RecordBatch, None, None]:
    """Yield batches without the row of totals that the last of them may end with."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if len(held) > 2:
            yield held.pop(0)
    yield from drop_total(held)


def drop_total(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return the last batches of a table without a row of totals at their end."""
    if find_total(batches) is None:
        return batches
    last = batches[-1]
    return [*batches[:-1], *([last.slice(0, last.num_rows - 1)] if last.num_rows > 1 else [])]

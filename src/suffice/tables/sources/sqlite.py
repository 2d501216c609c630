"""SQLite files, read by Python's sqlite3; types belong to cells there, not to columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.kernels.sql.dialect import quoted
from suffice.tables.errors import TableError
from suffice.tables.sources.base import BATCH, Source, arrow, find_table

if TYPE_CHECKING:
    import pyarrow as pa


class SqliteSource(Source):
    """A table of an SQLite file, or a query over it."""

    def __init__(self, file: str, table: str, query: str | None) -> None:
        self.name = f"{file}::{table}" if table else file
        self._file = file
        self._query = query or f"select * from {quoted(find_table(file, table, self._tables()))}"
        self._types: dict[str, Any] = {}

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(f"{Path(self._file).resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)

    def _tables(self) -> list[str]:
        try:
            with closing(self._connect()) as connection:
                found = connection.execute("select name from sqlite_master where type in ('table', 'view')").fetchall()
        except sqlite3.Error as error:
            raise TableError(f"{self._file} is not a readable SQLite file, or is damaged ({error})") from None
        return [name for (name,) in found if not name.startswith("sqlite_")]

    def schema(self) -> pa.Schema:
        """Return the names and types of the columns, inferred from the first rows."""
        first = next(self.batches(), None)
        if first is None:
            raise TableError(f"{self.name} has no rows: there is nothing to learn from")
        return first.schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order, of all columns or of some."""
        pa = arrow()
        with closing(self._connect()) as connection:
            try:
                cursor = connection.execute(self._query)
                names = [each[0] for each in cursor.description]
                while rows := cursor.fetchmany(BATCH):
                    cells = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
                    wanted = names if columns is None else list(columns)
                    yield pa.RecordBatch.from_arrays([self._array(name, cells[name]) for name in wanted], names=wanted)
            except sqlite3.Error as error:
                raise TableError(f"the query cannot be run by SQLite ({error})") from None

    def _array(self, name: str, cells: list[Any]) -> Any:
        """Return the cells of a column in the type of its first rows, else as strings."""
        pa = arrow()
        known = self._types.get(name)
        try:
            found = pa.array(cells, type=known)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            if known is not None and not pa.types.is_string(known):
                raise TableError(
                    f"column {name!r} of {self.name} held {known} in the first rows and something else later: cast it "
                    "in a query"
                ) from None
            found = pa.array([None if cell is None else str(cell) for cell in cells], type=pa.string())
        if known is None and not pa.types.is_null(found.type):
            self._types[name] = found.type
        return found

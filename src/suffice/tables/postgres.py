"""Tables of a PostgreSQL server, as Arrow batches from its driver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from suffice.tables.errors import MissingExtraError, TableError
from suffice.tables.source import Source

if TYPE_CHECKING:
    import pyarrow as pa


class PostgresSource(Source):
    """A table of a PostgreSQL server, or a query that it runs."""

    def __init__(self, location: str, query: str | None) -> None:
        address, _, table = location.partition("::")
        if not table and not query:
            raise TableError("say which table of the database, as postgresql://...::name, or give a query")
        self.name = table or "the query"
        self._address = address
        self._sql = query.rstrip("; \n") if query else 'select * from "' + table.replace('"', '""') + '"'

    @contextmanager
    def _answer(self, sql: str) -> Iterator[Any]:
        """Yield the batches that a query gives."""
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise MissingExtraError("PostgreSQL needs a driver: pip install 'suffice[postgres]'") from None
        try:
            with dbapi.connect(self._address) as connection, connection.cursor() as cursor:
                cursor.execute(sql)
                with cursor.fetch_record_batch() as reader:
                    yield reader
        except (dbapi.Error, OSError) as error:
            first = str(error).strip().splitlines()[0]
            raise TableError(f"the database says: {first}") from None

    def schema(self) -> pa.Schema:
        """Return the names and types of the columns."""
        with self._answer(f"select * from ({self._sql}\n) as data limit 0") as reader:
            return reader.schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows, of all columns or of some."""
        with self._answer(self._sql) as reader:
            for batch in reader:
                yield batch if columns is None else batch.select(list(columns))

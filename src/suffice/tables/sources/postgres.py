"""Tables of a PostgreSQL server: read as Arrow batches from its driver, or summed by the server."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from suffice.kernels.sql.dialect import POSTGRESQL, quoted, quoted_path
from suffice.kernels.sql.errors import DatabaseError, explained
from suffice.tables.errors import MissingExtraError, TableError, masked
from suffice.tables.pushdown.database import TableDatabase
from suffice.tables.sources.base import Source

if TYPE_CHECKING:
    import pyarrow as pa

#: Types that are cast on reading: decimals to floats, other scalar types to strings.
_READ_AS = {"numeric": "::float8", "money": "::numeric::float8", "uuid": "::text", "citext": "::text"}


class PostgresSource(Source):
    """A table of a PostgreSQL server, or a query that it runs."""

    def __init__(self, location: str, query: str | None) -> None:
        host = re.match(r"\w+://[^/]*\]", location)  # the end of an IPv6 host such as [::1]
        start = host.end() if host else 0
        place, _, table = location[start:].partition("::")
        address = location[:start] + place
        if not table and not query:
            raise TableError("say which table of the database, as postgresql://...::name, or give a query")
        self.name = table or "the query"
        self._address = address
        self._query = query.rstrip("; \n") if query else None

    @contextmanager
    def _answer(self, sql: str) -> Iterator[Any]:
        """Yield the result of a query in batches, over a new connection."""
        with (
            translate_errors(self.name, self._address),
            _driver().connect(self._address) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(sql)
            with cursor.fetch_record_batch() as reader:
                yield reader

    @cached_property
    def _described(self) -> tuple[str, pa.Schema]:
        """The query that returns the table, cast to types that Arrow has; and these types."""
        with (
            translate_errors(self.name, self._address),
            _driver().connect(self._address) as connection,
            connection.cursor() as cursor,
        ):

            def schema(query: str) -> pa.Schema:
                cursor.execute(f"select * from ({query}\n) as data limit 0")
                with cursor.fetch_record_batch() as reader:
                    return reader.schema

            given = self._given(cursor)
            fields = list(schema(given))
            repeated = sorted({field.name for field in fields if [each.name for each in fields].count(field.name) > 1})
            if repeated:
                raise TableError(f"there are several columns called {repeated[0]!r}: rename them")
            columns = [f"{quoted(field.name)}{_read_as(field)} as {quoted(field.name)}" for field in fields]
            select = f"select {', '.join(columns)} from ({given}\n) as data"
            return select, schema(select)

    def _given(self, cursor: Any) -> str:
        """Return the query without casts; ``schema.table`` is a table of a schema, unless a table has that name."""
        if self._query is not None:
            return self._query
        table, parts = quoted(self.name), quoted_path(self.name, POSTGRESQL)
        if parts != table:
            cursor.execute(f"select to_regclass({POSTGRESQL.string(table)}) is null as lacks")
            if cursor.fetchall()[0][0]:
                table = parts
        return f"select * from {table}"

    @property
    def select(self) -> str:
        """The query that returns the table, cast to types that Arrow has."""
        return self._described[0]

    def schema(self) -> pa.Schema:
        """Return the names and types of the columns."""
        return self._described[1]

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows, of all columns or of some."""
        names = "*" if columns is None else ", ".join(map(quoted, columns))
        with self._answer(f"select {names} from ({self.select}\n) as data") as reader:
            yield from reader

    def database(self) -> PostgresDatabase:
        """Return the server, which can compute sums over the rows."""
        return PostgresDatabase(self._address, self.select, self.name)


class PostgresDatabase(TableDatabase):
    """A PostgreSQL server as the database that computes the sums of a table.

    All queries see the table as of the first query, whatever is written to it meanwhile.
    """

    dialect = POSTGRESQL
    is_server = True

    def __init__(self, address: str, select: str, name: str) -> None:
        super().__init__(select)
        self._address = address
        self._name = name

    @cached_property
    def _connection(self) -> Any:
        connection = _driver().connect(self._address, autocommit=True)  # the transaction is started and kept below
        weakref.finalize(self, _close, connection)
        with connection.cursor() as cursor:
            cursor.execute("begin isolation level repeatable read read only")
            # JIT compilation of hundreds of aggregates costs more than it saves: seconds for the products of 20
            # columns.
            cursor.execute("set local jit = off")
        return connection

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the result of a query as rows."""
        rows: list[tuple[Any, ...]] = self._run(sql, lambda cursor: list(cursor.fetchall()))
        return rows

    def arrow(self, sql: str) -> pa.Table:
        """Return the result of a query as an Arrow table."""
        return self._run(sql, lambda cursor: cursor.fetch_arrow_table())

    def _run(self, sql: str, fetched: Callable[[Any], Any]) -> Any:
        with translate_errors(self._name, self._address), self._connection.cursor() as cursor:
            cursor.execute("savepoint question")
            try:
                cursor.execute(sql)
                return fetched(cursor)
            except _driver().Error:
                with suppress(_driver().Error, OSError):  # so that later queries can run, if the server is still there
                    cursor.execute("rollback to savepoint question")
                raise

    def draw(self, select: str, share: float, rows: int, seed: int) -> Iterable[pa.RecordBatch]:
        """Yield a random sample that the server draws, somewhat larger than the share: reading all rows is slow."""
        self.ask(f"select setseed({np.random.default_rng(seed).random()})")
        most = min(1.0, share + 5 * float(np.sqrt(share / max(rows, 1))))
        found = self.arrow(f"select * from ({select}) as rows where random() < {most!r}")
        return list(found.to_batches())

    def close(self) -> None:
        """End the transaction, for which others may wait to change the table."""
        if "_connection" in vars(self):
            _close(self._connection)


@contextmanager
def translate_errors(name: str, address: str) -> Iterator[None]:
    """Raise errors of the driver as a TableError of one sentence, without the password of the URL."""
    error_type = _driver().Error
    try:
        yield
    except (error_type, OSError) as error:
        sentence: DatabaseError = explained(error, name)
        if isinstance(sentence, ArithmeticError):
            raise sentence from None
        text = masked(str(sentence))
        for secret in _secrets(address):
            text = text.replace(secret, "***")
        raise TableError(text) from None


def _secrets(address: str) -> list[str]:
    """Return the passwords of a URL, percent-encoded and decoded."""
    userinfo = address.partition("://")[2].rpartition("@")[0]
    written = [userinfo.partition(":")[2], *re.findall(r"password=([^&\s]+)", address)]
    return sorted({each for text in written if text for each in (text, unquote(text))}, key=len, reverse=True)


def _driver() -> Any:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtraError("PostgreSQL needs a driver: pip install 'suffice[postgres]'") from None
    return dbapi


def _close(connection: Any) -> None:
    with suppress(Exception):  # the connection is closed already
        connection.close()


def _read_as(field: Any) -> str:
    """Return the cast of a column on reading."""
    kind = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    return "::text" if kind.startswith("unnamed<oid") else _READ_AS.get(kind, "")

"""Tables that DuckDB reads: files of many formats, DuckDB databases, queries over both."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from suffice.kernels.sql.dialect import DUCKDB, quoted
from suffice.tables.errors import MissingExtraError, TableError
from suffice.tables.pushdown.database import TableDatabase
from suffice.tables.sources.base import BATCH, Source

if TYPE_CHECKING:
    import pyarrow as pa


@cache
def _instance(process: int) -> Any:
    """Return the instance of DuckDB that all tables of a process share; each has its own connection.

    Starting an instance takes longer than reading a small file. Its threads do not survive a fork: each process has its
    own instance, and does not close that of its parent, which would wait for these threads. Files are not cached, since
    they may change between reads.
    """
    settings = {"autoinstall_known_extensions": "false", "enable_external_file_cache": "false"}
    return _duckdb().connect(config=settings)


#: fsspec file systems for URLs, by process and scheme.
_file_systems: dict[tuple[int, str], Any] = {}


def _register(connection: Any, file_system: Any) -> None:
    """Register an fsspec file system with DuckDB, replacing one with other settings."""
    scheme = file_system.protocol if isinstance(file_system.protocol, str) else file_system.protocol[0]
    key = os.getpid(), scheme
    if _file_systems.get(key) is file_system:
        return
    if connection.filesystem_is_registered(scheme):
        connection.unregister_filesystem(scheme)
    connection.register_filesystem(file_system)
    _file_systems[key] = file_system


class DuckSource(Source):
    """A table that DuckDB reads: a query over files, or over a DuckDB database.

    Parameters
    ----------
    name
        Name of the table in messages.
    relation
        The SQL relation, which is named ``data``.
    files
        The files of the relation.
    query
        A SELECT over ``data``, or over the tables of the database.
    database
        A DuckDB file.
    frame
        A table or dataset of Arrow, which is named ``data``, instead of a relation.
    file_system
        The file system of the files, if they are URLs.
    hidden
        Columns of the relation that are not in the table.
    """

    may_nest = True  # whether columns may be objects

    def __init__(
        self,
        name: str,
        relation: str,
        files: Sequence[str] = (),
        query: str | None = None,
        database: str = ":memory:",
        frame: Any = None,
        file_system: Any = None,
        hidden: Sequence[str] = (),
    ) -> None:
        self.name = name
        self._files = list(files)
        self._query = query
        self._database = database
        self._relation = relation
        self._hidden = list(hidden)
        self._rows: int | None = None
        duckdb = _duckdb()
        try:
            if database == ":memory:":
                self.connection = _instance(os.getpid()).cursor()
            else:
                self.connection = duckdb.connect(database, read_only=True)
                self.connection.sql("set autoinstall_known_extensions = false")
            # Setting it fails in Jupyter without ipywidgets, even if the bar is off.
            if self.connection.sql("select current_setting('enable_progress_bar')").fetchall()[0][0]:
                self.connection.sql("set enable_progress_bar = false")
        except duckdb.Error as error:
            raise self._translate_error(error) from None
        if file_system is not None:
            _register(self.connection, file_system)
        if frame is not None:
            self.connection.register("data", frame)
        elif relation:
            self._create_view(relation)
        if not query and self._files and self._files[0].endswith((".parquet", ".pq")):
            counted = f"select sum(num_rows) from parquet_file_metadata({literal(self._files)})"
            self._rows = int(self.connection.sql(counted).fetchall()[0][0])

    def _create_view(self, relation: str) -> None:
        """Create the view ``data`` of a relation, without the hidden columns."""
        try:
            self.connection.sql(f"create or replace temp view data as {self._select(relation)}")
        except _duckdb().Error as error:
            raise self._translate_error(error) from None

    def _select(self, relation: str) -> str:
        """Return a query of the columns of a relation without the hidden ones; fields of objects are columns."""
        columns = [f"* exclude ({', '.join(map(quoted, self._hidden))})" if self._hidden else "*"]
        if self.may_nest:
            found = self.connection.sql(f"select {columns[0]} from {relation} limit 0")
            kinds = list(zip(found.columns, found.types, strict=True))
            if any(kind.id == "struct" for _, kind in kinds):
                columns = [each for name, kind in kinds for each in _flatten(name, quoted(name), kind)]
        return f"select {', '.join(columns)} from {relation}"

    def columns_by_file(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the columns of each of several files."""
        for file in self._files if len(self._files) > 1 and not self._query else ():
            yield file, self.connection.sql(f"{self._select(self._relation_of(file))} limit 0").columns

    def _relation_of(self, file: str) -> str:
        """Return one of the files as an SQL relation."""
        return self._relation.replace(literal(self._files), literal([file]))

    def ask(self, query: str) -> None:
        """Set the query."""
        self._query = query

    def schema(self) -> pa.Schema:
        """Return the names and types of the columns."""
        with self._reader(f"select * from ({self._sql()}\n) limit 0") as reader:
            return reader.schema

    def _sql(self) -> str:
        return self._query.rstrip("; \n") if self._query else "from data"

    def _reader(self, sql: str) -> Any:
        try:
            return self.connection.sql(sql).to_arrow_reader(BATCH)
        except _duckdb().Error as error:
            raise self._translate_error(error) from None

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order, of all columns or of some."""
        names = "*" if columns is None else ", ".join(map(quoted, columns))
        return self.stream(f"select {names} from ({self._sql()}\n)")

    def stream(self, sql: str) -> Iterator[pa.RecordBatch]:
        """Yield the result of a query over the table, in order."""
        done = 0
        while True:
            rest = f" offset {done}" if done else ""  # with which DuckDB would use one thread
            with self._reader(f"{sql}{rest}") as reader:
                try:
                    for batch in reader:
                        done += batch.num_rows
                        yield batch
                    return
                except (OSError, _duckdb().Error) as error:  # Arrow wraps DuckDB's errors
                    failure = error
            if not self._recovers_from(failure):
                raise self._translate_error(failure) from None

    def _recovers_from(self, error: Exception) -> bool:
        """Whether a retry can succeed after an error."""
        return False

    def rows(self) -> int | None:
        """Return the number of rows, if it is known without reading them."""
        return self._rows

    def count_rows(self) -> None:
        """Count the rows of a table of a DuckDB database."""
        ((self._rows,),) = self.fetch(f"select count(*) from ({self._sql()}\n)")

    def database(self) -> DuckDatabase:
        """Return DuckDB, which can compute sums over the rows."""
        return DuckDatabase(self.fetch, self.stream, self._sql())

    def fetch(self, sql: str, arrow: bool = False) -> Any:
        """Return the result of a query over the table: rows, or an Arrow table."""
        while True:
            try:
                found = self.connection.sql(sql)
                return found.to_arrow_table() if arrow else found.fetchall()
            except (OSError, _duckdb().Error) as error:
                if "INTERRUPT" in str(error):
                    raise KeyboardInterrupt from None
                if not self._recovers_from(error):
                    raise self._translate_error(error) from None

    def _translate_error(self, error: Exception) -> TableError:
        text = str(error).strip()
        first = text.splitlines()[0] if text else type(error).__name__
        if self._query is not None and any(kind in text for kind in ("Parser Error", "Binder Error", "Catalog Error")):
            called = "" if self._database != ":memory:" else ": the table is called data in it"
            return TableError(f"the query cannot be run ({first}){called}")
        return TableError(f"{self.name} cannot be read ({first})")


class DuckDatabase(TableDatabase):
    """DuckDB as the database that computes the sums of a table.

    Parameters
    ----------
    asked
        Returns the result of a query.
    streamed
        Yields the result of a query, batch by batch.
    select
        A query that returns the table.
    """

    dialect = DUCKDB
    is_server = False

    def __init__(
        self, asked: Callable[..., Any], streamed: Callable[[str], Iterable[pa.RecordBatch]], select: str
    ) -> None:
        super().__init__(select)
        self._asked = asked
        self._streamed = streamed

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the result of a query as rows."""
        rows: list[tuple[Any, ...]] = self._asked(sql)
        return rows

    def arrow(self, sql: str) -> pa.Table:
        """Return the result of a query as an Arrow table."""
        return self._asked(sql, arrow=True)

    def draw(self, select: str, share: float, rows: int, seed: int) -> Iterable[pa.RecordBatch]:
        """Yield all rows of a query."""
        return self._streamed(select)


def _flatten(name: str, path: str, kind: Any) -> Iterator[str]:
    """Yield the fields of an object as columns, which are named as in ``address.city``; other columns as they are."""
    if kind.id != "struct":
        yield f"{path} as {quoted(name)}"
        return
    for field, inner in kind.children:
        yield from _flatten(f"{name}.{field}", f"{path}.{quoted(field)}", inner)


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("reading this table needs DuckDB: pip install 'suffice[tables]'") from None
    return duckdb


def literal(value: Any) -> str:
    """Return a value as an SQL literal.

    Examples
    --------
    >>> literal(["it's", True]), literal({"a": 1})
    ("['it''s', true]", "{'a': 1}")
    """
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    return str(value)

"""Any table as a stream of Arrow batches: files, folders, globs, databases, queries, data frames, standard input."""

from __future__ import annotations

import atexit
import glob
import os
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.tables.csv import Dialect, complaint, first_gaps, later_gap, literal
from suffice.tables.errors import MissingExtraError, TableError, listed

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows of a batch: enough for threads to share, few enough to hold several.
BATCH = 1 << 17

_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".data"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3"), "database"),
}
_COMPRESSED = (".gz", ".zst")


class Source(ABC):
    """A table that can be read, batch by batch, as often as it is asked for."""

    name: str
    missing: tuple[str, ...] = ()  # names that stand for nothing

    @abstractmethod
    def schema(self) -> pa.Schema:
        """Return the names and types of the columns."""

    @abstractmethod
    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order, of all columns or of some."""

    def rows(self) -> int | None:
        """Return how many rows there are, about; None where nobody knows before they were read."""
        return None


class ArrowSource(Source):
    """A table of which Arrow can say the schema: data frames, Arrow's own files, results of other databases."""

    def __init__(self, name: str, opened: Callable[[], Any], rows: int | None = None) -> None:
        self.name = name
        self._opened = opened
        self._rows = rows

    def schema(self) -> pa.Schema:
        """Return the names and types of the columns."""
        return self._opened().schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order, of all columns or of some."""
        for batch in self._opened():
            yield batch if columns is None else batch.select(list(columns))

    def rows(self) -> int | None:
        """Return how many rows there are."""
        return self._rows


class DuckSource(Source):
    """A table that DuckDB reads: a query over files, or over a database of its own."""

    def __init__(
        self,
        name: str,
        relation: str,
        files: Sequence[str] = (),
        query: str | None = None,
        database: str = ":memory:",
        frame: Any = None,
    ) -> None:
        self.name = name
        self._files = list(files)
        self._query = query
        duckdb = _duckdb()
        try:
            self._connection = duckdb.connect(database, read_only=database != ":memory:")
        except duckdb.Error as error:
            raise self._complaint(error) from None
        if frame is not None:
            self._connection.register("data", frame)
        elif relation:
            self._look_at(relation)

    def _look_at(self, relation: str) -> None:
        """Call a relation ``data``."""
        try:
            self._connection.sql(f"create or replace temp view data as select * from {relation}")
        except _duckdb().Error as error:
            raise self._complaint(error) from None

    def schema(self) -> pa.Schema:
        """Return the names and types of the columns."""
        return self._reader(f"select * from ({self._sql()}) limit 0").schema

    def _sql(self) -> str:
        return self._query.rstrip("; \n") if self._query else "from data"

    def _reader(self, sql: str) -> Any:
        try:
            relation = self._connection.sql(sql)
        except _duckdb().Error as error:
            raise self._complaint(error) from None
        if relation is None:
            raise TableError(f"the query {self._query!r} gives no rows: write a SELECT")
        return relation.to_arrow_reader(BATCH)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order, of all columns or of some."""
        names = "*" if columns is None else ", ".join('"' + each.replace('"', '""') + '"' for each in columns)
        done = 0
        reader = self._reader(f"select {names} from ({self._sql()})")
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except (OSError, _duckdb().Error) as error:  # Arrow hands DuckDB's errors on as its own
                if not self._mends(error):
                    raise self._complaint(error) from None
                reader = self._reader(f"select {names} from ({self._sql()}) offset {done}")
                continue
            done += batch.num_rows
            yield batch

    def _mends(self, error: Exception) -> bool:
        """Whether what went wrong will not again."""
        return False

    def rows(self) -> int | None:
        """Return how many rows there are, where that is known without reading them."""
        if self._query or not self._files or not self._files[0].endswith((".parquet", ".pq")):
            return None
        found = self._connection.sql(
            f"select sum(num_rows) from parquet_file_metadata({literal(self._files)})"
        ).fetchone()
        return int(found[0]) if found else None

    def _complaint(self, error: Exception) -> TableError:
        text = str(error)
        if self._query is not None and any(kind in text for kind in ("Parser Error", "Binder Error", "Catalog Error")):
            return TableError(f"the query cannot be run ({text.splitlines()[0]}): the table is called data in it")
        return TableError(f"{self.name} cannot be read ({text.splitlines()[0]})")


class TextSource(DuckSource):
    """Delimited text, as DuckDB reads it."""

    def __init__(
        self, name: str, files: Sequence[str], dialect: Dialect, query: str | None, strings: Sequence[str]
    ) -> None:
        self.missing = dialect.gaps
        self._dialect = dialect
        self._strings = strings
        self._gaps = sorted({gap for file in files[:8] for gap in first_gaps(file, dialect)})
        super().__init__(name, f"read_csv({dialect.arguments(files, strings, self._gaps)})", files, query)

    def _mends(self, error: Exception) -> bool:
        """Whether a gap was found that had not shown itself before."""
        gap = later_gap(error, self._dialect)
        if gap is None or gap in self._gaps:
            return False
        self._gaps.append(gap)
        self._look_at(f"read_csv({self._dialect.arguments(self._files, self._strings, self._gaps)})")
        return True

    def _complaint(self, error: Exception) -> TableError:
        found = super()._complaint(error)
        return found if "the query" in str(found) else complaint(error, self._files, self._dialect)


def open_table(table: Any, *, query: str | None = None, dialect: Dialect | None = None, strings: Any = ()) -> Source:
    """Return a table that can be streamed.

    Parameters
    ----------
    table
        A file (delimited text, Parquet, Arrow, JSON lines; text may be compressed), a folder or a glob of such files,
        "-" for standard input; "file.duckdb::name" or "file.sqlite::name" for a table of a database,
        "postgresql://...::name" too; a data frame of any library; or a source.
    query
        A SELECT over the table, which is called ``data`` in it; over a database, a SELECT over its tables.
    dialect
        How delimited text is written, where that must be said.
    strings
        Columns of delimited text to be read as they are written.

    Examples
    --------
    >>> import pandas as pd
    >>> source = open_table(pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    >>> [batch.num_rows for batch in source.batches()], source.schema().names
    ([2], ['a', 'b'])
    """
    if isinstance(table, Source):
        return table
    if isinstance(table, str | os.PathLike):
        return _open_location(os.fspath(table), query, dialect or Dialect(), list(strings))
    return _open_frame(table, query)


def _open_location(location: str, query: str | None, dialect: Dialect, strings: list[str]) -> Source:
    if location.startswith(("postgresql://", "postgres://")):
        return _open_postgres(location, query)
    if location == "-":
        location = _from_standard_input()
    path, _, inner = location.partition("::")
    files = _files(path)
    kind = _format(files[0])
    if kind == "database":
        return _open_database(files[0], inner, query)
    if inner:
        raise TableError(f"{location}: '::' goes before the name of a table in a database, which {path} is not")
    name = location if len(files) == 1 else f"{len(files)} files of {location}"
    if kind == "arrow":
        return _open_arrow(name, files, query)
    if kind == "parquet":
        return DuckSource(name, f"read_parquet({literal(files)})", files, query=query)
    if kind == "json":
        return DuckSource(name, f"read_json({literal(files)})", files, query=query)
    if all(Path(file).stat().st_size == 0 for file in files):
        raise TableError(f"{name} is empty: there is nothing to learn from")
    return TextSource(name, files, dialect, query, strings)


def _files(path: str) -> list[str]:
    """Return the files that a path, a folder or a glob stands for."""
    place = Path(path)
    if place.is_dir():
        found = sorted(str(file) for file in place.iterdir() if file.is_file() and _format(str(file), None))
        if not found:
            raise TableError(f"{path} is a folder without tables (.csv, .parquet, .arrow, .jsonl ...): name another")
    elif place.exists():
        return [path]
    else:
        found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  (the path may be absolute)
        if not found:
            raise FileNotFoundError(f"there is no file {path}: check its name and folder")
    kinds = {_format(file) for file in found}
    if len(kinds) > 1:
        raise TableError(
            f"{path} holds tables of several formats ({', '.join(sorted(map(str, kinds)))}): name one, as *.csv"
        )
    return found


def _format(file: str, otherwise: str | None = "csv") -> str | None:
    """Return which format a file's name says it has."""
    path = Path(file)
    suffix = Path(path.stem).suffix if path.suffix.lower() in _COMPRESSED else path.suffix
    return _FORMATS.get(suffix.lower(), otherwise)


def _open_frame(table: Any, query: str | None) -> Source:
    frame = _arrow_table(table)
    if query:
        return DuckSource("the data frame", "", query=query, frame=frame)
    return ArrowSource("the data frame", lambda: frame.to_reader(BATCH), frame.num_rows)


def _arrow_table(table: Any) -> Any:
    pa = arrow()
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, dict):
        return pa.table(table)
    if isinstance(table, list) and table and all(isinstance(row, dict) for row in table):
        return pa.Table.from_pylist(table)
    import narwhals as nw

    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return frame.to_arrow()
    if hasattr(table, "__arrow_c_stream__"):
        return pa.table(table)
    raise TypeError(f"a table is a file, a folder, a database or a data frame; got {type(table).__name__}")


def _open_arrow(name: str, files: list[str], query: str | None) -> Source:
    arrow()
    import pyarrow.dataset as ds

    try:
        data = ds.dataset(files, format="feather")
        rows = data.count_rows()
    except (OSError, ValueError) as error:
        raise TableError(f"{name} is no Arrow file, or a damaged one ({error})") from None
    if query:
        return DuckSource(name, "", query=query, frame=data)
    return ArrowSource(name, lambda: data.scanner(batch_size=BATCH).to_reader(), rows)


def _open_database(file: str, table: str, query: str | None) -> Source:
    with Path(file).open("rb") as opened:
        start = opened.read(16)
    if start.startswith(b"SQLite format 3"):
        from suffice.tables.sqlite import SqliteSource

        return SqliteSource(file, table, query)
    source = DuckSource(f"{file}::{table}" if table else file, "", query=query or "select 1", database=file)
    if query:
        return source
    tables = "select table_name from duckdb_tables() union select view_name from duckdb_views() where not internal"
    names = [row[0] for row in source._connection.sql(tables).fetchall()]
    source._query = f"from {quoted_table(file, table, names)}"
    return source


def quoted_table(file: str, table: str, names: Sequence[str]) -> str:
    """Return a table's name as SQL writes it: the one that is asked for, or the only one."""
    if not table and len(names) == 1:
        table = names[0]
    if table not in names:
        have = f"it has {listed(sorted(names))}" if names else "it has none"
        asked = f"{file} has no table {table!r}" if table else f"{file} is a database: say which table"
        raise TableError(f"{asked}; {have}; write {file}::name")
    return '"' + table.replace('"', '""') + '"'


def _open_postgres(location: str, query: str | None) -> Source:
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise MissingExtraError("PostgreSQL needs a driver: pip install 'suffice[postgres]'") from None
    address, _, table = location.partition("::")
    if not table and not query:
        raise TableError("say which table of the database, as postgresql://...::name, or give a query")
    sql = query or 'select * from "' + table.replace('"', '""') + '"'

    def opened() -> Any:
        try:
            cursor = dbapi.connect(address).cursor()
            cursor.execute(sql)
            return cursor.fetch_record_batch()
        except dbapi.Error as error:
            raise TableError(f"the database says: {str(error).strip().splitlines()[0]}") from None

    return ArrowSource(table or "the query", opened)


_STARTS = ((b"PAR1", ".parquet"), (b"ARROW1", ".arrow"), (b"\x1f\x8b", ".csv.gz"), (b"\x28\xb5\x2f\xfd", ".csv.zst"))


def _from_standard_input() -> str:
    """Return a temporary file with all that standard input holds: it is read more than once."""
    if sys.stdin is None or sys.stdin.isatty():
        raise TableError("standard input is a terminal: pipe a table into it, or name a file")
    start = sys.stdin.buffer.read(16)
    if not start:
        raise TableError("standard input is empty: there is nothing to learn from")
    suffix = next((suffix for magic, suffix in _STARTS if start.startswith(magic)), ".csv")
    if suffix == ".csv" and start.lstrip()[:1] in (b"{", b"["):
        suffix = ".jsonl"
    handle, path = tempfile.mkstemp(prefix="suffice-", suffix=suffix)
    atexit.register(_remove, path)
    with os.fdopen(handle, "wb") as file:
        file.write(start)
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    return path


def _remove(path: str) -> None:
    with suppress(OSError):
        Path(path).unlink()


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("reading this table needs DuckDB: pip install 'suffice[tables]'") from None
    return duckdb


def arrow() -> Any:
    """Return pyarrow, or say how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("reading tables needs Arrow: pip install 'suffice[tables]'") from None
    return pyarrow

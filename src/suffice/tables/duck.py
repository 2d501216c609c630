"""Tables that DuckDB reads: files of many formats, databases of its own, queries over both."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suffice.kernels.sql.dialect import quoted
from suffice.tables.csv import (
    READ,
    Dialect,
    complaint,
    encoding_of_text,
    escaped_line_end,
    first_gaps,
    first_text,
    later_gap,
    literal,
    ragged_line,
)
from suffice.tables.databases import DuckDatabase
from suffice.tables.errors import MissingExtraError, TableError
from suffice.tables.source import BATCH, Source

if TYPE_CHECKING:
    import pyarrow as pa

#: Whole numbers up to this are exact as any number.
_EXACT = 2**53
_ANONYMOUS = re.compile(r"column\d+")


@cache
def _instance(process: int) -> Any:
    """Return the instance of DuckDB that all tables of a process share, as long as each has a connection of its own.

    To start one takes longer than to read a small file. Its threads do not survive a fork: a process has its own, and
    does not close that of its parent, which would wait for these threads. It keeps nothing of files, which may change
    before they are read again.
    """
    connection = _duckdb().connect()
    connection.sql("set autoinstall_known_extensions = false")
    connection.sql("set enable_external_file_cache = false")
    return connection


#: The file systems of fsspec that DuckDB reads URLs by, by process and scheme.
_file_systems: dict[tuple[int, str], Any] = {}


def _register(connection: Any, file_system: Any) -> None:
    """Let DuckDB read URLs by a file system of fsspec, in the place of one with other settings."""
    scheme = file_system.protocol if isinstance(file_system.protocol, str) else file_system.protocol[0]
    key = os.getpid(), scheme
    if _file_systems.get(key) is file_system:
        return
    if connection.filesystem_is_registered(scheme):
        connection.unregister_filesystem(scheme)
    connection.register_filesystem(file_system)
    _file_systems[key] = file_system


class DuckSource(Source):
    """A table that DuckDB reads: a query over files, or over a database of its own.

    Parameters
    ----------
    name
        What it is called in messages.
    relation
        What is read, in SQL, and called ``data``.
    files
        The files of the relation.
    query
        A SELECT over ``data``, or over the tables of the database.
    database
        A file of DuckDB's own.
    frame
        What is called ``data`` in the place of a relation: a table or a dataset of Arrow.
    file_system
        What reads the files, where they are URLs.
    hidden
        Columns of the relation that are not columns of the table.
    """

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
            # Setting it fails in Jupyter where ipywidgets is missing, even if there is no bar to be switched off.
            if self.connection.sql("select current_setting('enable_progress_bar')").fetchall()[0][0]:
                self.connection.sql("set enable_progress_bar = false")
        except duckdb.Error as error:
            raise self._complaint(error) from None
        if file_system is not None:
            _register(self.connection, file_system)
        if frame is not None:
            self.connection.register("data", frame)
        elif relation:
            self._look_at(relation)
        if not query and self._files and self._files[0].endswith((".parquet", ".pq")):
            counted = f"select sum(num_rows) from parquet_file_metadata({literal(self._files)})"
            self._rows = int(self.connection.sql(counted).fetchall()[0][0])

    def _look_at(self, relation: str) -> None:
        """Call a relation ``data``, without the columns that are hidden."""
        columns = f"* exclude ({', '.join(map(quoted, self._hidden))})" if self._hidden else "*"
        try:
            self.connection.sql(f"create or replace temp view data as select {columns} from {relation}")
        except _duckdb().Error as error:
            raise self._complaint(error) from None

    def columns_by_file(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the columns of each of several files."""
        for file in self._files if len(self._files) > 1 and not self._query else ():
            yield file, self.connection.sql(f"select * from {self._one(file)} limit 0").columns

    def _one(self, file: str) -> str:
        """Return what one of the files holds, in SQL."""
        return self._relation.replace(literal(self._files), literal([file]))

    def ask(self, query: str) -> None:
        """Read what a query gives."""
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
            raise self._complaint(error) from None

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in their order, of all columns or of some."""
        names = "*" if columns is None else ", ".join(map(quoted, columns))
        return self.streamed(f"select {names} from ({self._sql()}\n)")

    def streamed(self, sql: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows that a query over the table gives, in their order."""
        done = 0
        while True:
            rest = f" offset {done}" if done else ""  # which would keep DuckDB to one thread
            with self._reader(f"{sql}{rest}") as reader:
                try:
                    for batch in reader:
                        done += batch.num_rows
                        yield batch
                    return
                except (OSError, _duckdb().Error) as error:  # Arrow hands DuckDB's errors on as its own
                    failure = error
            if not self._mends(failure):
                raise self._complaint(failure) from None

    def _mends(self, error: Exception) -> bool:
        """Whether what went wrong will not again."""
        return False

    def rows(self) -> int | None:
        """Return how many rows there are, where that is known without reading them."""
        return self._rows

    def counted(self) -> None:
        """Find out how many rows a table of DuckDB's own has."""
        ((self._rows,),) = self.asked(f"select count(*) from ({self._sql()}\n)")

    def database(self) -> DuckDatabase:
        """Return DuckDB, which can sum the rows where they lie."""
        return DuckDatabase(self.asked, self.streamed, self._sql())

    def asked(self, sql: str, arrow: bool = False) -> Any:
        """Return what a query over the table gives: rows, or an Arrow table."""
        while True:
            try:
                found = self.connection.sql(sql)
                return found.to_arrow_table() if arrow else found.fetchall()
            except (OSError, _duckdb().Error) as error:
                if "INTERRUPT" in str(error):
                    raise KeyboardInterrupt from None
                if not self._mends(error):
                    raise self._complaint(error) from None

    def _complaint(self, error: Exception) -> TableError:
        text = str(error).strip()
        first = text.splitlines()[0] if text else type(error).__name__
        if self._query is not None and any(kind in text for kind in ("Parser Error", "Binder Error", "Catalog Error")):
            called = "" if self._database != ":memory:" else ": the table is called data in it"
            return TableError(f"the query cannot be run ({first}){called}")
        return TableError(f"{self.name} cannot be read ({first})")


class TextSource(DuckSource):
    """Delimited text, as DuckDB reads it."""

    def __init__(
        self,
        name: str,
        files: Sequence[str],
        dialect: Dialect,
        query: str | None,
        strings: Sequence[str],
        partitions: Sequence[str] = (),
        hidden: Sequence[str] = (),
    ) -> None:
        self.missing = dialect.gaps
        encoding = encoding_of_text(files[0], dialect)
        if encoding != dialect.encoding:
            dialect = replace(dialect, encoding=encoding)
        if dialect.codec not in READ:
            files, dialect = self._in_another_encoding(files, dialect)
        self._dialect = dialect
        self._gaps = sorted({gap for file in files[:8] for gap in first_gaps(file, dialect)})
        self._types = dict.fromkeys((name for name in strings if name not in partitions), "VARCHAR")
        self._found: dict[str, Any] | None = None
        self._partitions = list(partitions)  # columns that the names of folders hold
        super().__init__(name, "", files, query, hidden=hidden)
        self._settle()

    def _settle(self) -> None:
        """Find out once how the text is written, and what its columns hold.

        Whole numbers are read as any numbers: one of them may have a fraction further down, which would be rounded.
        """
        if len(self._files) == 1:
            self._found = self._sniffed()
        self._look_again()
        found = self.connection.sql("from data")
        types = {name: str(kind) for name, kind in zip(found.columns, found.types, strict=True)}
        names = [name for name in types if name not in self._partitions]
        if self._files[0].endswith(".zst") and names == ["column0"]:  # DuckDB stops at the break without a word
            raise TableError(f"{self._files[0]} is no zstd file, or a damaged one: write it anew")
        ragged = ragged_line(self._suspects(names), self._dialect)
        if ragged is not None:
            raise TableError(self._named(ragged))
        self._types = {name: kind for name, kind in self._types.items() if name in names}
        whole = [name for name in names if types[name] == "BIGINT" and name not in self._types]
        if whole:
            largest = ", ".join(f"max(abs({quoted(name)}::HUGEINT))" for name in whole)
            try:
                (most,) = self.connection.sql(f"select {largest} from (from data limit 20000)").fetchall()
            except _duckdb().Error:
                most = (None,) * len(whole)
            exact = [name for name, value in zip(whole, most, strict=True) if value is None or value <= _EXACT]
            self.whole = frozenset(exact)
            self._types.update(dict.fromkeys(exact, "DOUBLE"))
        if self._types:
            self._look_again()

    def _suspects(self, names: Sequence[str]) -> Sequence[str]:
        """Return the files in which DuckDB may have passed over lines, or a header, because another line is ragged."""
        anonymous = sum(_ANONYMOUS.fullmatch(name) is not None for name in names)
        if len(names) == 1 or anonymous == len(names):
            return self._files[:1]
        return self._files if anonymous and len(self._files) > 1 else ()

    def read_as_written(self, columns: Iterable[str]) -> None:
        """Read columns as the strings that they are written as; a query keeps what it was written for."""
        names = set() if self._query else set(self.connection.sql("from data").columns) - set(self._partitions)
        wanted = [name for name in columns if name in names and self._types.get(name) != "VARCHAR"]
        if wanted:
            self._types.update(dict.fromkeys(wanted, "VARCHAR"))
            self.whole -= frozenset(wanted)
            self._look_again()

    def _sniffed(self) -> dict[str, Any]:
        """Return how DuckDB would read a file, in the words of ``read_csv``."""
        try:
            found = self.connection.sql(f"from sniff_csv({self._dialect.arguments(self._files, {}, self._gaps)})")
            (row,) = found.fetchall()
        except _duckdb().Error as error:
            raise self._complaint(error) from None
        values: list[Any] = [None if value == "(empty)" else value for value in row]
        seen = dict(zip(found.columns, values, strict=True))
        return {
            "delim": seen["Delimiter"],
            "quote": seen["Quote"] or '"',  # the first quote may be further down
            "escape": seen["Escape"] or '"',
            "comment": seen["Comment"],
            "skip": seen["SkipRows"],
            "header": seen["HasHeader"],
            "columns": {column["name"]: column["type"] for column in seen["Columns"]},
            "new_line": escaped_line_end(self._files[0], self._dialect.codec),
            "dateformat": seen["DateFormat"],
            "timestampformat": seen["TimestampFormat"],
        }

    def _one(self, file: str) -> str:
        """Return what one of the files holds, in SQL."""
        return f"read_csv({self._dialect.arguments([file], {}, self._gaps)})"

    def _look_again(self) -> None:
        """Have the text read as it was found to be written."""
        hive = f"hive_partitioning = {literal(bool(self._partitions))}"
        if self._found is None:
            self._look_at(f"read_csv({self._dialect.arguments(self._files, self._types, self._gaps)}, {hive})")
            return
        found = {**self._found, "columns": {**self._found["columns"], **self._types}, "nullstr": ["", *self._gaps]}
        if self._dialect.codec != "utf-8":
            found["encoding"] = self._dialect.codec
        given = [f"{name} = {literal(value)}" for name, value in found.items() if value is not None]
        self._look_at(f"read_csv({', '.join([literal(self._files), 'auto_detect = false', hive, *given])})")

    def _in_another_encoding(self, files: Sequence[str], dialect: Dialect) -> tuple[list[str], Dialect]:
        """Return copies of files that DuckDB can read."""
        folder = tempfile.mkdtemp(prefix="suffice-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        copies = []
        for number, file in enumerate(files):
            if file.endswith((".gz", ".zst")):
                raise TableError(f"{file} is compressed and written in {dialect.encoding}: write it anew in utf-8")
            copy = Path(folder, *(part for part in Path(file).parts[:-1] if "=" in part), f"{number}.csv")
            copy.parent.mkdir(parents=True, exist_ok=True)
            try:
                with Path(file).open(encoding=dialect.codec, newline="") as read, copy.open("w", newline="") as write:
                    while text := read.read(1 << 20):
                        write.write(text)
            except UnicodeError as error:
                raise TableError(f"{file} is not written in {dialect.encoding} ({error}): give its encoding") from None
            copies.append(str(copy))
        return copies, Dialect(dialect.delimiter, dialect.header, "utf-8", dialect.missing)

    def rows(self) -> int | None:
        """Return about how many rows there are, by the length of the first lines; None where files are compressed."""
        if self._query or any(file.endswith((".gz", ".zst")) for file in self._files):
            return None
        text = first_text(self._files[0], self._dialect.codec)
        if not text or "\n" not in text:
            return None
        length = len(text.encode(self._dialect.codec)) / max(text.count("\n"), 1)
        return round(sum(Path(file).stat().st_size for file in self._files) / length)

    def _mends(self, error: Exception) -> bool:
        """Whether a gap was found that had not shown itself before."""
        gap = later_gap(error, self._dialect)
        if gap is None or gap in self._gaps:
            return False
        self._gaps.append(gap)
        self._look_again()
        return True

    def _complaint(self, error: Exception) -> TableError:
        found = super()._complaint(error)
        if "the query" in str(found):
            return found
        return TableError(self._named(str(complaint(error, self._files, self._dialect))))

    def _named(self, sentence: str) -> str:
        """Return a sentence about a file with the name that the user has for it."""
        return sentence.replace(self._files[0], self.name) if len(self._files) == 1 else sentence


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("reading this table needs DuckDB: pip install 'suffice[tables]'") from None
    return duckdb

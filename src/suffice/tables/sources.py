"""Any table as a stream of Arrow batches: files, folders, globs, databases, queries, data frames, standard input."""

from __future__ import annotations

import atexit
import glob
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from suffice.kernels.sql.dialect import name_parts, quoted
from suffice.tables.csv import Dialect, literal
from suffice.tables.duck import DuckSource, TextSource
from suffice.tables.errors import TableError, UsageError, listed, masked, nearest
from suffice.tables.source import BATCH, ArrowSource, Source, arrow
from suffice.user_warnings import warn_user

_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".data"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3"), "database"),
}
_COMPRESSED = (".gz", ".zst")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):(//?)", re.IGNORECASE)  # one letter before the colon is a drive

#: A cluster's data frame with more cells than this (0.8 GB of numbers) is not fetched without being asked to.
MOST_CELLS = 100_000_000


class FetchWarning(UserWarning):
    """Rows of a cluster were fetched to this machine."""


def open_table(
    table: Any,
    *,
    query: str | None = None,
    dialect: Dialect | None = None,
    strings: Any = (),
    collect: bool = False,
) -> Source:
    """Return a table that can be streamed.

    Parameters
    ----------
    table
        A file (delimited text, Parquet, Arrow, JSON lines; text may be compressed), a folder or a glob of such files,
        "-" for standard input; "file.duckdb::name" or "file.sqlite::name" for a table of a database,
        "postgresql://...::name" too; a data frame of any library; or a source. Rows of Dask's and Spark's data frames
        are fetched, with a :class:`FetchWarning` that says how many.
    query
        A SELECT over the table, which is called ``data`` in it; over a database, a SELECT over its tables.
    dialect
        How delimited text is written, where that must be said.
    strings
        Columns of delimited text to be read as they are written.
    collect
        Whether a cluster's data frame may be fetched whatever its size, and without a warning; otherwise, more than
        100 million cells are refused.

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
    return _open_frame(table, query, collect)


def _open_location(location: str, query: str | None, dialect: Dialect, strings: list[str]) -> Source:
    scheme = _SCHEME.match(location)
    if scheme is not None and not Path(location).exists():
        if scheme.group(1).casefold() in ("postgresql", "postgres") and scheme.group(2) == "//":
            from suffice.tables.postgres import PostgresSource

            return PostgresSource(scheme.group(1).casefold() + location[scheme.end(1) :], query)
        raise UsageError(
            f"{masked(location)} is neither a file nor a database that can be read: write postgresql://...::name for "
            f"PostgreSQL, and fetch files first{nearest(scheme.group(1), ['postgresql'])}"
        )
    name = None
    if location == "-":
        location, name = _from_standard_input(), "standard input"
    path, _, inner = location.partition("::")
    files = _files(path)
    kind = _format(files[0])
    if kind == "database":
        if len(files) > 1:
            raise TableError(f"{path} holds {len(files)} databases: name one")
        return _open_database(files[0], inner, query)
    if inner:
        raise TableError(f"{location}: '::' goes before the name of a table in a database, which {path} is not")
    name = name or (location if len(files) == 1 else f"{len(files)} files of {location}")
    if kind == "arrow":
        return _open_arrow(name, files, query)
    if kind == "parquet":
        return DuckSource(name, f"read_parquet({literal(files)}, union_by_name = true)", files, query=query)
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
        plain = [file for file in found if not file.endswith((".txt", ".data"))]
        found = plain or found  # notes beside tables are no tables
        if not found:
            raise TableError(f"{path} is a folder without tables (.csv, .parquet, .arrow, .jsonl ...): name another")
    elif place.exists():
        return [path]
    else:
        found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  (the path may be absolute)
        if not found:
            raise FileNotFoundError(f"there is no file {masked(path)}: check its name and folder")
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


def _open_frame(table: Any, query: str | None, collect: bool) -> Source:
    pa = arrow()
    try:
        frame = _arrow_table(table, collect)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TableError(f"the table cannot be read ({str(error).splitlines()[0]})") from None
    repeated = sorted({name for name in frame.schema.names if frame.schema.names.count(name) > 1})
    if repeated:
        raise TableError(f"there are several columns called {repeated[0]!r}: rename them")
    if query:
        return DuckSource("the data frame", "", query=query, frame=frame)
    return ArrowSource("the data frame", lambda: frame.to_reader(BATCH), frame.num_rows)


def _arrow_table(table: Any, collect: bool) -> Any:
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

    if nw.dependencies.is_pandas_dataframe(table):
        return _of_pandas(table)
    frame = nw.from_native(table, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        if not collect:
            _check_fetchable(frame, type(table))
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return frame.to_arrow()
    if hasattr(table, "__arrow_c_stream__") and not nw.dependencies.is_into_series(table):
        return pa.table(table)
    raise TypeError(f"a table is a file, a folder, a database or a data frame; got {type(table).__name__}")


def _check_fetchable(frame: Any, kind: type) -> None:
    """Say how much of a cluster's data frame is fetched, and refuse where that is much."""
    library = {"dask": "Dask", "pyspark": "Spark", "sqlframe": "Spark"}.get(kind.__module__.partition(".")[0])
    if library is None:
        return
    import narwhals as nw

    columns = len(frame.collect_schema().names())
    rows = int(frame.select(nw.len()).collect().item())
    size = f"{rows:,} rows of {columns} columns, {rows * columns:,} cells"
    if rows * columns > MOST_CELLS:
        raise TableError(
            f"the data frame of {library} holds {size}, and a cluster's table is fetched to this machine up to "
            f"{MOST_CELLS:,} cells. Give collect=True (suffice.fit, open_table) if there is the memory for it; write "
            "it to Parquet and give the folder, which is read in batches; or use a model that is summed where the rows "
            "are, such as suffice.MixedNB().fit(frame, 'target')"
        )
    warn_user(
        f"{size}, are fetched from {library} to this machine; collect=True (suffice.fit, open_table) does so without "
        "this warning, and models such as suffice.MixedNB are fitted where the rows are",
        FetchWarning,
    )


def _of_pandas(frame: Any) -> Any:
    """Return a pandas frame without its index; columns of mixed types as they are written."""
    pa = arrow()
    repeated = [str(name) for name in frame.columns[frame.columns.duplicated()]]
    if repeated:
        raise TableError(f"there are several columns called {repeated[0]!r}: rename them")
    columns = {}
    for name in frame.columns:
        try:
            columns[str(name)] = pa.Array.from_pandas(frame[name])
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            cells = [None if gap else str(cell) for cell, gap in zip(frame[name], frame[name].isna(), strict=True)]
            columns[str(name)] = pa.array(cells, type=pa.string())
    return pa.table(columns)


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
    tables = (
        "select schema_name, table_name from duckdb_tables() where not internal union "
        "select schema_name, view_name from duckdb_views() where not internal"
    )
    paths = {
        inner if schema == "main" else f"{schema}.{inner}": f"{quoted(schema)}.{quoted(inner)}"
        for schema, inner in source.connection.sql(tables).fetchall()
    }
    asked = table if table in paths else ".".join(name_parts(table)).removeprefix("main.")
    source.ask(f"from {paths[found_table(file, asked, list(paths))]}")
    source.counted()
    return source


def found_table(file: str, table: str, names: Sequence[str]) -> str:
    """Return a table's name: the one that is asked for, or the only one."""
    if not table and len(names) == 1:
        table = names[0]
    if table not in names:
        have = f"it has {listed(sorted(names))}" if names else "it has none"
        asked = f"{file} has no table {table!r}" if table else f"{file} is a database: say which table"
        raise TableError(f"{asked}; {have}; write {file}::name")
    return table


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
    atexit.register(Path(path).unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as file:
        file.write(start)
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    return path

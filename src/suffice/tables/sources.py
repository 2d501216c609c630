"""Any table as a stream of Arrow batches: files, folders, URLs, databases, queries, data frames, standard input."""

from __future__ import annotations

import atexit
import glob
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from suffice.data.spill import Spill
from suffice.data.stream import SpillWarning, numbered
from suffice.kernels.sql.dialect import name_parts, quoted
from suffice.object_store import DRIVERS, SCHEMES, RemotePath, local_path, remote_path, scheme_of
from suffice.tables.csv import Dialect, literal
from suffice.tables.duck import DuckSource, TextSource
from suffice.tables.errors import TableError, UsageError, listed, masked, nearest
from suffice.tables.source import BATCH, ArrowSource, Source, arrow
from suffice.user_warnings import warn_user

_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".data"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3"), "database"),
}
_COMPRESSED = (".gz", ".zst")

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
        A file (delimited text, Parquet, Arrow, JSON lines; text may be compressed), a folder, a glob or a list of such
        files, where folders called ``column=value`` are columns (Hive partitions); a URL of them (``s3://``, ``gs://``,
        ``file://``); "-" for standard input; "file.duckdb::name" or "file.sqlite::name" for a table of a database,
        "postgresql://...::name" too; a data frame of any library, a lazy frame of Polars, a dataset of pyarrow; or a
        source. An iterator over data frames or batches of Arrow is kept, in a temporary file where it is large; a
        function that returns such an iterator is called for each pass. Rows of Dask's and Spark's data frames are
        fetched, with a :class:`FetchWarning` that says how many.
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
    how = _How(query, dialect or Dialect(), list(strings))
    if isinstance(table, str | os.PathLike):
        return _open_location(os.fspath(table), how)
    if isinstance(table, list | tuple) and table and all(isinstance(each, str | os.PathLike) for each in table):
        return _open_list([os.fspath(each) for each in table], how)
    return _open_frame(table, query, collect)


@dataclass(frozen=True)
class _How:
    """How files are read."""

    query: str | None
    dialect: Dialect
    strings: list[str]


def _open_location(location: str, how: _How) -> Source:
    if not location:
        raise UsageError("the name of the table is empty: name a file, a folder or a URL")
    scheme = scheme_of(location)
    if scheme is not None and not Path(location).exists():
        if scheme in ("postgresql", "postgres") and location[len(scheme) :].startswith("://"):
            from suffice.tables.postgres import PostgresSource

            return PostgresSource(scheme + location[len(scheme) :], how.query)
        if scheme in DRIVERS:
            return _open_remote([location], how)
        if scheme != "file":
            raise UsageError(
                f"{masked(location)} is neither a file nor a database that can be read: write postgresql://...::name "
                f"for PostgreSQL, {SCHEMES} for files, and fetch others first"
                f"{nearest(scheme, ['postgresql', 's3', 'gs', 'file', 'memory'])}"
            )
        location = local_path(location)
    name = None
    if location == "-":
        location, name = _from_standard_input(), "standard input"
    path, _, inner = location.partition("::")
    files = _files(path)
    if _format(files[0]) == "database":
        if len(files) > 1:
            raise TableError(f"{path} holds {len(files)} databases: name one")
        return _open_database(files[0], inner, how.query)
    if inner:
        raise TableError(f"{location}: '::' goes before the name of a table in a database, which {path} is not")
    name = name or (location if len(files) == 1 else f"{len(files)} files of {location}")
    return _open_files(name, files, how, path if Path(path).is_dir() else "")


def _open_list(locations: list[str], how: _How) -> Source:
    """Open several files as one table."""
    if len(locations) == 1:
        return _open_location(locations[0], how)
    if any(scheme_of(each) in DRIVERS for each in locations):
        return _open_remote(locations, how)
    files = [file for each in locations for file in _files(local_path(each))]
    kinds = _kinds(f"the list of {len(files)} files", files)
    if "database" in kinds:
        raise TableError(f"{files[0]} is a database: name one, and its table, as {files[0]}::name")
    return _open_files(f"{len(files)} files from {files[0]}", files, how)


def _open_files(name: str, files: list[str], how: _How, folder: str = "") -> Source:
    """Open files of one format; folders below ``folder`` that are called ``column=value`` are columns."""
    partitions = _partitions(files, folder)
    hidden = _hidden(folder, partitions)
    kind = _format(files[0])
    if kind == "arrow":
        return _open_arrow(name, files, how.query, partitions, folder)
    if kind == "csv":
        if all(Path(file).stat().st_size == 0 for file in files):
            raise TableError(f"{name} is empty: there is nothing to learn from")
        return TextSource(name, files, how.dialect, how.query, how.strings, partitions, hidden)
    return DuckSource(name, _relation(files, partitions), files, query=how.query, hidden=hidden)


def _relation(files: list[str], partitions: Sequence[str]) -> str:
    """Return what files of Parquet or JSON lines hold, in SQL."""
    function, union = ("read_json", "") if _format(files[0]) == "json" else ("read_parquet", ", union_by_name = true")
    return f"{function}({literal(files)}{union}, hive_partitioning = {literal(bool(partitions))})"


def _hidden(folder: str, partitions: Sequence[str]) -> list[str]:
    """Return the columns that folders above a folder stand for, which are none of the table in it."""
    return [key for key in _keys(Path(folder).parts) if key not in partitions] if partitions else []


def _keys(parts: Sequence[str]) -> list[str]:
    """Return the columns that folders called ``column=value`` stand for."""
    return [part.partition("=")[0] for part in parts if part.partition("=")[0] and "=" in part]


def _partitions(files: Sequence[str], folder: str) -> list[str]:
    """Return the columns that the folders of files stand for, which must be the same for all."""
    found: dict[tuple[str, ...], str] = {}
    for file in files:
        below = PurePosixPath(Path(file).as_posix().removeprefix(Path(folder).as_posix()) if folder else file)
        found.setdefault(tuple(_keys(below.parent.parts)), file)
    if len(found) > 1:
        (one, first), (two, other) = list(found.items())[:2]
        raise TableError(
            f"{first} has {_said(one)} and {other} has {_said(two)}: all files of a partitioned table lie in folders "
            "of the same columns; name those that go together, as folder/year=*/*.parquet"
        )
    return list(next(iter(found)))


def _said(keys: Sequence[str]) -> str:
    return f"the partition{'s' * (len(keys) > 1)} {listed(keys)}" if keys else "no partitions"


def _files(path: str) -> list[str]:
    """Return the files that a path, a folder or a glob stands for."""
    place = Path(path)
    if place.is_dir():
        found = _tables(path, _files_below(place))
    elif place.exists():
        return [path]
    else:
        found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  (the path may be absolute)
        if not found:
            raise FileNotFoundError(f"there is no file {masked(path)}: check its name and folder")
    _kinds(path, found)
    return found


def _files_below(folder: Path) -> Iterator[str]:
    """Yield the files of a folder, and of folders in it that are called ``column=value``."""
    for each in sorted(folder.iterdir()):
        if each.is_file():
            yield str(each)
        elif _keys([each.name]) and each.is_dir():
            yield from _files_below(each)


def _tables(path: str, files: Iterator[str]) -> list[str]:
    """Return those of the files of a folder that are tables."""
    found = [file for file in files if _format(file, None) and not PurePosixPath(file).name.startswith(("_", "."))]
    plain = [file for file in found if not file.endswith((".txt", ".data"))]
    found = plain or found  # notes beside tables are no tables
    if not found:
        raise TableError(f"{path} is a folder without tables (.csv, .parquet, .arrow, .jsonl ...): name another")
    return found


def _kinds(path: str, files: Sequence[str]) -> set[str | None]:
    """Return the only format of files; raise where there are several."""
    kinds = {_format(file) for file in files}
    if len(kinds) > 1:
        raise TableError(
            f"{path} holds tables of several formats ({', '.join(sorted(map(str, kinds)))}): name one, as *.csv"
        )
    return kinds


def _open_remote(locations: list[str], how: _How) -> Source:
    """Open files of an object store: Parquet is read where it is, and others are copied to this machine."""
    url, _, inner = locations[0].partition("::")
    places = [_remote(each.partition("::")[0]) for each in locations]
    if any(place.files is not places[0].files for place in places):
        raise UsageError(f"{listed(locations)} lie in several object stores: name files of one")
    files, folder = [], ""
    for place in places:
        found, folder = _remote_files(place)
        files += found
    folder = folder if len(places) == 1 else ""
    name = url if len(files) == 1 else f"{len(files)} files of {url}"
    if _kinds(name, files) == {"parquet"} and not inner:
        partitions = _partitions(files, folder)
        urls = [places[0].url_of(file) for file in files]
        system, hidden = places[0].files, _hidden(folder, partitions)
        return DuckSource(name, _relation(urls, partitions), urls, how.query, file_system=system, hidden=hidden)
    copies = tempfile.mkdtemp(prefix="suffice-")
    try:
        copied = _copied(places[0], files, folder, copies)
        if inner or (len(copied) == 1 and not folder):
            source = _open_location(copied[0] + (f"::{inner}" if inner else ""), how)
        else:
            source = _open_files(name, copied, how, copies if folder else "")
    except BaseException as error:
        shutil.rmtree(copies, ignore_errors=True)
        if isinstance(error, TableError):
            raise type(error)(str(error).replace(copies, url)) from None
        raise
    weakref.finalize(source, shutil.rmtree, copies, ignore_errors=True)
    source.name = name + (f"::{inner}" if inner else "")
    return source


def _remote(url: str) -> RemotePath:
    found = remote_path(url)
    if found is None:
        raise UsageError(f"{url} is on this machine, and other files of the list are in an object store: name one kind")
    return found


def _remote_files(place: RemotePath) -> tuple[list[str], str]:
    """Return the tables that a URL stands for, as its file system spells them, and the folder, if it is one."""
    files = place.find()
    if not files:
        raise FileNotFoundError(f"there is no file {place.url}: check its name and folder")
    if files == [place.path] or any(mark in place.path for mark in "*?["):
        return files, ""
    depth = len(PurePosixPath(place.path).parts)
    below = (file for file in files if all(_keys([part]) for part in PurePosixPath(file).parent.parts[depth:]))
    return _tables(place.url, below), place.path


def _copied(place: RemotePath, files: Sequence[str], folder: str, to: str) -> list[str]:
    """Copy files to a folder of this machine, in folders of the same names; return the copies."""
    strange = next((file for file in files if ".." in PurePosixPath(file).parts), None)
    if strange is not None:  # it would be written elsewhere
        raise TableError(f"{place.url_of(strange)} has '..' in its name: copy it to another name")
    copies = [Path(to, file.removeprefix(folder).lstrip("/")) for file in files]
    for file, copy in zip(files, copies, strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        place.fetch(file, str(copy))
    return list(map(str, copies))


def _format(file: str, otherwise: str | None = "csv") -> str | None:
    """Return which format a file's name says it has."""
    path = Path(file)
    suffix = Path(path.stem).suffix if path.suffix.lower() in _COMPRESSED else path.suffix
    return _FORMATS.get(suffix.lower(), otherwise)


def _open_frame(table: Any, query: str | None, collect: bool) -> Source:
    pa = arrow()
    opened = _open_batches(table) if query is None else None
    if opened is not None:
        return opened
    data = _arrow_dataset(table)
    if data is not None:
        return _of_dataset("the dataset", data, query)
    try:
        frame = _arrow_table(_gathered(table), collect)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TableError(f"the table cannot be read ({str(error).splitlines()[0]})") from None
    _check_names(frame.schema.names)
    if query:
        return DuckSource("the data frame", "", query=query, frame=frame)
    return ArrowSource("the data frame", lambda: frame.to_reader(BATCH), frame.num_rows)


def _check_names(names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise TableError(f"there are several columns called {repeated[0]!r}: rename them")


def _arrow_dataset(table: Any) -> Any:
    """Return a dataset of pyarrow; None for anything else."""
    module = sys.modules.get("pyarrow.dataset")  # whoever has one has imported it
    return table if module is not None and isinstance(table, module.Dataset) else None


def _open_batches(table: Any) -> Source | None:
    """Open data frames that come one after another; None for anything else."""
    if isinstance(table, Iterator):
        return _open_once(table)
    if callable(getattr(table, "collect_batches", None)):  # a lazy frame of Polars
        schema = table.head(0).collect().to_arrow().schema
        return _BatchSource("the lazy frame", table.collect_batches, [schema])
    if callable(table) and not hasattr(table, "__arrow_c_stream__"):
        return _BatchSource("the stream", table, *_survey(_iterated(table)))
    return None


def _gathered(table: Any) -> Any:
    """Return data frames that come one after another as one table; anything else as it is."""
    if not isinstance(table, Iterator) and (not callable(table) or hasattr(table, "__arrow_c_stream__")):
        return table
    source = _open_batches(table)
    assert source is not None
    return arrow().Table.from_batches(list(source.batches()), source.schema())


def _open_once(frames: Iterator[Any]) -> Source:
    """Keep data frames that can be read once: in memory while they are small, else in a temporary file."""
    spill = Spill()
    try:
        schemas, rows = _survey(frames, spill)
        source = _BatchSource("the stream", lambda: map(_unpacked, spill), schemas, rows)
    except BaseException:
        spill.close()
        raise
    weakref.finalize(source, spill.close)
    if spill.is_on_disk:
        warn_user(
            "the table is a stream that is read once, and its rows are needed several times: they were written to a "
            "temporary file, which is deleted with the table. Give a function that starts the stream to have it read "
            "again instead",
            SpillWarning,
        )
    return source


def _survey(frames: Iterator[Any], spill: Spill | None = None) -> tuple[list[Any], int]:
    """Return the schemas of data frames, and how many rows they have; keep them, where a spill is given."""
    schemas: dict[Any, None] = {}
    rows = 0
    for batch in _record_batches(frames):
        schemas[batch.schema.remove_metadata()] = None
        rows += batch.num_rows
        if spill is not None:
            spill.add(_packed(batch))
    return list(schemas), rows


def _packed(batch: Any) -> Any:
    """Return a batch as bytes, which hold no more than its rows."""
    import numpy as np

    pa = arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return np.frombuffer(sink.getvalue(), dtype=np.uint8)


def _unpacked(data: Any) -> Any:
    return arrow().ipc.open_stream(data).read_all()


class _BatchSource(Source):
    """Data frames that come one after another, each time that a function is called.

    Parameters
    ----------
    name
        What it is called in messages.
    start
        Returns an iterator over data frames, or batches of Arrow, each time with the same rows.
    schemas
        The columns of all of these: each has some of them.
    rows
        How many rows there are, where that is known.
    """

    def __init__(self, name: str, start: Callable[[], Any], schemas: Sequence[Any], rows: int | None = None) -> None:
        pa = arrow()
        self.name = name
        self._start = start
        self._rows = rows
        self._schemas = schemas
        if not schemas:
            raise TableError(f"{name} holds no rows: there is nothing to learn from")
        try:
            self._schema = pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise TableError(f"the data frames of {name} do not go together ({error}): give columns one type") from None
        _check_names(self._schema.names)

    def schema(self) -> Any:
        """Return the names and types of the columns: those of all data frames."""
        return self._schema

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Yield the rows in their order, of all columns or of some."""
        pa = arrow()
        empty = self._schema.empty_table()
        for batch in _record_batches(_iterated(self._start)):
            if not batch.schema.equals(self._schema):
                table = pa.concat_tables([empty, pa.Table.from_batches([batch])], promote_options="permissive")
                batch = table.combine_chunks().to_batches()[0]
            yield batch if columns is None else batch.select(list(columns))

    def rows(self) -> int | None:
        """Return how many rows there are, where that is known."""
        return self._rows

    def columns_by_file(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the columns of each of several files, or data frames."""
        return ((f"part {number} of {self.name}", each.names) for number, each in enumerate(self._schemas))


def _iterated(start: Callable[[], Any]) -> Iterator[Any]:
    found = start()
    if not hasattr(found, "__iter__") or hasattr(found, "columns"):
        raise TypeError(
            f"a function in the place of a table must return an iterator over data frames; it returned a "
            f"{type(found).__name__}"
        )
    return iter(found)


def _record_batches(frames: Iterator[Any]) -> Iterator[Any]:
    """Yield the rows of data frames as batches of Arrow."""
    for number, frame in enumerate(frames):
        with numbered(number):
            yield from (batch for batch in _arrow_table(frame, False).to_batches(BATCH) if batch.num_rows)


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


def _open_arrow(name: str, files: list[str], query: str | None, partitions: Sequence[str], folder: str) -> Source:
    """Open files of Arrow: of its file format, which Feather is too, or of its stream format (.arrows)."""
    pa = arrow()
    import pyarrow.dataset as ds

    streams = [file for file in files if _is_arrow_stream(file)]
    if streams and (partitions or len(streams) < len(files)):
        raise TableError(
            f"{streams[0]} is an Arrow stream, which is not read {'from partitioned folders' if partitions else ''}"
            f"{'' if partitions else 'together with Arrow files'}: write it as an Arrow file (pyarrow.ipc.new_file)"
        )
    try:
        if streams:
            return _open_arrow_streams(name, files, query)
        hive = ds.partitioning(flavor="hive") if partitions else None
        layout = {"format": "feather", "partitioning": hive, "partition_base_dir": folder or None}
        data = ds.dataset(files, **layout)
        schemas = [part.physical_schema for part in data.get_fragments()]
        every = pa.unify_schemas([*schemas, data.schema], promote_options="permissive")
        data = ds.dataset(files, schema=every, **layout)
        return _of_dataset(name, data, query, [(file, found.names) for file, found in zip(files, schemas, strict=True)])
    except (OSError, ValueError, pa.ArrowException) as error:
        raise TableError(f"{name} is no Arrow file, or a damaged one ({error})") from None


def _of_dataset(name: str, data: Any, query: str | None, columns: Sequence[tuple[str, Sequence[str]]] = ()) -> Source:
    """Return a dataset of pyarrow as a source; its rows are counted where files hold their number."""
    if query:
        return DuckSource(name, "", query=query, frame=data)
    counted = getattr(getattr(data, "format", None), "default_extname", "") in ("parquet", "feather", "ipc", "arrow")
    rows = data.count_rows() if counted else None
    return ArrowSource(name, lambda: data.scanner(batch_size=BATCH).to_reader(), rows, columns)


def _is_arrow_stream(file: str) -> bool:
    with Path(file).open("rb") as opened:
        return opened.read(4) == b"\xff\xff\xff\xff"


def _open_arrow_streams(name: str, files: list[str], query: str | None) -> Source:
    """Open files of Arrow's stream format."""
    pa = arrow()

    def batches() -> Iterator[Any]:
        for file in files:
            yield from pa.ipc.open_stream(pa.memory_map(file))

    if query:
        frame = pa.concat_tables(
            [pa.ipc.open_stream(pa.memory_map(file)).read_all() for file in files], promote_options="permissive"
        )
        return DuckSource(name, "", query=query, frame=frame)
    schemas = [pa.ipc.open_stream(pa.memory_map(file)).schema.remove_metadata() for file in files]
    return _BatchSource(name, batches, schemas)


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


_STARTS = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".arrow"),
    (b"\xff\xff\xff\xff", ".arrows"),
    (b"\x1f\x8b", ".csv.gz"),
    (b"\x28\xb5\x2f\xfd", ".csv.zst"),
)


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

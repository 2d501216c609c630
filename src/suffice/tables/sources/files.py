"""Files as tables: paths, folders, globs, Hive partitions, object stores, database files, standard input."""

from __future__ import annotations

import atexit
import glob
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from suffice.kernels.sql.dialect import name_parts, quoted
from suffice.object_store import DRIVERS, SCHEMES, RemotePath, local_path, remote_path, scheme_of
from suffice.tables.errors import TableError, UsageError, listed, masked, nearest
from suffice.tables.sources.base import Source, arrow, find_table
from suffice.tables.sources.csv import CsvSource, Dialect
from suffice.tables.sources.duckdb import DuckSource, literal
from suffice.tables.sources.frames import BatchSource, dataset_source

_FORMATS = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt", ".data"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "json"),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), "workbook"),
    **dict.fromkeys((".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3"), "database"),
}
_COMPRESSED = (".gz", ".zst")


@dataclass(frozen=True)
class FileOptions:
    """Options for reading files."""

    query: str | None
    dialect: Dialect
    strings: list[str]


def open_location(location: str, how: FileOptions) -> Source:
    """Open a file, a folder, a glob, a URL, a database or standard input."""
    if not location:
        raise UsageError("the name of the table is empty: name a file, a folder or a URL")
    scheme = scheme_of(location)
    if scheme is not None and not Path(location).exists():
        if scheme in ("postgresql", "postgres") and location[len(scheme) :].startswith("://"):
            from suffice.tables.sources.postgres import PostgresSource

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
        location, name = _copy_standard_input(), "standard input"
    path, _, inner = location.partition("::")
    files = _files(path)
    if _format(files[0]) == "database":
        if len(files) > 1:
            raise TableError(f"{path} holds {len(files)} databases: name one")
        return _open_database(files[0], inner, how.query)
    if _format(files[0]) == "workbook":
        how = replace(how, dialect=replace(how.dialect, sheet=inner or how.dialect.sheet))
    elif inner:
        raise TableError(f"{location}: '::' goes before the name of a table in a database, which {path} is not")
    name = name or (location if len(files) == 1 else f"{len(files)} files of {location}")
    return _open_files(name, files, how, path if Path(path).is_dir() else "")


def open_list(locations: list[str], how: FileOptions) -> Source:
    """Open several files as one table."""
    if len(locations) == 1:
        return open_location(locations[0], how)
    if any(scheme_of(each) in DRIVERS for each in locations):
        return _open_remote(locations, how)
    files = [file for each in locations for file in _files(local_path(each))]
    kinds = _kinds(f"the list of {len(files)} files", files)
    if "database" in kinds:
        raise TableError(f"{files[0]} is a database: name one, and its table, as {files[0]}::name")
    return _open_files(f"{len(files)} files from {files[0]}", files, how)


def _open_files(name: str, files: list[str], how: FileOptions, folder: str = "") -> Source:
    """Open files of one format; folders below ``folder`` that are named ``column=value`` are columns."""
    partitions = _partitions(files, folder)
    hidden = _hidden(folder, partitions)
    kind = _format(files[0])
    if how.dialect.sheet is not None and kind != "workbook":
        raise UsageError(f"{name} has no sheets, as workbooks have: leave out --sheet")
    if kind == "workbook":
        from suffice.tables.sources.workbook import open_workbooks

        if partitions:
            raise TableError(f"{name} is a folder of workbooks in partitions: name them, as folder/*/*.xlsx")
        return open_workbooks(name, files, how.dialect.sheet or "", how.dialect, how.query)
    if kind == "arrow":
        return _open_arrow(name, files, how.query, partitions, folder)
    if kind == "csv":
        if all(Path(file).stat().st_size == 0 for file in files):
            raise TableError(f"{name} is empty: there is nothing to learn from")
        return CsvSource(name, files, how.dialect, how.query, how.strings, partitions, hidden)
    relation = _relation(files, partitions)
    if kind == "json" and len(files) == 1 and not how.query and not partitions:
        return _open_json(name, relation, files)
    return DuckSource(name, relation, files, query=how.query, hidden=hidden)


def _open_json(name: str, relation: str, files: list[str]) -> Source:
    """Open a JSON file; of one object, the rows are its only list of objects."""
    source = DuckSource(name, relation, files)
    found = source.fetch(f"select * from {relation} limit 2", arrow=True)
    if found.num_rows != 1:
        return source
    types = arrow().types
    lists = [each.name for each in found.schema if types.is_list(each.type) and types.is_struct(each.type.value_type)]
    if len(lists) == 1:
        rows = f"(select unnest({quoted(lists[0])}, max_depth := 2) from {relation})"
        source = DuckSource(name, rows, files)
        source.notes = (f"{name}: the rows are those of {lists[0]!r}",)
        return source
    fields = {tuple(kind.names) if types.is_struct(kind) else () for kind in found.schema.types}
    if len(found.schema) > 1 and len(fields) == 1 and len(fields.pop()) > 1:
        raise TableError(
            f"{name} is one object of objects, {listed(found.schema.names, 2)}: write a list of rows, as "
            "DataFrame.to_json(orient='records') of pandas does"
        )
    return source


def _relation(files: list[str], partitions: Sequence[str]) -> str:
    """Return Parquet or JSON lines files as an SQL relation."""
    function, union = ("read_json", "") if _format(files[0]) == "json" else ("read_parquet", ", union_by_name = true")
    return f"{function}({literal(files)}{union}, hive_partitioning = {literal(bool(partitions))})"


def _hidden(folder: str, partitions: Sequence[str]) -> list[str]:
    """Return the partition columns of folders above the named folder, which are not columns of the table."""
    return [key for key in _keys(Path(folder).parts) if key not in partitions] if partitions else []


def _keys(parts: Sequence[str]) -> list[str]:
    """Return the partition columns of a path: folders named ``column=value``."""
    return [part.partition("=")[0] for part in parts if part.partition("=")[0] and "=" in part]


def _partitions(files: Sequence[str], folder: str) -> list[str]:
    """Return the partition columns of files; raise if they differ."""
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
    """Return the files of a path, a folder or a glob."""
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
    """Yield the files of a folder, and of its subfolders named ``column=value``."""
    for each in sorted(folder.iterdir()):
        if each.is_file():
            yield str(each)
        elif _keys([each.name]) and each.is_dir():
            yield from _files_below(each)


def _tables(path: str, files: Iterator[str]) -> list[str]:
    """Return the files of a folder that are tables."""
    found = [file for file in files if _format(file, None) and not PurePosixPath(file).name.startswith(("_", "."))]
    plain = [file for file in found if not file.endswith((".txt", ".data"))]
    found = plain or found  # notes beside tables are not tables
    if not found:
        raise TableError(f"{path} is a folder without tables (.csv, .parquet, .arrow, .jsonl ...): name another")
    return found


def _kinds(path: str, files: Sequence[str]) -> set[str | None]:
    """Return the format of files; raise if there are several."""
    kinds = {_format(file) for file in files}
    if len(kinds) > 1:
        raise TableError(
            f"{path} holds tables of several formats ({', '.join(sorted(map(str, kinds)))}): name one, as *.csv"
        )
    return kinds


def _open_remote(locations: list[str], how: FileOptions) -> Source:
    """Open files of an object store: Parquet is read in place, other formats are downloaded."""
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
            source = open_location(copied[0] + (f"::{inner}" if inner else ""), how)
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
    """Return the paths of the tables of a URL in its file system, and the folder, if it is one."""
    files = place.find()
    if not files:
        raise FileNotFoundError(f"there is no file {place.url}: check its name and folder")
    if files == [place.path] or any(mark in place.path for mark in "*?["):
        return files, ""
    depth = len(PurePosixPath(place.path).parts)
    below = (file for file in files if all(_keys([part]) for part in PurePosixPath(file).parent.parts[depth:]))
    return _tables(place.url, below), place.path


def _copied(place: RemotePath, files: Sequence[str], folder: str, to: str) -> list[str]:
    """Download files to a local folder, with their subfolders, and return the copies."""
    strange = next((file for file in files if ".." in PurePosixPath(file).parts), None)
    if strange is not None:  # it would be written outside the folder
        raise TableError(f"{place.url_of(strange)} has '..' in its name: copy it to another name")
    copies = [Path(to, file.removeprefix(folder).lstrip("/")) for file in files]
    for file, copy in zip(files, copies, strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        place.fetch(file, str(copy))
    return list(map(str, copies))


def _format(file: str, otherwise: str | None = "csv") -> str | None:
    """Return the format of a file by its name."""
    path = Path(file)
    suffix = Path(path.stem).suffix if path.suffix.lower() in _COMPRESSED else path.suffix
    return _FORMATS.get(suffix.lower(), otherwise)


def _open_arrow(name: str, files: list[str], query: str | None, partitions: Sequence[str], folder: str) -> Source:
    """Open Arrow files: the file format, which is also Feather's, or the stream format (.arrows)."""
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
        return dataset_source(
            name, data, query, [(file, found.names) for file, found in zip(files, schemas, strict=True)]
        )
    except (OSError, ValueError, pa.ArrowException) as error:
        raise TableError(f"{name} is not an Arrow file, or is damaged ({error})") from None


def _is_arrow_stream(file: str) -> bool:
    with Path(file).open("rb") as opened:
        return opened.read(4) == b"\xff\xff\xff\xff"


def _open_arrow_streams(name: str, files: list[str], query: str | None) -> Source:
    """Open files of the Arrow stream format."""
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
    return BatchSource(name, batches, schemas)


def _open_database(file: str, table: str, query: str | None) -> Source:
    with Path(file).open("rb") as opened:
        start = opened.read(16)
    if start.startswith(b"SQLite format 3"):
        from suffice.tables.sources.sqlite import SqliteSource

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
    source.ask(f"from {paths[find_table(file, asked, list(paths))]}")
    source.count_rows()
    return source


_STARTS = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".arrow"),
    (b"\xff\xff\xff\xff", ".arrows"),
    (b"\x1f\x8b", ".csv.gz"),
    (b"\x28\xb5\x2f\xfd", ".csv.zst"),
    (b"PK\x03\x04", ".xlsx"),
    (b"\xd0\xcf\x11\xe0", ".xls"),
)


def _copy_standard_input() -> str:
    """Copy standard input to a temporary file, since it is read more than once."""
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

"""Tables that are written batch by batch, and appear whole or not at all."""

from __future__ import annotations

import codecs
import errno
import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any

from suffice.printable import printable_lines
from suffice.store.atomic_file import atomic_file
from suffice.tables.errors import TableError, UsageError
from suffice.tables.sources.base import arrow

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}


class Writer:
    """Writes batches to a stream, in a format."""

    def __init__(self, stream: Any, format: str, safe: bool = False) -> None:  # noqa: A002
        self._stream = stream
        self._format = format
        self._safe = safe
        self._writer: Any = None
        self.rows = 0
        self.formulas = 0  # cells of text that a spreadsheet would run

    def write(self, batch: Any) -> None:
        """Write a batch; all have the same columns, and the types of the first where the format asks for that."""
        self.rows += batch.num_rows
        if self._format in ("csv", "tsv"):
            batch = self._without_formulas(batch)
        if self._format == "json":
            lines = "".join(json.dumps(row, default=_plain, ensure_ascii=False) + "\n" for row in batch.to_pylist())
            self._stream.write(lines.encode())
            return
        if self._writer is None:
            self._schema = batch.schema
            self._writer = self._opened(batch.schema)
        self._writer.write_batch(batch if batch.schema.equals(self._schema) else self._cast_to_schema(batch))

    def _without_formulas(self, batch: Any) -> Any:
        """Count the cells that a spreadsheet would run as formulas; put an apostrophe before them, where asked to."""
        pa = arrow()
        import pyarrow.compute as pc

        for place, field in enumerate(batch.schema):
            if not (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
                continue
            cells = batch.column(place)
            starts = pc.fill_null(pc.match_substring_regex(cells, _FORMULA), False)
            count = int(pc.sum(starts).as_py() or 0)
            self.formulas += count
            if count and self._safe:
                quoted = pc.binary_join_element_wise(pa.scalar("'", field.type), cells, pa.scalar("", field.type))
                batch = batch.set_column(place, field.name, pc.if_else(starts, quoted, cells))
        if self._safe:
            return batch.rename_columns(
                [f"'{name}" if re.match(_FORMULA, name) else name for name in batch.schema.names]
            )
        return batch

    def _cast_to_schema(self, batch: Any) -> Any:
        """Return a batch with the types of the first."""
        pa = arrow()
        columns = []
        for field, column in zip(self._schema, batch.columns, strict=True):
            try:
                columns.append(column.cast(field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise TableError(
                    f"column {field.name!r} held {field.type} in the first rows and something else later: write "
                    ".jsonl, or convert it in a --query"
                ) from None
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _opened(self, schema: Any) -> Any:
        pa = arrow()
        if self._format == "parquet":
            import pyarrow.parquet as pq

            return pq.ParquetWriter(self._stream, schema)
        if self._format == "arrow":
            return pa.ipc.new_file(self._stream, schema)
        import pyarrow.csv

        options = pyarrow.csv.WriteOptions(delimiter="\t" if self._format == "tsv" else ",", quoting_style="needed")
        return pyarrow.csv.CSVWriter(self._stream, schema, write_options=options)

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.close()


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | datetime) else str(value)


def format_of(path: str) -> tuple[str, bool]:
    """Return the format that a file's name asks for, and whether it is compressed.

    Examples
    --------
    >>> format_of("answers.csv.gz")
    ('csv', True)
    """
    place = Path(path)
    compressed = place.suffix == ".gz"
    suffix = Path(place.stem).suffix if compressed else place.suffix
    if suffix.lower() not in _FORMATS:
        raise UsageError(f"{path} has no ending that says how to write it: use {', '.join(_FORMATS)}")
    return _FORMATS[suffix.lower()], compressed


@contextmanager
def open_writer(path: str | None, otherwise: str = "csv", safe: bool = False) -> Iterator[Writer]:
    """Yield a writer to a file, which appears when all is written; or to standard output, with None or "-".

    Cells are written as they are, but on a terminal, which control characters would drive; with ``safe``, cells of
    CSV that a spreadsheet would run as formulas get an apostrophe.
    """
    if path is None or path == "-":
        shown = _Terminal(sys.stdout.buffer) if sys.stdout.isatty() else _KeptOpen(sys.stdout.buffer)
        writer = Writer(shown, otherwise, safe)
        yield writer
        writer.close()
        sys.stdout.buffer.flush()
        return
    format, compressed = format_of(path)  # noqa: A001
    with replace_file(path) as temporary, temporary.open("wb") as raw:
        stream = arrow().CompressedOutputStream(raw, "gzip") if compressed else raw
        writer = Writer(stream, format, safe)
        yield writer
        writer.close()
        if compressed:
            stream.close()


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file that takes the place of another once it is written; what fails is said of the latter."""
    check_writable(path)
    try:
        with atomic_file(path) as temporary:
            yield temporary
    except OSError as error:
        if "suffice-" in str(error.filename) or error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise OSError(error.errno, describe_write_error(path, error)) from None
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise where a file cannot be written."""
    place = Path(path)
    if place.is_dir():
        raise UsageError(f"{path} is a folder: name a file")
    if not place.parent.is_dir():
        raise UsageError(f"there is no folder {place.parent} to write to")


def describe_write_error(path: str | os.PathLike[str], error: OSError) -> str:
    """Return what to say of a file that could not be written."""
    return f"{os.fspath(path)} could not be written ({error.strerror}): free some space, or write elsewhere"


def restore_integers(batch: Any, whole: frozenset[str]) -> Any:
    """Return a batch in which columns that are written as whole numbers are so, where they are."""
    pa = arrow()
    for place, field in enumerate(batch.schema):
        if field.name in whole and pa.types.is_float64(field.type):
            try:
                column = batch.column(place).cast(pa.int64())
            except pa.ArrowInvalid:  # one of them has a fraction
                continue
            batch = batch.set_column(place, field.name, column)
    return batch


#: What a spreadsheet takes for a formula; a number with a sign is none.
_FORMULA = r"^(?:[=@\t\r]|[+-](?s:.)*[^0-9.,%\s])"


class _KeptOpen:
    """A stream that outlives the writers that would close it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.closed = False

    def write(self, data: Any) -> int:
        return self._stream.write(data)


class _Terminal(_KeptOpen):
    """A terminal, which shows control characters as dots."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(stream)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: Any) -> int:
        self._stream.write(printable_lines(self._decoder.decode(bytes(data))).encode())
        return len(data)

"""Tables written batch by batch, atomically."""

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

import numpy as np

from suffice.printable import printable_lines
from suffice.store.atomic_file import atomic_file
from suffice.tables.arrow_arrays import find_known, from_numbers, from_strings, to_numbers
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
    """Writes batches to a stream in a format."""

    def __init__(self, stream: Any, format: str, safe: bool = False) -> None:  # noqa: A002
        self._stream = stream
        self._format = format
        self._safe = safe
        self._writer: Any = None
        self.rows = 0
        self.formulas = 0  # number of cells that a spreadsheet would run as formulas

    def write(self, batch: Any) -> None:
        """Write a batch; all have the same columns, and the types of the first if the format requires it."""
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
        """Count the cells that a spreadsheet would run as formulas; if ``safe``, put an apostrophe before them."""
        for place, field in enumerate(batch.schema):
            starts = _find_formulas(batch.column(place))
            self.formulas += len(starts)
            if len(starts) and self._safe:
                cells = batch.column(place).to_pylist()
                for row in starts:
                    cells[row] = "'" + cells[row]
                batch = batch.set_column(place, field.name, from_strings(cells).cast(field.type))
        if self._safe:
            return batch.rename_columns([f"'{name}" if _FORMULA.match(name) else name for name in batch.schema.names])
        return batch

    def _cast_to_schema(self, batch: Any) -> Any:
        """Return a batch cast to the types of the first."""
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
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | datetime) else str(value)


def format_of(path: str) -> tuple[str, bool]:
    """Return the format of a file by its name, and whether it is compressed.

    Examples
    --------
    >>> format_of("predictions.csv.gz")
    ('csv', True)
    """
    place = Path(path)
    compressed = place.suffix == ".gz"
    suffix = Path(place.stem).suffix if compressed else place.suffix
    if suffix.lower() not in _FORMATS:
        raise UsageError(f"{path} has no known file name extension: use {', '.join(_FORMATS)}")
    return _FORMATS[suffix.lower()], compressed


@contextmanager
def open_writer(path: str | None, otherwise: str = "csv", safe: bool = False) -> Iterator[Writer]:
    """Yield a writer to a file, which appears when it is complete; None or "-" is standard output.

    Control characters are replaced on a terminal only. With ``safe``, CSV cells that a spreadsheet would run as
    formulas get an apostrophe.
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
    """Yield a temporary file that replaces another when it is complete; errors name the latter."""
    check_writable(path)
    try:
        with atomic_file(path) as temporary:
            yield temporary
    except OSError as error:
        if "suffice-" in str(error.filename) or error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT):
            raise OSError(error.errno, describe_write_error(path, error)) from None
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise if a file cannot be written."""
    place = Path(path)
    if place.is_dir():
        raise UsageError(f"{path} is a folder: name a file")
    if not place.parent.is_dir():
        raise UsageError(f"there is no folder {place.parent} to write to")


def describe_write_error(path: str | os.PathLike[str], error: OSError) -> str:
    """Return the message about a file that could not be written."""
    return f"{os.fspath(path)} could not be written ({error.strerror}): free some space, or write elsewhere"


def restore_integers(batch: Any, whole: frozenset[str]) -> Any:
    """Return a batch with float columns that were integers in the source converted back, if all are integers."""
    pa = arrow()
    for place, field in enumerate(batch.schema):
        if field.name in whole and pa.types.is_float64(field.type):
            numbers, known = to_numbers(batch.column(place)), find_known(batch.column(place))
            cells = numbers if known is None else np.where(known, numbers, 0.0)
            if not (np.abs(cells) < 2.0**63).all() or (cells != np.trunc(cells)).any():
                continue
            batch = batch.set_column(place, field.name, from_numbers(cells.astype(np.int64), known))
    return batch


#: Pattern of cells that a spreadsheet reads as formulas; a signed number is not one.
_FORMULA = re.compile(r"[=@\t\r]|[+-](?s:.)*[^0-9.,%\s]", re.ASCII)


def _find_formulas(column: Any) -> list[int]:
    """Return the rows of a column of strings that a spreadsheet would run as formulas."""
    types = arrow().types
    if not (types.is_string(column.type) or types.is_large_string(column.type)) or not len(column):
        return []
    _, offsets, data = column.buffers()
    width = np.int32 if types.is_string(column.type) else np.int64
    ends: Any = np.frombuffer(offsets, width, column.offset + len(column) + 1)[column.offset :]
    filled = np.flatnonzero(ends[1:] > ends[:-1])
    if not len(filled):
        return []
    suspects = filled[np.isin(np.frombuffer(data, np.uint8)[ends[filled]], np.frombuffer(b"=@\t\r+-", np.uint8))]
    return [row for row in suspects.tolist() if (cell := column[row].as_py()) is not None and _FORMULA.match(cell)]


class _KeptOpen:
    """A stream that ignores close()."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.closed = False

    def write(self, data: Any) -> int:
        return self._stream.write(data)


class _Terminal(_KeptOpen):
    """A terminal stream that replaces control characters by dots."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(stream)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: Any) -> int:
        self._stream.write(printable_lines(self._decoder.decode(bytes(data))).encode())
        return len(data)

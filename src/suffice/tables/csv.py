"""Delimited text: how DuckDB is told to read it, and what is said where it cannot."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from suffice.tables.errors import TableError, UsageError, kind_cure

#: Cells that hold nothing, as people write it.
MISSING = ("", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null")
#: What DuckDB may take a column for. Truth values stay as they are written, so that classes keep their names.
_TYPES = ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR")
_DELIMITERS = (",", "\t", ";", "|")
_LOOKED_AT = 1 << 16
#: Encodings that DuckDB reads; files in others are written anew.
READ = ("utf-8", "utf-16", "latin-1")
#: How files start that are not delimited text, what they are, and what to do with them.
_NOT_TEXT = (
    (b"PK\x03\x04", "a ZIP archive: unpack it, and name the table inside"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook: save the sheet as CSV"),
    (b"PAR1", "a Parquet file: rename it to end in .parquet"),
    (b"ARROW1", "an Arrow file: rename it to end in .arrow"),
    (b"SQLite format 3", "an SQLite database: rename it to end in .sqlite, and write FILE.sqlite::TABLE"),
    (b"\x1f\x8b", "compressed with gzip: rename it to end in .csv.gz"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: rename it to end in .csv.zst"),
    (b"BZh", "compressed with bzip2: decompress it, or compress it with gzip"),
    (b"\xfd7zXZ", "compressed with xz: decompress it, or compress it with gzip"),
    (b"%PDF", "a PDF document: save the table as CSV"),
)
_WORKBOOK = "an Excel workbook: save the sheet as CSV, or pass pandas.read_excel(...) to suffice.fit"


@dataclass(frozen=True)
class Dialect:
    """How delimited text is written; what is None is found out.

    Parameters
    ----------
    delimiter
        The one character between cells.
    header
        Whether the first line holds names.
    encoding
        "utf-8", "utf-16", "latin-1" or any other that Python knows.
    missing
        Cells that stand for nothing, beside the usual ones.
    """

    delimiter: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()

    @property
    def gaps(self) -> tuple[str, ...]:
        """All cells that stand for nothing."""
        return tuple(dict.fromkeys((*MISSING, *self.missing)))

    @property
    def codec(self) -> str:
        """The encoding by the name that Python and DuckDB have for it."""
        try:
            name = codecs.lookup(self.encoding).name
        except LookupError:
            raise UsageError(f"there is no encoding {self.encoding!r}: give utf-8, utf-16, latin-1 or cp1252") from None
        return {"iso8859-1": "latin-1"}.get(name, name)

    def arguments(self, files: Sequence[str], types: Mapping[str, str], gaps: Sequence[str]) -> str:
        """Return the arguments of ``read_csv`` in SQL.

        The types of some columns may be given. Every gap that DuckDB shall know costs it time in every cell, so
        that it is told only of those that were found; in columns of names they are taken out later.
        """
        parts: dict[str, Any] = {
            "delim": self.delimiter or guess_delimiter(files[0], self.codec),
            "header": self.header,
            "nullstr": ["", *gaps],
            "auto_type_candidates": list(_TYPES),
            "union_by_name": True if len(files) > 1 else None,
            "encoding": self.codec if self.codec != "utf-8" else None,
            "new_line": escaped_line_end(files[0], self.codec),
            "types": dict(types) or None,
        }
        given = [f"{name} = {literal(value)}" for name, value in parts.items() if value is not None]
        return ", ".join([literal(files[0] if len(files) == 1 else list(files)), *given])


def literal(value: Any) -> str:
    """Return a value as SQL writes it.

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


def guess_delimiter(path: str, encoding: str) -> str | None:
    """Return what separates the cells of the first lines; None where nothing of the usual does.

    It is what occurs in each of them outside quotes, as often in one as in the other, and more often than others do.
    """
    text = first_text(path, encoding)
    if text is None:
        return None  # DuckDB says it better
    lines = [line for line in re.sub(r'"[^"]*"', "", text).splitlines()[:20] if line.strip()]
    best, most = None, (False, 0)
    for each in _DELIMITERS:
        counts = [line.count(each) for line in lines[:-1] or lines]  # the last may be cut
        if counts and counts[0] and (rank := (min(counts) == max(counts), counts[0])) > most:
            best, most = each, rank
    return best


def escaped_line_end(path: str, encoding: str) -> str | None:
    r"""Return how the first lines of a file end, as DuckDB spells it; None where they do not all end alike.

    A line break inside a quoted name would mislead DuckDB about it.
    """
    found = _line_ends(path, encoding)
    return found.pop().encode("unicode_escape").decode() if len(found) == 1 else None


def _line_ends(path: str, encoding: str) -> set[str]:
    text = (first_text(path, encoding) or "").removesuffix("\r")  # which may be half of a line's end
    return set(re.findall(r"\r\n|\r|\n", re.sub(r'"[^"]*("|$)', "", text)))


def encoding_of_text(path: str, dialect: Dialect) -> str:
    """Return the encoding of a file of delimited text: the one that is given, or UTF-16 where its first bytes say so.

    Raises
    ------
    TableError
        Where the file is something else: an archive, a workbook, a database.
    """
    if path.endswith((".gz", ".zst")):
        return dialect.encoding
    with Path(path).open("rb") as file:
        start = file.read(_LOOKED_AT)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for magic, what in _NOT_TEXT:
        if start.startswith(magic):
            is_workbook = magic == b"PK\x03\x04" and (b"xl/" in start or path.lower().endswith((".xlsx", ".xlsm")))
            raise TableError(f"{path} is {_WORKBOOK if is_workbook else what}")
    if b"\0" in start and not dialect.codec.startswith(("utf-16", "utf-32")):
        if start[1::2].count(0) > len(start) // 4 or start[::2].count(0) > len(start) // 4:
            half = "le" if start[1::2].count(0) >= start[::2].count(0) else "be"
            raise TableError(
                f"{path} looks like UTF-16: give --encoding utf-16-{half} (Dialect(encoding=...) in Python)"
            )
        line = start[: start.index(b"\0")].count(b"\n") + 1
        raise TableError(f"line {line} of {path} holds a NUL byte, which text does not: is it a table? Remove it if so")
    return dialect.encoding


def first_text(path: str, encoding: str) -> str | None:
    """Return the beginning of a file; None where it cannot be read so."""
    try:
        with _opened(path, encoding) as file:
            return file.read(_LOOKED_AT)
    except (OSError, EOFError, UnicodeError, zlib.error):
        return None


def _opened(path: str, encoding: str) -> IO[str]:
    if path.endswith(".gz"):
        return io.TextIOWrapper(gzip.open(path), encoding=encoding, newline="")
    if path.endswith(".zst"):
        raise OSError("DuckDB reads these")
    return Path(path).open(encoding=encoding, newline="")


def first_gaps(path: str, dialect: Dialect) -> list[str]:
    """Return the cells that stand for nothing, as they are written in the first lines of a file."""
    text = first_text(path, dialect.codec)
    if text is None:
        return list(dialect.gaps)[1:]  # compressed, or damaged: DuckDB looks for all of them
    between = "[,;|\\t\r\n]" if dialect.delimiter is None else f"[{re.escape(dialect.delimiter)}\r\n]"
    cells = {cell.removeprefix('"').removesuffix('"') for cell in re.split(between, text)}
    wanted = set(dialect.gaps) - {""}
    return sorted(cell for cell in cells if cell.strip() in wanted)


def later_gap(error: Exception, dialect: Dialect) -> str | None:
    """Return the cell that stands for nothing and that DuckDB took for something, if that is what an error says."""
    found = re.search(r'Could not convert string "(.*?)" to', str(error))
    return found.group(1) if found and found.group(1).strip() in dialect.gaps else None


def complaint(error: Exception, files: Sequence[str], dialect: Dialect) -> TableError:
    """Return one sentence for what DuckDB says in many lines."""
    text = str(error)
    where = files[0] if len(files) == 1 else "the files"
    line = re.search(r"CSV Error on Line: (\d+)", text)
    at = f"line {line.group(1)} of {where}" if line else where
    if "Invalid unicode" in text or "not utf-8" in text or "encoded" in text:
        return TableError(
            f"{at} is not written in {dialect.encoding}: give its encoding, such as --encoding latin-1 "
            "(Dialect(encoding=...) in Python)"
        )
    value = re.search(r'converting column "(.*?)". Could not convert string "(.*?)" to \'(\w+)\'', text)
    if value:
        column, cell, kind = value.groups()
        return TableError(
            f"{at}: column {column!r} looked like {kind}, but holds {cell!r}: {kind_cure(column, 'category')}; or "
            f"--missing {cell!r} (Dialect(missing=...)) if that stands for nothing"
        )
    if "gzip" in text.casefold() or (where.endswith(".gz") and first_text(files[0], "latin-1") is None):
        return TableError(f"{where} is no gzip file, or a damaged one: write it anew")
    if where.endswith(".zst"):
        return TableError(f"{where} is no zstd file of delimited text, or a damaged one: write it anew")
    ragged = ragged_line(files, dialect)
    if ragged is not None:
        return TableError(ragged)
    if len(_line_ends(files[0], dialect.codec)) > 1:
        return TableError(f"{where} mixes line ends of Windows and Unix: write it with one of them, as dos2unix does")
    lines = text.removeprefix("Invalid Input Error: ").strip().splitlines()
    said = next((each for each in lines if not each.startswith(("CSV Error on Line", "Original Line"))), lines[0])
    cure = ""
    if dialect.delimiter is None and guess_delimiter(files[0], dialect.codec) is None:
        cure = ": none of , ; | and tab separates its cells; give --delimiter (Dialect(delimiter=...) in Python)"
    return TableError(f"{at} cannot be read as delimited text (DuckDB says: {said.strip().rstrip('.')}){cure}")


def ragged_line(files: Sequence[str], dialect: Dialect) -> str | None:
    """Return what is wrong with the first line whose cells are not as many as the first line's, in any of the files."""
    return next(filter(None, (_ragged_line_of(path, dialect) for path in files)), None)


def _ragged_line_of(path: str, dialect: Dialect) -> str | None:
    delimiter = dialect.delimiter or guess_delimiter(path, dialect.codec) or ","
    with (
        suppress(OSError, EOFError, UnicodeError, csv.Error, zlib.error, StopIteration),
        _opened(path, dialect.codec) as file,
    ):
        rows = csv.reader(file, delimiter=delimiter)
        first = next(rows)
        for row in rows:
            if row and len(row) != len(first):
                return (
                    f"line {rows.line_num} of {path} has {len(row)} cell{'s' * (len(row) != 1)} where the first "
                    f"has {len(first)}: quote cells that hold {delimiter!r}, or complete the line"
                )
    return None

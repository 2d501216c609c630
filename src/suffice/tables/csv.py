"""Delimited text: how DuckDB is told to read it, and what is said where it cannot."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from suffice.tables.errors import TableError

#: Cells that hold nothing, as people write it.
MISSING = ("", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null")
#: What DuckDB may take a column for. Truth values stay as they are written, so that classes keep their names.
_TYPES = ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR")
_DELIMITERS = (",", "\t", ";", "|")
_LOOKED_AT = 1 << 16
_ENCODINGS = {"latin1": "latin-1", "iso-8859-1": "latin-1", "utf8": "utf-8", "utf16": "utf-16"}


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
        "utf-8", "utf-16" or "latin-1".
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

    def arguments(self, files: Sequence[str], strings: Sequence[str], gaps: Sequence[str]) -> str:
        """Return the arguments of ``read_csv`` in SQL.

        The columns in ``strings`` are not looked into. Every gap that DuckDB shall know costs it time in every cell, so
        that it is told only of those that were found; in columns of names they are taken out later.
        """
        encoding = _ENCODINGS.get(self.encoding.casefold(), self.encoding.casefold())
        parts: dict[str, Any] = {
            "delim": self.delimiter or guess_delimiter(files[0], encoding),
            "header": self.header,
            "nullstr": ["", *gaps],
            "auto_type_candidates": list(_TYPES),
            "union_by_name": True if len(files) > 1 else None,
            "encoding": encoding if encoding != "utf-8" else None,
            "types": dict.fromkeys(strings, "VARCHAR") or None,
        }
        given = [f"{name} = {literal(value)}" for name, value in parts.items() if value is not None]
        return ", ".join([literal(list(files)), *given])


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
    """Return what separates the cells of the first line; None where nothing of the usual does."""
    try:
        with _opened(path, encoding) as file:
            line = file.readline(_LOOKED_AT)
    except (OSError, UnicodeError):
        return None  # DuckDB says it better
    counts = {each: line.count(each) for each in _DELIMITERS}
    best = max(counts, key=lambda each: counts[each])
    return best if counts[best] else None


def _opened(path: str, encoding: str) -> IO[str]:
    if path.endswith(".gz"):
        return io.TextIOWrapper(gzip.open(path), encoding=encoding, newline="")
    if path.endswith(".zst"):
        raise OSError("DuckDB reads these")
    return Path(path).open(encoding=encoding, newline="")


def first_gaps(path: str, dialect: Dialect) -> list[str]:
    """Return the cells that stand for nothing, as they are written in the first lines of a file."""
    try:
        with _opened(path, dialect.encoding) as file:
            text = file.read(_LOOKED_AT)
    except (OSError, UnicodeError):
        return list(dialect.gaps)[1:]  # compressed, or damaged: DuckDB looks for all of them
    cells = set(
        re.split(r"[,;|\t\r\n]" if dialect.delimiter is None else f"[{re.escape(dialect.delimiter)}\r\n]", text)
    )
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
            f"{at} is not written in {dialect.encoding}: give its encoding, such as --encoding latin-1 or utf-16"
        )
    value = re.search(r'converting column "(.*?)". Could not convert string "(.*?)" to \'(\w+)\'', text)
    if value:
        column, cell, kind = value.groups()
        return TableError(
            f"{at}: column {column!r} looked like {kind}, but holds {cell!r}: give --kind {column}=category, "
            f"or --missing {cell!r} if that stands for nothing"
        )
    ragged = _ragged(files[0], dialect)
    if ragged is not None:
        return TableError(ragged)
    if "Expected Number of Columns" in text:
        seen = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
        counts = f" has {seen.group(2)} cells where the first has {seen.group(1)}" if seen else " is ragged"
        return TableError(f"{at}{counts}: quote cells that hold the delimiter, or complete the line")
    if "quote" in text.casefold() and "unterminated" in text.casefold():
        return TableError(f"{at} has a quote that is never closed: close it")
    first = text.removeprefix("Invalid Input Error: ").strip().splitlines()[0]
    return TableError(f"{where} cannot be read as delimited text ({first}): give its --delimiter")


def _ragged(path: str, dialect: Dialect) -> str | None:
    """Return what is wrong with the first line whose cells are not as many as the first line's."""
    delimiter = dialect.delimiter or guess_delimiter(path, dialect.encoding) or ","
    try:
        with _opened(path, dialect.encoding) as file:
            rows = csv.reader(file, delimiter=delimiter)
            first = next(rows)
            for row in rows:
                if row and len(row) != len(first):
                    return (
                        f"line {rows.line_num} of {path} has {len(row)} cells where the first has {len(first)}: quote "
                        f"cells that hold {delimiter!r}, or complete the line"
                    )
    except (OSError, UnicodeError, csv.Error, StopIteration):
        pass
    return None

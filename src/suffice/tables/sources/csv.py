"""Delimited text, read by DuckDB: detection of the format, and error messages."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from suffice.kernels.sql.dialect import quoted
from suffice.tables.errors import CellError, TableError, UsageError, kind_cure, tell_titles
from suffice.tables.sources.base import NumberOptions
from suffice.tables.sources.duckdb import DuckSource, _duckdb, literal

#: Common spellings of missing cells.
MISSING = ("", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "\\N")
#: Column types that DuckDB may detect. Booleans stay strings, so that classes keep their names.
_TYPES = ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP", "VARCHAR")
_DELIMITERS = (",", "\t", ";", "|")
_LOOKED_AT = 1 << 16
#: Characters in which numbers that begin with 0 are looked for.
_SEARCHED = 1 << 20
#: Integers up to this are exact floats.
_EXACT = 2**53
#: Some integers of this many digits are not.
_EXACT_DIGITS = 16
_ZERO_PADDED = re.compile(r"(?<![0-9.:+T-])0[0-9]+(?![0-9.:T-])")
#: A name with a line break or a delimiter after a byte order mark: DuckDB does not see its first quote.
_QUOTED_BREAK = re.compile(codecs.BOM_UTF8 + rb'"[^"]*[\r\n,;|\t]')
#: Numbers whose points may separate decimals or thousands.
_POINTS = "^[+-]?([1-9][0-9]{0,2}([.][0-9]{3})*|0)$"
_ISO_DATE = "^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?$"
_ANONYMOUS = re.compile(r"column\d+")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?")
#: Titles above the names of columns: the least number of columns, and the most lines.
_LEAST_WIDTH, _MOST_TITLE_LINES = 3, 20
#: Encodings that DuckDB reads; files in others are converted.
DUCKDB_ENCODINGS = ("utf-8", "utf-16", "latin-1")
#: First bytes of files that are not delimited text, and the format with the advice for the user.
_NOT_TEXT = (
    (b"PK\x03\x04", "a ZIP archive: unpack it, and name the table inside"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook: rename it to end in .xls, or save the sheet as CSV"),
    (b"PAR1", "a Parquet file: rename it to end in .parquet"),
    (b"ARROW1", "an Arrow file: rename it to end in .arrow"),
    (b"SQLite format 3", "an SQLite database: rename it to end in .sqlite, and write FILE.sqlite::TABLE"),
    (b"\x1f\x8b", "compressed with gzip: rename it to end in .csv.gz"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: rename it to end in .csv.zst"),
    (b"BZh", "compressed with bzip2: decompress it, or compress it with gzip"),
    (b"\xfd7zXZ", "compressed with xz: decompress it, or compress it with gzip"),
    (b"%PDF", "a PDF document: save the table as CSV"),
)
_WORKBOOK = "an Excel workbook: rename it to end in .xlsx, or save the sheet as CSV"
#: First bytes of web pages and of other XML.
MARKUP = re.compile(rb"(\xef\xbb\xbf)?\s*<(!doctype|html|head|body|table|\?xml)", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """Format of delimited text, and of numbers in strings of any table; None is detected.

    Parameters
    ----------
    delimiter
        The character between cells.
    header
        Whether the first line has column names.
    encoding
        "utf-8", "utf-16", "latin-1" or any other codec of Python.
    missing
        Further spellings of missing cells.
    decimal
        The decimal separator of numbers in strings: "." or ",".
    thousands
        Their separator of thousands: ",", ".", " ", "'", or "" for none.
    day_first
        Whether dates such as 03/04/2024 begin with the day; False: with the month.
    sheet
        The name or number of the sheet of a workbook; by default, the only one.
    """

    delimiter: str | None = None
    header: bool | None = None
    encoding: str = "utf-8"
    missing: tuple[str, ...] = ()
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None
    day_first: bool | None = None

    @property
    def missing_marks(self) -> tuple[str, ...]:
        """All spellings of missing cells."""
        return tuple(dict.fromkeys((*MISSING, *self.missing)))

    def _has_other_point(self) -> bool:
        """Whether the point is no decimal separator: then DuckDB does not read fractions."""
        return self.decimal == "," or self.thousands == "."

    @property
    def codec(self) -> str:
        """The normalised name of the encoding."""
        try:
            name = codecs.lookup(self.encoding).name
        except LookupError:
            raise UsageError(f"there is no encoding {self.encoding!r}: give utf-8, utf-16, latin-1 or cp1252") from None
        return {"iso8859-1": "latin-1"}.get(name, name)

    def arguments(self, files: Sequence[str], types: Mapping[str, str], gaps: Sequence[str]) -> str:
        """Return the arguments of ``read_csv`` in SQL.

        The types of some columns may be given. DuckDB compares every cell with every spelling of missing cells, so it
        gets only those that occur; those of string columns are replaced later.
        """
        parts: dict[str, Any] = {
            "delim": self.delimiter or guess_delimiter(files[0], self.codec),
            "header": self.header,
            "nullstr": ["", *gaps],
            "auto_type_candidates": [each for each in _TYPES if each != "DOUBLE" or not self._has_other_point()],
            "union_by_name": True if len(files) > 1 else None,
            "encoding": self.codec if self.codec != "utf-8" else None,
            "new_line": _common_line_end(files, self.codec),
            "skip": find_title_lines(files[0], self) or None,
            "types": dict(types) or None,
        }
        given = [f"{name} = {literal(value)}" for name, value in parts.items() if value is not None]
        return ", ".join([literal(files[0] if len(files) == 1 else list(files)), *given])


def guess_delimiter(path: str, encoding: str) -> str | None:
    """Return the delimiter of the first lines; None if it is none of the usual ones.

    It is the candidate that occurs equally often in each line, outside quotes, and most often.
    """
    text = read_start(path, encoding)
    if text is None:
        return None  # DuckDB's error is clearer
    lines = [line for line in re.sub(r'"[^"]*"', "", text).splitlines()[:20] if line.strip()]
    best, most = None, (False, 0)
    for each in _DELIMITERS:
        counts = [line.count(each) for line in lines[:-1] or lines]  # the last line may be incomplete
        if counts and counts[0] and (rank := (min(counts) == max(counts), counts[0])) > most:
            best, most = each, rank
    return best


def find_title_lines(path: str, dialect: Dialect) -> int:
    """Return the number of lines above the names of columns in which the first cell alone is filled, or none is.

    Spreadsheets write titles so: with as many delimiters as other lines. DuckDB skips titles without delimiters.
    """
    text = read_start(path, dialect.codec)
    if text is None or dialect.header is not None:
        return 0
    delimiter = dialect.delimiter or guess_delimiter(path, dialect.codec) or ","
    lines = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter)
    end = width = rows = 0
    with suppress(csv.Error):
        for row in lines:
            width = width or len(row)
            rows += 1
            if width < _LEAST_WIDTH or len(row) != width or rows > _MOST_TITLE_LINES:
                break
            if any(cell.strip() for cell in row[1:]):  # the names
                is_header = sum(bool(cell.strip()) for cell in row) > width / 2
                return end if is_header and not any(_PLAIN_NUMBER.fullmatch(cell.strip()) for cell in row) else 0
            if lines.line_num != rows:  # DuckDB counts the lines of a quoted cell in another way
                break
            end = rows
    return 0


def _is_read_by_duckdb(file: str, dialect: Dialect) -> bool:
    """Whether DuckDB reads the encoding and the line ends of a file; for UTF-16, see ``_QUOTED_BREAK``."""
    if file.endswith((".gz", ".zst")):
        return dialect.codec in DUCKDB_ENCODINGS
    is_known = dialect.codec in DUCKDB_ENCODINGS and dialect.codec != "utf-16"
    return is_known and not _has_mixed_line_ends(file, dialect.codec)


def _check_delimiters(files: Sequence[str], dialect: Dialect) -> None:
    """Raise if files have different delimiters: DuckDB would read the cells of some as one."""
    if dialect.delimiter is not None:
        return
    found: dict[str, str] = {}
    for file in files:
        delimiter = guess_delimiter(file, dialect.codec)
        if delimiter is not None:
            found.setdefault(delimiter, file)
    if len(found) > 1:
        (one, first), (two, other) = list(found.items())[:2]
        raise TableError(
            f"the cells of {first} are separated by {one!r}, and those of {other} by {two!r}: write the files in one "
            "format, or read them one by one"
        )


def _check_titles(files: Sequence[str], dialect: Dialect) -> None:
    """Raise if the names of columns are in another line in some of the files: DuckDB would lose rows of these."""
    lines = {find_title_lines(file, dialect): file for file in files}
    if len(lines) > 1:
        (one, first), (two, other) = list(lines.items())[:2]
        raise TableError(
            f"the names of columns are in line {one + 1} of {first}, and in line {two + 1} of {other}: write the files "
            "in one format, or read them one by one"
        )


def escaped_line_end(path: str, encoding: str) -> str | None:
    r"""Return the line end of the first lines of a file, in DuckDB's notation; None if they differ.

    DuckDB would detect the line break inside a quoted name instead.
    """
    found = _line_ends(path, encoding)
    return found.pop().encode("unicode_escape").decode() if len(found) == 1 else None


def _common_line_end(files: Sequence[str], encoding: str) -> str | None:
    """Return the line end of all files, in DuckDB's notation; None if they differ: DuckDB then detects that of each."""
    found = {escaped_line_end(file, encoding) for file in files}
    return found.pop() if len(found) == 1 else None


def _line_ends(path: str, encoding: str) -> set[str]:
    return _find_line_ends(read_start(path, encoding) or "")


def _find_line_ends(text: str) -> set[str]:
    text = text.removesuffix("\r")  # which may be half of a line end
    return set(re.findall(r"\r\n|\r|\n", re.sub(r'"[^"]*("|$)', "", text)))


def _has_mixed_line_ends(path: str, encoding: str) -> bool:
    """Whether lines end in several ways in the first and the last part of a file that is not compressed."""
    found = _line_ends(path, encoding)
    if encoding in ("utf-8", "latin-1"):
        with suppress(OSError), Path(path).open("rb") as file:
            file.seek(max(Path(path).stat().st_size - _LOOKED_AT, 0))
            end = file.read().decode(encoding, errors="replace")
            found |= _find_line_ends(end[end.find("\n") + 1 :])
    return len(found) > 1


def detect_encoding(path: str, dialect: Dialect) -> str:
    """Return the encoding of delimited text: the given one, or UTF-16 or UTF-32 if the first bytes show it.

    Raises
    ------
    TableError
        If the file has another format: an archive, a workbook, a database.
    """
    if path.endswith((".gz", ".zst")):
        return dialect.encoding
    with Path(path).open("rb") as file:
        start = file.read(_LOOKED_AT)
    if dialect.codec == "utf-8" and _QUOTED_BREAK.match(start):
        return "utf-8-sig"
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for magic, what in _NOT_TEXT:
        if start.startswith(magic):
            is_workbook = magic == b"PK\x03\x04" and (b"xl/" in start or path.lower().endswith((".xlsx", ".xlsm")))
            raise TableError(f"{path} is {_WORKBOOK if is_workbook else what}")
    if MARKUP.match(start):
        raise TableError(f"{path} is a web page or XML: open it in a spreadsheet program, and save the table as CSV")
    if b"\0" in start and not dialect.codec.startswith(("utf-16", "utf-32")):
        if start[1::2].count(0) > len(start) // 4 or start[::2].count(0) > len(start) // 4:
            return "utf-16-le" if start[1::2].count(0) >= start[::2].count(0) else "utf-16-be"
        line = start[: start.index(b"\0")].count(b"\n") + 1
        raise TableError(f"line {line} of {path} holds a NUL byte: check that the file is a table, and remove the byte")
    return dialect.encoding


def read_start(path: str, encoding: str, length: int = _LOOKED_AT) -> str | None:
    """Return the first characters of a file; None if it cannot be read."""
    try:
        with _opened(path, encoding) as file:
            return file.read(length)
    except (OSError, EOFError, UnicodeError, zlib.error):
        return None


def _opened(path: str, encoding: str) -> IO[str]:
    if path.endswith(".gz"):
        return io.TextIOWrapper(gzip.open(path), encoding=encoding, newline="")
    if path.endswith(".zst"):
        raise OSError("DuckDB reads these")
    return Path(path).open(encoding=encoding, newline="")


def has_zero_padded_numbers(path: str, dialect: Dialect) -> bool:
    """Whether some number of the first lines of a file begins with 0 and another digit."""
    text = read_start(path, dialect.codec, _SEARCHED)
    return text is None or _ZERO_PADDED.search(text) is not None


def zero_padded_at_end(path: str, dialect: Dialect) -> set[str]:
    """Return the columns in which a whole number of the last lines of a file begins with 0: rows may be sorted."""
    if path.endswith((".gz", ".zst")) or dialect.codec not in ("utf-8", "latin-1"):
        return set()
    with suppress(OSError, csv.Error, StopIteration), Path(path).open("rb") as file:
        start = max(Path(path).stat().st_size - _SEARCHED, 0)
        if start < _SEARCHED:
            return set()  # the first lines are nearly all
        text = (read_start(path, dialect.codec) or "").removeprefix("\ufeff")
        file.seek(start)
        lines = file.read().decode(dialect.codec, errors="replace").splitlines()[1:]
        if not _ZERO_PADDED.search("\n".join(lines)):
            return set()
        delimiter = dialect.delimiter or guess_delimiter(path, dialect.codec) or ","
        names = next(csv.reader(text.splitlines()[find_title_lines(path, dialect) :], delimiter=delimiter))
        rows = (row for row in csv.reader(lines, delimiter=delimiter) if len(row) == len(names))
        return {
            name for row in rows for name, cell in zip(names, row, strict=True) if re.fullmatch("0[0-9]+", cell.strip())
        }
    return set()


def find_missing_marks(path: str, dialect: Dialect) -> list[str]:
    """Return the spellings of missing cells that occur in the first lines of a file."""
    text = read_start(path, dialect.codec)
    if text is None:
        return list(dialect.missing_marks)[1:]  # compressed or damaged: DuckDB gets all spellings
    between = "[,;|\\t\r\n]" if dialect.delimiter is None else f"[{re.escape(dialect.delimiter)}\r\n]"
    cells = {cell.removeprefix('"').removesuffix('"') for cell in re.split(between, text)}
    wanted = set(dialect.missing_marks) - {""}
    return sorted(cell for cell in cells if cell.strip() in wanted)


def unexpected_missing_mark(error: Exception, dialect: Dialect) -> str | None:
    """Return the missing cell that DuckDB could not convert, if that is the cause of an error."""
    found = re.search(r'Could not convert string "(.*?)" to', str(error))
    return found.group(1) if found and found.group(1).strip() in dialect.missing_marks else None


def translate_error(error: Exception, files: Sequence[str], dialect: Dialect) -> TableError:
    """Return DuckDB's error as one sentence."""
    text = str(error)
    where = files[0] if len(files) == 1 else "the files"
    line = re.search(r"CSV Error on Line: (\d+)", text)
    at = f"line {line.group(1)} of {where}" if line else where
    if "Invalid unicode" in text or "not utf-8" in text or "encoded" in text:
        return TableError(
            f"{at} is not written in {dialect.encoding}: give its encoding, such as --encoding cp1252 "
            "(Dialect(encoding=...) in Python)"
        )
    value = re.search(r'converting column "(.*?)". Could not convert string "(.*?)" to \'(\w+)\'', text)
    if value:
        column, cell, kind = value.groups()
        message = (
            f"{at}: column {column!r} looked like {kind}, but holds {cell!r}: {kind_cure(column, 'category')}; or "
            f"--missing {cell!r} (Dialect(missing=...)) if that is a missing cell"
        )
        return CellError(message, column) if kind in ("DOUBLE", "BIGINT") else TableError(message)
    if "gzip" in text.casefold() or (where.endswith(".gz") and read_start(files[0], "latin-1") is None):
        return TableError(f"{where} is not a gzip file, or is damaged: write it again")
    if where.endswith(".zst"):
        return TableError(f"{where} is not a zstd file of delimited text, or is damaged: write it again")
    ragged = find_ragged_line(files, dialect)
    if ragged is not None:
        return TableError(ragged)
    if any(len(_find_line_ends(read_start(file, dialect.codec, _SEARCHED << 6) or "")) > 1 for file in files[:8]):
        return TableError(f"{where} mixes line ends of Windows and Unix: write it with one of them, as dos2unix does")
    lines = text.removeprefix("Invalid Input Error: ").strip().splitlines()
    said = next((each for each in lines if not each.startswith(("CSV Error on Line", "Original Line"))), lines[0])
    cure = ""
    if dialect.delimiter is None and guess_delimiter(files[0], dialect.codec) is None:
        cure = ": none of , ; | and tab separates its cells; give --delimiter (Dialect(delimiter=...) in Python)"
    return TableError(f"{at} cannot be read as delimited text (DuckDB says: {said.strip().rstrip('.')}){cure}")


def find_ragged_line(files: Sequence[str], dialect: Dialect) -> str | None:
    """Return the error about the first line with another number of cells than the header, in any of the files."""
    return next(filter(None, (_ragged_line_in(path, dialect) for path in files)), None)


def _ragged_line_in(path: str, dialect: Dialect) -> str | None:
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


class CsvSource(DuckSource):
    """Delimited text, read by DuckDB."""

    numbers = NumberOptions(is_text=True)
    may_nest = False

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
        self.missing = dialect.missing_marks
        dialects = [replace(dialect, encoding=detect_encoding(file, dialect)) for file in files]
        if len({each.codec for each in dialects}) > 1 or not all(map(_is_read_by_duckdb, files, dialects)):
            files = self._in_utf_8(files, dialects)
            dialects = [replace(dialect, encoding="utf-8")]
        self._dialect = dialects[0]
        _check_delimiters(files, self._dialect)
        _check_titles(files, self._dialect)
        dialect = self._dialect
        self._gaps = sorted({gap for file in files[:8] for gap in find_missing_marks(file, dialect)})
        self._types = dict.fromkeys((name for name in strings if name not in partitions), "VARCHAR")
        self._found: dict[str, Any] | None = None
        self._partitions = list(partitions)  # columns of Hive partitions
        super().__init__(name, "", files, query, hidden=hidden)
        self._detect_format()

    def _detect_format(self) -> None:
        """Detect the format and the column types, once.

        Integers are read as floats: a later one may have a fraction, which would be rounded.
        """
        if len(self._files) == 1:
            self._found = self._sniff()
        self.notes = tuple(self._describe_lines_left_out())
        self._update_view()
        found = self.connection.sql("from data")
        types = {name: str(kind) for name, kind in zip(found.columns, found.types, strict=True)}
        self._names = names = [name for name in types if name not in self._partitions]
        if self._files[0].endswith(".zst") and names == ["column0"]:  # DuckDB stops there without an error
            raise TableError(f"{self._files[0]} is not a zstd file, or is damaged: write it again")
        ragged = find_ragged_line(self._suspects(names), self._dialect)
        if ragged is not None:
            raise TableError(self._named(ragged))
        self._types = {name: kind for name, kind in self._types.items() if name in names}
        self._types.update(dict.fromkeys(self._zero_padded([n for n in names if types[n] == "BIGINT"]), "VARCHAR"))
        whole = [name for name in names if types[name] == "BIGINT" and name not in self._types]
        if whole and not self._has_short_numbers():
            largest = ", ".join(f"max(abs({quoted(name)}::HUGEINT))" for name in whole)
            try:
                (most,) = self.connection.sql(f"select {largest} from (from data limit 20000)").fetchall()
            except _duckdb().Error:
                most = (None,) * len(whole)
            whole = [name for name, value in zip(whole, most, strict=True) if value is None or value <= _EXACT]
        self.whole = frozenset(whole)
        self._types.update(dict.fromkeys(self._long_codes([n for n in names if types[n] == "DOUBLE"]), "VARCHAR"))
        if self._delimiter() == ";":  # programs of countries with decimal commas write it
            points = self._find_columns([n for n in names if types[n] == "DOUBLE"], "bool_and", _POINTS)
            self._types.update(dict.fromkeys(points, "VARCHAR"))
        self._types.update(dict.fromkeys(whole, "DOUBLE"))
        dates = [name for name in names if types[name] in ("DATE", "TIMESTAMP") and name not in self._types]
        iso = self._find_columns(dates, "bool_and", _ISO_DATE) if self._may_have_other_dates() else dates
        self._types.update(dict.fromkeys((name for name in dates if name not in iso), "VARCHAR"))
        self._types.update(dict.fromkeys(self._infinite([n for n in names if types[n] == "VARCHAR"]), "DOUBLE"))
        if self._types:
            self._update_view()

    def _describe_lines_left_out(self) -> list[str]:
        """Return what the user is told about titles above the names of columns, and comments."""
        found, file = self._found or {}, self._files[0]
        skipped = (read_start(file, self._dialect.codec) or "").splitlines()[
            : found.get("skip", find_title_lines(file, self._dialect))
        ]
        delimiter = self._delimiter() or ","
        above = [line.strip(f"{delimiter} \ufeff") for line in skipped if not line.startswith("sep=")]
        above = [line for line in above if line]
        notes = [f"{self.name}: {tell_titles(above)}"] if above else []
        comment = found.get("comment")
        if comment:
            notes.append(f"{self.name}: lines that begin with {comment!r} are left out")
        return notes

    def _zero_padded(self, names: Sequence[str]) -> list[str]:
        """Return the columns in which a whole number begins with 0, as postcodes do, in the first or last rows."""
        names = [name for name in names if name not in self._types]
        if not names:
            return []
        at_end = {name for file in self._files[-8:] for name in zero_padded_at_end(file, self._dialect)}
        late = [name for name in names if name in at_end]
        self.categorical = frozenset(late)
        names = [name for name in names if name not in at_end]
        if not names or not any(has_zero_padded_numbers(file, self._dialect) for file in self._files[:8]):
            return late
        return late + self._find_columns(names, "bool_or", "^0[0-9]+$")

    def _long_codes(self, names: Sequence[str]) -> list[str]:
        """Return the columns of whole numbers with more digits than 64-bit integers hold, among the first rows."""
        text = read_start(self._files[0], self._dialect.codec)
        if text is not None and re.search(r"(?<![0-9.])[0-9]{17}", text) is None:
            return []
        return self._find_columns([name for name in names if name not in self._types], "bool_and", "^[0-9]{17,}$")

    def _find_columns(self, names: Sequence[str], quantifier: str, pattern: str) -> list[str]:
        """Return the columns of which any or all of the first cells, as they are written, match a pattern."""
        if not names:
            return []
        types = self._types
        self._types = {**types, **dict.fromkeys(names, "VARCHAR")}
        try:
            self._update_view()
            asked = ", ".join(f"{quantifier}(regexp_matches(trim({quoted(n)}), {literal(pattern)}))" for n in names)
            (found,) = self.connection.sql(f"select {asked} from (from data limit 20000)").fetchall()
        except _duckdb().Error:  # a line that cannot be read raises later
            found = (None,) * len(names)
        self._types = types
        self._update_view()
        return [name for name, is_found in zip(names, found, strict=True) if is_found]

    def _delimiter(self) -> str | None:
        return self._dialect.delimiter or guess_delimiter(self._files[0], self._dialect.codec)

    def _may_have_other_dates(self) -> bool:
        """Whether dates may be written in another way than 2024-12-31."""
        formats = [(self._found or {}).get(name) or "" for name in ("dateformat", "timestampformat")]
        return self._found is None or any(each and not each.startswith("%Y-%m-%d") for each in formats)

    def _has_short_numbers(self) -> bool:
        """Whether no number of the table has more digits than a float holds exactly, if a look at the text tells."""
        text = read_start(self._files[0], self._dialect.codec)
        is_whole = text is not None and len(text) < _LOOKED_AT and len(self._files) == 1
        return is_whole and re.search(rf"\d{{{_EXACT_DIGITS}}}", text or "") is None

    def _infinite(self, names: Sequence[str]) -> list[str]:
        """Return numeric columns that DuckDB reads as strings, since their first cell is infinite."""
        text = read_start(self._files[0], self._dialect.codec)
        if text is not None and len(self._files) == 1 and text.count("\n") > 1 and "inf" not in text.casefold():
            return []
        try:
            found = self.connection.sql("from data limit 1")
            cells = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
            names = [
                name
                for name in names
                if name not in self._types
                and any(str(row[name]).strip().lstrip("+-").lower() in ("inf", "infinity") for row in cells)
            ]
            if not names:
                return []
            numbers = (f"bool_and({quoted(n)} is null or try_cast({quoted(n)} as DOUBLE) is not null)" for n in names)
            (are_numbers,) = self.connection.sql(f"select {', '.join(numbers)} from (from data limit 20000)").fetchall()
        except _duckdb().Error:  # a line that cannot be read raises later
            return []
        return [name for name, is_number in zip(names, are_numbers, strict=True) if is_number]

    def _suspects(self, names: Sequence[str]) -> Sequence[str]:
        """Return the files in which DuckDB may have skipped lines, or a header, because of a ragged line."""
        anonymous = sum(_ANONYMOUS.fullmatch(name) is not None for name in names)
        if len(names) == 1 or anonymous == len(names):
            return self._files[:1]
        return self._files if anonymous and len(self._files) > 1 else ()

    def read_as_written(self, columns: Iterable[str]) -> None:
        """Read columns as strings, unless there is a query."""
        names = set() if self._query else set(self._names)
        wanted = [name for name in columns if name in names and self._types.get(name) != "VARCHAR"]
        if wanted:
            self._types.update(dict.fromkeys(wanted, "VARCHAR"))
            self.whole -= frozenset(wanted)
            self._update_view()

    def _sniff(self) -> dict[str, Any]:
        """Return the format that DuckDB detects, as arguments of ``read_csv``."""
        try:
            found = self.connection.sql(f"from sniff_csv({self._dialect.arguments(self._files, {}, self._gaps)})")
            (row,) = found.fetchall()
        except _duckdb().Error as error:
            raise self._translate_error(error) from None
        values: list[Any] = [None if value == "(empty)" else value for value in row]
        seen = dict(zip(found.columns, values, strict=True))
        return {
            "delim": seen["Delimiter"],
            "quote": seen["Quote"] or '"',  # the first quote may be in a later line
            "escape": seen["Escape"] or '"',
            "comment": seen["Comment"],
            "skip": seen["SkipRows"],
            "header": seen["HasHeader"],
            "columns": {column["name"]: column["type"] for column in seen["Columns"]},
            "new_line": escaped_line_end(self._files[0], self._dialect.codec),
            "dateformat": seen["DateFormat"],
            "timestampformat": seen["TimestampFormat"],
        }

    def _relation_of(self, file: str) -> str:
        """Return one of the files as an SQL relation."""
        return f"read_csv({self._dialect.arguments([file], {}, self._gaps)})"

    def _update_view(self) -> None:
        """Create the view that reads the text in the detected format."""
        hive = f"hive_partitioning = {literal(bool(self._partitions))}"
        if self._found is None:
            self._create_view(f"read_csv({self._dialect.arguments(self._files, self._types, self._gaps)}, {hive})")
            return
        found = {**self._found, "columns": {**self._found["columns"], **self._types}, "nullstr": ["", *self._gaps]}
        if self._dialect.codec != "utf-8":
            found["encoding"] = self._dialect.codec
        given = [f"{name} = {literal(value)}" for name, value in found.items() if value is not None]
        self._create_view(f"read_csv({', '.join([literal(self._files), 'auto_detect = false', hive, *given])})")

    def _in_utf_8(self, files: Sequence[str], dialects: Sequence[Dialect]) -> list[str]:
        """Return the files, and copies in UTF-8, with one line end, of those that DuckDB does not read."""
        folder = tempfile.mkdtemp(prefix="suffice-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        found = []
        for number, (file, dialect) in enumerate(zip(files, dialects, strict=True)):
            mixed = not file.endswith((".gz", ".zst")) and _has_mixed_line_ends(file, dialect.codec)
            if dialect.codec == "utf-8" and not mixed:
                found.append(file)
                continue
            if file.endswith((".gz", ".zst")):
                raise TableError(f"{file} is compressed and written in {dialect.encoding}: write it again in utf-8")
            copy = Path(folder, *(part for part in Path(file).parts[:-1] if "=" in part), f"{number}.csv")
            copy.parent.mkdir(parents=True, exist_ok=True)
            try:
                with (
                    Path(file).open(encoding=dialect.codec, newline=None if mixed else "") as read,
                    copy.open("w", encoding="utf-8", newline="") as write,
                ):
                    while text := read.read(1 << 20):
                        write.write(text)
            except UnicodeError as error:
                raise TableError(f"{file} is not written in {dialect.encoding} ({error}): give its encoding") from None
            found.append(str(copy))
        return found

    def rows(self) -> int | None:
        """Estimate the number of rows from the length of the first lines; None if files are compressed."""
        if self._query or any(file.endswith((".gz", ".zst")) for file in self._files):
            return None
        text = read_start(self._files[0], self._dialect.codec)
        if not text or "\n" not in text:
            return None
        length = len(text.encode(self._dialect.codec)) / max(text.count("\n"), 1)
        return round(sum(Path(file).stat().st_size for file in self._files) / length)

    def _recovers_from(self, error: Exception) -> bool:
        """Whether the error was a spelling of missing cells that is now known."""
        gap = unexpected_missing_mark(error, self._dialect)
        if gap is None or gap in self._gaps:
            return False
        self._gaps.append(gap)
        self._update_view()
        return True

    def _translate_error(self, error: Exception) -> TableError:
        found = super()._translate_error(error)
        if "the query" in str(found):
            return found
        translated = translate_error(error, self._files, self._dialect)
        message = self._named(str(translated))
        return CellError(message, translated.column) if isinstance(translated, CellError) else TableError(message)

    def _named(self, sentence: str) -> str:
        """Return a message with the user's name of a file."""
        return sentence.replace(self._files[0], self.name) if len(self._files) == 1 else sentence

"""Sheets of workbooks (.xlsx, .xls, .ods) as tables, read by python-calamine."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from suffice.tables.errors import MissingExtraError, TableError, listed, nearest, tell_titles
from suffice.tables.number_format import MARKS, count_cells, find_notation
from suffice.tables.sources.base import BATCH, ArrowSource, NumberOptions, Source, arrow
from suffice.tables.sources.csv import MARKUP, Dialect
from suffice.tables.sources.duckdb import DuckSource

#: First rows of a sheet in which the row of names is looked for.
_TOP = 50

Cells = list[Any]  # numbers, strings, booleans, dates; None for an empty cell


def open_workbooks(name: str, files: Sequence[str], sheet: str, dialect: Dialect, query: str | None) -> Source:
    """Open a sheet of a workbook, or the sheets of that name of several, as one table.

    Parameters
    ----------
    name
        Name of the table in messages.
    files
        The workbooks.
    sheet
        Name or number of the sheet; empty if each workbook has only one with cells.
    dialect
        Whether the sheets have names of columns, and how strings are read as numbers.
    query
        A SELECT over the table, which is named ``data``.
    """
    parts, notes = [], []
    for file in files:
        columns, note = _read_sheet(file, sheet, dialect.header)
        parts.append((file, columns))
        notes += [note] if note else []
    names = list(dict.fromkeys(column for _, columns in parts for column in columns))
    lengths = [len(next(iter(columns.values()), [])) for _, columns in parts]
    options = NumberOptions(dialect.decimal, dialect.thousands, dialect.day_first, is_text=True, is_typed=True)
    frame = arrow().table(
        {
            column: _to_arrow(
                column,
                [
                    cell
                    for (_, columns), length in zip(parts, lengths, strict=True)
                    for cell in columns.get(column, [None] * length)
                ],
                options,
            )
            for column in names
        }
    )
    source: Source
    if query:
        source = DuckSource(name, "", query=query, frame=frame)
    else:
        by_file = [(file, list(columns)) for file, columns in parts] if len(parts) > 1 else []
        source = ArrowSource(name, lambda: frame.to_reader(BATCH), frame.num_rows, by_file)
    source.missing, source.numbers, source.notes = dialect.missing_marks, options, tuple(notes)
    return source


def _read_sheet(file: str, sheet: str, header: bool | None) -> tuple[dict[str, Cells], str]:
    """Return the columns of a sheet by their names, and what the user is told about it."""
    try:
        import python_calamine as calamine
    except ImportError:
        raise MissingExtraError("reading a workbook needs python-calamine: pip install 'suffice[excel]'") from None
    try:
        with Path(file).open("rb") as opened:
            book = calamine.load_workbook(opened)
            name = _find_sheet(book, file, sheet)
            found = book.get_sheet_by_name(name)
            rows = [[_plain(cell) for cell in row] for row in found.to_python()]
    except calamine.PasswordError:
        raise TableError(f"{file} has a password: save a copy without it") from None
    except (calamine.CalamineError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise TableError(_describe_damage(file, error)) from None
    return _columns(rows, f"sheet {name!r} of {file}", header)


def _describe_damage(file: str, error: Exception) -> str:
    """Return why a file is not read as a workbook: programs give this name to web pages and to delimited text, too."""
    with Path(file).open("rb") as opened:
        start = opened.read(1 << 12)
    if MARKUP.match(start):
        return f"{file} is a web page or XML: open it in a spreadsheet program, and save it as .xlsx or CSV"
    is_text = b"\0" not in start or start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if start and is_text and not start.startswith(b"PK"):
        return f"{file} is text, not a workbook: rename it to end in .csv"
    return f"{file} is not a workbook, or is damaged ({error}): save it again, or as CSV"


def _find_sheet(book: Any, file: str, sheet: str) -> str:
    """Return the name of the sheet that is named or numbered, or of the only one with cells that is not hidden."""
    shown = [each.name for each in book.sheets_metadata if str(each.visible).endswith("Visible")]
    if sheet:
        if sheet in book.sheet_names:
            return sheet
        if sheet.isdecimal() and 1 <= int(sheet) <= len(book.sheet_names):
            return str(book.sheet_names[int(sheet) - 1])
        names = list(map(str, book.sheet_names))
        raise TableError(f"{file} has no sheet {sheet!r}; it has {listed(names)}{nearest(sheet, names)}")
    full = [str(name) for name in shown if book.get_sheet_by_name(name).start is not None]
    if not full:
        raise TableError(f"{file} has no sheet with cells: there is nothing to learn from")
    if len(full) > 1:
        raise TableError(
            f"{file} has {len(full)} sheets, {listed(full)}: say which, with --sheet NAME ({file}::NAME in Python)"
        )
    return full[0]


def _plain(cell: Any) -> Any:
    """Return a cell, None for an empty one or an error; durations as days, as the workbook stores them."""
    if isinstance(cell, timedelta):
        return cell / timedelta(days=1)
    if isinstance(cell, time):
        return cell.isoformat()
    if isinstance(cell, str):
        cell = cell.strip()
    return None if cell == "" else cell


def _columns(rows: list[Cells], where: str, header: bool | None) -> tuple[dict[str, Cells], str]:
    """Return the columns of the rows of a sheet by their names, and a note about rows above the names."""
    filled = [sum(cell is not None for cell in row) for row in rows]
    widest = max(filled[:_TOP], default=0)
    if not widest:
        raise TableError(f"{where} is empty: there is nothing to learn from")
    first = next(row for row, cells in enumerate(filled) if cells > widest / 2)
    body = rows[first:] if header is False else rows[first + 1 :]
    used = [place for place in range(len(rows[first])) if any(row[place] is not None for row in rows[first:])]
    if header is not False and not any(isinstance(rows[first][place], str) for place in used):
        raise TableError(
            f"row {first + 1} of {where} has no names of columns, but {listed(rows[first], 3)}: add them, or give "
            "--no-header (Dialect(header=False) in Python)"
        )
    names = [_name(rows[first][place], place) if header is not False else f"column{place}" for place in used]
    body = [row for row in body if any(cell is not None for cell in row)]
    above = [str(cell) for row in rows[:first] for cell in row if cell is not None]
    note = f"{where}: {tell_titles(above)}" if above else ""
    columns = zip(_distinct(names), used, strict=True)
    return {name: [row[place] for row in body] for name, place in columns}, note


def _name(cell: Any, place: int) -> str:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)  # a year
    return f"column{place}" if cell is None else str(cell)


def _distinct(names: list[str]) -> list[str]:
    """Return names, with numbers after those that are taken, as DuckDB gives them to columns of delimited text."""
    found: list[str] = []
    for name in names:
        number = 0
        while (shown := f"{name}_{number}" if number else name) in found:
            number += 1
        found.append(shown)
    return found


def _to_arrow(name: str, cells: Cells, options: NumberOptions) -> Any:
    """Return a column as Arrow: of one type if all of its cells have it, and else as strings.

    Numbers that are stored as strings, among numbers, are written like these.
    """
    pa = arrow()
    types = {type(cell) for cell in cells} - {type(None)}
    if types <= {int, float}:
        is_whole = bool(types) and all(cell is None or (cell == int(cell) and abs(cell) < 2**53) for cell in cells)
        return pa.array(
            [None if cell is None else int(cell) for cell in cells] if is_whole else cells, from_pandas=True
        )
    if types <= {date, datetime, str} and types != {str}:
        dates = [None if isinstance(cell, str) and cell.casefold() in MARKS else cell for cell in cells]
        if not any(isinstance(cell, str) for cell in dates):
            moments = pa.array([None if cell is None else _moment(cell) for cell in dates], type=pa.timestamp("us"))
            has_times = any(isinstance(cell, datetime) and cell.time() != time() for cell in dates)
            return moments if has_times else moments.cast(pa.date32())
    if len(types) == 1:
        return pa.array(cells)
    if types <= {int, float, str}:
        cells = _unify_numbers(name, cells, options)
    return pa.array([None if cell is None else _written(cell) for cell in cells], type=pa.string())


def _unify_numbers(name: str, cells: Cells, options: NumberOptions) -> Cells:
    """Return cells with strings that are numbers in some notation as numbers."""
    pa = arrow()
    strings = pa.array([cell if isinstance(cell, str) else None for cell in cells], type=pa.string())
    found = find_notation(name, count_cells(strings), options).format
    if found is None:
        return cells
    numbers = found.parse(strings)[0].to_pylist()
    return [cell if number is None else number for cell, number in zip(cells, numbers, strict=True)]


def _moment(day: date) -> datetime:
    return day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)


def _written(cell: Any) -> str:
    """Return a cell as a string: numbers with a decimal point, and not with three decimals, as thousands have."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        cell = int(cell)
    if isinstance(cell, float):
        return f"{cell}0" if len(str(cell).partition(".")[2]) == 3 else str(cell)
    return cell.isoformat() if isinstance(cell, date) else str(cell)

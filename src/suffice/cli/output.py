"""Output: results on standard output, notes and errors on standard error, colour on terminals only."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from suffice.printable import printable, printable_lines

#: Width without a terminal: every row of a table is one line.
_WIDE = 10_000


def console(error: bool = False) -> Any:
    """Return a console of rich, as wide as the terminal, or without a limit if there is none."""
    from rich.console import Console

    class RaisingConsole(Console):
        def on_broken_pipe(self) -> None:
            """Raise, so that the command can end without an error."""
            raise BrokenPipeError

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else _WIDE
    return RaisingConsole(file=stream, width=width, highlight=False, emoji=False, soft_wrap=not stream.isatty())


def _is_styled(stream: Any) -> bool:
    """Whether lines have colours and are wrapped; otherwise rich, which is slow to import, is not needed."""
    return bool(stream.isatty() or os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE"))


def _write(text: str, stream: Any) -> None:
    stream.write(text.expandtabs() + "\n")
    stream.flush()


def rule(title: str) -> None:
    """Print a heading."""
    if not _is_styled(sys.stdout):
        print_line(f"-- {title} --")
        return
    from rich.markup import escape

    console().rule(f"[bold]{escape(printable(title))}")


def say(message: str, kind: str = "note") -> None:
    """Print a note, a warning or an error to standard error; --quiet leaves errors only."""
    context = click.get_current_context(silent=True)
    if kind != "error" and context is not None and context.params.get("quiet"):
        return
    from suffice.tables.errors import masked

    name, style = {"error": ("error:", "[bold red]"), "warning": ("note:", "[yellow]"), "note": ("", "")}[kind]
    text = printable_lines(masked(message))
    if not _is_styled(sys.stderr):
        _write(f"{name} {text}" if name else text, sys.stderr)
        return
    from rich.markup import escape

    console(error=True).print((f"{style}{name}[/] " if name else "") + escape(text))


def show_json(value: Any) -> None:
    """Print a value as JSON; numbers that are not finite as null, control characters escaped."""
    text = json.dumps(_plain(value), indent=2, ensure_ascii=False)
    sys.stdout.write("\n".join(_escaped(line) for line in text.split("\n")) + "\n")


def _escaped(line: str) -> str:
    return line if line.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)


def show_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None, marked: int | None = None
) -> None:
    """Print a table; columns of numbers are aligned to the right."""
    columns = [printable(name) for name in columns]
    is_right = [
        bool(rows) and all(isinstance(row[place], int | float) or _looks_numeric(row[place]) for row in rows)
        for place in range(len(columns))
    ]
    cells = [[shown(cell) for cell in row] for row in rows]
    title = None if title is None else printable(title)
    if not _is_styled(sys.stdout):
        lines = _align([columns, *cells], is_right)
        sys.stdout.write("".join(line + "\n" for line in ([title] if title else []) + lines))
        return
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title and escape(title), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, right in zip(columns, is_right, strict=True):
        table.add_column(escape(name), justify="right" if right else "left", header_style="dim", overflow="fold")
    for number, row in enumerate(cells):
        table.add_row(*map(escape, row), style="bold" if number == marked else None)
    console().print(table)


def _align(rows: Sequence[Sequence[str]], is_right: Sequence[bool]) -> list[str]:
    """Return rows of cells as lines with two spaces between columns.

    Examples
    --------
    >>> _align([["model", "loss"], ["nb", "0.5"]], [False, True])
    ['model  loss', 'nb      0.5']
    """
    widths = [max(map(_columns_of, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        gaps = [" " * (width - _columns_of(cell)) for cell, width in zip(row, widths, strict=True)]
        parts = [gap + cell if right else cell + gap for cell, gap, right in zip(row, gaps, is_right, strict=True)]
        lines.append("  ".join(parts).rstrip())
    return lines


def _columns_of(text: str) -> int:
    """Return the number of columns that text takes on a terminal."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _looks_numeric(cell: Any) -> bool:
    return isinstance(cell, str) and cell.strip("±-–+.0123456789 %e,◂") == "" and cell.strip() != ""


def shown(cell: Any) -> str:
    """Return a cell as text: numbers with four digits, no control characters.

    Examples
    --------
    >>> shown(0.123456), shown(12), shown(None)
    ('0.1235', '12', '')
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return "–" if math.isnan(cell) else f"{cell:.4g}" if abs(cell) < 1e4 else f"{cell:,.0f}"
    return printable(str(cell))


def print_line(text: str = "", style: str = "") -> None:
    """Print a line."""
    text = printable_lines(text)
    if not _is_styled(sys.stdout):
        _write(text, sys.stdout)
        return
    from rich.markup import escape

    console().print(escape(text), style=style)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"


def share(part: float) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> share(0.8512)
    '85.1 %'
    """
    return f"{100 * part:.1f} %"


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Any]:
    """Yield a callback for the progress of long work: a bar with rate and remaining time, on terminals only."""
    if quiet or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console(error=True), transient=True) as progress:
        task = progress.add_task("", total=None, rate="")
        stage, started = "", time.monotonic()

        def watch(work: str, done: int, total: int | None) -> None:
            nonlocal stage, started
            if work != stage:
                stage, started = work, time.monotonic()
                progress.reset(task, total=total, description=work, rate="")
            seconds = time.monotonic() - started
            rate = f"{done / seconds:,.0f} rows/s" if work == "reading" and seconds > 0.2 else ""
            progress.update(task, completed=done, total=total, description=work, rate=rate)

        yield watch

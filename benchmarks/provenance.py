"""The commit at which each stored table was measured: a line below the table."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: The line below a table; a table of which some rows were measured anew has the commits of its oldest and newest rows.
MEASURED = re.compile(r"^Measured at commits? (`\w+` \([\d-]+\))(?: to (`\w+` \([\d-]+\)))?\.$", re.MULTILINE)


def current_commit() -> str:
    """Return the commit of the checkout and its date."""
    command = ("git", "-C", ROOT, "log", "-1", "--format=`%h` (%cs)", "--abbrev=7")
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def split_tables(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield the rows of each table, and the line below it that names its commits, or an empty one."""
    for block in re.finditer(r"((?:^\|.*\n)+)\n?(Measured at .*)?", text, re.MULTILINE):
        yield block[1].splitlines()[2:], block[2] or ""


def describe(commits: Iterable[str]) -> str:
    """Return the line below a table.

    >>> describe(["`1a` (2026-01-02)", "`2b` (2026-01-03)"])
    'Measured at commits `1a` (2026-01-02) to `2b` (2026-01-03).'
    """
    first, *others = dict.fromkeys(commits)
    return f"Measured at commits {first} to {others[-1]}." if others else f"Measured at commit {first}."


def add_commits(text: str, before: str, commit: str) -> str:
    r"""Return a page of which each table names its commits: this one for new rows, those of the page before for others.

    >>> before = "| a |\n|---|\n| 1 |\n| 2 |\n\nMeasured at commit `1a` (2026-01-02).\n"
    >>> print(add_commits("| a |\n|---|\n| 1 |\n| 3 |\n", before, "`2b` (2026-01-03)"), end="")
    | a |
    |---|
    | 1 |
    | 3 |
    <BLANKLINE>
    Measured at commits `1a` (2026-01-02) to `2b` (2026-01-03).
    """
    known: dict[str, list[str]] = {}
    for rows, line in split_tables(before):
        if match := MEASURED.match(line):
            known |= {row: [each for each in match.groups() if each] for row in rows}

    def add_line(block: re.Match[str]) -> str:
        rows = block[0].splitlines()[2:]
        kept = [each for row in rows for each in known.get(row, ())]
        oldest_first = sorted(kept, key=lambda each: each.partition("(")[2])
        return f"{block[0]}\n{describe([*oldest_first, *([] if all(row in known for row in rows) else [commit])])}\n"

    return re.sub(r"(?:^\|.*\n)+", add_line, re.sub(r"\nMeasured at .*\n", "", text), flags=re.MULTILINE)


def store(path: Path, text: str) -> None:
    """Write a page of results, each table with the commits at which it was measured."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(add_commits(text, before, current_commit()), encoding="utf-8")

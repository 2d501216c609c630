"""Stored tables name the commit at which they were measured; rows that fell are named."""

from __future__ import annotations

import re
import runpy
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks.harness import Outcome, Task, Timing
from benchmarks.provenance import MEASURED, add_commits, split_tables
from benchmarks.quick import compare

ROOT = Path(__file__).parents[2]
EXTENSION = runpy.run_path(str(ROOT / "docs" / "_extensions" / "figures.py"))
PAGES = sorted((ROOT / "benchmarks").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_stored_table_names_its_commit(page: Path) -> None:
    tables = list(split_tables(page.read_text(encoding="utf-8")))
    assert tables
    assert [rows[0] for rows, line in tables if not MEASURED.fullmatch(line)] == []


def test_commits_of_stored_tables_are_in_the_history() -> None:
    git = ("git", "-C", str(ROOT))
    shallow = subprocess.run(
        (*git, "rev-parse", "--is-shallow-repository"), capture_output=True, text=True, check=False
    )
    if shallow.stdout.strip() != "false":
        pytest.skip("needs a checkout with its whole history")
    named = {
        each
        for page in PAGES
        for match in MEASURED.finditer(page.read_text(encoding="utf-8"))
        for each in match.groups()
        if each
    }
    history = subprocess.run(
        (*git, "log", "--abbrev=7", "--format=`%h` (%cs)"), capture_output=True, text=True, check=True
    )
    assert sorted(named - set(history.stdout.splitlines())) == []


def test_figures_of_the_readme_are_stored() -> None:
    stored = " ".join(page.read_text(encoding="utf-8").replace("&nbsp;", " ") for page in PAGES)
    _, _, readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("| commit |\n")
    rows = [[cell.strip() for cell in row.split("|")[2:5]] for row in readme.partition("\n\n")[0].splitlines()[1:]]
    figures = [
        figure for ours, its, _ in rows for figure in re.findall(r"\d[\d.,]*(?:e\+\d+)?(?: ms|×)?", f"{ours} {its}")
    ]
    assert len(rows) == 6
    assert len(figures) > 12
    assert [each for each in [*figures, *(commit for *_, commit in rows)] if each.strip(",") not in stored] == []


def test_a_table_measured_anew_names_the_new_commit_alone() -> None:
    before = add_commits("| a |\n|---|\n| 1 |\n\ntext\n", "", "`1a` (2026-01-02)")
    again = add_commits("| a |\n|---|\n| 2 |\n\ntext\n", before, "`2b` (2026-01-03)")
    assert again == "| a |\n|---|\n| 2 |\n\nMeasured at commit `2b` (2026-01-03).\n\ntext\n"
    assert add_commits(again, again, "`3c` (2026-01-04)") == again


def test_a_page_says_the_age_of_old_figures_and_not_of_new_ones(tmp_path: Path) -> None:
    git = ("git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@a.example")
    (tmp_path / "docs").mkdir()
    (tmp_path / "benchmarks").mkdir()

    def commit(count: int) -> str:
        for _ in range(count):
            subprocess.run((*git, "commit", "--quiet", "--allow-empty", "-m", "a"), check=True)
        return subprocess.run((*git, "rev-parse", "--short", "HEAD"), check=True, capture_output=True, text=True).stdout

    def included(line: str) -> str:
        contents = [f"| a |\n\n{line}\n"]
        EXTENSION["read_include"](SimpleNamespace(srcdir=tmp_path / "docs"), Path("../benchmarks/a.md"), "a", contents)
        return contents[0]

    new = "Measured at commit `{}` (2026-01-02)."
    assert included(new.format("1234567")) == f"| a |\n\n{new.format('1234567')}\n"  # outside of a checkout
    subprocess.run((*git, "init", "--quiet"), check=True)
    first = commit(1).strip()
    last = commit(3).strip()
    EXTENSION["add_ages"].__globals__["MANY"] = 2
    assert included(new.format(last)) == f"| a |\n\n{new.format(last)}\n"
    assert "That is 3 commits old: today's figures may differ.\n" in included(new.format(first))
    assert "more than 4 commits old" in included(new.format("1234567"))  # not in this clone


def outcome(name: str, ours: float, rival: float) -> Outcome:
    return Outcome(name, Timing(ours), {"rival": Timing(rival)})


def test_rows_whose_ratio_fell_twice_are_named() -> None:
    stored = {"Sums": [outcome(name, 0.01, 0.1) for name in ("slower", "noisy", "level")] + [outcome("long", 1.0, 9.0)]}
    times = {"slower": [0.02, 0.02], "noisy": [0.02, 0.01], "level": [0.011]}

    def tasks() -> list[Task]:
        return [Task(name, int, {"rival": int}, {}) for name in ("slower", "noisy", "level", "long", "new")]

    found = compare({"Sums": tasks}, stored, lambda task: outcome(task.name, times[task.name].pop(0), 0.1))
    assert found == (3, ["slower, beside rival: 5.00, stored 10.00 (-50%)"], [])


def test_rows_without_time_are_named() -> None:
    stored = {"Sums": [outcome("a", 0.01, 0.1)], "Models": [outcome("b", 0.01, 0.1)]}
    measured, fallen, left = compare({"Sums": list, "Models": list}, stored, lambda task: outcome(task.name, 1, 1), 0)
    assert (measured, fallen, left) == (0, [], ["a", "b"])

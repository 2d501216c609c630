"""Say below a stored table of measurements how many commits ago it was measured, where these are many."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

#: The age, in commits, from which on it is said.
MANY = 200


def count_commits(folder: Path, commit: str) -> tuple[int, bool] | None:
    """Return the number of commits since one, and whether there may be more; None outside of a checkout."""
    count = ("git", "-C", folder, "rev-list", "--count")
    for revisions, is_partial in ((f"{commit}..HEAD", False), ("HEAD", True)):  # a clone may lack the commit
        done = subprocess.run((*count, revisions, "--"), capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return int(done.stdout), is_partial
    return None


def add_ages(folder: Path, text: str) -> str:
    """Return a page of results in which the lines with the commits of old tables name their age."""

    def add_age(line: re.Match[str]) -> str:
        age = count_commits(folder, line[1])
        if age is None or (age[0] <= MANY and not age[1]):
            return line[0]
        subject = "The oldest rows are" if " to `" in line[0] else "That is"
        more = "more than " if age[1] else ""
        return f"{line[0]} {subject} {more}{age[0]} commits old: today's figures may differ."

    return re.sub(r"^Measured at commits? `(\w+)`.*$", add_age, text, flags=re.MULTILINE)


def read_include(app: Any, path: Path, parent: str, contents: list[str]) -> None:
    """Change what a page includes of the stored results; paths are relative to the folder of the pages."""
    folder = Path(app.srcdir, path).resolve().parent
    if folder.name == "benchmarks":
        contents[0] = add_ages(folder, contents[0])


def setup(app: Any) -> dict[str, bool]:
    app.connect("include-read", read_include)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Measure everything, print the table, and store it where the documentation shows it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks import sums
from benchmarks.harness import Outcome, as_json, machine, measure, table

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Run the tasks whose name contains the given words; store the table when all were run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="run only the tasks with this in their name")
    only = parser.parse_args().only
    outcomes: list[Outcome] = []
    for task in sums.tasks():
        if only in task.name:
            outcomes.append(measure(task))
            print(_plain(table(outcomes[-1:]).splitlines()[2]), flush=True)
    print(f"\n{machine()}\n\n{_plain(table(outcomes))}")
    if not only:
        (ROOT / "benchmarks" / "results.json").write_text(json.dumps(as_json(outcomes), indent=1) + "\n")
        (ROOT / "benchmarks" / "results.md").write_text(f"{machine()}\n\n{table(outcomes)}\n")
        print("\nstored in benchmarks/results.md and results.json")


def _plain(markdown: str) -> str:
    return markdown.replace("&nbsp;", " ")


if __name__ == "__main__":
    main()

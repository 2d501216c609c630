"""Measure everything, print the table, and store it where the documentation shows it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks import local, models, regressions, stochastic, sums
from benchmarks.harness import Outcome, as_json, machine, measure, table

ROOT = Path(__file__).parent.parent
SECTIONS = {
    "Sums": sums.tasks,
    "Models": models.tasks,
    "Regressions": regressions.tasks,
    "Stochastic steps": stochastic.tasks,
    "Local regressions": local.tasks,
}


def main() -> None:
    """Run the tasks whose name contains the given words; store the table when all were run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("only", nargs="?", default="", help="run only the tasks with this in their name")
    only = parser.parse_args().only
    sections: dict[str, list[Outcome]] = {}
    for section, tasks in SECTIONS.items():
        outcomes = sections[section] = []
        for task in tasks():
            if only in task.name:
                outcomes.append(measure(task))
                print(_plain("\n".join(table(outcomes[-1:]).splitlines()[2:])), flush=True)
    tables = "\n\n".join(f"## {section}\n\n{table(outcomes)}" for section, outcomes in sections.items() if outcomes)
    print(f"\n{machine()}\n\n{_plain(tables)}")
    if not only:
        everything = [outcome for outcomes in sections.values() for outcome in outcomes]
        (ROOT / "benchmarks" / "results.json").write_text(json.dumps(as_json(everything), indent=1) + "\n")
        (ROOT / "benchmarks" / "results.md").write_text(f"{machine()}\n\n{tables}\n")
        print("\nstored in benchmarks/results.md and results.json")


def _plain(markdown: str) -> str:
    return markdown.replace("&nbsp;", " ")


if __name__ == "__main__":
    main()

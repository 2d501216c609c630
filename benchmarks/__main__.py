"""Run the benchmarks, print the table, and store it for the documentation."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import local, models, regressions, small, stochastic, sums, text
from benchmarks.harness import Outcome, Task, from_json, machine, measure, table, to_json
from benchmarks.provenance import store
from benchmarks.quick import report

SECTIONS: dict[str, Callable[[], Iterable[Task]]] = {
    "Sums": sums.tasks,
    "Models": models.tasks,
    "Regressions": regressions.tasks,
    "Stochastic steps": stochastic.tasks,
    "Local regressions": local.tasks,
    "Text": text.tasks,
    "Small calls": small.tasks,
}
RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    """Run the sections or tasks with one of the given words in their name, and update the stored table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("only", nargs="*", default=[""], help="run only tasks with one of these words in their name")
    parser.add_argument("--quick", action="store_true", help="compare short tasks with stored ratios, store nothing")
    given = parser.parse_args()
    only = given.only
    stored = from_json(json.loads(RESULTS.read_text())) if RESULTS.exists() else {}
    if given.quick:
        short = ("Small calls", "Sums", "Models", "Regressions", "Stochastic steps")
        sys.exit(report({name: SECTIONS[name] for name in short}, stored) > 0)
    stored_names = [*SECTIONS, *(outcome.task for outcomes in stored.values() for outcome in outcomes)]
    has_new = any(not any(word in name for name in stored_names) for word in only)  # a task that is not stored yet
    for section, tasks in SECTIONS.items():
        wanted = any(word in section for word in only)
        known = {outcome.task: outcome for outcome in stored.get(section, [])}
        measured: list[Outcome] = []
        listed: list[str] = []
        if wanted or any(word in name for word in only for name in known) or has_new or section not in stored:
            for task in tasks():
                listed.append(task.name)
                if wanted or any(word in task.name for word in only):
                    measured.append(measure(task))
                    print(_plain("\n".join(table(measured[-1:]).splitlines()[2:])), flush=True)
                elif task.name in known:
                    measured.append(known[task.name])
            # Tasks whose data are missing here are not listed: a partial run keeps their rows.
            kept = [outcome for name, outcome in known.items() if name not in listed and only != [""]]
            stored[section] = [*measured, *kept]
    stored = {section: stored[section] for section in SECTIONS if stored.get(section)}
    tables = "\n\n".join(f"## {section}\n\n{table(outcomes)}" for section, outcomes in stored.items())
    RESULTS.write_text(json.dumps(to_json(stored), indent=1) + "\n")
    store(RESULTS.with_suffix(".md"), f"{machine()}\n\n{tables}\n")
    print("\nstored in benchmarks/results.md and results.json")


def _plain(markdown: str) -> str:
    return markdown.replace("&nbsp;", " ")


if __name__ == "__main__":
    main()

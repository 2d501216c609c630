"""Measure the tasks that take little time, and name those whose ratio fell against the stored one: nothing is stored.

``make bench-quick`` takes at most three minutes. Ratios of libraries on one machine depend less on the machine than
times do, but not only on the code: repeat a row that fell with ``python -m benchmarks "ITS NAME"``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from benchmarks.harness import Outcome, Task, measure

ROUNDS = 5
#: Tasks are measured that took at most this many seconds for one round of all libraries.
LONGEST = 0.5
#: The time for all tasks, in seconds; the last task may end later.
BUDGET = 130.0
#: The share of its ratio that a row may lose: best times of few rounds vary by about a tenth.
TOLERANCE = 0.15


def round_seconds(outcome: Outcome) -> float:
    """Return the time of one round of all libraries."""
    return sum(each.best for each in (outcome.ours, *outcome.rivals.values(), *outcome.limits.values()))


def list_fallen(stored: Outcome, measured: Outcome) -> list[str]:
    """Return a line for each library beside which the task is slower than it was."""
    lines = []
    for name, timing in measured.rivals.items():
        if name in stored.rivals:
            before, now = stored.rivals[name].best / stored.ours.best, timing.best / measured.ours.best
            if now < before * (1 - TOLERANCE):
                lines.append(
                    f"{measured.task}, beside {name}: {now:.2f}, stored {before:.2f} ({now / before - 1:+.0%})"
                )
    return lines


def compare(
    sections: Mapping[str, Callable[[], Iterable[Task]]],
    stored: Mapping[str, Iterable[Outcome]],
    measure_task: Callable[[Task], Outcome],
    budget: float = BUDGET,
) -> tuple[int, list[str], list[str]]:
    """Return the number of tasks measured, the lines of those that fell twice, and the tasks there was no time for."""
    deadline = time.monotonic() + budget
    measured, fallen, left = 0, [], []
    for section, tasks in sections.items():
        quick = {each.task: each for each in stored.get(section, ()) if round_seconds(each) <= LONGEST}
        pending = dict.fromkeys(quick)
        for task in tasks() if quick and time.monotonic() < deadline else ():
            if task.name in pending and time.monotonic() < deadline:
                del pending[task.name]
                measured += 1
                lines = list_fallen(quick[task.name], measure_task(task))
                fallen += lines and list_fallen(quick[task.name], measure_task(task))  # again, since times vary
            if not pending or time.monotonic() >= deadline:
                break
        left += pending
    return measured, fallen, left


def report(sections: Mapping[str, Callable[[], Iterable[Task]]], stored: Mapping[str, Iterable[Outcome]]) -> int:
    """Measure, print what fell, and return the number of ratios that did."""
    measured, fallen, left = compare(sections, stored, lambda task: measure(task, ROUNDS))
    for line in fallen:
        print(f"fell: {line}")
    if left:
        print(f"not measured, for want of time or data: {'; '.join(left)}")
    print(f"{measured} tasks measured; {len(fallen)} ratios fell by more than {TOLERANCE:.0%} of the stored ones")
    return len(fallen)

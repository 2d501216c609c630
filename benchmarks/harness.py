"""Timing of several libraries on one task: interleaved, best of several rounds, with the peak memory of each."""

from __future__ import annotations

import ctypes
import gc
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

Work = Callable[[], object]

ROUNDS = 25
PATIENCE = 5.0  # time limit of a library for all rounds after the second


@dataclass(frozen=True)
class Task:
    """A task for suffice and other libraries, with a lower bound of the time on this machine."""

    name: str
    ours: Work
    rivals: dict[str, Work]
    limits: dict[str, Work]
    prepare: Work = lambda: None  # runs once before, untimed: fits models, compares predictions


@dataclass
class Timing:
    """The best time of a library, in seconds, and the memory that it allocated, in bytes."""

    best: float = float("inf")
    spent: float = 0.0
    runs: int = 0
    extra_memory: int | None = None


@dataclass
class Outcome:
    """All timings of a task."""

    task: str
    ours: Timing
    rivals: dict[str, Timing] = field(default_factory=dict)
    limits: dict[str, Timing] = field(default_factory=dict)


def measure(task: Task, rounds: int = ROUNDS) -> Outcome:
    """Run all libraries in turn, for several rounds, and keep the best time of each."""
    task.prepare()
    outcome = Outcome(
        task.name, Timing(), {name: Timing() for name in task.rivals}, {name: Timing() for name in task.limits}
    )
    contenders = [
        (task.ours, outcome.ours),
        *((work, outcome.rivals[name]) for name, work in task.rivals.items()),
        *((work, outcome.limits[name]) for name, work in task.limits.items()),
    ]
    for work, timing in contenders:  # also warms up
        timing.extra_memory = _extra_memory(work)
    for _ in range(rounds):
        for work, timing in contenders:
            if timing.runs >= 2 and timing.spent > PATIENCE:
                continue
            gc.collect()
            started = time.perf_counter()
            work()
            taken = time.perf_counter() - started
            timing.best = min(timing.best, taken)
            timing.spent += taken
            timing.runs += 1
    return outcome


def _extra_memory(work: Work) -> int | None:
    """Return the increase of the process's peak memory during the work; None if it cannot be measured."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    gc.collect()
    if platform.system() == "Linux":  # memory that the allocator keeps would hide new allocations
        getattr(ctypes.CDLL(None), "malloc_trim", int)(0)
    try:
        reset.write_text("5")  # reset the peak
        before = _status(status, "VmRSS")
        work()
        return max(0, _status(status, "VmHWM") - before)
    except OSError:
        work()
        return None


def _status(path: Path, name: str) -> int:
    line = next(line for line in path.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def machine() -> str:
    """Return a description of the machine and the versions."""
    import os

    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        cpu = next(
            (line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line), cpu
        )
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return f"{cpu}, {os.cpu_count()} cores; {platform.system()}, Python {platform.python_version()}, {packages}"


def table(outcomes: list[Outcome]) -> str:
    """Return the outcomes as a table: one row per task and rival."""
    lines = [
        "| task | ours | rival | its time | ratio | limit | its time | ours / limit | memory: ours | rival's |",
        "|---|---:|---|---:|---:|---|---:|---:|---:|---:|",
    ]
    for outcome in outcomes:
        rivals = list(outcome.rivals.items())
        limits = list(outcome.limits.items())
        for row in range(max(len(rivals), len(limits))):
            rival, against = rivals[row] if row < len(rivals) else ("", None)
            limit, floor = limits[row] if row < len(limits) else ("", None)
            cells = [
                outcome.task if row == 0 else "",
                _seconds(outcome.ours),
                rival,
                _seconds(against),
                f"{against.best / outcome.ours.best:.1f}×" if against else "",
                limit,
                _seconds(floor),
                f"{outcome.ours.best / floor.best:.2f}" if floor else "",
                _megabytes(outcome.ours),
                _megabytes(against),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _seconds(timing: Timing | None) -> str:
    if timing is None:
        return ""
    return f"{timing.best * 1e3:.1f}&nbsp;ms" if timing.best < 1 else f"{timing.best:.2f}&nbsp;s"


def _megabytes(timing: Timing | None) -> str:
    return "" if timing is None or timing.extra_memory is None else f"{timing.extra_memory / 2**20:.0f}&nbsp;MB"


def to_json(sections: dict[str, list[Outcome]]) -> dict[str, Any]:
    """Return all measurements as JSON values."""
    measured = {section: [asdict(outcome) for outcome in outcomes] for section, outcomes in sections.items()}
    return {"machine": machine(), "sections": measured}


def from_json(data: dict[str, Any]) -> dict[str, list[Outcome]]:
    """Return the outcomes that :func:`to_json` encoded."""
    return {section: [_outcome(each) for each in outcomes] for section, outcomes in data["sections"].items()}


def _outcome(data: dict[str, Any]) -> Outcome:
    rivals, limits = ({name: Timing(**each) for name, each in data[key].items()} for key in ("rivals", "limits"))
    return Outcome(data["task"], Timing(**data["ours"]), rivals, limits)

"""Seed faults, one at a time, and report which of them the suite notices: ``python -m tests.mutants [WORDS ...]``.

Each fault is applied to a scratch copy of the tree under build/mutants, and the tests that it names are run there until
one fails; if none does, the files that they are in. A test that fails without a fault too catches nothing: those that
failed are run again on the code as it is.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from suffice import _native
from tests.mutants.fault import Fault
from tests.mutants.faults import FAULTS
from tests.mutants.workplace import ROOT, SCRATCH, Outcome, Workplace, seeded_kernels

#: Seconds that the tests of one fault may take; all tests may take more.
LONGEST = 300.0
SURVIVED = "SURVIVED"


@dataclass(frozen=True)
class Verdict:
    """What became of a fault."""

    fault: Fault
    caught: bool
    test: str | None  #: the test that failed, or that the process ended in
    said: str

    @property
    def survived(self) -> bool:
        """Whether tests ran, and none failed."""
        return self.said == SURVIVED

    @classmethod
    def of(cls, fault: Fault, outcome: Outcome) -> Verdict:
        """Return the verdict on a run of tests: what prevents tests from being run at all catches nothing."""
        if outcome.code == 1 and outcome.failed:
            return cls(fault, True, outcome.failed[0], outcome.failed[0])
        if outcome.code == 0:
            return cls(fault, False, None, SURVIVED)
        if outcome.code is None:
            return cls(fault, fault.hang, outcome.started, f"{'' if fault.hang else 'NOT '}ended: {outcome.started}")
        if outcome.code < 0:
            return cls(fault, fault.crash, outcome.started, f"signal {-outcome.code} in {outcome.started}")
        log = SCRATCH / "logs" / f"{fault.slug}.txt"
        return cls(fault, False, None, f"NOT TESTED: pytest ended with {outcome.code}, see {log.relative_to(ROOT)}")


class Run:
    """Faults, the workplaces where they are tried, and what is known to be broken without any."""

    def __init__(self, tests: Path, jobs: int, seconds: float) -> None:
        self._places = [Workplace(number, tests) for number in range(jobs)]
        self._jobs, self._seconds = jobs, seconds
        self._seeded: Path | None = None
        self._building, self._printing = threading.Lock(), threading.Lock()
        self.broken: set[str] = set()

    def judge(self, faults: list[Fault]) -> list[Verdict]:
        """Return what becomes of each fault."""
        found: dict[Fault, Verdict] = {}
        pending = faults
        while pending:
            found |= self._tried(pending)
            broken = self._fail_anyway([found[fault] for fault in pending])
            self.broken |= broken
            pending = [fault for fault in pending if found[fault].test in broken]
        return [found[fault] for fault in faults]

    def judge_by_all(self, fault: Fault) -> Verdict:
        """Return what becomes of a fault under the whole suite."""
        workers = ("-n", str(self._jobs), "--dist", "loadfile")
        return self._verdict(self._places[0], fault, ("tests",), 12 * self._seconds, workers)

    def _tried(self, faults: list[Fault]) -> dict[Fault, Verdict]:
        waiting = deque(sorted(faults, key=lambda fault: fault.native))  # what is compiled comes last
        found: dict[Fault, Verdict] = {}

        def work(place: Workplace) -> None:
            while waiting:
                fault = waiting.popleft()
                found[fault] = self._verdict(place, fault, fault.tests, self._seconds)

        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                list(pool.map(work, self._places))
            except BaseException:  # as where the user interrupts
                waiting.clear()
                for place in self._places:
                    place.stop()
                raise
        return found

    def _verdict(
        self, place: Workplace, fault: Fault, tests: tuple[str, ...], seconds: float, options: tuple[str, ...] = ()
    ) -> Verdict:
        start = time.monotonic()
        place.use_kernels(self._kernels(fault.native))
        options = ("-x", *(f"--deselect={test}" for test in sorted(self.broken)), *options)
        number = FAULTS.index(fault) if fault.native else None
        with nullcontext() if fault.native else place.broken(fault):
            verdict = Verdict.of(fault, place.test(tests, fault.slug, seconds, options, number))
            files = tuple(dict.fromkeys(test.partition("::")[0] for test in tests))
            if verdict.survived and files != tests:
                verdict = Verdict.of(fault, place.test(files, fault.slug, seconds, options, number))
        with self._printing:
            print(f"{fault.area:12} {fault.name:72} {time.monotonic() - start:4.0f} s  {verdict.said}", flush=True)
        return verdict

    def _kernels(self, seeded: bool) -> Path:
        """Return the kernels that are installed, or those with the faults in them, none of which is there."""
        if not seeded:
            return Path(_native.__file__)
        with self._building:
            self._seeded = self._seeded or seeded_kernels(FAULTS, self._jobs)
        return self._seeded

    def _fail_anyway(self, verdicts: list[Verdict]) -> set[str]:
        """Return the tests that fail without a fault."""
        broken: set[str] = set()
        for native in (False, True):
            tests = sorted({verdict.test for verdict in verdicts if verdict.test and verdict.fault.native == native})
            if tests:
                self._places[0].use_kernels(self._kernels(native))
                outcome = self._places[0].test(tests, f"without-faults-{native}", 12 * self._seconds)
                broken |= set(outcome.failed)
                if outcome.code not in (0, 1):
                    raise SystemExit(f"tests did not run without a fault: pytest ended with {outcome.code}")
        for test in sorted(broken):
            print(f"fails without a fault too, and catches nothing: {test}", flush=True)
        return broken


def main() -> int:
    """Return 0 where the suite notices every fault, and 1 where it does not."""
    arguments = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    arguments.add_argument("words", nargs="*", help="faults whose name or area holds one of these; all if none")
    arguments.add_argument("--tests", type=Path, default=ROOT / "tests", help="the suite: another folder of tests")
    arguments.add_argument("--whole", action="store_true", help="try all tests on faults that their own do not notice")
    arguments.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="faults at a time")
    arguments.add_argument("--longest", type=float, default=LONGEST, help="seconds that the tests of a fault may take")
    asked = arguments.parse_args()
    faults = [f for f in FAULTS if not asked.words or any(word in f"{f.area}: {f.name}" for word in asked.words)]
    for fault in faults:
        fault.applied((ROOT / fault.file).read_text(encoding="utf-8"))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    start = time.monotonic()
    run = Run(asked.tests.resolve(), asked.jobs, asked.longest)
    try:
        verdicts = run.judge(faults)
        if asked.whole:
            verdicts = [verdict if verdict.caught else run.judge_by_all(verdict.fault) for verdict in verdicts]
    except KeyboardInterrupt:
        return 130
    caught = sum(verdict.caught for verdict in verdicts)
    print(f"\n{caught} of {len(verdicts)} faults caught in {time.monotonic() - start:.0f} s")
    for verdict in verdicts:
        if not verdict.caught:
            print(f"not caught: {verdict.fault.area}: {verdict.fault.name}: {verdict.said}")
    return int(caught < len(verdicts) or bool(run.broken))


if __name__ == "__main__":
    sys.exit(main())

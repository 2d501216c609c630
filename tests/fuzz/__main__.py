"""Run fuzz targets: ``python -m tests.fuzz [--time SECONDS] [--seed N] [TARGET ...]``.

The seed, the target and the number of a case determine its input: no corpus is kept, and ``--case N`` runs one case
again. Each target runs in a separate process, which sanitizers may end. Findings are written to build/fuzz, with the
number of the case.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path
from random import Random

FOLDER = Path(__file__).parents[2] / "build" / "fuzz"
#: Extra seconds of a target, for its seeds and its last case.
PATIENCE = 180


def run(target: str, seed: int, seconds: float, only: int | None) -> int:
    """Run cases of one target until the time limit; return the number that raised an undocumented exception."""
    from tests.fuzz.targets import TARGETS

    warnings.simplefilter("ignore")
    found, number, progress = 0, only or 0, FOLDER / f"{target}.case"
    with TARGETS[target]() as case:
        stop = time.monotonic() + seconds
        while True:
            progress.write_text(str(number))  # read by the parent if this process is killed
            try:
                case(Random(f"{seed} {target} {number}"))
            except Exception:
                found += 1
                (FOLDER / f"{target}-{seed}-{number}.txt").write_text(traceback.format_exc())
                print(f"{target}: case {number} of seed {seed} raised\n{traceback.format_exc(limit=-3)}", flush=True)
            number += 1
            if only is not None or time.monotonic() > stop or found >= 20:
                break
    print(f"{target}: {number - (only or 0)} cases, {found} findings", flush=True)
    return found


def main() -> int:
    """Run each target in a separate process; return 1 if there are findings."""
    from tests.fuzz.targets import TARGETS

    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    arguments.add_argument("targets", nargs="*", help=f"{', '.join(TARGETS)}; all if none")
    arguments.add_argument("--time", type=float, default=60, help="seconds for each target")
    arguments.add_argument("--seed", type=int, default=0, help="another seed makes other cases")
    arguments.add_argument("--case", type=int, help="run this one case of one target")
    arguments.add_argument("--here", action="store_true", help="run one target in this process")
    asked = arguments.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if asked.here or asked.case is not None:
        return min(1, run(asked.targets[0], asked.seed, asked.time, asked.case))
    failed = 0
    for target in asked.targets or TARGETS:
        command = [sys.executable, "-m", "tests.fuzz", target, "--here", f"--time={asked.time}", f"--seed={asked.seed}"]
        try:
            code = subprocess.run(command, check=False, timeout=asked.time + PATIENCE).returncode
        except subprocess.TimeoutExpired:
            code = -1
        if code not in (0, 1):
            number = (FOLDER / f"{target}.case").read_text()
            how = "did not end" if code == -1 else f"ended the process ({code})"
            print(f"{target}: case {number} of seed {asked.seed} {how}; run it again with --case {number}", flush=True)
            (FOLDER / f"{target}-{asked.seed}-{number}.txt").write_text(how)
        failed |= code != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""Run the make steps of the workflows' jobs that this machine can run: ``python .ci/workflows.py [JOB ...]``.

Jobs without such a step, and those on other systems, are listed and not run; steps that set a runner up (actions,
apt-get, pip) are left out. What a job demands of its machine by SUFFICE_NEEDS is not demanded here.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def expand_matrix(job: dict) -> Iterator[dict[str, str]]:
    """Yield the values of each job of a matrix, by the text that refers to them."""
    matrix = job.get("strategy", {}).get("matrix", {})
    for values in itertools.product(*matrix.values()):
        yield {f"${{{{ matrix.{name} }}}}": value for name, value in zip(matrix, values, strict=True)}


def load_jobs() -> dict[str, dict]:
    """Return the jobs of all workflows by name."""
    paths = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    return {
        name: job for path in paths for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
    }


def list_steps(job: dict) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield command and environment of each step of a job that runs make on Linux."""
    for values in expand_matrix(job):
        if values.get(job["runs-on"], job["runs-on"]).startswith("ubuntu"):
            for step in job["steps"]:
                if step.get("run", "").startswith("make ") and "\n" not in step["run"].strip():
                    yield step["run"], {key: values.get(text, text) for key, text in step.get("env", {}).items()}


def main(wanted: list[str]) -> int:
    """Run each distinct step once; return 1 if one failed."""
    jobs = load_jobs()
    if unknown := {*wanted} - {*jobs}:
        sys.exit(f"no workflow has the job {', '.join(sorted(unknown))} (known: {', '.join(jobs)})")
    results: dict[str, str] = {}
    for name in wanted or jobs:
        steps = list(list_steps(jobs[name]))
        if not steps:
            results[name] = "not run here"
        for command, environment in steps:
            label = " ".join([*(f"{key}={value}" for key, value in environment.items()), command])
            if label not in results:
                sys.stdout.write(f"{name}: {label}\n")
                sys.stdout.flush()
                values = os.environ | {"GITHUB_RUN_NUMBER": "0"} | environment
                failed = subprocess.run(command, shell=True, cwd=ROOT, env=values, check=False).returncode
                results[label] = "failed" if failed else "passed"
    sys.stdout.writelines(f"{result}: {label}\n" for label, result in results.items())
    return int("failed" in results.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

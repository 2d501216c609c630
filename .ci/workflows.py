"""Run the make steps of the workflows' jobs that this machine can run: ``python .ci/workflows.py [JOB ...]``.

Jobs on other systems are listed and not run; steps that set a runner up (actions, apt-get, pip) are left out. What a
job demands of its machine by SUFFICE_NEEDS is not demanded here: tests without their programs are skipped.
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


def expand_matrix(job: dict[str, dict[str, dict[str, list[str]]]]) -> Iterator[dict[str, str]]:
    """Yield the values of each job of a matrix, by the text that refers to them."""
    matrix = job.get("strategy", {}).get("matrix", {})
    for values in itertools.product(*matrix.values()):
        yield {f"${{{{ matrix.{name} }}}}": value for name, value in zip(matrix, values, strict=True)}


def list_steps() -> Iterator[tuple[str, str, str, dict[str, str]]]:
    """Yield job, machine, command and environment of each step that runs make."""
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items():
            for values in expand_matrix(job):
                machine = values.get(job["runs-on"], job["runs-on"])
                for step in job["steps"]:
                    if step.get("run", "").startswith("make ") and "\n" not in step["run"].strip():
                        environment = {key: values.get(text, text) for key, text in step.get("env", {}).items()}
                        yield name, machine, step["run"], environment


def main(wanted: list[str]) -> int:
    """Run each distinct step once; return how many failed."""
    steps = list(list_steps())
    if unknown := {*wanted} - {job for job, *_ in steps}:
        sys.exit(f"no job with a step that runs here has the name {', '.join(sorted(unknown))}")
    done: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}
    for job, machine, command, environment in steps:
        key = (command, tuple(environment.items()))
        if key in done or (wanted and job not in wanted):
            continue
        if not machine.startswith("ubuntu"):
            sys.stdout.write(f"{job}: not run: {command} on {machine}\n")
            continue
        sys.stdout.write(f"{job}: {command} {environment or ''}\n")
        sys.stdout.flush()
        values = os.environ | {"GITHUB_RUN_NUMBER": "0"} | environment
        done[key] = (
            "failed" if subprocess.run(command, shell=True, cwd=ROOT, env=values, check=False).returncode else "passed"
        )
    for (command, environment), result in done.items():
        sys.stdout.write(f"{result}: {command} {dict(environment) or ''}\n")
    return sum(result == "failed" for result in done.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)

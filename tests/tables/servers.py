"""A real PostgreSQL server, started for tests in a folder of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.needs import lacking


def _programs() -> Path | None:
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return places[-1] if places else None


@contextmanager
def postgres() -> Iterator[str]:
    """Start a server from the system's programs, and yield its address; skip where there are none."""
    if importlib.util.find_spec("adbc_driver_postgresql") is None:
        lacking("postgres", "there is no driver for PostgreSQL")
    programs = _programs()
    if programs is None:
        lacking("postgres", "there is no PostgreSQL server on this machine")
    as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []  # the server does not run as root
    if as_user and subprocess.run([*as_user, "true"], capture_output=True, check=False).returncode:
        lacking("postgres", "there is no user to run a PostgreSQL server as")
    folder = Path(subprocess.run([*as_user, "mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    start = [str(programs / "pg_ctl"), "-D", str(folder / "data"), "-w", "-t", "30", "-l", str(folder / "log")]
    try:
        subprocess.run(
            [*as_user, str(programs / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "postgres", "-N"],
            check=True,
            capture_output=True,
        )
        how = f"-k {folder} -c listen_addresses= -c fsync=off"
        subprocess.run([*as_user, *start, "-o", how, "start"], check=True, capture_output=True)
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            subprocess.run([*as_user, *start, "-m", "immediate", "stop"], check=False, capture_output=True)
    finally:
        subprocess.run([*as_user, "rm", "-rf", str(folder)], check=False)

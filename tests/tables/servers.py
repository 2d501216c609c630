"""A real PostgreSQL server, started for tests in a folder of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.requirements import find_postgres, require


@contextmanager
def postgres() -> Iterator[str]:
    """Start a server from the system's programs, and yield its address; skip where there are none."""
    require("postgres")
    programs = find_postgres()
    assert programs is not None
    as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []  # the server does not run as root
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

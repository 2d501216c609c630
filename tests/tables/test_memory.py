"""A table of any length is gone through in the same memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

PROGRAM = """
import sys
import suffice
from tests.peak_memory import peak_megabytes
model = suffice.fit(sys.argv[1], "y", sys.argv[2], most_rows=100_000)
print(model.rows_, peak_megabytes())
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["nb", "gda", "auto"])
def test_two_million_rows_take_little_memory(form: str, tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    duckdb.sql("create or replace macro u(i, seed) as hash(i, seed) / 18446744073709551616.0")  # uniform on [0, 1)
    duckdb.sql(
        f"""copy (select u(i, 1) * 10 as a, u(i, 2) - 0.5 as b, i % 7 as c, 'level ' || (i * 31 % 12) as d,
        case when u(i, 3) < 0.1 then null else u(i, 4) end as e,
        case when u(i, 5) < 0.3 + 0.05 * (i % 7) then 'yes' else 'no' end as y
        from range(2_000_000) t(i)) to '{path}' (header)"""
    )
    assert path.stat().st_size > 100 << 20
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(path), form], capture_output=True, text=True, check=False)
    rows, megabytes = map(int, done.stdout.split()[-2:])
    assert rows == 2_000_000
    assert megabytes < 700

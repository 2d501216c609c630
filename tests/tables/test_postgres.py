"""A real PostgreSQL server, started for these tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from suffice.tables import TableError, fit, open_table

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")


def _programs() -> Path | None:
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return places[-1] if places else None


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    programs = _programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL server on this machine")
    as_user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []  # the server does not run as root
    if as_user and subprocess.run([*as_user, "true"], capture_output=True, check=False).returncode:
        pytest.skip("there is no user to run a PostgreSQL server as")
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


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    random = np.random.default_rng(0)
    size = random.normal(100, 20, 400)
    return pd.DataFrame(
        {
            "size": np.where(random.random(400) < 0.1, np.nan, size),
            "street": random.choice(["calm", "loud"], 400),
            "rooms": random.poisson(3, 400),
            "sold": np.where(size + random.normal(0, 10, 400) > 100, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def houses(server: str, frame: pd.DataFrame) -> str:
    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("houses", open_table(frame).batches().__next__())
        connection.commit()
    return f"{server}::houses"


def test_a_table_of_a_server_is_that_of_a_frame(houses: str, frame: pd.DataFrame) -> None:
    there, here = fit(houses, "sold", "nb"), fit(frame, "sold", "nb")
    assert there.rows_ == 400
    np.testing.assert_allclose(there.predict_proba(frame), here.predict_proba(frame))
    assert [field.kind for field in there.schema_.fields] == [field.kind for field in here.schema_.fields]


def test_a_query_is_run_by_the_server(server: str, houses: str) -> None:
    source = open_table(server, query="select size, sold from houses where rooms > 2 order by size")
    assert source.schema().names == ["size", "sold"]
    assert 0 < sum(batch.num_rows for batch in source.batches()) < 400


def test_what_the_server_says_is_said_in_a_sentence(server: str, houses: str) -> None:
    with pytest.raises(TableError, match="castles"):
        fit(f"{server}::castles", "sold", "nb")
    with pytest.raises(TableError, match="say which table"):
        open_table(server)
    with pytest.raises(TableError, match="database says"):
        fit("postgresql://nobody@/nothing?host=/nowhere::houses", "sold", "nb")

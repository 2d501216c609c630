"""A real PostgreSQL server, started for these tests."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from adbc_driver_postgresql import dbapi

from suffice.tables import TableError, fit, open_table


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


def test_columns_of_the_same_name_are_refused(server: str) -> None:
    with pytest.raises(TableError, match="there are several columns called 'a': rename them"):
        open_table(server, query="select 1 as a, 2 as a").schema()


def test_a_table_with_a_dot_in_its_name(server: str, houses: str) -> None:
    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute('create table "old.houses" as select * from houses limit 20')
        connection.commit()
    source = open_table(f"{server}::old.houses")
    assert sum(batch.num_rows for batch in source.batches()) == 20
    source.database().close()  # which was asked nothing


def test_what_the_server_says_is_said_in_a_sentence(server: str, houses: str) -> None:
    with pytest.raises(TableError, match="castles"):
        fit(f"{server}::castles", "sold", "nb")
    with pytest.raises(TableError, match="say which table"):
        open_table(server)
    with pytest.raises(TableError, match="server is running"):
        fit("postgresql://nobody@/nothing?host=/nowhere::houses", "sold", "nb")

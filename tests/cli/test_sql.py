"""suffice fit where the rows lie, and suffice sql: a model as a SELECT."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import suffice as library
from tests.cli.command import done, refused, suffice
from tests.tables.servers import postgres


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory, houses: Path) -> Path:
    """The houses, in a Parquet file."""
    path = tmp_path_factory.mktemp("files") / "houses.parquet"
    duckdb.connect().execute(f"copy (from read_csv('{houses}')) to '{path}' (format parquet)")
    return path


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        yield address


def run(server: str, *statements: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


def test_where_sums_were_taken_is_said(parquet: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.suffice"
    ran = done("fit", parquet, "-t", "sold_fast", "-m", "nb", "--in-database", "--ignore", "note", "-o", model)
    assert ran.lines[-1] == "sums were computed in DuckDB; rows were read to infer column kinds and to compare models"
    assert any(line.endswith("rows, sums computed in DuckDB") for line in done("info", model).lines)
    words = ("fit", parquet, "-t", "sold_fast", "-m", "nb", "--folds", 2)
    there, here = done(*words, "--in-database", "--json").json, done(*words, "--json").json
    assert (there["sums_taken"], here["sums_taken"]) == ("in DuckDB, of words here", "here")
    assert there["candidates"][0]["loss"] == pytest.approx(here["candidates"][0]["loss"])
    assert "sums were computed" not in done(*words, "--no-in-database").out


def test_a_server_s_table_is_summed_by_the_server(server: str, tmp_path: Path) -> None:
    run(
        server,
        "create table visits as select i % 7 + (i % 2) * 3 + 0.5 as size, (i % 3)::text as street, "
        "case when i % 2 = 0 then 'yes' else 'no' end as sold from generate_series(1, 300) i",
    )
    model = tmp_path / "model.suffice"
    ran = done("fit", f"{server}::visits", "-t", "sold", "-m", "nb", "-o", model)
    assert "sums were computed in PostgreSQL" in ran.lines[-1]
    sql = done("sql", model, "--dialect", "postgresql", "--table", "visits", "--keep", "size").out.removesuffix(";\n")
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        found = cursor.fetch_arrow_table()
        cursor.execute("select * from visits")
        rows = cursor.fetch_arrow_table()
    fitted = library.load(model)
    table = rows.set_column(0, "size", rows.column("size").cast("string").cast("float64"))
    np.testing.assert_allclose(found.column("p_yes").to_numpy(), fitted.predict_proba(table)[:, 1], atol=1e-12)


def test_why_a_server_s_rows_were_read_is_said(server: str) -> None:
    run(server, "create table written as select (i % 7)::text as x, (i % 2)::text as y from generate_series(1, 60) i")
    ran = done("fit", f"{server}::written", "-t", "y", "-m", "nb", "--kind", "x=numeric")
    assert "note: rows were read: column 'x' holds numbers as strings: cast it in a query" in ran.err


def test_an_error_of_the_server_is_one_sentence(server: str) -> None:
    run(server, "create table secret as select 1 as x, 'a' as y", "create role reader login")
    address = server.replace("postgres@", "reader@")
    assert refused("fit", f"{address}::secret", "-t", "y", code=1) == (
        "error: the database does not let you read the table 'secret': have its owner GRANT SELECT ON secret to you"
    )
    assert "there is no table 'castles'" in refused("fit", f"{server}::castles", "-t", "y", code=1)
    gone = "postgresql://nobody@/nothing?host=/nowhere"
    assert "see that the server is running" in refused("fit", f"{gone}::t", "-t", "y", code=1)


def test_a_model_is_a_query(parquet: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.suffice"
    done("fit", parquet, "-t", "price", "-m", "linear", "--ignore", "listed", "--folds", 2, "-o", model, "-q")
    sql = done("sql", model, "--table", "houses", "--keep", "id").out
    assert sql.endswith(";\n")
    connection = duckdb.connect()
    connection.execute(f"create view houses as from read_parquet('{parquet}')")
    found = connection.sql(sql).fetchnumpy()
    np.testing.assert_allclose(found["prediction"], library.load(model).predict(parquet), rtol=1e-10)


def test_a_statement_in_a_file_is_written_byte_for_byte(tmp_path: Path) -> None:
    model, names = tmp_path / "model.suffice", ["\x1b[31mred\x1b[0m", "a\tb", "plain"]
    rows = library.tables.open_table({"\x1b[1mx": names * 10, "y": ["u", "v", "v", "u"] * 7 + ["u", "v"]})
    fitted = library.fit(rows, "y", "nb", columns={"\x1b[1mx": "category"})
    fitted.save(model)
    with (tmp_path / "query.sql").open("w", encoding="utf-8") as file:
        assert suffice("sql", model, "--table", "main.t", stdout=file).code == 0
    written = (tmp_path / "query.sql").read_bytes()
    assert written.decode() == fitted.to_sql(table="main.t") + ";\n"
    with duckdb.connect() as connection:
        connection.register("given", pa.table({"\x1b[1mx": names}))
        connection.execute("create table t as from given")
        found = connection.sql(written.decode()).fetchnumpy()
    np.testing.assert_allclose(found["p_u"], fitted.predict_proba(pa.table({"\x1b[1mx": names}))[:, 0])


def test_what_cannot_be_a_query(nb: Path, houses: Path) -> None:
    assert "is text" in refused("sql", nb, code=1)
    assert "did you mean 'postgresql'" in refused("sql", nb, "--dialect", "postgres", code=2)
    assert "there is no file" in refused("sql", "nothing.suffice", code=2)

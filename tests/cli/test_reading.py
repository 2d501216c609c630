"""Tables from everywhere: standard input, queries, databases, other delimiters, encodings and formats."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from tests.cli.command import done, process, refused, written
from tests.object_stores import memory_folder, upload


def fit(*words: object, stdin: bytes = b"") -> Any:
    """Return what naive Bayes of a table says about itself."""
    return done("fit", *words, "-m", "nb", "--folds", 2, "--json", stdin=stdin).json


@pytest.fixture(scope="session")
def loss(houses: Path) -> float:
    """How well naive Bayes of the houses predicts."""
    return float(fit(houses, "-t", "sold_fast")["candidates"][0]["loss"])


@pytest.fixture(scope="session")
def rows(houses: Path) -> list[list[str]]:
    """The houses as cells."""
    return list(csv.reader(io.StringIO(houses.read_text(encoding="utf-8"))))


def delimited(path: Path, rows: list[list[str]], delimiter: str) -> Path:
    """Return a file of cells with another delimiter."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    return path


def test_standard_input(houses: Path, loss: float) -> None:
    found = fit("-", "-t", "sold_fast", stdin=houses.read_bytes())
    assert (found["rows"], found["candidates"][0]["loss"]) == (800, loss)


def test_standard_input_is_called_by_its_name(houses: Path) -> None:
    assert fit("-", "-t", "sold_fast", stdin=houses.read_bytes())["table"] == "standard input"


def test_errors_of_standard_input_are_called_by_its_name() -> None:
    sentence = refused("fit", "-", "-t", "y", code=1, stdin=b"a,y\n1,x\n2\n3,z\n")
    assert "line 3 of standard input has 1 cell" in sentence


def test_standard_input_may_be_parquet_or_json(houses: Path, loss: float, tmp_path: Path) -> None:
    table = pa.csv.read_csv(houses)
    pq.write_table(table, tmp_path / "t.parquet")
    found = fit("-", "-t", "sold_fast", stdin=(tmp_path / "t.parquet").read_bytes())
    assert found["candidates"][0]["loss"] == pytest.approx(loss, rel=1e-6)
    lines = "\n".join(json.dumps({"a": n / 3, "b": "xy"[n > 9]}) for n in range(20))
    assert fit("-", "-t", "b", stdin=lines.encode())["rows"] == 20


@pytest.mark.slow
def test_no_temporary_file_of_standard_input_is_left(houses: Path, tmp_path: Path) -> None:
    ran = process(
        "fit",
        "-",
        "-t",
        "sold_fast",
        "-m",
        "nb",
        input=houses.read_bytes(),
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert ran.returncode == 0, ran.stderr
    assert b"standard input: 800 rows" in ran.stdout
    assert b"\x1b" not in ran.stdout + ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_standard_input_without_anything() -> None:
    assert "standard input is empty" in refused("fit", "-", "-t", "y", code=1)


def test_a_query(houses: Path) -> None:
    query = "select area, rooms, sold_fast from data where rooms > 3"
    found = fit(houses, "-t", "sold_fast", "--query", query)
    wanted = duckdb.sql(f"select count(*) from '{houses}' where rooms > 3").fetchall()[0][0]
    assert found["rows"] == wanted
    assert [each["name"] for each in found["columns"]] == ["area", "rooms"]


@pytest.mark.parametrize("query", ["select nope from data", "drop table data", "selec"])
def test_a_query_that_cannot_be_run(houses: Path, query: str) -> None:
    sentence = refused("fit", houses, "-t", "sold_fast", "--query", query, code=1)
    assert "the query" in sentence
    assert "the table is called data" in sentence


def test_a_table_of_sqlite(houses: Path, rows: list[list[str]], loss: float, tmp_path: Path) -> None:
    path = tmp_path / "houses.sqlite"
    types = dict.fromkeys(("area", "price"), "real") | dict.fromkeys(("rooms", "built", "viewings"), "integer")
    with closing(sqlite3.connect(path)) as base:
        columns = ", ".join(f"{name} {types.get(name, 'text')}" for name in rows[0])
        base.execute(f"create table houses ({columns})")
        marks = ", ".join("?" * len(rows[0]))
        base.executemany(f"insert into houses values ({marks})", [[cell or None for cell in row] for row in rows[1:]])
        base.execute("create table other (a)")
        base.commit()
    assert fit(f"{path}::houses", "-t", "sold_fast")["candidates"][0]["loss"] == loss
    found = fit(path, "-t", "sold_fast", "--query", "select area, sold_fast from houses limit 500")
    assert found["rows"] == 500
    assert "'houses', 'other'" in refused("fit", path, "-t", "sold_fast", code=1)
    assert "no table 'hous'" in refused("fit", f"{path}::hous", "-t", "sold_fast", code=1)
    assert "SQLite" in refused("fit", path, "-t", "a", "--query", "delete from other", code=1)


def test_a_table_of_duckdb(houses: Path, loss: float, tmp_path: Path) -> None:
    path = tmp_path / "houses.duckdb"
    with duckdb.connect(str(path)) as base:
        base.sql(f"create table houses as from '{houses}'")
    assert fit(f"{path}::houses", "-t", "sold_fast")["candidates"][0]["loss"] == pytest.approx(loss, rel=1e-6)


def test_parquet_arrow_and_json_lines(houses: Path, loss: float, tmp_path: Path) -> None:
    table = pa.csv.read_csv(houses)
    pq.write_table(table, tmp_path / "t.parquet")
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as file:
        file.write_table(table)
    duckdb.sql(f"copy (from '{houses}') to '{tmp_path / 't.jsonl'}'")
    for name in ("t.parquet", "t.arrow", "t.jsonl"):
        found = fit(tmp_path / name, "-t", "sold_fast")
        assert found["candidates"][0]["loss"] == pytest.approx(loss, rel=1e-6), name


def test_a_folder_and_a_glob(halves: tuple[Path, Path], tmp_path: Path) -> None:
    for number, half in enumerate(halves):
        written(tmp_path / f"part{number}.csv", half.read_text(encoding="utf-8"))
    assert fit(tmp_path, "-t", "sold_fast")["rows"] == 800
    assert fit(f"{tmp_path}/part*.csv", "-t", "sold_fast")["rows"] == 800
    assert fit(f"{tmp_path}/*0.csv", "-t", "sold_fast")["rows"] == 300


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_usual_delimiters_are_found(rows: list[list[str]], loss: float, tmp_path: Path, delimiter: str) -> None:
    path = delimited(tmp_path / "t.csv", rows, delimiter)
    assert fit(path, "-t", "sold_fast")["candidates"][0]["loss"] == loss


@pytest.mark.parametrize(("delimiter", "said"), [("^", "^"), ("\t", "tab"), ("\t", "\\t")])
def test_a_delimiter_can_be_said(rows: list[list[str]], loss: float, tmp_path: Path, delimiter: str, said: str) -> None:
    path = delimited(tmp_path / "t.txt", rows, delimiter)
    assert fit(path, "-t", "sold_fast", "--delimiter", said)["candidates"][0]["loss"] == loss


def test_no_header(rows: list[list[str]], loss: float, tmp_path: Path) -> None:
    path = delimited(tmp_path / "t.csv", rows[1:], ",")
    found = fit(path, "-t", "column12", "--no-header")
    assert (found["rows"], found["candidates"][0]["loss"]) == (800, loss)
    sentence = refused("fit", path, "-t", "sold_fast", "--no-header", code=2)
    assert "'column00', 'column01'" in sentence


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_an_encoding(tmp_path: Path, encoding: str) -> None:
    text = "a,street,y\n" + "".join(f"{n / 3},{'Straße' if n % 2 else 'Allée'},{'xy'[n % 2]}\n" for n in range(20))
    path = written(tmp_path / "t.csv", text, encoding)
    assert fit(path, "-t", "y", "--encoding", encoding)["rows"] == 20
    model = tmp_path / "m.suffice"
    done("fit", path, "-t", "y", "-m", "nb", "--encoding", encoding, "-o", model)
    assert done("explain", model, "street=Allée").out.startswith("x: ")
    kept = done("predict", model, path, "--encoding", encoding, "--keep", "street")
    assert kept.lines[1].startswith('"Allée"')


def test_the_wrong_encoding_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "a,c,y\n1,Straße,x\n2,Weg,z\n", "latin-1")
    sentence = refused("fit", path, "-t", "y", code=1)
    assert f"line 2 of {path} is not written in utf-8" in sentence
    assert "--encoding cp1252" in sentence


def test_an_encoding_that_is_none(houses: Path) -> None:
    sentence = refused("fit", houses, "-t", "sold_fast", "--encoding", "klingon", code=2)
    assert "'klingon'" in sentence
    assert "latin-1" in sentence


def test_partitioned_folders_and_arrow_streams(houses: Path, loss: float, tmp_path: Path) -> None:
    table = pyarrow.csv.read_csv(houses)
    with pa.ipc.new_stream(tmp_path / "houses.arrows", table.schema) as writer:
        writer.write_table(table)
    assert fit(tmp_path / "houses.arrows", "-t", "sold_fast")["candidates"][0]["loss"] == pytest.approx(loss)
    assert fit("-", "-t", "sold_fast", stdin=(tmp_path / "houses.arrows").read_bytes())["rows"] == table.num_rows
    pq.write_to_dataset(table, tmp_path / "parts", partition_cols=["sold_fast"])
    about = fit(tmp_path / "parts", "-t", "sold_fast")
    assert (about["rows"], about["classes"]) == (table.num_rows, ["no", "yes"])


def test_models_and_tables_by_url(houses: Path, tmp_path: Path) -> None:
    with memory_folder() as url:
        upload(houses, f"{url}/houses.csv")
        shown = done("fit", f"{url}/houses.csv", "-t", "sold_fast", "-m", "nb", "-o", f"{url}/model").err
        assert f"saved to {url}/model (" in shown
        assert done("info", f"{url}/model", "--json").json["bytes"] > 1000
        found = done("predict", f"{url}/model", f"{url}/houses.csv").out
        assert done("predict", f"{url}/model", houses).out == found
        assert "there is no such file" in refused("predict", f"{url}/nothing", houses, code=2)
        assert "only models are written to URLs" in refused(
            "predict", f"{url}/model", houses, "-o", f"{url}/out.csv", code=2
        )
    file = (tmp_path / "model").as_uri()
    done("fit", houses.as_uri(), "-t", "sold_fast", "-m", "nb", "-o", file)
    assert done("info", file, "--json").json["target"] == "sold_fast"
    assert "which is none of s3://" in refused("fit", houses, "-t", "sold_fast", "-o", "https://here/model", code=2)

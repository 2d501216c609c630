"""Any table as a stream of batches: every format reads the same rows."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv as pa_csv
from pyarrow import parquet as pq

import suffice
from suffice.tables import TableError, open_table
from suffice.tables.prefetch import _stop_readers, prefetch
from tests.cli.command import done
from tests.tables.tables_data import WRITERS, houses, kinds, rows_of, write

TABLE = houses(60, missing=0.1)


def same(found: pa.Table, table: pd.DataFrame = TABLE) -> None:
    expected = pa.Table.from_pandas(table, preserve_index=False)
    assert found.schema.names == expected.schema.names
    for name in expected.schema.names:
        for one, two in zip(found[name].to_pylist(), expected[name].to_pylist(), strict=True):
            assert one == (pytest.approx(two, rel=1e-14) if isinstance(two, float) else two), name


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_reads_the_same_rows(ending: str, tmp_path: Path) -> None:
    same(rows_of(WRITERS[ending](TABLE, tmp_path / f"table.{ending}")))


@cache
def of_the_frame() -> suffice.TableModel:
    return suffice.fit(TABLE, "sold", "gda", folds=2)


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_model(ending: str, tmp_path: Path) -> None:
    model = suffice.fit(WRITERS[ending](TABLE, tmp_path / f"table.{ending}"), "sold", "gda", folds=2)
    other = of_the_frame()
    assert model.schema_.features == other.schema_.features
    np.testing.assert_allclose(model.predict_proba(TABLE), other.predict_proba(TABLE), rtol=1e-9)


def test_a_path_may_be_a_path(tmp_path: Path) -> None:
    WRITERS["csv"](TABLE, tmp_path / "table.csv")
    same(rows_of(tmp_path / "table.csv"))


def test_some_columns_are_read_alone_and_in_the_order_asked_for(tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "feather", "sqlite", "duckdb"):
        source = open_table(WRITERS[ending](TABLE, tmp_path / f"table.{ending}"))
        assert [batch.schema.names for batch in source.batches(["sold", "area"])] == [["sold", "area"]]


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "jsonl"])
def test_a_query_calls_the_table_data(ending: str, tmp_path: Path) -> None:
    where = WRITERS[ending](TABLE, tmp_path / f"table.{ending}")
    found = rows_of(where, query="select area * 2 as twice, sold from data where rooms > 3")
    kept = TABLE[TABLE.rooms > 3]
    np.testing.assert_allclose(found["twice"].to_numpy(), kept.area * 2)


@pytest.mark.parametrize("ending", ["sqlite", "duckdb"])
def test_a_query_over_a_database_names_its_tables(ending: str, tmp_path: Path) -> None:
    where = WRITERS[ending](TABLE, tmp_path / f"table.{ending}").partition("::")[0]
    found = rows_of(where, query="select upper(sold) as s from houses where rooms > 3;")
    assert found["s"].to_pylist() == TABLE[TABLE.rooms > 3].sold.str.upper().tolist()


def test_a_query_over_a_frame() -> None:
    found = rows_of(TABLE, query="select count(*) as n from data")
    assert found["n"].to_pylist() == [len(TABLE)]


def test_a_query_may_end_in_a_comment() -> None:
    assert rows_of({"a": [1, 2]}, query="select a from data -- all of them").num_rows == 2


@pytest.mark.parametrize("ending", ["csv", "parquet", "sqlite", "duckdb"])
def test_a_wrong_query_is_refused_in_a_sentence(ending: str, tmp_path: Path) -> None:
    where = WRITERS[ending](TABLE, tmp_path / f"table.{ending}").partition("::")[0]
    for query in ("select nope from data", "selec 1", "from nowhere", "create table t as select 1"):
        with pytest.raises(TableError, match="query"):
            rows_of(where, query=query)


def test_a_database_whose_only_table_need_not_be_named(tmp_path: Path) -> None:
    for ending in ("sqlite", "duckdb"):
        same(rows_of(WRITERS[ending](TABLE, tmp_path / f"table.{ending}").partition("::")[0]))


@pytest.mark.parametrize("ending", ["sqlite", "duckdb"])
def test_a_database_without_that_table_lists_those_it_has(ending: str, tmp_path: Path) -> None:
    where = WRITERS[ending](TABLE, tmp_path / f"table.{ending}")
    with pytest.raises(TableError, match=r"no table 'flats'; it has 'houses'"):
        open_table(where.replace("::houses", "::flats"))


def test_a_view_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "views.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("create table t as select 1 as a; create view v as select a + 1 as b from t")
    assert rows_of(f"{path}::v")["b"].to_pylist() == [2]


def test_sqlite_cells_of_several_types_become_names(tmp_path: Path) -> None:
    path = tmp_path / "mixed.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t (a, b)")
        connection.executemany("insert into t values (?, ?)", [(1, 1), ("x", 2.5), (None, None), (2.5, 3)])
        connection.commit()
    found = rows_of(f"{path}::t")
    assert found["a"].to_pylist() == ["1", "x", None, "2.5"]
    assert found["b"].to_pylist() == [1.0, 2.5, None, 3.0]


def test_sqlite_with_a_name_that_means_something_in_an_address(tmp_path: Path) -> None:
    same(rows_of(WRITERS["sqlite"](TABLE, tmp_path / "50% of #1?.sqlite")))


def test_a_folder_and_a_glob_read_all_files(tmp_path: Path) -> None:
    for part in range(3):
        WRITERS["csv"](TABLE[part * 20 : (part + 1) * 20], tmp_path / f"part{part}.csv")
    same(rows_of(tmp_path))
    same(rows_of(f"{tmp_path}/part*.csv"))


def test_a_folder_may_mix_packed_and_plain_text(tmp_path: Path) -> None:
    WRITERS["csv"](TABLE[:30], tmp_path / "a.csv")
    WRITERS["csv.gz"](TABLE[30:], tmp_path / "b.csv.gz")
    same(rows_of(tmp_path))


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_files_with_the_columns_in_another_order_are_read_by_name(ending: str, tmp_path: Path) -> None:
    WRITERS[ending](TABLE[:30], tmp_path / f"a.{ending}")
    WRITERS[ending](TABLE[30:][list(TABLE)[::-1]], tmp_path / f"b.{ending}")
    same(rows_of(tmp_path))


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather"])
def test_a_column_that_one_file_lacks_is_missing_there(ending: str, tmp_path: Path) -> None:
    WRITERS[ending](TABLE[:30], tmp_path / f"a.{ending}")
    WRITERS[ending](TABLE[30:].drop(columns="street").reset_index(drop=True), tmp_path / f"b.{ending}")
    found = rows_of(tmp_path)
    assert found.num_rows == 60
    assert found["street"][30:].null_count == 30


def test_a_fit_notes_columns_that_some_files_lack(tmp_path: Path) -> None:
    rows = pd.DataFrame({"x": np.arange(90) % 7 / 2, "more": np.arange(90) % 5 / 2, "y": ["a", "b", "b"] * 30})
    for place, part in enumerate((rows[:30], rows[30:60].drop(columns="more"), rows[60:])):
        part.to_csv(tmp_path / f"{place}.csv", index=False)
    note = "columns are missing in the rows of files that lack them: 'more' (2 of 3 files)"
    assert note in suffice.fit(tmp_path, "y", "nb").schema_.notes
    assert note in done("fit", tmp_path, "-t", "y", "-m", "nb", "--json").json["notes"]
    rows.drop(columns="y").to_csv(tmp_path / "3.csv", index=False)
    with pytest.raises(
        TableError, match=r"3\.csv has no column 'y', which is to be predicted, and 3 of 4 files have it"
    ):
        suffice.fit(tmp_path, "y", "nb")


def test_files_with_several_delimiters_are_refused(tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    TABLE.to_csv(tmp_path / "b.csv", index=False, sep=";", decimal=",")
    with pytest.raises(TableError, match=r"a\.csv are separated by ',', and those of .*b\.csv by ';'"):
        open_table(tmp_path)


def test_files_of_a_folder_may_have_several_line_ends(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "x,y\r\n1,a\r\n2,b\r\n")
    write(tmp_path / "b.csv", "\ufeffx,y\n3,a\n4,b\n")
    assert rows_of(tmp_path).to_pydict() == {"x": [1, 2, 3, 4], "y": ["a", "b", "a", "b"]}


def test_files_of_a_folder_may_have_several_encodings(tmp_path: Path) -> None:
    rows = pd.DataFrame({"größe": [1.5, 2.5], "ort": ["Köln", "Ulm"]})
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        rows.to_csv(tmp_path / f"{encoding}.csv", index=False, encoding=encoding)
    found = rows_of(tmp_path)
    assert found.to_pylist() == 6 * rows.to_dict("records")


def test_fields_of_objects_are_columns(tmp_path: Path) -> None:
    rows = [
        {"y": "ab"[row % 2], "place": {"size": row / 4, "at": {"lat": row / 8}}, "tags": ["t"]}
        if row % 4
        else {"y": "a"}
        for row in range(40)
    ]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, rows)))
    duckdb.sql(f"copy (from '{tmp_path / 'a.json'}') to '{tmp_path / 'c.parquet'}'")
    for name in ("a.json", "b.jsonl", "c.parquet"):
        model = suffice.fit(tmp_path / name, "y", "nb")
        assert kinds(model) == {"place.size": "numeric", "place.at.lat": "numeric", "tags": "ignore"}
        assert model.description_.known()["place.size"].sum() == 30


def test_rows_may_be_a_list_in_one_object(tmp_path: Path) -> None:
    rows = [{"x": row / 4, "place": {"size": row % 7}, "y": "ab"[row % 2]} for row in range(40)]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"total": 40, "pages": [1, 2], "data": rows}))
    model = suffice.fit(path, "y", "nb")
    assert kinds(model) == {"x": "numeric", "place.size": "count"}
    assert (model.rows_, model.schema_.notes) == (40, (f"{path}: the rows are those of 'data'",))
    path.write_text(json.dumps(rows[:1]))
    assert len(model.predict(path)) == 1


@pytest.mark.parametrize("orient", ["columns", "index"])
def test_objects_of_columns_are_refused_with_the_cure(orient: str, tmp_path: Path) -> None:
    pd.DataFrame({"x": range(40), "y": ["a", "b"] * 20}).to_json(tmp_path / "a.json", orient=orient)
    with pytest.raises(TableError, match=r"is one object of objects, .*: write a list of rows"):
        open_table(tmp_path / "a.json")


def test_a_folder_of_several_formats_is_refused(tmp_path: Path) -> None:
    WRITERS["csv"](TABLE, tmp_path / "a.csv")
    WRITERS["parquet"](TABLE, tmp_path / "b.parquet")
    with pytest.raises(TableError, match=r"several formats \(csv, parquet\): name one, as \*\.csv"):
        open_table(tmp_path)


def test_a_folder_of_several_databases_is_not_read_in_part(tmp_path: Path) -> None:
    for name in ("a", "b"):
        WRITERS["sqlite"](TABLE, tmp_path / f"{name}.sqlite")
    with pytest.raises(TableError, match="databases"):
        open_table(tmp_path)


def test_notes_beside_the_tables_are_no_rows(tmp_path: Path) -> None:
    WRITERS["csv"](TABLE, tmp_path / "a.csv")
    write(tmp_path / "notes.txt", "These houses were seen in 2024,\nall of them.\n")
    same(rows_of(tmp_path))


def test_an_empty_folder_and_a_missing_file_are_told(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="without tables"):
        open_table(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no file .*nope\.csv: check its name"):
        open_table(tmp_path / "nope.csv")


@pytest.mark.parametrize("name", ["it's.csv", "data[1].csv", "two words.csv", "größe.csv"])
def test_names_of_files_are_taken_as_they_are(name: str, tmp_path: Path) -> None:
    same(rows_of(WRITERS["csv"](TABLE, tmp_path / name)))


def test_a_table_within_a_file_that_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"which .* is not"):
        open_table(WRITERS["csv"](TABLE, tmp_path / "a.csv") + "::houses")


DAMAGED = {
    "a.parquet": b"PAR1 and then nothing",
    "a.arrow": b"ARROW1 and then nothing",
    "a.sqlite": b"SQLite format 3\x00" + b"?" * 300,
    "a.duckdb": b"no database at all",
    "a.db": b"",
    "a.jsonl": b'{"a": 1\n{"b":',
    "a.csv.zst": b"no frame at all",
    "a.csv.gz": b"no gzip at all",
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(DAMAGED[name])
    with pytest.raises(TableError, match=name) as caught:
        rows_of(tmp_path / name)
    assert "delimiter" not in str(caught.value)


@pytest.mark.parametrize("keep", [0.5, 0.99])
@pytest.mark.parametrize("ending", ["csv.gz", "csv.zst", "parquet", "feather"])
def test_a_file_that_is_cut_short_is_named(ending: str, keep: float, tmp_path: Path) -> None:
    path = tmp_path / f"a.{ending}"
    WRITERS[ending](houses(2000), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(TableError, match=f"a.{ending}") as caught:
        rows_of(path)
    assert "delimiter" not in str(caught.value)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "feather", "parquet"])
def test_standard_input(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"table.{ending}"
    WRITERS[ending](TABLE, path)
    reading, writing = os.pipe()
    os.write(writing, path.read_bytes())
    os.close(writing)
    with os.fdopen(reading) as piped:
        monkeypatch.setattr(sys, "stdin", piped)
        model = suffice.fit("-", "sold", "nb")
    assert (model.rows_, len(model.schema_.features)) == (60, 5)


def test_standard_input_without_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with pytest.raises(TableError, match="standard input is empty"):
            suffice.fit("-", "sold")


def test_nothing_is_printed_while_a_long_table_is_read(tmp_path: Path) -> None:
    path = WRITERS["csv"](TABLE, tmp_path / "table.csv")
    asked = "connection.sql(\"select current_setting('enable_progress_bar')\").fetchall()"
    program = f"import suffice.tables; print(suffice.tables.open_table({path!r}).{asked})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[(False,)]"


def test_reading_ahead_ends_with_whoever_reads_and_with_the_process() -> None:
    reading = prefetch(iter(range(100)))
    assert next(reading) == 0
    reading.close()
    begun = prefetch(iter(range(100)))
    _stop_readers()
    assert not [thread for thread in threading.enumerate() if thread.name == "suffice-reader"]
    begun.close()


def test_a_query_that_is_interrupted_is_ctrl_c(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("create table t as select 1 as x")
    source = open_table(f"{tmp_path / 'a.duckdb'}::t")
    answered = threading.Event()

    def interrupt() -> None:
        while not answered.wait(0.1):  # again, where the query had not begun
            source.connection.interrupt()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                source.fetch("select sum(sin(a.range + b.range)) from range(1000000) a, range(100000) b")
        finally:
            answered.set()


def test_a_damaged_file_that_is_summed_where_it_lies_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": np.arange(999) / 7, "y": ["a", "b", "c"] * 333}), path, compression="none")
    data = path.read_bytes()
    path.write_bytes(data[:4] + bytes(40) + data[44:])
    with pytest.raises(TableError, match=r"a\.parquet cannot be read \("):
        suffice.fit(path, "y", "nb", in_database=True)


def test_a_source_can_be_read_again_and_again(tmp_path: Path) -> None:
    source = open_table(WRITERS["parquet"](TABLE, tmp_path / "table.parquet"))
    assert source.rows() == 60
    for _ in range(2):
        assert sum(batch.num_rows for batch in source.batches()) == 60


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "feather", "duckdb", "sqlite"])
def test_a_long_file_of_every_format_is_fitted(ending: str, tmp_path: Path) -> None:
    n = 140_000  # more than a batch
    table = pd.DataFrame({"x": np.arange(n) % 1000 * 0.5, "y": np.array(["a", "b"])[np.arange(n) // 7 % 2]})
    model = suffice.fit(WRITERS[ending](table, tmp_path / f"long.{ending}"), "y", "nb", folds=2)
    assert model.rows_ == n
    assert model.description_.known()["x"].sum() == n


def test_many_rows_keep_their_order_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "many.parquet"
    pa.parquet.write_table(pa.table({"a": np.arange(400_000)}), path, row_group_size=30_000)
    batches = list(open_table(path).batches())
    assert len(batches) > 1
    np.testing.assert_array_equal(np.concatenate([batch["a"].to_numpy() for batch in batches]), np.arange(400_000))


@pytest.mark.parametrize(
    "location",
    [
        "postgresq://bob:S3cret@host/db::t",
        "postgresql:/bob:S3cret@host/db::t",
        "MySQL://bob:S3cret@host/db",
        "host=here user=bob password=S3cret dbname=x::t",
        "postgresql://bob:S3cret%zz@127.0.0.1:1/db::t",
        "postgresql://bob:S3cret and@127.0.0.1:1/db::t",
        "POSTGRESQL://127.0.0.1:1/db?password=S3cret%zz::t",
    ],
)
def test_no_message_holds_a_password(location: str) -> None:
    with pytest.raises((TableError, FileNotFoundError)) as raised:
        open_table(location).schema()
    assert "S3cret" not in str(raised.value)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_schemes_are_read_in_any_case(host: str) -> None:
    with pytest.raises(TableError, match=r"(127\.0\.0\.1|::1).*port 1 failed"):
        open_table(f"PostgreSQL://bob@{host}:1/db::t").schema()


def sqlite_of(path: Path, *cells: object) -> Path:
    """Write a table of one column."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t (a)")
        connection.executemany("insert into t values (?)", [(cell,) for cell in cells])
        connection.commit()
    return path


def test_an_sqlite_table_without_rows_is_named(tmp_path: Path) -> None:
    path = sqlite_of(tmp_path / "a.sqlite")
    with pytest.raises(TableError, match=r"a\.sqlite has no rows: there is nothing to learn from"):
        open_table(path).schema()


def test_a_cell_of_another_type_that_comes_late_in_sqlite_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("suffice.tables.sources.sqlite.BATCH", 2)
    path = sqlite_of(tmp_path / "a.sqlite", 1, 2, 3, "x")
    with pytest.raises(TableError, match=r"column 'a' of .* held int64 in the first rows and something else later"):
        rows_of(path)


def test_standard_input_that_is_closed_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TableError, match="standard input is a terminal: pipe a table into it, or name a file"):
        open_table("-")


@pytest.mark.needs("posix")
def test_a_table_is_read_in_a_forked_process_too(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    assert open_table(file).schema().names == ["a", "b"]  # an instance of DuckDB is running
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # other threads run, of pytest
        process = multiprocessing.get_context("fork").Process(target=_read_and_exit, args=(file,))
        process.start()
    process.join(60)
    assert process.exitcode == 4


def _read_and_exit(file: Path) -> None:
    sys.exit(int(sum(batch.num_rows * batch.num_columns for batch in open_table(file).batches())))


def test_a_file_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    for name, written in (("t.csv", pa_csv.write_csv), ("t.parquet", pq.write_table)):
        for values in ([1.0, 2.0], [3.0, 4.0]):  # of the same length, at once
            written(pa.table({"a": values}), tmp_path / name)
            (batch,) = open_table(tmp_path / name).batches()
            assert batch["a"].to_pylist() == values

"""Sums taken inside DuckDB and PostgreSQL: the model is that of rows that were read."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import suffice
from suffice.statistics import Labels
from suffice.tables import TableError, TableModel, fit, fitting, open_table, row_sample, scan
from suffice.tables.encoding import Block
from suffice.tables.pushdown import database as table_database
from suffice.tables.pushdown import scan as database_scan
from suffice.tables.pushdown.database import choose_database
from suffice.tables.row_sample import RowSample, hash_rows, order_by_content

#: A name that ends a string, a name and a query.
HOSTILE = "a'b\"c\\; drop table rows; --"
KINDS = {"id64": "category", "note": "text"}
#: Models whose products of a moment's columns are those of another model of the same rows.
NARROW = (("sold", "gda"), ("rooms", "linear"))

Put = Callable[[pa.Table], str]


def table(n: int = 400, seed: int = 0) -> pa.Table:
    """Return rows with columns of every kind, gaps among them, and names that need quoting."""
    random = np.random.default_rng(seed)
    sold = random.random(n) < 0.4

    def gaps(values: Any, share: float = 0.1) -> list[Any]:
        return [None if gone else value for value, gone in zip(values, random.random(n) < share, strict=True)]

    rare = np.arange(n) % 97 == 3  # a class that most parts of a table lack
    target = np.where(rare, "a class, rarely", np.where(sold, HOSTILE, "no"))
    return pa.table(
        {
            HOSTILE: gaps(random.normal(1e6 + 3 * sold, 2)),
            "spread": pa.array([*random.normal(sold, 1e-3).tolist()[:-1], float("nan")]),
            "rooms": random.poisson(3 + sold),
            "garden": gaps(np.where(random.random(n) < 0.3 + 0.3 * sold, "yes", "no").tolist()),
            "new": gaps((random.random(n) < 0.5).tolist()),
            "street": gaps(random.choice(["calm", " loud", "it's", "", 'a"b\\c'], n).tolist()),
            "id64": random.choice([2**60 + 1, 2**60 + 3, -7], n),
            "fee": pa.array([Decimal(int(cents)).scaleb(-2) for cents in random.integers(0, 9999, n)]),
            "listed": pa.array(
                (np.datetime64("2020-01-01T00:00:00", "us") + random.integers(0, 10**13, n)), pa.timestamp("us")
            ),
            "note": random.choice(["a big garden and sun", "no Sun at all here", "Straße über GÄRTEN", "quiet"], n),
            "price": 5 + 3 * sold + random.normal(size=n),
            "sold": gaps(target.tolist(), 0.05),
        }
    )


def run(server: str, *statements: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


@pytest.fixture(scope="module", params=["duckdb", "postgresql"])
def put(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Put:
    """Return what puts rows into a database, and says where they are."""
    folder = tmp_path_factory.mktemp("tables")
    count = iter(range(1000))

    def in_duckdb(rows: pa.Table) -> str:
        path = folder / f"{next(count)}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.register("given", rows)
            connection.execute(f"create table {quoted()} as from given")
        return f"{path}::{HOSTILE}"

    def in_postgres(rows: pa.Table) -> str:
        from adbc_driver_postgresql import dbapi

        server, name = request.getfixturevalue("server"), f"{HOSTILE} {next(count)}"
        with dbapi.connect(server) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(name, rows)
            connection.commit()
        return f"{server}::{name}"

    return {"duckdb": in_duckdb, "postgresql": in_postgres}[request.param]


def quoted() -> str:
    return '"' + HOSTILE.replace('"', '""') + '"'


@pytest.fixture(scope="module")
def place(put: Put) -> str:
    return put(table())


def both(place: Any, target: str, model: str, **settings: Any) -> tuple[TableModel, TableModel]:
    """Return the model by sums of the database, and that by rows that were read."""
    settings = {"columns": KINDS, "task": "counts" if target == "rooms" else None, "folds": 2, **settings}
    there, here = (fit(place, target, model, in_database=where, **settings) for where in (True, False))
    assert there.summed_.startswith("in ")
    assert here.summed_ == "here"
    return there, here


def same_sums(one: Any, two: Any, tolerance: float = 1e-10) -> None:
    mine, theirs = one.to_arrays(), two.to_arrays()
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        if name.endswith(("bounds", "depth")):
            continue  # of rounding errors, which differ
        if array.dtype.kind == "f":
            np.testing.assert_allclose(array, theirs[name], rtol=tolerance, atol=tolerance, err_msg=name)
        else:
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)


@pytest.mark.parametrize(
    ("target", "model"),
    [("sold", "nb"), ("sold", "gda"), ("sold", "gda-full"), ("price", "linear"), ("rooms", "linear")],
)
def test_the_model_is_that_of_rows_that_are_read(place: str, target: str, model: str) -> None:
    narrow = {**KINDS, "listed": "ignore"} if (target, model) in NARROW else KINDS
    there, here = both(place, target, model, columns=narrow)
    same_sums(there.description_.statistics_, here.description_.statistics_)
    if model != "nb":
        same_sums(there.estimator_.statistics_, here.estimator_.statistics_, 1e-9)
    assert (there.rows_, there.skipped_) == (here.rows_, here.skipped_)
    rows = table(50, seed=1).drop_columns([target])
    if there.schema_.task == "classes":
        assert there.classes_.tolist() == here.classes_.tolist()
        assert HOSTILE in there.classes_
        np.testing.assert_allclose(there.predict_proba(rows), here.predict_proba(rows), atol=1e-10)
    else:
        np.testing.assert_allclose(there.predict(rows), here.predict(rows), rtol=1e-10)


@pytest.mark.parametrize(("target", "model"), [("sold", "logistic"), ("rooms", "poisson")])
def test_models_that_are_no_sums_are_fitted_to_drawn_rows(place: str, target: str, model: str) -> None:
    there, here = both(place, target, model, columns={**KINDS, "listed": "ignore", "note": "ignore"})
    rows = table(50, seed=1).drop_columns([target])
    answers = [each.predict_proba(rows) if target == "sold" else each.predict(rows) for each in (there, here)]
    np.testing.assert_allclose(*answers, rtol=1e-9)


def test_the_best_is_chosen_as_if_rows_were_read(place: str) -> None:
    there, here = both(place, "price", "auto", columns={**KINDS, "listed": "ignore"})
    assert there.model_ == here.model_
    assert [each.loss for each in there.candidates_] == pytest.approx([each.loss for each in here.candidates_])


def test_more_rows_than_are_drawn(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "COMPARISON_ROWS", 300)
    where = put(table(600).drop_columns(["listed", "note", "id64"]))
    there, here = both(where, "sold", "nb", columns=None)
    same_sums(there.description_.statistics_, here.description_.statistics_)
    again = fit(where, "sold", "nb", in_database=True, folds=2)
    assert again.candidates_[0].loss == there.candidates_[0].loss  # the same rows are drawn
    gda, read = both(where, "sold", "gda", columns=None)
    rows = table(50, seed=1)
    for model in (gda, read):
        model.predictor_.inner = model.predictor_.inner.with_params(temperature=1.0)
    np.testing.assert_allclose(gda.predict_proba(rows), read.predict_proba(rows), atol=1e-10)


def test_what_first_rows_suggest_is_corrected_by_all(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (database_scan, scan):
        monkeypatch.setattr(module, "HEAD_ROWS", 100)
    random = np.random.default_rng(0)
    counts = random.poisson(2, 300).astype(float)
    truths = (random.random(300) < 0.5).astype(float)
    counts[250], truths[260] = 2.5, 3.0
    where = put(pa.table({"k": counts, "t": truths, "same": np.ones(300), "y": random.choice(["a", "b"], 300)}))
    there = fit(where, "y", "nb", in_database=True)
    assert {each.name: each.kind for each in there.schema_.fields} == {
        "k": "numeric",
        "t": "numeric",
        "same": "ignore",
        "y": "category",
    }
    assert there.schema_.field("same").why == "always 1"
    with pytest.raises(TableError, match=r"column 'k' is 2\.5 in some row, which is not a count"):
        fit(where, "y", "nb", in_database=True, columns={"k": "count"})


def test_cells_that_must_not_be_are_named(put: Put) -> None:
    rows = {"x": [1.0, float("inf"), 2.0, 3.0], "y": ["a", "b", "a", "b"], "z": [1.0, 2.0, 3.0, float("-inf")]}
    where = put(pa.table(rows))
    with pytest.raises(TableError, match=r"column 'x' holds inf; it must be finite"):
        fit(where, "y", "nb", in_database=True, columns={"x": "numeric"})
    with pytest.raises(TableError, match=r"the target 'z' is -inf in row 4, which is not a finite number"):
        fit(where, "z", "linear", in_database=True, task="numbers", columns={"x": "ignore"})
    with pytest.raises(TableError, match="the target 'y' is always 'a'"):
        fit(put(pa.table({"x": [1.0, 2.0], "y": ["a", "a"]})), "y", "auto", in_database=True)
    with pytest.raises(TableError, match=r"no row .* has a target in 'y'|all cells of the target 'y' are missing"):
        fit(put(pa.table({"x": [1.0, 2.0], "y": pa.array([None, None], pa.string())})), "y", "nb", in_database=True)


def test_numbers_and_dates_as_strings_are_read(put: Put) -> None:
    days = ["2024-01-01", "2024-02-02", "2024-03-03", "2024-01-04"] * 5
    where = put(pa.table({"x": ["1", "2", "3", "4"] * 5, "d": days, "y": ["a", "b", "a", "b"] * 5}))
    asked: dict[str, Any] = {"columns": {"x": "numeric", "d": "ignore"}}
    with pytest.raises(TableError, match="column 'x' holds numbers as strings"):
        fit(where, "y", "nb", in_database=True, **asked)
    with pytest.raises(TableError, match="column 'd' holds dates as strings"):
        fit(where, "y", "nb", in_database=True, columns={"x": "ignore", "d": "date"})
    model = fit(where, "y", "nb", **asked)
    assert model.summed_ == "here"
    assert model.rows_ == 20


def test_moments_that_duckdb_writes_otherwise_are_read_here(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute(
            "create table t as select range % 5 as x, ['a', 'b'][1 + range % 2] as y, range % 3 = 0 as sure, "
            "timestamp '2024-01-01' + to_days(range::int % 4) as day, day::timestamptz as at from range(80)"
        )
    place = f"{tmp_path / 'a.duckdb'}::t"
    with pytest.raises(TableError, match="column 'day' holds moments, whose names a database writes otherwise"):
        fit(place, "y", "nb", in_database=True, columns={"day": "category", "at": "ignore"})
    with pytest.raises(TableError, match="column 'at' holds moments with a time zone"):
        fit(place, "y", "nb", in_database=True, columns={"day": "ignore", "at": "date"})
    there, here = both(place, "y", "nb", columns={"day": "ignore", "at": "ignore", "sure": "numeric"})
    same_sums(there.description_.statistics_, here.description_.statistics_)


def test_sums_that_overflow_in_a_database_are_named(put: Put) -> None:
    rows = np.random.default_rng(0).normal(size=(50, 2)) * [1e170, 1]
    where = put(pa.table({"x": rows[:, 0], "z": rows[:, 1], "y": ["a", "b"] * 25}))
    with pytest.raises(TableError, match="the sums of column 'x' overflow float64; rescale it"):
        fit(where, "y", "nb", in_database=True)


def test_columns_of_types_of_their_own(server: str) -> None:
    run(
        server,
        "create type mood as enum ('sad', 'ok')",
        "create schema shop",
        "create table shop.visits as select case when i % 3 = 0 then 'sad' else 'ok' end::mood as m, "
        "(i::numeric / 7)::numeric(12, 4) as d, (i % 5)::money as fee, "
        "'2024-01-01'::timestamptz + i * '7 hours'::interval as at, "
        "case when i % 4 = 0 then 'y' else 'n' end::char(3) as y, (i + 9007199254740993)::bigint as id "
        "from generate_series(1, 200) i",
    )
    there, here = both(f"{server}::shop.visits", "y", "gda", columns={"id": "ignore"})
    kinds = {each.name: each.kind for each in there.schema_.fields}
    assert (kinds["m"], kinds["d"], kinds["fee"], kinds["at"]) == ("category", "numeric", "count", "date")
    assert there.classes_.tolist() == ["n", "y"]
    same_sums(there.description_.statistics_, here.description_.statistics_)
    same_sums(there.estimator_.statistics_, here.estimator_.statistics_, 1e-9)


@pytest.mark.parametrize("name", ["shop.visits", '"My Shop"."big table"', "plain", "main.plain"])
def test_a_table_of_a_schema_of_a_duckdb_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        rows = "as select i % 7 as x, case when i % 2 = 0 then 'a' else 'b' end as y from range(40) r(i)"
        connection.execute('create schema shop; create schema "My Shop"')
        for each in ("shop.visits", '"My Shop"."big table"', "plain"):
            connection.execute(f"create table {each} {rows}")
    assert fit(f"{path}::{name}", "y", "nb").rows_ == 40


def test_quoted_parts_of_a_server_s_table(server: str) -> None:
    run(
        server,
        'create schema "My Shop"',
        'create table "My Shop"."big.table" as select i % 7 as x, (i % 2)::text as y from generate_series(1, 40) i',
    )
    assert fit(f'{server}::"My Shop"."big.table"', "y", "nb").rows_ == 40


# Servers that say no.


def test_a_right_that_is_lacking_is_named(server: str) -> None:
    run(server, "create table secret as select 1 as x, 'a' as y", "create role reader login")
    address = server.replace("postgres@", "reader@")
    with pytest.raises(TableError, match=r"read the table 'secret': have its owner GRANT SELECT ON secret to you$"):
        fit(f"{address}::secret", "y", "nb")


def test_a_connection_that_drops_is_said(server: str) -> None:
    run(server, "create table few as select i as x, (i % 2)::text as y from generate_series(1, 50) i")
    database = open_table(f"{server}::few").database()
    assert database is not None
    ((backend,),) = database.ask("select pg_backend_pid()")
    run(server, f"select pg_terminate_backend({backend})")
    with pytest.raises(
        TableError, match=r"the connection to the database was lost while 'few' was read: .* start again"
    ):
        database.ask("select 1")


def test_all_sums_see_the_same_rows(server: str) -> None:
    run(server, "create table moving as select i % 7 as x, (i % 2)::text as y from generate_series(1, 50) i")
    source = open_table(f"{server}::moving")
    database = source.database()
    assert database is not None
    table_scan = database_scan.DatabaseScan(source, database)
    head, _ = table_scan.head()
    run(server, "insert into moving select i, 'new' from generate_series(1, 50) i")
    schema = fit(head, "y", "nb").schema_
    assert table_scan.run(schema, head, 1000, None, None).rows == 50


def test_a_query_that_fails_does_not_stop_the_others(server: str) -> None:
    run(
        server,
        "create table small_numbers as select i * 1e-200::float8 as x, (i % 2)::text as y from generate_series(1, 9) i",
    )
    database = open_table(f"{server}::small_numbers").database()
    assert database is not None
    with pytest.raises(TableError, match="database says"):
        database.ask("select nonsense from nowhere()")
    assert database.ask("select 1 as one") == [(1,)]
    for in_database in (True, False):  # squares that the server refuses, and that are 0 here
        with pytest.raises(TableError, match="the sums of squares of column 'x' underflow float64"):
            fit(f"{server}::small_numbers", "y", "nb", columns={"x": "numeric"}, in_database=in_database)


# Where sums are taken.


def test_sums_are_taken_where_that_is_faster(put: Put, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = open_table(place)
    on_a_server = place.startswith("postgresql")
    assert (choose_database(source, None) is not None) == on_a_server
    assert choose_database(source, False) is None
    assert choose_database(source, True) is not None
    assert choose_database(source, None, "gda") is None  # its products are many
    monkeypatch.setattr(table_database, "NARROW", 1000)
    assert (choose_database(source, None, "gda") is not None) == on_a_server
    expected = "in PostgreSQL, of words here" if on_a_server else "here"
    assert fit(place, "sold", "nb", columns=KINDS).summed_ == expected


@pytest.mark.parametrize("put", ["postgresql"], indirect=True)
def test_a_date_counts_as_the_columns_that_it_becomes(put: Put) -> None:
    rows = table()
    narrow = put(rows.select(["spread", "new", "price"]))
    assert choose_database(open_table(narrow), None, "linear") is not None
    assert fit(narrow, "price", "linear").summed_.startswith("in ")
    dated = put(rows.select(["spread", "new", "listed", "price"]))
    assert choose_database(open_table(dated), None, "linear") is None  # a moment's time, months, weekdays and hours
    assert choose_database(open_table(dated), None, "nb") is not None  # no products
    assert fit(dated, "price", "linear").summed_ == "here"
    levels = [f"level {place % 15}" for place in range(rows.num_rows)]
    named = put(rows.select(["spread", "price"]).append_column("names", pa.array(levels)))
    assert fit(named, "price", "linear").summed_.endswith("of products here")  # found out once levels are known


def test_a_parquet_file_is_summed_where_it_lies(tmp_path: Path) -> None:
    """NaN is among its cells, which the least and greatest cells that the file tells of itself hide from DuckDB."""
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(table().select(["spread", "rooms", "garden", "fee", "price", "sold"]), path)
    for target, model in (("sold", "nb"), ("price", "linear")):
        there, here = both(path, target, model, columns=None)
        same_sums(there.description_.statistics_, here.description_.statistics_)
        same_sums(there.estimator_.statistics_, here.estimator_.statistics_, 1e-9)


def test_text_files_and_frames_are_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(40.0) % 7, "y": ["a", "b"] * 20})
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    assert fit(path, "y", "nb").summed_ == "here"
    there, here = both(path, "y", "nb", columns=None)
    same_sums(there.description_.statistics_, here.description_.statistics_)
    with pytest.raises(TableError, match="in no database that could sum it"):
        fit(frame, "y", "nb", in_database=True)


def test_where_sums_were_taken_is_kept(place: str, tmp_path: Path) -> None:
    model = fit(place, "sold", "nb", columns=KINDS, in_database=True)
    model.save(tmp_path / "model.suffice")
    assert suffice.load(tmp_path / "model.suffice").summed_ == model.summed_
    here = fit(place, "sold", "nb", columns=KINDS, in_database=False)
    assert (model + model).summed_ == model.summed_
    assert (model + here).summed_ == f"{model.summed_} and here"


# The rows that models are judged by.


def overlapping(n: int = 600, seed: int = 2) -> pa.Table:
    """Return rows of two classes that overlap, some of them equal, so that posteriors are softened or sharpened."""
    random = np.random.default_rng(seed)
    sold = random.random(n) < 0.5
    area = random.normal(100 + 8 * sold, 10)
    rows = pa.table(
        {
            "area": area,
            "depth": area / 4 + random.normal(size=n),  # naive Bayes counts it twice
            "rooms": random.poisson(3 + sold),
            "fee": pa.array([Decimal(int(cents)).scaleb(-2) for cents in random.integers(0, 99, n) + 9 * sold]),
            "street": [None if gone else name for name, gone in zip(
                random.choice(["calm", "loud", "wide"], n), random.random(n) < 0.1, strict=True)],
            "sold": np.where(sold, "yes", "no"),
        }
    )  # fmt: skip
    return pa.concat_tables([rows, rows[:50], rows[:20]])


def shuffled(rows: pa.Table, seed: int = 0) -> pa.Table:
    return rows.take(np.random.default_rng(seed).permutation(rows.num_rows))


@pytest.mark.parametrize(
    ("model", "compared"),
    [
        ("nb", 300),
        ("gda", 30_000),
        ("gda-full", 300),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("nb", 30_000), ("gda", 300), ("gda-full", 30_000))),
    ],
)
def test_a_model_does_not_depend_on_where_its_rows_lie_nor_on_their_order(
    put: Put, model: str, compared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "COMPARISON_ROWS", compared)
    monkeypatch.setattr(fitting, "_drawn", lambda model, schema: 30_000)  # all are drawn, and some are compared by
    rows = overlapping()
    here = fit(rows, "sold", model, folds=2)
    expected = here.predict_proba(rows)
    assert here.candidates_[0].temperature != 1.0
    place = put(shuffled(rows, 1))
    others = [fit(shuffled(rows), "sold", model, folds=2), *both(place, "sold", model, columns=None)]
    for other in others:
        assert other.candidates_[0].temperature == pytest.approx(here.candidates_[0].temperature, rel=1e-12)
        assert other.candidates_[0].loss == pytest.approx(here.candidates_[0].loss, rel=1e-12)
        np.testing.assert_allclose(other.predict_proba(rows), expected, atol=1e-12)


def same_choice(model: TableModel, other: TableModel) -> None:
    """Check that models were compared and calibrated by the same rows."""
    for mine, theirs in zip(model.candidates_, other.candidates_, strict=True):
        assert theirs.model == mine.model
        assert theirs.temperature == pytest.approx(mine.temperature, rel=1e-12)
        assert theirs.loss == pytest.approx(mine.loss, rel=1e-12)


@pytest.mark.parametrize("model", ["nb", "gda"])
def test_rows_are_drawn_by_their_contents_wherever_they_lie(
    put: Put, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "COMPARISON_ROWS", 300)  # of 670
    rows = overlapping()
    here = fit(rows, "sold", model, folds=2)
    path = tmp_path / "rows.csv"
    shuffled(rows, 1).to_pandas().to_csv(path, index=False)
    place = put(shuffled(rows, 2))
    there = fit(place, "sold", model, folds=2, in_database=True)
    others = [fit(each, "sold", model, folds=2) for each in (shuffled(rows, 3), path)]
    others.append(fit(place, "sold", model, folds=2, in_database=False))
    if there.summed_ == "in DuckDB":
        others.append(there)
    expected = here.predict_proba(rows)
    for other in others:
        same_choice(here, other)
        np.testing.assert_allclose(other.predict_proba(rows), expected, atol=1e-12)
    assert there.candidates_[0].temperature == pytest.approx(here.candidates_[0].temperature, rel=0.5)
    another = fit(rows, "sold", model, folds=2, random_state=1)
    assert another.candidates_[0].loss != pytest.approx(here.candidates_[0].loss, rel=1e-6)


def test_a_regression_is_fitted_to_the_same_drawn_rows_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "COMPARISON_ROWS", 200)
    rows = overlapping()
    one, two = (fit(each, "sold", "logistic", most_rows=400, folds=2) for each in (rows, shuffled(rows)))
    assert one.fitted_rows_ == two.fitted_rows_ == 400
    assert one.candidates_[0].penalty == two.candidates_[0].penalty
    np.testing.assert_allclose(two.predict_proba(rows), one.predict_proba(rows), atol=1e-6)


def drawn(cells: npt.NDArray[np.float64], most: int, seed: int = 0, batch: int = 1000) -> npt.NDArray[np.float64]:
    """Return the sorted cells that a sample of them holds."""
    sample = RowSample(most, seed)
    for start in range(0, len(cells), batch):
        some = cells[start : start + batch]
        block = Block((), (some,), len(some))
        sample.add(pa.record_batch({"x": some}), hash_rows(block, np.zeros(len(some)), Labels()))
    return np.sort(sample.table().column("x").to_numpy())


def test_a_sample_depends_on_neither_order_nor_batches() -> None:
    random = np.random.default_rng(0)
    cells = np.concatenate([random.normal(size=5000), np.full(4000, 7.0), random.integers(0, 3, 1000), [np.nan, -0.0]])
    expected = drawn(cells, 500)
    assert len(expected) == 500
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(cells))
        np.testing.assert_array_equal(drawn(cells[order], 500, batch=177 + 300 * seed), expected)
    assert not np.array_equal(drawn(cells, 500, seed=1), expected)
    np.testing.assert_array_equal(drawn(cells[:300], 500), np.sort(cells[:300]))  # all of them where they are few


def test_a_row_that_comes_often_is_drawn_as_often_as_its_share() -> None:
    cells = np.concatenate([np.zeros(6000), np.random.default_rng(0).normal(size=4000)])
    shares = [np.mean(drawn(cells, 1000, seed) == 0) for seed in range(5)]
    np.testing.assert_allclose(shares, 0.6, atol=0.06)


def test_rows_beyond_those_that_are_counted_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_sample, "_COUNTED", 100)
    cells = np.repeat(np.random.default_rng(0).normal(size=500), 2)
    assert len(drawn(cells, 200)) == pytest.approx(200, abs=2)


@pytest.mark.parametrize("model", ["logistic", "auto"])
def test_a_penalty_does_not_depend_on_the_order_of_rows(model: str) -> None:
    rows = overlapping(80)
    one, two = (fit(each, "sold", model, folds=3) for each in (rows, shuffled(rows)))
    assert one.model_ == two.model_
    assert [(each.model, each.penalty) for each in one.candidates_] == [
        (each.model, each.penalty) for each in two.candidates_
    ]
    losses = [[each.loss for each in model.candidates_] for model in (one, two)]
    np.testing.assert_allclose(*losses, rtol=1e-9)


def test_rows_compared_are_a_sample_of_all_rows_not_of_the_distinct_ones() -> None:
    cells = np.repeat([0.0, 1.0, 2.0, 3.0], [6000, 3000, 900, 100])
    block = Block((), (cells,), len(cells))
    for seed in range(3):
        first = cells[order_by_content([(block, np.zeros(len(cells)))], Labels(), seed)][:1000]
        np.testing.assert_allclose(np.bincount(first.astype(int)) / 1000, [0.6, 0.3, 0.09, 0.01], atol=0.05)


def test_the_last_digit_of_a_number_does_not_change_the_order() -> None:
    cells = np.random.default_rng(0).normal(1e3, 1, 500)
    one, two = (
        order_by_content([(Block((), (column,), 500), np.zeros(500))], Labels(), 0)
        for column in (cells, np.nextafter(cells, 0))
    )
    np.testing.assert_array_equal(one, two)


def test_all_rows_are_drawn_of_a_file_whose_first_lines_are_short(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"{place % 7},{'ab'[place % 2]}" for place in range(20_000)]
    lines += [f"{place % 7}.{'0' * 200},{'ab'[place % 2]}" for place in range(5_000)]
    path.write_text("\n".join(["x,y", *lines]) + "\n")
    source = open_table(path)
    assert (source.rows() or 0) > 2 * 30_000  # by the length of the first lines
    assert scan.scan_table(scan.StreamScan(source), "y").is_sample_complete


@pytest.mark.parametrize(
    ("task", "late", "message"),
    [
        ("counts", "-1", "the target 'y' is -1 in some row, which is not a count"),
        ("numbers", "'inf'::float8", "the target 'y' is inf in some row, which is not a finite number"),
    ],
)
def test_a_late_target_that_must_not_be_is_named(task: str, late: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        rows = (
            f"select i % 17 * 0.5 as x, case when i = 199999 then {late} else i % 9 end as y from range(200000) as t(i)"
        )
        connection.execute(f"create table t as {rows}")
    with pytest.raises(TableError, match=message):
        fit(path, "y", "linear", in_database=True, task=task)

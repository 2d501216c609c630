"""The SELECT of a model equals predict, for all column types of the database."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from suffice.tables import Dialect, TableModel, fit, open_table
from suffice.tables.sources.base import Source

#: What stands for nothing in the file, beside the usual marks.
MARKS = ("n/a", "-", "-999")
#: Levels that a terminal, a literal, or a comparison could get wrong.
STREETS = ("calm", "Calm", "it's", 'a"b\\c', "\x1b[31mred\x1b[0m", "two\nlines", "Straße", "\u2003wide\u00a0", "", "-")
KINDS = {"grade": "category", "reply": "category", "built": "date", "listed": "date", "at": "date"}
#: Explicit types; the marks are read as NULL there, as a user would have it.
TYPES = {
    "key": "bigint",
    "size": "double",
    "ratio": "real",
    "far": "bigint",
    "fee": "decimal(9, 2)",
    "rooms": "integer",
    "garden": "boolean",
    "flag": "boolean",
    "bit": "smallint",
    "street": "varchar",
    "grade": "integer",
    "reply": "boolean",
    "built": "date",
    "listed": "timestamp",
    "at": "timestamptz",
    "price": "double",
    "sold": "varchar",
}
N = 150


def rows() -> list[dict[str, str]]:
    """Return rows of every kind of column, as text, whose columns tell the classes apart."""
    random = np.random.default_rng(0)
    found = []
    for key in range(N):
        sold = random.random() < 0.5

        def cell(value: Any, *marks: str, share: float = 0.1) -> str:
            return str(random.choice(marks)) if marks and random.random() < share else str(value)

        noon = f"{random.integers(0, 9) + 12 * sold:02d}:{random.integers(0, 60):02d}:{random.integers(0, 60):02d}"
        day = f"2024-{random.integers(1, 7) + 5 * sold:02d}-{random.integers(1, 28):02d}"
        found.append(
            {
                "key": str(key),
                "size": cell(repr(float(random.normal(100 + 10 * sold, 10))), "?", "n/a", "", "-999", "NaN"),
                "ratio": f"{random.integers(0, 64) / 64 + sold:.6f}",  # exact in 32 bits
                "far": str(2**60 + 2**55 * int(random.integers(0, 9) + 4 * sold)),
                "fee": f"{random.integers(0, 999) / 100 + sold:.2f}",
                "rooms": cell(random.poisson(3 + sold), "?", "-"),
                "garden": cell(random.choice(["yes", "no"] if sold else ["no", "no", "yes"]), "?", ""),
                "flag": cell(random.choice(["True", "False"] if sold else ["False", "False", "True"]), "n/a"),
                "bit": cell(int(random.random() < 0.3 + 0.4 * sold), "-"),
                "street": str(random.choice(STREETS[: None if sold else 5])),
                "grade": cell(random.integers(1, 4 if sold else 3), "?"),
                "reply": cell(random.choice(["Yes", "No"] if sold else ["No", "No", "Yes"]), ""),
                "built": cell(day, "?", ""),
                "listed": cell(f"{day} {noon}", "n/a"),
                "at": cell(f"{day} {noon}+05:30", ""),
                "price": repr(float(random.normal(5 + 3 * sold, 1))),
                "sold": "yes" if sold else "no",
            }
        )
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("rows") / "rows.csv"
    with found.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(TYPES))
        writer.writeheader()
        writer.writerows(rows())
    return found


def opened(path: Path) -> Source:
    return open_table(path, dialect=Dialect(missing=MARKS), strings=["grade", "reply", "street"])


class Base(NamedTuple):
    """A database: its dialect, what gives the rows of a query, what runs a statement, and what it raises."""

    dialect: str
    ask: Callable[[str], pa.Table]
    run: Callable[[str], Any]
    error: type[Exception]


def in_duckdb(connection: Any) -> Base:
    return Base("duckdb", lambda sql: connection.sql(sql).to_arrow_table(), connection.execute, duckdb.Error)


def in_postgres(cursor: Any) -> Base:
    def ask(sql: str) -> pa.Table:
        cursor.execute(sql)
        return cursor.fetch_arrow_table()

    return Base("postgresql", ask, cursor.execute, cursor.connection.DatabaseError)


@pytest.fixture(scope="module")
def connected(server: str) -> Iterator[Any]:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def base(request: pytest.FixtureRequest, path: Path) -> Iterator[Base]:
    """Yield a database whose table ``data`` holds the file, by one way of reading it."""
    nulls = "['', '?', 'n/a', '-', '-999', 'NaN']"
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'America/New_York'")
        ways = {
            "sniffed": f"read_csv_auto('{path}')",
            "strings": f"read_csv('{path}', all_varchar = true)",
            "typed": f"read_csv('{path}', types = {dict(TYPES)!r}, nullstr = {nulls})",
        }
        if request.param in ways:
            connection.execute(f"create table data as from {ways[request.param]}")
            yield in_duckdb(connection)
            return
        typed = request.param == "postgres typed"
        cells = connection.sql(f"from {ways['strings']}").to_arrow_table()
        with request.getfixturevalue("connected").cursor() as cursor:
            cursor.execute("set timezone = 'Asia/Kolkata'")
            cursor.execute("set datestyle = 'SQL, DMY'")
            cursor.execute("drop table if exists data, given")
            cursor.adbc_ingest("given", cells)
            special = {"size": "float8", "price": "float8", "fee": "money"}
            kinds = {**TYPES, **special} if typed else dict.fromkeys(TYPES, "text")
            marks = "('', '?', 'n/a', '-', '-999', 'NaN')" if typed else "('never')"
            read = [f"case when {name} in {marks} then null else {name} end::{kinds[name]} as {name}" for name in TYPES]
            cursor.execute(f"create table data as select {', '.join(read)} from given")
            yield in_postgres(cursor)


WAYS = ["sniffed", "strings", "typed", "postgres strings", "postgres typed"]
MODELS = [("sold", "nb"), ("sold", "gda"), ("sold", "additive"), ("price", "linear")]
#: All models but nb share their reading of cells: each way is asked by one of them. A file that is sniffed has columns
#: of strings beside typed ones, which nb is asked about apart.
COVERING = {
    "nb": ("strings", "typed", "postgres strings", "postgres typed"),
    "gda": ("strings",),
    "additive": ("typed", "postgres strings"),
    "linear": ("sniffed", "postgres typed"),
}


@pytest.fixture(scope="module")
def fitted(path: Path) -> dict[tuple[str, str], TableModel]:
    ignored = {"sold": "price", "price": "sold"}
    return {
        (target, model): fit(
            opened(path), target, model, columns={**KINDS, "key": "ignore", ignored[target]: "ignore"}, folds=2
        )
        for target, model in MODELS
    }


def agree(model: TableModel, found: pa.Table, expected: Any) -> None:
    found = found.sort_by("key")
    if model.schema_.task == "classes":
        scores = np.stack([found.column(f"p_{each}").to_numpy() for each in model.classes_], axis=1)
        assert found.column("prediction").to_pylist() == model.named(expected).tolist()
    else:
        scores = found.column("prediction").to_numpy()
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("base", "target", "model"),
    [
        pytest.param(way, target, model, marks=[] if way in COVERING[model] else pytest.mark.slow)
        for way in WAYS
        for target, model in MODELS
    ],
    indirect=["base"],
)
def test_the_query_gives_what_predict_gives_of_the_file(
    base: Base, path: Path, fitted: dict[tuple[str, str], TableModel], target: str, model: str
) -> None:
    asked = fitted[target, model]
    assert {each.kind for each in asked.schema_.predictors} == {"numeric", "count", "boolean", "category", "date"}
    found = base.ask(asked.to_sql(base.dialect, keep=["key"]).replace('"key",', '"key"::int as "key",', 1))
    answer = asked.predict_proba if asked.schema_.task == "classes" else asked.predict
    agree(asked, found, answer(opened(path)))


# One column at a time.


@pytest.fixture(scope="module", params=["duckdb", "postgresql"])
def asked(request: pytest.FixtureRequest) -> Iterator[Base]:
    """Yield an empty database."""
    if request.param == "duckdb":
        with duckdb.connect() as connection:
            yield in_duckdb(connection)
        return
    with request.getfixturevalue("connected").cursor() as cursor:
        yield in_postgres(cursor)


def model_of(kind: str, cells: Any, **more: Any) -> TableModel:
    """Return naive Bayes over one column and nothing else."""
    column = pa.array(cells) if not isinstance(cells, pa.Array) else cells
    table = pa.table({"x": column, "y": ["a", "b"] * (len(column) // 2)})
    return fit(table, "y", "nb", columns={"x": kind}, folds=2, **more)


def scored(model: TableModel, asked: Base, values: list[str]) -> Any:
    """Return what the query gives for a column of SQL expressions."""
    cells = " union all ".join(f"select {place} as key, {value} as x" for place, value in enumerate(values))
    sql = model.to_sql(asked.dialect, keep=["key"]).replace('from "data"', f"from ({cells}) as data")
    return asked.ask(sql).sort_by("key").column("p_a").to_numpy()


NUMBERS = [1.0, 2.0, 3.5, -4.0, 2.5, 6.0] * 5
NAMES = ["yes", "no", "yes", "maybe", "no", "no"] * 5
TENTHS = [0.1, 1e-7, 0.1, 2.5, 2.5, 1e-7] * 3
TRUE_FALSE = [True, False, False, True] * 3
SPELLINGS = ["yes", "NO", "t", "F", "on", "Off", "y", "n", "1", "0", "TRUE", "false"]
BIG = [2**60 + 1, 2**60 + 3, 2**60 + 1, 7, 7, 2**60 + 3] * 5


@pytest.mark.parametrize(
    ("kind", "cells", "values", "here"),
    [
        ("numeric", NUMBERS, ["'3.5'", "' 1 '", "'+2.'", "'1e0'", "null", "''"], [3.5, 1, 2, 1, None, None]),
        ("numeric", NUMBERS, ["0.1::real", "null::real"], pa.array([0.1, None], pa.float32())),
        ("numeric", NUMBERS, ["'nan'::float8", "1::float8"], [float("nan"), 1.0]),
        ("numeric", NUMBERS, ["true", "false"], [True, False]),
        ("numeric", NUMBERS, ["9007199254740993::bigint"], [9007199254740993]),
        ("numeric", NUMBERS, ["12345678901234567890.5::numeric(30, 2)"], [12345678901234567890.5]),
        ("category", NAMES, ["'yes'", "' no'", "'Yes'", "null", "''"], ["yes", "no", "unseen", None, None]),
        ("category", NAMES, ["chr(8195) || 'yes' || chr(160)"], ["yes"]),
        ("category", BIG, ["1152921504606846977", "1152921504606846979"], [2**60 + 1, 2**60 + 3]),
        ("category", BIG, ["'1152921504606846977'", "'7.0'"], ["1152921504606846977", "7.0"]),
        ("category", [1, 2, 2, 1, 3, 3], ["1::float8", "2::numeric(5, 2)", "'nan'::float8"], [1, 2, 9]),
        ("category", [0, 2, 2, 0, 3, 3], ["'-0'::float8", "0::float8"], [0, 0]),
        ("category", TENTHS, ["0.1::float8", "1e-7::float8", "2.5::float8"], [0.1, 1e-7, 2.5]),
        ("category", TENTHS, ["2.50::numeric(4, 2)", "0.10::numeric(4, 2)"], [2.5, 0.1]),
        ("boolean", ["Yes", "No"] * 6, ["true", "false", "null::boolean"], ["yes", "no", None]),
        ("boolean", ["Yes", "No"] * 6, ["'YES'", "' no '", "''"], ["yes", "no", None]),
        ("boolean", [True, False, False, True] * 3, ["'true'", "'FALSE'"], [True, False]),
        ("boolean", [1, 0, 0, 1] * 3, ["'1'", "'0'"], [1, 0]),
        ("boolean", TRUE_FALSE, [f"'{word}'" for word in SPELLINGS], SPELLINGS),
        ("boolean", TRUE_FALSE, ["' yes '", "''", "null::varchar"], [" yes ", "", None]),
        ("boolean", TRUE_FALSE, ["1", "0", "null::int"], [1, 0, None]),
        ("boolean", ["yes", "no", "no", "yes"] * 3, ["true", "false"], [True, False]),
        ("boolean", ["on", "off", "off", "on"] * 3, ["true", "false", "null::boolean"], [True, False, None]),
        ("category", ["Yes", "No", "No", "Yes"] * 3, ["true", "false"], [True, False]),
    ],
)  # fmt: skip
def test_a_cell_is_read_as_the_model_reads_it(
    asked: Base, kind: str, cells: list[Any], values: list[str], here: Any
) -> None:
    model = model_of(kind, cells)
    column = here if isinstance(here, pa.Array) else pa.array(here)
    expected = model.predict_proba(pa.table({"x": column}))[:, 0]
    np.testing.assert_allclose(scored(model, asked, values), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "cells", "value"),
    [
        ("numeric", NUMBERS, "'many'"),
        ("numeric", NUMBERS, "'1_000'"),
        ("numeric", NUMBERS, "'0x10'"),
        ("numeric", NUMBERS, "'inf'"),
        ("numeric", NUMBERS, "'infinity'::float8"),
        ("numeric", NUMBERS, "date '2024-01-01'"),
        ("count", [1, 2, 3, 4] * 5, "1.5::float8"),
        ("count", [1, 2, 3, 4] * 5, "'-1'"),
        ("boolean", ["yes", "no"] * 6, "'maybe'"),
        ("boolean", ["yes", "no"] * 6, "2"),
        ("boolean", ["yes", "no"] * 6, "'true'"),
        ("boolean", TRUE_FALSE, "'ja'"),
        ("boolean", TRUE_FALSE, "'1.0'"),
        ("category", ["01", "02", "01", "03"] * 5, "1"),
        ("category", NAMES, "timestamp '2024-01-01 10:00:00'"),
        ("category", NAMES, "interval '1 day'"),
        ("date", ["2024-01-01", "2024-02-03"] * 6, "'soon'"),
        ("date", ["2024-01-01", "2024-02-03"] * 6, "'01/02/2024'"),
        ("date", ["2024-01-01", "2024-02-03"] * 6, "17"),
    ],
)
def test_what_the_reader_refuses_fails_the_query_with_the_column_s_name(
    asked: Base, kind: str, cells: list[Any], value: str
) -> None:
    model = model_of(kind, cells)
    with pytest.raises(asked.error, match=r"column 'x' (is|holds|must hold)"):
        scored(model, asked, [value])


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/New_York"])
def test_moments_do_not_depend_on_the_session(asked: Base, zone: str) -> None:
    stamps = np.datetime64("2024-01-01T20:00:00", "us") + np.arange(12) * np.timedelta64(1, "h")
    model = model_of("date", pa.array(stamps, pa.timestamp("us")))
    expected = model.predict_proba(pa.table({"x": pa.array(stamps[[1, 4]], pa.timestamp("us"))}))[:, 0]
    asked.run(f"set timezone = '{zone}'")
    for one, two in (
        ("'2024-01-01 21:00:00'", "'2024-01-02T00:00:00'"),
        ("'2024-01-01T21:00:00Z'", "'2024-01-02 05:30:00+05:30'"),
        ("timestamp '2024-01-01 21:00:00'", "timestamp '2024-01-02 00:00:00'"),
        ("timestamptz '2024-01-01 21:00:00+00'", "timestamptz '2024-01-01 19:00:00-05'"),
    ):
        np.testing.assert_allclose(scored(model, asked, [one, two]), expected, rtol=1e-10)


HOSTILE = ["\x1b[31mred", "a\nb", "it's", "back\\slash", "tab\tin", "\x85in", 'say "x"', "\u202eleft", "x\x7fy"]


def test_names_with_control_characters_are_the_same_names(asked: Base) -> None:
    names = [f"a{name}b" for name in HOSTILE]
    model = fit(pa.table({"x": names * 4, "y": names * 3 + names[::-1]}), "y", "nb", columns={"x": "category"})
    query = model.to_sql(asked.dialect)
    assert not any(ord(each) < 32 and each != "\n" for each in query.split("from")[1])
    codes = [" || ".join(f"chr({ord(each)})" for each in name) for name in names]
    cells = " union all ".join(f"select {place} as key, {code} as x" for place, code in enumerate(codes))
    found = asked.ask(
        model.to_sql(asked.dialect, keep=["key"]).replace('from "data"', f"from ({cells}) as data")
    ).sort_by("key")
    assert found.column("prediction").to_pylist() == names
    expected = model.predict_proba(pa.table({"x": names}))
    np.testing.assert_allclose(
        np.stack([found.column(f"p_{name}").to_numpy() for name in model.classes_], axis=1), expected, rtol=1e-10
    )


def test_a_zero_byte_is_a_level_of_duckdb_alone() -> None:
    model = model_of("category", ["a\0b", "c", "a\0b", "c"] * 5)
    with duckdb.connect() as connection:
        found = scored(model, in_duckdb(connection), ["'a' || chr(0) || 'b'"])
    np.testing.assert_allclose(found, model.predict_proba(pa.table({"x": ["a\0b"]}))[:, 0])
    assert "\0" not in model.to_sql("postgresql")  # no cell can hold it

"""Inference of column kinds, and kinds that the user sets."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice
from suffice.tables import TableError, scan
from suffice.tables.schema import PARTS
from tests.tables.tables_data import houses, kinds

N = 400
RANDOM = np.random.default_rng(0)
WORDS = ["the", "cat", "sat", "on", "mat", "dog"]
DAYS = pd.date_range("2020-01-01", periods=N)
HOURS = pd.date_range("2020-01-01", periods=N, freq="h")

#: Column by column: its cells, what it is taken for, and why where that is worth saying.
ZOO: dict[str, tuple[Any, str, str]] = {
    "row": (np.arange(N), "ignore", "an identifier"),
    "serial": (RANDOM.permutation(N) + 500, "ignore", "an identifier"),
    "customer_id": (RANDOM.permutation(10**6)[:N], "ignore", "an identifier"),
    "customerId": (RANDOM.permutation(10**6)[:N], "ignore", "an identifier"),
    "name": ([f"p{i}x" for i in range(N)], "ignore", "an identifier"),
    "constant": ([7] * N, "ignore", "always 7"),
    "same": (["same"] * N, "ignore", "always 'same'"),
    "nothing": ([None] * N, "ignore", "all cells are missing"),
    "children": (RANDOM.poisson(1.2, N), "count", ""),
    "rating": (RANDOM.integers(1, 6, N), "count", ""),
    "population": (RANDOM.integers(0, 10**6, N), "numeric", ""),
    "year": (RANDOM.integers(1990, 2020, N), "numeric", ""),
    "below zero": (RANDOM.integers(-5, 5, N), "numeric", ""),
    "money": (RANDOM.lognormal(3, 1, N), "numeric", ""),
    "zero or one": (RANDOM.integers(0, 2, N), "boolean", ""),
    "one or two": (RANDOM.integers(1, 3, N), "count", ""),
    "smoker": (RANDOM.choice(["yes", "no"], N), "boolean", ""),
    "Y or N": (RANDOM.choice(["Y", "N"], N), "boolean", ""),
    "True or False": (RANDOM.choice(["True", "False"], N), "boolean", ""),
    "on or off": (RANDOM.choice(["on", "off"], N), "boolean", ""),
    "sex": (RANDOM.choice(["m", "f"], N), "category", ""),
    "city": (RANDOM.choice(["new york city", "los angeles", "rome"], N), "category", ""),
    "day": (DAYS.strftime("%Y-%m-%d"), "date", ""),
    "moment": (HOURS.strftime("%Y-%m-%d %H:%M:%S"), "date", ""),
    "one day": (["2024-01-01"] * N, "ignore", "one date only"),
    "note": ([" ".join(RANDOM.choice(WORDS, 6)) for _ in range(N)], "text", ""),
}
TABLE = pd.DataFrame({name: cells for name, (cells, _, _) in ZOO.items()} | {"y": RANDOM.choice(["a", "b"], N)})


@pytest.fixture(scope="module")
def from_frame() -> suffice.TableModel:
    return suffice.fit(TABLE, "y", "nb")


@pytest.fixture(scope="module")
def from_file(tmp_path_factory: pytest.TempPathFactory) -> suffice.TableModel:
    path = tmp_path_factory.mktemp("zoo") / "zoo.csv"
    TABLE.to_csv(path, index=False)
    return suffice.fit(path, "y", "nb")


@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("where", ["from_frame", "from_file"])
def test_a_column_is_taken_for_what_its_cells_suggest(where: str, name: str, request: pytest.FixtureRequest) -> None:
    field = request.getfixturevalue(where).schema_.field(name)
    assert field.kind == ZOO[name][1]
    assert field.why.startswith(ZOO[name][2])


def test_mixed_nb_infers_the_same_kinds() -> None:
    incomparable = (
        "date",
        "one date only",
        "always",
        "all cells are missing",
    )  # MixedNB has no dates, and may learn more
    names = [
        name
        for name, (_, kind, why) in ZOO.items()
        if not f"{kind} {why}".removeprefix("ignore ").startswith(incomparable)
    ]
    found = suffice.MixedNB().fit(TABLE[names], TABLE.y).column_kinds_
    assert found == {name: ZOO[name][1] for name in names}
    assert set(found.values()) == {"numeric", "count", "boolean", "category", "text", "ignore"}


def test_a_categorical_type_says_that_a_column_is_a_category() -> None:
    names = ["smoker", "rating", "note"]
    frame = pd.DataFrame({name: TABLE[name].astype("category") for name in names} | {"x": TABLE.money})
    expected = {"smoker": "category", "rating": "category", "note": "ignore", "x": "numeric"}
    assert suffice.MixedNB().fit(frame, TABLE.y).column_kinds_ == expected
    for table, target in ((frame, TABLE.y), (frame.assign(y=TABLE.y), "y")):
        schema = suffice.fit(table, target, "nb").schema_
        assert {name: schema.field(name).kind for name in expected} == expected
    lazy = pl.from_pandas(frame[["smoker", "x"]]).lazy()
    assert suffice.fit(lazy, TABLE.y, "nb").schema_.field("smoker").kind == "category"


def fitted(cells: Any, **settings: Any) -> suffice.TableModel:
    return suffice.fit(
        pd.DataFrame({"a": cells, "x": RANDOM.normal(size=len(cells)), "y": TABLE.y}), "y", "nb", **settings
    )


def test_moments_with_a_zone_are_dates() -> None:
    assert kinds(fitted(HOURS.strftime("%Y-%m-%dT%H:%M:%SZ")))["a"] == "date"


def test_dates_have_parts_and_moments_have_hours() -> None:
    for cells, parts in ((DAYS.strftime("%Y-%m-%d"), ["time", "month", "weekday"]), (HOURS, [*PARTS])):
        assert [feature.part for feature in fitted(cells).schema_.features if feature.column == "a"] == parts


@pytest.mark.parametrize(("cells", "kind"), [([0.0, 1.0], "boolean"), ([0.0, 1.0, 2.0], "count")])
def test_whole_numbers_that_a_gap_made_floats_are_still_whole(cells: list[float], kind: str) -> None:
    column = RANDOM.choice(cells, N)
    column[5] = np.nan
    assert kinds(fitted(column))["a"] == kind


def test_an_identifier_needs_rows_to_be_one() -> None:
    table = pd.DataFrame({"n": range(6), "y": list("ababab")})
    assert kinds(suffice.fit(table, "y", "nb")) == {"n": "count"}


def test_names_with_blanks_around_them_are_the_same() -> None:
    model = fitted(np.where(np.arange(N) % 2, " red", "red ").astype(object), columns={"a": "category"})
    assert model.description_.levels()["a"] == ("red",)


# Overruled.


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("row", "numeric"),
        ("year", "category"),
        ("rating", "category"),
        ("rating", "numeric"),
        ("zero or one", "count"),
        ("smoker", "category"),
        ("sex", "text"),
        ("money", "ignore"),
        ("day", "category"),
        ("note", "category"),
        ("name", "text"),
        ("constant", "numeric"),
    ],
)
def test_a_kind_can_be_given(name: str, kind: str) -> None:
    model = suffice.fit(
        TABLE[[name, "money", "sex", "y"]].loc[:, lambda t: ~t.columns.duplicated()], "y", "nb", columns={name: kind}
    )
    assert kinds(model)[name] == kind
    assert model.schema_.field(name).why == "set by the user"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"smokr": "boolean"}, r"no column 'smokr' .*did you mean 'smoker'\?"),
        ({"Sex": "category"}, r"no column 'Sex' .*did you mean 'sex'\?"),
        ({"sex": "categry"}, r"'categry' is not a kind of column; the kinds are numeric.*; did you mean 'category'\?"),
        ({"city": "boolean"}, "'city' is not boolean: it must hold two values"),
        ({"city": "date"}, "'city' does not hold dates"),
        ({"city": "numeric"}, "'city' must hold numbers: 400 of 400 cells .100 %. are no numbers"),
        ({"day": "numeric"}, "'day' holds dates, which cannot be numeric: use date, category or ignore"),
        ({"below zero": "count"}, "'below zero' .* not a count"),
        ({"money": "count"}, "'money' .* not a count"),
        ({"sex": 1}, "'1' is not a kind"),
    ],
)
def test_a_kind_that_cannot_be_is_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(TableError, match=message) as caught:
        suffice.fit(TABLE, "y", "nb", columns=columns)
    assert "when the model was fitted" not in str(caught.value)


def test_a_list_cannot_be_a_category() -> None:
    with pytest.raises(TableError, match="'a'"):
        fitted([[1, 2]] * N, columns={"a": "category"})


def test_a_table_of_the_target_alone_is_refused() -> None:
    with pytest.raises(TableError, match="no column is left to predict 'y' from: it is the only one"):
        suffice.fit(TABLE[["y"]], "y")


def test_a_table_of_which_nothing_is_left_says_why() -> None:
    with pytest.raises(TableError, match=r"no column is left to predict 'y' from .*row: an identifier.*same: always"):
        suffice.fit(TABLE[["row", "same", "y"]], "y")


# Rows that come late.


@pytest.mark.parametrize(
    ("first", "last", "kind"),
    [
        ([0, 1, 2], -1.5, "numeric"),
        ([0, 1], 7, "numeric"),
        (["yes", "no"], "maybe", "category"),
        (["2024-01-01", "2024-02-02"], "unknown", "category"),
    ],
)
def test_a_late_cell_that_is_none_of_its_kind_changes_the_kind(
    first: list[Any], last: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("suffice.tables.scan.HEAD_ROWS", 500)
    monkeypatch.setattr("suffice.tables.sources.frames.BATCH", 1000)
    n = 1400
    cells = np.array(first, dtype=object)[np.arange(n) % len(first)]
    cells[-1] = last
    table = pd.DataFrame({"a": pd.Series(cells.tolist()), "y": np.array(["p", "q"])[np.arange(n) // 3 % 2]})
    model = suffice.fit(table, "y", "nb")
    assert kinds(model) == {"a": kind}
    assert model.rows_ == n
    assert model.schema_.field("a").why.startswith("some cells are no")


@pytest.mark.parametrize("first", [0.0, np.nan])
def test_a_column_that_varies_late_is_not_left_out(first: float) -> None:
    n = 140_000
    cells = np.where(np.arange(n) < 60_000, first, np.arange(n) % 17 * 0.5)
    table = pd.DataFrame({"a": cells, "x": np.arange(n) % 13 * 0.5, "y": np.array(["p", "q"])[np.arange(n) // 3 % 2]})
    assert kinds(suffice.fit(table, "y", "nb")) == {"a": "numeric", "x": "numeric"}


def test_a_category_that_varies_only_where_the_target_is_missing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "HEAD_ROWS", 40)
    table = pd.DataFrame({"a": ["u"] * 89 + ["v"], "x": np.arange(90) % 7 * 0.5, "y": [*"pq" * 44, "p", None]})
    table = table.iloc[::-1].reset_index(drop=True)
    model = suffice.fit(table, "y", "nb")
    assert model.schema_.field("a").why == "always 'u'"


def test_decimals_may_name_a_category() -> None:
    prices = pa.array([Decimal("1.50"), Decimal("2.00"), None] * 20, pa.decimal128(5, 2))
    table = pa.table({"a": prices, "y": ["p", "q", "p"] * 20})
    assert suffice.fit(table, "y", "nb", columns={"a": "category"}).description_.levels() == {"a": ("1.5", "2")}


def test_a_column_called_like_a_part_of_a_date() -> None:
    table = houses(60).assign(seen=pd.date_range("2024-01-01", periods=60))
    table["seen.time"] = np.random.default_rng(0).normal(size=60)
    model, other = (suffice.fit(t, "sold", "gda") for t in (table, table.rename(columns={"seen.time": "z"})))
    np.testing.assert_allclose(model.predict_proba(table), other.predict_proba(table.assign(z=table["seen.time"])))


def test_a_level_that_comes_late_has_its_column() -> None:
    n = 140_000
    cells = np.array(["u", "v"], dtype=object)[np.arange(n) % 2]
    cells[-1] = "w"
    table = pd.DataFrame({"a": cells, "y": np.array(["p", "q"])[np.arange(n) // 3 % 2]})
    model = suffice.fit(table, "y", "gda")
    assert set(model.predictor_.design.names) in ({"a = v", "a = w"}, {"a = u", "a = w"})


def test_wide_tables(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(60, 300)), columns=[f"v{place}" for place in range(300)])
    table["y"] = np.where(table.v7 > 0, "a", "b")
    table.to_csv(tmp_path / "wide.csv", index=False)
    model = suffice.fit(tmp_path / "wide.csv", "y", "logistic", folds=2)
    assert len(model.schema_.features) == 300
    assert model.explain(table[:1])[0].contributions[0].feature == "v7"


def test_the_schema_says_which_columns_are_left_out() -> None:
    model = suffice.fit(houses().assign(row=range(200)), "sold", "nb")
    assert [field.name for field in model.schema_.ignored] == ["row"]
    assert model.schema_.columns == ("area", "rooms", "street", "garden", "price")


def test_kinds_do_not_depend_on_the_order_of_rows() -> None:
    """A column that is constant in the first 50,000 rows is what all rows say."""
    random = np.random.default_rng(0)
    calls = np.where(np.arange(60_000) < 51_000, 0.0, random.poisson(2.0, 60_000))
    table = pd.DataFrame({"calls": calls, "size": random.normal(calls), "y": random.choice(["a", "b"], 60_000)})
    shuffled = table.sample(frac=1.0, random_state=0)
    found = [suffice.fit(each, "y", "nb", folds=2) for each in (table, shuffled)]
    for model in found:
        assert {field.name: field.kind for field in model.schema_.predictors} == {"calls": "count", "size": "numeric"}
    assert "the first 50,000 rows alone suggest another kind" in found[0].schema_.field("calls").why


def test_the_same_fit_is_the_same_file(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": np.arange(40.0), "c": list("abcd") * 10, "y": list("nnny") * 10})
    table.to_parquet(tmp_path / "t.parquet")
    suffice.fit(tmp_path / "t.parquet", "y", ledger=True, folds=2).save(tmp_path / "here")
    code = "import sys; from suffice.tables import fit; fit(sys.argv[1], 'y', ledger=True, folds=2).save(sys.argv[2])"
    seed = "1" if os.environ.get("PYTHONHASHSEED") == "2" else "2"
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "t.parquet"), str(tmp_path / "there")],
        check=True,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    assert (tmp_path / "here").read_bytes() == (tmp_path / "there").read_bytes()


def test_a_column_without_a_finite_cell_is_left_out() -> None:
    field = fitted([np.inf, -np.inf] * (N // 2)).schema_.field("a")
    assert (field.kind, field.why) == ("ignore", "no cell is finite")


def test_names_of_which_most_occur_once_are_an_identifier() -> None:
    rows = 2200
    names = [f"k{row // 2 if row < 1600 else row}" for row in range(rows)]
    model = suffice.fit(pd.DataFrame({"x": np.arange(rows) % 7 * 0.5, "a": names, "y": ["p", "q"] * 1100}), "y", "nb")
    field = model.schema_.field("a")
    assert (field.kind, field.why) == ("ignore", "an identifier: 1400 values in 2200 rows")


def test_text_alone_is_nothing_that_a_discriminant_can_measure() -> None:
    notes = [f"words of row {row} and {row * 7}" for row in range(60)]
    with pytest.raises(TableError, match="no column can be encoded as numbers for a linear model: use --model nb or"):
        suffice.fit(pd.DataFrame({"note": notes, "y": ["p", "q"] * 30}), "y", "gda", columns={"note": "text"})


def test_a_local_model_of_many_columns_is_refused() -> None:
    wide = pd.DataFrame(RANDOM.normal(size=(60, 11)), columns=[f"x{j}" for j in range(11)])
    with pytest.raises(TableError, match="'local' would measure distances in 11 columns, and 10 are the most"):
        suffice.fit(wide.assign(y=["p", "q"] * 30), "y", "local")


def test_truth_values_are_no_counts() -> None:
    with pytest.raises(TableError, match="'a' holds booleans, which cannot be count: use boolean or category"):
        fitted([True, False] * (N // 2), columns={"a": "count"})

"""Rows of a group are held out together; with a time, models are compared on later rows."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.tables import TableError, UsageError
from tests.cli.command import done, refused


def customers(people: int = 40, rows: int = 8) -> pd.DataFrame:
    """Rows of customers, each with noise of its own: it identifies the customer, and says nothing about others."""
    random = np.random.default_rng(0)
    person = np.repeat(np.arange(people), rows)
    y = np.where(random.random(people) < 0.5, "stay", "leave")[person]
    columns = {f"x{at}": random.normal(size=people)[person] + 0.01 * random.normal(size=len(person)) for at in range(3)}
    return pd.DataFrame({**columns, "customer": person * 7 + 3, "y": y}).sample(frac=1, random_state=1)


def drift(rows: int = 400) -> pd.DataFrame:
    """Rows whose class depends on x in the opposite way after two fifths of the time."""
    random = np.random.default_rng(0)
    x = random.normal(size=rows)
    late = np.arange(rows) >= rows * 2 // 5
    y = np.where((x > 0) ^ late, "up", "down")
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(rows), "D")
    return pd.DataFrame({"x": x, "day": day, "y": y}).sample(frac=1, random_state=1)


def test_rows_of_a_group_are_held_out_together() -> None:
    rows = customers()
    leaking = suffice.fit(rows, "y", "additive", columns={"customer": "ignore"}).candidates_[0]
    held_out = suffice.fit(rows, "y", "additive", group="customer").candidates_[0]
    assert leaking.measures["accuracy"] > 0.9
    assert held_out.measures["accuracy"] < 0.7
    assert held_out.loss > leaking.loss


def test_additive_models_choose_their_smoothness_by_the_same_groups() -> None:
    model = suffice.fit(customers(60, 10), "y", "additive", group="customer")
    assert model.candidates_[0].loss < 0.8  # guessing: 0.69; a model that was chosen on rows of known customers: 1.5
    assert model.estimator_.solution_.rows < 600  # and the choice is that of a fold
    assert model.fitted_rows_ == 600


def test_additive_models_choose_their_smoothness_by_the_same_times() -> None:
    random = np.random.default_rng(3)
    rows = pd.DataFrame({"x": random.permutation(600) * 1.0, "day": np.arange(600)})
    rows["y"] = random.normal(size=600).cumsum()  # a random walk, which x follows by chance in no future
    rows["x"] = rows["day"] // 10 + random.random(600)
    model = suffice.fit(rows, "y", "additive", time="day", columns={"day": "ignore"})
    mixed = suffice.fit(rows, "y", "additive", columns={"day": "ignore"})
    assert model.estimator_.solution_.main_loss > 3 * mixed.estimator_.solution_.main_loss


def test_the_group_is_no_feature_unless_asked() -> None:
    field = suffice.fit(customers(), "y", "nb", group="customer").schema_.field("customer")
    assert (field.kind, field.why) == ("ignore", "the group of the rows")
    asked = suffice.fit(customers(), "y", "nb", group="customer", columns={"customer": "numeric"})
    assert "customer" in asked.schema_.columns


def test_standard_errors_are_those_of_groups() -> None:
    rows = customers()
    alone, grouped = (
        suffice.fit(rows, "x0", "linear", columns={"customer": "ignore"}, group=group).candidates_[1]
        for group in (None, "customer")
    )
    assert grouped.is_baseline
    assert grouped.spread > 2 * alone.spread


def test_later_rows_are_held_out() -> None:
    rows = drift()
    mixed = suffice.fit(rows, "y", "logistic", columns={"day": "ignore"}).candidates_[0]
    ordered = suffice.fit(rows, "y", "logistic", time="day").candidates_[0]
    assert mixed.measures["accuracy"] > 0.55
    assert ordered.measures["accuracy"] < 0.5
    assert ordered.rows == 320


def test_only_the_past_predicts() -> None:
    """The mean of the past is far from a number that grows with time; so is a line through rows without the time."""
    noise = np.random.default_rng(0).normal(size=500)
    rows = pd.DataFrame({"x": noise, "second": np.arange(500.0), "grown": np.arange(500.0)}).sample(
        frac=1, random_state=0
    )
    past = ((np.array([2, 3, 4, 5]) / 10) ** 2).mean() + 1 / 5**2 / 12  # distances of the means, and width of a fold
    for found in suffice.fit(rows, "grown", "linear", time="second").candidates_:
        assert found.loss / 500 == pytest.approx(past**0.5, rel=0.05)


@pytest.mark.parametrize("of", [lambda day: day.dt.strftime("%Y-%m-%d"), lambda day: day.astype("int64") // 10**9])
def test_times_may_be_dates_of_a_file_or_numbers(of: object, tmp_path: Path) -> None:
    rows = drift()
    rows.assign(day=of(rows.day)).to_csv(tmp_path / "t.csv", index=False)  # type: ignore[operator]
    ran = done("fit", tmp_path / "t.csv", "-t", "y", "-m", "logistic", "--time", "day", "--json").json
    assert ran["candidates"][0]["rows"] == 320
    assert ran["candidates"][0]["measures"]["accuracy"] < 0.5
    assert ran["time"] == "day"


def test_rows_before_the_first_one_of_a_class_are_not_held_out() -> None:
    rows = drift().sort_values("day")
    rows["y"] = np.where(np.arange(400) < 170, "up", rows.y)
    found = suffice.fit(rows, "y", "logistic", time="day").candidates_[0]
    assert not found.why
    assert found.rows == 160


def test_files_of_duckdb_have_groups(tmp_path: Path) -> None:
    rows = customers()
    duckdb.sql(f"copy (select *, 'c' || customer as person from rows) to '{tmp_path / 't.csv'}'")
    ran = done("fit", tmp_path / "t.csv", "-t", "y", "-m", "nb", "--group", "person", "--ignore", "customer")
    assert "cross-validation, by group person:" in ran.out
    assert len(rows) == 320
    assert "person (the group of the rows)" in ran.out


def test_learning_curves_hold_out_groups() -> None:
    leaking, held_out = (
        suffice.tables.compare(
            customers(), "y", ("additive",), columns=columns, group=group, repeats=3, sizes=2, measure="error"
        )
        for columns, group in (({"customer": "ignore"}, None), (None, "customer"))
    )
    assert leaking.curves["additive"][-1] < 0.15
    assert held_out.curves["additive"][-1] > 0.3


def test_learning_curves_test_later_rows() -> None:
    found = suffice.tables.compare(drift(), "y", ("logistic",), time="day", repeats=2, sizes=2, measure="error")
    assert found.curves["logistic"][-1] > 0.3


def test_saved_models_keep_their_columns(tmp_path: Path) -> None:
    suffice.fit(customers(), "y", "nb", group="customer").save(tmp_path / "m")
    model = suffice.load(tmp_path / "m")
    assert model.group == "customer"
    assert model.schema_.roles.group == "customer"
    assert len(model.predict(customers().drop(columns="customer"))) == 320


def test_columns_that_cannot_hold_out_rows_are_refused() -> None:
    rows = customers().assign(same=1, gap=[None] + ["a"] * 319, words="late")
    for settings, message in (
        ({"group": "custmer"}, "there is no column 'custmer' for the group.*did you mean 'customer'"),
        ({"group": "y"}, "the group cannot be the target, 'y'"),
        ({"group": "same"}, "the group 'same' has one value only"),
        ({"time": "same"}, "the time column 'same' has one value only"),
        ({"group": "gap"}, "the group 'gap' is missing in row 1"),
        ({"time": "words"}, "the time 'words' holds .*: it must hold numbers, or dates"),
        ({"group": "customer", "time": "x0"}, "by group or by time, not by both"),
        ({"group": "customer", "weight": "customer"}, "cannot be both the group and the weight"),
    ):
        with pytest.raises((TableError, UsageError), match=message):
            suffice.fit(rows, "y", "nb", **settings)


def test_groups_are_not_read_in_a_database(tmp_path: Path) -> None:
    customers().to_csv(tmp_path / "t.csv", index=False)
    error = refused("fit", tmp_path / "t.csv", "-t", "y", "--group", "customer", "--in-database", code=2)
    assert "--group is read row by row: leave out --in-database" in error

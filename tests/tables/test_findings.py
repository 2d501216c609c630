"""Columns that leak the target, and copies of rows, are named with their number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import suffice
from tests.cli.command import done


def table(rows: int = 300) -> pd.DataFrame:
    random = np.random.default_rng(0)
    y = np.where(random.random(rows) < 0.4, "late", "paid")
    noise = random.normal(size=(rows, 2))
    return pd.DataFrame({"x": noise[:, 0] + (y == "late"), "z": noise[:, 1], "y": y})


def found(rows: pd.DataFrame, target: str, model: str) -> dict[str, str | None]:
    return {each.code: each.column for each in suffice.fit(rows, target, model, folds=2).warnings_}


@pytest.mark.parametrize("seed", [1, 2])
def test_a_hint_that_is_right_by_chance_in_few_held_out_rows_is_not_named(seed: int) -> None:
    random, n = np.random.default_rng(seed), 16_000
    rows = pd.DataFrame(random.normal(size=(n, 60)), columns=[f"x{each}" for each in range(60)])
    is_rare, is_known = np.arange(n) % 1400 == 0, np.arange(n) % 100 == 0
    rows["y"] = np.where(is_rare, "rare", "often")
    is_seen = np.where(is_rare, random.random(n) < 0.8, random.random(n) < 0.01)
    rows["hint"] = pd.Series(np.where(is_seen, "seen", "none")).where(is_known)
    model = suffice.fit(rows, "y", "nb", random_state=seed)
    assert model.candidates_[0].rows < n / 2
    assert {each.code for each in model.warnings_} <= {"never-predicted"}


def test_a_clean_table_has_no_warnings() -> None:
    assert found(table(), "y", "nb") == {}
    assert found(table(), "x", "linear") == {}


def test_a_copy_of_the_classes_is_named() -> None:
    rows = table()
    assert found(rows.assign(state=np.where(rows.y == "late", "B", "A")), "y", "nb") == {"target-copy": "state"}


def test_a_column_that_predicts_classes_alone_is_named() -> None:
    rows = table()
    fee = np.where(rows.y == "late", 20 + rows.z, 0.0)
    model = suffice.fit(rows.assign(fee=fee), "y", "nb", folds=2)
    (warning,) = model.warnings_
    assert (warning.code, warning.column) == ("near-perfect-column", "fee")
    assert warning.value > 0.98
    assert "--ignore fee" in warning.message


def test_a_number_that_orders_the_rows_by_their_class_is_named() -> None:
    rows = table().sort_values("y").assign(ticket=np.arange(300) * 7 % 11 + np.arange(300) * 50)
    model = suffice.fit(rows, "y", "nb")
    assert [(each.code, each.column) for each in model.warnings_] == [("near-perfect-column", "ticket")]


def test_a_copy_that_some_rows_lack_is_named_with_their_share() -> None:
    rows, known = table(), np.arange(300) % 3 > 0
    (warning,) = suffice.fit(rows.assign(state=rows.y.where(known)), "y", "nb", folds=2).warnings_
    assert (warning.code, warning.column) == ("target-copy", "state")
    assert "is a copy of the target 'y' where it is known (67% of the rows)" in warning.message
    fee = np.where(known, np.where(rows.y == "late", 20 + rows.z, rows.z), np.nan)
    (warning,) = suffice.fit(rows.assign(fee=fee), "y", "nb", folds=2).warnings_
    assert (warning.code, warning.column) == ("near-perfect-column", "fee")
    assert "of held-out rows where it is known (67% of the rows)" in warning.message
    rows["fahrenheit"] = (32 + 1.8 * rows.x).where(known)
    assert found(rows, "x", "linear") == {"target-copy": "fahrenheit"}


def test_a_date_that_is_known_for_one_class_alone_is_named_once() -> None:
    rows = table()
    day = pd.Series(pd.date_range("2024-01-01", periods=300)).where(rows.y == "late")
    (warning,) = suffice.fit(rows.assign(paid_on=day), "y", "nb", folds=2).warnings_
    assert (warning.code, warning.column, warning.value) == ("near-perfect-column", "paid_on", 1.0)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_column_that_orders_the_rows_as_the_target_does_is_named(sign: int) -> None:
    rows = table()
    (warning,) = suffice.fit(rows.assign(rate=sign * np.exp(2 * rows.x)), "x", "linear", folds=2).warnings_
    assert (warning.code, warning.column) == ("near-perfect-column", "rate")
    assert "orders the rows as 'x' does, with a rank correlation of 1.000" in warning.message


def test_a_linear_function_of_a_number_is_named() -> None:
    rows = table()
    assert found(rows.assign(fahrenheit=32 + 1.8 * rows.x), "x", "linear") == {"target-copy": "fahrenheit"}


def test_columns_that_add_up_to_the_target_are_named() -> None:
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"casual": random.poisson(30, 300), "registered": random.poisson(90, 300)})
    model = suffice.fit(rows.assign(total=rows.casual + rows.registered), "total", "linear", task="numbers")
    (warning,) = model.warnings_
    assert warning.code == "near-perfect-model"
    assert "'registered' and 'casual'" in warning.message


def test_a_nearly_exact_column_of_a_number_is_named() -> None:
    rows = table()
    assert found(rows.assign(rounded=rows.x + 0.01 * rows.z), "x", "linear") == {"near-perfect-column": "rounded"}


def test_repeated_rows_are_counted() -> None:
    rows = table(200)
    model = suffice.fit(pd.concat([rows, rows[:100]]), "y", "nb")
    (warning,) = model.warnings_
    assert (warning.code, warning.value) == ("duplicate-rows", 100 / 300)
    assert warning.message.startswith("100 of 300 compared rows (33.3%) are copies")


@pytest.mark.parametrize("columns", [["x", "z", "y"], ["a", "b", "y"]], ids=["numbers", "categories"])
def test_a_table_given_twice_has_the_losses_of_the_table_given_once(columns: list[str]) -> None:
    random = np.random.default_rng(1)
    rows = table(200).assign(a=random.choice(list("abcdef"), 200), b=random.choice(list("uvwxyz"), 200))[columns]
    once, twice = (suffice.fit(each, "y", "nb").candidates_[0] for each in (rows, pd.concat([rows, rows])))
    assert twice.loss == pytest.approx(once.loss, rel=0.05)
    assert twice.rows == 2 * once.rows


def test_rows_of_few_coarse_columns_repeat_by_chance() -> None:
    random = np.random.default_rng(0)
    rows = pd.DataFrame(random.integers(0, 2, (300, 4)), columns=list("abcd"))
    assert found(rows, "d", "nb") == {}


def test_warnings_are_saved_and_printed(tmp_path: Path) -> None:
    rows, path, saved = table(), tmp_path / "t.csv", tmp_path / "m.suffice"
    rows.assign(state=np.where(rows.y == "late", "B", "A")).to_csv(path, index=False)
    ran = done("fit", path, "-t", "y", "-m", "nb", "-o", saved)
    assert ran.err.count("column 'state' is a copy of the target 'y' in all 300 rows") == 1
    warnings = done("fit", path, "-t", "y", "-m", "nb", "--json").json["warnings"]
    assert [each["code"] for each in warnings] == ["target-copy"]
    assert [vars(each) for each in suffice.load(saved).warnings_] == warnings


@pytest.mark.parametrize("scale", [1e-140, 1e150])
def test_extreme_numbers_are_no_warning(scale: float) -> None:
    rows = table()
    assert found(rows.assign(x=rows.x * scale), "y", "nb") == {}


def test_numbers_that_may_stand_for_missing_cells_are_named(tmp_path: Path) -> None:
    heat = np.random.default_rng(1).normal(20, 3, 300).round(1)
    heat[::30] = -999
    rows = table().assign(heat=heat, year=np.arange(300) % 30 + 1999)
    (warning,) = suffice.fit(rows, "y", "nb").warnings_
    assert (warning.code, warning.column, warning.value) == ("placeholder", "heat", pytest.approx(1 / 30))
    assert "'heat' is -999 in 10 of 300 rows" in warning.message
    assert warning.message.endswith("give --missing -999")
    rows.to_csv(tmp_path / "a.csv", index=False)
    cured = done("fit", tmp_path / "a.csv", "-t", "y", "-m", "nb", "--missing", "-999", "--json").json
    assert cured["warnings"] == []


@pytest.mark.parametrize("word", ["Total", "Summe", "Gesamt", "grand total:"])
def test_a_last_row_of_totals_is_named_and_left_out(word: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    sales = pd.DataFrame({"city": random.choice(["Bonn", "Kiel", "Jena"], 60), "a": random.gamma(2, size=60).round(3)})
    sales["price"] = (2 * sales.a + random.gamma(2, size=60)).round(3)
    ended = pd.concat([sales, pd.DataFrame({"city": [word], "a": [sales.a.sum()], "price": [sales.price.sum()]})])
    ended.to_csv(tmp_path / "a.csv", index=False)
    expected = suffice.fit(sales, "price", "linear")
    for source in (ended.reset_index(drop=True), tmp_path / "a.csv"):
        model = suffice.fit(source, "price", "linear")
        assert model.schema_.notes == (f"the last row, with {word!r} in column 'city', has totals, and is left out",)
        assert (model.rows_, model.warnings_) == (60, expected.warnings_)
        np.testing.assert_allclose(model.predict(sales), expected.predict(sales), rtol=1e-9)
        assert model.evaluate(source).rows == model.update(source).rows_ / 2 == 60
        assert len(model.predict(source)) == 61
    kept = ended.assign(city=["Total" if row % 5 == 0 else "Bonn" for row in range(61)])
    assert suffice.fit(kept.reset_index(drop=True), "price", "linear").rows_ == 61


def test_a_leak_of_a_group_column_advises_the_group() -> None:
    random = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), 30)
    table = pd.DataFrame(random.normal(size=(60, 2))[patient] + random.normal(size=(1800, 2)) / 10, columns=["a", "b"])
    table["patient"], table["y"] = 7 * patient + 100, random.choice(["u", "v", "w"], 60)[patient]
    (found,) = [each for each in suffice.fit(table, "y", "nb").warnings_ if each.column == "patient"]
    assert "if its 60 values mark rows that belong together" in found.message
    assert "(--group patient); else leave it out (--ignore patient)" in found.message
    assert suffice.fit(table, "y", "nb", group="patient").warnings_ == []

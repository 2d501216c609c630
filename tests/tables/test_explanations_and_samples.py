"""Explanations, samples, imputation and outliers of table models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.special import logit
from scipy.stats import norm

import suffice
from suffice.tables import TableError, outliers
from tests.tables.tables_data import KINDS, houses, kinds, near, unheated

TABLE = houses(300, missing=0.1)


# Reasons.


def adds_up(explanation: Any) -> None:
    parts = [each.effect for each in explanation.contributions]
    assert explanation.base + sum(parts) == pytest.approx(explanation.total, abs=1e-9)
    assert parts == sorted(parts, key=abs, reverse=True)


@pytest.mark.parametrize("form", ["nb", "gda", "gda-full", "logistic", "softmax", "additive"])
def test_reasons_add_up_to_the_log_odds(form: str) -> None:
    table = TABLE.assign(seen=pd.date_range("2024-01-01", periods=300))
    model = suffice.fit(table, "sold", form)
    p = model.predict_proba(table)
    for row, explanation in enumerate(model.explain(table[:40])):
        adds_up(explanation)
        assert explanation.row == row
        assert explanation.prediction == model.classes_[p[row].argmax()]
        assert explanation.probability == pytest.approx(p[row].max(), abs=1e-9)
        assert explanation.total == pytest.approx(logit(p[row].max()), abs=1e-6)


@pytest.mark.parametrize("form", ["nb", "gda", "softmax", "additive"])
def test_reasons_of_many_classes_are_against_the_second_best(form: str) -> None:
    model = suffice.fit(TABLE.drop(columns="price"), "street", form)
    p = model.predict_proba(TABLE)
    for row, explanation in enumerate(model.explain(TABLE[:40])):
        adds_up(explanation)
        second, first = np.argsort(p[row])[-2:]
        assert (explanation.prediction, explanation.against) == (model.classes_[first], model.classes_[second])
        assert explanation.total == pytest.approx(np.log(p[row, first] / p[row, second]), abs=1e-6)


@pytest.mark.parametrize(
    ("form", "target", "task"),
    [
        ("linear", "price", "numbers"),
        ("additive", "price", "numbers"),
        ("poisson", "rooms", "counts"),
        ("additive", "rooms", "counts"),
        ("linear", "rooms", "counts"),
    ],
)
def test_reasons_of_numbers_add_up_to_the_predictor(form: str, target: str, task: str) -> None:
    model = suffice.fit(TABLE, target, form, task=task)
    said = model.predict(TABLE)
    for row, explanation in enumerate(model.explain(TABLE[:40])):
        adds_up(explanation)
        is_log = explanation.unit.startswith("log")
        assert is_log == (task == "counts" and form != "linear")
        assert (np.exp(explanation.total) if is_log else explanation.total) == pytest.approx(said[row])
        assert explanation.prediction == pytest.approx(said[row])


def test_reasons_of_text_are_words() -> None:
    table = pd.DataFrame({"text": ["win free cash now", "lunch at noon today"] * 20, "kind": ["spam", "ham"] * 20})
    model = suffice.fit(table, "kind", "text", columns={"text": "text"})
    (explanation,) = model.explain(table[:1])
    adds_up(explanation)
    assert {each.feature for each in explanation.contributions} == {"win", "free", "cash", "now"}
    assert explanation.total == pytest.approx(logit(explanation.probability), abs=1e-6)


def test_reasons_show_cells_as_the_table_has_them() -> None:
    model = suffice.fit(TABLE, "sold", "nb")
    explanation = model.explain(TABLE[:1])[0]
    shown = {each.feature: each.value for each in explanation.contributions}
    for name, value in shown.items():
        assert value == (None if pd.isna(TABLE[name][0]) else TABLE[name][0])
    assert str(explanation).startswith(f"{explanation.prediction}: probability {explanation.probability:.4f}")
    assert explanation.to_dict()["contributions"][0]["feature"] == explanation.contributions[0].feature


def test_a_local_model_has_no_contributions() -> None:
    model = suffice.fit(TABLE[["area", "price"]].dropna(), "price", "local")
    with pytest.raises(TableError, match="no contributions of columns"):
        model.explain(TABLE[:1])


# Rows drawn.


def test_rows_are_drawn_with_the_right_margins() -> None:
    table = houses(500)
    model = suffice.fit(table, "sold", "nb", columns=KINDS)
    drawn = model.sample(4000, random_state=0).to_pandas()
    assert list(drawn) == list(table)
    root = np.sqrt(4000)
    for sold, rows in drawn.groupby("sold"):
        seen = table[table.sold == sold]
        assert abs(rows.area.mean() - seen.area.mean()) < 5 * seen.area.std() / root
        assert rows.area.std() == pytest.approx(seen.area.std(), rel=0.1)
        assert abs(rows.rooms.mean() - seen.rooms.mean()) < 5 * np.sqrt(seen.rooms.mean()) / root * 1.5
        assert (rows.garden == "yes").mean() == pytest.approx((seen.garden == "yes").mean(), abs=0.06)
        for street in ("calm", "loud", "mixed"):
            assert (rows.street == street).mean() == pytest.approx((seen.street == street).mean(), abs=0.06)
    assert (drawn.sold == "y").mean() == pytest.approx((table.sold == "y").mean(), abs=0.04)


def test_numbers_are_drawn_about_what_is_expected_of_them() -> None:
    table = houses(500)
    model = suffice.fit(table, "price", "linear")
    drawn = model.sample(4000, random_state=0)
    rest = drawn["price"].to_numpy() - model.predict(drawn)
    assert abs(rest.mean()) < 5 * model.noise_ / np.sqrt(4000)
    assert rest.std() == pytest.approx(model.noise_, rel=0.05)


def test_what_is_drawn_can_be_predicted_and_is_of_the_same_types() -> None:
    table = TABLE.assign(
        seen=pd.date_range("2024-01-01", periods=300),
        floor=np.arange(300) % 4,
        truth=np.arange(300) % 3 > 0,
        note=[f"seen by person {row} with interest" for row in range(300)],
    )
    model = suffice.fit(table, "sold", "nb", columns={"floor": "category"})
    drawn = model.sample(50, random_state=0)
    assert len(model.predict(drawn)) == 50
    assert set(drawn.to_pandas().street) <= {"calm", "loud", "mixed"}
    assert drawn.schema.field("floor").type == "int64"
    assert drawn.schema.field("truth").type == "bool"
    assert str(drawn.schema.field("seen").type).startswith(("timestamp", "date"))
    assert model.sample(3, random_state=1).equals(model.sample(3, random_state=1))
    assert not model.sample(3, random_state=1).equals(model.sample(3, random_state=2))
    assert model.sample(0).schema.names == drawn.schema.names
    with pytest.raises(ValueError, match="n must be a whole number, 0 or more; got -1"):
        model.sample(-1)


# Cells filled in.


def test_only_missing_cells_change() -> None:
    model = suffice.fit(TABLE, "sold", "nb")
    filled = model.impute(TABLE).to_pandas()
    assert list(filled) == list(TABLE)
    assert not filled[list(KINDS)].isna().any().any()
    for name in TABLE:
        known = TABLE[name].notna()
        assert (filled[name][known] == TABLE[name][known]).all()
    assert set(filled.street) == {"calm", "loud", "mixed"}
    assert (filled.rooms == filled.rooms.round()).all()


def test_a_number_is_filled_in_by_the_mean_of_its_posterior() -> None:
    table = houses(200)[["area", "price", "sold"]]
    model = unheated(suffice.fit(table, "sold", "nb"))
    sums = table.groupby("sold").agg(["mean", lambda cells: cells.std(ddof=0), "count"])
    row = pd.DataFrame({"area": [np.nan], "price": [70.0]})
    odds = [
        np.log(sums.loc[each, ("area", "count")] / 200)
        + norm.logpdf(70.0, sums.loc[each, ("price", "mean")], sums.loc[each, ("price", "<lambda_0>")])
        for each in ("n", "y")
    ]
    p = np.exp(odds - np.logaddexp(*odds))
    expected = p @ [sums.loc[each, ("area", "mean")] for each in ("n", "y")]
    assert model.impute(row)["area"][0].as_py() == pytest.approx(expected, rel=1e-3)
    known = model.impute(row.assign(sold="y"))["area"][0].as_py()
    assert known == pytest.approx(sums.loc["y", ("area", "mean")], rel=1e-6)


def test_whole_numbers_that_name_a_category_are_filled_in() -> None:
    table = TABLE.assign(floor=pd.array([None if row % 9 == 0 else row % 3 for row in range(300)], dtype="Int64"))
    model = suffice.fit(table, "sold", "nb", columns={"floor": "category"})
    assert kinds(model)["floor"] == "category"
    filled = model.impute(table)["floor"]
    assert filled.null_count == 0
    assert set(filled.to_pylist()) == {0, 1, 2}


def test_a_table_of_numbers_is_filled_in_too() -> None:
    model = suffice.fit(TABLE, "price", "linear")
    filled = model.impute(TABLE.drop(columns="price"))
    assert filled["area"].null_count == 0
    hidden = TABLE.assign(area=None, price=20 + 0.5 * 200)
    assert np.mean(model.impute(hidden)["area"].to_numpy()) > TABLE.area.mean() + 10


# Rows unlike the others.


@pytest.mark.parametrize(("form", "target"), [("nb", "sold"), ("logistic", "sold"), ("linear", "price")])
def test_a_planted_outlier_has_the_least_evidence(form: str, target: str) -> None:
    model = suffice.fit(houses(300), target, form)
    table = houses(300, seed=5)
    table.loc[17, "area"] = 400.0
    assert model.log_evidence(table).argmin() == 17
    table = houses(300, seed=5)
    table.loc[23, "rooms"] = 60.0
    assert model.log_evidence(table).argmin() == 23


def test_evidence_is_the_density_of_the_mixture() -> None:
    table = houses(200)[["area", "sold"]]
    model = unheated(suffice.fit(table, "sold", "nb"))
    groups = [rows.area for _, rows in table.groupby("sold")]
    density = sum(len(g) / 200 * norm.pdf(table.area, g.mean(), g.std(ddof=0)) for g in groups)
    near(model.log_evidence(table), np.log(density), 1e-3)


def test_the_strangest_rows_of_all_batches_are_found() -> None:
    table = houses(90)
    model = suffice.fit(table, "sold", "nb")
    rows = pa.Table.from_pandas(table, preserve_index=False)
    batches = pa.concat_tables([rows[start : start + 30] for start in range(0, 90, 30)])
    least = np.argsort(model.log_evidence(table), kind="stable")[:4]
    assert [each.row for each in outliers(model, batches, 4)] == least.tolist()


def test_reasons_of_numbers_are_written_with_the_expected_number() -> None:
    table = pd.DataFrame({"x": np.arange(40) % 6 * 0.5, "y": np.arange(40) % 6 * 1.0 + 0.25})
    (why,) = suffice.fit(table, "y", "linear").explain(table[3:4])
    head, *lines = str(why).splitlines()
    assert head == "3.25, the sum of"
    assert sum(float(line.split()[0]) for line in lines) == pytest.approx(3.25, abs=0.002)

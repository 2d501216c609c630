"""Sections on drift and on effects of columns, and the table of thresholds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import suffice
import suffice.demo
from suffice.report.displays import NumberEffectsDisplay
from suffice.report.drift_section import column_drifts, drift_section
from suffice.report.effects_section import effects_section
from suffice.report.importance_section import FeatureEffects
from suffice.report.metrics_section import metrics_section
from suffice.report.report_data import ReportData
from suffice.tables import TableModel


@pytest.fixture(scope="module")
def houses() -> pd.DataFrame:
    columns = ["listed", "area", "rooms", "garden", "district", "sold_fast"]
    return pd.read_csv(suffice.demo.houses())[columns]


@pytest.fixture(scope="module")
def model(houses: pd.DataFrame) -> TableModel:
    return suffice.fit(houses, "sold_fast", model="logistic", folds=2)


def test_as_many_rows_with_other_numbers_are_not_the_training_rows(houses: pd.DataFrame) -> None:
    known = houses.dropna(subset=["area"])
    training, other = known[:300], known[300:600]
    model = suffice.fit(training, "area", model="linear", folds=2)
    assert ReportData.from_table(model, training).is_training_data
    data = ReportData.from_table(model, other)
    assert data.n_rows == model.rows_
    assert not data.is_training_data
    assert drift_section(data) is not None


def test_other_rows_of_the_same_kind_have_no_drift(houses: pd.DataFrame) -> None:
    model = suffice.fit(houses[::2], "sold_fast", model="nb", folds=2)
    drifts = column_drifts(ReportData.from_table(model, houses[1::2]))
    assert sum(each.is_beyond_chance for each in drifts) <= 1
    assert {each.column for each in drifts} >= {"sold_fast (target)", "area", "rooms", "garden", "district"}


def test_shifted_columns_come_first(model: TableModel, houses: pd.DataFrame) -> None:
    spread = houses["area"].std()
    moved = houses.assign(area=houses["area"] + spread, district="Harbour 2")[:700]
    data = ReportData.from_table(model, moved)
    drifts = {each.column: each for each in column_drifts(data)}
    assert drifts["area"].distance == pytest.approx(0.383, abs=0.04)  # of normal distributions one deviation apart
    beyond = (moved["area"].dropna() > houses["area"].max()).mean()
    assert drifts["area"].beyond == pytest.approx(beyond, abs=1e-9)
    assert drifts["district"].distance == pytest.approx(1.0, abs=0.01)
    assert drifts["district"].beyond == 1.0
    assert not drifts["garden"].is_beyond_chance
    assert not drifts["rooms"].is_beyond_chance
    section = drift_section(data)
    assert section is not None
    assert [row[0] for row in section.data["columns"].rows][:2] == ["district", "area"]


def test_training_rows_have_no_section_on_drift(model: TableModel, houses: pd.DataFrame) -> None:
    assert drift_section(ReportData.from_table(model, houses)) is None


def test_other_class_frequencies_are_drift(model: TableModel, houses: pd.DataFrame) -> None:
    fast = houses[houses["sold_fast"] == "yes"]
    drifts = {each.column: each for each in column_drifts(ReportData.from_table(model, fast))}
    share = (houses["sold_fast"] == "no").mean()
    assert drifts["sold_fast (target)"].distance == pytest.approx(share)


def test_effects_of_columns_are_drawn_from_the_most_important(model: TableModel, houses: pd.DataFrame) -> None:
    data = ReportData.from_table(model, houses)
    section = effects_section(data, FeatureEffects(data))
    assert section is not None
    titles = [figure.title for figure in section.data["figures"]]
    assert len(titles) <= 6
    assert "Effect of area" in titles
    assert "Effect of district, and the share of rows" in titles


def test_groups_of_values_hold_all_rows_of_a_value() -> None:
    x = np.repeat([1.0, 2.0, 3.0], [50, 3, 47])
    display = NumberEffectsDisplay.over(x, x * 10, "rooms", "effect", integer=True)
    assert display.values.tolist() == [1.0, 2.0, 3.0]
    assert display.means.tolist() == [10.0, 20.0, 30.0]


def test_models_without_effects_have_no_section() -> None:
    text = suffice.fit(suffice.demo.messages(), "label")
    assert effects_section(ReportData.from_table(text, suffice.demo.messages()), None) is None


def test_thresholds_have_costs_of_missed_rows(model: TableModel, houses: pd.DataFrame) -> None:
    tables = metrics_section(ReportData.from_table(model, houses)).data["tables"]
    thresholds = next(each for each in tables if each.caption.startswith("Thresholds"))
    assert [column.name for column in thresholds.columns[-3:]] == [f"cost, misses × {ratio}" for ratio in (1, 5, 20)]
    lowest = {place: row[0] for row in thresholds.rows for place in (4, 5, 6) if "lowest" in row[place]}
    assert float(lowest[4]) >= float(lowest[5]) >= float(lowest[6])
    share = (houses["sold_fast"] == "yes").mean()
    for each, row in zip(model.thresholds_, thresholds.rows, strict=True):
        alarms = each.predicted * (1 - each.precision) if each.predicted else 0.0
        cost = alarms + 5 * share * (1 - each.recall)
        assert float(row[5].split()[0]) == pytest.approx(cost, abs=0.02)

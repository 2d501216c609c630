"""Real tables: column kinds and accuracy."""

from __future__ import annotations

from pathlib import Path

import pytest

import suffice
from suffice.tables import open_table
from tests.tables.tables_data import from_arff, kinds, uci

#: Cross-validated accuracy that auto must reach. Where others publish figures, these are of their order.
FLOORS = {"mushroom": 0.999, "vote": 0.95, "breast.w": 0.955, "wine": 0.98, "ionosphere": 0.91, "car": 0.925}
DEAR = ("mushroom", "wine", "ionosphere", "breast.w")


@pytest.mark.parametrize("name", [pytest.param(each, marks=[pytest.mark.slow] * (each in DEAR)) for each in FLOORS])
@pytest.mark.filterwarnings("ignore:column '(doors|persons)'")  # of cars: 2, 3, 4, 5more; 2, 4, more
def test_auto_reaches_what_careful_work_reaches(name: str, tmp_path: Path) -> None:
    path, names = from_arff(name, tmp_path)
    model = suffice.fit(path, "class" if "class" in names else names[-1])
    assert model.candidates_[0].measures["accuracy"] >= FLOORS[name]


def test_pima_is_predicted_as_well_as_published() -> None:
    model = suffice.fit(uci("pima-indians-diabetes.csv"), "column8")
    assert model.candidates_[0].measures["accuracy"] >= 0.76
    assert model.candidates_[0].loss <= 0.49


@pytest.mark.slow
def test_adult_is_predicted_as_well_as_published() -> None:
    model = suffice.fit(uci("adult-train.csv"), "column14")
    assert (model.rows_, model.skipped_) == (32_561, 0)
    assert kinds(model)["column01"] == "category"
    assert model.description_.gaps()["column01"]
    test = open_table(uci("adult-test.csv"), query="select * replace (rtrim(column14, '.') as column14) from data")
    found = model.evaluate(test)
    assert found.rows == 16_281
    assert found.summary()["accuracy"] >= 0.858
    assert found.summary()["log loss"] <= 0.306
    assert found.summary()["ROC AUC"] >= 0.91
    assert found.summary()["calibration error"] <= 0.02


@pytest.mark.slow
def test_adult_in_parts_is_adult_as_a_whole() -> None:
    files = uci("adult-train.csv")
    halves = [
        suffice.fit(open_table(files, query=f"select * from data where column02 % 2 = {half}"), "column14", "nb")
        for half in (0, 1)
    ]
    whole = suffice.fit(files, "column14", "nb")
    both = halves[0] + halves[1]
    for model in (whole, both):
        model.predictor_.inner = model.predictor_.inner.with_params(temperature=1.0)
    assert both.evaluate(files).summary() == pytest.approx(whole.evaluate(files).summary(), rel=1e-6)


def test_hourly_bicycle_counts_are_predicted() -> None:
    left_out = dict.fromkeys(("instant", "casual", "registered"), "ignore")
    model = suffice.fit(uci("bike-sharing/hour.csv"), "cnt", columns=left_out)
    assert model.schema_.task == "counts"
    assert kinds(model)["dteday"] == "date"
    found = model.evaluate(uci("bike-sharing/hour.csv")).summary()
    assert model.candidates_[0].loss <= 32
    assert found["R²"] >= 0.77


@pytest.mark.slow
def test_rings_of_abalones_are_predicted(tmp_path: Path) -> None:
    path, names = from_arff("abalone", tmp_path)
    model = suffice.fit(path, names[-1])
    assert model.schema_.task == "counts"
    assert model.candidates_[0].measures["squared error"] ** 0.5 <= 2.15

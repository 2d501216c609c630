"""Rare classes and small tables: the measures of held-out rows say how little is known."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import suffice
from tests.cli.command import done


def rare(rows: int = 400, share: float = 0.03) -> pd.DataFrame:
    random = np.random.default_rng(0)
    y = np.where(np.arange(rows) < share * rows, "fraud", "fine")
    return pd.DataFrame({"x": random.normal(size=rows) + (y == "fraud"), "z": random.normal(size=rows), "y": y})


def test_a_class_that_is_never_predicted_is_named() -> None:
    model = suffice.fit(rare(), "y", "logistic")
    (warning,) = [each for each in model.warnings_ if each.code == "never-predicted"]
    assert warning.value == pytest.approx(0.03)
    assert "y = 'fraud' is never predicted for held-out rows" in warning.message
    assert "12 of them (3.0%)" in warning.message


def test_recall_and_precision_recall_area_of_a_rare_class() -> None:
    model = suffice.fit(rare(), "y", "logistic")
    chosen, baseline = model.candidates_
    per_class = {each["class"]: each for each in chosen.per_class(model.classes_)}
    assert per_class["fraud"]["recall"] == 0
    assert per_class["fine"]["recall"] == 1
    assert chosen.measures["accuracy"] == baseline.measures["accuracy"] == pytest.approx(0.97)
    assert baseline.measures["PR AUC"] == pytest.approx(0.03)
    assert 0.04 < chosen.measures["PR AUC"] < 0.5


def test_the_interval_of_the_accuracy_is_exact() -> None:
    (chosen, _) = suffice.fit(rare(100, 0.3), "y", "logistic").candidates_
    low, high = chosen.intervals["accuracy"]
    found = suffice.metrics.binomial_interval(100 * chosen.measures["accuracy"], 100)
    assert (low, high) == pytest.approx(found, abs=0.01)


def test_the_interval_of_predictions_that_are_all_right_is_exact() -> None:
    z = np.arange(6500)
    (chosen, _) = suffice.fit(
        pd.DataFrame({"x": z % 2 * 9.0 + z % 7, "y": z % 2}), "y", "additive", folds=2
    ).candidates_
    low, high = chosen.intervals["accuracy"]
    assert (chosen.measures["accuracy"], high) == (1.0, 1.0)
    assert low == pytest.approx(suffice.metrics.binomial_interval(chosen.rows, chosen.rows)[0], abs=1e-12)


def test_intervals_shrink_with_more_rows() -> None:
    few, many = (suffice.fit(rare(rows, 0.3), "y", "nb").candidates_[0].intervals["loss"] for rows in (60, 600))
    assert few[1] - few[0] > 2 * (many[1] - many[0])


def test_copies_of_rows_do_not_shrink_intervals() -> None:
    rows = rare(150, 0.3)
    once, twice = (suffice.fit(each, "y", "nb").candidates_[0] for each in (rows, pd.concat([rows, rows])))
    assert twice.spread == pytest.approx(once.spread, rel=0.05)


def test_a_tiny_table_says_how_little_is_known(tmp_path: Path) -> None:
    rare(16, 0.4).to_csv(tmp_path / "t.csv", index=False)
    ran = done("fit", tmp_path / "t.csv", "-t", "y", "-m", "nb")
    assert "16 held-out rows are too few to compare models: the loss of nb is" in ran.err
    assert "with 95 % confidence" in ran.err


def test_numbers_have_intervals(tmp_path: Path) -> None:
    rare().drop(columns="y").to_csv(tmp_path / "t.csv", index=False)
    found = done("fit", tmp_path / "t.csv", "-t", "x", "-m", "linear", "--json").json["candidates"][0]
    low, high = found["intervals"]["loss"]
    assert low < found["loss"] < high
    assert high - low < 0.3


def test_recall_and_base_rate_are_printed(tmp_path: Path) -> None:
    rare().to_csv(tmp_path / "t.csv", index=False)
    ran = done("fit", tmp_path / "t.csv", "-t", "y", "-m", "logistic", "-o", tmp_path / "m")
    assert "base rate 97.0 % (fine)" in ran.out
    assert "recall: fine 100.0 %, fraud 0.0 %" in ran.out
    ran = done("evaluate", tmp_path / "m", tmp_path / "t.csv", "--json")
    assert "as many rows of each class as the model was fitted to" in ran.err
    assert "y = 'fraud' is never predicted" in ran.err
    assert [each["code"] for each in ran.json["warnings"]] == ["training-rows", "never-predicted"]
    low, high = ran.json["intervals"]["accuracy"]
    assert 0.94 < low < 0.97 < high < 0.99
    measures = ran.json["measures"]
    assert measures["base rate"] == pytest.approx(0.97)
    assert 0.04 < measures["PR AUC"] < 0.6


def test_the_rare_one_of_two_classes_is_measured_and_named(tmp_path: Path) -> None:
    rows = rare().assign(y=lambda frame: frame.y.map({"fraud": "churn", "fine": "stay"}))
    rows.to_csv(tmp_path / "t.csv", index=False)
    ran = done("fit", tmp_path / "t.csv", "-t", "y", "-m", "nb", "-o", tmp_path / "m")
    assert re.search(r"PR AUC 0\.\d+ of churn, 3\.0 % of the rows", ran.out)
    expected, second = (suffice.fit(each, "y", "nb").candidates_ for each in (rare(), rows))
    assert [each.measures["PR AUC"] for each in second] == pytest.approx(
        [each.measures["PR AUC"] for each in expected], rel=0.1
    )
    evaluated = done("evaluate", tmp_path / "m", tmp_path / "t.csv")
    assert "PR AUC of churn" in evaluated.out
    assert done("evaluate", tmp_path / "m", tmp_path / "t.csv", "--json").json["positive"] == "churn"
    cautious = suffice.fit(rows, "y", "nb", cost=(1, 10))
    assert cautious.positive_ == "churn"
    assert cautious.candidates_[0].per_class(cautious.classes_)[0]["recall"] > 0


def test_the_base_rate_of_weighted_rows_is_a_share(tmp_path: Path) -> None:
    rare().assign(w=3).to_csv(tmp_path / "t.csv", index=False)
    assert "base rate 97.0 % (fine)" in done("fit", tmp_path / "t.csv", "-t", "y", "-m", "nb", "--weight", "w").out

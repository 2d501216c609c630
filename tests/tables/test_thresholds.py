"""Predictions by a threshold: given, or chosen by costs on held-out rows."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.tables import UsageError
from suffice.tables.decision import choose_threshold, measure_threshold
from tests.cli.command import done, refused


def table(rows: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(0)
    y = np.where(random.random(rows) < 0.15, "fraud", "fine")
    return pd.DataFrame({"x": random.normal(size=rows) + 1.5 * (y == "fraud"), "z": random.normal(size=rows), "y": y})


def test_a_threshold_decides() -> None:
    model = suffice.fit(table(), "y", "logistic", threshold=0.1)
    p = model.predict_proba(table())[:, 1]
    assert model.predict(table()).tolist() == np.where(p >= 0.1, "fraud", "fine").tolist()
    assert (model.threshold_, model.positive_) == (0.1, "fraud")


def test_costs_choose_the_threshold_of_lowest_cost_on_held_out_rows() -> None:
    model = suffice.fit(table(), "y", "logistic", cost=(1, 8))
    assert 0.03 < model.threshold_ < 0.3
    chosen = next(each for each in model.thresholds_ if each.threshold == model.threshold_)
    assert all(chosen.cost <= each.cost for each in model.thresholds_)
    ((_, alarms), (missed, _)) = model.candidates_[0].confusion
    assert chosen.cost == pytest.approx((alarms + 8 * missed) / 400)
    assert chosen.recall > 0.6
    assert not any(each.code == "never-predicted" for each in model.warnings_)


def test_the_chosen_threshold_is_the_best_of_all() -> None:
    random = np.random.default_rng(1)
    p = random.random(200).round(2)
    is_positive, weights = random.random(200) < p**2, random.integers(0, 3, 200).astype(float)
    found = measure_threshold(choose_threshold(p, is_positive, (1, 3), weights), p, is_positive, weights, (1, 3)).cost
    every = [measure_threshold(each, p, is_positive, weights, (1, 3)).cost for each in np.arange(0.005, 1, 0.005)]
    assert found == pytest.approx(min(every))


def test_the_first_class_may_be_positive() -> None:
    model = suffice.fit(table(), "y", "nb", positive="fine", threshold=0.9)
    p = model.predict_proba(table())[:, 0]
    assert ((model.predict(table()) == "fine") == (p >= 0.9)).all()
    plain = suffice.fit(table(), "y", "nb")
    assert model.candidates_[0].measures["PR AUC"] > plain.candidates_[0].measures["PR AUC"] + 0.2
    assert model.evaluate(table()).summary()["PR AUC"] > plain.evaluate(table()).summary()["PR AUC"] + 0.2


def test_one_of_three_classes_may_be_positive() -> None:
    rows = table().assign(y=np.where(np.arange(400) % 3 == 0, "late", table().y))
    model = suffice.fit(rows, "y", "nb", positive="fraud", threshold=0.05)
    p = model.predict_proba(rows)
    others = np.where(p[:, 0] >= p[:, 2], "fine", "late")
    assert model.predict(rows).tolist() == np.where(p[:, 1] >= 0.05, "fraud", others).tolist()


def test_a_saved_model_keeps_its_threshold(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    done("fit", tmp_path / "t.csv", "-t", "y", "-m", "nb", "--cost", "1:8", "-o", tmp_path / "m")
    model = suffice.load(tmp_path / "m")
    again = suffice.fit(table(), "y", "nb", cost=(1, 8))
    assert model.threshold_ == again.threshold_
    assert model.thresholds_ == again.thresholds_
    lines = done("predict", tmp_path / "m", tmp_path / "t.csv").out.splitlines()[1:]
    assert [line.split(",")[0].strip('"') for line in lines] == model.predict(table()).tolist()
    evaluation = done("evaluate", tmp_path / "m", tmp_path / "t.csv", "--json").json
    assert evaluation["measures"]["accuracy"] == pytest.approx(model.score(table()))
    assert model.score(table()) == pytest.approx((model.predict(table()) == table().y).mean())


def test_the_positive_class_may_be_a_number_of_numpy(tmp_path: Path) -> None:
    rows = table().assign(y=(table().y == "fraud").astype(int))
    suffice.fit(rows, "y", "nb", positive=np.int64(0), threshold=np.float64(0.9)).save(tmp_path / "m")
    model = suffice.load(tmp_path / "m")
    assert (model.positive_, model.threshold_) == (0, 0.9)


def test_explanations_are_of_the_predicted_class() -> None:
    model = suffice.fit(table(), "y", "logistic", threshold=0.05)
    assert [each.prediction for each in model.explain(table())] == model.predict(table()).tolist()


def test_queries_use_the_threshold() -> None:
    model = suffice.fit(table(), "y", "logistic", threshold=0.05)
    data = table()
    assert len(data) == 400
    found = duckdb.sql(model.to_sql()).df()["prediction"].tolist()
    assert found == model.predict(table()).tolist()


def test_thresholds_are_printed(tmp_path: Path) -> None:
    duckdb.from_df(table()).write_csv(str(tmp_path / "t.csv"))
    out = done("fit", tmp_path / "t.csv", "-t", "y", "-m", "nb", "--cost", "1:8").out
    assert "predicts fraud if its probability is at least" in out
    assert "(lowest cost of 1:8)" in out
    found = done("fit", tmp_path / "t.csv", "-t", "y", "-m", "nb", "--threshold", "0.25", "--json").json
    assert (found["threshold"], found["positive"]) == (0.25, "fraud")
    assert [each["threshold"] for each in found["thresholds"]][3:5] == [0.25, 0.3]


def test_models_of_other_thresholds_are_not_merged() -> None:
    one, two = (suffice.fit(table(), "y", "nb", threshold=threshold) for threshold in (0.1, 0.2))
    with pytest.raises(suffice.tables.TableError, match=r"models of the threshold 0\.1 and 0\.2 cannot be merged"):
        one + two
    assert (one + one).threshold_ == 0.1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"positive": "frau"}, "'y' has no class 'frau'; it has 'fine', 'fraud'.*did you mean 'fraud'"),
        ({"threshold": 1.0}, "threshold must be a number between 0 and 1; got 1.0"),
        ({"threshold": "a"}, "threshold must be a number between 0 and 1; got 'a'"),
        ({"cost": (1, 0)}, "costs must be positive numbers; got 1:0"),
        ({"cost": 3}, "cost must be two numbers"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        suffice.fit(table(), "y", "nb", **settings)


def test_costs_are_about_classes(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    for option, value in (("--cost", "1:2"), ("--threshold", "0.2"), ("--positive", "fraud")):
        error = refused("fit", tmp_path / "t.csv", "-t", "x", option, value, code=2)
        assert f"is about classes, and the target 'x' holds numbers: leave out {option}" in error


def test_a_class_is_named_where_there_are_several() -> None:
    rows = table().assign(y=np.arange(400) % 3)
    with pytest.raises(UsageError, match="'y' has 3 classes: name one with --positive"):
        suffice.fit(rows, "y", "nb", threshold=0.2)

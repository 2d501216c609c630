"""A row with weight 2 counts as two rows, in every model and in all measures."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.tables import TableError
from tests.cli.command import done, refused


def table(rows: int = 150) -> pd.DataFrame:
    random = np.random.default_rng(0)
    y = np.where(random.random(rows) < 0.4, "late", "paid")
    words = np.where(random.random(rows) < 0.7, y, "other")
    return pd.DataFrame(
        {
            "x": random.normal(size=rows) + (y == "late"),
            "z": random.normal(size=rows),
            "colour": random.choice(["red", "green", "blue"], rows),
            "note": [f"this one is {word} again {at}" for at, word in enumerate(words)],
            "n": random.poisson(np.where(y == "late", 6, 3)),
            "w": random.integers(0, 4, rows),
            "y": y,
        }
    )


def repeated(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.loc[rows.index.repeat(rows.w)].drop(columns="w")


@pytest.mark.parametrize(("model", "target"), [("nb", "y"), ("text", "y"), ("linear", "x")])
def test_weights_are_repetitions(model: str, target: str) -> None:
    rows = table() if model == "text" else table().drop(columns="note")
    weighted = suffice.fit(rows, target, model, weight="w")
    whole = suffice.fit(repeated(rows), target, model)
    if target == "y":
        for each in (weighted, whole):
            each.predictor_.inner = each.predictor_.inner.with_params(temperature=1.0)
        assert np.abs(weighted.predict_proba(rows) - whole.predict_proba(rows)).max() < 1e-9
    else:
        assert np.abs(weighted.predict(rows) - whole.predict(rows)).max() < 1e-6


@pytest.mark.parametrize(
    ("model", "target"),
    [
        ("nb", "y"),
        ("gda", "y"),
        ("gda-full", "y"),
        ("logistic", "y"),
        ("softmax", "y"),
        ("additive", "y"),
        ("text", "y"),
        ("linear", "x"),
        ("additive", "x"),
        ("local", "x"),
        ("poisson", "n"),
        ("additive", "n"),
    ],
)
def test_rows_of_weight_zero_do_not_count(model: str, target: str) -> None:
    """Their targets are wrong: a model that read them would predict something else."""
    rows = table(300) if model == "text" else table(300).drop(columns="note")
    rows["w"] = np.arange(300) % 2
    wrong = rows.w == 0
    rows.loc[wrong, target] = {"y": "paid", "x": -9.0, "n": 40}[target]
    settings = {"columns": {"z": "ignore"}, "task": "counts" if target == "n" else None}
    weighted = suffice.fit(rows, target, model, weight="w", **settings)
    right = suffice.fit(rows[~wrong].drop(columns="w"), target, model, **settings)
    read = suffice.fit(rows.drop(columns="w"), target, model, **settings)
    found = [
        each.predict_proba(rows)[:, 0] if target == "y" else each.predict(rows) for each in (weighted, right, read)
    ]
    assert np.abs(found[0] - found[1]).mean() < 0.25 * np.abs(found[2] - found[1]).mean()
    assert weighted.candidates_[0].loss < read.candidates_[0].loss or target == "y"


def test_measures_are_weighted() -> None:
    rows = table().drop(columns="note")
    model = suffice.fit(rows, "y", "nb", weight="w")
    assert model.evaluate(rows).summary() == pytest.approx(
        suffice.fit(rows.drop(columns="w"), "y", "nb").evaluate(rows).summary(), abs=0.2
    )
    seen, whole = model.evaluate(rows), suffice.fit(repeated(rows), "y", "nb")
    whole.predictor_ = model.predictor_
    assert seen.summary() == pytest.approx(whole.evaluate(repeated(rows)).summary())
    assert seen.confusion.sum() == rows.w.sum()
    assert (seen.rows, seen.weight) == (150, rows.w.sum())


def test_measures_of_numbers_are_weighted() -> None:
    rows = table().drop(columns="note")
    model = suffice.fit(rows, "x", "linear", weight="w")
    whole = suffice.fit(repeated(rows), "x", "linear")
    assert model.evaluate(rows).summary() == pytest.approx(whole.evaluate(repeated(rows)).summary())
    assert model.noise_ == pytest.approx(whole.noise_)


def test_the_unit_of_weights_changes_no_candidate() -> None:
    rows = table().drop(columns="note")
    one, two = (suffice.fit(rows.assign(w=rows.w * unit), "y", "logistic", weight="w") for unit in (1.0, 1.0))
    assert one.candidates_ == two.candidates_
    assert one.candidates_[0].confusion != suffice.fit(rows.drop(columns="w"), "y", "logistic").candidates_[0].confusion


@pytest.mark.parametrize(("model", "target"), [("nb", "y"), ("gda", "y"), ("linear", "x"), ("text", "y")])
def test_update_and_forget_read_the_weight(model: str, target: str) -> None:
    rows = table() if model == "text" else table().drop(columns="note")
    whole = suffice.fit(rows, target, model, weight="w", ledger=True)
    first = suffice.fit(rows[:100], target, model, weight="w", ledger=True)
    alone = predictions(first, rows)
    assert np.allclose(predictions(first.update(rows[100:]), rows), predictions(whole, rows), atol=1e-8)
    whole.forget(rows[100:])
    assert np.allclose(predictions(whole, rows), alone, atol=1e-8)


def predictions(model: suffice.TableModel, rows: pd.DataFrame) -> np.ndarray:
    if model.schema_.task != "classes":
        return model.predict(rows)
    model.predictor_.inner = model.predictor_.inner.with_params(temperature=1.0)
    return model.predict_proba(rows)


def test_a_ledger_tells_weights_apart() -> None:
    rows = table().drop(columns="note")
    model = suffice.fit(rows, "y", "nb", weight="w", ledger=True)
    with pytest.raises(TableError, match="row 1 was never learned"):
        model.forget(rows[:1].assign(w=rows.w[0] + 1))


def test_update_needs_the_weight() -> None:
    model = suffice.fit(table().drop(columns="note"), "y", "nb", weight="w")
    with pytest.raises(TableError, match="lacks the column 'w'"):
        model.update(table().drop(columns="w"))
    assert len(model.predict(table().drop(columns="w"))) == 150


def test_models_of_other_weights_are_not_merged() -> None:
    rows = table().drop(columns="note")
    one, two = suffice.fit(rows, "y", "nb", weight="w"), suffice.fit(rows.drop(columns="w"), "y", "nb")
    with pytest.raises(TableError, match="models of the weight 'w' and None cannot be merged"):
        one + two


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1.0, "the weight 'w' is -1 in row 3: it must be a number, 0 or more"),
        (None, "the weight 'w' is missing in row 3"),
        (float("inf"), "the weight 'w' is inf in row 3"),
    ],
)
def test_bad_weights_are_refused(weight: float | None, message: str) -> None:
    rows = table().drop(columns="note").astype({"w": float})
    rows.loc[2, "w"] = weight
    with pytest.raises(TableError, match=message):
        suffice.fit(rows, "y", "nb", weight="w")


def test_weights_of_all_rows_zero_are_refused() -> None:
    with pytest.raises(TableError, match="the weight 'w' is 0 in every row"):
        suffice.fit(table().drop(columns="note").assign(w=0), "y", "nb", weight="w")


def test_weights_of_a_file_of_duckdb(tmp_path: Path) -> None:
    rows = table().drop(columns="note")
    assert len(rows) == 150
    duckdb.sql(f"copy (select *, w / 4.0 as share from rows) to '{tmp_path / 't.csv'}'")
    ran = done("fit", tmp_path / "t.csv", "-t", "y", "--weight", "share", "--ignore", "w", "-o", tmp_path / "m")
    assert "cross-validation, weighted by share:" in ran.out
    assert "share (the weight of the rows)" in ran.out
    assert "rows" in done("evaluate", tmp_path / "m", tmp_path / "t.csv").out
    assert "w = x" not in refused("fit", tmp_path / "t.csv", "-t", "y", "--weight", "shares", code=2)


def test_rows_beyond_the_sample_keep_their_weights() -> None:
    random = np.random.default_rng(0)
    n = 60_000
    rows = pd.DataFrame({"x": random.normal(size=n), "w": random.integers(0, 3, n)})
    rows["y"] = np.where(rows.x + random.logistic(size=n) > 0, "a", "b")
    weighted = suffice.fit(rows, "y", "logistic", weight="w", most_rows=None)
    whole = suffice.fit(repeated(rows), "y", "logistic", most_rows=None)
    assert np.abs(weighted.predict_proba(rows[:9]) - whole.predict_proba(rows[:9])).max() < 1e-3


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e6])
def test_a_linear_model_does_not_depend_on_the_scale_of_the_weights(scale: float) -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"x": random.normal(size=120), "c": random.choice(["u", "v", "w"], 120)})
    table["price"], table["w"] = 3.0 * (table.c == "v") + table.x, random.random(120) + 0.1
    table.loc[:20, "x"] = None
    expected = suffice.fit(table, "price", "linear", weight="w").predict(table)
    scaled = table.assign(w=scale * table.w)
    np.testing.assert_allclose(suffice.fit(scaled, "price", "linear", weight="w").predict(table), expected, rtol=1e-7)

"""Targets: classes of any type, numbers, counts, and targets that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice
from suffice.tables import TableError, TableModel, open_table, scan
from suffice.tables.pushdown import scan as database_scan
from tests.tables.tables_data import houses, near

N = 200
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=N)


def table(y: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": X, "y": y})


TARGETS: dict[str, tuple[Any, str, list[Any] | None]] = {
    "strings": (RANDOM.choice(["u", "v", "w"], N), "classes", ["u", "v", "w"]),
    "whole": (RANDOM.choice([1, 2, 10], N), "classes", [1, 2, 10]),
    "zero or one": (RANDOM.integers(0, 2, N), "classes", [0, 1]),
    "truth": (RANDOM.random(N) < 0.5, "classes", [False, True]),
    "words of truth": (RANDOM.choice(["True", "False"], N), "classes", ["False", "True"]),
    "categories": (pd.Categorical(RANDOM.choice(["b", "a"], N)), "classes", ["a", "b"]),
    "negative classes": (RANDOM.choice([-1, 1], N), "classes", [-1, 1]),
    "numbers": (RANDOM.normal(size=N), "numbers", None),
    "counts": (RANDOM.poisson(20, N), "counts", None),
    "whole and large": (RANDOM.integers(100, 900, N), "numbers", None),
    "whole and negative": (RANDOM.integers(-50, 50, N), "numbers", None),
}


@pytest.mark.parametrize("name", TARGETS)
def test_tasks_and_classes(name: str) -> None:
    y, task, classes = TARGETS[name]
    model = suffice.fit(table(y), "y", "nb" if task == "classes" else "linear")
    assert model.schema_.task == task
    answers = model.predict(table(y))
    if classes is None:
        assert answers.dtype == np.float64
        with pytest.raises(AttributeError, match="predicts"):
            model.predict_proba(table(y))
        return
    assert model.classes_.tolist() == classes
    assert type(model.classes_.tolist()[0]) is type(classes[0])
    assert set(answers.tolist()) <= set(classes)
    assert model.predict_proba(table(y)).shape == (N, len(classes))
    assert model.score(table(y)) == np.mean(answers == np.asarray(y))


@pytest.mark.parametrize(("task", "name"), [("numbers", "counts"), ("classes", "counts"), ("numbers", "zero or one")])
def test_a_task_can_be_given(task: str, name: str) -> None:
    model = suffice.fit(table(TARGETS[name][0]), "y", "linear" if task == "numbers" else "nb", task=task)
    assert model.schema_.task == task


@pytest.mark.parametrize(("kind", "task"), [("numeric", "numbers"), ("count", "counts"), ("category", "classes")])
def test_a_target_has_a_kind_too(kind: str, task: str) -> None:
    model = suffice.fit(table(TARGETS["counts"][0]), "y", "nb" if task == "classes" else "linear", columns={"y": kind})
    assert model.schema_.task == task


@pytest.mark.parametrize("gap", [np.nan, None])
def test_rows_without_a_target_are_skipped_and_counted(gap: Any) -> None:
    for name in ("strings", "numbers"):
        y = pd.Series(TARGETS[name][0])
        y[::7] = gap
        model = suffice.fit(table(y), "y", "nb" if name == "strings" else "linear")
        known = table(y).dropna()
        assert (model.rows_, model.skipped_) == (len(known), N - len(known))
        other = suffice.fit(known.reset_index(drop=True), "y", "nb" if name == "strings" else "linear")
        near(model.log_evidence(known), other.log_evidence(known))
        assert model.predict(known).tolist() == other.predict(known).tolist()


@pytest.mark.parametrize("name", ["zero or one", "whole"])
def test_classes_that_a_gap_made_floats_are_still_classes(name: str, tmp_path: Path) -> None:
    y = pd.Series(TARGETS[name][0]).astype(float)
    y[3] = np.nan
    for rows in (table(y), pl.from_pandas(table(y))):
        model = suffice.fit(rows, "y")
        assert model.schema_.task == "classes"
        assert model.classes_.tolist() == TARGETS[name][2]
        assert model.skipped_ == 1
    table(y).to_csv(tmp_path / "a.csv", index=False)
    assert suffice.fit(tmp_path / "a.csv", "y").classes_.tolist() == TARGETS[name][2]


@pytest.mark.parametrize("name", ["whole", "zero or one", "truth", "words of truth"])
@pytest.mark.parametrize("how", ["file", "floats", "strings"])
def test_the_same_classes_in_another_type_are_known(name: str, how: str, tmp_path: Path) -> None:
    rows = table(TARGETS[name][0])
    model = suffice.fit(rows, "y", "nb")
    if how == "file":
        rows.to_csv(tmp_path / "a.csv", index=False)
        other: Any = tmp_path / "a.csv"
    elif how == "floats" and name in ("whole", "zero or one"):
        other = rows.assign(y=rows.y.astype(float))
    else:
        other = rows.assign(y=rows.y.astype(str))
    assert model.evaluate(other).summary() == model.evaluate(rows).summary()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * N, "always 'a': there is nothing to predict"),
        ([3.5] * N, "always 3.5: there is nothing to predict"),
        ([None] * N, "all cells of the target 'y' are missing"),
        ([np.nan] * N, "all cells of the target 'y' are missing"),
        ([f"r{row}" for row in range(N)], r"the target 'y' has 200 distinct values in 200 rows"),
        (pd.date_range("2024-01-01", periods=N), "'y' holds moments: predict a category, a number or a count"),
        ([[1]] * N, "'y' holds list"),
    ],
)
def test_targets_from_which_nothing_can_be_learnt(y: Any, message: str) -> None:
    with pytest.raises(TableError, match=message):
        suffice.fit(table(y), "y")


def test_classes_called_by_large_whole_numbers() -> None:
    y = np.where(RANDOM.random(N) < 0.5, 2**60 + 1, 2**60 + 3)
    assert suffice.fit(table(y), "y", "nb").classes_.tolist() == [2**60 + 1, 2**60 + 3]


def test_a_target_of_nan_alone_is_missing() -> None:
    with pytest.raises(TableError, match="all cells of the target 'y' are missing"):
        suffice.fit(pl.DataFrame({"x": X, "y": [float("nan")] * N}), "y")


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("numbers", {"task": "counts"}, "which is not a count: predict numbers"),
        ("numbers", {"task": "classes"}, "which names no class"),
        ("strings", {"task": "numbers"}, "not numbers: it can only be classes"),
        ("strings", {"task": "class"}, "'class' is not a task; .*classes, numbers, counts; did you mean 'classes'"),
        ("strings", {"model": "linear"}, "linear predicts numbers or counts; the target 'y' holds classes: use nb"),
        ("numbers", {"model": "nb"}, "nb predicts classes; the target 'y' holds numbers: use linear"),
        ("numbers", {"model": "poisson"}, "poisson predicts counts; the target 'y' holds numbers"),
        ("strings", {"model": "logistc"}, r"no model 'logistc'.*; did you mean 'logistic'\?"),
    ],
)
def test_wrong_settings_are_refused(name: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(TableError, match=message):
        suffice.fit(table(TARGETS[name][0]), "y", **settings)


def test_a_wrong_name_of_the_target_is_hinted_at() -> None:
    with pytest.raises(TableError, match=r"no column 'Sold' to predict; there are 'area'.*; did you mean 'sold'\?"):
        suffice.fit(houses(), "Sold")


@pytest.mark.parametrize("settings", [{"folds": 1}, {"most_rows": 0}, {"ledger": True, "in_database": True}])
def test_settings_that_make_no_sense(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        suffice.fit(houses(), "sold", **settings)


def test_a_class_that_comes_late_is_learnt() -> None:
    n = 140_000
    y = np.array(["a", "b"], dtype=object)[np.arange(n) % 2]
    y[-1] = "z"
    model = suffice.fit(pd.DataFrame({"x": np.arange(n) % 17 * 0.5, "y": y}), "y", "nb")
    assert model.classes_.tolist() == ["a", "b", "z"]


def test_a_target_that_is_known_late_is_learnt() -> None:
    n = 140_000
    y = np.array(["a", "b"], dtype=object)[np.arange(n) % 2]
    y[:60_000] = None
    model = suffice.fit(pd.DataFrame({"x": np.arange(n) % 17 * 0.5, "y": y}), "y", "nb")
    assert (model.rows_, model.skipped_) == (80_000, 60_000)


def test_a_fraction_that_comes_late_among_counts_is_named_with_its_row() -> None:
    n = 140_000
    y = np.arange(n) % 20.0
    y[-1] = 0.5
    with pytest.raises(TableError, match=r"'y' is 0\.5 in row 140000, which is not a count"):
        suffice.fit(pd.DataFrame({"x": np.arange(n) % 17 * 0.5, "y": y}), "y", "linear", task="counts")


def test_few_rows_are_enough() -> None:
    for rows in (2, 3, 5):
        some = houses(20)[:rows].assign(sold=(["y", "n"] * 3)[:rows])
        assert suffice.fit(some, "sold").predict(some).shape == (rows,)
        assert suffice.fit(some, "price").predict(some).shape == (rows,)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a"] * N, "the target 'y' must hold numbers; it holds"),
        ([[1]] * N, "the target 'y' holds list<.*>: predict a class or a number"),
    ],
)
def test_a_table_whose_target_is_no_number_is_not_evaluated_by_a_model_of_numbers(y: Any, message: str) -> None:
    model = suffice.fit(table(TARGETS["numbers"][0]), "y", "linear")
    with pytest.raises(TableError, match=message):
        model.evaluate(table(y))


@pytest.mark.parametrize(("name", "unknown"), [("whole", "2.5"), ("whole", "red"), ("truth", "maybe")])
def test_a_target_that_is_no_class_of_the_model_is_never_predicted(name: str, unknown: str) -> None:
    model = suffice.fit(table(TARGETS[name][0]), "y", "nb")
    assert model.score(table([unknown] * N)) == 0.0


def test_a_target_that_is_neither_a_name_nor_one_value_a_row_is_refused() -> None:
    with pytest.raises(TypeError, match="the target is the name of a column, or one value for each row; got float"):
        suffice.fit(table(X)[["x"]], 3.5)


@pytest.mark.parametrize("summed", ["here", "in a database"])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["u"] * N, "the target 'y' is always 'u': there is nothing to predict"),
        (pd.Series([None] * N, dtype="str"), "no row of .* has a target in 'y': there is nothing to learn from"),
        (np.arange(N) // 20 * 20 + np.arange(N) % 20 * (np.arange(N) > 20), "takes .* values: say whether they are"),
    ],
    ids=["one class", "none", "many classes"],
)
def test_targets_are_judged_by_all_rows(
    summed: str, y: Any, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in (scan, database_scan):
        monkeypatch.setattr(module, "HEAD_ROWS", 20)
    given: Any = pa.Table.from_batches(pa.Table.from_pandas(table(y)).to_batches(max_chunksize=10))
    with duckdb.connect(tmp_path / "houses.duckdb") as connection:
        connection.execute("create table houses as select * from given")
    if summed == "in a database":
        given = open_table(f"{tmp_path / 'houses.duckdb'}::houses")
    said = []
    with pytest.raises(TableError, match=message):
        TableModel(in_database=summed == "in a database").fit(given, "y", watch=lambda what, *_: said.append(what))
    assert any(what.startswith("summing in" if summed == "in a database" else "reading") for what in said)


def test_a_batch_without_a_target_is_skipped() -> None:
    y = pa.chunked_array([pa.array(["u", "v"] * (N // 4)), pa.nulls(N // 2, pa.string())])
    model = suffice.fit(pa.table({"x": pa.chunked_array([X[: N // 2], X[N // 2 :]]), "y": y}), "y", "nb")
    assert (model.rows_, model.skipped_) == (N // 2, N // 2)

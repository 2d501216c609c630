"""Predictions for tables with other columns, types and unseen categories; model files."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

import suffice
from suffice.model_types import models_of
from suffice.store import StoreError
from suffice.tables import TableError, TableModel
from tests.tables.tables_data import KINDS, houses, near

TABLE = houses(150, missing=0.1).assign(
    seen=pd.date_range("2024-01-01", periods=150),
    note=[f"a house with {row % 7} windows and a {'cat' if row % 3 else 'dog'}" for row in range(150)],
)
SMALL = TABLE[:30][["area", "rooms", "garden", "price", "sold", "note"]]
#: Every form, with a target it can predict and the task.
MODEL_TYPES = [
    *((form, "sold", None) for form in models_of("classes")),
    *((form, "street", None) for form in ("nb", "gda", "softmax", "logistic", "additive")),
    *((form, "price", None) for form in ("linear", "additive", "local")),
    *((form, "rooms", "counts") for form in ("poisson", "linear", "additive", "local")),
]


@pytest.fixture(scope="module")
def model() -> TableModel:
    return suffice.fit(TABLE, "sold", "gda")


# Columns.


def test_columns_in_another_order_and_others_beside_them(model: TableModel) -> None:
    other = TABLE[list(TABLE)[::-1]].assign(more=[[1]] * 150, sold="whatever")
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(TABLE))


def test_columns_that_were_left_out_need_not_be_there() -> None:
    model = suffice.fit(TABLE.assign(row=range(150)), "sold", "nb")
    assert len(model.predict(TABLE)) == 150


def test_a_missing_column_is_named_with_the_nearest(model: TableModel) -> None:
    with pytest.raises(TableError, match=r"lacks the column 'area', which the model reads; did you mean 'Area '\?"):
        model.predict(TABLE.rename(columns={"area": "Area "}))
    with pytest.raises(TableError, match="lacks the columns 'area', 'rooms'"):
        model.predict(TABLE.drop(columns=["area", "rooms"]))


def test_a_missing_column_in_a_file_names_the_file(model: TableModel, tmp_path: Path) -> None:
    TABLE.drop(columns="area").to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(TableError, match=r"new\.csv lacks the column 'area'"):
        model.predict(tmp_path / "new.csv")


@pytest.mark.parametrize("form", ["nb", "gda", "logistic", "additive", "local"])
def test_a_name_never_seen_says_little(form: str) -> None:
    model = suffice.fit(houses(30 if form == "local" else 60)[["area", "street", "sold"]], "sold", form, folds=2)
    rows = houses(20, seed=3)
    strange, known = model.predict_proba(rows.assign(street="dark")), model.predict_proba(rows)
    assert np.isfinite(strange).all()
    near(strange.sum(axis=1), 1.0)
    gap = model.predict_proba(rows.assign(street=pd.Series([None] * 20, dtype=object)))
    assert np.isfinite(gap).all()
    assert not np.array_equal(strange, known)


# Types.


def test_types_that_say_the_same(model: TableModel, tmp_path: Path) -> None:
    expected = model.predict_proba(TABLE)
    for other in (
        TABLE.assign(area=TABLE.area.astype(str).replace("nan", "")),
        TABLE.assign(seen=TABLE.seen.dt.strftime("%Y-%m-%d")),
        TABLE.assign(seen=TABLE.seen.dt.strftime("%Y-%m-%d %H:%M:%S")),
        TABLE.astype({"street": "category", "rooms": "Int64"}),
        TABLE.assign(garden=TABLE.garden.map({"yes": True, "no": False})),
    ):
        near(model.predict_proba(other), expected, 1e-6)
    TABLE.to_csv(tmp_path / "a.csv", index=False)
    near(model.predict_proba(tmp_path / "a.csv"), expected)


def test_truth_values_as_files_write_them(tmp_path: Path) -> None:
    table = houses(100).assign(furnished=np.arange(100) % 3 == 0)
    model = suffice.fit(table, "sold", "nb")
    table.to_csv(tmp_path / "a.csv", index=False)
    expected = model.predict_proba(table)
    near(model.predict_proba(tmp_path / "a.csv"), expected)
    near(model.predict_proba(table.assign(furnished=table.furnished.astype(int))), expected)


@pytest.mark.parametrize(
    ("name", "cells", "message"),
    [
        ("area", "large", "'area' must hold numbers; row 1 holds 'large': correct the cell"),
        ("area", "1_000", "'area' must hold numbers; row 1 holds '1_000': correct the cell"),
        ("area", pd.Timestamp("2024-01-01"), "'area' must hold numbers, and holds timestamp"),
        ("area", np.inf, "'area' is inf in row 1: it must be finite"),
        ("seen", 3, "'seen' is a date, but '3' is not: write dates as 2024-12-31"),
        ("seen", "yesterday", "'seen' is a date, but 'yesterday' is not"),
        ("rooms", 1.5, r"'rooms' is 1\.5 in row 1, which is not a count"),
        ("garden", "perhaps", "'garden' is 'perhaps' in row 1, neither 'no' nor 'yes'"),
        ("street", [[1]] * 150, "'street'"),
    ],
)
def test_a_type_that_changed_is_told(model: TableModel, name: str, cells: Any, message: str) -> None:
    with pytest.raises(TableError, match=message):
        model.predict(TABLE.assign(**{name: cells}))


def test_no_rows_and_one_row(model: TableModel) -> None:
    with pytest.raises(TableError, match="no rows"):
        model.predict(TABLE[:0])
    near(model.predict_proba(TABLE[3:4]), model.predict_proba(TABLE)[3:4], 1e-12)


def test_rows_come_back_in_their_order(tmp_path: Path) -> None:
    n = 300_000
    model = suffice.fit(pd.DataFrame({"x": np.arange(100) * 0.5, "y": np.arange(100) * 1.0 + 0.25}), "y", "linear")
    x = np.random.default_rng(0).normal(size=n)
    pa.parquet.write_table(pa.table({"x": x}), tmp_path / "many.parquet", row_group_size=10_000)
    near(model.predict(tmp_path / "many.parquet"), 2 * x + 0.25, 1e-8)


# Conventions.


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "explain", "log_evidence", "impute", "evaluate", "score"]
)
def test_a_model_that_has_learnt_nothing_says_so(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(TableModel(), method)(TABLE)


@pytest.mark.parametrize("method", ["update", "forget"])
def test_a_model_that_has_learnt_nothing_has_nothing_to_change(method: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(TableModel(), method)(TABLE)


def test_scikit_learn_can_clone_and_cross_validate() -> None:
    model = TableModel("nb", columns=KINDS)
    assert clone(model).get_params() == model.get_params()
    rows = houses(200)
    scores = cross_val_score(model, rows.drop(columns="sold"), rows.sold, cv=4)
    assert scores.mean() > 0.8


def test_fitting_again_is_fitting_anew() -> None:
    model = TableModel("nb").fit(houses(100, seed=1), "sold").fit(houses(100, seed=2), "sold")
    near(model.predict_proba(TABLE), suffice.fit(houses(100, seed=2), "sold", "nb").predict_proba(TABLE), 1e-12)


def test_the_same_seed_gives_the_same_model() -> None:
    one, two = (suffice.fit(TABLE, "sold", random_state=3) for _ in range(2))
    assert [each.loss for each in one.candidates_] == [each.loss for each in two.candidates_]
    np.testing.assert_array_equal(one.predict_proba(TABLE), two.predict_proba(TABLE))


def test_progress_is_reported() -> None:
    told: list[tuple[str, int, int | None]] = []
    suffice.fit(TABLE, "sold", watch=lambda *each: told.append(each))
    assert ("reading", 150, 150) in told
    assert any(what == "trying nb" for what, _, _ in told)


# Files.


@pytest.mark.parametrize(("form", "target", "task"), MODEL_TYPES)
def test_a_model_comes_back_from_its_file_as_it_was(form: str, target: str, task: str | None, tmp_path: Path) -> None:
    table = SMALL if form == "local" else TABLE
    columns = {"garden": "category", "note": "text" if form == "text" else "ignore"}
    model = suffice.fit(table, target, form, task=task, columns=columns, folds=2)
    model.save(tmp_path / "model.suffice")
    other = suffice.load(tmp_path / "model.suffice")
    np.testing.assert_array_equal(model.predict(table), other.predict(table))
    if model.schema_.task == "classes":
        np.testing.assert_array_equal(model.predict_proba(table), other.predict_proba(table))
        assert other.classes_.tolist() == model.classes_.tolist()
    np.testing.assert_array_equal(model.log_evidence(table), other.log_evidence(table))
    assert model.sample(5, 0).equals(other.sample(5, 0))
    assert model.impute(table).equals(other.impute(table))
    for name in ("schema_", "model_", "candidates_", "rows_", "skipped_", "noise_", "fitted_rows_"):
        assert getattr(other, name) == getattr(model, name), name
    assert other.get_params() == model.get_params()
    if form != "local":
        assert other.explain(table[:3]) == model.explain(table[:3])
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.predict(table), model.predict(table))


@pytest.mark.parametrize("form", ["nb", "gda", "linear", "text"])
def test_a_model_from_a_file_goes_on_learning(form: str, tmp_path: Path) -> None:
    target = "price" if form == "linear" else "sold"
    first, more = TABLE[:80], TABLE[80:].reset_index(drop=True)
    model = suffice.fit(first, target, form, columns={"note": "text"})
    model.save(tmp_path / "model.suffice")
    other = suffice.load(tmp_path / "model.suffice")
    np.testing.assert_array_equal(other.update(more).predict(TABLE), model.update(more).predict(TABLE))
    other.forget(more)
    assert other.rows_ == 80


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"\x00" * 20 + b[20:], lambda b: b""])
def test_a_damaged_file_is_refused(damage: Any, model: TableModel, tmp_path: Path) -> None:
    path = tmp_path / "model.suffice"
    model.save(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreError, match=r"model\.suffice"):
        suffice.load(path)


def test_a_table_is_no_model(tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "table.csv")
    with pytest.raises(StoreError, match=r"table\.csv is not a model file"):
        suffice.load(tmp_path / "table.csv")


@pytest.mark.parametrize("target", ["sold", "price"])
def test_samples_lie_in_the_range_of_what_was_observed(target: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    table = houses(300).assign(hormone=random.lognormal(0, 2, 300), age=random.integers(0, 90, 300) * 10)
    model = suffice.fit(
        table.drop(columns={"sold": "price", "price": "sold"}[target]), target, {"sold": "nb"}.get(target, "linear")
    )
    model.save(tmp_path / "m.suffice")
    drawn = suffice.load(tmp_path / "m.suffice").sample(2000, 0).to_pandas()
    for name in {"hormone", "age", "area", target} - {"sold"}:
        assert table[name].min() <= drawn[name].min() < drawn[name].max() <= table[name].max()
    assert (drawn.age == drawn.age.round()).all()
    assert drawn.hormone.nunique() > 1900  # drawn again, not heaped up at the ends


@pytest.mark.parametrize("method", ["log_evidence", "impute"])
def test_a_table_without_rows_has_no_evidence_and_nothing_to_impute(method: str, model: TableModel) -> None:
    with pytest.raises(TableError, match="the table has no rows"):
        getattr(model, method)(TABLE[:0])


def test_the_first_cell_that_is_no_number_is_named_with_its_row(model: TableModel) -> None:
    cells = TABLE.area.astype(str).where(TABLE.index != 5, "wide")
    with pytest.raises(TableError, match="column 'area' must hold numbers; row 6 holds 'wide': correct the cell"):
        model.predict(TABLE.assign(area=cells.fillna("")))


@pytest.mark.parametrize("form", ["nb", "logistic", "softmax", "poisson"])
def test_scores_of_rows_with_texts_are_the_sums_of_their_explanations(form: str) -> None:
    rng = np.random.default_rng(0)
    words = np.array(["win", "free", "cash", "lunch", "noon", "today", "ÉTÉ", "été"])
    table = pd.DataFrame(
        {
            "size": rng.normal(size=200),
            "kind": rng.choice(["a", "b", None], size=200),
            "note": [" ".join(rng.choice(words, size=rng.integers(0, 9))) for _ in range(200)],
            "title": [" ".join(rng.choice(words, size=5)) for _ in range(200)],
        }
    )
    texts = {"note": "text", "title": "text"}
    task = "counts" if form == "poisson" else "classes"
    target = rng.poisson(2.0, 200) if form == "poisson" else rng.choice(["x", "y", "z"], size=200)
    model = suffice.fit(table.assign(target=target), "target", form, columns=texts, task=task)
    ((_, block),) = model.blocks(table)
    effects = model.predictor_.effects(block)
    sums = np.stack([part.sum(axis=1) for part in effects.parts], axis=1) + effects.base
    scores = model.predictor_.scores(block)
    if form != "poisson":  # scores of classes are known up to what they share
        scores, sums = scores[:, 1:] - scores[:, :1], sums[:, 1:] - sums[:, :1]
    np.testing.assert_allclose(np.log(scores)[:, None] if form == "poisson" else scores, sums, rtol=1e-8, atol=1e-10)

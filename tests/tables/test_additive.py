"""The additive model of a table: columns of every kind, words, files, explanations, and its choice by auto."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.feature_selection import mutual_info_classif

import suffice
from suffice import AdditiveClassifier, AdditiveRegressor
from suffice.additive import binned_fit
from suffice.tables import TableError, TableModel
from suffice.tables.candidates import Candidate
from suffice.tables.model_search import choose_simplest
from suffice.tables.predictors.additive import informative_words
from suffice.tables.sql_export import to_sql


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    random = np.random.default_rng(3)
    n = 900
    found = pd.DataFrame(
        {
            "age": random.normal(40, 10, n),
            "job": random.choice(["cook", "smith", "clerk"], n),
            "owner": random.random(n) < 0.4,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, n), "D"),
            "note": [" ".join(random.choice(["sun", "moon", "rain", "snow", "wind"], 4)) for _ in range(n)],
        }
    )
    crossed = (found["age"] > 40) ^ (found["job"] == "cook")  # which no sum of functions of columns predicts
    odds = 3.0 * np.where(crossed, 1, -1) + 2.0 * np.where(found["note"].str.contains("rain"), 1, -1)
    found["late"] = np.where(random.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")
    found.loc[::9, "age"] = np.nan
    found.loc[::11, "job"] = None
    return found


KINDS = {"note": "text"}


@pytest.fixture(scope="module")
def model(table: pd.DataFrame) -> TableModel:
    return TableModel("additive", columns=KINDS).fit(table, "late")


def test_columns_of_every_kind_have_terms(model: TableModel) -> None:
    names = {term.name for term in model.estimator_.terms_}
    assert {"age", "job", "owner", "since.time", "note: rain", "age × job"} <= names


def test_the_pair_and_the_word_decide(model: TableModel, table: pd.DataFrame) -> None:
    terms = [term["name"] for term in model.summary().to_dict()["terms"]]
    assert set(terms[:2]) == {"age × job", "note: rain"}
    linear = TableModel("logistic", columns=KINDS).fit(table, "late")
    assert model.score(table) > linear.score(table) + 0.05


def test_words_are_named_as_present_or_absent(model: TableModel, table: pd.DataFrame) -> None:
    for row, text in zip(model.explain(table[:20]), table["note"], strict=False):
        (shown,) = [each.value for each in row.contributions if each.feature == "note: rain"]
        assert shown == ("present" if "rain" in text else "absent")


def test_explanations_of_pairs_show_both_cells(model: TableModel, table: pd.DataFrame) -> None:
    rows = table[:40].reset_index(drop=True)
    probability = model.predict_proba(rows)
    for at, row in enumerate(model.explain(rows)):
        odds = np.log(probability[at].max() / probability[at].min())
        assert row.total == pytest.approx(odds, rel=1e-9, abs=1e-9)
        assert row.base + sum(each.effect for each in row.contributions) == pytest.approx(row.total, abs=1e-9)
        value = next(each.value for each in row.contributions if each.feature == "age × job")
        age, job = rows.loc[at, "age"], rows.loc[at, "job"]
        assert value == f"{'missing' if np.isnan(age) else f'{age:.6g}'}, {'missing' if pd.isna(job) else job}"


def test_a_file_predicts_and_explains_the_same(model: TableModel, table: pd.DataFrame, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    read = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(read.predict_proba(table), model.predict_proba(table))
    assert [str(row) for row in read.explain(table[:5])] == [str(row) for row in model.explain(table[:5])]
    assert read.estimator_.terms_[0].name == model.estimator_.terms_[0].name  # loads the estimator
    np.testing.assert_array_equal(read.predict_proba(table), model.predict_proba(table))


def test_a_file_of_numbers_has_four_bytes_a_value(table: pd.DataFrame, tmp_path: Path) -> None:
    found = TableModel("additive").fit(table[["age", "late"]], "late")
    found.save(tmp_path / "model")
    (term,) = found.estimator_.terms_
    assert (tmp_path / "model").stat().st_size < 9 * term.values.size + 8 * len(term.edges[0]) + 12_000


def test_the_estimator_reads_the_features_by_their_names(table: pd.DataFrame) -> None:
    plain = table[["age", "job", "owner", "late"]]
    found = TableModel("additive").fit(plain, "late")
    expected = found.estimator_.predict_proba(plain[["age", "job", "owner"]])
    np.testing.assert_allclose(found.predict_proba(plain), expected, rtol=1e-12)


@pytest.mark.parametrize("what", ["update", "forget"])
def test_rows_are_neither_added_nor_forgotten(model: TableModel, table: pd.DataFrame, what: str) -> None:
    with pytest.raises(TableError, match=r"keeps no sums\. Fit it again"):
        getattr(model, what)(table)
    with pytest.raises(TableError, match=r"keeps no sums\. Fit it again"):
        model + model


def test_text_has_no_query(model: TableModel) -> None:
    with pytest.raises(TableError, match="'note' is text"):
        model.to_sql()


def test_queries_of_pairs_predict_the_same(table: pd.DataFrame) -> None:
    plain = table.drop(columns="note")
    found = TableModel("additive").fit(plain, "late")
    assert any(len(term.columns) == 2 for term in found.estimator_.terms_)
    with duckdb.connect() as connection:
        connection.register("data", plain)
        rows = connection.sql(found.to_sql()).fetchnumpy()
    np.testing.assert_allclose(rows["p_yes"], found.predict_proba(plain)[:, 1], rtol=1e-12)


def test_queries_of_an_estimator_predict_the_same() -> None:
    random = np.random.default_rng(1)
    x = pd.DataFrame(random.normal(size=(600, 3)), columns=list("abc"))
    classes = np.where(x["a"] * x["b"] > 0, np.where(x["c"] > 0, "u", "v"), "w")
    x.loc[::10, "a"] = np.nan
    for model in (AdditiveClassifier().fit(x, classes), AdditiveRegressor(interactions=0).fit(x, random.random(600))):
        with duckdb.connect() as connection:
            connection.register("data", x)
            rows = connection.sql(to_sql(model, "data")).fetchnumpy()
        if isinstance(model, AdditiveClassifier):
            np.testing.assert_allclose(rows["p_u"], model.predict_proba(x)[:, 0], rtol=1e-12)
        else:
            np.testing.assert_allclose(rows["prediction"], model.predict(x), rtol=1e-12)


def test_words_with_the_most_information_are_chosen() -> None:
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, 500)
    words = (random.random((500, 12)) < 0.2 + 0.05 * np.arange(12) * (codes[:, None] == 1)).astype(np.int8)
    information = mutual_info_classif(words, codes, discrete_features=True)
    assert informative_words(scipy.sparse.csc_array(words), codes, 4) == sorted(np.argsort(-information)[:4].tolist())


def test_new_levels_and_numbers_beyond_the_range_are_predicted(model: TableModel, table: pd.DataFrame) -> None:
    strange = table[:4].assign(age=[-1e9, 1e9, np.nan, 40.0], job="astronaut", note="")
    assert np.isfinite(model.predict_proba(strange)).all()


def test_a_table_of_categories_alone_is_a_candidate_for_additive(table: pd.DataFrame) -> None:
    random = np.random.default_rng(0)
    plain = pd.DataFrame({name: random.choice(list("uvw"), 800) for name in "abc"})
    plain["y"] = np.where((plain["a"] == "u") ^ (plain["b"] == "v"), "yes", "no")
    found = TableModel().fit(plain, "y")
    assert found.model_ == "additive"
    assert found.score(plain) == 1.0


def candidate(model: str, losses: list[float]) -> tuple[Candidate, Any]:
    return Candidate(model, "", False, float(np.nanmean(losses)), 0.1), np.array(losses)


def test_the_simplest_model_within_one_standard_error_is_chosen() -> None:
    noise = np.array([0.3, -0.3, 0.3, -0.3])
    best = candidate("additive", [1.0] * 4)
    close = candidate("logistic", (1.1 + noise).tolist())
    worse = candidate("nb", (1.2 + noise).tolist())
    order = [each.model for each in choose_simplest([worse, best, close])]
    assert order == ["logistic", "additive", "nb"]  # 0.1 ± 0.17; 0.2 ± 0.17


def test_a_difference_that_all_rows_share_is_decisive() -> None:
    large = np.array([5.0, 0.1, 2.0, 0.2])
    found = choose_simplest([candidate("nb", (large + 0.05).tolist()), candidate("additive", large.tolist())])
    assert found[0].model == "additive"  # the losses vary much, and their difference not at all
    assert found[1].behind == pytest.approx(0.05)


def test_of_a_large_table_some_folds_are_held_out() -> None:
    random = np.random.default_rng(0)
    rows = pd.DataFrame(random.normal(size=(3000, 30)), columns=[f"x{j}" for j in range(30)])
    rows["y"] = np.array(["a", "b", "c"])[random.integers(0, 3, 3000)]
    found = TableModel("nb").fit(rows, "y").candidates_[0]
    assert found.rows == 1200  # two folds of five: 3000 * 30 * 3 * 2 products are fewer than 800,000


def test_pairs_and_penalties_of_a_large_table_are_chosen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    rows = pd.DataFrame(random.normal(size=(1500, 30)), columns=[f"x{j}" for j in range(30)])
    rows["y"] = (rows["x0"] + rows["x1"] > 0).astype(int) + (rows["x2"] > 1)
    monkeypatch.setattr("suffice.tables.model_search._WORK", 1)  # one fold is held out
    chosen = []
    choose = binned_fit.choose_and_fit

    def count(given: Any, *settings: Any) -> Any:
        chosen.append(len(given))
        return choose(given, *settings)

    monkeypatch.setattr(binned_fit, "choose_and_fit", count)
    model = TableModel("additive").fit(rows, "y")
    assert chosen == [1200]
    assert model.fitted_rows_ == 1500
    assert model.score(rows) > 0.9
    whole = {name: term.density.sum() for name, term in zip("ab", model.estimator_.terms_, strict=False)}
    assert all(share == pytest.approx(1.0, abs=1e-4) for share in whole.values())

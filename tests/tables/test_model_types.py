"""Every model type compared with another implementation, on a hand-made matrix."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
import statsmodels.api as sm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.metrics import mean_poisson_deviance, r2_score

import suffice
from suffice.discriminative import LocallyWeightedRegression
from suffice.model_types import MODEL_TYPES
from suffice.statistics import Labels
from suffice.tables import TableError, scan
from suffice.tables.encoding import Block, encode_names
from suffice.tables.predictors import make_predictor
from suffice.tables.schema import Feature
from suffice.text import TextClassifier
from tests.tables.tables_data import KINDS, houses, near, unheated

TABLE = houses(300)
GAPPY = houses(300, missing=0.15)
NUMBERS = TABLE[["area", "price", "sold"]]
PREDICTORS = list(KINDS)


def standardised(cells: Any) -> npt.NDArray[np.float64]:
    cells = np.asarray(cells, dtype=np.float64)
    return np.where(np.isnan(cells), 0.0, (cells - np.nanmean(cells)) / np.nanstd(cells))


def matrix(table: pd.DataFrame, names: list[str]) -> npt.NDArray[np.float64]:
    """Return the columns of a matrix by their names, made by hand."""
    return np.stack([column(table, name) for name in names], axis=1)


def column(table: pd.DataFrame, name: str) -> npt.NDArray[np.float64]:
    if name.endswith(" missing"):
        return np.asarray(table[name.removesuffix(" missing")].isna(), dtype=np.float64)
    feature, _, level = name.partition(" = ")
    if level:
        return np.asarray(table[feature] == level, dtype=np.float64)
    return standardised(table[name].map({"yes": 1.0, "no": 0.0}) if name == "garden" else table[name])


def encoded(model: suffice.TableModel, table: pd.DataFrame) -> npt.NDArray[np.float64]:
    return matrix(table, model.predictor_.design.names)


def fitted(table: pd.DataFrame, target: str, form: str, **settings: Any) -> suffice.TableModel:
    return suffice.fit(table[[*PREDICTORS, target]], target, form, columns=KINDS, **settings)


@pytest.mark.parametrize("table", [TABLE, GAPPY])
def test_naive_bayes_is_mixed_naive_bayes(table: pd.DataFrame) -> None:
    model = unheated(fitted(table, "sold", "nb"))
    cells = table[PREDICTORS].assign(garden=table.garden.map({"yes": True, "no": False}))
    other = suffice.MixedNB(columns=KINDS).fit(cells, table.sold)
    near(model.predict_proba(table), other.predict_proba(cells))


def test_one_covariance_is_linear_discriminant_analysis() -> None:
    model = unheated(suffice.fit(NUMBERS, "sold", "gda"))
    model.predictor_.inner = model.estimator_.with_params(shrinkage=0.0)
    x = NUMBERS[["area", "price"]].to_numpy()
    other = LinearDiscriminantAnalysis(solver="lsqr").fit(x, NUMBERS.sold)
    near(model.predict_proba(NUMBERS), other.predict_proba(x), 1e-7)


@pytest.mark.parametrize(("form", "covariance"), [("gda", "tied"), ("gda-full", "full")])
def test_discriminant_analysis_is_that_of_the_library(form: str, covariance: Any) -> None:
    model = unheated(suffice.fit(NUMBERS, "sold", form))
    x = np.stack([standardised(NUMBERS[name]) for name in ("area", "price")], axis=1)
    other = suffice.GDA(covariance=covariance, shrinkage="oas").fit(x, NUMBERS.sold)
    near(model.predict_proba(NUMBERS), other.predict_proba(x))


def test_the_matrix_has_names() -> None:
    levels = GAPPY.street.value_counts().index.tolist()
    names = fitted(GAPPY, "price", "linear").predictor_.design.names
    assert names == [
        *("area", "area missing", "rooms", "rooms missing"),
        *(f"street = {level}" for level in levels[1:]),
        *("street missing", "garden", "garden missing"),
    ]
    assert set(names) <= set(fitted(GAPPY, "sold", "logistic").predictor_.design.names)


@pytest.mark.parametrize("table", [TABLE, GAPPY])
@pytest.mark.parametrize("target", ["sold", "street"])
def test_logistic_regression_is_that_of_scikit_learn(table: pd.DataFrame, target: str) -> None:
    table = table[table[target].notna()].reset_index(drop=True)
    rows = table if target == "sold" else table.assign(street=table.sold, sold=table.street)
    model = fitted(rows, "sold", "logistic")
    x = encoded(model, rows)
    other = LogisticRegression(C=model.estimator_.C, tol=1e-10, max_iter=5000).fit(x, rows.sold)
    near(model.predict_proba(rows), other.predict_proba(x), 1e-4)


def test_softmax_regression_is_that_of_the_library() -> None:
    rows = TABLE.assign(street=TABLE.sold, sold=TABLE.street)
    model = fitted(rows, "sold", "softmax")
    x = encoded(model, rows)
    other = type(model.estimator_)(C=model.estimator_.C, inference=False).fit(x, rows.sold)
    near(model.predict_proba(rows), other.predict_proba(x), 1e-4)


@pytest.mark.parametrize("table", [TABLE, GAPPY])
def test_linear_regression_is_ordinary_least_squares(table: pd.DataFrame) -> None:
    model = fitted(table, "price", "linear")
    dummies = pd.get_dummies(table[["street", "garden"]], dummy_na=True, drop_first=True).astype(float)
    gaps = table[["area", "rooms"]].isna().astype(float).add_suffix(" missing")
    x = pd.concat([table[["area", "rooms"]].fillna(0.0), dummies, gaps], axis=1)
    other = sm.OLS(table.price, sm.add_constant(x.loc[:, x.nunique() > 1])).fit()
    near(model.predict(table), other.fittedvalues, 1e-8)
    assert model.noise_ == pytest.approx(float(np.sqrt(np.mean(other.resid**2))), rel=1e-6)


def test_poisson_regression_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    table = GAPPY.assign(visits=random.poisson(np.exp(1 + 0.01 * houses(300).area)))
    model = fitted(table, "visits", "poisson", task="counts")
    x = encoded(model, table)
    other = PoissonRegressor(alpha=model.estimator_.l2 / len(table), tol=1e-10, max_iter=1000).fit(x, table.visits)
    near(model.predict(table), other.predict(x), 1e-4)


def test_local_regression_is_that_of_the_library() -> None:
    x = np.linspace(0, 6, 120)
    table = pd.DataFrame({"x": x, "y": np.sin(x) + np.random.default_rng(0).normal(0, 0.1, 120)})
    model = suffice.fit(table, "y", "local")
    other = LocallyWeightedRegression(bandwidth="auto", family="gaussian", l2=1e-3)
    near(
        model.predict(table), other.fit(standardised(x)[:, None], table.y.to_numpy()).predict(standardised(x)[:, None])
    )
    assert r2_score(np.sin(x), model.predict(table)) > 0.98


def messages(n: int = 200, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    kind = random.choice(["ham", "spam"], n)
    words = {"ham": ["meet", "lunch", "report", "the", "a"], "spam": ["win", "cash", "free", "the", "a"]}
    return pd.DataFrame({"text": [" ".join(random.choice(words[each], 6)) for each in kind], "kind": kind})


def test_text_is_the_text_classifier() -> None:
    table = messages()
    model = suffice.fit(table, "kind", "text")
    other = TextClassifier().fit(table.text.tolist(), table.kind.to_numpy())
    near(model.predict_proba(table), other.predict_proba(table.text.tolist()))


def test_words_stand_beside_other_columns_in_a_regression() -> None:
    table = messages().assign(length=np.random.default_rng(1).normal(size=200))
    model = suffice.fit(table, "kind", "logistic")
    assert {"length", "text: cash", "text: lunch"} <= set(model.predictor_.design.names)
    assert model.score(table) > 0.95


# Curves.


def curved(task: str) -> pd.DataFrame:
    random = np.random.default_rng(0)
    x = random.uniform(-3, 3, 600)
    height = 2 * np.sin(1.5 * x)
    y = {
        "numbers": height + random.normal(0, 0.3, 600),
        "counts": random.poisson(np.exp(height)),
        "classes": np.where(random.random(600) < 1 / (1 + np.exp(-2 * height)), "up", "down"),
    }
    return pd.DataFrame({"x": x, "z": random.normal(size=600), "y": y[task]})


@pytest.mark.parametrize(("task", "straight"), [("numbers", "linear"), ("counts", "poisson"), ("classes", "logistic")])
def test_curves_follow_what_is_curved(task: str, straight: str) -> None:
    table = curved(task)
    line = suffice.fit(table[:400], "y", straight, task=task).evaluate(table[400:].reset_index(drop=True)).summary()
    bent = suffice.fit(table[:400], "y", "additive", task=task).evaluate(table[400:].reset_index(drop=True)).summary()
    if task == "classes":
        assert bent["log loss"] < line["log loss"] - 0.1
    else:
        assert bent["R²"] > line["R²"] + 0.2


@pytest.mark.parametrize("task", ["numbers", "counts", "classes"])
def test_auto_takes_the_curve(task: str) -> None:
    model = suffice.fit(curved(task), "y", task=task)
    assert model.model_ in ("additive", "local")
    losses = [each.loss for each in model.candidates_]
    assert losses == sorted(losses)
    assert model.candidates_[0].model == model.model_


def test_auto_is_never_far_from_the_best_given() -> None:
    random = np.random.default_rng(3)
    y = random.choice(["a", "b"], 800)
    x = random.normal(size=(800, 2)) * np.where(y == "a", 1.0, 3.0)[:, None]
    table = pd.DataFrame({"u": x[:, 0], "v": x[:, 1], "y": y})
    model = suffice.fit(table, "y")
    assert model.model_ in ("gda-full", "nb", "additive")
    assert suffice.fit(table, "y", "logistic").score(table) < model.score(table) - 0.1


# What is told.


def test_losses_of_candidates_are_those_of_held_out_rows() -> None:
    """A model that learns its rows by heart is not taken for a good one."""
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(60, 25)), columns=[f"v{place}" for place in range(25)])
    table["y"] = random.choice(["a", "b"], 60)
    model = suffice.fit(table, "y", "gda-full")
    held_out = model.candidates_[0]
    assert held_out.loss > 0.65
    assert model.score(table) > held_out.measures["accuracy"] + 0.1


@pytest.mark.parametrize("form", ["nb", "gda-full"])
def test_a_few_cells_far_out_do_not_make_posteriors_uniform(form: str) -> None:
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, 1500)
    table = pd.DataFrame({f"x{place}": random.normal(4.0 * (codes == place)) for place in range(3)})
    for place in range(3):
        table[f"rare{place}"] = np.where(random.random(1500) < 0.01, random.lognormal(0, 2.5, 1500), 0.0)
    table["y"] = np.array(list("abc"))[codes]
    found = suffice.fit(table, "y", form).candidates_[0]
    assert found.measures["accuracy"] > 0.95
    assert found.temperature < 10  # it was 1e4
    assert found.loss < 0.5  # it was 1.14, more than log(3)


@pytest.mark.parametrize(
    ("form", "table", "target", "message"),
    [
        ("text", TABLE, "sold", "reads text, and no column holds any"),
        ("local", TABLE, "street", "predicts two classes; the target has 3"),
    ],
)
def test_model_types_that_do_not_fit_the_target_are_refused(
    form: str, table: pd.DataFrame, target: str, message: str
) -> None:
    with pytest.raises(TableError, match=message):
        suffice.fit(table, target, form)


def test_compare_judges_as_fit_does() -> None:
    """By the log loss, of generative models that are calibrated: naive Bayes that counts cells twice is too sure."""
    table = houses(600)[["area", "rooms", "sold"]]
    table = table.assign(**{f"area{copy}": table.area for copy in range(6)})
    found = suffice.tables.compare(table, "sold", ("nb", "logistic"), sizes=2, repeats=3)
    model = suffice.fit(table, "sold")
    losses = {each.model: each.loss for each in model.candidates_}
    assert found.measure == "log loss"
    assert found.curves["nb"][-1] == pytest.approx(losses["nb"], rel=0.15)
    assert found.curves["logistic"][-1] == pytest.approx(losses["logistic"], rel=0.15)


def test_logistic_regression_is_tried_for_several_classes() -> None:
    found = suffice.fit(TABLE.drop(columns="sold"), "street").candidates_
    assert {"logistic", "softmax"} <= {each.model for each in found}


def test_a_model_that_is_too_large_is_left_out_in_words() -> None:
    random = np.random.default_rng(0)
    codes = np.arange(2400) % 1000
    table = pd.DataFrame({"x": random.normal(codes), "y": [f"c{code}" for code in codes]})
    with pytest.raises(TableError, match=r"^logistic would take 2e\+09 second derivatives for 1,000 classes"):
        suffice.fit(table, "y", "logistic", folds=2)
    features = tuple(Feature(f"v{place}", "numeric", f"v{place}") for place in range(300))
    wide = Block(features, tuple(random.normal(size=(300, 5))), 5)
    with pytest.raises(TableError, match=r"2,000 covariances of 300 columns, 1\.3 GiB: gda shares one"):
        make_predictor(MODEL_TYPES["gda-full"], "classes", Labels(tuple(range(2000)))).prepare(wide)


def test_deviance_of_poisson_regression_beats_the_mean() -> None:
    table = curved("counts")
    model = suffice.fit(table, "y", "additive", task="counts")
    mean = np.full(len(table), table.y.mean())
    assert mean_poisson_deviance(table.y, model.predict(table)) < 0.5 * mean_poisson_deviance(table.y, mean)


def test_many_rows_are_fitted_to_those_that_were_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "COMPARISON_ROWS", 1000)
    table = pd.concat([houses(1000)] * 6, ignore_index=True)
    model = suffice.fit(table, "sold", "logistic", most_rows=5200, random_state=1)
    assert (model.rows_, model.fitted_rows_) == (6000, 5200)
    whole = suffice.fit(table, "sold", "logistic", most_rows=None)
    assert whole.fitted_rows_ == 6000
    near(model.predict_proba(houses(50)), whole.predict_proba(houses(50)), 0.05)


def test_tables_that_a_form_has_too_many_columns_or_classes_for_are_refused() -> None:
    random = np.random.default_rng(0)
    names = random.choice([f"name{place}" for place in range(60)], (120, 6))
    wide = pd.DataFrame(names, columns=list("abcdef")).assign(y=np.tile(["n", "y"], 60))
    with pytest.raises(TableError, match=r"gda would need \d+ columns, which are too many for it"):
        suffice.fit(wide, "y", "gda", columns=dict.fromkeys("abcdef", "category"), folds=2)
    three = pd.DataFrame({"a": random.normal(size=30), "y": np.tile(["n", "y", "z"], 10)})
    with pytest.raises(TableError, match="the model 'local' predicts two classes; the target has 3"):
        suffice.fit(three, "y", "local")


def test_a_text_without_a_frequent_word_tells_a_regression_nothing() -> None:
    texts = [f"first{row} second{row} third{row}" for row in range(60)]
    table = pd.DataFrame({"area": NUMBERS.area[:60], "note": texts, "sold": NUMBERS.sold[:60]})
    model = suffice.fit(table, "sold", "logistic", columns={"note": "text"}, folds=2)
    assert model.predictor_.design.names == ["area"]
    found = duckdb.sql(model.to_sql(table="table")).df()
    near(found.filter(like="p_").to_numpy(), model.predict_proba(table))


def test_a_design_follows_rows_with_levels_that_its_first_rows_lack() -> None:
    first, second = (
        Block((Feature("a", "category", "a"),), (encode_names(pa.array(list(cells))),), len(cells))
        for cells in ("xy", "xzxz")
    )
    labels = Labels.of(["n", "y"])
    model = make_predictor(MODEL_TYPES["gda"], "classes", labels)
    model.prepare(first)
    model.learn([(second, np.array([0, 1, 1, 0]))])
    assert model.design.names == ["a = z"]


def test_text_and_a_rare_class_in_rows_that_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    y = random.choice(["n", "y"], 600).astype(object)
    y[7] = "rare"
    table = pd.DataFrame({"a": random.normal(size=600), "note": random.choice(["sun and moon", "rain", "snow"], 600)})
    monkeypatch.setattr(scan, "COMPARISON_ROWS", 60)
    model = suffice.fit(table.assign(y=y), "y", "logistic", columns={"note": "text"}, most_rows=60, folds=2)
    assert model.classes_.tolist() == ["n", "rare", "y"]
    assert not model.predict_proba(table)[:, 1].any()
    model = suffice.fit(table.assign(y=y), "y", "logistic", columns={"note": "ignore"}, most_rows=60, folds=2)
    near(duckdb.sql(model.to_sql(table="table")).df().filter(like="p_").to_numpy(), model.predict_proba(table))


def test_models_that_cannot_be_fitted_to_some_rows_have_no_error_there() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"a": random.normal(size=90), "y": ["n", "y"] * 45})
    seen: list[tuple[str, int, int | None]] = []
    alike = table.assign(a=np.where(table.y == "y", 1.0, table.a))
    found = suffice.tables.compare(
        alike, "y", ("gda", "gda-full"), sizes=2, repeats=2, watch=lambda *told: seen.append(told)
    )
    assert np.isnan(found.curves["gda-full"]).all()
    assert np.isfinite(found.curves["gda"]).all()
    assert [told for told in seen if told[0] == "drawing curves"] == [("drawing curves", k, 4) for k in range(4)]
    nearly = table.assign(a=np.where((table.y == "y") & (random.random(90) < 0.8), 1.0, table.a))
    few = suffice.tables.compare(nearly, "y", ("gda-full",), sizes=2, repeats=9)
    assert np.isfinite(few.curves["gda-full"][-1])


def test_many_rows_are_drawn_three_times_for_a_learning_curve() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"a": random.normal(size=9000), "y": random.choice(["n", "y"], 9000)})
    one, two = (suffice.tables.compare(table, "y", ("nb",), sizes=2, repeats=repeats) for repeats in (3, 5))
    assert one.curves["nb"][-1] == two.curves["nb"][-1]
    assert one.curves["nb"][0] != two.curves["nb"][0]


def test_where_no_model_can_be_fitted_the_first_says_why() -> None:
    table = pd.DataFrame({"a": np.random.default_rng(0).normal(size=40), "y": np.arange(40) * 1e306})
    with np.errstate(all="ignore"), pytest.raises(TableError, match=r"no model can be fitted to these rows \(\w+: "):
        suffice.fit(table, "y", task="counts")


@pytest.mark.parametrize("model", [None, 1, suffice.GaussianNB()], ids=["None", "number", "estimator"])
def test_a_model_that_is_no_name_is_refused(model: Any) -> None:
    with pytest.raises(TypeError, match=r"model must be 'auto' or the name of a model"):
        suffice.fit({"x": [1.0]}, "x", model=model)

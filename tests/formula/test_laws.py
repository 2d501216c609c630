"""What does not change a fit: the order of rows, the names of rows, saving; what a formula means."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice import GLM, LinearRegression, LogisticRegression, SoftmaxRegression, formula
from suffice.families import Binomial, NegativeBinomial, Poisson
from suffice.formula import FormulaModel
from suffice.store import StoreError, read, write
from tests.formula.tables import births

TERMS = "poly(age, 2) + C(race, Sum) * smoke + bs(lwt, 4) + cr(days, 3, constraints='center') + scale(log(lwt)):age"
FITS: dict[str, dict[str, Any]] = {
    f"bwt ~ {TERMS}": {},
    f"log(bwt) ~ {TERMS} - 1": {"covariance": "HC3"},
    f"low ~ {TERMS}": {"positive": "no"},
    "low ~ race + age": {"bias_reduction": True},
    "race ~ age + smoke + center(lwt)": {},
    "visits ~ age + race": {"family": Poisson, "exposure": "days"},
    "visits ~ age + race + offset(log(days))": {"family": NegativeBinomial(theta=2.0)},
    "bwt ~ age + race + offset(10 * lwt)": {"family": "gaussian"},
    "low ~ age + race": {"family": "binomial", "link": "probit"},
    "bwt ~ age + race + C(hospital)": {"alpha": 1.0, "weights": "days"},
}


@pytest.mark.parametrize("text", FITS)
def test_the_order_of_rows_does_not_matter(text: str) -> None:
    table = births()
    one = formula.fit(text, table, **FITS[text])
    two = formula.fit(text, table.sample(frac=1.0, random_state=1), **FITS[text])
    assert one.coefficients == pytest.approx(two.coefficients, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("text", FITS)
def test_a_saved_model_answers_as_before(text: str, tmp_path: Path) -> None:
    table = births()
    model = formula.fit(text, table, **FITS[text])
    model.save(tmp_path / "model")
    loaded = suffice.load(tmp_path / "model")
    assert isinstance(loaded, FormulaModel)
    assert loaded.predict(table).tolist()[:5] == model.predict(table).tolist()[:5]
    assert str(loaded.summary()) == str(model.summary())
    assert repr(loaded) == repr(model)
    np.testing.assert_array_equal(loaded.design.matrix(table), model.design.matrix(table))


def test_loading_needs_no_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = births()
    model = formula.fit(f"low ~ {TERMS}", table)
    model.save(tmp_path / "model")
    monkeypatch.setattr("suffice.formula.grammar._parser", lambda: pytest.fail("formulaic was asked"))
    np.testing.assert_array_equal(suffice.load(tmp_path / "model").predict_proba(table), model.predict_proba(table))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("target",), "__import__('os')"),
        (("offsets",), ["age.__class__()"]),
        (("classes",), ["a"]),
        (("design", "unseen"), "perhaps"),
        (("design", "terms"), [["eval('1')"]]),
        (("design", "terms"), [["bs(age, 5)"]]),
        (("design", "transforms", "C(race)", "reference"), 7),
        (("design", "transforms", "C(race)", "kind"), "NoSuch"),
        (("design", "transforms", "bs(age, 4)", "knots"), [5.0, 1.0]),
        (("design", "transforms", "bs(age, 4)", "high"), -1e9),
    ],
)
def test_a_changed_file_is_refused(path: tuple[str, ...], value: Any, tmp_path: Path) -> None:
    formula.fit("bwt ~ race + bs(age, 4)", births()).save(tmp_path / "model")
    contents = read(tmp_path / "model")
    settings = json.loads(json.dumps(contents.settings))
    place = settings["own"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    object.__setattr__(contents, "settings", settings)
    write(tmp_path / "model", contents)
    with pytest.raises(StoreError, match="contains a FormulaModel that suffice"):
        suffice.load(tmp_path / "model").predict(births())


@pytest.mark.parametrize(
    ("text", "settings", "kind"),
    [
        ("bwt ~ age", {}, LinearRegression),
        ("bwt ~ age", {"family": "gaussian"}, LinearRegression),
        ("bwt ~ age + offset(lwt)", {}, GLM),
        ("low ~ age", {}, LogisticRegression),
        ("smoke ~ age", {}, LogisticRegression),
        ("I(1 * smoke) ~ age", {"family": "binomial"}, LogisticRegression),
        ("low ~ age", {"family": "binomial", "link": "cloglog"}, GLM),
        ("race ~ age", {}, SoftmaxRegression),
        ("hospital ~ age", {"family": "multinomial"}, SoftmaxRegression),
        ("visits ~ age", {"family": "poisson"}, GLM),
        ("visits ~ age", {"estimator": GLM("poisson", l2=1.0)}, GLM),
        ("low ~ age", {"estimator": SoftmaxRegression}, SoftmaxRegression),
    ],
)
def test_the_family_chooses_the_estimator(text: str, settings: dict[str, Any], kind: type) -> None:
    model = formula.fit(text, births(), **settings)
    assert type(model.estimator_) is kind
    assert len(model.predict(births())) == 300


def test_positive_names_the_class_that_is_modelled() -> None:
    table = births()
    yes, no = (formula.fit("low ~ age + race", table, positive=each) for each in ("yes", "no"))
    for name, value in yes.coefficients.items():
        assert no.coefficients[name] == pytest.approx(-value, rel=1e-6)
    assert yes.classes_.tolist() == ["no", "yes"]
    assert no.classes_.tolist() == ["yes", "no"]
    np.testing.assert_allclose(yes.predict_proba(table), no.predict_proba(table)[:, ::-1], rtol=1e-8)
    assert (yes.predict(table) == no.predict(table)).all()
    assert "modelled class: low = no, against yes" in str(no.summary())


def test_the_reference_of_several_classes_can_be_chosen() -> None:
    table = births()
    first = formula.fit("race ~ age", table)
    other = formula.fit("C(race, Treatment('white')) ~ age", table)
    assert list(first.coefficients)[:2] == ["other: intercept", "other: age"]
    assert list(other.coefficients)[:2] == ["black: intercept", "black: age"]
    columns = [other.classes_.tolist().index(each) for each in first.classes_]
    np.testing.assert_allclose(first.predict_proba(table), other.predict_proba(table)[:, columns], rtol=1e-7)


def test_reference_levels_change_coefficients_and_not_predictions() -> None:
    table = births()
    texts = ["race", "C(race, Treatment('white'))", "C(race, Sum)", "C(race, levels=['white', 'other', 'black'])"]
    models = [formula.fit(f"bwt ~ {each} * age", table) for each in texts]
    for model in models[1:]:
        np.testing.assert_allclose(model.predict(table), models[0].predict(table), rtol=1e-9)
    assert "race: reference level white" in str(models[1].summary())
    assert "race: sum contrasts; white is minus the sum of the others" in str(models[2].summary())


@pytest.mark.parametrize("kind", [LogisticRegression, SoftmaxRegression])
@pytest.mark.parametrize("c", [np.inf, 0.5])
@pytest.mark.parametrize("target", ["low", "race"])
def test_every_classifier_names_its_classes(kind: type, c: float, target: str, tmp_path: Path) -> None:
    table = births().dropna()
    model = formula.fit(f"{target} ~ age + lwt + smoke", table, estimator=kind(C=c))
    direct = kind(C=c).fit(table[["age", "lwt", "smoke"]].astype(float), table[target])
    columns = [direct.classes_.tolist().index(each) for each in model.classes_]
    expected = direct.predict_proba(table[["age", "lwt", "smoke"]].astype(float))[:, columns]
    if kind is LogisticRegression or c == np.inf:  # a penalty on log-odds depends on the class they are against
        np.testing.assert_allclose(model.predict_proba(table), expected, rtol=1e-5)
    share = (model.predict(table) == table[target]).mean()
    assert share == model.evaluate(table).summary()["accuracy"]
    assert share > 0.4
    names = {name.partition(": ")[0] for name in model.coefficients} - set(model.design.names) - {"intercept"}
    assert names <= set(model.classes_)


def test_two_fractions_are_proportions() -> None:
    table = pd.DataFrame({"x": [0.0, 0.0, 1.0, 1.0], "share": [0.2, 0.2, 0.6, 0.6], "n": [5.0, 5.0, 5.0, 5.0]})
    model = formula.fit("share ~ x", table, family="binomial", weights="n")
    assert model.predict(table).round(6).tolist() == [0.2, 0.2, 0.6, 0.6]


def test_class_weights_are_by_label() -> None:
    table = births()
    softmax = {"estimator": SoftmaxRegression, "class_weight": {"yes": 2.0, "no": 1.0}}
    logistic = {"class_weight": {"yes": 2.0, "no": 1.0}}
    one, two = (formula.fit("low ~ age", table, **each) for each in (softmax, logistic))
    np.testing.assert_allclose(one.predict_proba(table), two.predict_proba(table), rtol=1e-6)
    plain = formula.fit("low ~ age", table, class_weight={"yes": 2.0, "no": 1.0})
    twice = formula.fit("low ~ age", pd.concat([table, table[table["low"] == "yes"]]))
    assert plain.coefficients == pytest.approx(twice.coefficients, rel=1e-6)


def test_arrays_keep_the_minimum_norm_solution_where_formulas_drop_a_column() -> None:
    table = births().assign(twice=lambda each: 2 * each["age"])
    model = formula.fit("low ~ age + twice + race", table)
    assert np.isnan(model.coefficients["twice"])
    alone = formula.fit("low ~ age + race", table)
    assert model.coefficients["age"] == pytest.approx(alone.coefficients["age"], rel=1e-8)
    np.testing.assert_allclose(model.predict_proba(table), alone.predict_proba(table), rtol=1e-8)
    with pytest.warns(suffice.discriminative.CollinearityWarning, match="twice"):
        arrays = LinearRegression().fit(table[["age", "twice"]], table["bwt"])
    assert arrays.coef_[1] == pytest.approx(2 * arrays.coef_[0])


def test_an_empty_cell_of_crossed_factors_is_dropped_and_noted() -> None:
    table = births()
    table = table[~((table["race"] == "black") & table["smoke"])]
    model = formula.fit("bwt ~ race * smoke", table)
    dropped = [name for name, value in model.coefficients.items() if np.isnan(value)]
    assert len(dropped) == 1
    assert f"{dropped[0]} was dropped" in str(model.summary())
    assert np.isfinite(model.predict(table.dropna())).all()


def test_contributions_of_terms_add_up_to_the_prediction() -> None:
    table = births().dropna()[:20]
    for text, settings in [("bwt ~ race * age + bs(lwt, 4)", {}), ("visits ~ race + age", {"family": "poisson"})]:
        model = formula.fit(text, births(), **settings)
        totals = np.array([each.total for each in model.explain(table)])
        expected = model.predict(table)
        np.testing.assert_allclose(np.exp(totals) if settings else totals, expected, rtol=1e-9)
    classes = formula.fit("race ~ smoke + age", births())
    for each, p in zip(classes.explain(table), classes.predict_proba(table), strict=True):
        assert each.probability == pytest.approx(p.max(), rel=1e-9)
        assert each.prediction == classes.classes_[p.argmax()]


def test_evaluate_measures_the_predictions() -> None:
    table = births()
    model = formula.fit("low ~ age + race", table)
    found = model.evaluate(table)
    known = table.dropna(subset=["race"])
    assert found.summary()["accuracy"] == pytest.approx((model.predict(known) == known["low"]).mean())
    assert found.rows == len(known)


def test_a_dot_is_all_other_columns_and_names_may_be_quoted() -> None:
    table = births()[["bwt", "age", "race", "lwt"]].rename(columns={"lwt": "mother's weight", "age": "the.age"})
    model = formula.fit("bwt ~ .", table)
    assert model.design.names == ["the.age", "race[other]", "race[white]", "mother's weight"]
    quoted = formula.fit("bwt ~ log(`mother's weight`) + log(the.age)", table)
    assert quoted.design.names == ["log(`mother's weight`)", "log(the.age)"]


def test_intervals_and_errors_are_those_of_the_estimator() -> None:
    table = births()
    cases: list[tuple[str, dict[str, Any]]] = [
        ("bwt ~ age + race", {}),
        ("low ~ age + race", {}),
        ("race ~ age", {}),
        ("visits ~ age + race", {"family": "poisson", "exposure": "days"}),
    ]
    for text, settings in cases:
        model = formula.fit(text, table, **settings)
        low, high = model.predict_interval(table)
        mean = model.predict_proba(table) if model.has_classes else model.predict(table)
        mean = mean[:, 1] if mean.ndim == 2 and mean.shape[1] == 2 else mean
        known = np.isfinite(mean)
        assert low.shape == high.shape == mean.shape
        assert ((low < mean) & (mean < high))[known].all()
        assert np.isnan(low[~known]).all()
        assert model.predict_se(table).shape == mean.shape
        assert model.covariance_.shape == (len(model.coefficients),) * 2
    assert np.isnan(model.predict_interval(table[40:41])[0]).tolist() == [True]
    rows = table[:2].assign(age=[20.0, 40.0])
    low, high = formula.fit("bwt ~ age", table).predict_interval(rows, 0.9, of="observation")
    assert (high - low > 1000).all()


def test_clustered_errors_by_a_column() -> None:
    table = births()
    model = formula.fit("bwt ~ age", table, groups="hospital", covariance="clustered")
    direct = LinearRegression(covariance="clustered").fit(table[["age"]], table["bwt"], groups=table["hospital"])
    np.testing.assert_allclose(
        model.summary().inference.standard_errors, direct.summary().inference.standard_errors, rtol=1e-9
    )
    by_text = formula.fit(
        "bwt ~ age", table.assign(race=table["race"].fillna("none")), groups="race", covariance="clustered"
    )
    assert by_text.summary().inference.covariance_kind == "clustered"


def test_binomial_is_a_family_as_r_writes_it() -> None:
    table = births()
    by_class = formula.fit("low ~ age", table, family=Binomial())
    assert by_class.coefficients == formula.fit("low ~ age", table).coefficients

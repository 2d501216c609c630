"""TableModel.summary: coefficients in the units and levels of the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import suffice
from suffice import TableModel
from suffice.tables import TableError


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    n = 400
    area, street = rng.normal(80, 20, n).round(1), rng.choice(["calm", "loud", "main"], n, p=[0.5, 0.3, 0.2])
    price = 20 + 2.5 * area - 30 * (street == "loud") + rng.normal(0, 10, n)
    sold = rng.random(n) < 1 / (1 + np.exp(-(area - 80) / 20 - (street == "calm")))
    return pd.DataFrame(
        {"area": area, "street": street, "price": price, "sold": np.where(sold, "yes", "no"), "n": rng.poisson(3, n)}
    )


def test_linear_regression_agrees_with_statsmodels(table: pd.DataFrame, tmp_path: Path) -> None:
    model = TableModel("linear", columns={"sold": "ignore", "n": "numeric"}, folds=2).fit(table, "price")
    expected = smf.ols("price ~ area + C(street, Treatment('calm')) + n", table).fit()
    frame = model.summary().frame()
    for name in ("area", "n"):
        assert frame["coefficient"][name] == pytest.approx(expected.params[name], rel=1e-8)
        assert frame["std_error"][name] == pytest.approx(expected.bse[name], rel=1e-8)
    loud = "C(street, Treatment('calm'))[T.loud]"
    assert frame["coefficient"]["street[loud]"] == pytest.approx(expected.params[loud], rel=1e-8)
    assert frame["std_error"]["intercept"] == pytest.approx(expected.bse["Intercept"], rel=1e-8)
    assert "street: reference level calm" in str(model.summary())
    model.save(tmp_path / "model")
    assert str(suffice.load(tmp_path / "model").summary()) == str(model.summary())


@pytest.mark.parametrize(("kind", "target"), [("logistic", "sold"), ("softmax", "street"), ("poisson", "n")])
def test_coefficients_give_the_predictions(kind: str, target: str, table: pd.DataFrame) -> None:
    table = table.copy()
    table.loc[::7, "area"] = np.nan
    model = TableModel(kind, folds=2, task="counts" if kind == "poisson" else None).fit(table, target)
    found = model.summary().inference
    names = [name.rpartition(": ")[2] for name in found.names]
    first = dict(zip(names[::-1], found.estimate[::-1], strict=True))  # of several classes, the first
    row = table.iloc[[1]]
    slope = 1e-3
    moved = row.assign(area=row["area"] + slope)
    if kind == "poisson":
        change = float(np.log(model.predict(moved) / model.predict(row))[0])
    else:
        p, q = model.predict_proba(row)[0], model.predict_proba(moved)[0]
        top, base = (1, 0) if kind == "logistic" else (0, -1)
        change = float(np.log(q[top] / q[base]) - np.log(p[top] / p[base]))
    assert change / slope == pytest.approx(first["area"], rel=1e-4)
    assert "area[missing]" in first


def test_effects_of_an_additive_model_give_the_predictions(table: pd.DataFrame, tmp_path: Path) -> None:
    table = table.assign(old=np.arange(400) % 3 == 0)
    table.loc[::7, "area"] = np.nan
    model = TableModel("additive", folds=2).fit(table, "price")
    found = model.summary()
    for term in found.to_dict()["terms"]:  # effects are those of explanations
        effects, cells = np.ravel(term["effects"]), np.shape(term["effects"])
        shown = [
            each.effect
            for row in model.explain(table[:20])
            for each in row.contributions
            if each.feature == term["name"]
        ]
        assert all(np.isclose(effects, effect, rtol=1e-12).any() for effect in shown)
        assert np.shape(term["std_errors"]) == cells == tuple(len(labels) for labels in term["cells"])
    terms = {term["name"]: term for term in found.to_dict()["terms"]}
    assert {"area", "street", "old"} <= set(terms)
    assert next(iter(terms)) == "area"  # the most important
    assert terms["old"]["cells"] == [["missing", "false", "true"]]
    frame = found.frame()
    street = frame[(frame["term"] == "street") & (frame["cell"] == "loud")]
    assert street["share"].item() == pytest.approx((table["street"] == "loud").mean(), abs=1e-6)
    assert street["std_error"].item() > 0
    assert "expected number" in str(found)
    assert "<table>" in found._repr_html_()
    model.save(tmp_path / "model")
    assert str(suffice.load(tmp_path / "model").summary()) == str(found)


def test_models_without_coefficients_are_named(table: pd.DataFrame) -> None:
    with pytest.raises(TableError, match="nb is no regression, and has no coefficients"):
        TableModel("nb").fit(table, "sold").summary()

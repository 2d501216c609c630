"""Formulas give the columns, coefficients and predictions of R."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import formula
from suffice.formula import FormulaModel
from tests.references import r_data, r_results

RESULTS = r_results("formulas")
MATRICES = {
    "interaction": "group * x1",
    "crossed": "0 + group",
    "nested": "group / x1",
    "pairs": "(x1 + x2 + group)^2",
    "within": "group:x1",
    "sums": "C(group, Sum) * x2",
    "base": "C(group, Treatment('b'))",
    "power": "I(x1**2) + log(w) + sqrt(w) + exp(x2 / 2)",
    "poly": "poly(x1, 4)",
    "raw": "poly(x1, 3, raw=True)",
    "bs": "bs(x1, 5)",
    "bs_knots": "bs(x1, knots=[-0.5, 0.5], degree=2)",
    "bs_full": "0 + bs(x1, 6, include_intercept=True)",
    "scale": "scale(x1) + center(x2)",
    "nested_functions": "bs(log(w), 4):group",
}


def table(name: str) -> pd.DataFrame:
    return pd.DataFrame(r_data(name))


@pytest.mark.parametrize("name", MATRICES)
def test_columns_are_those_of_model_matrix(name: str) -> None:
    found, rows = RESULTS["matrices"][name], table("linear")
    expected = np.array(found["matrix"], dtype=float)
    model = formula.fit(f"y ~ {MATRICES[name]}", rows)
    if found["names"][0] == "(Intercept)":
        assert model.design.intercept
        expected = expected[:, 1:]
    np.testing.assert_allclose(model.design.matrix(rows[:25]), expected, rtol=1e-9, atol=1e-11)
    r_names = [each for each in found["names"] if each != "(Intercept)"]
    if name in ("interaction", "crossed", "nested", "pairs", "within"):
        assert [each.replace("[", "").replace("]", "") for each in model.design.names] == r_names


@pytest.mark.parametrize(
    ("name", "text"),
    {
        "poly": "y ~ poly(x1, 3) + group",
        "bs": "y ~ bs(x1, 5)",
        "scale": "y ~ scale(x1) * group",
        "spline_of_log": "y ~ bs(log(w), 4)",
    }.items(),
)
@pytest.mark.filterwarnings("ignore::suffice.formula.ExtrapolationWarning")
def test_new_rows_are_transformed_by_what_was_learned(name: str, text: str) -> None:
    expected = RESULTS["predictions"][name]
    model = formula.fit(text, table("linear"))
    _check_fit(model, expected)
    np.testing.assert_allclose(model.predict(pd.DataFrame(RESULTS["new"])), expected["predicted"], rtol=1e-8)


def test_rows_with_missing_cells_are_left_out_as_by_na_omit() -> None:
    holes = table("linear")
    holes.loc[[2, 9], "x1"] = np.nan
    holes.loc[[9, 19], "group"] = None
    holes.loc[29, "y"] = np.nan
    expected = RESULTS["missing"]
    model = formula.fit("y ~ scale(x1) + bs(x2, 4) + group", holes)
    _check_fit(model, expected)
    assert model.rows_ - model.dropped_rows_ == expected["nobs"]
    assert "4 of 60 rows with missing cells were dropped (y 1, x1 2, group 2)" in str(model.summary())


def test_a_dependent_column_has_no_coefficient_and_the_others_keep_their_errors() -> None:
    rows = table("linear")
    rows["total"] = rows["x1"] + 2 * rows["x2"]
    expected = RESULTS["dependent"]
    model = formula.fit("y ~ x1 + x2 + total + group", rows)
    frame = model.summary().frame()
    np.testing.assert_allclose(frame["coefficient"], _floats(expected["coefficients"]), rtol=1e-9)
    assert frame["coefficient"].isna().tolist() == expected["na"]
    np.testing.assert_allclose(frame["std_error"].dropna(), expected["se"], rtol=1e-9)
    np.testing.assert_allclose(frame["p"].dropna(), expected["p_value"], rtol=1e-8)
    assert "total was dropped: total = a combination of x1, x2" in str(model.summary())
    np.testing.assert_allclose(model.predict(rows), expected["fitted"], rtol=1e-9)


def test_binomial_with_a_spline_times_a_factor() -> None:
    expected = RESULTS["binomial"]
    model = formula.fit("y ~ bs(x1, 4) * group", table("binary"), family="binomial")
    frame = model.summary().frame()
    np.testing.assert_allclose(frame["coefficient"], expected["coefficients"], rtol=1e-6)
    np.testing.assert_allclose(frame["std_error"], expected["se"], rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(table("binary"))[:, 1], expected["fitted"], rtol=1e-6)


def test_poisson_rates_with_an_offset() -> None:
    expected = RESULTS["rates"]
    rows = table("counts")
    by_offset = formula.fit("y ~ x1 + group + offset(log(exposure))", rows, family="poisson")
    _check_fit(by_offset, expected)
    np.testing.assert_allclose(by_offset.predict(rows), expected["fitted"], rtol=1e-8)
    by_exposure = formula.fit("y ~ x1 + group", rows, family="poisson", exposure="exposure")
    _check_fit(by_exposure, expected)


def _floats(values: list[float | None]) -> list[float]:
    return [np.nan if each is None else each for each in values]


def _check_fit(model: FormulaModel, expected: dict[str, Any]) -> None:
    frame = model.summary().frame()
    np.testing.assert_allclose(frame["coefficient"], expected["coefficients"], rtol=1e-8)
    np.testing.assert_allclose(frame["std_error"], expected["se"], rtol=1e-8)
    assert model.summary().inference.deviance == pytest.approx(expected["deviance"], rel=1e-9)

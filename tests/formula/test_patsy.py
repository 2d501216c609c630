"""Formulas give the columns of patsy and the results of statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import patsy
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

from suffice import formula


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 120
    return pd.DataFrame(
        {
            "y": rng.normal(size=n),
            "x": rng.gamma(2.0, size=n),
            "z": rng.normal(3.0, size=n).round(1),
            "a": rng.choice(["a1", "a2", "a3"], n),
            "b": rng.choice(["b1", "b2"], n),
            "flag": rng.choice([True, False], n),
        }
    )


@pytest.mark.parametrize(
    "right",
    [
        "cr(x, 5)",
        "cr(x, 4, constraints='center')",
        "cr(z, knots=[2, 3, 4])",
        "bs(z, 6, degree=2)",
        "scale(x) - 1",
    ],
)
def test_splines_and_scaling_are_those_of_patsy(right: str, rows: pd.DataFrame) -> None:
    expected = np.asarray(patsy.dmatrix(right.replace("scale(x)", "scale(x, ddof=1)"), rows, NA_action="raise"))
    expected = expected if right.endswith("- 1") else expected[:, 1:]
    model = formula.fit(f"y ~ {right}", rows, alpha=1.0)  # with a penalty no column is dropped
    np.testing.assert_allclose(model.design.matrix(rows), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "right",
    [
        "a + b",
        "a * b",
        "a:b",
        "a:b - 1",
        "a + a:b",
        "a:x",
        "a + a:x",
        "b:a:x",
        "x + a:b:x",
        "a / b",
        "a / b / x",
        "(a + b + x)**3",
        "(a + b)**2 - a",
        "a + b + a:b - 1",
        "flag * x - 1",
        "x:z + a",
        "C(z) : b",
    ],
)
def test_terms_span_the_same_columns_as_patsy_without_redundancy(right: str, rows: pd.DataFrame) -> None:
    small = rows[rows["z"] < 2.5] if "C(z)" in right else rows
    expected = np.asarray(patsy.dmatrix(right, small))
    design = formula.fit(f"y ~ {right}", small, alpha=1.0).design
    found = design.matrix(small)
    if design.intercept:
        found = np.column_stack([np.ones(len(found)), found])
    assert found.shape == expected.shape
    rank = np.linalg.matrix_rank(expected)
    assert np.linalg.matrix_rank(found) == rank == np.linalg.matrix_rank(np.column_stack([found, expected]))
    if right not in ("a:b", "C(z) : b"):  # where a cell of the table is empty, a column is as well
        assert rank == expected.shape[1]


def test_statsmodels_agrees_on_star98() -> None:
    table = sm.datasets.star98.load_pandas().data
    table["share"] = table["NABOVE"] / (table["NABOVE"] + table["NBELOW"])
    table["pupils"] = table["NABOVE"] + table["NBELOW"]
    right = "LOWINC + PERASIAN * PCTCHRT + bs(AVYRSEXP, 4)"
    expected = smf.glm(f"share ~ {right}", table, family=sm.families.Binomial(), freq_weights=table["pupils"]).fit()
    model = formula.fit(f"NABOVE ~ {right}", table, family="binomial", trials="pupils")
    frame = model.summary().frame()
    np.testing.assert_allclose(sorted(frame["coefficient"]), sorted(expected.params), rtol=1e-6)
    np.testing.assert_allclose(sorted(frame["std_error"]), sorted(expected.bse), rtol=1e-6)
    assert frame["coefficient"]["PERASIAN:PCTCHRT"] == pytest.approx(expected.params["PERASIAN:PCTCHRT"])


def test_statsmodels_agrees_on_fair() -> None:
    table = sm.datasets.fair.load_pandas().data
    table["any"] = np.where(table["affairs"] > 0, "yes", "no")
    right = "age + rate_marriage * yrs_married + C(educ) + scale(religious)"
    expected = smf.logit(f"I(affairs > 0).astype(float) ~ {right}", table).fit(disp=0, tol=1e-10)
    model = formula.fit(f"any ~ {right}", table, positive="yes")
    frame = model.summary().frame()
    assert frame.index.tolist()[1:3] == ["age", "rate_marriage"]
    ours = dict(zip(frame.index, frame["coefficient"], strict=True))
    theirs = {name.replace("C(educ)[T.", "educ[").replace(".0]", "]"): each for name, each in expected.params.items()}
    for name, value in theirs.items():
        mine = {"Intercept": "intercept", "scale(religious)": "scale(religious)"}.get(name, name)
        if name not in ("Intercept", "scale(religious)"):  # patsy scales by n, not by n - 1
            assert ours[mine] == pytest.approx(value, rel=1e-6)
    assert model.summary().inference.log_likelihood == pytest.approx(expected.llf, rel=1e-9)


def test_statsmodels_agrees_on_three_classes() -> None:
    table = sm.datasets.anes96.load_pandas().data
    expected = smf.mnlogit("vote3 ~ age + income", table.assign(vote3=table["PID"] // 3)).fit(disp=0, tol=1e-10)
    named = table.assign(vote3=(table["PID"] // 3).map({0.0: "d", 1.0: "i", 2.0: "r"}))
    model = formula.fit("vote3 ~ age + income", named)
    frame = model.summary().frame()
    np.testing.assert_allclose(frame["coefficient"], expected.params.to_numpy().T.ravel(), rtol=1e-6)
    np.testing.assert_allclose(frame["std_error"], expected.bse.to_numpy().T.ravel(), rtol=1e-6)
    assert frame.index.tolist() == [f"{c}: {t}" for c in "ir" for t in ("intercept", "age", "income")]
    np.testing.assert_allclose(model.predict_proba(named), expected.predict(), rtol=1e-6)

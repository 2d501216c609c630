"""Tests, contrasts and intervals of formulas, by the names of terms and levels; R's results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.othermod.betareg import BetaModel

import suffice
from suffice import GLM, formula
from suffice.tables import UsageError
from tests.formula.tables import births
from tests.references import r_data, r_results


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.DataFrame(r_data("linear"))


def test_terms_are_tested_as_by_anova_of_r(rows: pd.DataFrame) -> None:
    model = formula.fit("y ~ x1 * group + x2", rows)
    for kind, table in (("sequential", "anova"), ("type 2", "type_2")):
        expected = r_results("linear")["interaction"][table]
        found = model.anova(kind=kind).frame()
        places = [expected["term"].index(name.replace(" ", "")) for name in found.index if name != "residuals"]
        terms = found.iloc[: len(places)]
        np.testing.assert_allclose(terms["df"], np.array(expected["Df"])[places])
        np.testing.assert_allclose(terms["p"], np.array(expected["Pr(>F)"], dtype=float)[places], rtol=1e-7)


def test_nested_formulas_are_compared(rows: pd.DataFrame) -> None:
    small, large = formula.fit("y ~ x1", rows), formula.fit("y ~ x1 + x2 + group", rows)
    expected = r_results("linear")["full"]["anova_smaller"]
    found = small.anova(large)
    assert found["F"][1] == pytest.approx(expected["F"][1], rel=1e-9)
    assert found["p"][1] == pytest.approx(expected["Pr(>F)"][1], rel=1e-8)
    assert found.notes == ("1: y ~ x1", "2: y ~ x1 + x2 + group")


def test_terms_of_a_logistic_regression_need_the_table() -> None:
    table = births()
    model = formula.fit("low ~ age + race * smoke", table)
    with pytest.raises(ValueError, match="needs the rows of the fit"):
        model.anova()
    found = model.anova(data=table)
    assert found.names[:4] == ("age", "race", "smoke", "race:smoke")
    smaller = formula.fit("low ~ age + race + smoke", table)
    assert found["p"][3] == pytest.approx(smaller.anova(model)["p"][1], rel=1e-6)
    batches = model.anova(data=lambda: iter([table[:100], table[100:]]))
    np.testing.assert_allclose(np.asarray(batches), np.asarray(found), rtol=1e-6)


def test_terms_and_profiles_of_a_logistic_regression_are_those_of_r() -> None:
    table = pd.DataFrame(r_data("binary"))
    model, expected = (
        formula.fit("y ~ x1 + x2 + group", table, family="binomial"),
        r_results("glm")["binomial"]["logit"],
    )
    found = model.anova(data=table)
    np.testing.assert_allclose(found["p"][:3], expected["anova"]["Pr(>Chi)"][1:], rtol=1e-6)
    profile = model.confint(method="profile", data=table)
    np.testing.assert_allclose(profile["lower"], expected["profile"]["lower"], atol=1e-3)
    np.testing.assert_allclose(profile["upper"], expected["profile"]["upper"], atol=1e-3)


def test_contrasts_name_levels() -> None:
    table = births()
    model = formula.fit("bwt ~ race + age", table)
    found = model.contrast("race[other] - race[white]")
    other = formula.fit("bwt ~ C(race, Treatment('white')) + age", table).summary().frame()
    assert found["estimate"][0] == pytest.approx(other["coefficient"]["race[other]"])
    assert found["std_error"][0] == pytest.approx(other["std_error"]["race[other]"])
    classes = formula.fit("race ~ age", table)
    assert classes.contrast("`other: age` - `white: age`")["estimate"].shape == (1,)
    with pytest.raises(ValueError, match="did you mean"):
        model.contrast("race[othr]")


def test_intervals_of_coefficients() -> None:
    table = births()
    model = formula.fit("visits ~ age + race", table, family="poisson", exposure="days")
    wald, profile = model.confint(), model.confint(method="profile", data=table)
    np.testing.assert_allclose(np.asarray(wald), model.summary().inference.interval(0.95))
    assert wald.names == profile.names == tuple(model.coefficients)
    np.testing.assert_allclose(np.asarray(profile), np.asarray(wald), atol=0.01)
    with pytest.raises(UsageError, match="give data="):
        model.confint(method="profile")


def test_diagnostics_are_by_row_of_the_table(rows: pd.DataFrame) -> None:
    table = rows.copy()
    table.loc[len(table)] = [np.nan, 1.0, "a", 1, 1.0, 0.5]
    model = formula.fit("y ~ x1 + x2 + group", table)
    found = model.diagnostics(table)
    expected = r_results("linear")["full"]["influence"]
    np.testing.assert_allclose(found.leverage[:-1], expected["hatvalues"], rtol=1e-8)
    np.testing.assert_allclose(found.cooks_distance[:-1], expected["cooks_distance"], rtol=1e-7)
    assert np.isnan(found.leverage[-1])
    assert found.vif.names == ("x1", "x2", "group")
    counts = births()
    poisson = formula.fit("visits ~ age + race", counts, family="poisson", exposure="days")
    whole = poisson.diagnostics(counts)
    parts = poisson.diagnostics(lambda: iter([counts[:120], counts[120:]]))
    np.testing.assert_allclose(whole.pearson, parts.pearson, rtol=1e-9)


def test_files_with_clusters_have_diagnostics_profiles_and_anova(tmp_path: Path) -> None:
    table = pd.DataFrame(r_data("counts"))
    path = tmp_path / "counts.csv"
    table.to_csv(path, index=False)
    settings = {"family": "poisson", "groups": "group", "covariance": "clustered"}
    model = formula.fit("y ~ x1", str(path), **settings)
    for ask in (
        lambda data: model.confint(method="profile", data=data),
        lambda data: model.anova(data=data),
        lambda data: model.diagnostics(data).cooks_distance,
    ):
        np.testing.assert_allclose(np.asarray(ask(str(path))), np.asarray(ask(table)), rtol=1e-6)


def test_comparisons_keep_their_notes_and_ask_for_the_table() -> None:
    table = pd.DataFrame(r_data("counts"))
    small, large = (formula.fit(text, table, family="poisson", covariance="HC3") for text in ("y ~ x1", "y ~ x1 + x2"))
    assert small.anova(large).notes[:2] == ("1: y ~ x1", "2: y ~ x1 + x2")
    assert "deviances do not know the HC3 covariance" in small.anova(large).notes[2]
    assert small.anova(large, test="wald").notes == ("1: y ~ x1", "2: y ~ x1 + x2")
    for ask in (large.anova, lambda: small.anova(large, test="score")):
        with pytest.raises(UsageError, match="needs the rows of the fit, which a model does not keep: give data="):
            ask()


@pytest.mark.parametrize("terms", ["x + g", "x + g - 1"])
def test_a_beta_regression_has_the_names_of_its_terms(terms: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"x": rng.normal(size=60), "g": ["a", "b"] * 30})
    mean = 1 / (1 + np.exp(-0.5 * table["x"]))
    table["y"] = rng.beta(8 * mean, 8 * (1 - mean))
    model = formula.fit(f"y ~ {terms}", table, family="beta")
    model.save(tmp_path / "beta")
    design = model.design.matrix(table)
    plain = GLM("beta", fit_intercept=model.design.intercept).fit(design, table["y"]).summary().inference
    for found in (model, suffice.load(tmp_path / "beta")):
        fit = found.summary().inference
        np.testing.assert_allclose(fit.standard_errors, plain.standard_errors, rtol=1e-9)
        np.testing.assert_allclose(list(found.coefficients.values()), plain.estimate, rtol=1e-9)
        assert found.coefficients["x"] == pytest.approx(found.contrast("x")["estimate"][0], rel=1e-12)
        assert ("precision: intercept" in fit.names) == model.design.intercept
        np.testing.assert_allclose(np.asarray(found.confint()), plain.interval(), rtol=1e-9)
        assert "  x " in repr(found)
    if model.design.intercept:
        theirs = BetaModel(table["y"], sm.add_constant(design)).fit(disp=False, maxiter=500)
        np.testing.assert_allclose(list(model.coefficients.values()), theirs.params, atol=1e-5)


def test_models_that_are_not_nested_are_refused(rows: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="'y ~ x1' has coefficients that 'y ~ x2' does not have"):
        formula.fit("y ~ x1", rows).anova(formula.fit("y ~ x2", rows))
    with pytest.raises(ValueError, match=r"x1 is a coefficient of intercept \+ x1, not of intercept \+ x2 \+ group"):
        formula.fit("y ~ x1", rows).anova(formula.fit("y ~ x2 + group", rows), data=rows)


def test_models_with_other_columns_of_one_space_are_nested(rows: pd.DataFrame) -> None:
    straight, curve = formula.fit("y ~ x1", rows), formula.fit("y ~ poly(x1, 2)", rows)
    power = formula.fit("y ~ x1 + I(x1**2)", rows)
    expected = straight.anova(power)
    np.testing.assert_allclose(np.asarray(straight.anova(curve, data=rows))[1], np.asarray(expected)[1], rtol=1e-7)
    with pytest.raises(ValueError, match="x1 is a coefficient of"):
        straight.anova(curve, data=rows, test="wald")


def test_terms_under_sampling_weights_are_tested_as_the_message_says(rows: pd.DataFrame) -> None:
    settings = {"weights": "w", "weight_kind": "sampling"}
    model = formula.fit("y ~ x1 + group", rows, **settings)
    with pytest.raises(ValueError, match=r"give test='wald', kind='type 2'$"):
        model.anova()
    found = model.anova(test="wald", kind="type 2")
    small = formula.fit("y ~ x1", rows, **settings)
    with pytest.raises(ValueError, match=r"give test='wald'$"):
        small.anova(model)
    assert small.anova(model, test="wald")["p"][1] == pytest.approx(found["p"][1], rel=1e-9)


def test_fractions_of_events_and_of_successes_are_noted(rows: pd.DataFrame) -> None:
    table = rows.assign(n=6.0, half=0.5 * (np.arange(60) % 7), whole=np.arange(60) % 7)
    for column, family, settings, note in (
        ("half", "poisson", {}, "y is not a whole number in 26 rows"),
        ("half", "binomial", {"trials": "n"}, "the number of successes, y times the trials, is not whole in 26 rows"),
        ("whole", "poisson", {}, ""),
        ("whole", "binomial", {"trials": "n"}, ""),
        ("half", "poisson", {"dispersion": "pearson"}, ""),
    ):
        notes = formula.fit(f"{column} ~ x1", table, family=family, **settings).summary().inference.notes
        assert [each.partition(":")[0] for each in notes] == ([note] if note else []), column

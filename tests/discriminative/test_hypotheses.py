"""Tests of coefficients, terms and nested models: contrasts, profile likelihood intervals, anova; beside R."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.optimize import minimize
from statsmodels.othermod.betareg import BetaModel

from suffice import (
    GLM,
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    SoftmaxRegression,
    anova,
)
from suffice.discriminative import SeparationWarning
from suffice.discriminative.contrasts import parse_combination
from tests.references import r_data, r_design, r_results

TERMS = {"x1": ["x0"], "x2": ["x1"], "group": ["x2", "x3"]}
GLMS = {
    ("binomial", "logit"): LogisticRegression(tol=1e-12),
    ("poisson", "log"): PoissonRegressor(tol=1e-12),
    ("poisson", "quasi"): PoissonRegressor(dispersion="pearson", tol=1e-12),
    ("gamma", "log"): GammaRegressor(tol=1e-12),
    ("inverse_gaussian", "log"): GLM("inverse_gaussian", "log", tol=1e-12),
}
every_glm = pytest.mark.parametrize("case", GLMS, ids=" ".join)


def fitted(case: tuple[str, str]) -> tuple[Any, Any, dict[str, Any]]:
    """Return a model, the result of R and the rows."""
    found = r_results("glm")[case[0]]
    rows = {"X": r_design(found["data"]), "y": r_data(found["data"])["y"]}
    return GLMS[case].fit(**rows), found[case[1]], rows


def close(mine: Any, theirs: Any, tolerance: float = 1e-6) -> None:
    np.testing.assert_allclose(mine, np.array(theirs, dtype=float), rtol=tolerance, atol=1e-12)


WEIGHTED = np.random.default_rng(5).uniform(100.0, 900.0, 100)


# Contrasts.


@pytest.mark.parametrize(
    ("text", "weights", "constant"),
    [
        ("x1", [0, 1, 0, 0], 0),
        ("-x1 + 2*x2", [0, -1, 2, 0], 0),
        ("(x1 - x2) / 2 = 1.5", [0, 0.5, -0.5, 0], -1.5),
        ("x1 == x2", [0, 1, -1, 0], 0),
        ("1e1 * (intercept - -x1)", [10, 10, 0, 0], 0),
        ("`x1` - log(x1)", [0, 1, 0, -1], 0),
        ("3 * log(x1) - x1 * 2", [0, -2, 0, 3], 0),
    ],
)
def test_contrasts_are_linear_expressions(text: str, weights: list[float], constant: float) -> None:
    found = parse_combination(text, ["intercept", "x1", "x2", "log(x1)"])
    assert found.weights.tolist() == weights
    assert found.constant == constant


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x1 - x22", "there is no coefficient 'x22'; did you mean 'x2'?"),
        ("`zzz`", "there is no coefficient 'zzz'; the coefficients are intercept, x1, x2"),
        ("x1 * x2", "a product of coefficients is not linear"),
        ("1 / x2", "a divisor must be a number other than 0"),
        ("x1 / 0", "a divisor must be a number other than 0"),
        ("(x1 - x2", r"a \) is missing at position 8"),
        ("x1 -", "it ends too early"),
        ("x1 ! x2", "'!' is not expected at position 3"),
        ("1 = 2", "it has no coefficient"),
        ("__import__('os')", "there is no coefficient '__import__'"),
    ],
)
def test_other_expressions_are_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"contrast .*: {words}"):
        parse_combination(text, ["intercept", "x1", "x2"])


@pytest.mark.parametrize("kind", ["classical", "HC3"])
def test_contrasts_are_those_of_statsmodels(kind: str) -> None:
    data, x = r_data("linear"), r_design("linear")
    settings = {} if kind == "classical" else {"cov_type": kind, "use_t": True}
    theirs = sm.OLS(data["y"], sm.add_constant(x)).fit(**settings)
    model = LinearRegression(covariance=kind).fit(x, data["y"])
    for text, weights, value in (("x0 - x1", [0, 1, -1, 0, 0], 0.0), ("2 * x2 = 1", [0, 0, 0, 2, 0], 1.0)):
        expected = theirs.t_test((np.array(weights), value))
        found = model.contrast(text, 0.9)
        close(found["estimate"], expected.effect, 1e-9)
        close(found["std_error"], expected.sd.ravel(), 1e-9)
        close(found["t"], expected.tvalue.ravel(), 1e-9)
        close(found["p"], expected.pvalue, 1e-9)
        close([found["lower"], found["upper"]], expected.conf_int(0.1).T, 1e-9)
    joint = model.contrast(["x0 - x1", "x2 = 1"])
    expected = theirs.f_test((np.array([[0, 1, -1, 0, 0], [0, 0, 0, 1, 0]]), np.array([0.0, 1.0])))
    close(joint.details["test"]["statistic"], expected.statistic, 1e-9)
    close(joint.details["test"]["p"], expected.pvalue, 1e-9)
    assert "all together: F(2, 55)" in str(joint)
    assert json.loads(json.dumps(joint.to_dict()))["rows"][0]["name"] == "x0 - x1"
    assert list(joint.frame().columns) == ["estimate", "std_error", "t", "p", "lower", "upper"]
    assert '<th scope="row">x0 - x1</th>' in joint._repr_html_()


def test_contrasts_of_classes_and_of_what_is_not_determined() -> None:
    x, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    model = SoftmaxRegression().fit(x, y)
    fit = model.summary().inference
    assert model.contrast("0: x0 - 1: x0")["estimate"] == pytest.approx(fit.estimate[1] - fit.estimate[4])
    with pytest.warns(UserWarning, match="x2 = a combination of x0"):
        twice = LinearRegression().fit(np.column_stack([x, x[:, 0]]), y)
    assert np.isfinite(twice.contrast("x1")["p"])
    with pytest.raises(ValueError, match="the coefficient x0 is not identified"):
        twice.contrast("x0")


# Profile likelihood.


@every_glm
def test_profile_intervals_are_those_of_mass(case: tuple[str, str]) -> None:
    """MASS interpolates its profile: about 4 digits."""
    model, theirs, rows = fitted(case)
    found = model.confint(method="profile", **rows)
    error = np.array(theirs["se"])
    np.testing.assert_array_less(np.abs(found["lower"] - theirs["profile"]["lower"]) / error, 2e-3)
    np.testing.assert_array_less(np.abs(found["upper"] - theirs["profile"]["upper"]) / error, 2e-3)
    wald = model.confint()
    law = stats.norm if theirs["dispersion"] == 1 else stats.t(theirs["df_residual"])
    close(wald["upper"], np.array(theirs["coefficients"]) + law.isf(0.025) * error)


@pytest.mark.parametrize("place", [0, 2])
def test_the_deviance_at_the_end_of_a_profile_interval_is_the_quantile(place: int) -> None:
    model, theirs, rows = fitted(("binomial", "logit"))
    low, high = np.asarray(model.confint(0.9, "profile", **rows))[place]
    design = sm.add_constant(rows["X"])
    for end in (low, high):
        others = sm.GLM(
            rows["y"], np.delete(design, place, axis=1), sm.families.Binomial(), offset=end * design[:, place]
        )
        deviance = others.fit(tol=1e-14).deviance
        assert deviance - theirs["deviance"] == pytest.approx(stats.chi2.isf(0.1, 1), rel=1e-7)


def test_profiles_of_rows_in_parts_far_from_zero_and_of_several_classes() -> None:
    model, _, rows = fitted(("poisson", "log"))
    expected = np.asarray(model.confint(method="profile", **rows))

    def stream() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        yield from ((rows["X"][part], rows["y"][part]) for part in (np.s_[:40], np.s_[40:]))

    close(model.confint(method="profile", X=stream), expected)
    far = rows["X"] + np.array([1e5, 0, 0, 0])
    again = PoissonRegressor(tol=1e-12).fit(far, rows["y"]).confint(method="profile", X=far, y=rows["y"])
    close(np.asarray(again)[1:], expected[1:], 1e-5)
    choices = r_data("choices")
    some = {"X": r_design("choices", "x1 x2"), "y": choices["choice"]}
    three = SoftmaxRegression(tol=1e-12).fit(**some)
    profile, wald = (np.asarray(three.confint(**more)) for more in ({"method": "profile", **some}, {}))
    assert np.abs(profile - wald).max() < 0.3 * (wald[:, 1] - wald[:, 0]).max()
    assert (profile[:, 0] < three.summary().inference.estimate).all()


def test_firths_profile_is_finite_where_classes_are_separated() -> None:
    """At its ends the penalised likelihood, maximised by another program, has fallen by the quantile."""
    data = r_data("separated")
    x, y = np.column_stack([data["x1"], data["x2"]]), data["y"]
    model = LogisticRegression(bias_reduction=True, tol=1e-12).fit(x, y)
    found = np.asarray(model.confint(method="profile", X=x, y=y))
    design = np.column_stack([np.ones(len(y)), x])

    def penalised(theta: np.ndarray) -> float:
        z = design @ theta
        p = 1 / (1 + np.exp(-z))
        value = (y * z - np.logaddexp(0, z)).sum()
        return -float(value + np.linalg.slogdet(design.T @ (design * (p * (1 - p))[:, None]))[1] / 2)

    options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 5000}
    best = minimize(penalised, np.zeros(3), method="Nelder-Mead", options=options)
    for place in (1,):
        for end in found[place]:
            others = minimize(
                lambda rest, place=place, end=end: penalised(np.insert(rest, place, end)),
                np.zeros(2),
                method="Nelder-Mead",
                options=options,
            )
            assert 2 * (others.fun - best.fun) == pytest.approx(stats.chi2.isf(0.05, 1), rel=1e-6)


def test_firths_profile_is_of_the_rows_of_the_fit() -> None:
    x = np.random.default_rng(0).normal(size=(40, 1))
    y = np.arange(40) % 2
    model = LogisticRegression(bias_reduction=True).fit(x, y)
    assert "the coefficients are Firth's" in str(model.summary())
    with pytest.raises(ValueError, match="needs the rows of the fit, and theta is not the optimum of these rows"):
        model.confint(method="profile", X=x[::-1], y=y)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_a_ridge_is_part_of_the_profile(family: str) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(50, 2)), rng.integers(0, 2, 50)
    model = GLM(family, l2=5.0, tol=1e-12).fit(x, y)
    mean = np.exp if family == "poisson" else (lambda z: np.log1p(np.exp(z)))

    def value(theta: np.ndarray) -> float:
        z = theta[0] + x @ theta[1:]
        return float(np.sum(mean(z) - y * z) + 2.5 * theta[1:] @ theta[1:])

    low, high = np.asarray(model.confint(method="profile", X=x, y=y))[1]
    for end in (low, high):
        held = minimize(lambda rest, end=end: value(np.array([rest[0], end, rest[1]])), np.zeros(2), tol=1e-10).fun
        close(2 * (held - value(model.theta_[:, 0])), stats.chi2.isf(0.05, 1), 1e-5)


def test_a_stream_brings_offsets_to_a_profile() -> None:
    rng = np.random.default_rng(2)
    x, y, hours = rng.normal(size=(60, 1)), rng.poisson(2, 60), rng.uniform(1, 3, 60)
    model = PoissonRegressor().fit(x, y, exposure=hours)

    def batches() -> Iterator[dict[str, Any]]:
        for start in range(0, 60, 25):
            here = slice(start, start + 25)
            yield {"X": x[here], "y": y[here], "exposure": hours[here]}

    whole = model.confint(method="profile", X=x, y=y, exposure=hours)
    close(np.asarray(model.confint(method="profile", X=batches)), np.asarray(whole), 1e-6)


def test_profiles_of_least_squares_are_classical() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    robust = LinearRegression(covariance="HC3").fit(x, y).confint(method="profile")
    close(np.asarray(robust), np.asarray(LinearRegression().fit(x, y).confint()))


def test_a_likelihood_that_never_falls_has_an_infinite_end() -> None:
    x = np.column_stack([np.tile([0.0, 1.0], 6), np.arange(12) == 0]).astype(float)
    y = np.array([1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0], dtype=float)  # the one row of x1 = 1 is a success
    with pytest.warns(SeparationWarning, match="x1 separates"):
        model = GLM("binomial").fit(x, y)
    low, high = np.asarray(model.confint(method="profile", X=x, y=y))[2]
    assert np.isfinite(low)
    assert high == np.inf


def test_a_profile_needs_the_rows_of_the_fit() -> None:
    model, _, rows = fitted(("poisson", "log"))
    with pytest.raises(ValueError, match="needs the rows of the fit, which a model does not keep: give X and y again"):
        model.confint(method="profile")
    with pytest.raises(ValueError, match="theta is not the optimum of these rows"):
        model.confint(method="profile", X=rows["X"][:50], y=rows["y"][:50])
    with pytest.raises(ValueError, match="X has 2 features, but PoissonRegressor is expecting 4"):
        model.confint(method="profile", X=rows["X"][:, :2], y=rows["y"])
    with pytest.raises(ValueError, match="method must be 'wald' or 'profile'; got 'bootstrap'"):
        model.confint(method="bootstrap")


# Analysis of variance and deviance.


@pytest.mark.parametrize("case", ["full", "weighted"])
def test_anova_of_least_squares_is_that_of_r(case: str) -> None:
    data, x = r_data("linear"), r_design("linear")
    weights = {"sample_weight": data["w"]} if case == "weighted" else {}
    theirs = r_results("linear")[case]
    small, model = (LinearRegression(weights="precision").fit(each, data["y"], **weights) for each in (x[:, :1], x))
    for kind, name in (("sequential", "anova"), ("type 2", "type_2")):
        found, expected = anova(model, terms=TERMS, kind=kind), theirs[name]
        close(found["df"], expected["Df"])
        close(found["difference"], expected["Sum Sq"])
        close(found["F"], expected["F value"])
        close(found["p"], expected["Pr(>F)"])
    found, expected = anova(small, model), theirs["anova_smaller"]
    close(found["df_residual"], expected["Res.Df"])
    close(found["deviance"], expected["RSS"])
    close(found["F"], expected["F"])
    close(found["p"], expected["Pr(>F)"])
    close(anova(small, model, test="wald")["F"], expected["F"])


def test_type_2_leaves_out_interactions_that_contain_a_term() -> None:
    theirs = r_results("linear")["interaction"]
    design, y = np.array(theirs["model_matrix"])[:, 1:], r_data("linear")["y"]
    names = [f"x{place}" for place in range(design.shape[1])]
    terms = {"x1": names[:1], "group": names[1:3], "x2": names[3:4], "x1:group": names[4:]}
    found, expected = anova(LinearRegression().fit(design, y), terms=terms, kind="type 2"), theirs["type_2"]
    close(found["difference"], expected["Sum Sq"])
    close(found["F"], expected["F value"])


@every_glm
def test_anova_of_glms_is_that_of_r(case: tuple[str, str]) -> None:
    model, theirs, rows = fitted(case)
    by_f = theirs["dispersion"] != 1
    found = anova(model, terms=TERMS, **rows)
    close(found["difference"][:3], theirs["anova"]["Deviance"][1:])
    close(found["p"][:3], theirs["anova"]["Pr(>F)" if by_f else "Pr(>Chi)"][1:])
    found = anova(model, terms=TERMS, kind="type 2", **rows)
    close(found["F" if by_f else "chi2"][:3], theirs["type_2"]["F value" if by_f else "LR Chisq"][:3])
    small = type(model)(**model.get_params()).fit(rows["X"][:, :2], rows["y"])
    compared = anova(small, model)
    close(compared["difference"][1], theirs["anova"]["Deviance"][3])
    close(compared["p"][1], theirs["anova"]["Pr(>F)" if by_f else "Pr(>Chi)"][3])


def test_models_with_their_own_theta_are_compared_by_likelihoods() -> None:
    found = r_results("negative_binomial")
    X, y = r_design(found["data"]), r_data(found["data"])["y"]
    small = GLM("negative_binomial", tol=1e-11).fit(X[:, :0], y)
    table = anova(small, GLM("negative_binomial", tol=1e-11).fit(X, y))
    ratio = found["log"]["two_loglik"] - found["mean_only"]["two_loglik"]
    close(table["chi2"][1], ratio, 1e-5)
    close(table["p"][1], stats.chi2.sf(ratio, X.shape[1]), 1e-4)
    assert "theta was estimated for each model" in str(table)


def test_tables_say_where_they_do_not_use_a_robust_covariance() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = LinearRegression(covariance="HC3").fit(x, y)
    assert "deviances do not know the HC3 covariance: test='wald' uses it" in str(anova(model))
    assert anova(model, test="wald", kind="type 2").notes == ()


def test_an_exact_fit_has_no_tests() -> None:
    x = np.random.default_rng(5).normal(size=(30, 2))
    for y in (np.full(30, 3.0), x @ [1.0, 2.0]):
        model = LinearRegression().fit(x, y)
        assert "the fit is exact but for rounding" in str(model.summary())
        assert "the fit is exact but for rounding" in str(model.contrast("x0"))
    constant = LinearRegression().fit(x, np.full(30, 3.0))
    assert np.isnan(constant.contrast("x0")["p"]).all()
    assert np.isnan(anova(constant)["p"]).all()


def test_few_groups_have_no_test_of_many_coefficients() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    model = LinearRegression(covariance="clustered").fit(x, y, groups=np.arange(60) % 3)
    assert model.summary().inference.f_test is None
    assert np.isnan(model.contrast(["x0", "x1", "x2"]).details["test"]["p"])
    assert np.isfinite(model.contrast("x0")["p"]).all()


def test_wald_and_score_tests_are_those_of_statsmodels() -> None:
    model, _, rows = fitted(("poisson", "log"))
    small = PoissonRegressor(tol=1e-12).fit(rows["X"][:, :2], rows["y"])
    design = sm.add_constant(rows["X"])
    theirs = sm.GLM(rows["y"], design, sm.families.Poisson()).fit(tol=1e-14)
    wald = anova(small, model, test="wald")
    close(wald["chi2"][1], np.squeeze(theirs.wald_test(np.eye(5)[3:], scalar=True).statistic))
    smaller = sm.GLM(rows["y"], design[:, :3], sm.families.Poisson()).fit(tol=1e-14)
    score = anova(small, model, test="score", **rows)
    statistic, p = smaller.score_test(exog_extra=design[:, 3:])[:2]
    close([score["chi2"][1], score["p"][1]], np.ravel([statistic, p]))
    term = anova(model, terms=TERMS, kind="type 2", test="wald")
    close(term["chi2"][2], wald["chi2"][1])
    assert "1: intercept + x0 + x1" in str(score)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m, s, rows: anova(), "anova needs a fitted model"),
        (lambda m, s, rows: anova(m, s), "the smaller model comes first"),
        (lambda m, s, rows: anova(s, m, test="t"), "test must be one of auto, lr, f, wald, score; got 't'"),
        (lambda m, s, rows: anova(m, kind="type 3", **rows), "kind must be 'sequential' or 'type 2'; got 'type 3'"),
        (lambda m, s, rows: anova(m), "anova needs the rows of the fit"),
        (lambda m, s, rows: anova(m, terms={"a": ["x9"]}, **rows), "term 'a': there is no coefficient 'x9'; did you"),
        (
            lambda m, s, rows: anova(m, terms={"a": ["x1"]}, **rows),
            "every coefficient must belong to one term; 'x0' belongs to 0",
        ),
        (lambda m, s, rows: anova(m, test="score", **rows), "test='score' is for two models or more"),
        (lambda m, s, rows: anova(m, test="wald", **rows), "give kind='type 2'"),
        (lambda m, s, rows: anova(GLM("gamma", "log").fit(rows["X"][:, :1], rows["y"] + 1), m), "one family and link"),
        (
            lambda m, s, rows: anova(PoissonRegressor().fit(rows["X"][:90, :1], rows["y"][:90]), m),
            "models of the same rows are compared; these have 90 and 100 rows",
        ),
        (
            lambda m, s, rows: anova(PoissonRegressor(alpha=1.0).fit(**rows)),
            "deviances of penalised fits do not give a test",
        ),
        (lambda m, s, rows: anova("model"), "anova is for fitted regressions; got 'model'"),
        (
            lambda m, s, rows: anova(m, exposre=3, **rows),
            "anova has no argument 'exposre'; rows have",
        ),
        (lambda m, s, rows: m.confint(exposre=3), "confint has no argument 'exposre'"),
        (lambda m, s, rows: m.contrast(5), "contrasts are a string such as 'x1 - x2', or a list of them; got 5"),
        (
            lambda m, s, rows: anova(PoissonRegressor(weights="sampling").fit(**rows, sample_weight=WEIGHTED), **rows),
            "deviances under weights='sampling' are no test, as they grow with the weights",
        ),
        (
            lambda m, s, rows: (
                PoissonRegressor(weights="sampling")
                .fit(**rows, sample_weight=WEIGHTED)
                .confint(method="profile", **rows, sample_weight=WEIGHTED)
            ),
            "there is no profile likelihood under weights='sampling'",
        ),
    ],
)
def test_what_is_no_comparison_is_refused(ask: Any, words: str) -> None:
    model, _, rows = fitted(("poisson", "log"))
    small = PoissonRegressor().fit(rows["X"][:, :2], rows["y"])
    with pytest.raises((ValueError, TypeError), match=words):
        ask(model, small, rows)


def test_a_beta_regression_has_profiles_and_likelihood_ratios() -> None:
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(80, 2)), np.clip(rng.beta(2.0, 3.0, 80), 0.01, 0.99)
    large, small = (GLM("beta", tol=1e-10).fit(x[:, :width], y) for width in (2, 1))
    design = sm.add_constant(x)
    theirs = [BetaModel(y, design[:, :width]).fit(disp=0).llf for width in (3, 2)]
    table = anova(small, large)
    close(table["chi2"][1], 2 * (theirs[0] - theirs[1]), 1e-4)
    close(anova(large, X=x, y=y)["p"][1], table["p"][1], 1e-5)
    close(anova(large, X=x, y=y)["df"], [1, 1, 76])
    low, high = np.asarray(large.confint(method="profile", X=x, y=y))[2]
    wald = np.asarray(large.confint())[2]
    assert abs(low - wald[0]) + abs(high - wald[1]) < 0.1 * (wald[1] - wald[0])


def test_classes_treated_alike_by_a_penalty_have_no_profile() -> None:
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    model = LogisticRegression(C=1.0).fit(x, y)
    with pytest.raises(ValueError, match="of more than two classes with a penalty are not available"):
        model.confint(method="profile", X=x, y=y)
    softmax = SoftmaxRegression(C=1.0).fit(x, y)
    wald, found = np.asarray(softmax.confint()), np.asarray(softmax.confint(method="profile", X=x, y=y))
    np.testing.assert_allclose(found, wald, atol=0.1)


def test_columns_of_arrays_are_compared_by_position_with_a_note() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.poisson(2, 40)
    note = "columns without names were compared by position: model 2 must have all columns of model 1"
    assert note in anova(PoissonRegressor().fit(x[:, :1], y), PoissonRegressor().fit(x, y)).notes
    line = LinearRegression().fit(x, y)
    assert note in anova(LinearRegression().fit(x[:, 1:2], y), line).notes
    assert anova(LinearRegression().fit(x[:, :1], y), line).notes == ()  # the sums are those of the same column

"""Negative binomial regression with an estimated theta, against MASS::glm.nb of R and statsmodels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.exceptions import ConvergenceWarning

import suffice
from suffice import GLM, FamilyNB
from suffice.families import NegativeBinomial
from tests.references import r_data, r_design, r_results

ROWS = r_data("counts")
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "log": ("x1 x2 group", "log", {}),
    "offset": ("x1 x2 group", "log", {"exposure": ROWS["exposure"]}),
    "weighted": ("x1 x2 group", "log", {"sample_weight": ROWS["w"]}),
    "sqrt": ("x1 x2", "sqrt", {}),
}


@pytest.mark.parametrize("name", CASES)
def test_estimates_are_those_of_glm_nb(name: str) -> None:
    terms, link, more = CASES[name]
    expected = r_results("negative_binomial")[name]
    model = GLM(NegativeBinomial(), link).fit(r_design("counts", terms), ROWS["y"], **more)
    found = model.summary().inference
    np.testing.assert_allclose([model.intercept_, *model.coef_], expected["coefficients"], rtol=1e-7)
    np.testing.assert_allclose(found.standard_errors, expected["se"], rtol=1e-6)
    assert model.family_.theta == pytest.approx(expected["theta"], rel=1e-6)
    assert model.family_error_ == pytest.approx(expected["theta_se"], rel=1e-4)
    assert found.deviance == pytest.approx(expected["deviance"], rel=1e-6)
    assert found.log_likelihood == pytest.approx(expected["loglik"], rel=1e-10)
    assert found.aic == pytest.approx(expected["aic"], rel=1e-10)
    assert found.df_residual == expected["df_residual"] or name == "weighted"  # weights count rows here


def test_estimates_are_those_of_statsmodels() -> None:
    X, y = r_design("counts"), ROWS["y"]
    other = sm.NegativeBinomial(y, sm.add_constant(X)).fit(disp=0, method="newton", maxiter=200, tol=1e-12)
    model = GLM("negative_binomial").fit(X, y)
    np.testing.assert_allclose([model.intercept_, *model.coef_], other.params[:-1], rtol=1e-6)
    assert 1 / model.family_.theta == pytest.approx(other.params[-1], rel=1e-6)
    assert model.facts_.log_likelihood == pytest.approx(other.llf, rel=1e-10)


def test_a_known_theta_is_not_estimated() -> None:
    expected = r_results("negative_binomial")["known"]
    model = GLM(NegativeBinomial(2)).fit(r_design("counts"), ROWS["y"])
    np.testing.assert_allclose([model.intercept_, *model.coef_], expected["coefficients"], rtol=1e-7)
    assert not hasattr(model, "family_")
    errors = model.summary().inference.standard_errors * np.sqrt(expected["dispersion"])
    np.testing.assert_allclose(errors, expected["se"], rtol=1e-6)


def test_the_estimate_maximises_the_likelihood() -> None:
    X, y = r_design("counts"), ROWS["y"]
    best = GLM(NegativeBinomial()).fit(X, y)
    for factor in (0.99, 1.01):
        other = GLM(NegativeBinomial(factor * best.family_.theta)).fit(X, y)
        assert other.facts_.log_likelihood < best.facts_.log_likelihood


def test_streams_clusters_and_files_give_the_same_theta(tmp_path: Path) -> None:
    X, y = r_design("counts"), ROWS["y"]
    here = GLM(NegativeBinomial()).fit(X, y)
    stream = GLM(NegativeBinomial()).fit(lambda: ((X[i : i + 30], y[i : i + 30]) for i in range(0, 100, 30)))
    there = GLM(NegativeBinomial()).fit(da.from_array(X, chunks=(40, 4)), da.from_array(y, chunks=40))
    for other in (stream, there):
        assert other.family_.theta == pytest.approx(here.family_.theta, rel=1e-7)
        np.testing.assert_allclose(other.coef_, here.coef_, rtol=1e-7)
    here.save(tmp_path / "counts.model")
    loaded = suffice.load(tmp_path / "counts.model")
    assert loaded.family_ == here.family_
    assert loaded.family_error_ == here.family_error_
    assert str(loaded.summary()) == str(here.summary())
    assert loaded.score(X, y) == here.score(X, y)


def test_another_fit_starts_anew() -> None:
    X, y = r_design("counts"), ROWS["y"]
    model = GLM(NegativeBinomial()).fit(X, y)
    first = model.family_.theta
    assert model.fit(X[::2], y[::2]).family_.theta != first
    assert model.fit(X, y).family_.theta == first


def test_counts_that_are_not_overdispersed_have_no_theta() -> None:
    y = np.tile([2.0, 3.0], 20)
    with pytest.raises(ValueError, match="no finite estimate: the counts vary no more than those of a Poisson"):
        GLM("negative_binomial").fit(np.arange(40.0)[:, None] % 7, y)


def test_what_cannot_estimate_theta_says_so() -> None:
    X, y = r_design("counts"), ROWS["y"]
    with pytest.raises(ValueError, match=r"partial_fit does not estimate theta: use fit, or give NegativeBinomial\("):
        GLM(NegativeBinomial()).partial_fit(X, y)
    with pytest.raises(ValueError, match="path does not estimate theta"):
        GLM(NegativeBinomial()).path(X, y)
    with pytest.raises(ValueError, match="the canonical link depends on theta, which is unknown"):
        GLM(NegativeBinomial(), "canonical").fit(X, y)
    with pytest.raises(ValueError, match=r"naive Bayes does not estimate theta of NegativeBinomial\(theta=None\)"):
        FamilyNB(NegativeBinomial()).fit(X, y > 3)


def test_a_theta_that_did_not_settle_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match="GLM did not converge|theta of the negative binomial") as told:
        GLM(NegativeBinomial(), max_iter=2, solver="newton").fit(r_design("counts"), ROWS["y"])
    assert any("theta of the negative binomial did not converge in 2 rounds" in str(each.message) for each in told)

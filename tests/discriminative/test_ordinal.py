"""Ordinal regression, against MASS::polr of R and statsmodels' OrderedModel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks
from statsmodels.miscmodels.ordinal_model import OrderedModel

import suffice
from suffice import LogisticRegression, OrdinalRegression
from suffice.data import EncodedDataset
from suffice.discriminative.base import CollinearityWarning
from suffice.discriminative.ordinal import OrdinalLikelihood
from suffice.discriminative.separation import SeparationWarning
from suffice.kernels import Batch
from tests.references import r_data, r_design, r_results

ROWS, X = r_data("choices"), r_design("choices")
Y, ORDER = ROWS["rating"], ["bad", "fair", "good", "great"]
NEW = np.array([[-1.5, 0.2, 0, 0], [0.0, -1.0, 1, 0], [0.7, 2.0, 0, 1]])
LINKS = ["logit", "probit", "cloglog"]
#: Where the model differs from scikit-learn's conventions, and why.
DIFFERENT = {
    "check_estimators_empty_data_messages": "rows without columns are a model of thresholds alone",
    "check_classifiers_classes": "text has no order of its own: it must be given",
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # their rows are often separated
@parametrize_with_checks([OrdinalRegression()], expected_failed_checks=lambda _: DIFFERENT)
def test_estimators_pass_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", [*LINKS, "weighted"])
def test_estimates_are_those_of_polr(name: str) -> None:
    expected = r_results("choices")["polr"][name]
    model = OrdinalRegression("logit" if name == "weighted" else name, order=ORDER)
    model.fit(X, Y, ROWS["w"] if name == "weighted" else None)
    fit = model.summary().inference
    np.testing.assert_allclose(model.coef_, expected["coefficients"], atol=1e-6)
    np.testing.assert_allclose(model.thresholds_, expected["thresholds"], atol=1e-6)
    np.testing.assert_allclose(fit.standard_errors, expected["se"], rtol=1e-5)
    assert fit.names[4:] == tuple(expected["threshold_names"])
    assert fit.deviance == pytest.approx(expected["deviance"], rel=1e-10)
    assert fit.log_likelihood == pytest.approx(expected["loglik"], rel=1e-10)
    assert fit.aic == pytest.approx(expected["aic"], rel=1e-10)
    np.testing.assert_allclose(model.predict_proba(NEW), expected["probabilities"], atol=1e-6)
    np.testing.assert_array_equal(model.predict(NEW), expected["classes"])


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_estimates_are_those_of_statsmodels(link: str) -> None:
    codes = np.array([ORDER.index(name) for name in Y])
    other = OrderedModel(codes, X, distr=link).fit(method="newton", disp=0, maxiter=200)
    model = OrdinalRegression(link).fit(X, codes)
    np.testing.assert_allclose(model.coef_, other.params[:4], atol=1e-6)
    np.testing.assert_allclose(model.thresholds_, np.cumsum([other.params[4], *np.exp(other.params[5:])]), atol=1e-6)
    np.testing.assert_allclose(model.summary().inference.standard_errors[:4], other.bse[:4], rtol=1e-4)


def test_two_classes_are_logistic_regression() -> None:
    y = (Y == "great").astype(int)
    model, other = OrdinalRegression().fit(X, y), LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_[0], rtol=1e-6)
    np.testing.assert_allclose(-model.thresholds_, other.intercept_, rtol=1e-6)
    np.testing.assert_allclose(model.linear_predictor(X), other.decision_function(X) - other.intercept_, atol=1e-6)
    assert model.summary().inference.null_log_likelihood == pytest.approx(other.facts_.null_log_likelihood, rel=1e-10)


@pytest.mark.parametrize("link", LINKS)
def test_gradient_and_hessian_are_derivatives_of_the_value(link: str) -> None:
    codes = np.array([ORDER.index(name) for name in Y])
    rows = Batch(X, codes, ROWS["w"], 0.1 * X[:, 0])
    objective = OrdinalLikelihood(EncodedDataset.of_batch(rows), link, 4, l2=0.7)
    theta = np.array([0.3, -0.2, 0.5, 0.1, -1.0, 0.2, 1.4])[:, None]
    found, h = objective.value_gradient_hessian(theta), 1e-5
    np.testing.assert_allclose(objective.value_gradient(theta).gradient, found.gradient)
    for place, unit in enumerate(np.eye(7)):
        after, before = (objective.value_gradient(theta + step * unit[:, None]) for step in (h, -h))
        assert found.gradient[place, 0] == pytest.approx((after.value - before.value) / (2 * h), rel=1e-6, abs=1e-6)
        slope = (after.gradient - before.gradient)[:, 0] / (2 * h)
        np.testing.assert_allclose(found.hessian[:, place], slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_probabilities_far_out_add_up_to_one(link: str) -> None:
    model = OrdinalRegression(link).fit(np.arange(12.0)[:, None], [0, 0, 1, 0, 1, 2, 1, 1, 2, 2, 1, 2])
    p = model.predict_proba([[-1e5], [-30.0], [5.0], [30.0], [1e5]])
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
    assert (p >= 0).all()
    assert p[0, 0] == p[-1, -1] == 1


def test_every_form_of_rows_has_the_same_answers(tmp_path: Path) -> None:
    here = OrdinalRegression(order=ORDER).fit(X, Y, offset=X[:, 0])
    frame = pd.DataFrame(X, columns=list("abcd"))
    lazy = {"X": da.from_array(X, chunks=(40, 4)), "offset": da.from_array(X[:, 0], chunks=40)}
    others = [
        OrdinalRegression(order=ORDER).fit(sparse.csr_array(X), Y, offset=X[:, 0]),
        OrdinalRegression(order=ORDER).fit(frame, Y, offset=X[:, 0]),
        OrdinalRegression(order=ORDER).fit(y=da.from_array(Y, chunks=40), **lazy),
        OrdinalRegression(order=ORDER).fit(
            lambda: ({"X": X[i : i + 60], "y": Y[i : i + 60], "offset": X[i : i + 60, 0]} for i in (0, 60, 120))
        ),
    ]
    here.save(tmp_path / "rating.model")
    for other in (*others, suffice.load(tmp_path / "rating.model")):
        np.testing.assert_allclose(other.coef_, here.coef_, rtol=1e-7)
        np.testing.assert_allclose(other.thresholds_, here.thresholds_, rtol=1e-7)
        np.testing.assert_allclose(np.asarray(other.covariance_), np.asarray(here.covariance_), rtol=1e-6)
        np.testing.assert_array_equal(other.classes_, ORDER)
    assert str(suffice.load(tmp_path / "rating.model").summary()) == str(here.summary())
    answer = here.predict(da.from_array(NEW, chunks=(2, 4)))
    np.testing.assert_array_equal(answer.compute(), here.predict(NEW))


def test_the_order_is_that_of_numbers_of_a_category_or_given() -> None:
    codes = np.array([ORDER.index(name) for name in Y])
    plain = OrdinalRegression().fit(X, 10.0 * codes)
    assert plain.classes_.tolist() == [0.0, 10.0, 20.0, 30.0]
    category = pd.Series(pd.Categorical(Y, categories=ORDER, ordered=True))
    by_category = OrdinalRegression().fit(X, category)
    assert by_category.classes_.tolist() == ORDER
    np.testing.assert_allclose(by_category.coef_, plain.coef_, rtol=1e-9)
    backwards = OrdinalRegression(order=ORDER[::-1]).fit(X, Y)
    np.testing.assert_allclose(backwards.coef_, -plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(backwards.thresholds_, -plain.thresholds_[::-1], rtol=1e-6)


def test_columns_far_from_zero_keep_their_digits() -> None:
    near = OrdinalRegression(order=ORDER).fit(X, Y)
    far = OrdinalRegression(order=ORDER).fit(X + 1e7, Y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6)
    np.testing.assert_allclose(far.predict_proba(X + 1e7), near.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(
        far.summary().inference.standard_errors[:4], near.summary().inference.standard_errors[:4], rtol=1e-5
    )


def test_thresholds_alone_are_quantiles_of_the_shares() -> None:
    model = OrdinalRegression(order=ORDER).fit(np.empty((150, 0)), Y)
    shares = np.cumsum([(name == Y).mean() for name in ORDER])[:-1]
    np.testing.assert_allclose(model.thresholds_, np.log(shares / (1 - shares)), rtol=1e-9)
    fit = model.summary().inference
    assert fit.log_likelihood == pytest.approx(fit.null_log_likelihood, rel=1e-12)


def test_a_penalty_shrinks_the_coefficients() -> None:
    free, held = (OrdinalRegression(order=ORDER, l2=l2).fit(X, Y) for l2 in (0.0, 50.0))
    assert np.abs(held.coef_).max() < np.abs(free.coef_).max() / 2
    assert "posterior under a Gaussian prior" in str(held.summary())


def test_separated_classes_are_told() -> None:
    x = np.arange(9.0)[:, None]
    with pytest.warns(SeparationWarning, match="the classes are separated, or nearly") as told:
        OrdinalRegression().fit(x, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert len(told) >= 1
    assert np.isfinite(OrdinalRegression(l2=1.0).fit(x, [0, 0, 0, 1, 1, 1, 2, 2, 2]).coef_).all()


def test_columns_that_depend_on_others_are_named() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 0] - X[:, 1], "one": 1.0})
    with pytest.warns(CollinearityWarning, match="c = a combination of a, b; one is constant"):
        model = OrdinalRegression(order=ORDER).fit(frame, Y)
    plain = OrdinalRegression(order=ORDER).fit(frame[["a", "b"]], Y)
    np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(frame[["a", "b"]]), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "y", "message"),
    [
        ({}, Y, r"y holds text, \['bad', 'fair', .* whose order is unknown: give order="),
        ({"order": ["bad", "good"]}, Y, r"y holds 'fair', which is not in order=\['bad', 'good'\]"),
        ({"order": [*ORDER, "best"]}, Y, "there are no rows of the class 'best' with a weight above 0"),
        ({"order": ["bad", "bad"]}, Y, "order must name 2 different classes or more, each once"),
        ({"link": "log"}, Y, "link must be one of logit, probit, cloglog; got 'log'"),
        ({"l2": -1.0}, Y, "l2 must be a finite number, 0 or more; got -1.0"),
        ({"max_iter": 0}, Y, "max_iter must be a whole number, 1 or more; got 0"),
        ({}, np.zeros(150), "y has one class, 0.0"),
    ],
)
def test_bad_input_is_refused(settings: dict[str, Any], y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OrdinalRegression(**settings).fit(X, y)


def test_a_summary_of_changed_coefficients_is_refused() -> None:
    model = OrdinalRegression(order=ORDER).fit(X, Y)
    model.coef_ = model.coef_ + 1
    with pytest.raises(ValueError, match="coef_ or thresholds_ was changed after the fit"):
        model.summary()


def test_intervals_and_contrasts_follow_the_covariance() -> None:
    model = OrdinalRegression(order=ORDER).fit(X, Y)
    errors, covariance = model.summary().inference.standard_errors, model.covariance_
    np.testing.assert_allclose(model.confint(0.9)["upper"][:4], model.coef_ + 1.6448536269514722 * errors[:4])
    found = model.contrast(["x0 + x1", "`fair|good` - `bad|fair`"])
    np.testing.assert_allclose(found["estimate"], [model.coef_[:2].sum(), np.diff(model.thresholds_)[0]])
    expected = covariance["x0", "x0"] + covariance["x1", "x1"] + 2 * covariance["x0", "x1"]
    assert found["std_error"][0] == pytest.approx(np.sqrt(expected))


def test_weights_that_do_not_count_rows_are_mentioned() -> None:
    x, y = np.random.default_rng(0).normal(size=(40, 1)), np.arange(40) % 3
    relative = OrdinalRegression().fit(x, y, np.full(40, 1 / 40))
    assert "sum to 1, for 3 parameters; sample_weight counts rows" in str(relative.summary())
    assert "rest on weights that sum to 50.5" in str(OrdinalRegression().fit(x, y, np.full(40, 50.5 / 40)).summary())
    assert "weights" not in str(OrdinalRegression().fit(x, y).summary())

"""Beside scikit-learn's classes of the same name: same parameters, same attributes, same probabilities."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn import naive_bayes
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import GDA, BernoulliNB, CategoricalNB, ComplementNB, FamilyNB, GaussianNB, MultinomialNB, PoissonNB
from suffice.families import GaussianKnownVariance
from suffice.statistics import LostDigitsError

DROP_IN = ["GaussianNB", "MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB"]
DIGITS, DIGIT = load_digits(return_X_y=True)

#: What a plain GDA does otherwise than these checks expect. With shrinkage and missing="em" all of them pass.
OTHERWISE = {
    "check_estimators_nan_inf": "missing cells are integrated out at prediction",
}


def otherwise(model: GDA) -> dict[str, str]:
    """Return which checks a discriminant does not pass, and why."""
    if model.missing is None:
        return OTHERWISE
    if model.covariance == "tied":
        return {}
    alone = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(alone, "a class has one row, which has no covariance")


@parametrize_with_checks(
    [
        GDA(),
        GDA("full", shrinkage=0.1, missing="em"),
        GaussianNB(),
        MultinomialNB(),
        ComplementNB(),
        BernoulliNB(),
        CategoricalNB(),
        PoissonNB(),
        FamilyNB(GaussianKnownVariance),
    ],
    expected_failed_checks=lambda model: otherwise(model) if isinstance(model, GDA) else {},
)
@pytest.mark.filterwarnings("ignore:feature .* does not vary within classes")
def test_estimators_pass_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", DROP_IN)
def test_theirs_are_not_missing(name: str) -> None:
    theirs, ours = getattr(naive_bayes, name), getattr(suffice, name)
    wanted = inspect.signature(theirs.__init__).parameters
    offered = inspect.signature(ours.__init__).parameters
    for parameter, description in wanted.items():
        assert parameter in offered
        assert offered[parameter].default == description.default
    x, y = DIGITS[:500].astype(int), DIGIT[:500]
    one, two = theirs().fit(x, y), ours().fit(x, y)
    for attribute in [each for each in dir(one) if not each.startswith("__")]:
        if not attribute.startswith("_") or attribute.endswith("_"):
            assert hasattr(two, attribute), attribute


def assert_agree(one: Any, two: Any, x: Any) -> None:
    """Compare one of ours with one of theirs."""
    np.testing.assert_array_equal(one.predict(x), two.predict(x))
    for method in ("predict_joint_log_proba", "predict_log_proba", "predict_proba"):
        np.testing.assert_allclose(getattr(one, method)(x), getattr(two, method)(x), rtol=1e-10, atol=1e-10)


SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("GaussianNB", {}),
    ("GaussianNB", {"var_smoothing": 0.0}),
    ("GaussianNB", {"priors": [0.2, 0.3, 0.5]}),
    ("MultinomialNB", {}),
    ("MultinomialNB", {"alpha": 0.01, "fit_prior": False}),
    ("MultinomialNB", {"alpha": np.linspace(0.1, 2, 4), "class_prior": [0.2, 0.3, 0.5]}),
    ("ComplementNB", {}),
    ("ComplementNB", {"norm": True, "alpha": 0.3}),
    ("BernoulliNB", {}),
    ("BernoulliNB", {"binarize": 1.5, "alpha": 0.5}),
    ("CategoricalNB", {}),
    ("CategoricalNB", {"alpha": 0.2, "min_categories": 9, "fit_prior": False}),
]


@pytest.mark.parametrize(("name", "settings"), SETTINGS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_same_parameters_and_probabilities(name: str, settings: dict[str, Any], weighted: bool) -> None:
    if name == "GaussianNB":
        x, y = load_iris(return_X_y=True)
    else:
        random = np.random.default_rng(0)
        y = random.integers(0, 3, 200)
        x = random.poisson(np.array([[3, 1, 0.2, 1], [0.5, 2, 1, 1], [1, 0.1, 3, 1]])[y])
    weight = np.random.default_rng(1).random(len(y)) + 0.5 if weighted else None
    if weighted and settings.get("var_smoothing", 1) != 0.0 and name == "GaussianNB":
        pytest.skip("theirs takes the scale of smoothing from unweighted rows")
    one = getattr(suffice, name)(**settings).fit(x, y, sample_weight=weight)
    two = getattr(naive_bayes, name)(**settings).fit(x, y, sample_weight=weight)
    assert_agree(one, two, x)
    for attribute in [each for each in vars(two) if each.endswith("_")]:
        ours, theirs = getattr(one, attribute), getattr(two, attribute)
        if attribute == "epsilon_":
            ours = ours.max()
        if isinstance(theirs, list):
            for mine, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(mine, other, rtol=1e-10, atol=1e-12)
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
    if name in ("MultinomialNB", "ComplementNB", "BernoulliNB"):
        again = getattr(suffice, name)(**settings).fit(sp.csr_matrix(x), y, sample_weight=weight)
        assert_agree(again, two, sp.csc_matrix(x))


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "ComplementNB", "GaussianNB"])
def test_same_on_digits(name: str) -> None:
    x = DIGITS if name != "GaussianNB" else DIGITS + np.random.default_rng(0).normal(size=DIGITS.shape)
    one, two = getattr(suffice, name)().fit(x, DIGIT), getattr(naive_bayes, name)().fit(x, DIGIT)
    assert_agree(one, two, x)


@pytest.mark.parametrize("data", [load_iris, load_wine, load_breast_cancer], ids=lambda load: load.__name__)
def test_tied_covariance_is_linear_discriminant_analysis(data: Any) -> None:
    x, y = data(return_X_y=True)
    one = GDA().fit(x, y)
    two = LinearDiscriminantAnalysis(solver="lsqr", store_covariance=True).fit(x, y)
    np.testing.assert_allclose(one.predict_proba(x), two.predict_proba(x), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(one.means_, two.means_, rtol=1e-10)
    np.testing.assert_allclose(one.covariance_, two.covariance_, rtol=1e-9, atol=1e-12)


def test_full_covariance_is_the_sum_of_log_densities() -> None:
    from scipy.stats import multivariate_normal

    x, y = load_wine(return_X_y=True)
    x = StandardScaler().fit_transform(x)
    model = GDA("full").fit(x, y)
    expected = np.stack(
        [
            np.log(np.mean(y == k)) + multivariate_normal(x[y == k].mean(0), np.cov(x[y == k].T, bias=True)).logpdf(x)
            for k in range(3)
        ],
        axis=1,
    )
    np.testing.assert_allclose(model.predict_joint_log_proba(x), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["tied", "full"])
def test_shrinkage_is_scikit_learns(kind: str) -> None:
    from sklearn.covariance import oas

    x, y = load_wine(return_X_y=True)
    model = GDA(kind, shrinkage="oas").fit(x, y)
    if kind == "full":
        expected = [oas(x[y == k])[1] for k in range(3)]
    else:
        expected = oas(x - model.means_[y], assume_centered=True)[1]
    np.testing.assert_allclose(model.shrinkage_, expected, rtol=1e-9)


@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
def test_automatic_shrinkage_of_one_covariance_is_scikit_learns(solver: str, priors: Any) -> None:
    x, y = load_wine(return_X_y=True)
    mine = GDA(shrinkage="auto", priors=priors).fit(x, y)
    other = LinearDiscriminantAnalysis(solver=solver, shrinkage="auto", priors=priors).fit(x, y)
    np.testing.assert_allclose(mine.covariance_, other.covariance_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mine.predict_proba(x), other.predict_proba(x), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(mine.means_, other.means_, rtol=1e-12)
    np.testing.assert_allclose(mine.priors_, other.priors_, rtol=1e-12)


@pytest.mark.needs("scikit-learn 1.9")
def test_automatic_shrinkage_of_a_covariance_per_class_is_scikit_learns() -> None:
    x, y = load_wine(return_X_y=True)
    mine = GDA("full", shrinkage="ledoit_wolf").fit(x, y)
    other = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto", store_covariance=True).fit(x, y)
    np.testing.assert_allclose(mine.covariance_, other.covariance_, rtol=1e-10)
    np.testing.assert_allclose(mine.predict_proba(x), other.predict_proba(x), rtol=1e-8, atol=1e-10)


def test_automatic_shrinkage_with_constant_features_and_more_features_than_rows_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 30)) * np.logspace(-3, 3, 30), np.repeat([0, 1], 10)
    x[y == 1, 4] = 7.0  # constant in one class
    mine = GDA(shrinkage="auto").fit(x, y)
    other = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(x, y)
    scale = np.sqrt(np.diag(other.covariance_))
    np.testing.assert_allclose(
        mine.covariance_ / np.outer(scale, scale), other.covariance_ / np.outer(scale, scale), atol=1e-12
    )
    np.testing.assert_allclose(mine.predict_proba(x), other.predict_proba(x), rtol=1e-6, atol=1e-10)


def test_automatic_shrinkage_streams_and_merges_and_refuses_to_forget() -> None:
    x, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    x, y = x[order], y[order]
    whole = GDA(shrinkage="ledoit_wolf").fit(x, y)
    stream = GDA(shrinkage="auto")
    for start in range(0, len(y), 25):
        stream.partial_fit(x[start : start + 25], y[start : start + 25])
    merged = GDA(shrinkage="auto").fit(x[:80], y[:80]) + GDA(shrinkage="auto").fit(x[80:], y[80:])
    with pytest.raises(LostDigitsError, match=r"rows cannot be taken out of QuarticMoments.*fit the remaining rows"):
        merged.forget(x[:30], y[:30])
    for model in (stream, merged):
        np.testing.assert_allclose(model.covariance_, whole.covariance_, rtol=1e-9)
        np.testing.assert_allclose(model.shrinkage_, whole.shrinkage_, rtol=1e-9)


@pytest.mark.parametrize("dataset", [load_wine, load_breast_cancer])
@pytest.mark.needs("scikit-learn 1.9")
def test_directions_and_decisions_are_scikit_learns(dataset: Any) -> None:
    x, y = dataset(return_X_y=True)
    mine, other = GDA().fit(x, y), LinearDiscriminantAnalysis().fit(x, y)
    np.testing.assert_allclose(mine.decision_function(x), other.decision_function(x), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(mine.xbar_, other.xbar_, rtol=1e-12)
    np.testing.assert_allclose(mine.explained_variance_ratio_, other.explained_variance_ratio_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(mine.scalings_), np.abs(other.scalings_), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(np.abs(mine.transform(x)), np.abs(other.transform(x)), rtol=1e-7, atol=1e-8)
    chosen = GDA(n_components=1).fit(x, y).explained_variance_ratio_
    np.testing.assert_allclose(chosen, other.explained_variance_ratio_[:1], rtol=1e-8)
    np.testing.assert_allclose(mine.coef_, other.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(mine.intercept_, other.intercept_, rtol=1e-7)
    x = StandardScaler().fit_transform(x[:, 3:8])
    quadratic = QuadraticDiscriminantAnalysis().fit(x, y).decision_function(x)
    np.testing.assert_allclose(GDA("full").fit(x, y).decision_function(x), quadratic, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("covariance", ["tied", "full", "diagonal", "tied_diagonal"])
def test_softmax_of_the_decision_is_the_posterior(covariance: str) -> None:
    x, y = load_wine(return_X_y=True)
    x = x[:, 3:8]  # EM of all columns takes hundreds of steps
    x = np.where(np.random.default_rng(0).random(x.shape) < 0.1, np.nan, x)
    model = GDA(covariance, missing="em", temperature=1.7).fit(x, y)
    np.testing.assert_allclose(softmax(model.decision_function(x), axis=1), model.predict_proba(x), rtol=1e-8)
    two = GDA(covariance, missing="em", temperature=1.7).fit(x, y == 1)
    np.testing.assert_allclose(expit(two.decision_function(x)), two.predict_proba(x)[:, 1], rtol=1e-8)


def singular_rows() -> tuple[Any, Any]:
    x, y = load_wine(return_X_y=True)
    return np.c_[x, np.full(len(x), 0.5), x[:, 0] - x[:, 1], y == 1], y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.needs("scikit-learn 1.9")
def test_directions_without_variance_are_left_out_as_scikit_learn_does(classes: int) -> None:
    x, y = singular_rows()
    x, y = x[y < classes], y[y < classes]
    other = LinearDiscriminantAnalysis().fit(x, y)
    with pytest.warns(UserWarning, match="feature 13 does not vary within classes, or is a combination of others"):
        model = GDA().fit(x, y)
    np.testing.assert_allclose(model.predict_proba(x), other.predict_proba(x), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(x), other.decision_function(x), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(model.explained_variance_ratio_, other.explained_variance_ratio_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(model.transform(x)), np.abs(other.transform(x)), rtol=1e-7, atol=1e-7)


@pytest.mark.filterwarnings("ignore:feature .* does not vary")
def test_left_out_directions_in_streams_and_draws() -> None:
    x, y = singular_rows()
    whole = GDA().fit(x, y)
    one, two = GDA().fit(x[::2], y[::2]), GDA().fit(x[1::2], y[1::2])
    np.testing.assert_allclose((one + two).predict_proba(x), whole.predict_proba(x), rtol=1e-6, atol=1e-12)
    drawn, _ = whole.sample(50, random_state=0)
    np.testing.assert_allclose(drawn[:, 13], 0.5)
    np.testing.assert_allclose(drawn[:, 14], drawn[:, 0] - drawn[:, 1], rtol=0, atol=1e-9)
    known = np.where(np.arange(x.shape[1]) == 14, np.nan, x)
    np.testing.assert_allclose(whole.predict_proba(known), whole.predict_proba(x), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(whole.transform(known), whole.transform(x), rtol=1e-6, atol=1e-6)


def test_covariances_may_be_unbiased() -> None:
    x, y = load_wine(return_X_y=True)
    each = np.stack([np.cov(x[y == k].T) for k in range(3)])
    np.testing.assert_allclose(GDA("full", unbiased=True).fit(x, y).covariance_, each, rtol=1e-9)
    pooled = sum((np.sum(y == k) - 1) * each[k] for k in range(3)) / (len(y) - 3)
    np.testing.assert_allclose(GDA(unbiased=True).fit(x, y).covariance_, pooled, rtol=1e-9)
    spreads = GDA("diagonal", unbiased=True).fit(x, y).covariance_
    np.testing.assert_allclose(spreads, np.diagonal(each, axis1=1, axis2=2), rtol=1e-9)
    np.testing.assert_allclose(GDA("tied_diagonal", unbiased=True).fit(x, y).covariance_, np.diag(pooled), rtol=1e-9)
    biased = GDA().fit(x, y)
    np.testing.assert_array_equal(
        biased.with_params(unbiased=True).covariance_, GDA(unbiased=True).fit(x, y).covariance_
    )
    with pytest.raises(ValueError, match=r"unbiased=True needs more rows than means; .* of class 2 is 0\.48"):
        GDA("full", unbiased=True).fit(x, y, sample_weight=np.where(y == 2, 0.01, 1.0))


def test_works_in_scikit_learns_machinery() -> None:
    x, y = load_iris(return_X_y=True)
    search = GridSearchCV(make_pipeline(StandardScaler(), GDA()), {"gda__shrinkage": [None, 0.1, 0.9]}).fit(x, y)
    assert search.best_score_ > 0.95
    assert cross_val_score(GaussianNB(), x, y).mean() > 0.9


def test_feature_names_and_output_containers() -> None:
    import pandas

    frame = load_iris(as_frame=True).frame
    x, y = frame.drop(columns="target"), frame["target"]
    model = GDA().fit(x, y)
    assert list(model.feature_names_in_) == list(x.columns)
    shown = model.set_output(transform="pandas").transform(x)
    assert isinstance(shown, pandas.DataFrame)
    assert list(shown.columns) == ["gda0", "gda1"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(x.rename(columns={x.columns[0]: "other"}))


def test_a_model_has_a_diagram_for_notebooks() -> None:
    assert repr(MultinomialNB(alpha=0.5)) == "MultinomialNB(alpha=0.5)"
    assert "<div" in GDA()._repr_html_()

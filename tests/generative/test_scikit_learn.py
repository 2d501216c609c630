"""Beside scikit-learn's classes of the same name: same parameters, same attributes, same probabilities."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import naive_bayes
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import GDA, BernoulliNB, CategoricalNB, ComplementNB, FamilyNB, GaussianNB, MultinomialNB, PoissonNB
from suffice.families import GaussianKnownVariance

DROP_IN = ["GaussianNB", "MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB"]
DIGITS, DIGIT = load_digits(return_X_y=True)

#: What a plain GDA does otherwise than these checks expect. With shrinkage and missing="em" all of them pass.
OTHERWISE = {
    "check_estimators_nan_inf": "missing cells are integrated out at prediction",
    **dict.fromkeys(
        (
            "check_sample_weights_shape",
            "check_sample_weights_not_overwritten",
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "the rows have a singular covariance, which is an error without shrinkage",
    ),
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
    from sklearn.covariance import ledoit_wolf, oas

    x, y = load_wine(return_X_y=True)
    for name, reference in (("ledoit_wolf", ledoit_wolf), ("oas", oas)):
        model = GDA(kind, shrinkage=name).fit(x, y)
        if kind == "full":
            expected = [reference(x[y == k])[1] for k in range(3)]
        else:
            expected = reference(x - model.means_[y], assume_centered=True)[1]
        np.testing.assert_allclose(model.shrinkage_, expected, rtol=1e-9)


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

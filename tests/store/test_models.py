"""Files of models whose checksum is right and whose contents do not fit each other: refused when they are loaded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import suffice
from suffice import store

X = np.random.default_rng(0).poisson(1.0, (12, 4)).astype(float)
Y = np.arange(12) % 2


def _with_settings(model: Any, path: Any, **changed: Any) -> None:
    model.save(path)
    contents = store.read(path)
    store.write(path, replace(contents, settings={**contents.settings, **changed}))


@pytest.mark.parametrize("names", [[], [0], [0, 1, 2]])
@pytest.mark.parametrize("model", [suffice.MultinomialNB(), suffice.GaussianNB(), suffice.GDA(shrinkage=0.5)])
def test_classes_that_are_not_those_of_the_sum_are_refused(tmp_path, model, names):
    _with_settings(model.fit(X, Y), tmp_path / "model", classes={"names": names, "dtype": "i"})
    with pytest.raises(store.StoreError, match=r"the sum is of the classes \[0, 1\], the model of \["):
        store.load(tmp_path / "model")


@pytest.mark.filterwarnings("ignore")  # twelve rows make no good fit
@pytest.mark.parametrize("names", [[], [0], [0, 1, 2]])
@pytest.mark.parametrize(
    "model",
    [
        suffice.LogisticRegression(C=1.0),
        suffice.SoftmaxRegression(C=1.0),
        suffice.NBLogisticRegression(C=1.0),
        suffice.Perceptron(max_iter=2),
    ],
)
def test_classes_that_do_not_fit_the_coefficients_are_refused(tmp_path, model, names):
    _with_settings(model.fit(X, Y), tmp_path / "model", classes={"names": names, "dtype": "i"})
    with pytest.raises(store.StoreError, match=r"at least two classes|array '(theta|coef)' must have shape"):
        store.load(tmp_path / "model")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "names"),
    [
        (suffice.LogisticRegression(C=1.0), [0, 1, 2]),
        (suffice.LogisticRegression(), [0, 1, 2, 3, 4]),
        (suffice.SoftmaxRegression(C=1.0), [0, 1]),
    ],
)
def test_more_or_fewer_classes_than_columns_of_theta_are_refused(tmp_path, model, names):
    y = Y if len(names) == 3 else np.arange(12) % 3
    _with_settings(model.fit(X, y), tmp_path / "model", classes={"names": names, "dtype": "i"})
    with pytest.raises(store.StoreError, match=r"array 'theta' must have shape \(5, .\), by the model's classes"):
        store.load(tmp_path / "model")


MODELS = [
    suffice.MultinomialNB(),
    suffice.BernoulliNB(),
    suffice.PoissonNB(),
    suffice.FamilyNB(),
    suffice.CategoricalNB(),
    suffice.GaussianNB(),
    suffice.GDA(shrinkage=0.5),
    suffice.MixedNB(),
    suffice.LogisticRegression(C=1.0),
    suffice.LogisticRegression(bias_reduction=True),
    suffice.SoftmaxRegression(C=1.0),
    suffice.GLM("poisson"),
    suffice.LinearRegression(),
    suffice.NBLogisticRegression(C=1.0),
    suffice.Perceptron(max_iter=2),
    suffice.LocallyWeightedRegression(bandwidth=1.0),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("features", [3, 5])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_another_number_of_features_is_refused(tmp_path, model, features):
    _with_settings(model.fit(X, Y), tmp_path / "model", features=features)
    with pytest.raises(store.StoreError, match=rf"shape \(|the model of {features}|for {features} features"):
        store.load(tmp_path / "model")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_names_of_other_features_are_refused(tmp_path, model):
    _with_settings(model.fit(X, Y), tmp_path / "model", feature_names=["a", "b", "c"])
    with pytest.raises(store.StoreError, match="feature_names has 3 names for 4 features"):
        store.load(tmp_path / "model")


def _assigned(model: Any) -> Any:
    model.fit(X, Y)
    model.coef_ = np.asarray(model.coef_) * 2
    return model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        suffice.LogisticRegression(C=1.0),
        suffice.SoftmaxRegression(C=1.0),
        suffice.GLM("poisson"),
        suffice.LinearRegression(covariance="HC1"),
        suffice.NBLogisticRegression(C=1.0),
        suffice.Perceptron(max_iter=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_array_of_another_shape_is_refused_by_its_name(tmp_path, model):
    _assigned(model).save(tmp_path / "model")
    contents = store.read(tmp_path / "model")
    for name, array in contents.arrays.items():
        wrong = np.concatenate([np.atleast_1d(array), np.atleast_1d(array)])
        store.write(tmp_path / "model", replace(contents, arrays={**contents.arrays, name: wrong}))
        with pytest.raises(store.StoreError, match=rf"array '({name}|covariance)' must have shape"):
            store.load(tmp_path / "model")


@pytest.mark.parametrize("names", [[], ["a"], ["a", "b", "c"]])
def test_classes_that_are_not_those_of_the_documents_are_refused(tmp_path, names):
    model = suffice.TextClassifier("multinomial").fit(["one two", "two three"], ["a", "b"])
    model.save(tmp_path / "model")
    classes = {**store.read(tmp_path / "model").settings["classes"], "names": names}
    _with_settings(model, tmp_path / "model", classes=classes)
    with pytest.raises(store.StoreError, match=r"the sum is of the classes \['a', 'b'\], the model of \["):
        store.load(tmp_path / "model")


@pytest.mark.parametrize("encoding", [1.5, True, ["utf-8"], None, "", "x\0"])
def test_an_encoding_that_is_none_is_refused(tmp_path, encoding):
    model = suffice.TextClassifier("multinomial").fit(["one two", "two three"], ["a", "b"])
    model.save(tmp_path / "model")
    contents = store.read(tmp_path / "model")
    parameters = {**contents.settings["parameters"], "encoding": encoding}
    store.write(tmp_path / "model", replace(contents, settings={**contents.settings, "parameters": parameters}))
    with pytest.raises(store.StoreError, match=r"encoding is .*: name a codec of Python"):
        store.load(tmp_path / "model")
    with pytest.raises(ValueError, match=r"encoding is .*: name a codec of Python"):
        suffice.TextClassifier("multinomial", encoding=encoding).fit(["one two", "two three"], ["a", "b"])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("x", lambda array: array.ravel()),
        ("x", lambda array: array[:, :3]),
        ("y", lambda array: array.ravel()),
        ("y", lambda array: array[:5]),
        ("y", lambda array: array.astype(np.float32)),
        ("y", lambda array: np.hstack([array, array])),
        ("weight", lambda array: array.astype(bool)),
        ("weight", lambda array: np.append(array, 1.0)),
    ],
)
def test_rows_of_local_fits_that_do_not_fit_each_other_are_refused(tmp_path, name, change):
    model = suffice.LocallyWeightedRegression(bandwidth=1.0).fit(X, Y, sample_weight=np.ones(12))
    model.save(tmp_path / "model")
    contents = store.read(tmp_path / "model")
    arrays = {**contents.arrays, name: change(contents.arrays[name])}
    store.write(tmp_path / "model", replace(contents, arrays=arrays))
    with pytest.raises(store.StoreError, match=r"(x|y|weight) must hold float64 of shape"):
        store.load(tmp_path / "model")


@pytest.mark.parametrize("degree", [-0.0, 1.0])
def test_a_degree_that_is_no_whole_number_is_refused(tmp_path, degree):
    model = suffice.LocallyWeightedRegression(bandwidth=1.0).fit(X, Y)
    model.save(tmp_path / "model")
    parameters = {**store.read(tmp_path / "model").settings["parameters"], "degree": degree}
    _with_settings(model, tmp_path / "model", parameters=parameters)
    with pytest.raises(store.StoreError, match="degree must be 0, 1 or 2; got"):
        store.load(tmp_path / "model")
    with pytest.raises(ValueError, match="degree must be 0, 1 or 2; got"):
        suffice.LocallyWeightedRegression(bandwidth=1.0, degree=degree).fit(X, Y)


def _with_parameters(model: Any, path: Any, **added: Any) -> None:
    """Save a model as a version with more parameters did."""
    model.save(path)
    contents = store.read(path)
    own = contents.settings.get("own", contents.settings)  # those of a model that contains others
    for name in {"parameters", "fitted_parameters"} & set(own):
        own[name] |= added
    store.write(path, contents)


@pytest.mark.parametrize(
    ("model", "added", "conversion"),
    [
        (suffice.LogisticRegression(C=1.0), {"l2": 2.0}, "l2=2.0 is C=0.5"),
        (suffice.LogisticRegression(C=1.0), {"penalty": "firth"}, "penalty='firth' is bias_reduction=True"),
        (suffice.PoissonRegressor(), {"l2": 3.0}, r"l2=3.0 is alpha=3.0 / n"),
        (suffice.LinearRegression(), {"l1": 3.0}, r"use Lasso\(alpha=3.0 / n\)"),
        (suffice.Ridge(), {"l2": 0.0}, "l2=0.0 is alpha=0.0"),  # its default has a penalty
        (suffice.Perceptron(max_iter=2), {"step": 1.0}, r"step=1.0 is eta0=1.0"),
        (suffice.NBLogisticRegression(), {"l2": "auto"}, "l2='auto' is C='auto'"),
        (suffice.GDA(shrinkage=0.5), {"ridge": 1.0}, "GDA has no ridge"),
        (suffice.LogisticRegressionCV(Cs=[1.0], cv=2, max_iter=300), {"grid": 1}, "LogisticRegressionCV has no grid"),
    ],
    ids=lambda each: type(each).__name__ if hasattr(each, "fit") else None,
)
@pytest.mark.filterwarnings("ignore")  # twelve rows make no good fit
def test_parameters_of_older_versions_are_refused_with_their_conversion(tmp_path, model, added, conversion):
    _with_parameters(model.fit(X, Y), tmp_path / "model", **added)
    with pytest.raises(store.StoreError, match=rf"model contains a {type(model).__name__} with .*{conversion}.*again"):
        store.load(tmp_path / "model")


def test_parameters_of_an_older_text_classifier_are_refused_with_their_conversion(tmp_path):
    model = suffice.TextClassifier().fit(["cheap money", "lunch on monday"], ["spam", "ham"])
    _with_parameters(model, tmp_path / "model", l2=0.2)
    with pytest.raises(store.StoreError, match=r"TextClassifier has no l2: l2=0.2 is C=5\)"):
        store.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("model", "added"),
    [
        (suffice.LogisticRegression(C=1.0), {"l1": 0.0, "l2": 0, "penalty": None}),
        (suffice.PoissonRegressor(), {"l1": 0.0, "l2": 0.0}),
        (suffice.LinearRegression(), {"l1": 0.0, "l2": 0.0}),
    ],
    ids=lambda each: type(each).__name__ if hasattr(each, "fit") else None,
)
def test_penalties_of_zero_in_files_of_older_versions_have_no_effect(tmp_path, model, added):
    _with_parameters(model.fit(X, Y), tmp_path / "model", **added)
    loaded = store.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.get_params() == model.get_params()

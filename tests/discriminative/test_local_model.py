"""Locally weighted regression as a model: its conventions, where its rows live, how it is kept, what it refuses."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from suffice.discriminative import LocallyWeightedRegression
from suffice.store import load

from .test_local import drawn


def broken_checks(estimator: LocallyWeightedRegression) -> dict[str, str]:
    """Return the checks of scikit-learn that an estimator cannot pass."""
    if estimator.family != "bernoulli" or parse_version(sklearn.__version__) >= parse_version("1.7"):
        return {}
    return {"check_sample_weight_equivalence_on_dense_data": "scikit-learn 1.6 calls other rows the first class"}


@pytest.mark.filterwarnings("ignore::suffice.discriminative.FarFromDataWarning")
@parametrize_with_checks(
    [LocallyWeightedRegression(), LocallyWeightedRegression(family="bernoulli")], expected_failed_checks=broken_checks
)
def test_the_estimator_passes_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


# Where rows live, and what is kept.


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_any_number_of_threads_gives_the_same_answers(family: str) -> None:
    x, y, weight = drawn(n=500)
    y = y > 0.5 if family == "bernoulli" else y
    ask = "predict_proba" if family == "bernoulli" else "predict"
    expected = getattr(LocallyWeightedRegression(0.5, family).fit(x, y, sample_weight=weight), ask)(x)
    for n_jobs in (1, 3):
        model = LocallyWeightedRegression(0.5, family, n_jobs=n_jobs).fit(x, y, sample_weight=weight)
        np.testing.assert_allclose(getattr(model, ask)(x), expected, rtol=1e-9, atol=1e-11)


@pytest.mark.needs("torch")
def test_torch() -> None:
    import torch

    x, y, weight = drawn()
    plain = LocallyWeightedRegression("auto").fit(x, y, sample_weight=weight)
    model = LocallyWeightedRegression("auto").fit(torch.asarray(x), torch.asarray(y), sample_weight=weight)
    assert model.bandwidth_ == pytest.approx(plain.bandwidth_, rel=1e-6)
    answer = model.predict(torch.asarray(x))
    assert isinstance(answer, torch.Tensor)
    np.testing.assert_allclose(answer.numpy(), plain.predict(x), rtol=1e-5)
    assert isinstance(model.predict(x), np.ndarray)
    assert isinstance(plain.predict(torch.asarray(x)), torch.Tensor)
    np.testing.assert_allclose(model.standard_error(x), plain.standard_error(x), rtol=1e-5)
    classes = LocallyWeightedRegression(0.5, "bernoulli").fit(torch.asarray(x), torch.asarray(y > 0.5))
    ours = LocallyWeightedRegression(0.5, "bernoulli").fit(x, y > 0.5)
    np.testing.assert_allclose(classes.predict_proba(x), ours.predict_proba(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        LocallyWeightedRegression("auto", degree=2, kernel="tricube", l2=0.1),
        LocallyWeightedRegression(0.7, "bernoulli", n_jobs=2),
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_files_and_copies(model: LocallyWeightedRegression, weighted: bool, tmp_path: Path) -> None:
    x, y, weight = drawn()
    y = np.where(y > 0.5, "yes", "no") if model.family == "bernoulli" else np.stack([y, -y], axis=1)
    model = clone(model).fit(x, y, sample_weight=weight if weighted else None)
    model.save(tmp_path / "a.model")
    for again in (load(tmp_path / "a.model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(x), model.predict(x))
        assert again.bandwidth_ == model.bandwidth_
        assert hasattr(again, "leave_one_out_") == hasattr(model, "leave_one_out_")
        assert again.n_features_in_ == 2
        if model.family == "bernoulli":
            np.testing.assert_array_equal(again.classes_, model.classes_)
        else:
            np.testing.assert_array_equal(again.standard_error(x), model.standard_error(x))


def test_names_of_features(tmp_path: Path) -> None:
    import pandas

    x, y, _ = drawn()
    frame = pandas.DataFrame(x, columns=["length", "width"])
    LocallyWeightedRegression().fit(frame, y).save(tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert list(again.feature_names_in_) == ["length", "width"]
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"width": "depth"}))


def test_two_natures_of_one_class() -> None:
    numbers, classes = LocallyWeightedRegression(), LocallyWeightedRegression(family="bernoulli")
    assert is_regressor(numbers)
    assert is_classifier(classes)
    assert not hasattr(numbers, "predict_proba")
    assert not hasattr(classes, "standard_error")
    x, y, _ = drawn()
    with pytest.raises(AttributeError, match="predicts classes, not numbers"):
        classes.fit(x, y > 0).predict(x, return_std=True)
    search = GridSearchCV(numbers, {"bandwidth": [0.3, 30.0]}).fit(x, y)
    assert search.best_params_ == {"bandwidth": 0.3}


# What is refused.


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bandwidth": 0}, "bandwidth must be a finite number above 0, or 'auto'; got 0"),
        ({"bandwidth": -2.0}, "bandwidth must be a finite number above 0, or 'auto'; got -2.0"),
        ({"bandwidth": "wide"}, "bandwidth must be a finite number above 0, or 'auto'; got 'wide'"),
        ({"kernel": "box"}, "kernel must be one of gaussian, epanechnikov, tricube, uniform; got 'box'"),
        ({"family": "poisson"}, "family must be 'gaussian' or 'bernoulli'; got 'poisson'"),
        ({"degree": 3}, "degree must be 0, 1 or 2; got 3"),
        ({"l2": -1.0}, "l2 must be a finite number"),
        ({"max_iter": 0}, "max_iter must be a whole number, at least 1; got 0"),
    ],
    ids=str,
)
def test_settings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    x, y, _ = drawn()
    with pytest.raises(ValueError, match=message):
        LocallyWeightedRegression(**settings).fit(x, y)


def test_rows_that_make_no_sense() -> None:
    x, y, _ = drawn()
    hole = np.where(x == x[4, 1], np.nan, x)
    model = LocallyWeightedRegression().fit(x, y)
    with pytest.raises(ValueError, match=r"X\[4, 1\] is nan; it must be finite"):
        LocallyWeightedRegression().fit(hole, y)
    with pytest.raises(ValueError, match=r"X\[4, 1\] is nan; it must be finite"):
        model.predict(hole)
    with pytest.raises(ValueError, match=r"y\[3\] is inf; drop the rows"):
        LocallyWeightedRegression().fit(x, np.where(np.arange(300) == 3, np.inf, y))
    with pytest.raises(ValueError, match="X has 3 features, but LocallyWeightedRegression is expecting 2"):
        model.predict(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="X has 300 rows and y has 299"):
        LocallyWeightedRegression().fit(x, y[1:])
    with pytest.raises(ValueError, match=r"y\[0\] is .*: Unknown label type for a regression"):
        LocallyWeightedRegression().fit(x, np.where(y > 0, "yes", "no"))
    with pytest.raises(ValueError, match="y holds the 3 class"):
        LocallyWeightedRegression(family="bernoulli").fit(x, np.arange(300) % 3)
    with pytest.raises(ValueError, match=r"y\[0\] is .*; classes are whole numbers"):
        LocallyWeightedRegression(family="bernoulli").fit(x, y)


def test_names_of_features_stay_when_more_rows_are_learned() -> None:
    x = pd.DataFrame({"a": np.arange(12.0), "b": np.arange(12.0) % 5})
    model = LocallyWeightedRegression(bandwidth=2.0).fit(x[:8], x.a[:8]).partial_fit(x[8:], x.a[8:])
    assert list(model.feature_names_in_) == ["a", "b"]
    np.testing.assert_allclose(model.predict(x), LocallyWeightedRegression(bandwidth=2.0).fit(x, x.a).predict(x))

"""Learning curves: values, crossings and titles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedShuffleSplit

from suffice import (
    GDA,
    GaussianNB,
    LinearRegression,
    MixedNB,
    TextClassifier,
)
from suffice.plots import LearningCurveDisplay
from tests.plots.conftest import Rows


def test_curves_cross_where_their_difference_changes_sign() -> None:
    sizes = [1, 10, 100, 1000]
    curves = {"one": [4.0, 2.0, 2.0, 2.0], "two": [3.0, 3.0, 1.0, 1.0], "level": [4.0, 2.0, 2.0, 1.5]}
    found = LearningCurveDisplay(sizes, curves).crossings
    assert [crossing[:2] for crossing in found] == [("one", "two"), ("one", "two"), ("two", "level"), ("two", "level")]
    np.testing.assert_allclose([crossing.size for crossing in found], [10**0.5, 10**1.5] * 2)
    np.testing.assert_allclose([crossing.value for crossing in found], [3.0, 2.0] * 2)


def test_curves_that_touch_do_not_cross() -> None:
    sizes = [1, 10, 100]
    assert not LearningCurveDisplay(sizes, {"one": [3.0, 2.0, 1.0], "two": [2.0, 2.0, 0.5]}).crossings
    (through,) = LearningCurveDisplay(sizes, {"one": [3.0, 2.0, 1.0], "two": [2.0, 2.0, 1.5]}).crossings
    assert (through.size, through.value) == (pytest.approx(10 ** (4 / 3)), pytest.approx(5 / 3))


def test_learning_curve_equals_fits_on_the_same_splits(two_classes: Rows) -> None:
    x, y = two_classes
    display = LearningCurveDisplay.from_estimators({"GDA": GDA(), "NB": GaussianNB()}, x, y, sizes=[66], repeats=3)
    errors = []
    for train, test in StratifiedShuffleSplit(3, test_size=1 / 3, random_state=0).split(x, y):
        errors.append(np.mean(GaussianNB().fit(x[train], y[train]).predict(x[test]) != y[test]))
    assert display.curves["NB"][0] == pytest.approx(np.mean(errors))
    assert display.spreads["NB"][0] == pytest.approx(np.std(errors))


@pytest.mark.parametrize("measure", ["log_loss", lambda model, x, y: model.score(x, y)])
def test_learning_curves_of_data_frames_and_texts(measure: Any) -> None:
    table = pd.DataFrame({"size": np.arange(40.0) % 7, "walls": ["wood", "brick"] * 20})
    y = np.array(["a", "b"] * 20)
    of_tables = LearningCurveDisplay.from_estimators({"mixed": MixedNB()}, table, y, repeats=2, measure=measure)
    assert of_tables.sizes[-1] == 26
    texts = ["good film", "bad film"] * 20
    of_texts = LearningCurveDisplay.from_estimators({"text": TextClassifier()}, texts, y, repeats=2, measure=measure)
    assert np.isfinite(of_texts.curves["text"]).all()


def test_title_names_the_better_model() -> None:
    display = LearningCurveDisplay([10, 1000], {"quick": [0.2, 0.15], "patient": [0.3, 0.05]}).plot()
    assert display.figure_.get_suptitle() == "patient is better than quick from about 100 rows"
    scores = LearningCurveDisplay([10, 1000], {"quick": [0.8, 0.85], "patient": [0.7, 0.95]}, measure="accuracy").plot()
    assert scores.figure_.get_suptitle() == "quick and patient cross at about 100 rows"


def test_learning_curve_of_squared_errors() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(90, 2))
    y = x @ [1.0, 2.0] + random.normal(size=90)
    display = LearningCurveDisplay.from_estimators(
        {"line": LinearRegression()}, x, y, sizes=[10, 60], repeats=3, measure="squared_error"
    )
    assert display.measure == "squared error"
    assert 0.5 < display.curves["line"][-1] < 2


def test_invalid_input_raises(two_classes: Rows) -> None:
    x, y = two_classes
    with pytest.raises(ValueError, match="sizes must be above 0 and increasing"):
        LearningCurveDisplay([10, 5], {"a": [1, 2]})
    with pytest.raises(ValueError, match="curve 'a' has 1 points; there are 2 sizes"):
        LearningCurveDisplay([5, 10], {"a": [1]})
    with pytest.raises(ValueError, match="no curves"):
        LearningCurveDisplay([5, 10], {})
    with pytest.raises(ValueError, match="sizes must be 1 to 66, as a third of 100 rows is held out"):
        LearningCurveDisplay.from_estimators({"a": GDA()}, x, y, sizes=[90])
    with pytest.raises(ValueError, match="measure must be one of"):
        LearningCurveDisplay.from_estimators({"a": GDA()}, x, y, measure="beauty")
    with pytest.raises(ValueError, match="there are no models to fit: give a dictionary from name to estimator"):
        LearningCurveDisplay.from_estimators({}, x, y)

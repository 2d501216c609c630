"""ROC, precision-recall and calibration curves, confusion matrices: compared with scikit-learn and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    confusion_matrix,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from suffice import GaussianNB, Perceptron
from suffice.plots import (
    CalibrationDisplay,
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
)
from tests.plots.conftest import Rows


def test_roc_curve_of_two_classes_equals_scikit_learn(two_classes: Rows) -> None:
    x, y = two_classes
    model = GaussianNB().fit(x, y)
    display = RocCurveDisplay.from_estimator(model, x, y)
    fpr, tpr, _ = roc_curve(y == "middle", model.predict_proba(x)[:, 1])
    points = set(zip(display.fpr["middle"], display.tpr["middle"], strict=True))
    assert points <= set(zip(fpr, tpr, strict=True))  # without those on a straight line
    assert display.auc == pytest.approx({"middle": roc_auc_score(y == "middle", model.predict_proba(x)[:, 1])})
    drawn: Any = display.ax_.lines[1]
    np.testing.assert_array_equal(drawn.get_xdata(), display.fpr["middle"])
    again = RocCurveDisplay({"middle": fpr}, {"middle": tpr})
    assert again.auc == pytest.approx(display.auc)


def test_each_of_several_classes_is_compared_with_the_rest(three_classes: Rows) -> None:
    x, y = three_classes
    model = GaussianNB().fit(x, y)
    p = model.predict_proba(x)
    roc = RocCurveDisplay.from_predictions(y, p)
    precision = PrecisionRecallDisplay.from_predictions(y, p)
    for code, label in enumerate(["high", "low", "middle"]):
        assert roc.auc[label] == roc_auc_score(y == label, p[:, code])
        expected = precision_recall_curve(y == label, p[:, code])
        np.testing.assert_array_equal(precision.precision[label], expected[0])
        np.testing.assert_array_equal(precision.recall[label], expected[1])
        assert precision.average_precision[label] == average_precision_score(y == label, p[:, code])
        assert precision.prevalence[label] == pytest.approx(1 / 3)
    plain = PrecisionRecallDisplay(precision.precision, precision.recall)
    assert plain.average_precision == pytest.approx(precision.average_precision)


def test_single_curve_needs_no_name() -> None:
    display = RocCurveDisplay([0.0, 0.5, 1.0], [0.0, 1.0, 1.0]).plot()
    assert display.auc == {"": 0.75}


def test_calibration_curve_by_hand() -> None:
    display = CalibrationDisplay.from_predictions([0, 1, 1, 0, 1], [0.05, 0.15, 0.15, 0.91, 0.99])
    np.testing.assert_allclose(display.predicted, [0.05, 0.15, 0.95])
    np.testing.assert_allclose(display.observed, [0.0, 1.0, 0.5])
    np.testing.assert_array_equal(display.counts, [1, 2, 2])
    assert display.error == pytest.approx((1 * 0.05 + 2 * 0.85 + 2 * 0.45) / 5)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_calibration_curve_equals_scikit_learn(strategy: Any, two_classes: Rows) -> None:
    x, y = two_classes
    p = GaussianNB().fit(x, y).predict_proba(x)[:, 1]
    display = CalibrationDisplay.from_predictions(y, p, bins=7, strategy=strategy)
    observed, predicted = calibration_curve(y == "middle", p, n_bins=7, strategy=strategy)
    np.testing.assert_allclose(display.observed, observed)
    np.testing.assert_allclose(display.predicted, predicted)
    assert display.label == "middle"


def test_calibration_of_several_classes_is_that_of_the_predicted_class(three_classes: Rows) -> None:
    x, y = three_classes
    model = GaussianNB().fit(x, y)
    display = CalibrationDisplay.from_estimator(model, x, y, bins=1)
    p = model.predict_proba(x)
    assert display.observed.tolist() == [pytest.approx(accuracy_score(y, model.predict(x)))]
    assert display.error == pytest.approx(abs(p.max(axis=1).mean() - accuracy_score(y, model.predict(x))))


def test_confusion_matrix_equals_scikit_learn(three_classes: Rows) -> None:
    x, y = three_classes
    model = GaussianNB().fit(x, y)
    display = ConfusionMatrixDisplay.from_estimator(model, x, y)
    expected = confusion_matrix(y, model.predict(x))
    np.testing.assert_array_equal(display.counts, expected)
    np.testing.assert_allclose(display.shares, expected / expected.sum(axis=1, keepdims=True))
    texts = {text.get_text() for text in display.ax_.texts}
    assert f"{expected[0, 0]}\n{expected[0, 0] / expected[0].sum():.0%}" in texts


def test_class_without_rows_has_zero_shares() -> None:
    display = ConfusionMatrixDisplay.from_predictions(["a", "a"], ["a", "b"], classes=["b", "a"])
    assert display.shares.tolist() == [[0, 0], [0.5, 0.5]]


@pytest.mark.parametrize("display", [RocCurveDisplay, PrecisionRecallDisplay, CalibrationDisplay])
def test_invalid_probabilities_raise(display: Any, two_classes: Rows) -> None:
    x, y = two_classes
    with pytest.raises(ValueError, match="Perceptron has no predict_proba"):
        display.from_estimator(Perceptron(), x, y)
    with pytest.raises(ValueError, match="3 rows and 100 labels"):
        display.from_predictions(y, [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="each must be from 0 to 1"):
        display.from_predictions(y, np.full(100, 1.5))
    with pytest.raises(ValueError, match="probabilities of 3 classes"):
        display.from_predictions(y, np.full((100, 3), 0.2))
    with pytest.raises(ValueError, match=r"probabilities must have the shape \(n,\) or \(n, k\), n above 0; theirs is"):
        display.from_predictions(y, np.full((2, 2, 2), 0.2))
    with pytest.raises(ValueError, match=r"y must have one label per row, \(n,\); its shape is \(100, 1\)"):
        display.from_predictions(y[:, None], np.full(100, 0.5))
    with pytest.raises(ValueError, match="y holds 'middle', which is none of the classes"):
        display.from_predictions(y, np.full(100, 0.5), classes=["low", "high"])


def test_invalid_curves_raise() -> None:
    with pytest.raises(ValueError, match="class 'b' has 0 of 2 rows"):
        RocCurveDisplay.from_predictions(["a", "a"], [0.1, 0.2], classes=["a", "b"])
    with pytest.raises(ValueError, match="2 x coordinates and 3 y coordinates"):
        RocCurveDisplay([0.0, 1.0], [0.0, 0.5, 1.0])
    with pytest.raises(ValueError, match="same names"):
        PrecisionRecallDisplay({"a": [1.0]}, {"b": [1.0]})
    with pytest.raises(ValueError, match="bins must be 1 or more"):
        CalibrationDisplay.from_predictions([0, 1], [0.1, 0.2], bins=0)
    with pytest.raises(ValueError, match="predicted, observed and counts must have one entry per bin, and some rows"):
        CalibrationDisplay([0.5], [0.5, 0.6], [1, 2])
    with pytest.raises(ValueError, match="strategy must be"):
        CalibrationDisplay.from_predictions([0, 1], [0.1, 0.2], strategy="log")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a row and a column for each"):
        ConfusionMatrixDisplay([[1, 2]], ["a", "b"])
    with pytest.raises(ValueError, match="the prediction holds 'c'"):
        ConfusionMatrixDisplay.from_predictions(["a", "b"], ["a", "c"], classes=["a", "b"])


def test_confusion_matrix_of_many_classes_labels_only_the_diagonal() -> None:
    y = np.repeat(np.arange(11), 3)
    display = ConfusionMatrixDisplay.from_predictions(y, np.where(np.arange(33) % 3, y, 0))
    written = [text.get_text() for text in display.ax_.texts]
    assert sum(map(bool, written)) == 11

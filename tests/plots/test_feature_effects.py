"""Feature effects: contributions of explanations, and coefficients."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression as ScikitLogistic

from suffice import (
    GDA,
    GaussianNB,
    LogisticRegression,
    MultinomialNB,
    TextClassifier,
)
from suffice.plots import FeatureEffectsDisplay
from tests.plots.conftest import Rows


def test_effects_of_an_explanation_add_up_to_the_log_odds(three_classes: Rows) -> None:
    x, y = three_classes
    model = GaussianNB().fit(x, y)
    explanation = model.explain(x[:3])
    for n in (1, 3):
        display = FeatureEffectsDisplay.from_explanation(explanation, row=2, label="low", against="high", n=n)
        log_odds = explanation.log_odds[2]
        assert display.values.sum() == pytest.approx(log_odds[1] - log_odds[0])
        assert display.labels[-1] == "prior and base"
    assert display.labels[0].endswith(f"= {x[2, 0]:.6g}")


def test_effects_of_a_text_add_up_to_the_log_odds() -> None:
    texts = ["free money, free!", "cheap money now", "lunch on monday?", "monday is fine"]
    explanation = TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"]).explain("free free lunch money")
    display = FeatureEffectsDisplay.from_explanation(explanation, label="spam", n=1)
    assert display.values.sum() == pytest.approx(explanation.compare("spam").total)
    assert display.labels == ["free × 2", "2 others", "prior and base"]


def test_coefficients_of_a_class_and_per_standard_deviation(three_classes: Rows) -> None:
    x, y = three_classes
    model = LogisticRegression(C=1.0).fit(x, y)
    centred = model.coef_ - model.coef_.mean(axis=0)
    plain = FeatureEffectsDisplay.from_estimator(model, label="low")
    expected = {f"x{place}": value for place, value in enumerate(centred[1])}
    assert dict(zip(plain.labels, plain.values, strict=True)) == pytest.approx(expected)
    scaled = FeatureEffectsDisplay.from_estimator(model, x, label="low", n=2)
    strongest = np.sort(np.abs(centred[1] * x.std(axis=0)))[::-1][:2]
    np.testing.assert_allclose(np.abs(scaled.values), strongest)
    two = LogisticRegression(C=1.0).fit(x[:100], y[:100])
    first, second = (FeatureEffectsDisplay.from_estimator(two, label=label) for label in ("low", "middle"))
    np.testing.assert_allclose(first.values, -second.values)
    assert set(second.values) == set(two.coef_[0])


def test_standard_deviations_of_sparse_rows_equal_dense_ones() -> None:
    x = np.random.default_rng(0).poisson(1.0, (50, 4))
    model = MultinomialNB().fit(x, np.arange(50) % 2)
    dense = FeatureEffectsDisplay.from_estimator(model, x)
    compressed = FeatureEffectsDisplay.from_estimator(model, sparse.csr_array(x))
    np.testing.assert_allclose(dense.values, compressed.values)


def test_words_of_two_classes_have_opposite_signs() -> None:
    texts = ["free money", "cheap money", "lunch monday", "monday fine"]
    model = TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
    display = FeatureEffectsDisplay.from_estimator(model, n=2)
    assert dict(zip(display.labels, np.sign(display.values), strict=True)) == {"money": 1, "monday": -1}


def test_infinite_effect_is_drawn() -> None:
    display = FeatureEffectsDisplay(["impossible", "likely"], [-np.inf, 2.0]).plot()
    assert [text.get_text() for text in display.ax_.texts] == ["-inf", "2"]
    assert display.ax_.patches[0].get_width() == -2.0  # type: ignore[attr-defined]


def test_feature_names_come_from_the_model_the_rows_or_the_index() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(60, 2)), columns=["size", "age"])
    model = ScikitLogistic().fit(frame.to_numpy(), frame["size"] > 0)
    assert sorted(FeatureEffectsDisplay.from_estimator(model, frame).labels) == ["age", "size"]
    nameless = SimpleNamespace(coef_=model.coef_, classes_=model.classes_)
    for rows in (frame.to_numpy(), frame.to_numpy().tolist()):
        assert sorted(FeatureEffectsDisplay.from_estimator(nameless, rows).labels) == ["x0", "x1"]
    with pytest.raises(ValueError, match="the features of SimpleNamespace are not known: give X"):
        FeatureEffectsDisplay.from_estimator(nameless)
    with pytest.raises(ValueError, match="feature 'age' holds 'old', which is not a number: choose another feature"):
        FeatureEffectsDisplay.from_estimator(model, frame.assign(age="old"))


def test_invalid_input_raises(two_classes: Rows) -> None:
    x, y = two_classes
    with pytest.raises(ValueError, match="GDA has no coef_"):
        FeatureEffectsDisplay.from_estimator(GDA("full").fit(x, y))
    with pytest.raises(ValueError, match="no class 'lo'; did you mean 'low'"):
        FeatureEffectsDisplay.from_estimator(GDA().fit(x, y), label="lo")
    with pytest.raises(ValueError, match="no row 3; the explanation is of 2 rows"):
        FeatureEffectsDisplay.from_explanation(GDA().fit(x, y).explain(x[:2]), row=3)
    with pytest.raises(ValueError, match="1 labels and 2 values"):
        FeatureEffectsDisplay(["a"], [1.0, 2.0])

"""Learning curves, solver traces, feature effects and residuals."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import nbinom, poisson
from sklearn.linear_model import LogisticRegression as ScikitLogistic
from sklearn.model_selection import StratifiedShuffleSplit

from suffice import (
    GDA,
    GLM,
    GammaRegression,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    MixedNB,
    MultinomialNB,
    PoissonRegression,
    TextClassifier,
)
from suffice.families import NegativeBinomial
from suffice.plots import FeatureEffectsDisplay, LearningCurveDisplay, ResidualsDisplay, SolverTraceDisplay
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


def test_trace_equals_that_of_the_solver(two_classes: Rows) -> None:
    x, y = two_classes
    model = LogisticRegression(l2=1.0).fit(x, y)
    display = SolverTraceDisplay.from_estimator(model)
    assert display.gradient_norm is not None
    for step, *shown in zip(
        model.solution_.trace, display.passes, display.log_likelihood, display.gradient_norm, strict=True
    ):
        assert (step.passes, -step.value, step.gradient_norm) == tuple(shown)
    assert len(display.axes_) == 2


def test_trace_of_expectation_maximisation(two_classes: Rows) -> None:
    x, y = two_classes
    model = GDA().fit(x[::4], y[::4], unlabelled=x)
    display = SolverTraceDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.log_likelihood, model.em_trace_)
    assert len(display.axes_) == 1


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
    model = LogisticRegression(l2=1.0).fit(x, y)
    centred = model.coef_ - model.coef_.mean(axis=0)
    plain = FeatureEffectsDisplay.from_estimator(model, label="low")
    expected = {f"x{place}": value for place, value in enumerate(centred[1])}
    assert dict(zip(plain.labels, plain.values, strict=True)) == pytest.approx(expected)
    scaled = FeatureEffectsDisplay.from_estimator(model, x, label="low", n=2)
    strongest = np.sort(np.abs(centred[1] * x.std(axis=0)))[::-1][:2]
    np.testing.assert_allclose(np.abs(scaled.values), strongest)
    two = LogisticRegression(l2=1.0).fit(x[:100], y[:100])
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


def test_residuals_of_linear_and_generalised_linear_models() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(300, 2))
    counts = random.poisson(np.exp(0.5 + x @ [0.4, 0.2]))
    linear = LinearRegression().fit(x, counts)
    plain = ResidualsDisplay.from_estimator(linear, x, counts)
    np.testing.assert_allclose(plain.residuals, counts - linear.predict(x))
    model = PoissonRegression().fit(x, counts)
    mean = model.predict(x)
    pearson = ResidualsDisplay.from_estimator(model, x, counts, kind="residuals")
    np.testing.assert_allclose(pearson.residuals, (counts - mean) / np.sqrt(mean))
    gamma = GammaRegression().fit(x, counts + 1.0)
    relative = ResidualsDisplay.from_estimator(gamma, x, counts + 1.0)
    np.testing.assert_allclose(relative.residuals, (counts + 1.0) / gamma.predict(x) - 1)


def test_pearson_residuals_of_other_families() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(100, 2))
    y = (x[:, 0] + random.normal(size=100) > 0).astype(float)
    shares = GLM("bernoulli").fit(x, y)
    p = shares.predict(x)
    pearson = ResidualsDisplay.from_estimator(shares, x, y)
    np.testing.assert_allclose(pearson.residuals, (y - p) / np.sqrt(p * (1 - p)))
    plain = GLM("gaussian").fit(x, y)
    np.testing.assert_allclose(ResidualsDisplay.from_estimator(plain, x, y).residuals, y - plain.predict(x))


def test_learning_curve_of_squared_errors() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(90, 2))
    y = x @ [1.0, 2.0] + random.normal(size=90)
    display = LearningCurveDisplay.from_estimators(
        {"line": LinearRegression()}, x, y, sizes=[10, 60], repeats=3, measure="squared_error"
    )
    assert display.measure == "squared error"
    assert 0.5 < display.curves["line"][-1] < 2


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


def test_expected_counts_are_poisson_by_default() -> None:
    display = ResidualsDisplay([0, 0, 1, 3], [0.5, 0.5, 1.0, 2.0], kind="counts").plot()
    assert display.observed.tolist() == [2, 1, 0, 1]
    expected = [sum(poisson.pmf(count, mean) for mean in (0.5, 0.5, 1.0, 2.0)) for count in range(4)]
    np.testing.assert_allclose(display.expected, expected)
    bottoms = [bar.get_y() for bar in display.ax_.patches]  # type: ignore[attr-defined]
    np.testing.assert_allclose(bottoms, np.sqrt(expected) - np.sqrt(display.observed))
    assert ResidualsDisplay([0.5], [1.0]).counts is None


def test_expected_counts_use_the_family_of_the_model() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(80, 1))
    y = random.negative_binomial(2, 2 / (2 + np.exp(x[:, 0])))
    model = GLM(NegativeBinomial(theta=2)).fit(x, y)
    display = ResidualsDisplay.from_estimator(model, x, y, kind="counts")
    mean = model.predict(x)
    expected = [nbinom(2, 2 / (2 + mean)).pmf(count).sum() for count in range(int(y.max()) + 1)]
    np.testing.assert_allclose(display.expected, expected, rtol=1e-9)
    np.testing.assert_allclose(display.residuals, (y - mean) / np.sqrt(mean + mean**2 / 2))


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
    with pytest.raises(ValueError, match=r"kind must be one of .*; got 'beauty'"):
        ResidualsDisplay([0.5], [1.0], kind="beauty")
    with pytest.raises(ValueError, match="LinearRegression predicts 2 numbers per row: give one column at a time"):
        ResidualsDisplay.from_estimator(LinearRegression().fit(x, x[:, :2]), x, x[:, :2])
    with pytest.raises(ValueError, match="GDA has no trace"):
        SolverTraceDisplay.from_estimator(GDA().fit(x, y))
    with pytest.raises(ValueError, match="one entry per step"):
        SolverTraceDisplay([1, 2], [1.0])
    with pytest.raises(ValueError, match="GDA has no coef_"):
        FeatureEffectsDisplay.from_estimator(GDA("full").fit(x, y))
    with pytest.raises(ValueError, match="no class 'lo'; did you mean 'low'"):
        FeatureEffectsDisplay.from_estimator(GDA().fit(x, y), label="lo")
    with pytest.raises(ValueError, match="no row 3; the explanation is of 2 rows"):
        FeatureEffectsDisplay.from_explanation(GDA().fit(x, y).explain(x[:2]), row=3)
    with pytest.raises(ValueError, match="1 labels and 2 values"):
        FeatureEffectsDisplay(["a"], [1.0, 2.0])
    with pytest.raises(ValueError, match="GDA predicts classes"):
        ResidualsDisplay.from_estimator(GDA().fit(x, y), x, y)
    with pytest.raises(ValueError, match="kind='counts' needs integers"):
        ResidualsDisplay([0.5], [1.0], kind="counts")
    with pytest.raises(ValueError, match="both must be"):
        ResidualsDisplay([0.5], [1.0, 2.0])
    with pytest.raises(ValueError, match="variances must be above 0"):
        ResidualsDisplay([0.5], [1.0], variance=[0.0])

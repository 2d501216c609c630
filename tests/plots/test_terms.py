"""Terms of additive models: curves, bars and heat maps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import AdditiveClassifier, AdditiveRegressor, GaussianNB
from suffice.plots import TermsDisplay
from tests.plots.conftest import Rows


def table() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    found = pd.DataFrame({"size": rng.normal(size=400), "age": rng.uniform(20, 60, size=400)})
    found["kind"] = rng.choice(["u", "v", "w"], size=400, p=[0.6, 0.3, 0.1])
    found.loc[::9, "age"] = np.nan
    y = found["size"] * (found["kind"] == "u") + 0.02 * np.nan_to_num(found["age"]) + 0.2 * rng.normal(size=400)
    return found, y.to_numpy()


def test_a_curve_has_the_values_of_the_term_and_a_point_for_missing_cells() -> None:
    x, y = table()
    model = AdditiveRegressor(max_bins=8, interactions=0).fit(x, y)
    display = TermsDisplay.from_estimator(model, ["age"])
    term, lines = model.term("age"), display.ax_.lines
    curve = lines[0]
    np.testing.assert_allclose(np.asarray(curve.get_ydata())[:-1], term.values[1:])
    np.testing.assert_allclose(np.asarray(curve.get_xdata())[1:-1], term.edges[0])
    assert curve.get_xdata()[0] == x["age"].min()  # type: ignore[index]
    assert lines[1].get_ydata()[0] == term.values[0]  # type: ignore[index]
    assert display.ax_.texts[0].get_text() == "missing"
    assert display.ax_.get_xlabel() == "age"


def test_levels_are_bars_from_the_most_frequent_and_rare_ones_are_counted() -> None:
    x, y = table()
    model = AdditiveRegressor(interactions=0).fit(x, y)
    ax = TermsDisplay.from_estimator(model, ["kind"]).ax_
    assert [text.get_text()[:1] for text in ax.get_yticklabels()] == ["u", "v", "w"]
    widths = [bar.get_width() for bar in ax.patches]  # type: ignore[attr-defined]
    np.testing.assert_allclose(widths, model.term("kind").values[2:])
    many = x.assign(kind=[f"level {at % 20}" for at in range(400)])
    ax = TermsDisplay.from_estimator(AdditiveRegressor(interactions=0).fit(many, y), ["kind"]).ax_
    assert ax.get_xlabel() == "effect (12 most frequent of 20 levels)"


def test_a_pair_is_a_heat_map_with_both_axes_labelled() -> None:
    x, y = table()
    model = AdditiveRegressor(interactions=[("size", "kind"), ("size", "age")]).fit(x, y)
    display = TermsDisplay.from_estimator(model, [("size", "kind"), ("size", "age")])
    first, second = display.axes_
    assert (first.get_xlabel(), first.get_ylabel()) == ("size", "kind")
    assert [text.get_text() for text in first.get_yticklabels()] == ["u", "v", "w"]
    assert second.get_yticklabels()[0].get_text() == "missing"
    colours = np.asarray(first.collections[0].get_array())  # (3, b, 4)
    term = model.term(("size", "kind"))
    largest = np.unravel_index(np.argmax(np.abs(term.values) * (term.density > 0)), term.values.shape)
    assert colours[largest[1], largest[0], 3] == colours[..., 3].max()
    assert (colours[..., 3].T[term.density == 0] == 0).all()


def test_several_classes_are_several_curves_and_panels_of_pairs(three_classes: Rows) -> None:
    x, y = three_classes
    model = AdditiveClassifier(interactions=[(0, 1)]).fit(x, y)
    display = TermsDisplay.from_estimator(model, [0, (0, 1)])
    assert len(display.axes_) == 4
    legend = display.ax_.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["high", "low", "middle"]
    values = model.term(0).values
    for code in range(3):
        np.testing.assert_allclose(np.asarray(display.ax_.lines[code].get_ydata())[:-1], values[1:, code])
    assert [ax.get_title(loc="left") for ax in display.axes_[1:]] == ["0 × 1: high", "0 × 1: low", "0 × 1: middle"]


def test_classes_with_the_largest_effects_are_drawn(three_classes: Rows) -> None:
    x, y = three_classes
    model = AdditiveClassifier(interactions=[(0, 1)]).fit(x, y)
    display = TermsDisplay.from_estimator(model, [0, (0, 1)], most_classes=1)
    term = model.term(0)
    code = int((np.abs(term.values) * term.density[:, None]).sum(axis=0).argmax())
    legend = display.ax_.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [model.classes_[code]]
    np.testing.assert_allclose(np.asarray(display.ax_.lines[0].get_ydata())[:-1], term.values[1:, code])
    assert len(display.axes_) == 2


def test_wide_bands_of_bins_with_few_rows_are_cut_off() -> None:
    x, y = table()
    model = AdditiveRegressor(max_bins=8, interactions=0).fit(x, y)
    term = model.term("size")
    model.terms_ = [replace(term, errors=np.where(np.arange(len(term.errors)) == 1, 1e6, term.errors))]
    bottom, top = TermsDisplay.from_estimator(model, ["size"]).ax_.get_ylim()
    assert top - bottom < 4 * np.ptp(term.values)


def test_the_most_important_terms_come_first(two_classes: Rows) -> None:
    x, y = two_classes
    model = AdditiveClassifier(interactions=0).fit(x, y)
    display = TermsDisplay.from_estimator(model, n=2)
    importance = [term.importance for term in display.terms]
    assert importance == sorted((term.importance for term in model.terms_), reverse=True)[:2]
    assert display.ax_.get_ylabel() == "log-odds of middle"
    assert display.to_svg().startswith("<svg")


def test_invalid_input_raises(three_classes: Rows) -> None:
    x, y = three_classes
    with pytest.raises(ValueError, match="GaussianNB has no terms_: give a fitted additive model"):
        TermsDisplay.from_estimator(GaussianNB().fit(x, y))
    model = AdditiveClassifier(interactions=0).fit(x, y)
    with pytest.raises(ValueError, match="no term is called 'height'; the terms are"):
        TermsDisplay.from_estimator(model, ["height"])
    with pytest.raises(ValueError, match=r"the terms have values of \[3\] classes: give as many classes"):
        TermsDisplay(model.terms_)
    with pytest.raises(ValueError, match="the model has no terms"):
        TermsDisplay.from_estimator(model.remove("0").remove("1").remove("2"))

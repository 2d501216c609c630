"""Error curves of spam filters: data, areas, axes and ticks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from suffice.plots import SpamFilterDisplay

HM, SM = [0.0, 0.0, 0.2, 1.0, 100.0], [100.0, 8.0, 3.0, 0.0, 0.0]
PERFECT = ([0.0, 0.0, 100.0], [100.0, 0.0, 0.0])
LEARNING = ([10, 20, 30], [np.nan, 20.0, 0.4])


def texts(labels: Any) -> list[str]:
    return [label.get_text() for label in labels]


def test_area_equals_scikit_learn() -> None:
    random = np.random.default_rng(0)
    spam = random.random(300) < 0.5
    score = random.normal(2.0 * spam).round(1)
    fpr, tpr, _ = roc_curve(spam, score)
    display = SpamFilterDisplay({"one": (100 * fpr, 100 - 100 * tpr)})
    assert display.roca["one"] == pytest.approx(100 * (1 - roc_auc_score(spam, score)))


def test_errors_are_drawn_on_logit_axes() -> None:
    display = SpamFilterDisplay({"one": (HM, SM)}, operating_points={"one": (0.2, 3.0)}).plot()
    curve, point = display.ax_.lines
    np.testing.assert_allclose(curve.get_xdata()[2:4], [0.002, 0.01])
    np.testing.assert_allclose(curve.get_ydata()[1:3], [0.08, 0.03])
    np.testing.assert_allclose(point.get_xydata(), [[0.002, 0.03]])
    assert curve.get_drawstyle() == "steps-post"
    assert (display.ax_.get_xscale(), display.ax_.get_yscale()) == ("logit", "logit")
    bottom, top = display.ax_.get_ylim()
    assert bottom > top
    assert texts(display.ax_.get_xticklabels()) == ["0", "1", "10", "50"]
    assert texts(display.ax_.get_legend().get_texts()) == ["one: 0.023"]


def test_zero_errors_are_drawn_at_the_tick_labelled_zero() -> None:
    display = SpamFilterDisplay(
        {"one": PERFECT}, {"one": ([5, 9], [0.0, 0.0])}, operating_points={"one": (0, 0)}
    ).plot()
    curve, point = display.ax_.lines
    lowest = display.ax_.get_xticks()[0]
    assert curve.get_xdata()[1] == curve.get_ydata()[1] == lowest
    assert point.get_xydata().tolist() == [[lowest, lowest]]
    panel = display.axes_[1]
    assert panel.lines[0].get_ydata().tolist() == [panel.get_yticks()[0]] * 2
    assert texts(panel.get_yticklabels())[0] == "0"


def test_random_filter_fits_on_the_axes() -> None:
    guess = np.linspace(0, 100, 11)
    display = SpamFilterDisplay({"guess": (guess, guess[::-1])}).plot()
    assert display.roca["guess"] == pytest.approx(50)
    assert texts(display.ax_.get_xticklabels())[-1] == "99"


def test_learning_curve_is_a_second_panel() -> None:
    display = SpamFilterDisplay({"one": (HM, SM), "two": PERFECT}, {"two": LEARNING}).plot()
    top, bottom = display.axes_
    (line,) = bottom.lines
    assert line.get_color() == top.lines[1].get_color()
    np.testing.assert_array_equal(line.get_xdata(), LEARNING[0])
    np.testing.assert_array_equal(line.get_ydata(), LEARNING[1])
    assert bottom.get_yscale() == "log"
    assert texts(bottom.get_yticklabels()) == ["0.1", "1", "10", "50"]
    assert bottom.get_ylim()[1] == 50
    worse = SpamFilterDisplay({"one": (HM, SM)}, {"one": ([1, 2], [80.0, 3.0])}).plot()
    assert worse.axes_[1].get_ylim()[1] == 100
    assert len(SpamFilterDisplay({"one": (HM, SM)}).plot().axes_) == 1


def test_text_lies_within_the_figure() -> None:
    names = ["a filter that reads words", "a filter that reads words and headers", "short"]
    display = SpamFilterDisplay(dict.fromkeys(names, (HM, SM)), dict.fromkeys(names, LEARNING)).plot()
    display.to_svg()
    width, height = display.figure_.get_size_inches()
    drawn = display.figure_.get_tightbbox()
    assert min(drawn.x0, drawn.y0) >= -0.02
    assert drawn.x1 <= width + 0.02
    assert drawn.y1 <= height + 0.02


@pytest.mark.parametrize(
    ("curves", "options", "message"),
    [
        ({}, {}, "there are no curves to draw"),
        ({"a": (HM, SM[1:])}, {}, r"the arrays of curve 'a' have the shapes \(5,\) and \(4,\)"),
        ({"a": (HM, SM, SM)}, {}, "curve 'a' has 3 arrays"),
        ({"a": (HM[::-1], SM)}, {}, "in curve 'a', percentages of ham lost must increase from 0 to 100"),
        ({"a": (SM, HM)}, {}, "in curve 'a', percentages of ham lost must increase"),
        ({"a": (np.array(HM) / 100, np.array(SM) / 100)}, {}, "must increase from 0 to 100"),
        ({"a": ([np.nan], [np.nan])}, {}, "must increase from 0 to 100"),
        ({"a": (HM, SM)}, {"learning": {"b": LEARNING}}, r"there is no curve 'b'; the curves are \['a'\]"),
        ({"a": (HM, SM)}, {"operating_points": {"b": (1, 1)}}, r"there is no curve 'b'; the curves are \['a'\]"),
        ({"a": (HM, SM)}, {"learning": {"a": ([], [])}}, "n >= 1"),
    ],
)
def test_invalid_curves_raise(curves: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SpamFilterDisplay(curves, **options)

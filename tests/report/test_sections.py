"""What a page says, beside other ways to find it: the hardest rows, curves, effects, ellipses, answers over a grid."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import suffice
import suffice.demo
import suffice.report.report_data as rows_module
from suffice.model_types import MODEL_TYPES
from suffice.report import boundary_section as boundary_module
from suffice.report import data_section as data_module
from suffice.report import learning_curve_section as learning
from suffice.report import report
from suffice.report.boundary_section import answers_over, boundary_section, typical
from suffice.report.classes_section import gaussians_of, most_telling
from suffice.report.data_section import data_section
from suffice.report.displays import SurfaceDisplay, histogram
from suffice.report.importance_section import Effects, effects_of, hard_section, telling_section
from suffice.report.learning_curve_section import counterpart, learning_curve
from suffice.report.markup import bar, figure, listed, share, shown, spark, table, text
from suffice.report.metrics_section import baselines, quality_section, thinned_curve
from suffice.report.report_data import Seen
from suffice.report.selection_section import choice_section, learning_section
from suffice.tables import TableError, open_table
from tests.report.conftest import fitted, wine
from tests.report.html_page import Page


def seen_of(name: str) -> Seen:
    return Seen.of(*fitted(name))


# One pass over a table.


@pytest.mark.parametrize("batch", [100_000, 37])
def test_the_hardest_rows_are_the_hardest_of_all(batch: int) -> None:
    model, file = fitted("two classes")
    whole = next(iter(open_table(file).batches()))
    source = open_table(file)
    source.batches = lambda columns=None: (  # type: ignore[method-assign]
        whole.slice(start, batch) for start in range(0, whole.num_rows, batch)
    )
    seen = Seen.of(model, source)
    p, true = model.predict_proba(file), pd.read_csv(file)["sold_fast"].to_numpy()
    codes = np.searchsorted(model.classes_, true)
    cost = np.where(p.argmax(axis=1) == codes, -np.inf, -np.log(p[np.arange(len(p)), codes]))
    assert [row.place for row in seen.wrong] == np.argsort(-cost, kind="stable")[:5].tolist()
    lead = np.abs(p[:, 1] - p[:, 0])
    assert [row.place for row in seen.unsure] == np.argsort(lead, kind="stable")[:3].tolist()
    for row in [*seen.wrong, *seen.unsure]:
        assert row.cells.column("sold_fast")[0].as_py() == true[row.place]
    assert seen.evaluation.summary() == pytest.approx(model.evaluate(file).summary())


def test_places_count_rows_without_a_target() -> None:
    table = pd.DataFrame({"x": [0.5, 0.1, 9.5, 9.9, 9.7], "y": [None, "a", "b", "b", None]})
    model = suffice.fit(pd.DataFrame({"x": [0.0, 1.5, 9.0, 10.5] * 3, "y": list("aabb") * 3}), "y", model="nb")
    seen = Seen.of(model, table)
    assert seen.skipped == 2
    assert seen.wrong == []
    assert sorted(row.place for row in seen.unsure) == [1, 2, 3]


def test_rows_are_drawn_from_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "DRAWN", 200)
    seen = seen_of("numbers")
    assert seen.block.rows == 200 < seen.rows == 800
    assert seen.is_sample
    assert np.allclose(seen.answers, seen.model.predict(seen.table))


def with_unknown_classes(table: pd.DataFrame, target: str, rows: int = 9) -> pd.DataFrame:
    return table.assign(**{target: np.where(np.arange(len(table)) < rows, "brand new <i>", table[target])})


@pytest.mark.parametrize(("name", "target"), [("two classes", "sold_fast"), ("many classes", "target")])
def test_classes_that_the_model_does_not_know_are_errors(name: str, target: str) -> None:
    model, table = fitted(name)
    table = table if isinstance(table, pd.DataFrame) else pd.read_csv(table)
    strange = with_unknown_classes(table, target)
    seen = Seen.of(model, strange)
    assert seen.evaluation.unknown == {"brand new <i>": 9}
    assert seen.rows == len(table)
    assert seen.evaluation.summary() == pytest.approx(model.evaluate(strange).summary())
    assert seen.block.rows == len(seen.values) == len(table) - 9
    assert seen.values.min() >= 0
    assert not seen.is_sample
    assert not seen.is_learned
    most = strange[target].value_counts(normalize=True)
    assert baselines(seen)["accuracy"] == share(float(most.max()))
    assert baselines(seen)["log loss"] == shown(float(-(most * np.log(most)).sum()))
    page = quality_section(seen).body + data_section(seen).body
    assert "9 rows of classes that the model does not know (brand new &lt;i&gt;) count as errors" in page
    assert "brand new &lt;i&gt; (not known to the model)" in page
    assert "brand new <i>" not in page


def test_a_confident_answer_to_an_unknown_class_is_among_the_hardest_rows(tmp_path: Path) -> None:
    model = suffice.fit(pd.DataFrame({"x": [0.0, 1.5, 9.0, 10.5] * 3, "y": list("aabb") * 3}), "y", model="nb")
    table = pd.DataFrame({"x": [0.5, 9.5, 9.7, 5.2], "y": ["a", "b", "c", "c"]})
    seen = Seen.of(model, table)
    assert [(row.place, row.value) for row in seen.wrong] == [(2, -1), (3, -1)]
    page = report(model, table, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Row 3: taken for b, but is c" in page
    assert "; it does not know its class." in page


def test_a_table_of_unknown_classes_alone_is_refused_with_their_names() -> None:
    model, table = fitted("many classes")
    strange = with_unknown_classes(table, "target", len(table))
    with pytest.raises(TableError, match=r"no row of .* has a class in 'target' that the model knows: .*'brand new"):
        Seen.of(model, strange)


# Measures.


def test_a_pages_areas_are_those_of_scikit_learn(written: Any) -> None:
    model, frame = fitted("many classes")
    p = model.predict_proba(frame)
    words = Page.of(written("many classes")).text
    for code, label in enumerate(model.classes_):
        is_one = frame["target"] == label
        assert f"{label}: {roc_auc_score(is_one, p[:, code]):.3f}" in words
        assert f"{label}: {average_precision_score(is_one, p[:, code]):.3f}" in words


def test_a_thinned_curve_stays_where_it_was() -> None:
    x = np.linspace(0, 1, 5000)
    few = thinned_curve(x, x**2)
    assert len(few[0]) <= 250
    assert (few[0][0], few[0][-1]) == (0, 1)
    assert np.abs(np.interp(x, *few) - x**2).max() < 1e-4


def test_baselines_are_those_of_the_class_shares() -> None:
    found = baselines(seen_of("two classes"))
    shares = pd.read_csv(suffice.demo.houses())["sold_fast"].value_counts(normalize=True)
    assert found["accuracy"] == f"{shares.max():.1%}"
    assert float(found["log loss"]) == pytest.approx(-(shares * np.log(shares)).sum(), abs=1e-4)
    prices = pd.read_csv(suffice.demo.houses())["price"]
    assert float(baselines(seen_of("numbers"))["RMSE"]) == pytest.approx(prices.std(ddof=0), abs=0.05)


# Reasons.


def test_effects_add_up_to_the_log_odds() -> None:
    seen = seen_of("two classes")
    effects = Effects(seen)
    odds = np.log(seen.answers[:, 1]) - np.log(seen.answers[:, 0])
    np.testing.assert_allclose(effects.effects.sum(axis=(1, 2)), odds - odds.mean(), atol=1e-9)
    assert effects.order()[0] == effects.names[int(np.abs(effects.effects).mean(axis=(0, 2)).argmax())]


def test_a_column_that_never_varies_tells_nothing() -> None:
    frame = wine()
    model = suffice.fit(frame, "target", model="nb")
    effects = Effects(Seen.of(model, frame.assign(hue=1.0)))
    strengths = dict(zip(effects.names, effects.strengths, strict=True))
    assert strengths["hue"] == pytest.approx(0, abs=1e-9)
    assert effects.order()[-1] == "hue"


def test_the_most_telling_column_comes_first() -> None:
    random = np.random.default_rng(0)
    sides = np.repeat(["left", "right"], 200)
    far = random.normal(size=400) + 6 * (sides == "right")
    near = random.normal(size=400) + (sides == "right")
    frame = pd.DataFrame({"noise": random.normal(size=400), "near": near, "far": far, "side": sides})
    assert most_telling(Seen.of(suffice.fit(frame, "side", model="logistic"), frame)) == ["far", "near", "noise"]


def test_models_of_words_have_no_effects_of_columns() -> None:
    assert effects_of(seen_of("text")) is None


# Classes, and answers over two columns.


@pytest.mark.parametrize("form", ["gda", "gda-full"])
def test_a_discriminants_ellipses_are_in_the_units_of_the_table(form: str) -> None:
    frame = wine()
    seen = Seen.of(suffice.fit(frame, "target", model=form), frame)
    found = gaussians_of(seen, ("proline", "hue"))
    assert found is not None
    means, covariances = found
    groups = frame.groupby("target")[["proline", "hue"]]
    np.testing.assert_allclose(means, groups.mean())
    ratio = np.diagonal(covariances, axis1=1, axis2=2) / groups.var()
    assert ((ratio > 0.2) & (ratio < 5)).to_numpy().all()  # shrunk, or pooled, but of the same size
    assert gaussians_of(seen_of("two classes"), ("price", "area")) is None


@pytest.mark.parametrize("name", ["two classes", "numbers"])
def test_answers_over_a_grid_are_the_models_answers(name: str) -> None:
    seen = seen_of(name)
    held = typical(seen.block, ("area", "rooms"))
    found = answers_over(seen, {"area": np.array([50.0, 200.0]), "rooms": np.array([2.0, 7.0])}, held)
    cells = {key: value for key, value in held.items() if "." not in key and value is not None}
    cells["garden"] = bool(cells["garden"])
    if "sold_fast" in cells:
        cells["sold_fast"] = ["no", "yes"][int(cells["sold_fast"])]
    day = np.datetime64(int(held["listed.time"]), "D")
    days = pd.date_range(day - np.timedelta64(400, "D"), day + np.timedelta64(400, "D"))
    weekdays = [each.strftime("%a") == held["listed.weekday"] for each in days]
    months = [each.strftime("%m") == held["listed.month"] for each in days]
    usual = days[np.logical_and(weekdays, months)]
    nearest = usual[np.abs(usual - pd.Timestamp(day)).argmin()]
    rows = pd.DataFrame(
        [{**cells, "listed": nearest.date(), "area": a, "rooms": r} for a, r in [(50.0, 2), (200.0, 7)]]
    )
    time = (nearest - pd.Timestamp(0)).days
    again = answers_over(
        seen, {"area": np.array([50.0, 200.0]), "rooms": np.array([2.0, 7.0])}, {**held, "listed.time": time}
    )
    model = seen.model
    np.testing.assert_allclose(again, model.predict_proba(rows) if name == "two classes" else model.predict(rows))
    np.testing.assert_allclose(found, again, rtol=0.3)


# What more rows are worth.


def test_a_learning_curve_compares_a_generative_and_a_discriminative_model() -> None:
    seen = seen_of("two classes")
    other = counterpart(seen)
    assert other is not None
    assert other.generative != seen.model.predictor_.form.generative
    display = learning_curve(seen)
    assert display is not None
    assert list(display.curves) == [seen.model.model_, other.name]
    assert len(display.sizes) == 5
    mine = display.curves[seen.model.model_]
    assert mine[-1] < mine[0]
    assert mine[-1] == pytest.approx(1 - seen.model.candidates_[0].measures["accuracy"], abs=0.06)


def test_a_model_whose_counterpart_cannot_be_fitted_has_its_curve_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"x": random.normal(size=120), "side": np.tile(["left", "right"], 60)})
    frame.loc[frame.side == "left", "x"] = 1.0
    seen = Seen.of(suffice.fit(frame, "side", "logistic", folds=2), frame)
    monkeypatch.setattr(learning, "counterpart", lambda _: MODEL_TYPES["gda-full"])
    section = learning_section(seen)
    assert section is not None
    assert "The curve is that of the model alone." in section.body


def test_a_model_that_takes_long_to_fit_has_no_learning_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "_COEFFICIENTS", 1)
    assert learning_curve(Seen.of(suffice.fit(wine(), "target", "logistic", folds=2), wine())) is None


def test_too_few_rows_make_no_learning_curve() -> None:
    assert learning_curve(seen_of("one number")) is None


def test_sizes_at_which_a_model_cannot_be_fitted_are_left_out() -> None:
    random = np.random.default_rng(0)
    kinds = np.arange(600) % 12
    frame = pd.DataFrame(random.normal(size=(600, 3)) + kinds[:, None], columns=["a", "b", "c"])
    frame["kind"] = [f"kind {kind}" for kind in kinds]
    seen = Seen.of(suffice.fit(frame, "kind", model="gda-full"), frame)
    display = learning_curve(seen)
    assert display is not None
    assert "gda-full" in display.curves
    assert np.isfinite([*display.curves.values()]).all()
    assert display.sizes[-1] == 400


# What there is little to say about.


def test_a_merged_model_has_no_rows_held_out_and_no_candidates() -> None:
    frame = wine().sample(frac=1, random_state=0, ignore_index=True)
    model = suffice.fit(frame[:90], "target", "nb") + suffice.fit(frame[90:], "target", "nb")
    seen = Seen.of(model, frame)
    assert seen.held_out == {}
    assert "cross-validation" not in choice_section(seen).body


def test_rows_that_are_all_right_leave_nothing_to_explain() -> None:
    assert "No row was answered wrongly." in hard_section(replace(seen_of("numbers"), wrong=[], unsure=[])).body


def test_a_column_without_a_known_number_has_no_typical_cell() -> None:
    block = Seen.of(fitted("many classes")[0], wine().assign(hue=np.nan)).block
    assert typical(block, ("ash",))["hue"] is None


def test_a_discriminant_has_no_ellipses_over_a_category() -> None:
    frame = wine().assign(bottle=np.resize(["green", "brown", "brown"], 178))
    seen = Seen.of(suffice.fit(frame, "target", "gda"), frame)
    assert gaussians_of(seen, ("ash", "bottle")) is None
    assert gaussians_of(seen, ("ash", "hue")) is not None


def test_of_many_classes_and_columns_the_first_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_module, "_CLASSES", 2)
    assert "the 2 most frequent of 3" in data_section(seen_of("many classes")).body
    monkeypatch.setattr(boundary_module, "_HELD", 1)
    frame = wine().assign(more=np.arange(178) % 7)
    section = boundary_section(Seen.of(suffice.fit(frame, "target", "nb"), frame), ("ash",))
    assert section is not None
    assert "the first 1 of 3" in section.body


def test_a_column_whose_ends_both_speak_for_a_class_rises_and_falls() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": np.append(random.normal(size=99), random.normal(0, 5, 99)), "y": ["a"] * 99 + ["b"] * 99}
    )
    seen = Seen.of(suffice.fit(frame, "y", "nb"), frame)
    section = telling_section(seen, effects_of(seen))
    assert section is not None
    assert "rises and falls for b" in section.body


def test_a_surface_without_a_slope_is_drawn() -> None:
    display = SurfaceDisplay([0, 1], [0, 1], np.ones((2, 2)), ("area", "rooms"), "price", [[0, 1]]).plot()
    assert display.ax_.get_xlim() == (0, 1)


# Pieces of a page.


def test_pieces_escape_what_they_are_given() -> None:
    nasty = "<script>\"&'"
    pieces = [text(nasty), table(nasty, [nasty], [[nasty]]), spark(np.array([1, 2]), nasty)]
    for piece in pieces:
        assert "<script>" not in piece
        Page(piece)


def test_a_figure_is_named_once_and_takes_any_title() -> None:
    from suffice.plots import ConfusionMatrixDisplay

    made = figure(ConfusionMatrixDisplay([[1]], ["<b>"]), "One & <i>.", "A <b> \x00")
    page = Page(made)
    assert "b" not in page.tags
    assert page.values("aria-label") == ["A <b> ·. One & <i>."]
    assert made.count("A &lt;b&gt; ·") == 3  # the caption, the label, the title


def test_bars_stay_in_their_box() -> None:
    for value in (0.0, -3.0, np.inf, -np.inf, np.nan, 1e300):
        made = bar(value, 2.0)
        page = Page(made)
        x, width = float(page.values("x")[0]), float(page.values("width")[0])
        assert x >= -100
        assert x + width <= 100
        assert ("for" in made) == (not value < 0)


def test_values_are_written_plainly() -> None:
    assert [shown(each) for each in (np.float64(2.0), np.int64(3), 12345, -1e-9, "a", np.inf)] == [
        "2",
        "3",
        "12,345",
        "−1e−09",
        "a",
        "inf",
    ]
    assert share(float("nan")) == "not known"
    assert listed([]) == ""
    assert listed(["a", "b", "c"], most=2) == "a, b and 1 more"


def test_histograms_hold_every_number() -> None:
    random = np.random.default_rng(0)
    for values, whole in ((random.normal(size=99), False), (random.poisson(50, 99) * 1.0, True), (np.ones(5), False)):
        edges, counts = histogram(values, 16, whole=whole)
        assert counts.sum() == len(values)
        assert len(counts) <= 17
        assert len(edges) == len(counts) + 1
    assert histogram(np.array([np.nan]), 4)[1].tolist() == [0]

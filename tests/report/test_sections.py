"""Contents of the sections, compared with other computations: hardest rows, curves, effects, ellipses, grids."""

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
from suffice.model_types import MODEL_TYPES
from suffice.report import boundary_section as boundary_module
from suffice.report import data_section as data_module
from suffice.report import learning_curve_section as learning_module
from suffice.report import report, report_data
from suffice.report.boundary_section import boundary_section, predict_grid, typical_values
from suffice.report.candidates_section import candidates_section
from suffice.report.classes_section import gaussian_parameters, informative_features
from suffice.report.data_section import data_section
from suffice.report.displays import PredictionSurfaceDisplay, histogram
from suffice.report.elements import Bar, Column, Section, Sparkline, Table, make_figure
from suffice.report.errors_section import errors_section
from suffice.report.formats import format_names, format_share, format_value
from suffice.report.importance_section import FeatureEffects, feature_effects, importance_section
from suffice.report.learning_curve_section import counterpart, learning_curve, learning_curve_section
from suffice.report.metrics_section import baselines, metrics_section, thin_curve
from suffice.report.model_card_section import model_card_section
from suffice.report.report_data import ReportData
from suffice.report.terms_section import terms_section
from suffice.tables import TableError, open_table
from tests.report.conftest import MARKUP, fitted, wine
from tests.report.html_page import Page


def data_of(name: str) -> ReportData:
    return ReportData.from_table(*fitted(name))


# Data of a report.


@pytest.mark.parametrize("batch", [100_000, 37])
def test_hardest_rows_of_a_stream_are_those_of_the_whole_table(batch: int) -> None:
    model, file = fitted("two classes")
    whole = next(iter(open_table(file).batches()))
    source = open_table(file)
    source.batches = lambda columns=None: (  # type: ignore[method-assign]
        whole.slice(start, batch) for start in range(0, whole.num_rows, batch)
    )
    data = ReportData.from_table(model, source)
    p, true = model.predict_proba(file), pd.read_csv(file)["sold_fast"].to_numpy()
    codes = np.searchsorted(model.classes_, true)
    loss = np.where(p.argmax(axis=1) == codes, -np.inf, -np.log(p[np.arange(len(p)), codes]))
    assert [row.index for row in data.errors] == np.argsort(-loss, kind="stable")[:5].tolist()
    margin = np.abs(p[:, 1] - p[:, 0])
    assert [row.index for row in data.uncertain] == np.argsort(margin, kind="stable")[:3].tolist()
    for row in [*data.errors, *data.uncertain]:
        assert row.cells.column("sold_fast")[0].as_py() == true[row.index]
    assert data.evaluation.summary() == pytest.approx(model.evaluate(file).summary())


def test_row_indices_count_rows_without_a_target() -> None:
    table = pd.DataFrame({"x": [0.5, 0.1, 9.5, 9.9, 9.7], "y": [None, "a", "b", "b", None]})
    model = suffice.fit(pd.DataFrame({"x": [0.0, 1.5, 9.0, 10.5] * 3, "y": list("aabb") * 3}), "y", model="nb")
    data = ReportData.from_table(model, table)
    assert data.n_skipped == 2
    assert data.errors == []
    assert sorted(row.index for row in data.uncertain) == [1, 2, 3]


def test_sample_is_drawn_from_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_data, "MAX_SAMPLE", 200)
    data = data_of("numbers")
    assert data.block.rows == 200 < data.n_rows == 800
    assert data.is_sampled
    assert np.allclose(data.predictions, data.model.predict(data.sample))


def with_unknown_classes(table: pd.DataFrame, target: str, rows: int = 9) -> pd.DataFrame:
    return table.assign(**{target: np.where(np.arange(len(table)) < rows, "brand new <i>", table[target])})


@pytest.mark.parametrize(("name", "target"), [("two classes", "sold_fast"), ("many classes", "target")])
def test_rows_of_unknown_classes_are_errors(name: str, target: str) -> None:
    model, table = fitted(name)
    table = table if isinstance(table, pd.DataFrame) else pd.read_csv(table)
    changed = with_unknown_classes(table, target)
    data = ReportData.from_table(model, changed)
    assert data.evaluation.unknown == {"brand new <i>": 9}
    assert data.n_rows == len(table)
    assert data.evaluation.summary() == pytest.approx(model.evaluate(changed).summary())
    assert data.block.rows == len(data.targets) == len(table) - 9
    assert data.targets.min() >= 0
    assert not data.is_sampled
    assert not data.is_training_data
    shares = changed[target].value_counts(normalize=True)
    assert baselines(data)["accuracy"] == format_share(float(shares.max()))
    assert baselines(data)["log loss"] == format_value(float(-(shares * np.log(shares)).sum()))
    page = metrics_section(data).render() + data_section(data).render()
    assert "9 rows of classes that are unknown to the model (brand new &lt;i&gt;) count as errors" in page
    assert "brand new &lt;i&gt; (unknown to the model)" in page
    assert "brand new <i>" not in page


def test_confident_prediction_of_an_unknown_class_is_among_the_errors(tmp_path: Path) -> None:
    model = suffice.fit(pd.DataFrame({"x": [0.0, 1.5, 9.0, 10.5] * 3, "y": list("aabb") * 3}), "y", model="nb")
    table = pd.DataFrame({"x": [0.5, 9.5, 9.7, 5.2], "y": ["a", "b", "c", "c"]})
    data = ReportData.from_table(model, table)
    assert [(row.index, row.target) for row in data.errors] == [(2, -1), (3, -1)]
    page = report(model, table, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Row 3: predicted b, actual c" in page
    assert "; c is unknown to the model." in page


def test_table_of_unknown_classes_only_raises() -> None:
    model, table = fitted("many classes")
    changed = with_unknown_classes(table, "target", len(table))
    with pytest.raises(TableError, match=r"no row of .* has a class in 'target' that the model knows: .*'brand new"):
        ReportData.from_table(model, changed)


# Metrics.


def test_areas_on_the_page_equal_scikit_learn(written: Any) -> None:
    model, frame = fitted("many classes")
    p = model.predict_proba(frame)
    text = Page.of(written("many classes")).text
    for code, label in enumerate(model.classes_):
        is_class = frame["target"] == label
        assert f"{label}: {roc_auc_score(is_class, p[:, code]):.3f}" in text
        assert f"{label}: {average_precision_score(is_class, p[:, code]):.3f}" in text


def test_curves_of_two_classes_are_those_of_the_rare_one() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=400)
    rows = pd.DataFrame({"x": x, "y": np.where(x + random.normal(size=400) > 2, "fraud", "ok")})
    model = suffice.fit(rows, "y", "nb")
    data = ReportData.from_table(model, rows)
    page, area = metrics_section(data).render(), data.evaluation.summary()["PR AUC"]
    p = model.predict_proba(rows)[:, 0]
    assert area == pytest.approx(average_precision_score(rows.y == "fraud", p), abs=0.005)
    assert model.positive_ == "fraud"
    assert f"fraud: {area:.3f}" in page
    assert "ok: " not in page


def test_notation_of_numbers_is_on_the_page() -> None:
    cells = [f"{row % 9},5 €" if row % 7 else "n/a" for row in range(90)]
    rows = pd.DataFrame({"price": cells, "y": ["a", "b", "b"] * 30})
    page = data_section(ReportData.from_table(suffice.fit(rows, "y", "nb"), rows)).render()
    assert "How cells are read" in page
    assert "column &#39;price&#39;: decimal comma, € left out; &#39;n/a&#39; is missing" in page


def test_thinned_curve_approximates_the_curve() -> None:
    x = np.linspace(0, 1, 5000)
    thin = thin_curve(x, x**2)
    assert len(thin[0]) <= 250
    assert (thin[0][0], thin[0][-1]) == (0, 1)
    assert np.abs(np.interp(x, *thin) - x**2).max() < 1e-4


def test_baselines_equal_those_of_class_frequencies_and_the_mean() -> None:
    metrics = baselines(data_of("two classes"))
    shares = pd.read_csv(suffice.demo.houses())["sold_fast"].value_counts(normalize=True)
    assert metrics["accuracy"] == f"{shares.max():.1%}"
    assert float(metrics["log loss"]) == pytest.approx(-(shares * np.log(shares)).sum(), abs=1e-4)
    prices = pd.read_csv(suffice.demo.houses())["price"]
    assert float(baselines(data_of("numbers"))["RMSE"]) == pytest.approx(prices.std(ddof=0), abs=0.05)


# Feature importance.


def test_effects_add_up_to_the_log_odds() -> None:
    data = data_of("two classes")
    effects = FeatureEffects(data)
    log_odds = np.log(data.predictions[:, 1]) - np.log(data.predictions[:, 0])
    np.testing.assert_allclose(effects.effects.sum(axis=(1, 2)), log_odds - log_odds.mean(), atol=1e-9)
    assert effects.order()[0] == effects.names[int(np.abs(effects.effects).mean(axis=(0, 2)).argmax())]


def test_constant_column_has_no_importance() -> None:
    frame = wine()
    model = suffice.fit(frame, "target", model="nb")
    effects = FeatureEffects(ReportData.from_table(model, frame.assign(hue=1.0)))
    importance = dict(zip(effects.names, effects.importance, strict=True))
    assert importance["hue"] == pytest.approx(0, abs=1e-9)
    assert effects.order()[-1] == "hue"


def test_most_informative_column_comes_first() -> None:
    random = np.random.default_rng(0)
    sides = np.repeat(["left", "right"], 200)
    far = random.normal(size=400) + 6 * (sides == "right")
    near = random.normal(size=400) + (sides == "right")
    frame = pd.DataFrame({"noise": random.normal(size=400), "near": near, "far": far, "side": sides})
    data = ReportData.from_table(suffice.fit(frame, "side", model="logistic"), frame)
    assert informative_features(data) == ["far", "near", "noise"]


def test_text_models_have_no_feature_effects() -> None:
    assert feature_effects(data_of("text")) is None


def test_effect_that_is_not_monotone_is_described() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"x": np.append(random.normal(size=99), random.normal(0, 5, 99)), "y": ["a"] * 99 + ["b"] * 99}
    )
    data = ReportData.from_table(suffice.fit(frame, "y", "nb"), frame)
    section = importance_section(data, feature_effects(data))
    assert section is not None
    assert "effect is not monotone" in section.render()


# Class distributions, and predictions on a grid.


@pytest.mark.parametrize("form", ["gda", "gda-full"])
def test_ellipses_of_gda_are_in_the_units_of_the_table(form: str) -> None:
    frame = wine()
    data = ReportData.from_table(suffice.fit(frame, "target", model=form), frame)
    parameters = gaussian_parameters(data, ("proline", "hue"))
    assert parameters is not None
    means, covariances = parameters
    groups = frame.groupby("target")[["proline", "hue"]]
    np.testing.assert_allclose(means, groups.mean())
    ratio = np.diagonal(covariances, axis1=1, axis2=2) / groups.var()
    assert ((ratio > 0.2) & (ratio < 5)).to_numpy().all()  # shrunk or pooled
    assert gaussian_parameters(data_of("two classes"), ("price", "area")) is None


def test_gda_has_no_ellipses_over_a_category() -> None:
    frame = wine().assign(bottle=np.resize(["green", "brown", "brown"], 178))
    data = ReportData.from_table(suffice.fit(frame, "target", "gda"), frame)
    assert gaussian_parameters(data, ("ash", "bottle")) is None
    assert gaussian_parameters(data, ("ash", "hue")) is not None


@pytest.mark.parametrize("name", ["two classes", "numbers"])
def test_predictions_on_a_grid_equal_those_of_the_model(name: str) -> None:
    data = data_of(name)
    held = typical_values(data.block, ("area", "rooms"))
    grid = {"area": np.array([50.0, 200.0]), "rooms": np.array([2.0, 7.0])}
    cells = {key: value for key, value in held.items() if "." not in key and value is not None}
    cells["garden"] = bool(cells["garden"])
    if "sold_fast" in cells:
        cells["sold_fast"] = ["no", "yes"][int(cells["sold_fast"])]
    # The nearest date of the typical month and weekday: its parts and its time are those of one day.
    day = np.datetime64(int(held["listed.time"]), "D")
    days = pd.date_range(day - np.timedelta64(400, "D"), day + np.timedelta64(400, "D"))
    is_weekday = [each.strftime("%a") == held["listed.weekday"] for each in days]
    is_month = [each.strftime("%m") == held["listed.month"] for each in days]
    matching = days[np.logical_and(is_weekday, is_month)]
    nearest = matching[np.abs(matching - pd.Timestamp(day)).argmin()]
    rows = pd.DataFrame(
        [{**cells, "listed": nearest.date(), "area": a, "rooms": r} for a, r in [(50.0, 2), (200.0, 7)]]
    )
    on_day = predict_grid(data, grid, {**held, "listed.time": (nearest - pd.Timestamp(0)).days})
    model = data.model
    np.testing.assert_allclose(on_day, model.predict_proba(rows) if name == "two classes" else model.predict(rows))
    np.testing.assert_allclose(predict_grid(data, grid, held), on_day, rtol=0.3)


def test_column_without_known_cells_has_no_typical_value() -> None:
    block = ReportData.from_table(fitted("many classes")[0], wine().assign(hue=np.nan)).block
    assert typical_values(block, ("ash",))["hue"] is None


def test_constant_surface_is_drawn() -> None:
    features = ("area", "rooms")
    display = PredictionSurfaceDisplay([0, 1], [0, 1], np.ones((2, 2)), features, "price", [[0, 1]]).plot()
    assert display.ax_.get_xlim() == (0, 1)


# Learning curve.


def test_learning_curve_compares_a_generative_and_a_discriminative_model() -> None:
    data = data_of("two classes")
    other = counterpart(data)
    assert other is not None
    assert other.generative != data.model.predictor_.model_type.generative
    display = learning_curve(data)
    assert display is not None
    assert list(display.curves) == [data.model.model_, other.name]
    assert len(display.sizes) == 5
    curve = display.curves[data.model.model_]
    assert curve[-1] < curve[0]
    assert curve[-1] == pytest.approx(1 - data.model.candidates_[0].measures["accuracy"], abs=0.06)


def test_learning_curve_without_a_counterpart_that_can_be_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"x": random.normal(size=120), "side": np.tile(["left", "right"], 60)})
    frame.loc[frame.side == "left", "x"] = 1.0
    data = ReportData.from_table(suffice.fit(frame, "side", "logistic", folds=2), frame)
    monkeypatch.setattr(learning_module, "counterpart", lambda _: MODEL_TYPES["gda-full"])
    section = learning_curve_section(data)
    assert section is not None
    assert "The curve is that of the model alone." in section.render()


def test_model_with_many_coefficients_has_no_learning_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_module, "_MAX_COEFFICIENTS", 1)
    model = suffice.fit(wine(), "target", "logistic", folds=2)
    assert learning_curve(ReportData.from_table(model, wine())) is None


def test_few_rows_have_no_learning_curve() -> None:
    assert learning_curve(data_of("one number")) is None


def test_sizes_at_which_a_model_cannot_be_fitted_are_omitted() -> None:
    random = np.random.default_rng(0)
    kinds = np.arange(600) % 12
    frame = pd.DataFrame(random.normal(size=(600, 3)) + kinds[:, None], columns=["a", "b", "c"])
    frame["kind"] = [f"kind {kind}" for kind in kinds]
    data = ReportData.from_table(suffice.fit(frame, "kind", model="gda-full"), frame)
    display = learning_curve(data)
    assert display is not None
    assert "gda-full" in display.curves
    assert np.isfinite([*display.curves.values()]).all()
    assert display.sizes[-1] == 400


# Sections with little content.


def test_merged_model_has_no_held_out_metrics_and_no_candidates() -> None:
    frame = wine().sample(frac=1, random_state=0, ignore_index=True)
    model = suffice.fit(frame[:90], "target", "nb") + suffice.fit(frame[90:], "target", "nb")
    data = ReportData.from_table(model, frame)
    assert data.held_out_metrics == {}
    assert "cross-validation" not in candidates_section(data).render()


def test_errors_section_without_errors() -> None:
    data = replace(data_of("numbers"), errors=[], uncertain=[])
    assert "No row is predicted wrongly." in errors_section(data).render()


def test_long_lists_of_classes_and_columns_are_truncated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_module, "_MAX_CLASSES", 2)
    assert "the 2 most frequent of 3" in data_section(data_of("many classes")).render()
    monkeypatch.setattr(boundary_module, "_MAX_HELD", 1)
    frame = wine().assign(more=np.arange(178) % 7)
    section = boundary_section(ReportData.from_table(suffice.fit(frame, "target", "nb"), frame), ("ash",))
    assert section is not None
    assert "the first 1 of 3" in section.render()


# Elements and formats.


def rendered(table: Table) -> str:
    return Section("importance", "", "importance", {"introduction": [], "columns": table}).render()


@pytest.mark.parametrize("hostile", [MARKUP, "<script>\"&'", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}"])
def test_templates_escape_every_value_of_a_table(hostile: str) -> None:
    cells = [[hostile, hostile, Sparkline(np.array([1, 2]), hostile, hostile)]]
    columns = [Column(hostile), Column(hostile, "graphic"), Column(hostile)]
    page = Page(rendered(Table(hostile, columns, cells, note=hostile)))
    assert not {"script", "img"} & set(page.tags)
    assert page.text.count(hostile) == 8  # caption, note, three headers, three cells
    assert [value for value in page.values("aria-label") if value == hostile] == [hostile] * 2


def test_figure_escapes_title_and_caption() -> None:
    from suffice.plots import ConfusionMatrixDisplay

    figure = make_figure(ConfusionMatrixDisplay([[1]], ["<b>"]), "One & <i>.", "A <b> \x00")
    html = Section("", "", "metrics", {"introduction": [], "tables": [], "figures": [figure]}).render()
    page = Page(html)
    assert not {"b", "i"} & set(page.tags)
    assert page.values("aria-label") == ["A <b> ·. One & <i>."]
    assert html.count("A &lt;b&gt; ·") == 3  # caption, label, title


@pytest.mark.parametrize("value", [0.0, -3.0, np.inf, -np.inf, np.nan, 1e300])
def test_bars_lie_within_their_box(value: float) -> None:
    html = rendered(Table("", [Column("")], [[Bar(value, 2.0)]]))
    page = Page(html)
    x, width = float(page.values("x")[0]), float(page.values("width")[0])
    assert x >= -100
    assert x + width <= 100
    assert ('class="positive"' in html) == (not value < 0)


def test_formats_of_values() -> None:
    assert [format_value(each) for each in (np.float64(2.0), np.int64(3), 12345, -1e-9, "a", np.inf)] == [
        "2",
        "3",
        "12,345",
        "−1e−09",
        "a",
        "inf",
    ]
    assert format_share(float("nan")) == "unknown"
    assert format_names([]) == ""
    assert format_names(["a", "b", "c"], max_names=2) == "a, b and 1 more"


def test_histograms_count_every_number() -> None:
    random = np.random.default_rng(0)
    for values, integer in ((random.normal(size=99), False), (random.poisson(50, 99) * 1.0, True), (np.ones(5), False)):
        edges, counts = histogram(values, 16, integer=integer)
        assert counts.sum() == len(values)
        assert len(counts) <= 17
        assert len(edges) == len(counts) + 1
    assert histogram(np.array([np.nan]), 4)[1].tolist() == [0]


# Model card.


def card(model: suffice.TableModel, table: Any) -> dict[str, str]:
    return dict(model_card_section(ReportData.from_table(model, table)).data["facts"].rows)


def test_the_model_card_tells_how_rows_are_forgotten_and_what_cannot_be_exported() -> None:
    table = wine()
    exact = suffice.TableModel("gda", folds=2, ledger=True).fit(table, "target")
    found = card(exact, table)
    assert found["Data"] == "178 rows."
    assert found["Columns"] == "numeric: ash, hue and proline."
    assert found["Quality on held-out rows"].startswith("log loss ")
    assert "ash 1.36 to 3.23, hue 0.48 to 1.71" in found["Limits"]
    assert found["Forgetting rows"].endswith("The ledger of 178 learned rows refuses rows that were not learned.")
    assert found["Use without suffice"] == "suffice export MODEL --to onnx, python or json."
    two = table[table["target"] != "cultivar 2"]
    found = card(suffice.TableModel("local", folds=2).fit(two, "target"), two)
    assert found["Forgetting rows"] == "The model has no sums to subtract rows from: fit it again without the rows."
    assert found["Use without suffice"].startswith("Not possible: the model 'local' cannot be exported")


def test_the_model_card_names_the_threshold_and_the_limits_of_the_data() -> None:
    random = np.random.default_rng(0)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, 120), unit="D")
    table = pd.DataFrame({"day": day, "x": random.normal(size=120), "kind": random.choice(["a", "b"], 120)})
    table["y"] = random.choice(["no", "yes"], 120)
    table.loc[:4, "y"] = None
    found = card(suffice.TableModel("nb", folds=2, threshold=0.25).fit(table, "y"), table)
    assert found["Prediction"] == "y (classes: no and yes)"
    assert found["Model"].endswith("; yes is predicted if its probability is at least 0.25")
    assert found["Data"] == "115 rows; 5 rows without a y skipped."
    assert "no better than guessing" in found["Limits"]
    assert "day 2024-01-0" in found["Limits"]
    assert "Categories that were not learned have no effect of their own." in found["Limits"]


# Terms.


def test_terms_of_an_additive_model_are_drawn_from_the_largest_with_their_pairs() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(-2, 2, size=(600, 10)), columns=list("abcdefghij"))
    table["y"] = table["b"] * table["c"] + 2 * table["a"] + sum(0.1 * table[name] for name in "defghij")
    model = suffice.fit(table, "y", model="additive", folds=2)
    section = terms_section(ReportData.from_table(model, table))
    assert section is not None
    titles = [figure.title for figure in section.data["figures"]]
    assert titles[:2] == ["a", "b × c"]
    assert len([title for title in titles if "×" not in title]) == 8
    assert "10 terms of one column" in section.data["introduction"][0]
    assert section.data["introduction"][2] == f"Drawn are the {len(titles)} largest."
    importance = model.estimator_.term("a").importance
    assert section.data["figures"][0].caption == f"Mean absolute effect: {format_value(importance)}."


def test_terms_of_many_classes_have_curves_of_those_they_change_most() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 8, size=800)})
    table["y"] = [f"class {int(x)}" for x in table["x"] + 0.3 * rng.normal(size=800)]
    model = suffice.fit(table, "y", model="additive", folds=2, columns={"y": "category"})
    section = terms_section(ReportData.from_table(model, table))
    assert section is not None
    assert "Curves are those of the 5 classes" in section.data["introduction"][-1]
    assert terms_section(data_of("numbers")) is None

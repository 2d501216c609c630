"""Report pages: well-formed, self-contained, escaped, and with the sections of their task."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import suffice
import suffice.demo
from suffice.report import report
from suffice.tables import TableError, TableModel, UsageError, scan
from tests.report.conftest import CASES, DAY, MARKUP, fitted, house_columns, one_number, wine
from tests.report.html_page import Page

Written = Callable[[str], Path]
each_case = pytest.mark.parametrize("name", CASES)

ALWAYS = {"data", "candidates", "metrics", "classes", "errors", "card"}
SECTIONS = {
    "two classes": {"importance", "effects", "boundary", "learning", "solver"},
    "many classes": {"importance", "effects", "boundary", "learning"},
    "numbers": {"importance", "effects", "boundary", "learning"},
    "counts": {"importance", "effects", "boundary", "learning"},
    "text": {"importance", "learning"},
    "one number": {"importance", "effects", "boundary", "solver"},
    "additive": {"importance", "terms", "boundary", "learning"},
    "markup": {"importance", "effects", "boundary", "learning"},
}


@each_case
def test_page_is_well_formed(written: Written, name: str) -> None:
    page = Page.of(written(name))
    assert page.source.startswith("<!DOCTYPE html>")
    assert page.tags.count("h1") == page.tags.count("main") == page.tags.count("head") == 1
    assert ("meta", "content", "width=device-width, initial-scale=1") in page.attributes
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert set(page.values("aria-labelledby")) <= set(ids)
    for before, after in zip(page.headings, page.headings[1:], strict=False):
        assert after <= before + 1, "a heading skips a level"


@each_case
def test_page_has_the_sections_of_its_task(written: Written, name: str) -> None:
    page = Page.of(written(name))
    found = set(page.sections)
    assert found >= ALWAYS | SECTIONS[name] - {"solver"}
    assert found <= ALWAYS | SECTIONS[name] | {"solver"}
    assert set(page.sections) <= set(page.values("id"))
    assert page.tags.count("caption") == page.tags.count("table") > 2


@each_case
def test_page_is_self_contained(written: Written, name: str) -> None:
    page = Page.of(written(name))
    assert not {"script", "link", "img", "iframe", "object", "embed", "base"} & set(page.tags)
    for _, attribute, value in page.attributes:
        assert not attribute.startswith("on")
        if attribute in ("href", "src", "xlink:href"):
            assert value.startswith("#")


@each_case
def test_every_image_has_a_text_alternative(written: Written, name: str) -> None:
    images = [attributes for tag, attributes in Page.of(written(name)).elements if tag == "svg"]
    assert images
    for image in images:
        if image.get("aria-hidden") != "true":
            assert image["role"] == "img"
            assert len(image["aria-label"]) >= 4


def test_names_and_cells_are_escaped(written: Written) -> None:
    page = Page.of(written("markup"))
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert f"Prediction of sold {MARKUP} $1 $2" in page.text
    assert f"area {MARKUP}" in page.text
    assert "yes & <b>" in page.text
    assert f"{MARKUP}&\"'" in page.text
    assert MARKUP not in page.source


def test_control_characters_become_dots(tmp_path: Path) -> None:
    table = one_number().rename(columns={"x": "a\x00b\x1b"})
    model = suffice.fit(table, "side", model="nb")
    page = Page.of(report(model, table, tmp_path / "page.html", date=DAY))
    assert "a·b·" in page.text
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", page.source)


@pytest.mark.parametrize("name", ["two classes", "counts"])
def test_headline_metrics_of_training_rows_are_those_of_held_out_rows(written: Written, name: str) -> None:
    model, table = fitted(name)
    page = Page.of(written(name))
    training, held_out = model.evaluate(table).summary(), model.candidates_[0]
    if name == "two classes":
        accuracy = held_out.measures["accuracy"]
        assert f"Accuracy on held-out rows {accuracy:.1%}" in page.text
        assert f"On the training rows: {training['accuracy']:.1%}" in page.text
        assert f"ROC AUC {training['ROC AUC']:.3g}" in page.text
    else:
        assert f"Poisson deviance on held-out rows {held_out.loss:.3g}" in page.text
        assert f"Poisson deviance {held_out.loss:.3g} {training['Poisson deviance']:.3g}" in page.text


def test_headline_metrics_of_other_rows_are_those_of_the_table(tmp_path: Path) -> None:
    model, table = fitted("one number")
    table = table[::2]
    page = Page.of(report(model, table, tmp_path / "page.html", date=DAY))
    accuracy, held_out = model.evaluate(table).summary()["accuracy"], model.candidates_[0].measures["accuracy"]
    assert f"Accuracy {accuracy:.1%}" in page.text
    assert f"On the held-out rows of cross-validation: {held_out:.1%}" in page.text


def test_header_names_date_version_model_and_table(written: Written) -> None:
    page = Page.of(written("two classes"))
    assert "29 February 2024" in page.text
    assert f"suffice {suffice.__version__}" in page.text
    assert "fitted to 800 rows; evaluated on 800 rows of houses.csv" in page.text
    assert "suffice report MODEL houses.csv -o two-classes.html" in page.text
    assert str(suffice.demo.houses().parent) not in page.source


def test_candidates_are_listed(written: Written) -> None:
    model, _ = fitted("two classes")
    page = Page.of(written("two classes"))
    for each in model.candidates_:
        assert each.title in page.text
    assert {"generative", "discriminative"} <= set(page.text.split())


def test_ignored_columns_are_listed_with_their_reason(written: Written) -> None:
    assert "id an identifier: nearly all values are distinct 0%" in Page.of(written("two classes")).text


def test_page_of_a_text_model_shows_words(written: Written) -> None:
    page = Page.of(written("text"))
    assert "Words with the highest log-odds for each class" in page.text
    assert "love" in page.text.split()
    assert "blockquote" in page.tags
    assert "boundary" not in page.sections


# Other tables.


def _page(model: TableModel, table: Any, folder: Path, **options: Any) -> Page:
    return Page.of(report(model, table, folder / "page.html", date=DAY, **options))


def test_table_without_errors(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0, 10.0, 11.0, 12.0], "y": list("aaabbb")})
    page = _page(suffice.fit(table, "y", model="nb"), table, tmp_path)
    assert "No row is predicted wrongly." in page.text
    assert "Least confident predictions" in page.text


def test_single_error_is_explained(tmp_path: Path) -> None:
    model = suffice.fit(one_number(), "side", model="nb")
    table = pd.DataFrame({"x": [0, 1, 39, 38, 2], "side": ["left", "left", "right", "right", "right"]})
    page = _page(model, table, tmp_path)
    assert "Row 5: predicted left, actual right" in page.text
    assert "x = 2" in page.text
    assert page.text.count("predicted left, actual right") == 1


@pytest.mark.parametrize("name", ["one number", "counts", "text", pytest.param("two classes", marks=pytest.mark.slow)])
def test_table_of_one_row(name: str, tmp_path: Path) -> None:
    from suffice.tables import open_table

    model, table = fitted(name)
    first = next(iter(open_table(table).batches())).slice(0, 1)
    page = _page(model, first, tmp_path)
    assert "evaluated on 1 row of" in page.text
    assert "learning" not in page.sections


def test_missing_cells_and_targets_are_counted_and_features_can_be_given(tmp_path: Path) -> None:
    table = wine()
    table.loc[:88, "hue"] = float("nan")
    table.loc[170:, "target"] = None
    page = _page(fitted("many classes")[0], table, tmp_path, features=("hue", "ash"))
    assert "170 rows with a known target" in page.text
    assert "8 rows without a target are skipped" in page.text
    assert re.search(r"hue numeric 52\.4%", page.text)
    assert "Most probable target over hue and ash" in page.text


def test_columns_without_known_cells(tmp_path: Path) -> None:
    table = house_columns("area", "heating", "listed", "note", "sold_fast")[:50]
    model = suffice.fit(table, "sold_fast", "logistic", columns={"note": "text"})
    page = _page(model, table.assign(area=None, heating=None, listed=None, note=None), tmp_path)
    assert page.text.count("100% none") >= 3


def test_plots_of_large_tables_use_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import suffice.report.report_data as report_data

    monkeypatch.setattr(report_data, "MAX_SAMPLE", 100)
    table = pd.DataFrame(
        {"x": [row % 50 for row in range(150)], "y": [2.5 * (row % 50) + row % 7 for row in range(150)]}
    )
    model = suffice.fit(table, "y", "linear")
    page = _page(model, table, tmp_path)
    assert "random sample of 100 rows" in page.text
    assert f"R² {model.evaluate(table).summary()['R²']:.3g}" in page.text


def test_errors_of_a_model_without_explanations_show_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "COMPARISON_ROWS", 15)
    table = one_number()[::2]
    page = _page(suffice.fit(table, "side", model="local", folds=2, most_rows=15), table, tmp_path)
    assert "fitted to a random sample of 15 of 20 rows" in page.text
    assert "Mean absolute effect" not in page.text
    assert "Cells of the row" in page.text


def test_page_lists_thresholds_and_the_rise_of_the_loss(tmp_path: Path) -> None:
    table = one_number()
    page = _page(suffice.fit(table, "side", "logistic", cost=(1, 3), folds=2), table, tmp_path)
    assert "Thresholds of the probability of" in page.text
    assert page.text.count("(used)") == 1
    assert "95 % interval of its log loss:" in page.text
    assert "rise of the loss if shuffled" in page.text


def test_many_classes_and_columns_are_truncated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import suffice.report.data_section as data_section

    monkeypatch.setattr(data_section, "_MAX_COLUMNS", 20)
    rows = range(60)
    table = pd.DataFrame({f"column {j}": [(i * (j + 3)) % 17 + i % 30 for i in rows] for j in range(25)})
    table["kind"] = [f"class {i % 30:02d}" for i in rows]
    page = _page(suffice.fit(table, "kind", model="nb", folds=2), table, tmp_path)
    assert "the first 20 of 25" in page.text
    assert "The 6 most frequent of 30 classes are shown." in page.text


def test_page_of_a_saved_model_has_the_same_bytes(written: Written, tmp_path: Path) -> None:
    model, table = fitted("one number")
    model.save(tmp_path / "model.suffice")
    loaded = suffice.load(tmp_path / "model.suffice")
    page = report(loaded, table, tmp_path / "one-number.html", date=DAY)
    assert page.read_bytes() == written("one number").read_bytes()


# Errors, and files.


def test_missing_jinja2_names_the_extra(tmp_path: Path) -> None:
    model, table = fitted("one number")
    model.save(tmp_path / "model.suffice")
    table.to_csv(tmp_path / "table.csv", index=False)
    program = "import sys; sys.modules['jinja2'] = None; from suffice.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "report", "model.suffice", "table.csv"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "reports need Jinja2: pip install 'suffice[report]'" in done.stderr
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            ("hue", "ahs"),
            "; did you mean 'ash'?",
        ),
        (("hue", "hue"), "features must name two different numeric columns; got ['hue', 'hue']"),
        ("hue", "features must name two different numeric columns; got ['hue']"),
        (("hue", "target"), "'target' is not a numeric column"),
    ],
)
def test_invalid_features_raise(features: Any, message: str, tmp_path: Path) -> None:
    model, table = fitted("many classes")
    with pytest.raises(TableError, match=re.escape(message)):
        report(model, table, tmp_path / "page.html", features=features)
    assert not list(tmp_path.iterdir())


def test_other_models_raise(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"model must be a TableModel, as suffice\.fit returns it; got TextClassifier"):
        report(suffice.TextClassifier(), ["a"], tmp_path / "page.html")  # type: ignore[arg-type]


def test_table_without_targets_raises(tmp_path: Path) -> None:
    model, table = fitted("one number")
    with pytest.raises(TableError, match="no row of the data frame has a target in 'side'"):
        report(model, table.assign(side=None), tmp_path / "page.html")
    with pytest.raises(TableError, match="lacks the column 'side'"):
        report(model, table[["x"]], tmp_path / "page.html")


def test_failure_keeps_the_existing_page(tmp_path: Path) -> None:
    model, table = fitted("one number")
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(TableError, match="that the model knows"):
        report(model, table.assign(side="middle"), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(UsageError, match=r"there is no folder .*nowhere"):
        report(model, table, tmp_path / "nowhere" / "page.html")
    with pytest.raises(UsageError, match="name a file"):
        report(model, table, tmp_path)


def test_page_replaces_an_existing_file_and_reports_progress(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    path.chmod(0o600)
    model, table = fitted("one number")
    before = datetime.date.today()
    calls: list[tuple[str, int, int | None]] = []
    assert report(model, table, path, watch=lambda *call: calls.append(call)) == path
    page = Page.of(path)
    assert page.source.startswith("<!DOCTYPE html>")
    assert page.values("datetime")[0] in (before.isoformat(), datetime.date.today().isoformat())
    assert path.stat().st_mode & 0o777 == 0o600
    assert calls[0] == ("reading", 40, 40)
    assert {what for what, _, _ in calls} == {"reading", "drawing"}
    assert [done for what, done, _ in calls if what == "drawing"] == list(range(13))

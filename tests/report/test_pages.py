"""Reports as pages: whole, alone, escaped, and with the sections that a model's task asks for."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import suffice
import suffice.demo
from suffice.report import report
from suffice.tables import TableError, TableModel, UsageError, scan
from tests.report.conftest import CASES, DAY, NASTY, fitted, one_number, some_of_houses, wine
from tests.report.html_page import Page

Written = Callable[[str], Path]
each_case = pytest.mark.parametrize("name", CASES)

ALWAYS = {"data", "choice", "quality", "classes", "hard"}
SECTIONS = {
    "two classes": {"telling", "boundary", "learning", "solver"},
    "many classes": {"telling", "boundary", "learning"},
    "numbers": {"telling", "boundary", "learning"},
    "counts": {"telling", "boundary", "learning"},
    "text": {"learning"},
    "one number": {"telling", "boundary", "solver"},
    "nasty": {"telling", "boundary", "learning"},
}


@each_case
def test_a_page_is_well_formed(written: Written, name: str) -> None:
    page = Page.of(written(name))
    assert page.source.startswith("<!DOCTYPE html>")
    assert page.tags.count("h1") == page.tags.count("main") == page.tags.count("head") == 1
    assert ("meta", "content", "width=device-width, initial-scale=1") in page.attributes
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    assert set(page.values("aria-labelledby")) <= set(ids)
    for before, after in zip(page.headings, page.headings[1:], strict=False):
        assert after <= before + 1, "a heading leaves a level out"


@each_case
def test_a_page_has_its_sections(written: Written, name: str) -> None:
    page = Page.of(written(name))
    found = set(page.sections)
    assert found >= ALWAYS | SECTIONS[name] - {"solver"}
    assert found <= ALWAYS | SECTIONS[name] | {"solver"}
    assert set(page.sections) <= set(page.values("id"))
    assert page.tags.count("caption") == page.tags.count("table") > 2


@each_case
def test_a_page_loads_nothing_else(written: Written, name: str) -> None:
    page = Page.of(written(name))
    assert not {"script", "link", "img", "iframe", "object", "embed", "base"} & set(page.tags)
    for _, attribute, value in page.attributes:
        assert not attribute.startswith("on")
        if attribute in ("href", "src", "xlink:href"):
            assert value.startswith("#")


@each_case
def test_every_picture_says_what_it_shows(written: Written, name: str) -> None:
    pictures = [attributes for tag, attributes in Page.of(written(name)).elements if tag == "svg"]
    assert pictures
    for picture in pictures:
        if picture.get("aria-hidden") != "true":
            assert picture["role"] == "img"
            assert len(picture["aria-label"]) >= 4


def test_names_and_cells_are_escaped(written: Written) -> None:
    page = Page.of(written("nasty"))
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert f"Predicting sold {NASTY} $1 $2" in page.text
    assert f"area {NASTY}" in page.text
    assert "yes & <b>" in page.text
    assert f"{NASTY}&\"'" in page.text
    assert NASTY not in page.source


def test_what_cannot_be_seen_is_shown_as_a_dot(tmp_path: Path) -> None:
    table = one_number().rename(columns={"x": "a\x00b\x1b"})
    model = suffice.fit(table, "side", model="nb")
    page = Page.of(report(model, table, tmp_path / "page.html", date=DAY))
    assert "a·b·" in page.text
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", page.source)


@pytest.mark.parametrize("name", ["two classes", "counts"])
def test_rows_held_out_make_the_headlines(written: Written, name: str) -> None:
    model, table = fitted(name)
    page = Page.of(written(name))
    learned, unseen = model.evaluate(table).summary(), model.candidates_[0]
    if name == "two classes":
        accuracy = unseen.measures["accuracy"]
        assert f"Accuracy, on rows held out {accuracy:.1%}" in page.text
        assert f"on the rows it learned from: {learned['accuracy']:.1%}" in page.text
        assert f"ROC AUC {learned['ROC AUC']:.3g}" in page.text
    else:
        assert f"Poisson deviance, on rows held out {unseen.loss:.3g}" in page.text
        assert f"Poisson deviance {unseen.loss:.3g} {learned['Poisson deviance']:.3g}" in page.text


def test_other_rows_than_those_learned_from_make_the_headlines(tmp_path: Path) -> None:
    model, table = fitted("one number")
    table = table[::2]
    page = Page.of(report(model, table, tmp_path / "page.html", date=DAY))
    accuracy, unseen = model.evaluate(table).summary()["accuracy"], model.candidates_[0].measures["accuracy"]
    assert f"Accuracy {accuracy:.1%}" in page.text
    assert f"on rows held out when it was fitted: {unseen:.1%}" in page.text


def test_the_head_says_when_and_what(written: Written) -> None:
    page = Page.of(written("two classes"))
    assert "29 February 2024" in page.text
    assert f"suffice {suffice.__version__}" in page.text
    assert "learnt from 800 rows; looked at on 800 rows of houses.csv" in page.text
    assert "suffice report MODEL houses.csv -o two-classes.html" in page.text
    assert str(suffice.demo.houses().parent) not in page.source


def test_candidates_stand_beside_each_other(written: Written) -> None:
    model, _ = fitted("two classes")
    page = Page.of(written("two classes"))
    for each in model.candidates_:
        assert each.title in page.text
    assert {"generative", "discriminative"} <= set(page.text.split())


def test_ignored_columns_are_named_with_the_reason(written: Written) -> None:
    assert "id an identifier: nearly every row has its own 0%" in Page.of(written("two classes")).text


def test_a_text_models_page_is_about_words(written: Written) -> None:
    page = Page.of(written("text"))
    assert "The words that speak most for each class" in page.text
    assert "love" in page.text.split()
    assert "blockquote" in page.tags
    assert "boundary" not in page.sections


# Tables of other kinds.


def _page(model: TableModel, table: Any, folder: Path, **how: Any) -> Page:
    return Page.of(report(model, table, folder / "page.html", date=DAY, **how))


def test_a_table_without_a_wrong_row_says_so(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": [0.0, 1.0, 2.0, 10.0, 11.0, 12.0], "y": list("aaabbb")})
    page = _page(suffice.fit(table, "y", model="nb"), table, tmp_path)
    assert "No row was answered wrongly." in page.text
    assert "Least sure" in page.text


def test_a_single_wrong_row_is_explained(tmp_path: Path) -> None:
    model = suffice.fit(one_number(), "side", model="nb")
    table = pd.DataFrame({"x": [0, 1, 39, 38, 2], "side": ["left", "left", "right", "right", "right"]})
    page = _page(model, table, tmp_path)
    assert "Row 5: taken for left, but is right" in page.text
    assert "x = 2" in page.text
    assert page.text.count("but is") == 1


@pytest.mark.parametrize("name", ["one number", "counts", "text", pytest.param("two classes", marks=pytest.mark.slow)])
def test_one_row_is_enough_for_a_report(name: str, tmp_path: Path) -> None:
    from suffice.tables import open_table

    model, table = fitted(name)
    first = next(iter(open_table(table).batches())).slice(0, 1)
    page = _page(model, first, tmp_path)
    assert "looked at on 1 row of" in page.text
    assert "learning" not in page.sections


def test_missing_cells_and_targets_are_counted_and_two_columns_can_be_chosen(tmp_path: Path) -> None:
    table = wine()
    table.loc[:88, "hue"] = float("nan")
    table.loc[170:, "target"] = None
    page = _page(fitted("many classes")[0], table, tmp_path, features=("hue", "ash"))
    assert "170 rows with a known target" in page.text
    assert "8 rows without a target are left out" in page.text
    assert re.search(r"hue number 52\.4%", page.text)
    assert "The most probable target over hue and ash" in page.text


def test_a_column_may_be_missing_altogether(tmp_path: Path) -> None:
    table = some_of_houses("area", "heating", "listed", "note", "sold_fast")[:50]
    model = suffice.fit(table, "sold_fast", "logistic", columns={"note": "text"})
    page = _page(model, table.assign(area=None, heating=None, listed=None, note=None), tmp_path)
    assert page.text.count("100% none") >= 3


def test_more_rows_than_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import suffice.report.report_data as rows

    monkeypatch.setattr(rows, "DRAWN", 100)
    table = pd.DataFrame(
        {"x": [row % 50 for row in range(150)], "y": [2.5 * (row % 50) + row % 7 for row in range(150)]}
    )
    model = suffice.fit(table, "y", "linear")
    page = _page(model, table, tmp_path)
    assert "100 rows drawn at random" in page.text
    assert f"R² {model.evaluate(table).summary()['R²']:.3g}" in page.text


def test_a_model_without_parts_shows_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "COMPARED", 15)
    table = one_number()[::2]
    page = _page(suffice.fit(table, "side", model="local", folds=2, most_rows=15), table, tmp_path)
    assert "learnt from 15 of 20 rows, drawn at random" in page.text
    assert "telling" not in page.sections
    assert "Its cells" in page.text


def test_many_classes_and_many_columns_stay_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import suffice.report.data_section as data_section

    monkeypatch.setattr(data_section, "_COLUMNS", 20)
    rows = range(60)
    table = pd.DataFrame({f"column {j}": [(i * (j + 3)) % 17 + i % 30 for i in rows] for j in range(25)})
    table["kind"] = [f"class {i % 30:02d}" for i in rows]
    page = _page(suffice.fit(table, "kind", model="nb", folds=2), table, tmp_path)
    assert "the first 20 of 25" in page.text
    assert "The 6 most frequent of 30 classes are shown." in page.text


def test_the_same_rows_and_a_model_from_a_file_make_the_same_page(written: Written, tmp_path: Path) -> None:
    model, table = fitted("one number")
    model.save(tmp_path / "model.suffice")
    loaded = suffice.load(tmp_path / "model.suffice")
    page = report(loaded, table, tmp_path / "one-number.html", date=DAY)
    assert page.read_bytes() == written("one number").read_bytes()


# Refusals, and files.


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (
            ("hue", "ahs"),
            "; did you mean 'ash'?",
        ),
        (("hue", "hue"), "features must name two columns of numbers that differ; got ['hue', 'hue']"),
        ("hue", "features must name two columns of numbers that differ; got ['hue']"),
        (("hue", "target"), "'target' is no column of numbers"),
    ],
)
def test_wrong_features_are_named(features: Any, words: str, tmp_path: Path) -> None:
    model, table = fitted("many classes")
    with pytest.raises(TableError, match=re.escape(words)):
        report(model, table, tmp_path / "page.html", features=features)
    assert not list(tmp_path.iterdir())


def test_other_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"a model of a table, as suffice\.fit gives it; got TextClassifier"):
        report(suffice.TextClassifier(), ["a"], tmp_path / "page.html")  # type: ignore[arg-type]


def test_a_table_without_targets_is_refused(tmp_path: Path) -> None:
    model, table = fitted("one number")
    with pytest.raises(TableError, match="no row of the data frame has a target in 'side'"):
        report(model, table.assign(side=None), tmp_path / "page.html")
    with pytest.raises(TableError, match="lacks the column 'side'"):
        report(model, table[["x"]], tmp_path / "page.html")


def test_a_failure_leaves_the_old_page_and_nothing_else(tmp_path: Path) -> None:
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


def test_a_page_replaces_one_that_is_there_and_progress_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")
    path.chmod(0o600)
    model, table = fitted("one number")
    before = datetime.date.today()
    seen: list[tuple[str, int, int | None]] = []
    assert report(model, table, path, watch=lambda *what: seen.append(what)) == path
    page = Page.of(path)
    assert page.source.startswith("<!DOCTYPE html>")
    assert page.values("datetime")[0] in (before.isoformat(), datetime.date.today().isoformat())
    assert path.stat().st_mode & 0o777 == 0o600
    assert seen[0] == ("reading", 40, 40)
    assert {what for what, _, _ in seen} == {"reading", "drawing"}
    assert [done for what, done, _ in seen if what == "drawing"] == list(range(9))

"""suffice report and demo: pages and tours that stand on their own."""

from __future__ import annotations

import shlex
from html.parser import HTMLParser
from pathlib import Path

import pytest

import suffice as library
from tests.cli.command import Ran, done, process, refused, written


class Page(HTMLParser):
    """What a page holds: its tags in balance, what it asks others for, and its words."""

    VOID = frozenset(
        ("meta", "br", "img", "hr", "input", "link", "col", "wbr", "path", "line", "rect", "circle", "use")
    )

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.asked: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down a tag that opens."""
        if tag not in self.VOID:
            self.open.append(tag)
        self.asked += [str(value) for name, value in attrs if name in ("src", "href", "xlink:href", "data")]

    def handle_endtag(self, tag: str) -> None:
        """Close a tag."""
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Leave out what opens and closes."""

    def handle_data(self, data: str) -> None:
        """Take down words."""
        self.words += data


@pytest.fixture(scope="module")
def small(place: Path) -> tuple[Path, Path]:
    """A logistic regression of one column, and its table."""
    table, path = place / "small.csv", place / "small.suffice"
    rows = [f"{n % 41 / 2},{'yes' if n % 41 + n % 7 > 22 else 'no'}" for n in range(80)]
    written(table, "\n".join(["size,sold", *rows]) + "\n")
    done("fit", table, "-t", "sold", "-m", "logistic", "--folds", 2, "-o", path, "-q")
    return path, table


@pytest.fixture(scope="module")
def page(small: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on a table."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    ran = done("report", *small, "-o", path)
    assert (ran.out, ran.err) == ("", f"written to {path}\n")
    assert list(path.parent.iterdir()) == [path]
    return path


def test_the_report_is_one_file_that_loads_nothing_else(page: Path) -> None:
    found = Page(page.read_text(encoding="utf-8"))
    assert found.open == []
    assert [each for each in found.asked if not each.startswith(("#", "data:"))] == []
    assert "http-equiv" not in page.read_text(encoding="utf-8")


def test_the_report_names_the_model_its_columns_and_its_accuracy(page: Path, small: tuple[Path, Path]) -> None:
    words = Page(page.read_text(encoding="utf-8")).words
    accuracy = library.load(small[0]).score(str(small[1]))
    assert all(each in words for each in ("sold", "logistic", "size", "80 rows"))
    assert f"{accuracy:.1%}" in words


def test_two_features_for_the_boundary(logistic: Path, houses: Path, tmp_path: Path) -> None:
    for words in (("area",), ("area", "price", "built")):
        options = [word for name in words for word in ("--feature", name)]
        assert "must be given twice" in refused("report", logistic, houses, *options, "-o", tmp_path / "r.html", code=2)
    assert list(tmp_path.iterdir()) == []


def test_a_feature_that_is_not_there(logistic: Path, houses: Path, tmp_path: Path) -> None:
    words = ("--feature", "aera", "--feature", "price", "-o", tmp_path / "r.html")
    assert "did you mean 'area'?" in refused("report", logistic, houses, *words, code=2)


def test_what_cannot_be_reported_on(logistic: Path, houses: Path, tmp_path: Path) -> None:
    lines = houses.read_text(encoding="utf-8").splitlines()
    bare = written(tmp_path / "bare.csv", "\n".join(line.rpartition(",")[0] for line in lines))
    assert "'sold_fast'" in refused("report", logistic, bare, "-o", tmp_path / "r.html", code=1)
    header = written(tmp_path / "header.csv", lines[0] + "\n")
    refused("report", logistic, header, "-o", tmp_path / "r.html", code=1)
    sentence = refused("report", logistic, houses, "-o", tmp_path / "none" / "r.html", code=2)
    assert str(tmp_path / "none") in sentence
    assert not (tmp_path / "r.html").exists()


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Path]:
    """The tour, and the folder that it leaves."""
    folder = tmp_path_factory.mktemp("tour") / "suffice-demo"
    return done("demo", "--folder", folder), folder


def test_demo_writes_the_files_that_it_names(tour: tuple[Ran, Path]) -> None:
    ran, folder = tour
    for number in range(1, 6):
        assert f" {number}. " in ran.out
    assert {"houses.suffice", "messages.suffice", "report.html"} <= {each.name for each in folder.iterdir()}
    assert library.load(folder / "houses.suffice").schema_.target == "sold_fast"
    assert "\x1b" not in ran.out


@pytest.mark.slow
def test_commands_that_demo_prints_run(tour: tuple[Ran, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    ran, folder = tour
    monkeypatch.chdir(folder.parent)
    shown = [shlex.split(line.removeprefix("$ suffice ")) for line in ran.lines if line.startswith("$ suffice ")]
    assert {words[0] for words in shown} == {"fit", "explain", "forget", "text", "mail", "report"}
    for words in shown:
        done(*words)


@pytest.mark.slow
def test_demo_runs_as_a_process(tmp_path: Path) -> None:
    ran = process("demo", cwd=tmp_path, timeout=300)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert (tmp_path / "suffice-demo" / "report.html").exists()

"""Links, paths, line lengths and words of the pages; Sphinx warns of links and tables of contents within ``docs``."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
BUILT = {"_build", "gallery", "generated"}
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if BUILT.isdisjoint(page.parts)),
]
COLUMNS = 120
CODE_COLUMNS = 88  # of code, commands and output: more are cut off beside the menus of a page
#: Phrases that were replaced by technical terms or plain words.
MANNERED = {
    r"changes? its mind": "decision boundary",
    r"leaves? with \d": "exit code",
    r"of what is drawn": "random seed",
    r"rows are taken for": "predicted as",
    r"said to be so": "predicted as this class",
}


def name(page: Path) -> str:
    """Return the path of a page below the root."""
    return str(page.relative_to(ROOT))


def written_lines(page: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line of a page, without tables and output of programs."""
    in_code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif line.startswith((">>>", "...", "$ ")) if in_code else not line.startswith("|"):
            yield number, line


def test_files_that_the_readme_links_to_are_there() -> None:
    tokens = MarkdownIt().parse(README.read_text(encoding="utf-8"))
    inline = [child for token in tokens for child in token.children or ()]
    links = {str(child.attrs.get("href") or child.attrs.get("src") or "") for child in inline} - {""}
    files = {link.partition("#")[0] for link in links if "://" not in link} - {""}
    assert files
    assert [file for file in sorted(files) if not (README.parent / file).exists()] == []


def test_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) < 120


def test_rows_of_tables_in_the_readme_are_short() -> None:
    rows = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert len(rows) > 10
    assert [row for row in rows if len(row) > COLUMNS] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_lines_of_a_page_are_short(page: Path) -> None:
    too_long = [number for number, line in written_lines(page) if len(line) > COLUMNS]
    assert too_long == [], "wrap these lines at 120 columns"


def code_lines(page: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and text of each line in the code blocks of a page, as the site shows it."""
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and not token.info.startswith("{"):
            for number, line in enumerate(token.content.splitlines(), token.map[0] + 2 if token.map else 0):
                yield number, re.sub(r"\s*# doctest:.*", "", line)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_of_a_page_is_not_cut_off(page: Path) -> None:
    too_long = [number for number, line in code_lines(page) if len(line) > CODE_COLUMNS]
    assert too_long == [], "wrap these lines at 88 columns: commands with a backslash, output with NORMALIZE_WHITESPACE"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_page_has_plain_words(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = {phrase: term for phrase, term in MANNERED.items() if re.search(rf"\b{phrase}\b", text, re.IGNORECASE)}
    assert found == {}, "write these terms instead"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_names_of_the_package_on_a_page_are_there(page: Path) -> None:
    if page.name in ("CHANGELOG.md", "changelog-0.1.md"):  # names of earlier versions
        return
    for path in set(re.findall(r"`(suffice(?:\.[A-Za-z_]\w*)+)", page.read_text(encoding="utf-8"))):
        pkgutil.resolve_name(path)


@pytest.mark.parametrize("page", [CONTRIBUTING, ROOT / "docs" / "architecture.md"], ids=name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    paths = re.findall(
        r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.(?:py|pyi|md|hpp|cpp|toml|txt)))`", page.read_text(encoding="utf-8")
    )
    folders = [ROOT, ROOT / "src" / "suffice", ROOT / "src" / "suffice" / "discriminative"]
    examples = [folder for folder in (ROOT / "tests").iterdir() if folder.is_dir()] + [
        ROOT / "tests" / "laws" / "kinds"
    ]
    assert len(paths) > 10
    assert [path for path in paths if not any((folder / path).exists() for folder in (*folders, *examples))] == []

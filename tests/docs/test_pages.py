"""The pages that Sphinx does not read: it warns of the links and tables of contents of all others."""

from __future__ import annotations

from pathlib import Path

from markdown_it import MarkdownIt

README = Path(__file__).parents[2] / "README.md"


def test_files_that_the_readme_links_to_are_there() -> None:
    tokens = MarkdownIt().parse(README.read_text(encoding="utf-8"))
    inline = [child for token in tokens for child in token.children or ()]
    links = {str(child.attrs.get("href") or child.attrs.get("src") or "") for child in inline} - {""}
    files = {link.partition("#")[0] for link in links if "://" not in link} - {""}
    assert files
    assert [file for file in sorted(files) if not (README.parent / file).exists()] == []

"""The site's check of its links, which ``make docs`` runs."""

from __future__ import annotations

import runpy
from pathlib import Path

dead_links = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "_extensions" / "links.py"))["dead_links"]


def test_links_to_missing_files_and_places_are_found(tmp_path: Path) -> None:
    (tmp_path / "guide").mkdir()
    (tmp_path / "plot.png").touch()
    (tmp_path / "index.html").write_text(
        '<h1 id="start">a</h1><a href="#start">a</a><a href="guide/sums.html#merge">b</a><a href="gone.html">c</a>'
        '<a href="https://a.example/">d</a><img src="plot.png"><img src="gone.png"><a href="guide/sums.html?q=1">e</a>'
    )
    (tmp_path / "guide" / "sums.html").write_text('<h2 id="forget">a</h2><a href="../index.html#begin">b</a>')
    assert list(dead_links(tmp_path)) == [
        "guide/sums.html: ../index.html#begin",
        "index.html: gone.html",
        "index.html: gone.png",
        "index.html: guide/sums.html#merge",
    ]


def test_links_of_a_whole_site_are_quiet(tmp_path: Path) -> None:
    (tmp_path / "a b.html").write_text('<a href="#">top</a><a href="a%20b.html#x">x</a><p id="x">y</p>')
    assert list(dead_links(tmp_path)) == []

"""Warn of links between pages of the built site that lead nowhere: to a missing file, or to a missing place in one."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The places of a page that links can name, and its own links and images."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.places = {"", "top"}
        self.targets: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value and (name == "id" or (name == "name" and tag == "a")):
                self.places.add(value)
            elif value and name in ("href", "src") and tag != "link":
                self.targets.add(value)


def dead_links(folder: Path) -> Iterator[str]:
    """Yield each link within a folder of pages that leads nowhere, with its page."""
    files = (file for file in sorted(folder.resolve().rglob("*.html")) if "_static" not in file.parts)  # of the theme
    pages = {file: Page(file) for file in files}
    for file, page in pages.items():
        for target in sorted(page.targets):
            address = urlsplit(target)
            if address.scheme or address.netloc:
                continue
            other = (file.parent / unquote(address.path)).resolve() if address.path else file
            known = pages[other].places if other in pages else {""}
            if not other.is_file() or (other in pages and unquote(address.fragment) not in known):
                yield f"{file.relative_to(folder.resolve())}: {target}"


def check_links(app: Any, exception: Exception | None) -> None:
    from sphinx.util import logging  # imported here: the tests import this file without Sphinx

    if exception is None and app.builder.format == "html":
        for link in dead_links(Path(app.outdir)):
            logging.getLogger(__name__).warning("dead link: %s", link)


def setup(app: Any) -> dict[str, bool]:
    app.connect("build-finished", check_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

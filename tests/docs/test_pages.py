"""The site hangs together: pages are reached, links lead somewhere, all public names are in the reference."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import suffice

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BUILT = {"_build", "gallery", "generated"}
PAGES = sorted(page for page in DOCS.rglob("*.md") if not BUILT & set(page.relative_to(DOCS).parts))
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)|^```\{(?:figure|include)\} (\S+)", re.MULTILINE)
CODE = re.compile(r"^```python\n.*?^```", re.MULTILINE | re.DOTALL)
ROOMS = [room.name for room in pkgutil.iter_modules(suffice.__path__, "suffice.") if room.ispkg]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def children(page: Path) -> list[Path]:
    """Return the pages that a page's table of contents names."""
    entries = [
        line.strip()
        for block in TOCTREE.findall(page.read_text(encoding="utf-8"))
        for line in block.splitlines()
        if line.strip() and not line.startswith(":")
    ]
    return [(page.parent / f"{entry}.md").resolve() for entry in entries]


def source(target: Path) -> Path:
    """Return the file of the repository that a link's target is made from: pages of the gallery come from examples."""
    if (DOCS / "gallery") not in target.parents:
        return target
    place = ROOT / "examples" / target.relative_to(DOCS / "gallery").parent
    if target.stem == "index":
        return place / "GALLERY_HEADER.rst"
    if target.suffix == ".png":
        return place.parent / (re.sub(r"^sphx_glr_(.*)_\d{3}$", r"\1", target.stem) + ".py")
    return place / f"{target.stem}.py"


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_a_table_of_contents():
    reached, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page not in reached and page.exists():
            reached.add(page)
            todo += children(page)
    assert [name(page) for page in PAGES if page not in reached] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=name)
def test_links_lead_somewhere(page):
    broken = []
    for link in (one or two for one, two in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8")))):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = source((page.parent / file).resolve()) if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("room", ["suffice", *ROOMS])
def test_public_names_are_in_the_reference(room):
    listed = set(
        re.findall(r"^   ([\w.]+)$", (DOCS / "reference" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    module = importlib.import_module(room)
    inner = room.removeprefix("suffice").lstrip(".")
    missing = [
        public
        for public in getattr(module, "__all__", [])
        if not public.startswith("__") and not {public, f"{inner}.{public}"} & listed
    ]
    assert missing == []

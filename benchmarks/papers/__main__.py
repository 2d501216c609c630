"""Repeat published comparisons, print the tables, and store them for the documentation."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
import time
from pathlib import Path

from benchmarks.papers import (
    data,
    mccallum_nigam,
    metsis,
    ng_jordan,
    nigam,
    scikit_learn,
    wang_manning,
)
from benchmarks.provenance import store

PAPERS = {
    module.__name__.rpartition(".")[2]: module
    for module in (mccallum_nigam, metsis, wang_manning, nigam, ng_jordan, scikit_learn)
}
RESULTS = Path(__file__).parents[1] / "papers.md"


def main() -> None:
    """Run the papers with one of the given words in their title, and update the stored tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("only", nargs="*", default=[""], help="run only papers with one of these words in their title")
    only = parser.parse_args().only
    stored = _stored()
    wanted = [name for name, paper in PAPERS.items() if any(word.lower() in paper.TITLE.lower() for word in only)]
    if not wanted:
        sys.exit(
            "no paper has one of these words in its title; there are:\n" + "\n".join(p.TITLE for p in PAPERS.values())
        )
    data.check_there(sorted({archive for name in wanted for archive in PAPERS[name].ARCHIVES}))
    for name in wanted:
        started = time.perf_counter()
        stored[name] = PAPERS[name].run()
        print(f"{PAPERS[name].TITLE} ({time.perf_counter() - started:.0f} s)\n\n{stored[name]}\n", flush=True)
        _store(stored)
    print("stored in benchmarks/papers.md and docs/_static/papers-*.png")


def _stored() -> dict[str, str]:
    """Return the stored results by paper; marks separate the papers, so that pages can include one of them."""
    if not RESULTS.exists():
        return {}
    found = re.findall(r"<!-- (\w+) -->\n(.*?)<!-- end \1 -->", RESULTS.read_text(encoding="utf-8"), re.DOTALL)
    return {name: text.strip() for name, text in found}


def _wrap(text: str) -> str:
    """Return Markdown with its paragraphs, but not its tables, wrapped at 120 columns."""
    blocks = text.split("\n\n")
    return "\n\n".join(block if block.startswith("|") else textwrap.fill(block, 120) for block in blocks)


def _store(found: dict[str, str]) -> None:
    parts = [
        f"## {paper.TITLE}\n\n<!-- {name} -->\n\n{_wrap(found[name])}\n\n<!-- end {name} -->"
        for name, paper in PAPERS.items()
        if name in found
    ]
    store(RESULTS, "\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()

"""The first page is followed from top to bottom: its commands and its Python share one folder."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

from tests.docs.test_commands import ROOT, check_output, commands

PAGE = ROOT / "docs" / "getting-started.md"


def run_python(text: str, variables: dict[str, Any]) -> None:
    """Run the examples of a part of the page, with the variables of the parts before."""
    test = doctest.DocTestParser().get_doctest(text, variables, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    runner.run(test, out=report.append, clear_globs=False)
    variables.update(test.globs)
    assert not runner.summarize(verbose=False).failed, "".join(report)


def test_the_first_page_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mpl.use("Agg")
    variables: dict[str, Any] = {}
    blocks = re.split(r"^(```console\n.*?^```)", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for block in blocks:
        if block.startswith("```console"):
            for command, shown in commands(block):
                check_output(PAGE, command, shown)
        else:
            run_python(block, variables)
    assert {path.name for path in tmp_path.iterdir()} >= {"report.html", "tumours.suffice", "first.suffice"}

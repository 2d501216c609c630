"""The pages list the models that there are, with what they predict."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import suffice
from suffice.model_types import MODEL_TYPES, TASKS, TEXT_MODEL_TYPES

DOCS = Path(__file__).parents[2] / "docs"


def rows_of(page: str, header: str) -> list[list[str]]:
    """The cells of the table that starts with a header."""
    _, _, rest = (DOCS / page).read_text(encoding="utf-8").partition(header + "\n")
    assert rest, f"{page} has no table {header!r}"
    lines = rest.split("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_of_the_command_lists_the_models_of_tables() -> None:
    rows = rows_of("command-line.md", "| | predicts | model | updates, merges, forgets |")
    found = {name: row for row in rows for name in re.findall(r"`([a-z-]+)`", row[0])}
    assert list(found) == list(MODEL_TYPES)
    for name, (_, predicts, _, exact) in found.items():
        tasks = TASKS if predicts == "all" else tuple(predicts.split(", "))
        assert (name, tasks) == (name, MODEL_TYPES[name].tasks)
        assert (name, exact) == (name, "exactly" if MODEL_TYPES[name].exact else "no")


def test_the_page_of_text_lists_the_models_of_text() -> None:
    rows = rows_of("text.md", "| `model=` | model | use it for |")
    assert sorted(row[0].strip('`"') for row in rows) == sorted([*TEXT_MODEL_TYPES, "auto"])


@pytest.mark.parametrize(
    ("model", "names"), [(suffice.TableModel, MODEL_TYPES), (suffice.TextClassifier, TEXT_MODEL_TYPES)]
)
def test_docstrings_name_the_models(model: type, names: dict[str, object]) -> None:
    assert [name for name in names if f'"{name}"' not in (model.__doc__ or "")] == []


def test_the_reference_lists_every_public_name() -> None:
    page = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ([A-Za-z_.]+)$", page, flags=re.MULTILINE))
    assert set(suffice.__all__) - {"__version__"} <= listed

"""The page on export suffices to score rows by the JSON file: a scorer written from it alone, in plain Python."""

from __future__ import annotations

import datetime
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.tables.export_cases import CASES, as_lists, fitted, formatted, frame, unseen_rows, with_threshold

EPOCH = datetime.datetime(1970, 1, 1)
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def cell_of(row: dict[str, Any], feature: dict[str, Any], columns: dict[str, Any]) -> float | str | None:
    """Return a feature of a row: a number, a name, or None for a missing cell."""
    cell, column = row[feature["column"]], columns[feature["column"]]
    if cell is None:
        return None
    match column["kind"]:
        case "numeric" | "count":
            return float(cell) if not isinstance(cell, str) else number_of(cell, column["format"])
        case "boolean":
            return float(cell if column["truth"] is None else column["truth"].index(cell))
        case "category":
            return str(cell).strip()
    parts = {
        "time": (cell - EPOCH) / datetime.timedelta(days=1),
        "month": f"{cell.month:02}",
        "weekday": WEEKDAYS[cell.weekday()],
        "hour": f"{cell.hour:02}",
    }
    found: float | str = parts[feature["part"]]
    return found


def number_of(cell: str, notation: dict[str, Any]) -> float:
    """Return a formatted number."""
    assert re.fullmatch(notation["pattern"], cell)
    cell = re.sub(re.escape(notation["decimal"]) + "[-–—]+", "", cell)
    for sign in (notation["unit"], " ", "\u00a0", notation["thousands"], "’" if notation["thousands"] == "'" else ""):
        cell = cell.replace(sign, "") if sign else cell
    cell = cell.replace(notation["decimal"], ".").replace("−", "-")
    return -float(cell.strip("()-")) if cell.startswith("(") or cell.endswith("-") else float(cell)


def place_in(side: dict[str, Any], x: Any) -> int:
    """Return the place of a cell among groups."""
    if x is None:
        return len(side["groups"]) - 1
    if "edges" in side:
        return sum(edge <= x for edge in side["edges"])
    return side["levels"].index(x) if x in side["levels"] else len(side["groups"]) - 2


def added(term: dict[str, Any], cells: dict[str, Any], scores: int) -> list[float]:
    """Return what a term adds to each score."""
    each = range(scores)
    if term["form"] == "pair":
        a, b = (side["groups"][place_in(side, cells[side["feature"]])] for side in term["sides"])
        return list(term["values"][a][b])
    if term["form"] == "quadratic":
        z = [entry_of(column, cells[column["feature"]]) for column in term["columns"]]
        found = []
        for mean, whitener in zip(term["mean"], term["whitener"], strict=True):
            apart = [one - two for one, two in zip(z, mean, strict=True)]
            found.append(-0.5 * sum(sum(a * b for a, b in zip(line, apart, strict=True)) ** 2 for line in whitener))
        return found
    x = cells[term["feature"]]
    if x is None:
        return [0.0] * scores if term["form"] == "gaussian" else list(term["missing"])
    match term["form"]:
        case "linear":
            return [term["coef"][j] * (x - term["centre"]) / term["scale"] for j in each]
        case "gaussian":
            pairs = zip(term["mean"], term["variance"], strict=True)
            return [-0.5 * ((x - mean) ** 2 / var + math.log(2 * math.pi * var)) for mean, var in pairs]
        case "levels":
            return list(term["values"][term["levels"].index(x)] if x in term["levels"] else term["other"])
    assert term["form"] == "bins"
    return list(term["values"][sum(edge <= x for edge in term["edges"])])


def entry_of(column: dict[str, Any], x: Any) -> float:
    """Return an entry of the vector of a quadratic term."""
    if "centre" in column:
        return 0.0 if x is None else float((x - column["centre"]) / column["scale"])
    return float(x == column["level"] if "level" in column else x is None)


def predict(model: dict[str, Any], row: dict[str, Any]) -> list[float]:
    """Return the probabilities of the classes, or the expected number."""
    columns = {column["name"]: column for column in model["columns"]}
    cells = {feature["name"]: cell_of(row, feature, columns) for feature in model["features"]}
    s = list(model["intercept"])
    for term in model["terms"]:
        s = [one + two for one, two in zip(s, added(term, cells, len(s)), strict=True)]
    if model["link"] != "softmax":
        return [s[0] if model["link"] == "identity" else math.exp(min(s[0], 709))]
    odds = [math.exp((score - max(s)) / model["temperature"]) for score in s]
    p = [0.0] * len(model["classes"])
    for place, each in zip(model["scored_classes"], odds, strict=True):
        p[place] = each / sum(odds)
    return p


@pytest.mark.parametrize(("name", "target"), [case for case in CASES if case[1] != "sold"])
def test_a_scorer_written_from_the_page_predicts_as_the_model(name: str, target: str, tmp_path: Path) -> None:
    own, rows = fitted(name, target), unseen_rows().head(30)
    model = json.loads(own.export(tmp_path / "model.json", "json").read_text())
    lists = as_lists(rows)
    found = [predict(model, {name: lists[name][at] for name in lists}) for at in range(len(rows))]
    expected = own.predict_proba(rows) if model["task"] == "classes" else own.predict(rows)[:, None]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)


def test_the_threshold_of_a_class_is_in_the_file(tmp_path: Path) -> None:
    own, rows = with_threshold("three"), frame().head(100)
    model = json.loads(own.export(tmp_path / "model.json", "json").read_text())
    lists, labels = as_lists(rows), []
    for at in range(len(rows)):
        p = predict(model, {name: lists[name][at] for name in lists})
        positive = model["decision"]["positive"]
        others = [place for place in range(len(p)) if place != positive]
        is_positive = p[positive] >= model["decision"]["threshold"]
        labels.append(model["classes"][positive if is_positive else max(others, key=lambda place: p[place])])
    assert labels == own.predict(rows).tolist()


def test_formatted_numbers_are_read_by_their_notation(tmp_path: Path) -> None:
    own = formatted()
    model = json.loads(own.export(tmp_path / "model.json", "json").read_text())
    prices = ["1.234,50 €", "−2,5", None, "(2,50 €)", "12,- €", "2,5-"]
    rows = {"price": prices, "share": ["12%", "3.5 %", None, "(1%)", "1%", "0%"]}
    found = [predict(model, {name: rows[name][at] for name in rows})[0] for at in range(len(prices))]
    np.testing.assert_allclose(found, own.predict(pd.DataFrame(rows)), rtol=1e-11)


def test_the_page_names_every_field_and_form(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/howto/export.md").read_text()
    for name in ("nb", "gda-full", "additive"):
        model = json.loads(fitted(name, "two").export(tmp_path / "model.json", "json").read_text())
        named = {*model, *model["columns"][0], *model["columns"][0]["format"], *model["features"][0]}
        for term in model["terms"]:
            named |= {*term, term["form"]}
            for part in [*term.get("sides", ()), *term.get("columns", ())]:
                named |= {*part}
        assert [each for each in named if f"`{each}" not in page] == []

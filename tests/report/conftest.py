"""Shared fixtures of the tests of reports: models of several tasks, and their pages."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.datasets import load_wine

import suffice
import suffice.demo
from suffice.report import report
from suffice.tables import TableModel

DAY = datetime.date(2024, 2, 29)
MARKUP = "<script>alert(1)</script>"


def wine() -> pd.DataFrame:
    """Return a table of three classes and three numeric columns."""
    frame = load_wine(as_frame=True).frame[["ash", "hue", "proline", "target"]]
    return frame.assign(target="cultivar " + frame["target"].astype(str))


def one_number() -> pd.DataFrame:
    """Return a table with one numeric column and a target."""
    return pd.DataFrame(
        {
            "x": [place + place % 3 / 4 for place in range(40)],
            "side": ["left"] * 18 + ["right"] * 2 + ["left"] * 2 + ["right"] * 18,
        }
    )


def house_columns(*names: str) -> pd.DataFrame:
    """Return some columns of the demo houses: fewer columns make a page faster."""
    return pd.read_csv(suffice.demo.houses())[list(names)]


def with_markup() -> pd.DataFrame:
    """Return a table with HTML markup in names and cells."""
    frame = house_columns("area", "rooms", "district", "sold_fast")
    frame["district"] = frame["district"].where(frame["district"] != "Meadows", f"{MARKUP}&\"'")
    frame["sold_fast"] = frame["sold_fast"].map({"no": f"no {MARKUP}", "yes": "yes & <b>"})
    return frame.rename(columns={"area": f"area {MARKUP}", "sold_fast": f"sold {MARKUP} $1 $2"})


CASES: dict[str, tuple[Callable[[], Any], str, dict[str, Any]]] = {
    "two classes": (
        suffice.demo.houses,
        "sold_fast",
        {"columns": dict.fromkeys(("built", "heating", "energy", "viewings"), "ignore"), "folds": 2},
    ),
    "many classes": (wine, "target", {"model": "gda-full"}),
    "numbers": (lambda: house_columns("listed", "area", "rooms", "garden", "price"), "price", {"model": "linear"}),
    "counts": (
        lambda: house_columns("area", "rooms", "district", "viewings"),
        "viewings",
        {"model": "poisson", "folds": 2},
    ),
    "text": (suffice.demo.messages, "label", {"model": "text"}),
    "one number": (one_number, "side", {"model": "logistic"}),
    "additive": (
        lambda: house_columns("area", "rooms", "district", "sold_fast"),
        "sold_fast",
        {"model": "additive", "folds": 2},
    ),
    "markup": (with_markup, f"sold {MARKUP} $1 $2", {"model": "nb"}),
}


@cache
def fitted(name: str) -> tuple[TableModel, Any]:
    """Return a model and its training table; cached."""
    make, target, settings = CASES[name]
    table = make()
    return suffice.fit(table, target, **settings), table


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that writes the page of a case; cached."""
    folder = tmp_path_factory.mktemp("reports")

    @cache
    def write(name: str) -> Path:
        model, table = fitted(name)
        return report(model, table, folder / f"{name.replace(' ', '-')}.html", date=DAY)

    return write

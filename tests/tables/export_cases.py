"""Models of every kind of column but text, and rows that they have not seen."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from suffice.tables import TableModel

N = 400
CLASSIFIERS = ("nb", "gda", "gda-full", "logistic", "softmax", "additive")
#: Model and target.
CASES = [(model, target) for target in ("two", "three", "code", "sold") for model in CLASSIFIERS]
CASES += [(model, "price") for model in ("linear", "additive")]
CASES += [(model, "visits") for model in ("linear", "poisson", "additive")]


@cache
def frame() -> pd.DataFrame:
    """Return rows of every kind of column but text, with missing cells, and several targets."""
    random = np.random.default_rng(3)
    area, rooms = random.normal(80, 20, N), random.poisson(3.0, N).astype(float)
    district = random.choice(["Harbour", "Old 'town'", 'Nørd\\"x', "4"], N)
    garden = random.random(N) < 0.5
    day = pd.Timestamp("1969-03-01") + pd.to_timedelta(random.integers(0, 30_000 * 86_400, N), unit="s")
    eta = (area - 80) / 20 + (district == "Harbour") + garden * (rooms - 3) + (day.month < 6)
    table = pd.DataFrame(
        {
            "area": area,
            "rooms": rooms,
            "district": district,
            "garden": pd.array(garden, dtype="boolean"),
            "lift": np.where(random.random(N) < 0.5, "Yes", "no"),
            "day": day,
            "two": np.where(eta + random.normal(size=N) > 1, "it's", "no"),
            "three": np.digitize(eta + random.normal(size=N), [0, 2]).astype(str),
            "code": np.digitize(eta + random.normal(size=N), [0, 2]) + 4,
            "sold": eta + random.normal(size=N) > 1,
            "price": 3 * eta + random.normal(size=N),
            "visits": random.poisson(np.exp(eta / 3)),
        }
    )
    for name in ("area", "rooms", "district", "garden", "lift", "day"):
        table.loc[random.random(N) < 0.08, name] = None
    return table


COLUMNS = ["area", "rooms", "district", "garden", "lift", "day"]


@cache
def with_threshold(target: str) -> TableModel:
    """Return a classifier that predicts its first class only if that is very probable."""
    columns = ["area", "rooms", target]
    first = sorted(frame()[target].unique())[0]
    return TableModel("logistic", folds=2, positive=first, threshold=0.8).fit(frame()[columns], target)


@cache
def fitted(model: str, target: str) -> TableModel:
    """Return a model of all columns."""
    task = {"visits": "counts", "price": "numbers"}.get(target, "classes")
    return TableModel(model, folds=2, task=task).fit(frame()[[*COLUMNS, target]], target)


@cache
def formatted() -> TableModel:
    """Return a model of strings of numbers: decimal commas, thousands, a currency, percentages, missing cells."""
    random = np.random.default_rng(5)
    price, share = random.uniform(100, 9000, N).round(2), random.uniform(0, 100, N).round(1)
    euros = [f"{cell:,.2f} €".translate(str.maketrans(",.", ".,")) for cell in price]
    table = pd.DataFrame({"price": euros, "share": [f"{cell}%" for cell in share]})
    table.loc[::20, "price"] = "n/a"
    table["y"] = price / 1000 + share / 50 + random.normal(size=N) / 9
    return TableModel("linear", folds=2).fit(table, "y")


def rows_at_edges(model: TableModel) -> pd.DataFrame:
    """Return rows whose areas are the edges of the bins of an additive model."""
    edges = next(bins.edges for bins in model.predictor_.binned if bins.name == "area")
    return frame()[COLUMNS].head(1).loc[[0] * len(edges)].assign(area=edges).reset_index(drop=True)


def unseen_rows() -> pd.DataFrame:
    """Return rows with values outside those of the fit, missing cells and unseen categories."""
    table = frame()[COLUMNS].head(60).copy()
    table.loc[:9, "district"] = "unseen"
    table.loc[10:14, "area"] = 1e4
    table.loc[15:19, "day"] = pd.Timestamp("1960-02-29 23:59:59.999999")
    return table


def as_lists(table: pd.DataFrame) -> dict[str, list[Any]]:
    """Return columns as lists of plain cells, None for missing ones."""
    return {name: [None if pd.isna(cell) else cell for cell in table[name].astype(object)] for name in table}

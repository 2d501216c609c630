"""The demo tables: contents, and difficulty of the prediction tasks."""

from __future__ import annotations

import csv
import re
from collections import Counter
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from suffice import MixedNB, TextClassifier
from suffice.demo import houses, messages

from .make_houses import COLUMNS, DISTRICTS, ENERGY, FIRST_DAY, ROWS, WITH_MISSING, make_houses

HOUSES = houses().read_text(encoding="utf-8")
MESSAGES = [line.split("\t") for line in messages().read_text(encoding="utf-8").splitlines()]
FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)
LEFT_OUT = ["id", "listed", "sold_fast"]
each_file = pytest.mark.parametrize("path", [houses(), messages()], ids=lambda path: path.name)


@each_file
def test_lines_are_short_and_printable(path) -> None:
    content = path.read_bytes()
    assert content.endswith(b"\n")
    assert b"\r" not in content
    lines = content.decode("utf-8").split("\n")[:-1]
    assert max(map(len, lines)) <= 300
    assert all(cell.isprintable() and cell == cell.strip() for line in lines for cell in line.split("\t"))


def test_files_are_small() -> None:
    assert houses().stat().st_size + messages().stat().st_size < 200_000


def test_messages_have_three_classes() -> None:
    head, *rows = MESSAGES
    assert head == ["label", "text"]
    assert Counter(label for label, _ in rows) == {"spam": 80, "work": 80, "family": 80}


def test_messages_are_distinct() -> None:
    texts = [re.sub(r"\W+", " ", text).strip().lower() for _, text in MESSAGES[1:]]
    assert [text for text, times in Counter(texts).items() if times > 1 or not text] == []


def test_links_are_reserved_for_examples() -> None:
    links = [link for _, text in MESSAGES for link in re.findall(r"\S+://\S+|www\.\S+|\S+@\S+", text)]
    assert links
    assert all(re.fullmatch(r"http://\w+\.example\.(com|org)", link) for link in links)


def test_pandas_and_polars_read_the_same_messages() -> None:
    head, *rows = MESSAGES
    as_pandas = pd.read_csv(messages(), sep="\t")
    as_polars = pl.read_csv(messages(), separator="\t")
    assert list(as_pandas.columns) == as_polars.columns == head
    assert as_pandas.to_numpy().tolist() == [list(row) for row in as_polars.rows()] == rows


def test_message_classification_is_of_medium_difficulty() -> None:
    """Accuracy is 0.93; the baseline is 0.33."""
    labels, texts = np.array(MESSAGES[1:], dtype=object).T
    accuracy = cross_val_score(TextClassifier(), texts, labels.astype(str), cv=FOLDS).mean()
    assert 0.8 <= accuracy <= 0.99


def test_houses_are_reproducible_from_the_seed() -> None:
    assert houses().read_bytes() == make_houses().encode("utf-8")
    assert make_houses(seed=2) != HOUSES


def test_values_of_the_columns_of_houses() -> None:
    rows = list(csv.DictReader(HOUSES.splitlines()))
    assert len(rows) == ROWS
    assert tuple(rows[0]) == COLUMNS
    assert len({row["id"] for row in rows}) == ROWS
    days = [date.fromisoformat(row["listed"]) for row in rows]
    assert days == sorted(days)
    assert days[0] >= FIRST_DAY
    assert {row["district"] for row in rows} == set(DISTRICTS)
    assert {row["energy"] for row in rows} == {*ENERGY, ""}
    assert {row["heating"] for row in rows} == {"gas", "oil", "heat pump", "wood", ""}
    assert {row["garden"] for row in rows} == {"true", "false", ""}
    assert {row["sold_fast"] for row in rows} == {"yes", "no"}
    assert all(float(row["price"]) > 0 and int(row["viewings"]) >= 0 and int(row["rooms"]) >= 1 for row in rows)


def test_four_columns_have_missing_cells() -> None:
    frame = pl.read_csv(houses())
    shares = {name: frame[name].null_count() / ROWS for name in COLUMNS}
    assert [name for name, share in shares.items() if share] == list(WITH_MISSING)
    assert all(0.03 < shares[name] < 0.07 for name in WITH_MISSING)


@pytest.mark.parametrize("read", [pd.read_csv, pl.read_csv], ids=["pandas", "polars"])
def test_inferred_column_kinds(read) -> None:
    frame = read(houses())
    model = MixedNB(columns=dict.fromkeys(LEFT_OUT, "ignore")).fit(frame, frame["sold_fast"].to_numpy())
    kinds = {
        **dict.fromkeys(("area", "price"), "numeric"),
        **dict.fromkeys(("rooms", "viewings"), "count"),
        **dict.fromkeys(("district", "heating", "energy"), "category"),
        "garden": "boolean",
        "note": "text",
    }
    assert {name: model.column_kinds_[name] for name in kinds} == kinds


def test_naive_bayes_is_overconfident_and_logistic_regression_better() -> None:
    """Accuracies are 0.80 and 0.85; mean confidences are 0.88 (naive Bayes) and 0.83 (logistic regression)."""
    frame = pd.read_csv(houses())
    y = frame["sold_fast"].to_numpy() == "yes"
    frame = frame.drop(columns=LEFT_OUT)
    naive = np.zeros(ROWS)
    for train, test in FOLDS.split(frame, y):
        naive[test] = MixedNB().fit(frame.iloc[train], y[train]).predict_proba(frame.iloc[test])[:, 1]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["area", "rooms", "built", "price", "viewings"]),
        (OneHotEncoder(handle_unknown="ignore"), ["garden", "district", "heating", "energy"]),
        (CountVectorizer(), "note"),
    )
    regression = make_pipeline(columns, LogisticRegression(C=0.3, max_iter=1000))
    logistic = cross_val_predict(regression, frame, y, cv=FOLDS, method="predict_proba")[:, 1]
    accuracy, expected = {}, {}
    for name, p in {"naive": naive, "logistic": logistic}.items():
        accuracy[name] = np.mean((p > 0.5) == y)
        expected[name] = np.maximum(p, 1 - p).mean()
    assert accuracy["naive"] == pytest.approx(0.80, abs=0.025)
    assert accuracy["logistic"] == pytest.approx(0.85, abs=0.025)
    assert expected["naive"] > accuracy["naive"] + 0.05
    assert abs(expected["logistic"] - accuracy["logistic"]) < 0.05


def test_size_and_price_are_correlated() -> None:
    between = pd.read_csv(houses())[["area", "rooms", "price"]].corr().to_numpy()
    assert between.min() > 0.6

"""Data frames in memory whose target and weights are named columns, as those of every other source."""

from __future__ import annotations

import datetime
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import suffice
from suffice.selection import cross_validate

RANDOM = np.random.default_rng(0)
X = pd.DataFrame({"a": RANDOM.gamma(1, size=80), "b": RANDOM.gamma(1, size=80)})
Y = np.where(X.a + RANDOM.normal(size=80) > 0.7, "p", "q")
PRICE = 2 * X.a.to_numpy() + RANDOM.random(80)
WEIGHTS = RANDOM.random(80)
FRAMES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}


def frame(library: str, **columns: Any) -> Any:
    return FRAMES[library](X.assign(**columns))


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize(
    "model",
    [
        suffice.GaussianNB(),
        suffice.MixedNB(),
        suffice.LogisticRegression(),
        suffice.Perceptron(),
        suffice.LinearRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_frame_in_memory_takes_the_names_of_columns(model: Any, library: str) -> None:
    y = PRICE if isinstance(model, suffice.LinearRegression) else Y
    named = {"y": "y", "sample_weight": "w"}
    table = frame(library, y=y, w=WEIGHTS)
    expected = model.fit(X, y, WEIGHTS).predict(X)
    score = model.score(X, y, WEIGHTS)
    np.testing.assert_array_equal(model.fit(table, **named).predict(FRAMES[library](X)), expected)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.score(table, **named) == pytest.approx(score)
    assert list(nw.from_native(table, eager_only=True).columns) == ["a", "b", "y", "w"]
    with pytest.raises(ValueError, match=r"X has no column 'z'; its columns are \['a', 'b', 'y', 'w'\]"):
        model.fit(table, "z")


@pytest.mark.parametrize("library", FRAMES)
def test_batches_of_frames_and_cross_validation_take_names(library: str) -> None:
    table = frame(library, y=Y)
    for kind in (suffice.GaussianNB, suffice.LogisticRegression, suffice.Perceptron):
        np.testing.assert_array_equal(kind().partial_fit(table, "y").predict(X), kind().partial_fit(X, Y).predict(X))
        scores = cross_validate(kind(), table, "y").scores
        np.testing.assert_array_equal(scores, cross_validate(kind(), X, Y).scores)
    chosen = suffice.LogisticRegressionCV(Cs=[0.1, 1.0], cv=2)
    np.testing.assert_array_equal(chosen.fit(table, "y").C_, chosen.fit(X, Y).C_)


def test_a_column_of_date_objects_is_named() -> None:
    days = [datetime.date(2024, 1, 1 + row % 20) for row in range(80)]
    with pytest.raises(ValueError, match=r"column 'day' of X has dates or times \(date\): GaussianNB needs numbers"):
        suffice.GaussianNB().fit(X.assign(day=days), Y)

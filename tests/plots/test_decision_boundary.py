"""Decision boundaries: the grid has the type of the user's rows, and holds the predictions of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression as ScikitLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from suffice import GDA, LinearRegression, MixedNB, PoissonNB
from suffice.plots import DecisionBoundaryDisplay
from tests.plots.conftest import Rows

draw = DecisionBoundaryDisplay.from_estimator


def test_grid_holds_the_probabilities_of_the_model(three_classes: Rows) -> None:
    x, y = three_classes
    model = GDA("full").fit(x, y)
    display = draw(model, x, y, features=[2, 0], grid=7)
    assert display.held == {"x1": np.median(x[:, 1])}
    for row, second in enumerate(display.second):
        for column, first in enumerate(display.first):
            expected = model.predict_proba([[second, np.median(x[:, 1]), first]])[0]
            np.testing.assert_allclose(display.probabilities[row, column], expected)
    assert display.first[0] < x[:, 2].min() < x[:, 2].max() < display.first[-1]


def test_margin_of_two_classes_is_zero_at_one_half(two_classes: Rows) -> None:
    x, y = two_classes
    display = draw(GDA().fit(x[:, :2], y), x[:, :2], y, grid=30)
    np.testing.assert_allclose(display.margins[0], 2 * display.probabilities[..., 0] - 1)
    np.testing.assert_allclose(display.margins[0], -display.margins[1])


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars categories": lambda cells: pl.DataFrame(cells).with_columns(pl.col("walls").cast(pl.Categorical)),
    "pandas categories": lambda cells: pd.DataFrame(cells).astype({"walls": "category"}),
    "arrow": pa.table,
}


@pytest.fixture
def cells() -> dict[str, Any]:
    random = np.random.default_rng(3)
    y = random.integers(0, 2, 90)
    return {
        "size": random.normal(10 + y, 1.0),
        "rooms": random.poisson(2 + y),
        "walls": np.array(["wood", "brick", "brick"])[random.integers(0, 3, 90)].tolist(),
        "old": random.random(90) < 0.7,
        "y": y,
    }


@pytest.mark.parametrize("frame", FRAMES)
def test_grid_is_a_data_frame_of_the_same_library(frame: str, cells: dict[str, Any]) -> None:
    y = cells.pop("y")
    x = FRAMES[frame](cells)
    model = MixedNB().fit(x, y)
    assert model.column_kinds_["rooms"] == "count"  # which rejects fractions
    display = draw(model, x, y, features=["size", "rooms"], grid=6)
    assert display.held == {"walls": "brick", "old": True}
    place = {"size": display.first[2:3], "rooms": display.second[1:2].astype(int), "walls": ["brick"], "old": [True]}
    row = FRAMES[frame](place)
    np.testing.assert_allclose(display.probabilities[1, 2], model.predict_proba(row)[0])


def test_integers_beside_missing_cells_remain_integers(cells: dict[str, Any]) -> None:
    y = cells.pop("y")
    x = pd.DataFrame(cells)
    x.loc[3, "rooms"] = np.nan
    display = draw(MixedNB(columns={"rooms": "count"}).fit(x, y), x, y, features=["size", "rooms"], grid=6)
    np.testing.assert_array_equal(display.second, np.floor(display.second))
    assert not np.isnan(display.probabilities).any()


def test_column_without_known_cells_is_held_at_missing(cells: dict[str, Any]) -> None:
    y = cells.pop("y")
    x = pd.DataFrame(cells)
    display = draw(MixedNB().fit(x, y), x.assign(walls=None), features=["size", "rooms"], grid=5)
    assert display.held == {"walls": None, "old": True}
    assert not np.isnan(display.probabilities).any()


def test_other_features_are_held_at_given_values(cells: dict[str, Any]) -> None:
    y = cells.pop("y")
    x = pd.DataFrame(cells)
    model = MixedNB().fit(x, y)
    display = draw(model, x, features=["size", "rooms"], held={"walls": "wood", "old": False}, grid=5)
    assert display.held == {"walls": "wood", "old": False}
    assert display.X is None
    numbers = x[["size", "rooms"]].assign(more=x["size"] ** 2)
    model = GDA().fit(numbers, y)
    fraction = draw(model, numbers, features=["size", "more"], held={"rooms": 2.5}, grid=5)
    assert fraction.held == {"rooms": 2.5}


def test_pipelines_count_arrays_and_sparse_rows(cells: dict[str, Any]) -> None:
    y = cells.pop("y")
    x = pd.DataFrame(cells)
    columns = make_column_transformer((OneHotEncoder(), ["walls", "old"]), remainder=StandardScaler())
    pipeline = make_pipeline(columns, ScikitLogistic()).fit(x, y)
    assert draw(pipeline, x, y, features=["size", "rooms"], grid=5).probabilities.shape[-1] == 2
    counts = x[["rooms", "rooms"]].to_numpy()
    values = draw(PoissonNB().fit(counts, y), counts, y, grid=100).first
    assert values.tolist() == list(range(counts.min(), counts.max() + 1))
    rows = sparse.csr_array(counts.astype(float))
    assert draw(PoissonNB().fit(rows, y), rows, y, grid=4).probabilities.shape == (4, 4, 2)


def test_without_predict_proba_the_predicted_class_has_probability_one(three_classes: Rows) -> None:
    x, y = three_classes
    model = LinearSVC().fit(x[:, :2], y)
    display = draw(model, x[:, :2], y, grid=8)
    first, second = np.meshgrid(display.first, display.second)
    predicted = model.predict(np.stack([first.ravel(), second.ravel()], axis=1)).reshape(8, 8)
    np.testing.assert_array_equal(display.classes[display.probabilities.argmax(axis=-1)], predicted)


def test_invalid_input_raises(three_classes: Rows, cells: dict[str, Any]) -> None:
    x, y = three_classes
    model = GDA().fit(x, y)
    with pytest.raises(ValueError, match="needs two features; got 1"):
        draw(model, x, y, features=[1])
    with pytest.raises(ValueError, match=r"two features, and X has 1.*draw ClassConditionalsDisplay"):
        draw(GDA().fit(x[:, :1], y), x[:, :1], y)
    with pytest.raises(ValueError, match="'x1' is given twice"):
        draw(model, x, y, features=[1, 1])
    with pytest.raises(ValueError, match="'x0' is an axis of the plot: it cannot be held constant"):
        draw(model, x, y, held={0: 1.0})
    with pytest.raises(ValueError, match="grid must be 2 or more; got 1"):
        draw(model, x, y, grid=1)
    with pytest.raises(ValueError, match="LinearRegression is not a fitted classifier"):
        draw(LinearRegression().fit(x, x[:, 0]), x)
    with pytest.raises(ValueError, match="feature 'x0' has no finite number: choose another"):
        draw(model, np.where([True, False, False], np.nan, x), y, features=[0, 1])
    labels = cells.pop("y")
    table = pd.DataFrame(cells)
    mixed = MixedNB().fit(table, labels)
    with pytest.raises(ValueError, match="'walls' holds strings: a decision boundary needs numbers"):
        draw(mixed, table, labels, features=["size", "walls"])
    with pytest.raises(ValueError, match="did you mean 'rooms'"):
        draw(mixed, table, labels, features=["size", "room"])
    with pytest.raises(ValueError, match=r"must have the shape \(2, 3, 2\)"):
        DecisionBoundaryDisplay([0, 1, 2], [0, 1], np.zeros((3, 2, 2)), ["a", "b"])

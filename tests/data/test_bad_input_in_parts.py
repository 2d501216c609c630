"""Bad input in memory, in a stream and on Dask: the same type of error in the same words, positions being by part."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import suffice

ROWS = 40
CUTS = [0, 15, 30, 40]
BAD = 31  # a row of the last part
RNG = np.random.default_rng(0)
MEASURED = np.abs(RNG.normal(size=(ROWS, 3))).round(3)
COUNTED = RNG.poisson(1.0, size=(ROWS, 3)).astype(float)
CLASSES = np.array(["ash", "oak"])[RNG.integers(0, 2, ROWS)]
NUMBERS = RNG.poisson(2.0, ROWS) + 0.5

Columns = tuple[Any, Any, Any]  # X, y and sample_weight

MODELS: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    **{
        make.__name__: (make, MEASURED, CLASSES)
        for make in (suffice.GaussianNB, suffice.GDA, suffice.MixedNB, suffice.Perceptron)
    },
    **{make.__name__: (make, MEASURED, CLASSES) for make in (suffice.LogisticRegression, suffice.SoftmaxRegression)},
    **{
        make.__name__: (make, COUNTED, CLASSES)
        for make in (suffice.MultinomialNB, suffice.BernoulliNB, suffice.PoissonNB, suffice.ComplementNB)
    },
    **{
        make.__name__: (make, COUNTED, CLASSES)
        for make in (suffice.FamilyNB, suffice.CategoricalNB, suffice.NBLogisticRegression)
    },
    **{
        make.__name__: (make, MEASURED, NUMBERS)
        for make in (suffice.LinearRegression, suffice.PoissonRegressor, suffice.GammaRegressor)
    },
    "LocallyWeightedRegression": (suffice.LocallyWeightedRegression, MEASURED, NUMBERS),
    "GLM multinomial": (lambda: suffice.GLM("multinomial"), MEASURED, CLASSES),
}


def cell(value: Any) -> Callable[[Any, Any, Any], Columns]:
    def change(x: Any, y: Any, weight: Any) -> Columns:
        x = x.astype(object if isinstance(value, str) else float)
        x[BAD, 1] = value
        return x, y, weight

    return change


def weighted(value: float) -> Callable[[Any, Any, Any], Columns]:
    def change(x: Any, y: Any, weight: Any) -> Columns:
        return x, y, np.where(np.arange(ROWS) == BAD, value, weight)

    return change


def number(x: Any, y: Any, weight: Any) -> Columns:
    return x, np.where(np.arange(ROWS) == BAD, np.nan, np.ceil(NUMBERS)), weight


FAULTS: dict[str, Callable[[Any, Any, Any], Columns]] = {
    "no rows": lambda x, y, weight: (x[:0], y[:0], weight[:0]),
    "one row": lambda x, y, weight: (x[:1], y[:1], weight[:1]),
    "one class": lambda x, y, weight: (x, np.full(ROWS, "oak"), weight),
    "a missing cell": cell(np.nan),
    "an infinite cell": cell(np.inf),
    "a negative cell": cell(-1.0),
    "a word": cell("red"),
    "labels of text": lambda x, y, weight: (x, CLASSES, weight),
    "fractions": lambda x, y, weight: (x, NUMBERS, weight),
    "a missing target": number,
    "no targets": lambda x, y, weight: (x, None, weight),
    "targets that are too few": lambda x, y, weight: (x, y[:-1], weight),
    "weights that are too few": lambda x, y, weight: (x, y, weight[:-1]),
    "a negative weight": weighted(-1.0),
    "a missing weight": weighted(np.nan),
    "weights of zero": lambda x, y, weight: (x, y, 0 * weight),
}


def in_memory(model: Any, x: Any, y: Any, weight: Any) -> None:
    model.fit(x, y, sample_weight=weight)


def in_a_stream(model: Any, x: Any, y: Any, weight: Any) -> None:
    given = {"X": x, "sample_weight": weight, **({} if y is None else {"y": y})}
    parts = [slice(*ends) for ends in pairwise(CUTS)]
    model.fit(lambda: ({name: column[part] for name, column in given.items()} for part in parts))


def on_dask(model: Any, x: Any, y: Any, weight: Any) -> None:
    def spread(column: Any) -> Any:
        chunks = tuple(np.diff(np.minimum(CUTS, len(column))).tolist())
        return da.from_array(column, chunks=(chunks, *((size,) for size in column.shape[1:])))

    with dask.config.set(scheduler="synchronous"):
        model.fit(spread(x), None if y is None else spread(y), sample_weight=spread(weight))


def complaint(fit: Callable[..., None], name: str, columns: Columns) -> tuple[str, str]:
    """Return the type and words of what a fit says, without positions and numbers of rows."""
    try:
        fit(MODELS[name][0](), *columns)
    except (ValueError, TypeError) as error:
        return type(error).__name__, re.sub(r"\d+", "#", str(error))
    return "none", ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", MODELS)
def test_bad_input_is_refused_in_the_same_words(name: str, fault: str) -> None:
    _, x, y = MODELS[name]
    columns = FAULTS[fault](x, y, np.ones(ROWS))
    expected = complaint(in_memory, name, columns)
    assert complaint(in_a_stream, name, columns) == expected
    assert complaint(on_dask, name, columns) == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_a_part_of_another_width_is_refused_in_the_words_of_rows_in_memory(name: str) -> None:
    make, x, y = MODELS[name]
    model = make().fit(x, y)
    with pytest.raises(ValueError, match="X has 2 features") as expected:
        model.predict(x[:, :2])
    parts = [(x[:15], y[:15]), (x[15:, :2], y[15:])]
    for read in (lambda: make().fit(lambda: iter(parts)), lambda: list(model.predict(part for part, _ in parts))):
        with pytest.raises(ValueError, match="X has 2 features") as found:
            read()
        assert str(found.value).rstrip(".") == str(expected.value).rstrip(".")
        assert "in batch 1 of the stream, counted from 0" in found.value.__notes__


def test_one_row_is_no_covariance_wherever_it_comes_from() -> None:
    words = "a covariance cannot be learned from one sample"
    for rows in (([[1.0, 2.0]], [0]), (iter([([[1.0, 2.0]], [0])]),)):
        with pytest.raises(ValueError, match=words):
            suffice.GDA().fit(*rows)

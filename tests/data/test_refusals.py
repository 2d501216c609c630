"""Refusals of rows in parts: each entry of the table, for streams, Dask and a user's own dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold

from suffice import GaussianNB, LogisticRegression
from suffice.data import as_dataset
from suffice.data.refusals import REFUSALS, RowsInPartsError
from suffice.selection import cross_validate

X = np.random.default_rng(0).normal(size=(40, 2))
Y = np.arange(40) % 2

Parts = Callable[[Any, Any], tuple[Any, Any]]


def a_stream(x: Any, y: Any) -> tuple[Any, Any]:
    return (lambda: ((x[at : at + 15], y[at : at + 15]) for at in range(0, 40, 15))), None


def on_dask(x: Any, y: Any) -> tuple[Any, Any]:
    return da.from_array(x, chunks=(15, 2)), da.from_array(y, chunks=15)


def a_dataset(x: Any, y: Any) -> tuple[Any, Any]:
    return as_dataset(a_stream(x, y)[0], y=None, sample_weight=None), None


def explain(parts: Parts) -> None:
    GaussianNB().fit(X, Y).explain(parts(X, Y)[0])


def refit(parts: Parts) -> None:
    cross_validate(LogisticRegression(), *parts(X, Y))


def split(parts: Parts) -> None:
    cross_validate(GaussianNB(), *parts(X, Y), folds=KFold(3))


def score(parts: Parts) -> None:
    cross_validate(GaussianNB(), *parts(X, Y), scoring=accuracy_score)


ASKED = {
    "rows in memory": explain,
    "refits": refit,
    "folds by position": split,
    "scoring functions": score,
}


@pytest.mark.parametrize("parts", [a_stream, on_dask, a_dataset])
@pytest.mark.parametrize("key", REFUSALS)
def test_a_refusal_gives_its_reason_and_an_alternative(key: str, parts: Parts) -> None:
    with pytest.raises(RowsInPartsError, match=r"^X is in parts") as caught:
        ASKED[key](parts)
    reason, cure = REFUSALS[key]
    assert reason.partition("}")[2] in str(caught.value)
    assert str(caught.value).endswith(cure)

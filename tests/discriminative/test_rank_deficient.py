"""Predictions where columns of the fit depend on others: rows that break the dependence are named."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import suffice
from suffice import (
    GLM,
    LinearRegression,
    LogisticRegression,
    OrdinalRegression,
    PoissonRegressor,
    SoftmaxRegression,
    formula,
)
from suffice.discriminative import CollinearityWarning, RankDeficiencyWarning

RNG = np.random.default_rng(2)
X = RNG.normal(size=(60, 3)) * [1.0, 1e-6, 1e6] + [1.0, 0.0, 1e7]
TWICE = np.column_stack([X, X[:, 0] + 1e6 * X[:, 1]])
COUNTS = RNG.poisson(3, 60)
MODELS = pytest.mark.parametrize(
    ("model", "y"),
    [
        (LinearRegression(), X[:, 0] + RNG.normal(size=60)),
        (LinearRegression(fit_intercept=False), RNG.normal(size=60)),
        (LinearRegression(covariance="HC3"), RNG.normal(size=60)),
        (PoissonRegressor(), COUNTS),
        (GLM("gamma", "log", covariance="HC1"), COUNTS + 1.0),
        (LogisticRegression(), COUNTS > 3),
        (SoftmaxRegression(), COUNTS % 3),
        (GLM("beta"), RNG.beta(2, 3, 60)),
        (OrdinalRegression(), COUNTS.clip(1, 4)),
    ],
    ids=lambda each: type(each).__name__,
)


def errors_of(model: Any, rows: Any) -> Any:
    several = isinstance(model, SoftmaxRegression)
    return np.asarray(model.predict_se(rows, **({"scale": "mean"} if several else {}))).reshape(rows.shape[0], -1)[:, 0]


@MODELS
def test_rows_that_break_a_dependence_are_named_and_have_no_error(model: Any, y: Any, tmp_path: Path) -> None:
    with pytest.warns(CollinearityWarning, match="x3 = a combination of"):
        model.fit(TWICE, y)
    model.save(tmp_path / "model")
    rows = TWICE[:4].copy()
    rows[2, 3] += 1.0
    for found in (model, suffice.load(tmp_path / "model")):
        with pytest.warns(RankDeficiencyWarning, match=r"1 of these 4 rows \(the first is row 2\) break"):
            found.predict(rows)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RankDeficiencyWarning)
            found.predict(TWICE)
        if isinstance(found, OrdinalRegression):  # without errors of predictions
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankDeficiencyWarning)
            assert np.isnan(errors_of(found, sparse.csr_array(rows))).tolist() == [False, False, True, False]
            assert np.isfinite(errors_of(found, TWICE)).all()


def test_a_penalty_leaves_no_doubt() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        suffice.Ridge(1.0).fit(TWICE / [1, 1e-6, 1e6, 1], COUNTS).predict(np.eye(4))


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a_cell_without_rows_is_not_determined(family: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"a": list("uuvv") * 15, "b": list("stst") * 15, "x": RNG.normal(size=60), "y": COUNTS})
    table = table[~((table["a"] == "v") & (table["b"] == "t"))]
    model = formula.fit("y ~ a * b + x", table, family=family)
    model.save(tmp_path / "model")
    new = pd.DataFrame({"a": ["u", None, "v", "v"], "b": ["t", "t", "s", "t"], "x": 0.5})
    for found in (model, suffice.load(tmp_path / "model")):
        with pytest.warns(RankDeficiencyWarning, match=r"1 of these 3 rows \(the first is row 3\) break"):
            assert np.isnan(found.predict(new)).tolist() == [False, True, False, False]
        with pytest.warns(RankDeficiencyWarning, match="break"):
            assert np.isnan(found.predict_se(new)).tolist() == [False, True, False, True]
        with pytest.warns(RankDeficiencyWarning, match="break"):
            assert np.isnan(found.predict_interval(new)[0]).tolist() == [False, True, False, True]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isfinite(found.predict_se(table)).all()

"""Saved, pickled and cloned models predict as before."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import suffice
from suffice import GLM, LinearRegression, LocallyWeightedRegression, LogisticRegression, solvers
from suffice.families import Poisson
from suffice.families.links import log
from suffice.statistics import EventCounts, Labels
from suffice.store import StoreError, read, write

from .cases import CASES, Case, rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_saved_model_answers_as_before(case: Case, tmp_path: Path) -> None:
    x, y = rows(case)
    model = case.make().fit(pd.DataFrame(x, columns=["one", "two", "three"]), y)
    frame = pd.DataFrame(x, columns=["one", "two", "three"])
    model.save(tmp_path / "model")
    for again in (suffice.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
        np.testing.assert_array_equal(again.theta_, model.theta_)
        assert str(again.summary()) == str(model.summary())
        assert again.get_params() == model.get_params()
        assert list(again.feature_names_in_) == ["one", "two", "three"]
    assert "two" in str(model.summary())


def test_a_solver_with_settings_is_saved(tmp_path: Path) -> None:
    x, y = rows(CASES[1])
    model = LogisticRegression(solver=solvers.BatchGradient(max_iter=3, tol=1e9)).fit(x, y)
    model.save(tmp_path / "model")
    assert suffice.load(tmp_path / "model").solver == solvers.BatchGradient(max_iter=3, tol=1e9)
    assert clone(model).solver == model.solver


def test_dependent_columns_are_saved_as_dependent(tmp_path: Path) -> None:
    x, y = rows(CASES[1])
    x = np.c_[x, x[:, 0] - x[:, 1]]
    with pytest.warns(UserWarning, match="x3 = a combination of x0, x1"):
        model = LogisticRegression().fit(x, y)
    model.save(tmp_path / "model")
    again = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(np.isnan(again.summary().inference.standard_errors), [False, True, True, False, True])
    assert "x3 = a combination of x0, x1" in str(again.summary())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_warm_starts_end_where_cold_ones_do(case: Case) -> None:
    if case.name == "linear":
        pytest.skip("normal equations have no start")
    x, y = rows(case)
    model = case.make(warm_start=True).fit(x, y)
    theta, steps = model.theta_.copy(), model.n_iter_
    model.fit(x, y)
    assert model.n_iter_ <= max(2, steps)
    np.testing.assert_allclose(model.theta_, theta, rtol=1e-6, atol=1e-8)


def test_a_family_and_a_link_that_were_given_as_such_are_saved(tmp_path: Path) -> None:
    x, y = np.arange(6.0)[:, None], np.array([1.0, 2.0, 2.0, 3.0, 5.0, 8.0])
    GLM(Poisson, log).fit(x, y).save(tmp_path / "model")
    again = suffice.load(tmp_path / "model")
    assert (again.family, again.link) == (Poisson, "log")
    np.testing.assert_allclose(again.predict(x), GLM("poisson").fit(x, y).predict(x))


def test_files_whose_parts_do_not_go_together_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    x, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    LinearRegression().fit(x, y).save(path)
    contents = read(path)
    write(path, replace(contents, statistics={"sum": EventCounts(Labels.of([0]), np.ones(1), np.ones((1, 2)))}))
    with pytest.raises(StoreError, match="the sum must be NormalEquations; it is a EventCounts"):
        suffice.load(path)
    write(path, replace(contents, settings={**contents.settings, "features": 3}))
    with pytest.raises(StoreError, match="the sum is of 2 features, the model of 3"):
        suffice.load(path)
    LocallyWeightedRegression(family="bernoulli").fit(x, y).save(path)
    contents = read(path)
    classes = {**contents.settings["classes"], "names": [0, 1, 2]}
    write(path, replace(contents, settings={**contents.settings, "classes": classes}))
    with pytest.raises(StoreError, match="family='bernoulli' needs two classes and one target"):
        suffice.load(path)

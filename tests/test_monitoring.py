"""Fits are watched by a logger, by verbose=True and by callbacks; what is interrupted leaves the model as it was."""

from __future__ import annotations

import logging
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import suffice
from suffice import (
    GDA,
    GLM,
    GammaRegressor,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    NBLogisticRegression,
    Perceptron,
    PoissonRegressor,
    SoftmaxRegression,
)
from suffice.data import spill
from suffice.solvers import BatchGradient, Objective, ValueGradient

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 3))
Y = (X[:, 0] + RANDOM.normal(size=300) > 0).astype(int)

MODELS = [
    LogisticRegression(),
    LogisticRegression(C=1.0, l1_ratio=1.0),
    LogisticRegression(bias_reduction=True),
    LogisticRegression(solver="batch", C=0.1, tol=1e-3),
    LogisticRegression(solver="stochastic", max_iter=5, tol=0.1),
    SoftmaxRegression(C=1.0),
    PoissonRegressor(),
    GammaRegressor(),
    GLM("poisson"),
    LinearRegression("newton"),
    Perceptron(tol=0.1),
    NBLogisticRegression(),
]


def rows_for(model):
    x = np.abs(X) if isinstance(model, NBLogisticRegression) else X
    return x, Y + 1 if isinstance(model, GammaRegressor) else Y


def watched(model, *rows, **more):
    """What a callback is given while a model is fitted."""
    found: list[suffice.Progress] = []
    with suffice.progress(found.append):
        model.fit(*rows, **more)
    return found


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_logger_the_callback_and_verbose_say_the_same(model, caplog, capsys):
    with caplog.at_level(logging.INFO, logger="suffice"):
        found = watched(model.set_params(verbose=True), *rows_for(model))
    model.set_params(verbose=False)
    assert found
    assert {now.estimator for now in found} == {type(model).__name__}
    assert {now.rows for now in found} == {300}
    assert all(now.passes >= 1 and np.isfinite(now.value) and now.seconds > 0 for now in found)
    assert [record.progress for record in caplog.records] == found
    assert [record.getMessage() for record in caplog.records] == [str(now) for now in found]
    assert capsys.readouterr().err.splitlines() == [str(now) for now in found]


def test_steps_are_those_of_the_trace():
    model = LogisticRegression()
    found = watched(model, X, Y)
    assert [now.value for now in found] == [step.value for step in model.solution_.trace]
    assert [now.gradient_norm for now in found] == [step.gradient_norm for step in model.solution_.trace]
    line = r"LogisticRegression: pass 1, 300 rows, \S+ s, value 206\.44\d+, gradient 0.\d+"
    assert re.fullmatch(line, str(found[0]))


def test_nothing_is_printed_unless_asked_for(caplog, capsys):
    LogisticRegression().fit(X, Y)
    assert capsys.readouterr() == ("", "")
    assert not caplog.records


def test_expectation_maximisation_is_watched():
    model = GaussianNB()
    found = watched(model, X, Y, unlabelled=RANDOM.normal(size=(50, 3)))
    assert [-now.value for now in found] == model.em_trace_
    x = np.where(RANDOM.random(X.shape) < 0.1, np.nan, X)
    model = GDA(missing="em")
    assert [-now.value for now in watched(model, x, Y)] == model.em_trace_


def test_pipelines_and_searches_are_watched():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    search = GridSearchCV(pipeline, {"logisticregression__C": [1.0, 10.0]}, cv=2)
    found = watched(search, X, Y)
    assert {now.rows for now in found} == {150, 300}
    assert sum(now.passes == 1 for now in found) == 5


def test_paths_are_watched():
    found: list[suffice.Progress] = []
    with suffice.progress(found.append):
        LogisticRegression().path(X, Y, Cs=3)
    assert {now.estimator for now in found} == {"LogisticRegression"}


def test_a_solver_by_itself_is_watched():
    class Parabola(Objective):
        def value_gradient(self, theta):
            return ValueGradient(float((theta**2).sum()), 2 * theta)

    found: list[suffice.Progress] = []
    with suffice.progress(found.append):
        solution = BatchGradient().minimise(Parabola(), np.ones((1, 1)))
    assert [now.value for now in found] == [step.value for step in solution.trace]
    assert found[0].estimator == ""
    assert str(found[0]).startswith("pass 1, 1 rows, ")


def test_callbacks_nest_and_end_with_the_block():
    outer: list[suffice.Progress] = []
    inner: list[suffice.Progress] = []
    with suffice.progress(outer.append):
        with suffice.progress(inner.append):
            PoissonRegressor().fit(X, Y)
        assert outer == inner
        PoissonRegressor().fit(X, Y)
    PoissonRegressor().fit(X, Y)
    assert len(outer) == 2 * len(inner) > 0


# Interruptions.


class StopFitError(Exception):
    """What a callback raises to stop a fit."""


def interrupted_by(error, after):
    """Return a callback that raises after so many calls."""
    calls = []

    def callback(now):
        calls.append(now)
        if len(calls) == after:
            raise error

    return callback


def open_files(folder):
    """Return the files of a folder that this process has open, those without a name included."""
    links = Path("/proc/self/fd")
    found = [str(each.readlink()) for each in links.iterdir() if each.is_symlink()]
    return [name for name in found if name.startswith(str(folder))]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StopFitError()], ids=repr)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_callback_that_raises_leaves_the_model_as_it_was(model, error):
    x, y = rows_for(model)
    model.fit(x[:200], y[:200])
    before = dict(vars(model))
    with pytest.raises(type(error)), suffice.progress(interrupted_by(error, after=1)):
        model.fit(x[100:] + 0.1, y[100:])
    after = vars(model)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


def test_a_model_that_was_never_fitted_stays_so():
    model = LogisticRegression()
    with pytest.raises(KeyboardInterrupt), suffice.progress(interrupted_by(KeyboardInterrupt(), after=2)):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


class Source:
    """Batches of rows; reading one of them is interrupted, counted over all passes."""

    def __init__(self, at):
        self.left = at

    def __call__(self):
        for start in range(0, 300, 60):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
            yield X[start : start + 60], Y[start : start + 60] + 1


STREAMED = [
    LogisticRegression(),
    PoissonRegressor(alpha=1.0),
    GammaRegressor(),
    LinearRegression("newton"),
    Perceptron(tol=0.1),
]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="lists open files as Linux does")
@pytest.mark.filterwarnings("ignore:X is a stream that is read once")
@pytest.mark.parametrize(
    ("again", "at"), [(True, 1), (True, 2), (True, 9), (True, 13), (False, 1), (False, 2), (False, 4)]
)
@pytest.mark.parametrize("model", STREAMED, ids=str)
def test_an_interrupt_between_batches_leaves_the_model_as_it_was(model, again, at, tmp_path, monkeypatch):
    monkeypatch.setattr(spill, "IN_MEMORY", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model.fit(X[:200], Y[:200] + 1)
    before = dict(vars(model))
    source = Source(at)
    with pytest.raises(KeyboardInterrupt):
        model.fit(source if again else source())
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())
    assert not open_files(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="lists open files as Linux does")
@pytest.mark.filterwarnings("ignore:X is a stream that is read once")
@pytest.mark.parametrize("after", [1, 2])
@pytest.mark.parametrize("model", STREAMED, ids=str)
def test_an_interrupt_between_passes_deletes_the_batches_that_were_kept(model, after, tmp_path, monkeypatch):
    monkeypatch.setattr(spill, "IN_MEMORY", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = []

    def callback(now):
        kept.append(open_files(tmp_path))
        if len(kept) == after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), suffice.progress(callback):
        model.fit(Source(0)())
    assert all(kept)  # files were there
    assert not open_files(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_first_reading_of_a_stream_is_reported():
    found = watched(LogisticRegression(), Source(0))
    assert str(found[0]).startswith("LogisticRegression: 300 rows read, ")
    assert [now.passes for now in found[1:3]] == [1, 2]

"""A backend of one's own: rows in chunks, worked on by a pool of processes, in one class and one registration."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial, reduce
from typing import Any, Self

import numpy as np
import pytest
from sklearn.base import clone

from suffice import (
    GDA,
    GLM,
    CategoricalNB,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    MultinomialNB,
    Perceptron,
    PoissonRegressor,
    SoftmaxRegression,
)
from suffice.data import Dataset, as_dataset, dataset, register
from suffice.kernels import libraries
from suffice.solvers import Newton


class Chunks:
    """A collection as a library might define it: rows in chunks, and a pool that works on them."""

    def __init__(self, pool: ProcessPoolExecutor, chunks: Sequence[Any]) -> None:
        self.pool = pool
        self.chunks = chunks


class PoolDataset(Dataset):
    """Parts that wait in this process; functions of them run in the processes of a pool."""

    def __init__(self, pool: ProcessPoolExecutor, parts: Sequence[Any], steps: Sequence[Any] = ()) -> None:
        self.pool, self.waiting, self.steps = pool, list(parts), tuple(steps)

    def map_parts(self, function: Callable[[Any], Any]) -> Self:
        return type(self)(self.pool, self.waiting, (*self.steps, function))

    def iterate(self) -> Iterator[Any]:
        return (each for each in self.pool.map(partial(apply, self.steps), self.waiting) if each is not None)

    def reduce(self, add: Callable[[Any, Any], Any]) -> Any:
        parts = list(self.iterate())
        return reduce(add, parts) if parts else None

    def fold(self, function: Callable[[Any, Any], Any], state: Any) -> Any:
        for part in self.iterate():
            state = self.pool.submit(function, state, part).result()
        return state

    def persist(self, function: Callable[[Any], Any], add: Callable[[Any, Any], Any]) -> tuple[Self, Any]:
        kept = type(self)(self.pool, list(self.iterate()))
        return kept, kept.map_parts(function).reduce(add)

    def release(self) -> None:
        self.waiting = []

    def map_rows(
        self, function: Callable[[Any], Any], names: Sequence[str], features: Sequence[str] | None = None
    ) -> Any:
        answers = list(self.map_parts(function).iterate())
        return np.concatenate(answers) if len(names) == 1 else tuple(map(np.concatenate, zip(*answers, strict=True)))

    def example(self) -> Any:
        return self.waiting[0]["X"][:1]

    def select(self, *names: str) -> Self:
        return self.map_parts(partial(entries, names))


def apply(steps: Sequence[Callable[[Any], Any]], part: Any) -> Any:
    for step in steps:
        part = step(part)
    return part


def entries(names: Sequence[str], part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name in names}


def pool_dataset(X: Chunks, **columns: Any) -> PoolDataset:
    """Return the chunks as parts; what belongs to the rows is cut like X."""
    ends = np.cumsum([len(chunk) for chunk in X.chunks])[:-1]
    given = {name: np.split(np.asarray(value), ends) for name, value in columns.items() if value is not None}
    parts = [
        {"X": chunk, **{name: value[place] for name, value in given.items()}} for place, chunk in enumerate(X.chunks)
    ]
    return PoolDataset(X.pool, parts)


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("forkserver")) as found:
        yield found


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "CLUSTERS", set(libraries.CLUSTERS))  # what is registered here is forgotten
    monkeypatch.setattr(dataset, "CLUSTERS", libraries.CLUSTERS)
    register("tests", pool_dataset)


RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(90, 3)).round(3)
Z = X @ [1.0, -0.5, 0.3]
KINDS = np.array(["oak", "ash", "elm"])[np.digitize(Z + RANDOM.normal(size=90), [-0.5, 0.5])]
COUNTS = RANDOM.poisson(np.exp(0.5 * Z))
WEIGHT = RANDOM.integers(1, 4, 90)

MODELS = {
    "GaussianNB": (GaussianNB(), X, KINDS),
    "GaussianNB, auto": (GaussianNB(alpha="auto", temperature="auto"), X, KINDS),
    "GDA": (GDA(), X, KINDS),
    "MultinomialNB": (MultinomialNB(), np.abs(X).round(), KINDS),
    "CategoricalNB, bins": (CategoricalNB(bins=4), X, KINDS),
    "LinearRegression": (LinearRegression(), X, Z + COUNTS),
    "LinearRegression, robust": (LinearRegression(covariance="HC3"), X, Z + COUNTS),
    "LogisticRegression": (LogisticRegression(), X, KINDS == "oak"),
    "LogisticRegression, Firth": (LogisticRegression(bias_reduction=True), X, KINDS == "oak"),
    "LogisticRegression, lasso": (LogisticRegression(C=0.5, l1_ratio=1.0), X, KINDS),
    "SoftmaxRegression": (SoftmaxRegression(C=1.0, solver=Newton()), X, KINDS),
    "PoissonRegressor": (PoissonRegressor(covariance="HC0"), X, COUNTS),
    "GLM, gamma": (GLM("gamma", "log"), X, np.exp(Z) + 0.1),
    "Perceptron": (Perceptron(shuffle=False, average=True, max_iter=4), X, KINDS),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_backend_in_one_file_fits_every_model(pool: ProcessPoolExecutor, name: str) -> None:
    model, x, y = MODELS[name]
    chunks = Chunks(pool, np.split(x, [10, 11, 60]))
    here = clone(model).fit(x, y, sample_weight=WEIGHT)
    there = clone(model).fit(chunks, y, sample_weight=WEIGHT)
    answers = "predict_proba" if hasattr(here, "predict_proba") else "predict"
    found, expected = getattr(there, answers)(chunks), getattr(here, answers)(x)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    else:
        np.testing.assert_array_equal(found, expected)
    if hasattr(here, "summary"):
        tables = [each.summary().frame().to_numpy(np.float64) for each in (there, here)]
        np.testing.assert_allclose(*tables, rtol=1e-6, atol=1e-9)


def test_rows_without_a_class_may_be_in_parts(pool: ProcessPoolExecutor) -> None:
    here = GaussianNB().fit(X[:40], KINDS[:40], unlabelled=X[40:])
    there = GaussianNB().fit(
        Chunks(pool, np.split(X[:40], [7, 20])), KINDS[:40], unlabelled=Chunks(pool, np.split(X[40:], [11]))
    )
    np.testing.assert_allclose(there.theta_, here.theta_, rtol=1e-9)
    np.testing.assert_allclose(there.em_trace_, here.em_trace_, rtol=1e-12)


def test_a_dataset_is_given_in_the_place_of_x(pool: ProcessPoolExecutor) -> None:
    data = as_dataset(Chunks(pool, np.split(X, [30])), y=KINDS, sample_weight=WEIGHT)
    np.testing.assert_allclose(GDA().fit(data).means_, GDA().fit(X, KINDS, WEIGHT).means_, rtol=1e-12)
    with pytest.raises(ValueError, match="a dataset whose parts bring their own y: leave y out"):
        GDA().fit(data, KINDS)


def test_an_error_in_a_part_names_the_cell(pool: ProcessPoolExecutor) -> None:
    broken = X.copy()
    broken[70, 1] = np.inf
    with pytest.raises(ValueError, match=r"X\[10, 1\] is inf|x\[10, 1\] is inf"):
        LogisticRegression().fit(Chunks(pool, np.split(broken, [60])), KINDS == "oak")

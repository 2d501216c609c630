"""Every model that claims it, fitted where a cluster's rows live: it is the one that threads fit to the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import TextClassifier
from suffice.selection import cross_validate

from .cluster_cases import CASES, ROWS, Case, classes
from .clusters import CLUSTERS, PANDAS, Cluster, Dask, spark_in_slow_tests

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
ANSWERS = {
    "predict": "prediction",
    "predict_proba": "probability",
    "predict_log_proba": "log_probability",
    "decision_function": "score",
}


def given(cluster: Cluster, case: Case, arrays: bool = False) -> tuple[Any, dict[str, Any]]:
    """Return the rows of a case on a cluster, and what comes beside them, as ``fit`` takes them."""
    if arrays:
        assert isinstance(cluster, Dask)
        beside = {key: cluster.array(column) for key, column in case.columns().items()}
        return cluster.array(case.rows().to_numpy()), beside
    table, beside = case.rows(), {}
    for key, column in case.columns().items():
        several = column.reshape(len(column), -1)
        names = [f"{key} {place}" for place in range(several.shape[1])]
        table = table.assign(**dict(zip(names, np.moveaxis(several, 1, 0), strict=True)))
        beside[key] = names if column.ndim == 2 else names[0]
    return cluster.frame(table), beside


def compare(ours: Any, theirs: Any) -> None:
    """Check that two fitted models are one: what was summed, what was found, what is said about it."""
    if hasattr(theirs, "classes_"):
        assert list(ours.classes_) == list(theirs.classes_)
        assert ours.classes_.dtype == theirs.classes_.dtype
    assert ours.n_features_in_ == theirs.n_features_in_
    if hasattr(theirs, "theta_"):
        np.testing.assert_allclose(ours.theta_, theirs.theta_, **CLOSE)
    if hasattr(theirs, "facts_"):
        np.testing.assert_allclose(*(list(each.facts_.plain().values()) for each in (ours, theirs)), **CLOSE)
        assert ours.solution_.converged
    if hasattr(theirs, "summary"):
        mine, its = (model.summary().frame().to_numpy(float) for model in (ours, theirs))
        np.testing.assert_allclose(mine, its, rtol=1e-8, atol=1e-10)
    if hasattr(theirs, "statistics_"):
        mine, its = (model.statistics_.to_arrays() for model in (ours, theirs))
        for name, array in its.items():
            np.testing.assert_allclose(mine[name], array, **CLOSE)


def check(cluster: Cluster, case: Case, arrays: bool = False) -> None:
    here = case.rows().to_numpy() if arrays else case.rows()
    theirs = case.make().fit(here, **case.columns())
    there, beside = given(cluster, case, arrays)
    ours = case.make().fit(there, **beside)
    compare(ours, theirs)
    agree(cluster.fetched(ours.predict(there)), theirs.predict(here))


def agree(answer: np.ndarray, expected: np.ndarray) -> None:
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(answer, expected, **CLOSE)
    else:
        assert answer.tolist() == expected.tolist()


#: Workers take long: there, one case of each way through the code is tried, and all of them in slow tests. The others
#: are tried with tasks of Dask that run here.
WAYS = [
    "GaussianNB",
    "LinearRegression, HC3",
    "LogisticRegression, balanced",
]


def everywhere() -> Iterator[Any]:
    for param in CLUSTERS:
        ways = WAYS if param.values == ("dask",) else ["GaussianNB", "LogisticRegression, balanced"]
        for case in CASES.values():
            slow = [] if case.name in ways else [pytest.mark.slow]
            yield pytest.param(*param.values, case, marks=[*param.marks, *slow], id=f"{param.values[0]}-{case.name}")


@pytest.mark.parametrize(("cluster", "case"), list(everywhere()), indirect=["cluster"])
def test_fit_gives_what_threads_give(cluster: Cluster, case: Case) -> None:
    check(cluster, case)


@pytest.mark.parametrize("case", [case for case in CASES.values() if case.name not in WAYS], ids=str)
def test_fit_of_parts_gives_what_threads_give(case: Case) -> None:
    import dask

    with dask.config.set(scheduler="synchronous"):
        check(Dask(), case)


def by_name(*names: str) -> Any:
    return pytest.mark.parametrize("case", [CASES[name] for name in names], ids=str)


def everywhere_and_on_dask(name: str, *others: str) -> Any:
    """Return a case for every cluster, and others that on Spark are slow tests."""
    cases = [pytest.param(*param.values, CASES[name], marks=param.marks) for param in CLUSTERS]
    for other in others:
        cases += [
            pytest.param("dask", CASES[other]),
            pytest.param("spark", CASES[other], marks=[PANDAS, pytest.mark.slow]),
        ]
    return pytest.mark.parametrize(("cluster", "case"), cases, indirect=["cluster"], ids=str)


@by_name("GaussianNB", "GDA full", "LinearRegression, two targets", "LogisticRegression, balanced", "GLM binomial")
def test_fit_of_dask_arrays_gives_what_threads_give(dask_cluster: Dask, case: Case) -> None:
    check(dask_cluster, case, arrays=True)


@everywhere_and_on_dask("MixedNB", "LogisticRegression, three classes")
def test_answers_are_those_of_threads(cluster: Cluster, case: Case) -> None:
    model, (there, _) = case.here(), given(cluster, case)
    for method, column in ANSWERS.items():
        if hasattr(model, method):
            answers = getattr(model, method)(there)
            agree(cluster.fetched(answers, column), getattr(model, method)(case.rows()))


@spark_in_slow_tests
@by_name("MixedNB", "LinearRegression, two targets")
def test_partial_fit_and_forget_of_spread_rows_are_those_of_threads(cluster: Cluster, case: Case) -> None:
    theirs = case.here()
    there, beside = given(cluster, case)
    model = case.make().partial_fit(there, **beside).partial_fit(there, **beside)
    compare(model, case.here().partial_fit(case.rows(), **case.columns()))
    compare(model.forget(there, **beside), theirs)


def test_cross_validation_scores_the_same_folds(cluster: Cluster) -> None:
    case = CASES["GaussianNB"]
    there, beside = given(cluster, case)
    grid = {"var_smoothing": [1e-9, 0.5]}
    ours = cross_validate(case.make(), there, grid=grid, folds=3, scoring="neg_log_loss", **beside)
    theirs = cross_validate(case.make(), case.rows(), grid=grid, folds=3, scoring="neg_log_loss", **case.columns())
    np.testing.assert_allclose(ours.scores, theirs.scores, **CLOSE)
    assert ours.best == theirs.best


def texts() -> pd.DataFrame:
    words = np.array(["spam", "offer", "meeting", "Käse", "win", "lunch", "re:"])
    random = np.random.default_rng(2)
    documents = [" ".join(words[random.integers(0, 7, size)]) for size in random.integers(1, 9, ROWS)]
    return pd.DataFrame({"text": documents, "class": classes()})


def test_documents_are_counted_on_the_workers(cluster: Cluster) -> None:
    there, here = cluster.frame(texts()), TextClassifier().fit(texts()["text"], texts()["class"])
    if isinstance(cluster, Dask):
        model, asked = TextClassifier().fit(there["text"], there["class"]), there["text"]
    else:
        model, asked = TextClassifier().fit(there, "class"), there.drop("class")
    np.testing.assert_allclose(model.predict_proba(texts()["text"]), here.predict_proba(texts()["text"]), **CLOSE)
    assert cluster.fetched(model.predict(asked)).tolist() == here.predict(texts()["text"]).tolist()


def test_dask_bags_of_texts_are_counted_on_the_workers(dask_cluster: Dask) -> None:
    import dask.bag as db

    bags = [db.from_sequence(texts()[name].tolist(), npartitions=3) for name in ("text", "class")]
    model, here = TextClassifier().fit(*bags), TextClassifier().fit(texts()["text"], texts()["class"])
    np.testing.assert_allclose(model.predict_proba(texts()["text"]), here.predict_proba(texts()["text"]), **CLOSE)

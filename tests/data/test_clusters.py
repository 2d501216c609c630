"""Every model that claims it, fitted where a cluster's rows live: it is the one that threads fit to the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import (
    GDA,
    GaussianNB,
    LinearRegression,
    LocallyWeightedRegression,
    LogisticRegression,
    NBLogisticRegression,
    Perceptron,
    PoissonRegressor,
    Ridge,
    TextClassifier,
)
from suffice.selection import cross_validate
from suffice.solvers import StochasticGradient
from suffice.solvers.truncated_newton import TruncatedNewton

from .cluster_cases import CASES, ROWS, Case, classes, numbers, real, two_classes, weights
from .clusters import CLUSTERS, PANDAS, SIZES, Cluster, Dask, cut, spark_in_slow_tests

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


def compare(ours: Any, theirs: Any, tolerance: float = 1e-10) -> None:
    """Check that two fitted models are one: what was summed, what was found, what is said about it."""
    if hasattr(theirs, "classes_"):
        assert list(ours.classes_) == list(theirs.classes_)
        assert ours.classes_.dtype == theirs.classes_.dtype
    assert ours.n_features_in_ == theirs.n_features_in_
    if hasattr(theirs, "theta_"):
        np.testing.assert_allclose(ours.theta_, theirs.theta_, rtol=tolerance, atol=tolerance)
    if hasattr(theirs, "facts_"):
        np.testing.assert_allclose(*(list(each.facts_.plain().values()) for each in (ours, theirs)), **CLOSE)
        assert ours.solution_.converged
    if hasattr(theirs, "summary") and not isinstance(theirs, NBLogisticRegression):
        mine, its = (model.summary().frame().to_numpy(float) for model in (ours, theirs))
        np.testing.assert_allclose(mine, its, rtol=1e-8, atol=1e-10)
    if hasattr(theirs, "statistics_"):
        mine, its = (model.statistics_.to_arrays() for model in (ours, theirs))
        for name, array in its.items():
            # Rounding errors follow from how rows are cut, and from rows that were taken out.
            if not name.endswith(("bounds", "depth", "forgotten", "_error")):
                np.testing.assert_allclose(mine[name], array, **CLOSE)


def check(cluster: Cluster, case: Case, arrays: bool = False) -> None:
    here = case.rows().to_numpy() if arrays else case.rows()
    theirs = case.make().fit(here, **case.columns())
    there, beside = given(cluster, case, arrays)
    ours = case.make().fit(there, **beside)
    compare(ours, theirs, case.tolerance)
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
def test_fit_of_parts_gives_what_threads_give(dask_here: Dask, case: Case) -> None:
    check(dask_here, case)


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


def test_intervals_of_spread_rows_are_those_of_threads(cluster: Cluster) -> None:
    case = CASES["LinearRegression, HC3"]
    model, (there, _) = case.here(), given(cluster, case)
    expected = model.predict_interval(case.rows(), 0.9)
    answers = model.predict_interval(there, 0.9)
    columns = ("lower", "upper")
    for column, found in zip(columns, answers if isinstance(answers, tuple) else [answers] * 2, strict=True):
        agree(cluster.fetched(found, column), expected[columns.index(column)])


def stochastic() -> LinearRegression:
    return Ridge(0.1, solver=StochasticGradient(step=0.01))


@pytest.mark.parametrize(
    ("make", "targets"),
    [
        (LogisticRegression, classes),
        (Perceptron, two_classes),
        (PoissonRegressor, two_classes),
        (stochastic, real),
        (LocallyWeightedRegression, real),
    ],
    ids=["LogisticRegression", "Perceptron", "PoissonRegressor", "LinearRegression", "LocallyWeightedRegression"],
)
def test_partial_fit_learns_the_parts_in_order(dask_here: Dask, make: Any, targets: Any) -> None:
    model, here = make(), make()
    known = {"classes": np.unique(targets())} if make in (LogisticRegression, Perceptron) else {}
    rows, y = dask_here.array(numbers()), dask_here.array(targets())
    for _ in range(2):
        model.partial_fit(rows, y)
        for part in cut(pd.DataFrame({"place": range(ROWS)}), SIZES[1:]):
            here.partial_fit(numbers()[part["place"]], targets()[part["place"]], **known)
    agree(model.predict(rows).compute(), here.predict(numbers()))
    if hasattr(here, "coef_"):
        np.testing.assert_allclose(model.coef_, here.coef_, **CLOSE)
        np.testing.assert_allclose(model.intercept_, here.intercept_, **CLOSE)
    with pytest.raises(ValueError, match=r"no rows \(samples\): there is nothing to learn from"):
        make().partial_fit(dask_here.array(numbers()[:0], [0]), dask_here.array(targets()[:0], [0]))


def test_truncated_newton_finds_the_optimum_of_dask_rows(dask_here: Dask) -> None:
    there = dask_here.array(numbers()), dask_here.array(two_classes()), dask_here.array(weights())
    model = LogisticRegression(solver=TruncatedNewton(1e-12), C=1.0).fit(*there)
    here = LogisticRegression(C=1.0, tol=1e-12).fit(numbers(), two_classes(), weights())
    assert model.solution_.converged
    np.testing.assert_allclose(model.theta_, here.theta_, **CLOSE)


def test_stochastic_steps_go_through_the_parts_in_order(dask_here: Dask) -> None:
    def steps() -> LogisticRegression:
        return LogisticRegression(solver="stochastic", C=1.0, tol=0.1)

    parts = cut(pd.DataFrame(numbers()).assign(y=two_classes()), SIZES[1:])
    stream = [(part[[0, 1, 2]].to_numpy(), part["y"].to_numpy()) for part in parts]
    model = steps().fit(dask_here.array(numbers()), dask_here.array(two_classes()))
    np.testing.assert_array_equal(model.theta_, steps().fit(iter(stream)).theta_)
    whole = steps().fit(dask_here.array(numbers(), [ROWS]), dask_here.array(two_classes(), [ROWS]))
    np.testing.assert_array_equal(whole.theta_, steps().fit(numbers(), two_classes()).theta_)


@pytest.mark.parametrize(
    ("model", "targets"),
    [
        (LogisticRegression(C=1.0, tol=1e-12), two_classes),
        (LinearRegression(covariance="HC0"), real),
        (LinearRegression(solver="newton"), real),
    ],
    ids=["LogisticRegression", "LinearRegression, HC0", "LinearRegression, newton"],
)
def test_dask_columns_far_from_zero_are_centred(dask_here: Dask, model: Any, targets: Any) -> None:
    far = numbers() + np.array([1e6, 0.0, 0.0])
    here = model.fit(far, targets()).summary().frame().to_numpy(float)
    there = model.fit(dask_here.array(far), dask_here.array(targets())).summary().frame().to_numpy(float)
    np.testing.assert_allclose(there, here, rtol=1e-7)


def test_leave_one_out_of_dask_rows_scores_as_threads_do(dask_here: Dask) -> None:
    there = dask_here.array(numbers()), dask_here.array(classes())
    for scoring in ("accuracy", "neg_log_loss"):
        ours, theirs = (
            cross_validate(GaussianNB(), *rows, sample_weight=weight, folds="loo", scoring=scoring).scores
            for rows, weight in ((there, dask_here.array(weights())), ((numbers(), classes()), weights()))
        )
        np.testing.assert_allclose(ours, theirs, **CLOSE)


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
    np.testing.assert_allclose(model.predict_proba(bags[0]).compute(), here.predict_proba(texts()["text"]), **CLOSE)


def test_discriminant_directions_of_spread_rows_are_those_of_threads(dask_here: Dask) -> None:
    model = GDA().fit(numbers(), classes())
    agree(model.transform(dask_here.array(numbers())).compute(), model.transform(numbers()))

"""Every model that claims it, fitted where a cluster's rows live: it is the one that threads fit to the same rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import (
    GDA,
    GLM,
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GammaRegression,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    MixedNB,
    MultinomialNB,
    PoissonNB,
    PoissonRegression,
    SoftmaxRegression,
)

from .clusters import CLUSTERS, SIZES, Cluster, Dask

ROWS = sum(SIZES)
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


# Rows. Those of a class lie together, so that most parts lack most classes; one part weighs nothing.


def drawn() -> np.random.Generator:
    return np.random.default_rng(5)


def numbers() -> np.ndarray:
    return drawn().normal(size=(ROWS, 3)) * [1.0, 0.5, 2.0] + [0.0, 3.0, -1.0]


def classes() -> np.ndarray:
    """Return names of classes that lean on the numbers; the third is in few parts."""
    z = numbers()[:, 0] + drawn().normal(size=ROWS)
    found = np.where(z > 0, "no", "yes").astype(object)
    found[153:190:3] = "perhaps"
    return found


def two_classes() -> np.ndarray:
    """Return classes of which the first part has one alone."""
    return np.where(numbers()[:, 0] + drawn().normal(size=ROWS) > 0, 1, 0) * (np.arange(ROWS) >= 3)


def predictors() -> np.ndarray:
    return 0.3 * numbers() @ [0.8, -1.0, 0.3] + 0.2


def weights() -> np.ndarray:
    weight = drawn().gamma(1.0, size=ROWS)
    weight[150:153] = 0.0  # all of one part
    return weight


def measured() -> pd.DataFrame:
    return pd.DataFrame(numbers(), columns=["a", "b", "c"])


def counted() -> pd.DataFrame:
    rates = np.array([[3.0, 1.0, 0.2], [0.5, 2.0, 1.0], [1.0, 0.1, 3.0]])
    each = np.unique(classes().astype(str), return_inverse=True)[1]
    return pd.DataFrame(drawn().poisson(rates[each]).astype(float), columns=["a", "b", "c"])


def named() -> pd.DataFrame:
    random = drawn()
    colour = np.array(["red", "green", "blue"])[random.integers(0, 3, ROWS)]
    colour[189] = "violet"  # in one part alone
    return pd.DataFrame({"colour": colour, "size": np.array(["s", "m"])[random.integers(0, 2, ROWS)]})


def mixed() -> pd.DataFrame:
    random = drawn()
    table = named().assign(length=numbers()[:, 0], visits=random.poisson(2.0, ROWS), new=random.random(ROWS) < 0.3)
    table.loc[7:20, "length"] = np.nan
    return table


@dataclass(frozen=True)
class Case:
    """A model in one of its settings, with rows that suit it."""

    name: str
    make: Callable[[], Any]
    rows: Callable[[], pd.DataFrame] = measured
    targets: Callable[[], np.ndarray] = classes
    beside: dict[str, Callable[[], np.ndarray]] = field(default_factory=lambda: {"sample_weight": weights})

    def __str__(self) -> str:
        return self.name

    def columns(self) -> dict[str, np.ndarray]:
        return {"y": self.targets(), **{key: value() for key, value in self.beside.items()}}

    def here(self) -> Any:
        return self.make().fit(self.rows(), **self.columns())


GENERATIVE = [
    Case("GaussianNB", GaussianNB),
    Case("GaussianNB, no weights", GaussianNB, beside={}),
    Case("MultinomialNB", MultinomialNB, counted),
    Case("ComplementNB", ComplementNB, counted),
    Case("BernoulliNB", BernoulliNB, counted),
    Case("PoissonNB", PoissonNB, counted),
    Case("CategoricalNB", CategoricalNB, named),
    Case("CategoricalNB, bins", lambda: CategoricalNB(bins=[[0.0], [2.5, 3.0], [-1.0]])),
    Case("MixedNB", MixedNB, mixed),
    *(
        Case(f"GDA {kind}", lambda kind=kind: GDA(kind))
        for kind in ("tied", "full", "diagonal", "tied_diagonal", "spherical", "tied_spherical")
    ),
    Case("GDA shrunk", lambda: GDA("full", shrinkage="oas")),
    Case("GaussianNB, tuned", lambda: GaussianNB(alpha="auto", temperature="auto")),
]


def real() -> np.ndarray:
    return predictors() + drawn().normal(size=ROWS)


def pairs() -> np.ndarray:
    return np.stack([real(), numbers()[:, 1] ** 2], axis=1)


def successes() -> np.ndarray:
    return drawn().binomial(trials(), 1 / (1 + np.exp(-predictors())))


def trials() -> np.ndarray:
    return np.random.default_rng(6).integers(1, 9, ROWS)


def shares() -> np.ndarray:
    random = drawn()
    return np.array([random.dirichlet(np.exp([0.5 + z, 1.0, 0.3 - z])) for z in predictors()])


def times() -> np.ndarray:
    return np.random.default_rng(7).gamma(2.0, size=ROWS) + 0.1


def events() -> np.ndarray:
    return drawn().poisson(times() * np.exp(predictors()))


WEIGHTED = {"sample_weight": weights}
LINEAR = [
    Case("LinearRegression", LinearRegression, targets=real),
    Case("LinearRegression, two targets", LinearRegression, targets=pairs),
    Case("LinearRegression, l1", lambda: LinearRegression(l1=1.0), targets=real),
    Case("LinearRegression, newton", lambda: LinearRegression("newton"), targets=real),
    *(
        Case(f"LinearRegression, {kind}", lambda kind=kind: LinearRegression(covariance=kind), targets=real)
        for kind in ("HC0", "HC3")
    ),
]
ITERATED = [
    Case("LogisticRegression", lambda: LogisticRegression(tol=1e-12), targets=two_classes),
    Case("LogisticRegression, three classes", lambda: LogisticRegression(l2=1.0, tol=1e-12)),
    Case("LogisticRegression, l1", lambda: LogisticRegression(l1=2.0, tol=1e-12), targets=two_classes),
    Case("LogisticRegression, balanced", lambda: LogisticRegression(l2=0.1, class_weight="balanced", tol=1e-12)),
    Case(
        "LogisticRegression, class weights",
        lambda: LogisticRegression(class_weight={0: 2.0, 1: 0.5}),
        targets=two_classes,
    ),
    Case("LogisticRegression, HC1", lambda: LogisticRegression(covariance="HC1", tol=1e-12), targets=two_classes),
    Case("SoftmaxRegression", lambda: SoftmaxRegression(l2=0.1, tol=1e-12)),
    Case(
        "PoissonRegression, offset",
        lambda: PoissonRegression(tol=1e-12),
        targets=events,
        beside={**WEIGHTED, "offset": lambda: np.log(times())},
    ),
    Case(
        "PoissonRegression, exposure", lambda: PoissonRegression(tol=1e-12), targets=events, beside={"exposure": times}
    ),
    Case("GammaRegression", lambda: GammaRegression(tol=1e-12), targets=lambda: np.exp(real())),
    Case("GLM gaussian", lambda: GLM(tol=1e-12), targets=real),
    Case(
        "GLM binomial",
        lambda: GLM("binomial", tol=1e-12),
        targets=successes,
        beside={**WEIGHTED, "trials": trials},
    ),
    Case("GLM multinomial", lambda: GLM("multinomial", l2=0.1, tol=1e-12)),
    Case("GLM beta", lambda: GLM("beta", tol=1e-12), targets=lambda: 1 / (1 + np.exp(-real()))),
    Case("GLM dirichlet", lambda: GLM("dirichlet", tol=1e-12), targets=shares),
]

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


#: Tasks of Spark take long: there, one case of each way through the code is tried, and all of them in slow tests.
WAYS = [
    "GaussianNB",
    "MixedNB",
    "LinearRegression, two targets",
    "LinearRegression, HC3",
    "LogisticRegression, balanced",
    "PoissonRegression, offset",
    "GLM binomial",
]


def everywhere() -> Iterator[Any]:
    for param in CLUSTERS:
        for case in (*GENERATIVE, *LINEAR, *ITERATED):
            slow = [pytest.mark.slow] if param.values[0] == "spark" and case.name not in WAYS else []
            yield pytest.param(*param.values, case, marks=[*param.marks, *slow], id=f"{param.values[0]}-{case.name}")


@pytest.mark.parametrize(("cluster", "case"), list(everywhere()), indirect=["cluster"])
def test_fit_gives_what_threads_give(cluster: Cluster, case: Case) -> None:
    check(cluster, case)


def by_name(*names: str) -> Any:
    cases = {case.name: case for case in (*GENERATIVE, *LINEAR, *ITERATED)}
    return pytest.mark.parametrize("case", [cases[name] for name in names], ids=str)


@pytest.mark.xdist_group("dask")
@by_name("GaussianNB", "GDA full", "LinearRegression, two targets", "LogisticRegression, balanced", "GLM binomial")
def test_fit_of_arrays_gives_what_threads_give(dask_cluster: Dask, case: Case) -> None:
    check(dask_cluster, case, arrays=True)


@by_name("MixedNB", "LogisticRegression, three classes")
def test_answers_are_those_of_threads(cluster: Cluster, case: Case) -> None:
    model, (there, _) = case.here(), given(cluster, case)
    for method, column in ANSWERS.items():
        if hasattr(model, method):
            answers = getattr(model, method)(there)
            agree(cluster.fetched(answers, column), getattr(model, method)(case.rows()))


@by_name("MixedNB", "LinearRegression, two targets")
def test_sums_grow_and_shrink(cluster: Cluster, case: Case) -> None:
    theirs = case.here()
    there, beside = given(cluster, case)
    model = case.make().partial_fit(there, **beside).partial_fit(there, **beside)
    compare(model, case.here().partial_fit(case.rows(), **case.columns()))
    compare(model.forget(there, **beside), theirs)

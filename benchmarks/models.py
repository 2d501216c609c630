"""Whole fits and predictions of models, compared with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk
from sklearn import naive_bayes as scikit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV

from benchmarks.harness import Task, Work
from benchmarks.sums import Array, documents, read_arrays, two_classes
from suffice import GDA, BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from suffice.selection import cross_validate

Codes = npt.NDArray[np.int64]
Model = Callable[[], Any]

ALPHAS = [float(alpha) for alpha in np.logspace(-3, 1, 30)]
SHAPES = {"1e6 × 20": (1_000_000, 20), "2e5 × 100": (200_000, 100), "5e4 × 500": (50_000, 500)}
BATCHES = 40
ARRIVALS = 200


def fitting(name: str, x: Any, y: Codes, ours: Model, rivals: dict[str, Model], limits: dict[str, Work]) -> Task:
    """Return the task of a fit."""
    works = {f"{rival}.fit": lambda make=make: make().fit(x, y) for rival, make in rivals.items()}
    return Task(name, lambda: ours().fit(x, y), works, limits)


def asking(
    name: str, x: Any, y: Codes, ours: Model, rival: tuple[str, Model], limits: dict[str, Work], method: str = "predict"
) -> Task:
    """Return the task of predicting the training rows; the predictions must agree."""
    mine, its = ours(), rival[1]()

    def prepare() -> None:
        alike = np.mean(mine.fit(x, y).predict(x) == its.fit(x, y).predict(x))
        assert alike > 0.999, f"{name}: only {alike:.2%} of the rows are given the same class"

    return Task(
        name,
        lambda: getattr(mine, method)(x),
        {f"{rival[0]}.{method}": lambda: getattr(its, method)(x)},
        limits,
        prepare,
    )


def gaussian() -> Iterator[Task]:
    """Yield the tasks on dense rows of two classes."""
    x, y = two_classes(*SHAPES["1e6 × 20"])
    rival = ("GaussianNB", scikit.GaussianNB)
    limit: dict[str, Work] = {"X.sum()": x.sum}
    yield fitting("GaussianNB fit, 1e6 × 20", x, y, GaussianNB, dict([rival]), limit)
    yield asking("GaussianNB predict_proba, 1e6 × 20", x, y, GaussianNB, rival, limit, "predict_proba")
    for shape, (rows, features) in SHAPES.items():
        yield from discriminant(shape, *two_classes(rows, features))


def discriminant(shape: str, x: Array, y: Codes) -> Iterator[Task]:
    """Yield the tasks of discriminant analysis, linear and quadratic."""
    linear = ("LDA", LinearDiscriminantAnalysis)
    both = {"LDA(svd)": linear[1], "LDA(lsqr)": lambda: LinearDiscriminantAnalysis(solver="lsqr")}
    quadratic = ("QDA", QuadraticDiscriminantAnalysis)
    product: dict[str, Work] = {"dsyrk": lambda: dsyrk(1.0, x.T)}
    yield fitting(f"GDA tied fit, {shape}", x, y, GDA, both, product)
    yield asking(f"GDA tied predict, {shape}", x, y, GDA, linear, {"X.sum()": x.sum})
    yield fitting(f"GDA full fit, {shape}", x, y, lambda: GDA("full"), dict([quadratic]), product)
    twice: dict[str, Work] = {"dsyrk, twice": lambda: [dsyrk(1.0, x.T) for _ in range(2)]}
    yield asking(f"GDA full predict, {shape}", x, y, lambda: GDA("full"), quadratic, twice)


def events() -> Iterator[Task]:
    """Yield the tasks on documents and on categories."""
    x, _ = documents(zipf=True)
    y = topics(x)
    read: dict[str, Work] = {"reading the arrays": read_arrays(x.data, x.indices, x.indptr, y)}
    for ours in (MultinomialNB, BernoulliNB, ComplementNB):
        name = ours.__name__
        rival = (name, getattr(scikit, name))
        yield fitting(f"{name} fit, CSR 2e5 × 50,000", x, y, ours, dict([rival]), read)
        yield asking(f"{name} predict, CSR 2e5 × 50,000", x, y, ours, rival, read)
    yield from choosing(x, y)
    yield from arriving(x, y)
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 8, (500_000, 20)), rng.integers(0, 2, 500_000)
    read = {"reading the arrays": read_arrays(codes, y)}
    rival = ("CategoricalNB", scikit.CategoricalNB)
    yield fitting("CategoricalNB fit, 5e5 × 20, 8 categories", codes, y, CategoricalNB, dict([rival]), read)
    yield asking("CategoricalNB predict, 5e5 × 20, 8 categories", codes, y, CategoricalNB, rival, read)


def topics(x: sp.csr_matrix) -> Codes:
    """Return random labels that depend on the words, mostly rare ones, so that smoothing matters."""
    rng = np.random.default_rng(1)
    frequency = np.asarray(x.sum(axis=0)).reshape(-1) + 1
    lean = x @ (rng.normal(size=x.shape[1]) / np.sqrt(frequency))
    return (lean + lean.std() * rng.normal(size=len(lean)) > 0).astype(np.int64)


def choosing(x: sp.csr_matrix, y: Codes) -> Iterator[Task]:
    """Yield the task of choosing the smoothing by cross-validation; both libraries must choose the same."""
    chosen: dict[str, Any] = {}

    def ours() -> None:
        chosen["ours"] = cross_validate(MultinomialNB(), x, y, grid={"alpha": ALPHAS}, folds=5)

    def rival() -> None:
        chosen["rival"] = GridSearchCV(scikit.MultinomialNB(), {"alpha": ALPHAS}, cv=5, refit=False).fit(x, y)

    yield Task("30 alphas × 5 folds of MultinomialNB, CSR 2e5 × 50,000", ours, {"GridSearchCV": rival}, {})
    if chosen:  # set when the task has run
        mean, its = chosen["ours"].mean, chosen["rival"].cv_results_["mean_test_score"]
        assert mean.max() > mean.min(), "all alphas give the same predictions"
        assert np.argmax(mean) == np.argmax(its), f"suffice chose another alpha: {mean} and {its}"


def arriving(x: sp.csr_matrix, y: Codes) -> Iterator[Task]:
    """Yield the tasks of single documents and a model that has learned many."""
    arrivals = [(x[row], y[row : row + 1]) for row in range(ARRIVALS)]
    last = x[ARRIVALS]

    def first_all(model: Any) -> None:
        for document, label in arrivals:
            model.partial_fit(document, label)
        model.predict_proba(last)

    def in_turn(model: Any) -> None:
        for document, label in arrivals:
            model.partial_fit(document, label)
            model.predict(last)

    for name, live in (
        (f"{ARRIVALS} × partial_fit of one document, then one predict_proba, 50,000 words", first_all),
        (f"{ARRIVALS} × (partial_fit of one document, predict of one), 50,000 words", in_turn),
    ):
        mine, its = MultinomialNB(), scikit.MultinomialNB()

        def prepare(mine: Any = mine, its: Any = its, live: Callable[[Any], None] = live) -> None:
            for model in (mine, its):
                live(model.fit(x, y))
            assert np.allclose(mine.predict_proba(x[:1000]), its.predict_proba(x[:1000])), "the models differ"

        yield Task(
            name,
            lambda mine=mine, live=live: live(mine),
            {"MultinomialNB": lambda its=its, live=live: live(its)},
            {},
            prepare,
        )


def streaming() -> Iterator[Task]:
    """Yield the task of a stream of 1.6 GB in batches of 40 MB."""
    template, y = two_classes(100_000, 50)

    def batches() -> Iterator[tuple[Array, Codes]]:
        rng = np.random.default_rng(0)
        for _ in range(BATCHES):
            yield template + rng.normal(size=50), y

    def part_by_part(model: Any) -> Any:
        for part, labels in batches():
            model.partial_fit(part, labels, classes=[0, 1])
        return model

    def prepare() -> None:
        mine, its = GaussianNB().fit(batches()), part_by_part(scikit.GaussianNB())
        assert np.allclose(mine.theta_, its.theta_), "the models differ"

    yield Task(
        f"GaussianNB fit from {BATCHES} batches, 4e6 × 50 in all",
        lambda: GaussianNB().fit(batches()),
        {"GaussianNB.partial_fit": lambda: part_by_part(scikit.GaussianNB())},
        {"making the batches": lambda: [None for _ in batches()]},
        prepare,
    )


def tasks() -> Iterator[Task]:
    """Yield all tasks, one at a time: their data is large."""
    yield from gaussian()
    yield from events()
    yield from streaming()

"""The sums behind the models, compared with the fits of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk
from scipy.special import expit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB

from benchmarks.harness import Task
from suffice.families import Response
from suffice.kernels import Batch, ThreadEngine
from suffice.statistics import (
    CategoryCounts,
    Curvature,
    DiagonalMoments,
    EventCounts,
    FullMoments,
    Labels,
    NormalEquations,
    PresenceCounts,
    TiedMoments,
)

ENGINE = ThreadEngine()
TWO = Labels.of([0, 1])
Array = npt.NDArray[np.float64]


def two_classes(rows: int, features: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return Gaussian rows of two classes whose means differ a little."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, rows)
    return rng.normal(size=(rows, features)) + 0.3 * y[:, None], y


def documents(zipf: bool) -> tuple[sp.csr_matrix, npt.NDArray[np.int64]]:
    """Return 200,000 documents over 50,000 words, 9.4 million stored counts: Zipf's law, or uniform."""
    rng = np.random.default_rng(0)
    rows, words = 200_000, 50_000
    frequency = 1 / (np.arange(words) + 2.7) if zipf else np.ones(words)
    frequency = rng.permutation(frequency / frequency.sum())  # a vocabulary is sorted by word, not by frequency
    length = 51 if zipf else 47
    drawn = np.searchsorted(np.cumsum(frequency), rng.random(rows * length)).clip(max=words - 1)
    counts = sp.csr_matrix((np.ones(drawn.size), drawn, np.arange(0, drawn.size + 1, length)), shape=(rows, words))
    counts.sum_duplicates()
    return counts, rng.integers(0, 2, rows)


def read_arrays(*arrays: npt.NDArray[np.generic]) -> Callable[[], object]:
    """Return a function that reads arrays once with one thread, at memory bandwidth."""
    words = [array.view(np.int64) if array.nbytes % 8 == 0 else array for array in arrays]
    return lambda: [part.sum() for part in words]


def sum_over(what: Callable[..., object], *columns: object) -> Callable[[], object]:
    """Return a function that accumulates a statistic over one batch."""
    return lambda: ENGINE.accumulate(what, Batch(*columns))  # type: ignore[arg-type, type-var]


def moments() -> Iterator[Task]:
    """Yield the tasks on dense rows of two classes."""
    x, y = two_classes(1_000_000, 20)
    yield Task(
        "diagonal class moments, 1e6 × 20",
        sum_over(DiagonalMoments.over(TWO), x, y),
        {"GaussianNB.fit": lambda: GaussianNB().fit(x, y)},
        {"X.sum()": lambda: x.sum()},
    )
    for rows, features in ((1_000_000, 20), (200_000, 100), (50_000, 500)):
        x, y = two_classes(rows, features)
        yield Task(
            f"tied scatter, {rows:.0e} × {features}".replace("e+0", "e"),
            sum_over(TiedMoments.over(TWO), x, y),
            {
                "LDA(svd).fit": lambda x=x, y=y: LinearDiscriminantAnalysis().fit(x, y),
                "LDA(lsqr).fit": lambda x=x, y=y: LinearDiscriminantAnalysis(solver="lsqr").fit(x, y),
            },
            {"dsyrk": lambda x=x: dsyrk(1.0, x.T)},
        )
    x, y = two_classes(200_000, 100)
    yield Task(
        "scatter per class, 2e5 × 100",
        sum_over(FullMoments.over(TWO), x, y),
        {"QDA.fit": lambda: QuadraticDiscriminantAnalysis().fit(x, y)},
        {"dsyrk": lambda: dsyrk(1.0, x.T)},
    )


def counts() -> Iterator[Task]:
    """Yield the tasks on documents and on categories."""
    for zipf in (True, False):
        x, y = documents(zipf)
        words = "words by Zipf's law" if zipf else "words all alike"
        limit = {"reading the arrays": read_arrays(x.data, x.indices, x.indptr, y)}
        yield Task(
            f"event counts, CSR 2e5 × 50,000, {x.nnz / 1e6:.1f}e6 stored, {words}",
            sum_over(EventCounts.over(TWO), x, y),
            {"MultinomialNB.fit": lambda x=x, y=y: MultinomialNB().fit(x, y)},
            limit,
        )
        yield Task(
            f"presence counts, the same, {words}",
            sum_over(PresenceCounts.over(TWO), x, y),
            {"BernoulliNB.fit": lambda x=x, y=y: BernoulliNB().fit(x, y)},
            limit,
        )
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 8, (500_000, 20)), rng.integers(0, 2, 500_000)
    yield Task(
        "category counts, 5e5 × 20, 8 categories",
        sum_over(CategoryCounts.over(TWO, (8,) * 20), codes, y),
        {"CategoricalNB.fit": lambda: CategoricalNB().fit(codes, y)},
        {"reading the arrays": read_arrays(codes, y)},
    )


def regression() -> Iterator[Task]:
    """Yield the tasks on dense rows with a target."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500_000, 30))
    y = x @ rng.normal(size=30) + rng.normal(size=500_000)
    yield Task(
        "normal equations, 5e5 × 30",
        sum_over(NormalEquations.over(), x, y),
        {"LinearRegression.fit": lambda: LinearRegression().fit(x, y)},
        {"dsyrk": lambda: dsyrk(1.0, x.T)},
    )
    label = (y > 0).astype(float)
    theta = 0.1 * rng.normal(size=(31, 1))

    def by_numpy(hessian: bool) -> object:
        z = x @ theta[1:, 0] + theta[0, 0]
        mean = expit(z)
        value = label @ z - np.logaddexp(0, z).sum()
        gradient = x.T @ (label - mean)
        return value, gradient, x.T @ ((mean * (1 - mean))[:, None] * x) if hessian else None

    for hessian in (False, True):
        yield Task(
            f"logistic value and gradient{' and Hessian' if hessian else ''}, 5e5 × 30",
            sum_over(Curvature.over(Response.of("bernoulli"), theta, True, hessian), x, label),
            {"the formula in NumPy": lambda hessian=hessian: by_numpy(hessian)},
            {"dsyrk": lambda: dsyrk(1.0, x.T)} if hessian else {"X.sum()": lambda: x.sum()},
        )
    coef = rng.normal(size=(3, 30))

    def scores() -> object:
        return np.concatenate(
            list(ENGINE.map(lambda batch, kernels: kernels.linear_scores(batch, coef, np.zeros(3)), Batch(x)))
        )

    yield Task(
        "linear scores of 3 classes, 5e5 × 30", scores, {"X @ W.T": lambda: x @ coef.T}, {"X.sum()": lambda: x.sum()}
    )


def tasks() -> Iterator[Task]:
    """Yield all tasks, one at a time: their data is large."""
    yield from moments()
    yield from counts()
    yield from regression()

"""Stochastic gradient descent and perceptron, compared with scikit-learn: one epoch each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn import linear_model as scikit
from sklearn.exceptions import ConvergenceWarning

from benchmarks.harness import Task, Work
from benchmarks.models import topics
from benchmarks.sums import documents, read_arrays, two_classes
from suffice.discriminative.perceptron import Perceptron
from suffice.families.response import Response
from suffice.kernels import Batch, ThreadEngine
from suffice.kernels.descent import Descent, Pace
from suffice.solvers.stochastic import shuffled


def quiet(work: Work) -> Work:
    """Return the work without the warning that one epoch is not enough."""

    def done() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return work()

    return done


def logistic(x: Any, y: Any) -> Callable[[], Descent]:
    """Return one epoch of logistic regression in a new order, with averaging of theta."""
    kernels, response, rows, start = ThreadEngine().kernels, Response.of("bernoulli"), x.shape[0], x.shape[1] + 1

    def epoch() -> Descent:
        return kernels.descend(
            Batch(x, y), response, np.zeros((start, 1)), True, shuffled(rows, 0), Pace(0.01, 1 / rows), 1e-4
        )

    return epoch


def one_epoch(shape: str, x: Any, y: Any, limits: dict[str, Work]) -> Iterator[Task]:
    """Yield both rules on the same rows; the models must be about equally accurate after the epoch."""
    epoch = logistic(x, y)

    def rival(average: bool) -> Any:
        return scikit.SGDClassifier(loss="log_loss", max_iter=1, tol=None, average=average, random_state=0).fit(x, y)

    def prepare() -> None:
        theta = epoch().mean[:, 0]
        mine = float(np.mean((x @ theta[1:] + theta[0] > 0) == y))
        assert mine > rival(True).score(x, y) - 0.02, f"the accuracy of suffice is only {mine:.2%}"

    yield Task(
        f"logistic SGD, one epoch, {shape}",
        epoch,
        {"SGDClassifier.fit": lambda: rival(False), "SGDClassifier(average).fit": lambda: rival(True)},
        limits,
        prepare,
    )
    yield Task(
        f"Perceptron fit, one epoch, {shape}",
        quiet(lambda: Perceptron(max_iter=1, random_state=0).fit(x, y)),
        {"Perceptron.fit": quiet(lambda: scikit.Perceptron(max_iter=1, tol=None, random_state=0).fit(x, y))},
        limits,
    )


def tasks() -> Iterator[Task]:
    """Yield all tasks, one at a time: their data is large."""
    x, y = two_classes(500_000, 30)
    order = shuffled(len(x), 0)
    yield from one_epoch("5e5 × 30", x, y, {"X[order]": lambda: x[order]})
    words, _ = documents(zipf=True)
    y = topics(words)
    read = read_arrays(words.data, words.indices, words.indptr, y)
    yield from one_epoch("CSR 2e5 × 50,000", words, y, {"reading the arrays": read})

"""Locally weighted regression, compared with a plain loop over queries and with statsmodels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Task
from benchmarks.sums import Array
from suffice.discriminative import LocallyWeightedRegression

Model = LocallyWeightedRegression

ROWS = 10_000
SETTINGS = ((1, 0.1), (5, 1.0))  # features, bandwidth


def waves(rows: int, features: int) -> tuple[Array, Array, Array]:
    """Return rows, targets that are a sine of the first feature, and as many queries."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, features))
    return x, np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=rows), rng.normal(size=(rows, features))


def loop(x: Array, y: Array, queries: Array, bandwidth: float) -> Array:
    """Return local linear fits, query by query, by the normal equations in NumPy."""
    answers = np.empty(len(queries))
    for place, query in enumerate(queries):
        z = x - query
        weight = np.exp((z * z).sum(axis=1) / (-2 * bandwidth**2))
        design = np.hstack([np.ones((len(x), 1)), z])
        weighted = design.T * weight
        answers[place] = np.linalg.solve(weighted @ design, weighted @ y)[0]
    return answers


def lstsq_loop(x: Array, y: Array, queries: Array, bandwidth: float) -> Array:
    """Return the same by a least-squares solver, which also handles collinear neighbours."""
    answers = np.empty(len(queries))
    for place, query in enumerate(queries):
        z = x - query
        root = np.exp((z * z).sum(axis=1) / (-4 * bandwidth**2))
        design = np.hstack([np.ones((len(x), 1)), z])
        answers[place] = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0][0]
    return answers


def kernel_reg(x: Array, y: Array, queries: Array, bandwidth: float) -> Array:
    """Return the same with statsmodels."""
    from statsmodels.nonparametric.kernel_regression import KernelReg

    columns = x.shape[1]
    model = KernelReg(y, x, "c" * columns, reg_type="ll", bw=[bandwidth] * columns)
    answers: Array = model.fit(queries)[0]
    return answers


def tasks() -> Iterator[Task]:
    """Yield all tasks; all libraries get the same queries."""
    for features, bandwidth in SETTINGS:
        x, y, queries = waves(ROWS, features)
        far = np.linalg.norm(queries, axis=1) > 2 * np.sqrt(features)
        queries[far] /= 10  # where every library has a prediction
        model = LocallyWeightedRegression(bandwidth).fit(x, y)
        rivals = {"NumPy, query by query": loop, "NumPy lstsq, query by query": lstsq_loop, "KernelReg": kernel_reg}

        def prepare(model: Model = model, x: Array = x, y: Array = y, asked: Array = queries[:50]) -> None:
            for rival in (loop, lstsq_loop, kernel_reg):
                theirs = rival(x, y, asked, model.bandwidth_)
                assert np.allclose(model.predict(asked), theirs, rtol=1e-6), f"{rival.__name__} has other predictions"

        yield Task(
            f"LocallyWeightedRegression predict, {ROWS:,} × {features}, {ROWS:,} queries",
            lambda model=model, queries=queries: model.predict(queries),
            {
                name: lambda rival=rival, x=x, y=y, queries=queries, width=bandwidth: rival(x, y, queries, width)
                for name, rival in rivals.items()
            },
            {},
            prepare,
        )

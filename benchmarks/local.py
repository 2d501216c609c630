"""Locally weighted regression beside a plain loop over queries and statsmodels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Task, Work
from benchmarks.sums import Array
from suffice.discriminative import LocallyWeightedRegression

ROWS = 10_000
BANDWIDTHS = {1: 0.1, 5: 1.0}
SLOW = 200  # queries that a rival of seconds per thousand is asked; ours are as many then


def waves(rows: int, features: int) -> tuple[Array, Array, Array]:
    """Return rows, targets that wave along the first feature, and as many queries."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, features))
    return x, np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=rows), rng.normal(size=(rows, features))


def loop(x: Array, y: Array, queries: Array, bandwidth: float) -> Array:
    """Return local linear fits, query by query, by the normal equations: what one writes first."""
    answers = np.empty(len(queries))
    for place, query in enumerate(queries):
        z = x - query
        weight = np.exp((z * z).sum(axis=1) / (-2 * bandwidth**2))
        design = np.hstack([np.ones((len(x), 1)), z])
        weighted = design.T * weight
        answers[place] = np.linalg.solve(weighted @ design, weighted @ y)[0]
    return answers


def lstsq_loop(x: Array, y: Array, queries: Array, bandwidth: float) -> Array:
    """Return the same by a least-squares solver, which also holds where neighbours lie in a line."""
    answers = np.empty(len(queries))
    for place, query in enumerate(queries):
        z = x - query
        root = np.exp((z * z).sum(axis=1) / (-4 * bandwidth**2))
        design = np.hstack([np.ones((len(x), 1)), z])
        answers[place] = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0][0]
    return answers


def kernel_reg(x: Array, y: Array, queries: Array, bandwidth: float) -> Array:
    """Return the same by statsmodels."""
    from statsmodels.nonparametric.kernel_regression import KernelReg

    columns = x.shape[1]
    model = KernelReg(y, x, "c" * columns, reg_type="ll", bw=[bandwidth] * columns)
    answers: Array = model.fit(queries)[0]
    return answers


def tasks() -> Iterator[Task]:
    """Yield all tasks: many queries beside the loop, fewer beside all rivals."""
    for features, bandwidth in BANDWIDTHS.items():
        x, y, queries = waves(ROWS, features)
        model = LocallyWeightedRegression(bandwidth).fit(x, y)
        near = queries[np.linalg.norm(queries, axis=1) < 2 * np.sqrt(features)]  # where every rival has an answer

        def prepare(model: LocallyWeightedRegression = model, x: Array = x, y: Array = y, near: Array = near) -> None:
            for rival in (loop, lstsq_loop, kernel_reg):
                theirs = rival(x, y, near[:50], model.bandwidth_)
                assert np.allclose(model.predict(near[:50]), theirs, rtol=1e-6), f"{rival.__name__} says otherwise"

        for count in (len(near), SLOW):
            asked = near[:count]
            rivals: dict[str, Work] = {
                "NumPy, query by query": lambda x=x, y=y, q=asked, b=bandwidth: loop(x, y, q, b),
            }
            if count == SLOW:
                rivals |= {
                    "NumPy lstsq, query by query": lambda x=x, y=y, q=asked, b=bandwidth: lstsq_loop(x, y, q, b),
                    "statsmodels KernelReg": lambda x=x, y=y, q=asked, b=bandwidth: kernel_reg(x, y, q, b),
                }
            yield Task(
                f"LocallyWeightedRegression predict, {ROWS:,} × {features}, {count:,} queries",
                lambda model=model, q=asked: model.predict(q),
                rivals,
                {},
                prepare,
            )

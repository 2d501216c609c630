"""Columns that nearly depend on each other, of which a sample of the rows says little."""

from __future__ import annotations

import numpy as np
import pytest

from suffice import PoissonRegressor


def _hinges(column: np.ndarray) -> np.ndarray:
    values = np.unique(column)
    bends = values[1:-1] if len(values) <= 32 else np.quantile(column, np.linspace(0, 1, 10)[1:-1])
    z, scale = column - column.mean(), column.std()
    return np.stack([z, *(np.maximum(column - bend, 0) for bend in bends)], axis=1) / scale


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3, 6))])
def test_the_default_solver_recovers_from_a_misleading_sample(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 24_000
    columns = [random.normal(size=n) for _ in range(8)] + [np.floor(random.exponential(3, n)) for _ in range(3)]
    levels = [(random.integers(0, size, n)[:, None] == np.arange(size)).astype(float) for size in (4, 12, 26)]
    X = np.concatenate([*map(_hinges, columns), *levels], axis=1)
    y = np.floor(random.exponential(3, n))
    model = PoissonRegressor(alpha=1.0, tol=1e-6, inference=False).fit(X, y)
    exact = PoissonRegressor(alpha=1.0, tol=1e-9, inference=False, solver="newton").fit(X, y)
    assert model.solution_.converged
    np.testing.assert_allclose(model.predict(X), exact.predict(X), rtol=1e-3)

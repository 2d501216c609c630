"""Temperatures: the one-dimensional search agrees with SciPy's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from suffice.selection.tuning import minimise_within

COSTS: dict[str, Callable[[float], float]] = {
    "quartic": lambda x: (x - 0.3) ** 2 + 2 * (x - 0.7) ** 4,
    "kink": lambda x: abs(x - 0.4),
    "skewed": lambda x: float(np.exp(x) + 0.2 * np.exp(-3 * x)),
    "increasing": lambda x: 3.0 * x,
    "decreasing": lambda x: -x,
}


@pytest.mark.parametrize("name", COSTS)
@pytest.mark.parametrize("bounds", [(-1.0, 2.0), (-20.0, 0.35)])
def test_minimise_within_agrees_with_scipy(name: str, bounds: tuple[float, float]) -> None:
    expected = minimize_scalar(COSTS[name], bounds=bounds, method="bounded", options={"xatol": 1e-6})
    found, value = minimise_within(COSTS[name], *bounds)
    assert found == pytest.approx(expected.x, abs=3e-6)
    assert value == COSTS[name](found)


def test_minimise_within_takes_few_evaluations() -> None:
    seen: list[float] = []
    minimise_within(lambda x: seen.append(x) or COSTS["quartic"](x), -1.0, 2.0)  # type: ignore[func-returns-value]
    assert len(seen) <= 20

"""Shared fixtures of the tests of plots: rows of three classes, and a check for open pyplot figures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Rows = tuple[npt.NDArray[Any], npt.NDArray[Any]]


@pytest.fixture(autouse=True)
def _no_open_pyplot_figure() -> Iterator[None]:
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


@pytest.fixture
def three_classes() -> Rows:
    """Return correlated numeric features of three classes, (150, 3)."""
    random = np.random.default_rng(0)
    y = np.repeat(["low", "middle", "high"], 50)
    mixing = np.array([[1.0, 0.6, 0.0], [0.0, 1.0, 0.0], [0.2, 0.0, 2.0]])
    shift = np.repeat([[0.0, 0.0, 0.0], [2.0, 1.0, 0.0], [4.0, -1.0, 0.3]], 50, axis=0)
    return random.normal(size=(150, 3)) @ mixing + shift, y


@pytest.fixture
def two_classes(three_classes: Rows) -> Rows:
    """Return the rows of the first two classes."""
    return three_classes[0][:100], three_classes[1][:100]

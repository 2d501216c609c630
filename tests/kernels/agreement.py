"""Comparison of kernels with the oracle."""

from typing import Any

import numpy as np

from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import Batch

from . import oracle
from .backends import CLASSES, Backend, Question


def check(backend: Backend, question: Question, host: Batch, classes: int = CLASSES) -> None:
    seen = getattr(backend.kernels, question.kernel)(backend.batch(host), classes, *question.more)
    expected = getattr(oracle, question.kernel)(host, classes, *question.more)
    agree(question.kernel, host, seen, expected)


def agree(kernel: str, host: Batch, seen: Any, expected: Any) -> None:
    """Check sums against the oracle's: to rounding, and spreads to what rounding x costs them."""
    if not isinstance(seen, tuple):
        seen, expected = (seen,), (expected,)
    for ours, truth in zip(seen, expected, strict=True):
        assert np.shape(ours) == np.shape(truth)
        assert not isinstance(ours, np.ndarray) or ours.dtype == np.float64
    if kernel.endswith("moments") or kernel == "normal_equations":
        weights, mean, spread, *cells = seen
        columns = host.x if host.y is None or kernel != "normal_equations" else np.column_stack([host.x, host.y])
        largest = np.fmax.reduce(np.abs(columns[host.start : host.stop].astype(float)), axis=0, initial=0)
        np.testing.assert_allclose(weights, expected[0], rtol=1e-13)
        assert np.all(np.abs(mean - expected[1]) <= 1e-14 * largest)
        assert np.all(np.abs(spread - expected[2]) <= allowance(kernel, expected[:3], largest))
        for ours, truth in zip(cells, expected[3:], strict=True):
            np.testing.assert_allclose(ours, truth, rtol=1e-13)
    else:
        for ours, truth in zip(seen, expected, strict=True):
            np.testing.assert_allclose(to_host(ours), truth, rtol=1e-13)


@np.errstate(over="ignore")
def allowance(kernel: str, expected: tuple[Any, ...], largest: np.ndarray) -> np.ndarray:
    """How far a spread may be off where each deviation is off by a few roundings of x."""
    weight, _, spread = expected
    weight = np.sum(weight) if kernel == "tied_moments" else np.asarray(weight)
    blur = np.sqrt(weight)[..., None] * 4 * np.finfo(float).eps * largest  # (k, d), or (d,) for one scatter
    if kernel == "diagonal_moments":
        root = np.sqrt(spread)
        return 1e-13 * spread + 2 * root * blur + blur * blur
    root = np.sqrt(np.diagonal(spread, axis1=-2, axis2=-1))
    both = (root + blur)[..., :, None] * (root + blur)[..., None, :]
    exact = root[..., :, None] * root[..., None, :]
    return 1e-13 * exact + both - exact

"""The bandwidth that predicts rows best which it has not seen; and rows in an order that keeps neighbours together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray

_GRID = 16  # bandwidths tried first, evenly spaced on a logarithmic scale
_REFINEMENTS = 10  # steps of golden section around the best of them: each leaves 0.618 of the interval
_STRIP = 64  # rows that native kernels weigh or skip together
_GOLDEN = (np.sqrt(5) - 1) / 2


def choose_bandwidth(score: Callable[[float], float], low: float, high: float) -> tuple[float, FloatArray]:
    """Return the bandwidth of the lowest score, and all that were tried with their scores, (g, 2), in their order.

    A grid from low to high comes first, then golden section between the neighbours of its best.

    Examples
    --------
    >>> best, table = choose_bandwidth(lambda bandwidth: (np.log(bandwidth) - 0.3) ** 2, 0.01, 100)
    >>> round(float(np.log(best)), 2)
    0.3
    """
    tried: dict[float, float] = {}

    def ask(logarithm: float) -> float:
        bandwidth = float(np.exp(logarithm))
        if bandwidth not in tried:
            value = score(bandwidth)
            tried[bandwidth] = value if np.isfinite(value) else np.inf
        return tried[bandwidth]

    grid = [float(each) for each in np.linspace(np.log(low), np.log(high), _GRID)]
    best = int(np.argmin([ask(each) for each in grid]))
    left, right = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    for _ in range(_REFINEMENTS):
        inner_left, inner_right = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
        if ask(inner_left) <= ask(inner_right):
            right = inner_right
        else:
            left = inner_left
    table = np.array(sorted(tried.items()))
    return float(table[np.argmin(table[:, 1]), 0]), table


def neighbours_together(x: FloatArray) -> npt.NDArray[np.intp]:
    """Return an order of rows, (n,), in which those that lie near each other stand near each other.

    The rows are halved across their widest side again and again, until a strip holds them.

    Examples
    --------
    >>> neighbours_together(np.array([[3.0], [1.0], [2.0]]))
    array([1, 2, 0])
    """
    order = np.argsort(x[:, 0], kind="stable")
    waiting = [(0, len(x))] if x.shape[1] > 1 else []
    while waiting:
        first, last = waiting.pop()
        if last - first <= _STRIP:
            continue
        part = order[first:last]
        widest = int(np.argmax(np.ptp(x[part], axis=0)))
        middle = -(-((last - first) // 2) // _STRIP) * _STRIP  # whole strips on the left
        order[first:last] = part[np.argpartition(x[part, widest], middle)]
        waiting += [(first, first + middle), (first + middle, last)]
    return order

"""How sure a share is: limits from counts, and from a logit of which the variance is known."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

#: What is known of a share before anything was seen, in percent.
ANYTHING = (0.0, 100.0)


def logistic(logit: npt.ArrayLike) -> FloatArray:
    """Return the probability that log-odds stand for."""
    e = np.exp(-np.abs(logit))  # exponent <= 0: cannot overflow
    return np.asarray(np.where(np.asarray(logit) >= 0, 1, e) / (1 + e))


def _percent_of_logit(logit: float) -> float:
    return 100 * float(logistic(logit))


def around(logit: float, variance: float, level: float) -> tuple[float, float]:
    """Return percentages that lie so far to both sides of a logit, of which the variance is known.

    Examples
    --------
    >>> [round(limit, 1) for limit in around(0.0, 0.25, 0.95)]
    [27.3, 72.7]
    """
    far = NormalDist().inv_cdf((1 + level) / 2) * sqrt(variance)
    return _percent_of_logit(logit - far), _percent_of_logit(logit + far)


def exact(least: int, most: int, n: int, level: float) -> tuple[float, float]:
    """Return Clopper and Pearson's limits, in percent, of a share that was from ``least`` to ``most`` out of n.

    Examples
    --------
    >>> [round(limit, 1) for limit in exact(0, 0, 100, 0.95)]
    [0.0, 3.6]
    """
    if not n:
        return ANYTHING
    tail = (1 - level) / 2
    return 100 * (1 - _greatest(n - least, n, tail)), 100 * _greatest(most, n, tail)


def _greatest(k: int, n: int, tail: float) -> float:
    """Return the greatest share under which k or fewer out of n have this probability."""
    if k == n:
        return 1.0
    logs = np.log(np.arange(1, n + 1, dtype=np.float64)).cumsum()
    factorials = np.append(0.0, logs)
    i = np.arange(k + 1)
    ways = factorials[n] - factorials[i] - factorials[n - i]
    low, high = k / n, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        chance = np.exp(ways + i * np.log(middle) + (n - i) * np.log1p(-middle)).sum()
        low, high = (middle, high) if chance > tail else (low, middle)
    return low

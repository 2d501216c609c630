"""Decisions between classes by a threshold of one class's probability, and what it costs on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.errors import UsageError, listed, nearest

#: Share of the rows of two classes below which the first one is the positive one, not the second: it is rare.
_RARE = 1 / 3
#: Thresholds whose consequences are listed, beside the chosen one.
_LISTED = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class ThresholdMeasures:
    """What a threshold of the probability of the positive class does on held-out rows.

    Parameters
    ----------
    threshold
        A row is predicted as positive if its probability is at least this.
    recall
        Of the positive rows, the share that are predicted as positive; NaN without such rows.
    precision
        Of the rows predicted as positive, the share that are; NaN without such rows.
    predicted
        Share of rows that are predicted as positive.
    cost
        Mean cost of a row; None if no costs were given.

    Examples
    --------
    >>> p, is_positive = np.array([0.9, 0.6, 0.2, 0.1]), np.array([True, False, True, False])
    >>> measure_threshold(0.5, p, is_positive, cost=(1, 10))
    ThresholdMeasures(threshold=0.5, recall=0.5, precision=0.5, predicted=0.5, cost=2.75)
    """

    threshold: float
    recall: float
    precision: float
    predicted: float
    cost: float | None = None


@dataclass(frozen=True)
class Decision:
    """A class is predicted if its probability is at least a threshold, else the most probable of the others.

    Examples
    --------
    >>> Decision(1, 0.2).decide(np.array([[0.7, 0.3], [0.9, 0.1]]))
    array([1, 0])
    """

    positive: int  # code of the class
    threshold: float

    def decide(self, probabilities: FloatArray) -> npt.NDArray[np.int64]:
        """Return the code of the predicted class of each row, (n,)."""
        others = probabilities.copy()
        others[:, self.positive] = -1.0
        return np.where(probabilities[:, self.positive] >= self.threshold, self.positive, others.argmax(axis=1))


def find_positive(positive: Any, labels: Labels, target: str, counts: FloatArray) -> int:
    """Return the code of the positive class: by default the second of two, or the first if it is rare.

    Parameters
    ----------
    positive
        Name of the class that the user has set, or None.
    labels, counts
        The classes, and the rows of each.
    target
        Name of the target.

    Examples
    --------
    >>> labels = Labels(("no", "yes"))
    >>> [find_positive(None, labels, "sold", np.array(counts)) for counts in ([50, 50], [5, 95])]
    [1, 0]
    >>> find_positive("1", Labels((0, 1, 2)), "stars", np.ones(3))
    1
    """
    names = [str(name) for name in labels]
    if positive is None:
        if len(names) != 2:
            raise UsageError(f"{target!r} has {len(names)} classes: name one with --positive (positive= in Python)")
        return 0 if counts[0] < _RARE * sum(counts) else 1
    if str(positive) not in names:
        raise UsageError(
            f"{target!r} has no class {str(positive)!r}; it has {listed(names)}{nearest(str(positive), names)}"
        )
    return names.index(str(positive))


def check_decision(cost: Any, threshold: Any) -> None:
    """Raise unless costs are two positive numbers, and a threshold is between 0 and 1."""
    if cost is not None:
        try:
            false_positive, false_negative = map(float, cost)
        except (TypeError, ValueError):
            raise UsageError(
                f"cost must be two numbers, of a false positive and a false negative; got {cost!r}"
            ) from None
        if not (0 < false_positive < np.inf and 0 < false_negative < np.inf):
            raise UsageError(f"costs must be positive numbers; got {false_positive:g}:{false_negative:g}")
    if threshold is not None and (not isinstance(threshold, int | float | np.number) or not 0 < threshold < 1):
        raise UsageError(f"threshold must be a number between 0 and 1; got {threshold!r}")


def measure_threshold(
    threshold: float,
    p: FloatArray,
    is_positive: npt.NDArray[np.bool_],
    weights: FloatArray | None = None,
    cost: Sequence[float] | None = None,
) -> ThresholdMeasures:
    """Return what a threshold does on rows, given the probability of the positive class."""
    weights = np.ones(len(p)) if weights is None else weights
    predicted = p >= threshold
    right = float(weights @ (predicted & is_positive))
    found, true, total = float(weights @ predicted), float(weights @ is_positive), float(weights.sum())
    paid = None if cost is None else ((found - right) * float(cost[0]) + (true - right) * float(cost[1])) / total
    precision = right / found if found else float("nan")
    return ThresholdMeasures(threshold, right / true if true else float("nan"), precision, found / total, paid)


def choose_threshold(
    p: FloatArray, is_positive: npt.NDArray[np.bool_], cost: Sequence[float], weights: FloatArray | None = None
) -> float:
    """Return the threshold of lowest cost on rows; of several, the one nearest to that of exact probabilities.

    If probabilities are exact, a threshold of a / (a + b) has the lowest expected cost, where a false positive costs a
    and a false negative b.

    Parameters
    ----------
    p, is_positive
        Probability of the positive class, and whether each row is of that class.
    cost
        Cost of a false positive and of a false negative.
    weights
        The weight of each row; all the same by default.

    Examples
    --------
    >>> choose_threshold(np.array([0.9, 0.6, 0.25, 0.125]), np.array([True, False, True, False]), (1, 10))
    0.1875
    """
    from suffice.metrics import rank

    false_positive, false_negative = map(float, cost)
    if weights is not None:
        p, is_positive, weights = p[weights > 0], is_positive[weights > 0], weights[weights > 0]
    ranking = rank(is_positive, p, weights)
    paid = ranking.false_positives * false_positive + (ranking.positives - ranking.true_positives) * false_negative
    edges = np.concatenate([[1.0], np.unique(p)[::-1], [0.0]])
    cuts = (edges[:-1] + edges[1:]) / 2  # a cut is between two neighbouring probabilities
    paid = np.where((cuts > 0) & (cuts < 1), paid, np.inf)
    least = np.flatnonzero(paid <= paid.min() * (1 + 1e-12))
    exact = false_positive / (false_positive + false_negative)
    return float(cuts[least[np.argmin(np.abs(cuts[least] - exact))]])


def list_thresholds(
    p: FloatArray,
    is_positive: npt.NDArray[np.bool_],
    weights: FloatArray | None = None,
    cost: Sequence[float] | None = None,
    chosen: float | None = None,
) -> list[ThresholdMeasures]:
    """Return what several thresholds do on rows, among them the chosen one."""
    thresholds = sorted({*_LISTED, *([] if chosen is None else [chosen])})
    return [measure_threshold(each, p, is_positive, weights, cost) for each in thresholds]

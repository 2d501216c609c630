"""Paired comparison of two filters, or two settings, on the same messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from suffice import metrics
from suffice.mail.outcome import Outcome
from suffice.metrics import FloatArray

#: Largest absolute log-odds in a log loss: a single certain error would outweigh all other messages.
_MOST = 35.0


class Difference(NamedTuple):
    """A measure of two filters on the same messages."""

    name: str
    first: float
    second: float
    difference: float  #: second - first; below 0 where the second is better
    interval: tuple[float, float]  #: 95 % interval of the difference, paired by message


def compare_outcomes(first: Sequence[Outcome], second: Sequence[Outcome], level: float = 0.95) -> list[Difference]:
    """Return the differences of the measures of two filters on the same messages, with paired intervals.

    Parameters
    ----------
    first, second
        The outcomes of both, one for each order of the messages. In every outcome, the messages are in the same order:
        that of a corpus, not the one in which they were judged. A message that is judged in several orders counts once,
        with the mean of its orders.
    level
        Confidence level. Ham lost and spam missed: Agresti and Min's interval of matched pairs. Log loss: Student's t.
        (1-ROCA)%: DeLong's, by the difference of the placements of each message.

    Examples
    --------
    >>> spam = [False] * 50 + [True] * 50
    >>> weak = Outcome(spam, [-1.0] * 48 + [2.0] * 52)
    >>> strong = Outcome(spam, [-1.0] * 50 + [2.0] * 50)
    >>> lost = compare_outcomes([weak], [strong])[0]
    >>> lost.name, lost.first, lost.second, lost.difference
    ('ham lost, %', 4.0, 0.0, -4.0)
    >>> [round(limit, 1) for limit in lost.interval]
    [-10.3, 2.6]
    """
    spam = first[0].spam
    if len(first) != len(second) or any(not np.array_equal(spam, each.spam) for each in (*first, *second)):
        raise ValueError("both filters must judge the same messages in the same number of orders")
    if spam.all() or not spam.any():
        raise ValueError("a comparison needs ham and spam")
    filed = [np.mean([each.filed for each in side], axis=0) for side in (first, second)]
    losses = [np.mean([_log_losses(each) for each in side], axis=0) for side in (first, second)]
    places = [np.mean([metrics.roc_placements(spam, each.score) for each in side], axis=0) for side in (first, second)]
    a, b = (100 * float(each[spam].mean()) for each in places)
    return [
        _compare_shares("ham lost, %", filed[0][~spam], filed[1][~spam], level),
        _compare_shares("spam missed, %", 1 - filed[0][spam], 1 - filed[1][spam], level),
        _compare_means("log loss", losses[0], losses[1], level),
        Difference("(1-ROCA)%", a, b, b - a, _roca_interval(spam, places[1] - places[0], level)),
    ]


def _log_losses(outcome: Outcome) -> FloatArray:
    """Return -log p of the right class of each message."""
    score = np.clip(outcome.score, -_MOST, _MOST)
    return np.logaddexp(0, np.where(outcome.spam, -score, score))


def _compare_shares(name: str, first: FloatArray, second: FloatArray, level: float) -> Difference:
    """Return the difference of two shares of the same messages, with Agresti and Min's interval (2005).

    It is the normal interval after half a pair is added to each of the four kinds, so it has a width even where no
    message is judged differently.
    """
    from scipy.special import ndtri

    gaps = second - first
    n = len(gaps) + 2
    centre = float(gaps.sum()) / n
    half_width = ndtri((1 + level) / 2) * np.sqrt((float((gaps**2).sum()) + 1) / n - centre**2) / np.sqrt(n)
    a, b = 100 * float(first.mean()), 100 * float(second.mean())
    return Difference(name, a, b, b - a, (float(100 * (centre - half_width)), float(100 * (centre + half_width))))


def _compare_means(name: str, first: FloatArray, second: FloatArray, level: float) -> Difference:
    mean, error = metrics.mean_and_error(second - first)
    interval = metrics.mean_interval(mean, error, len(first), level)
    return Difference(name, float(first.mean()), float(second.mean()), mean, interval)


def _roca_interval(spam: npt.NDArray[np.bool_], gaps: FloatArray, level: float) -> tuple[float, float]:
    """Return the interval of a difference of (1-ROCA)%, by the differences of the placements of messages.

    Where they do not vary, as where both filters are perfect, it is as wide as exact limits of no error.
    """
    from scipy.special import ndtri

    sides = [gaps[spam], gaps[~spam]]
    mean = float(sides[0].mean())
    variance = sum(float(each.var(ddof=1)) / len(each) for each in sides if len(each) > 1)
    if variance > 0:
        half_width = float(ndtri((1 + level) / 2) * np.sqrt(variance))
    else:
        half_width = metrics.binomial_interval(0, min(map(len, sides)), level)[1]
    return 100 * (mean - half_width), 100 * (mean + half_width)

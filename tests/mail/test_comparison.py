"""Paired comparison of outcomes: intervals against simulation and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.mail.comparison import compare_outcomes
from suffice.mail.outcome import Outcome


def draw(rng: np.random.Generator, n: int, noise: float) -> tuple[Outcome, Outcome]:
    """Return outcomes of two filters of equal quality, whose scores share most of their noise."""
    spam = np.arange(n) < n // 2
    shared = np.where(spam, 1.5, -1.5) + rng.normal(size=n)
    return tuple(Outcome(spam, shared + noise * rng.normal(size=n)) for _ in range(2))  # type: ignore[return-value]


def test_intervals_cover_no_difference_as_often_as_they_say():
    rng = np.random.default_rng(0)
    covered = np.zeros(4)
    for _ in range(300):
        found = compare_outcomes(*([each] for each in draw(rng, 400, 0.5)))
        covered += [each.interval[0] <= 0 <= each.interval[1] for each in found]
    assert (covered / 300 >= 0.92).all()
    assert (covered / 300 <= 0.985).all()


def test_pairs_make_intervals_narrower_than_two_separate_ones():
    first, second = draw(np.random.default_rng(1), 2000, 0.1)
    roca = compare_outcomes([first], [second])[3]
    low, high = first.interval("roca")
    assert roca.interval[1] - roca.interval[0] < 0.5 * (high - low)
    assert (roca.first, roca.second) == pytest.approx((first.roca, second.roca))


def test_a_message_judged_in_several_orders_counts_once():
    first, second = draw(np.random.default_rng(2), 200, 0.5)
    once, often = compare_outcomes([first], [second]), compare_outcomes([first] * 5, [second] * 5)
    for a, b in zip(once, often, strict=True):
        assert b.interval == pytest.approx(a.interval)


def test_equal_filters_differ_by_no_more_than_the_messages_can_show():
    outcome = Outcome([False] * 100 + [True] * 50, [-1.0] * 100 + [3.0] * 50)
    lost, missed, loss, roca = compare_outcomes([outcome], [outcome])
    assert [each.difference for each in (lost, missed, loss, roca)] == [0, 0, 0, 0]
    assert 1 < lost.interval[1] == -lost.interval[0] < missed.interval[1] < 10
    assert loss.interval == (0, 0)
    assert roca.interval[1] > 1


def test_different_messages_are_refused():
    one, other = Outcome([True, False], [1, 0]), Outcome([False, True], [1, 0])
    with pytest.raises(ValueError, match="the same messages"):
        compare_outcomes([one], [other])
    with pytest.raises(ValueError, match="needs ham and spam"):
        compare_outcomes([Outcome([True], [1])], [Outcome([True], [1])])

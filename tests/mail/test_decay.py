"""Decay of learned weight by the half-life, with clocks that are wrong."""

from __future__ import annotations

import time

import pytest

from suffice.mail import MailFilter
from suffice.mail.health import diagnose
from suffice.mail.settings import change_settings
from tests.mail.samples import message

DAY = 86400.0
BEGIN = 20_000 * DAY
HALF_LIFE = 30.0


@pytest.fixture
def clock(monkeypatch):
    """Return a function that sets the clock to a number of days after the start."""

    def put(days: float) -> None:
        monkeypatch.setattr(time, "time", lambda: BEGIN + days * DAY)

    put(0)
    return put


def train(mail: MailFilter, name: str, label: str, count: int = 10) -> None:
    for i in range(count):
        mail.learn(message(f"{name}{i}", "zebra"), label)


def seen(mail: MailFilter) -> tuple[float, float]:
    """Return the counts of the word in ham and spam, as of today."""
    contributions = mail.explain(message("x", "zebra")).contributions
    (found,) = [each.value for each in contributions if each.feature == "zebra" and each.value is not None]
    return found["ham"], found["spam"]


@pytest.fixture
def mine(tmp_path, clock):
    with MailFilter(tmp_path / "mine.db") as mail:
        change_settings(mail, half_life=HALF_LIFE)
        yield mail


@pytest.mark.parametrize("days", [0, 1, 30, 60, 590, 610, 3000])
@pytest.mark.parametrize("again", [False, True])
def test_weight_halves_after_a_half_life(mine, clock, days, again):
    train(mine, "a", "spam")
    assert seen(mine) == pytest.approx((0, 10))
    clock(days)
    if again:
        mine.close()
    assert seen(mine) == pytest.approx((0, 10 * 2 ** (-min(days, HALF_LIFE) / HALF_LIFE)))


def test_weight_decays_while_mail_is_learned(mine, clock):
    train(mine, "a", "spam")
    for month in range(1, 31):
        clock(30 * month)
        mine.learn(message(f"other{month}", "lunch"), "ham")
    assert seen(mine) == pytest.approx((0, 10 * 2**-30))


@pytest.mark.parametrize("again", [False, True])
def test_a_clock_that_was_years_ahead_costs_half_the_weight_at_most(mine, clock, again):
    train(mine, "a", "spam", 40)
    for i in range(40):
        mine.learn(message(f"h{i}", "lunch"), "ham")
    clock(5000)
    for i in range(30):
        mine.learn(message(f"ahead{i}", "lunch"), "ham")
    mine.store().compact()
    if again:
        mine.close()
    clock(1)
    (remark,) = [each for each in diagnose(mine) if "in the future" in each.what]
    assert "2038-06-13" in remark.what
    assert "clock" in remark.cure
    assert seen(mine) == pytest.approx((0, 20))
    mine.learn(message("late", "lunch"), "ham")
    clock(16)
    assert seen(mine) == pytest.approx((0, 20 * 2**-0.5))
    assert not [each for each in diagnose(mine) if "in the future" in each.what]


def test_a_filter_with_a_future_date_of_an_earlier_version_works(mine, clock):
    train(mine, "a", "spam")
    for name, value in (("last", 25_000), ("origin", 25_000)):
        mine.store().put_setting(name, value)
    mine.store().execute("DELETE FROM settings WHERE name = 'clock'")
    clock(1)
    mine.learn(message("x", "zebra"), "ham")
    before = seen(mine)[0]
    clock(16)
    assert seen(mine)[0] == pytest.approx(before * 2**-0.5)


def test_later_messages_count_more(mine, clock):
    train(mine, "a", "spam")
    clock(30)
    train(mine, "b", "ham")
    assert seen(mine) == pytest.approx((10, 5))
    clock(60)
    assert seen(mine) == pytest.approx((5, 2.5))


def test_forget_subtracts_the_remaining_weight(mine, clock):
    train(mine, "a", "spam")
    clock(630)  # far enough for all weights to be rescaled
    train(mine, "b", "spam", 1)
    for i in range(10):
        assert mine.forget(message(f"a{i}", "zebra"))
    assert seen(mine) == pytest.approx((0, 1))


@pytest.mark.parametrize("ahead", [1, 60, 630])
def test_no_message_has_more_weight_than_one_learned_today(mine, clock, ahead):
    clock(ahead)
    train(mine, "a", "spam")
    clock(0)
    train(mine, "b", "ham")
    assert seen(mine) == pytest.approx((10, 10))


@pytest.mark.parametrize("own", [0.0, 7.0])
def test_a_shared_filter_decays_by_its_own_half_life(tmp_path, clock, own):
    with MailFilter(tmp_path / "site.db") as site:
        change_settings(site, half_life=HALF_LIFE)
        clock(300)
        train(site, "a", "spam")
        clock(330)
        train(site, "b", "spam")
    with MailFilter(tmp_path / "mine.db", shared=[tmp_path / "site.db"]) as mine:
        change_settings(mine, half_life=own)
        train(mine, "c", "ham")
        assert seen(mine) == pytest.approx((10, 15))
        clock(337)
        left = 10 / 2 if own else 10
        assert seen(mine) == pytest.approx((left, 15 * 2 ** (-7 / HALF_LIFE)))

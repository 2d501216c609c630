"""Caution of the filter: few or uneven messages, single words and dates must not decide."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

from suffice import _native
from suffice.mail import MailFilter
from suffice.mail.evaluation import read_indexed
from suffice.mail.features import extract_features
from suffice.mail.verdict import CUTS, make_verdict
from tests.mail.samples import TOPICS, message, stream
from tests.references.data import unpacked

CUT = float(np.log(CUTS[1] / (1 - CUTS[1])))


# Few and uneven messages


@cache
def corpus() -> tuple[_native.mail.Letters, list[int]]:
    pairs = list(read_indexed(unpacked("spamassassin") / "index", lambda each: None))[:3500]
    return extract_features([data for data, _ in pairs], 2), [int(label == "spam") for _, label in pairs]


def shares_called_spam(ham: int, spam: int, seeds: int) -> tuple[float, float]:
    """Return the percentages of ham lost and spam caught by filters that learned random samples."""
    extracted, labels = corpus()
    called: tuple[list[bool], list[bool]] = ([], [])
    for seed in range(seeds):
        order = random.Random(seed).sample(range(len(labels)), len(labels))
        hams, spams = ([k for k in order if labels[k] == which] for which in (0, 1))
        train = sorted(hams[:ham] + spams[:spam])
        state = _native.mail.State(2)
        state.learn_all(extracted, train, [labels[k] for k in train], 1.0, 0)
        counts = {"ham": ham, "spam": spam}
        for which, rest in enumerate((hams[ham : ham + 600], spams[spam : spam + 200])):
            for k in rest:
                log_odds = state.score(extracted, k)[0][0]
                called[which].append(
                    make_verdict([log_odds], ("ham", "spam"), counts=counts, anyway=True).label == "spam"
                )
    return 100 * float(np.mean(called[0])), 100 * float(np.mean(called[1]))


@pytest.mark.parametrize(
    ("ham", "spam", "lost", "caught"),
    [(25, 25, 0.2, 30), (100, 100, 0.2, 55), (250, 250, 0.25, 80), (25, 495, 0.2, 15)],
)
def test_little_ham_is_lost_after_few_messages(ham, spam, lost, caught):
    """On SpamAssassin's mail. Measured: 0.17, 0.17, 0.22 and 0.06 % of ham lost, 39, 63, 85 and 23 % of spam caught."""
    found = shares_called_spam(ham, spam, 3)
    assert found[0] <= lost
    assert found[1] >= caught


def divisor(ham: int, spam: int, unseen: int) -> float:
    """Return what the log-odds of a message are divided by after some messages were learned."""
    rng = random.Random(0)
    words = [f"w{i}" for i in range(50)]
    extracted = extract_features([message(i, " ".join(rng.sample(words, 10))) for i in range(ham + spam)])
    state = _native.mail.State(2)
    order = rng.sample(range(ham + spam), ham + spam)
    state.learn_all(extracted, order, [int(i >= ham) for i in order], 1.0, 0)
    new = extract_features([message(0, " ".join(["w1", *(f"unseen{i}" for i in range(unseen))]))])
    divided = state.score(new, 0)[0][0]
    state.rate("scale", 0.0)
    return state.score(new, 0)[0][0] / divided


def test_log_odds_are_divided_by_more_the_less_is_known():
    by_novelty = [divisor(500, 500, unseen) for unseen in (0, 10, 63, 300)]
    assert by_novelty == pytest.approx([1, *(0.9 * (1 + u) ** (1 / 6) for u in (10, 63, 300))])
    assert divisor(40, 40, 63) == pytest.approx(0.9 * 2)
    assert divisor(20, 160, 63) == pytest.approx(0.9 * 2 * 8**0.1)
    assert divisor(160, 20, 63) == pytest.approx(0.9 * 2 / 8**0.1)


def test_unknown_words_in_spam_lower_its_log_odds(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mine:
        mine.learn_all(stream(100))
        spam = TOPICS["spam"]
        longer = [spam + "".join(f" unknown{i}" for i in range(count)) for count in (0, 30, 300)]
        found = [verdict.log_odds for verdict in mine.classify_all([message("x", body) for body in longer])]
        assert found == sorted(found, reverse=True)
        assert found[-1] > 0


def scores_of_noise(ham: int, spam: int) -> np.ndarray:
    """Return the log-odds of mail whose words are equally frequent in both classes."""
    rng = random.Random(0)
    words = [f"w{i}" for i in range(400)]
    extracted = extract_features([message(i, " ".join(rng.sample(words, 20))) for i in range(ham + spam + 100)])
    labels = [0] * ham + [1] * spam
    order = rng.sample(range(ham + spam), ham + spam)
    state = _native.mail.State(2)
    state.learn_all(extracted, order, [labels[i] for i in order], 1.0, 0)
    return np.array([state.score(extracted, i)[0][0] for i in range(ham + spam, len(extracted))])


def test_the_prior_is_bounded_for_uneven_classes():
    """Without the bound: log-odds of 3.3 after 30 ham and 600 spam, and of 5.6 after 6,000 spam."""
    some, many = scores_of_noise(30, 300), scores_of_noise(30, 3000)
    assert many.mean() < min(some.mean() + 0.3, 2)
    assert many.max() < CUT
    some, many = scores_of_noise(300, 30), scores_of_noise(3000, 30)
    assert many.mean() > max(some.mean() - 0.3, -3)


# Single words


@pytest.mark.parametrize("count", [30, 300, 2000])
def test_a_single_word_cannot_decide(tmp_path, count):
    with MailFilter(tmp_path / "mail.db") as mine:
        mine.learn_all(
            (message(f"{label}{i}", word), label)
            for i in range(count)
            for label, word in (("spam", "lottery"), ("ham", "lunch"))
        )
        why = mine.explain(message("x", "lottery"))
        assert why.verdict.label == "unsure"
        assert max(each.effect for each in why.contributions) <= CUT / 2
        assert sum(each.effect for each in why.contributions) + why.base == pytest.approx(why.total)


# Dates


DATED = """Received: from a.example (a.example [192.0.2.1]) by b.example with SMTP id g7M;
\tThu, 22 Aug 2002 11:36:23 -0400 (EDT)
Date: Thu, 22 Aug 2002 11:36:23 -0400 (EDT)
Resent-Date: August
X-Stamp: Thu Aug 22 11:36:23 2002 by hand
X-Iso: 2002-08-22T11:36:23.5Z then
X-Day: 22-Aug-2002, Aug 22, 2002 or 22 August 2002
Message-ID: <20020822113623.beef@a.example>
Subject: lunch on 22 Aug 2002 or in June

Lunch in Aug 2002
"""
OTHER = DATED.replace("2002", "2003").replace("August", "July").replace("Aug", "Jul").replace("0822", "0713")


def test_dates_of_header_fields_are_not_features():
    extracted = extract_features([DATED.encode(), OTHER.encode()])
    found = extracted.tokens(0)
    headed = [token for token in found if ":" in token]
    for piece in ("Aug", "August", "2002", "Thu", "11", "36", "22", "-0400", "EDT"):
        assert not [token for token in headed if token.partition(":")[2] == piece], piece
    assert {"header:date", "subject:lunch", "subject:June", "x-stamp:hand", "x-iso:then", "x-day:or"} <= set(found)
    assert {"received:a.example", "received:192.0.2.1", "received:g7M", "message-id:beef@a.example"} <= set(found)
    assert {"Aug", "2002"} <= set(found), "the text keeps what it says"
    assert set(extracted.tokens(1)) ^ set(found) == {"Aug", "2002", "Jul", "2003"}


def test_byte_grams_exclude_dates():
    extracted = extract_features([each.partition("\n\n")[0].encode() for each in (DATED, OTHER)])
    assert extracted.grams(0) == extracted.grams(1)


@pytest.mark.parametrize(
    "line", ["May 2 go", "call 12:30 now", "version 2002", "Marching 5 12:00", "a1 Aug 2002x", "sat on it"]
)
def test_text_that_is_not_a_date_is_kept(line):
    assert {f"subject:{word}" for word in line.replace(":", " ").split()} <= set(
        extract_features([f"Subject: {line}\n\n".encode()]).tokens(0)
    )


def test_the_month_of_a_message_does_not_change_its_verdict(tmp_path):
    def dated(number: str, month: str) -> bytes:
        return message(number, "see you there", f"Date: Mon, 3 {month} 2002 10:00:00 +0000\n")

    with MailFilter(tmp_path / "mail.db") as mine:
        mine.learn_all(stream(100))
        mine.learn_all(
            (dated(f"{label}{i}", month), label)
            for i in range(100)
            for label, month in (("spam", "Jun"), ("ham", "Sep"))
        )
        june, september = (mine.classify(dated("x", month)).log_odds for month in ("Jun", "Sep"))
        assert june == september

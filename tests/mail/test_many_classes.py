"""More than two classes: verdicts on spam do not depend on how other mail is divided."""

from __future__ import annotations

import random

import pytest

from suffice.mail import MailFilter
from suffice.mail.explanation import explain
from suffice.mail.features import extract_features
from tests.mail.samples import message, stream

NEW = [data for data, _ in stream(30, 7)]


def split(pairs: list[tuple[bytes, str]], names: tuple[str, ...]) -> list[tuple[bytes, str]]:
    """Return the same mail with ham divided into classes at random."""
    rng = random.Random(5)
    return [(data, rng.choice(names) if label == "ham" else label) for data, label in pairs]


@pytest.mark.parametrize("names", [("ham", "work"), ("ham", "work", "news", "lists")])
def test_splitting_ham_into_classes_changes_no_verdict_on_spam(tmp_path, names):
    pairs = stream(150, 2)
    with MailFilter(tmp_path / "two.db") as two, MailFilter(tmp_path / "many.db") as many:
        two.learn_all(pairs)
        many.learn_all(split(pairs, names))
        expected = [two.classify(data).log_odds for data in NEW]
        assert [many.classify(data).log_odds for data in NEW] == pytest.approx(expected, rel=1e-5)


def test_a_forgotten_class_changes_no_verdict_on_spam(tmp_path):
    found = []
    for label in ("ham", "news"):
        with MailFilter(tmp_path / f"{label}.db") as mine:
            mine.learn_all(stream(150, 2))
            mine.learn(message("headline"), label)
            mine.forget(message("headline"))
            found.append([mine.classify(data).log_odds for data in NEW])
    assert found[1] == pytest.approx(found[0], rel=1e-5)


def test_tokens_of_equal_frequency_are_neutral(tmp_path):
    labels = ("ham", "spam", "work")
    with MailFilter(tmp_path / "mail.db") as mine:
        mine.learn_all([(message(f"{label}{i}", f"alike {label}{i}"), label) for i in range(50) for label in labels])
        scores = mine.store().state().score(extract_features([message("x", "alike")]), 0)
        assert len(scores) == 3
        assert max(abs(counts) for _, counts, _, _ in scores) < 0.01


def test_the_explanation_of_spam_matches_the_verdict(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mine:
        mine.learn_all(stream(600, 1, ("ham", "spam", "work")))
        for data, _ in stream(20, 8, ("ham", "spam", "work")):
            why = explain(mine, data, "spam")
            assert why.total == pytest.approx(why.verdict.log_odds)


def test_mail_between_two_other_classes_is_not_spam(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mine:
        mine.learn_all(stream(600, 1, ("ham", "spam", "work")))
        verdict = mine.classify(message("x", "report budget meeting lunch"))
        assert verdict.probability < 0.1
        assert verdict.label in ("ham", "work")

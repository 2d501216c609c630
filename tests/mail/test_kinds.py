"""Kinds of mail at the edges: each is judged by many tokens, and ham of a kind that is new is not lost."""

from __future__ import annotations

import math

import pytest

from suffice.mail import MailFilter
from suffice.mail.verdict import CUTS
from tests.mail.kinds import KINDS, generate

#: Messages learned of each kind, half of them spam.
LEARNED = 40


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Return a filter that learned some messages of every kind."""
    with MailFilter(tmp_path_factory.mktemp("kinds") / "mail.db") as mail:
        mail.learn_all(pair for kind in KINDS for pair in generate(kind, LEARNED, 0))
        yield mail


@pytest.mark.parametrize("kind", KINDS)
def test_ham_of_a_kind_is_kept_and_its_spam_is_found(mixed, kind):
    """Measured, of 20: 14 to 20 ham are ham, the others unsure; 16 to 20 spam are spam, the others unsure."""
    labels: dict[str, list[str]] = {"ham": [], "spam": []}
    for data, label in generate(kind, 40, 1):
        labels[label].append(mixed.classify(data).label)
    assert labels["ham"].count("spam") == 0
    assert labels["spam"].count("ham") == 0
    assert min(labels[label].count(label) for label in labels) >= 12


@pytest.mark.parametrize("kind", KINDS)
def test_no_single_token_decides(mixed, kind):
    low, high = (math.log(p / (1 - p)) for p in CUTS)
    for data, _ in generate(kind, 20, 2):
        why = mixed.explain(data)
        label, tokens = why.verdict.label, [each.effect for each in why.contributions if each.value is not None]
        for effect in tokens:
            assert not (label == "spam" and why.total - effect < low), "without the token, the message would be ham"
            assert not (label == "ham" and why.total - effect >= high), "without the token, it would be spam"
        if label == "spam":
            assert max(tokens) <= why.total / 2


@pytest.mark.parametrize("kind", KINDS)
def test_ham_of_a_kind_that_was_never_learned_is_not_lost(tmp_path, kind):
    language = kind.split()[0]
    with MailFilter(tmp_path / "mail.db") as mail:
        mail.learn_all(pair for each in KINDS if each.split()[0] != language for pair in generate(each, LEARNED, 0))
        assert [mail.classify(data).label for data, label in generate(kind, 20, 3) if label == "ham"].count("spam") == 0

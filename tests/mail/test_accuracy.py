"""Error rates on a public corpus, compared with naive Bayes, and after poisoning of the training mail."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from functools import cache

import numpy as np
import pytest

from suffice import _native
from suffice.mail.evaluation import Corpus, evaluate_online, extract_corpus, read_indexed, shuffle_order
from suffice.mail.features import extract_features
from suffice.mail.outcome import Outcome
from tests.references.data import unpacked

Pairs = list[tuple[bytes, str]]
POINTS = range(20, 201)


@cache
def mail() -> Pairs:
    skipped: list[object] = []
    pairs = list(read_indexed(unpacked("spamassassin") / "index", skipped.append))
    assert (len(pairs), skipped) == (6047, [])
    return pairs


@cache
def corpus() -> Corpus:
    return extract_corpus(mail())


def test_error_rates_in_the_order_of_the_index():
    """Measured: 0.046 overall, 0.010 after the first 2,000, 6.6 % of spam missed at 0.1 % of ham lost."""
    outcome = evaluate_online(corpus())
    assert outcome.roca <= 0.07
    assert outcome.after(2000).roca <= 0.02
    assert outcome.sm_at(0.1) <= 9


@pytest.mark.slow
def test_error_rates_in_random_orders():
    """Measured over 20 orders: mean 0.042; after the first 2,000 mean 0.014; 5.9 % missed at 0.1 % lost."""
    outcomes = [evaluate_online(corpus(), shuffle_order(corpus(), seed)) for seed in range(3)]
    assert np.mean([outcome.roca for outcome in outcomes]) <= 0.07
    assert np.mean([outcome.after(2000).roca for outcome in outcomes]) <= 0.02
    assert np.mean([outcome.sm_at(0.1) for outcome in outcomes]) <= 9


# Comparison with naive Bayes


class NaiveBayes:
    """Multinomial naive Bayes over the words of a raw message, with Laplace smoothing."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {"ham": Counter(), "spam": Counter()}
        self.messages: Counter[str] = Counter()

    def log_odds(self, words: list[str]) -> float:
        known = len(self.counts["ham"].keys() | self.counts["spam"].keys()) + 1
        spam, ham = (
            math.log(self.messages[label] + 1)
            - len(words) * math.log(self.counts[label].total() + known)
            + sum(math.log(self.counts[label][word] + 1) for word in words)
            for label in ("spam", "ham")
        )
        return spam - ham

    def learn(self, words: list[str], label: str) -> None:
        self.counts[label].update(words)
        self.messages[label] += 1


def curves(order: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return (1 - ROCA)% of all messages up to each point, of the filter and of naive Bayes."""
    outcome = evaluate_online(corpus(), order)
    model = NaiveBayes()
    scores = []
    for k in order:
        data, label = mail()[k]
        words = re.findall(r"[a-z0-9'$]+", data.decode("latin-1").lower())
        scores.append(model.log_odds(words))
        model.learn(words, label)
    return tuple(  # type: ignore[return-value]
        np.array([Outcome(outcome.spam[:k], each[:k]).roca for k in POINTS])  # type: ignore[arg-type]
        for each in (outcome.score, np.array(scores))
    )


def test_the_filter_beats_naive_bayes_after_sixty_messages():
    """Measured in the order of the index: 26.3 against 17.2 after 20 messages, 7.9 against 7.7 after 50, then ahead."""
    ours, theirs = curves(list(range(200)))
    late = np.array(POINTS) >= 60
    assert (ours[late] <= theirs[late]).all()


@pytest.mark.slow
def test_the_filter_beats_naive_bayes_on_average_over_orders():
    """Measured over 40 orders: 17.9 against 20.4 after 20, 9.7 against 16.3 after 40, 2.3 against 8.0 after 200."""
    both = [curves(shuffle_order(corpus(), seed)[:200]) for seed in range(40)]
    ours, theirs = (np.mean([each[i] for each in both], axis=0) for i in (0, 1))
    assert (ours <= theirs).all()
    assert ours[-1] < 0.5 * theirs[-1]


# Poisoning


def stuffed(data: bytes, words: list[bytes], number: int) -> bytes:
    """Return a spam message as plain text with other words at its end."""
    head, _, body = data.partition(b"\n\n")
    fields = re.split(rb"\n(?![ \t])", head)
    kept = [field for field in fields if not re.match(rb"(?i)content-|mime-version|message-id", field)]
    text = re.sub(rb"<[^>]*>", b" ", body)[:5000]
    return b"\n".join([*kept, b"Message-ID: <poison%d@example.org>" % number, b"", text, b" ".join(words), b""])


def judged(train: Pairs, test: Pairs) -> float:
    """Return (1 - ROCA)% of a filter that learned some messages and judges others."""
    state = _native.mail.State(2)
    state.learn_all(
        extract_features([d for d, _ in train], 2),
        list(range(len(train))),
        [int(y == "spam") for _, y in train],
        1.0,
        0,
    )
    scores = state.scores(extract_features([data for data, _ in test], 2), 2)
    return Outcome([label == "spam" for _, label in test], scores).roca  # type: ignore[arg-type]


@pytest.mark.slow
def test_poisoned_training_mail_costs_little_accuracy():
    """One in a hundred training messages is hostile: spam with the 200 words that most ham messages have.

    4,000 messages are learned, 2,047 judged, in five random splits. Measured: 0.010 without poison; 0.013 where a
    user called it ham; 0.010 where it was learned as spam.
    """
    losses: dict[str, list[float]] = {"ham": [], "spam": []}
    for seed in range(5):
        rng = random.Random(seed)
        pairs = mail()[:]
        rng.shuffle(pairs)
        train, test = pairs[:4000], pairs[4000:]
        bodies = [set(re.findall(rb"[a-z]{3,}", d.partition(b"\n\n")[2].lower())) for d, y in train if y == "ham"]
        words = [word for word, _ in Counter(word for body in bodies for word in body).most_common(200)]
        victims = rng.sample([data for data, label in train if label == "spam"], len(train) // 100)
        clean = judged(train, test)
        for label, found in losses.items():
            poisoned = [*train, *((stuffed(data, words, i), label) for i, data in enumerate(victims))]
            rng.shuffle(poisoned)
            found.append(judged(poisoned, test) - clean)
    assert np.mean(losses["ham"]) <= 0.01
    assert np.mean(losses["spam"]) <= 0.005

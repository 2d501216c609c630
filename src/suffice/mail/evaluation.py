"""Evaluation of a filter: each message is judged, then learned, in order; or by cross-validation."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from suffice import _native
from suffice.mail.batch_learning import BATCH, BATCH_BYTES, split_batches
from suffice.mail.errors import MailError
from suffice.mail.features import available_cores, extract_features
from suffice.mail.filter import MailFilter, Train
from suffice.mail.mailboxes import Skipped
from suffice.mail.mailboxes.mbox import read_message
from suffice.mail.outcome import Outcome
from suffice.mail.verdict import CUTS, make_verdict


@dataclass(frozen=True)
class Corpus:
    """Features and classes of messages, in order of arrival."""

    batches: tuple[_native.mail.Letters, ...]
    labels: tuple[int, ...]
    classes: tuple[str, ...] = ("ham", "spam")

    def __len__(self) -> int:
        return len(self.labels)

    def places(self) -> list[tuple[int, int]]:
        """Return the batch of each message, and its index there."""
        return [(b, i) for b, batch in enumerate(self.batches) for i in range(len(batch))]


def read_index(path: str | Path) -> list[tuple[str, Path]]:
    r"""Return the classes and files of an index: lines such as ``spam path`` or ``ham path``.

    A path is absolute, or relative to the index.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = Path(folder, "index")
    ...     _ = index.write_text("spam a/1.eml\nham b/2.eml\n")
    ...     [(label, file.name) for label, file in read_index(index)]
    [('spam', '1.eml'), ('ham', '2.eml')]
    """
    index = Path(path)
    found = []
    for number, line in enumerate(index.read_text(encoding="utf-8", errors="surrogateescape").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        label, _, name = line.strip().partition(" ")
        if not name.strip():
            raise MailError(f"line {number} of {index} is not a class and a path: {line[:60]!r}")
        found.append((label.lower(), index.parent / name.strip()))
    if not found:
        raise MailError(f"{index} names no messages")
    return found


def read_indexed(path: str | Path, skip: Callable[[Skipped], None]) -> Iterator[tuple[bytes, str]]:
    """Return the messages of an index with their classes."""
    for label, file in read_index(path):
        found = read_message(file)
        if isinstance(found, Skipped):
            skip(found)
        else:
            yield found.data, label


def extract_corpus(pairs: Iterable[tuple[bytes, str]]) -> Corpus:
    """Extract the features of messages once, for several evaluations."""
    classes = ["ham", "spam"]
    labels: list[int] = []
    batches = []
    for batch in split_batches(pairs, lambda pair: len(pair[0]), BATCH, BATCH_BYTES):
        batches.append(extract_features([data for data, _ in batch], available_cores()))
        for _, label in batch:
            if label not in classes:
                classes.append(label)
            labels.append(classes.index(label))
    check_classes({name: labels.count(k) for k, name in enumerate(classes)})
    return Corpus(tuple(batches), tuple(labels), tuple(classes))


def evaluate_online(
    corpus: Corpus, order: Sequence[int] | None = None, *, train: Train = "all", cuts: tuple[float, float] = CUTS
) -> Outcome:
    r"""Return the verdicts of an empty filter on each message before it learns the message.

    Parameters
    ----------
    corpus
        The messages.
    order
        The order of the messages; that of the corpus if None.
    train
        Which messages the filter learns.
    cuts
        The probabilities of spam between which a verdict is unsure.

    Examples
    --------
    >>> ham, spam = [b"\n\nlunch at noon"] * 3, [b"\n\ncheap pills"] * 3
    >>> pairs = ((data, label) for pair in zip(ham, spam) for data, label in zip(pair, ("ham", "spam")))
    >>> evaluate_online(extract_corpus(pairs)).after(2).roca
    0.0
    """
    order = range(len(corpus)) if order is None else order
    places = corpus.places()
    learner = _OnlineLearner(corpus.classes, train, cuts)
    for batch, members in _runs(places, order):
        learner.add(corpus.batches[batch], [places[k][1] for k in members], [corpus.labels[k] for k in members])
    return learner.outcome()


def evaluate_stream(
    pairs: Iterable[tuple[bytes, str]],
    classes: Sequence[str],
    *,
    train: Train = "all",
    cuts: tuple[float, float] = CUTS,
) -> tuple[Outcome, dict[str, int]]:
    """Return the outcome of :func:`evaluate_online` and the number of messages of each class, in constant memory."""
    names = tuple(dict.fromkeys(("ham", "spam", *classes)))
    learner = _OnlineLearner(names, train, cuts)
    for batch in split_batches(pairs, lambda pair: len(pair[0]), BATCH, BATCH_BYTES):
        features = extract_features([data for data, _ in batch], available_cores())
        learner.add(features, list(range(len(batch))), [names.index(label) for _, label in batch])
    counts = {name: learner.labels.count(k) for k, name in enumerate(names)}
    check_classes(counts)
    return learner.outcome(), counts


def check_classes(counts: Mapping[str, int]) -> None:
    """Raise MailError unless there is spam and at least one other class."""
    spam = counts.get("spam", 0)
    if spam == 0 or spam == sum(counts.values()):
        raise MailError("an evaluation needs messages of at least two classes, one of them spam")


class _OnlineLearner:
    """An empty filter that judges each message, then learns it."""

    def __init__(self, classes: tuple[str, ...], train: Train, cuts: tuple[float, float]) -> None:
        self.classes, self.train, self.cuts = classes, train, cuts
        self.state = _native.mail.State(len(classes))
        self.scores: list[float] = []
        self.labels: list[int] = []

    def add(self, features: _native.mail.Letters, members: list[int], labels: list[int]) -> None:
        """Judge and learn messages, one after the other."""
        if self.train == "all":
            flat = self.state.learn_all(features, members, labels, 1.0, 0)
            wide = len(flat) // len(members)
            self.scores += [_spam_log_odds(flat[k * wide : (k + 1) * wide], self.classes) for k in range(len(members))]
        else:
            for i, label in zip(members, labels, strict=True):
                self._add_one(features, i, label)
        self.labels += labels

    def _add_one(self, features: _native.mail.Letters, i: int, label: int) -> None:
        counts = _class_counts(self.state, self.classes)
        totals = [score[0] for score in self.state.score(features, i)]
        verdict = make_verdict(totals, self.classes, self.cuts, (), counts)
        self.scores.append(_spam_log_odds(totals, self.classes))
        is_right = verdict.label == self.classes[label]
        if not (is_right and (self.train == "error" or verdict.certain)):
            self.state.learn(features, i, label, 1.0, 0, 1)

    def outcome(self) -> Outcome:
        """Return the outcome of all messages."""
        return _make_outcome(self.classes, self.labels, self.scores, self.cuts)


def cross_validate(corpus: Corpus, folds: int, *, seed: int = 0, cuts: tuple[float, float] = CUTS) -> Outcome:
    """Return the verdicts on each fold of the messages by a filter that learned the other folds."""
    if not 2 <= folds <= len(corpus):
        raise MailError(f"folds must be from 2 to the number of messages, {len(corpus)}; got {folds}")
    order = list(range(len(corpus)))
    random.Random(seed).shuffle(order)
    places = corpus.places()
    scores = [0.0] * len(corpus)
    for fold in range(folds):
        state = _native.mail.State(len(corpus.classes))
        rest = [k for j, k in enumerate(order) if j % folds != fold]
        for batch, members in _runs(places, rest):
            labels = [corpus.labels[k] for k in members]
            state.learn_all(corpus.batches[batch], [places[k][1] for k in members], labels, 1.0, 0)
        for k in order[fold::folds]:
            batch, i = places[k]
            totals = [score[0] for score in state.score(corpus.batches[batch], i)]
            scores[k] = _spam_log_odds(totals, corpus.classes)
    return _make_outcome(corpus.classes, corpus.labels, scores, cuts)


def _class_counts(state: _native.mail.State, classes: Sequence[str]) -> dict[str, float]:
    return dict(zip(classes, state.messages, strict=True))


def _spam_log_odds(totals: Sequence[float], classes: Sequence[str]) -> float:
    return totals[0] if len(totals) == 1 else totals[classes.index("spam")]


def judge_corpus(corpus: Corpus, mail: MailFilter, cuts: tuple[float, float] | None = None) -> Outcome:
    """Return the verdicts of a filter on all messages; it learns none of them.

    Parameters
    ----------
    corpus
        The messages.
    mail
        The filter.
    cuts
        The probabilities of spam between which a verdict is unsure; those of the filter if None.
    """
    cores = available_cores()
    scores = [verdict.log_odds for batch in corpus.batches for verdict in mail.judge(batch, cores=cores)]
    return _make_outcome(corpus.classes, corpus.labels, scores, cuts or mail.cuts)


def evaluate_orders(
    corpus: Corpus, orders: Iterable[Sequence[int]], *, train: Train = "all", cuts: tuple[float, float] = CUTS
) -> list[Outcome]:
    """Return the outcome of :func:`evaluate_online` of each order, with the messages in the order of the corpus."""
    outcomes = []
    for order in orders:
        outcome = evaluate_online(corpus, order, train=train, cuts=cuts)
        scores = [0.0] * len(corpus)
        for k, score in zip(order, outcome.score.tolist(), strict=True):
            scores[k] = score
        outcomes.append(_make_outcome(corpus.classes, corpus.labels, scores, cuts))
    return outcomes


def shuffle_order(corpus: Corpus, seed: int) -> list[int]:
    """Return a random order of the messages."""
    order = list(range(len(corpus)))
    random.Random(seed).shuffle(order)
    return order


def _runs(places: list[tuple[int, int]], order: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Return runs of an order within one batch."""
    return ((batch, list(members)) for batch, members in groupby(order, lambda k: places[k][0]))


def _make_outcome(
    classes: Sequence[str], labels: Sequence[int], scores: list[float], cuts: tuple[float, float]
) -> Outcome:
    spam = classes.index("spam")
    low, high = (math.log(p) - math.log1p(-p) if 0 < p < 1 else math.inf * (1 if p else -1) for p in cuts)
    is_spam: Any = [label == spam for label in labels]
    return Outcome(is_spam, scores, high, (low, high))  # type: ignore[arg-type]

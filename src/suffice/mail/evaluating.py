"""How good a filter would have been: every message is judged, then learned, in the order in which they came."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from suffice import _native
from suffice.mail.boxes import Skipped
from suffice.mail.boxes import read as read_letter
from suffice.mail.bulk import TOGETHER, TOGETHER_BYTES
from suffice.mail.errors import MailError
from suffice.mail.filter import Train
from suffice.mail.heaps import heaps
from suffice.mail.outcome import Outcome
from suffice.mail.reading import read, threads, token_count
from suffice.mail.verdict import CUTS, discount, judged


@dataclass(frozen=True)
class Corpus:
    """Messages that were read, with their classes, in the order in which they came."""

    heaps: tuple[_native.mail.Letters, ...]
    labels: tuple[int, ...]
    classes: tuple[str, ...] = ("ham", "spam")

    def __len__(self) -> int:
        return len(self.labels)

    def places(self) -> list[tuple[int, int]]:
        """Return the heap of each message, and its place in it."""
        return [(h, i) for h, heap in enumerate(self.heaps) for i in range(len(heap))]


def index_of(path: str | Path) -> list[tuple[str, Path]]:
    r"""Return the classes and files that an index names: lines ``spam path`` or ``ham path``.

    A path is relative to the index, or absolute.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     index = Path(place, "index")
    ...     _ = index.write_text("spam a/1.eml\nham b/2.eml\n")
    ...     [(label, file.name) for label, file in index_of(index)]
    [('spam', '1.eml'), ('ham', '2.eml')]
    """
    place = Path(path)
    found = []
    for number, line in enumerate(place.read_text(encoding="utf-8", errors="surrogateescape").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        label, _, name = line.strip().partition(" ")
        if not name.strip():
            raise MailError(f"line {number} of {place} is not a class and a path: {line[:60]!r}")
        found.append((label.lower(), place.parent / name.strip()))
    if not found:
        raise MailError(f"{place} names no messages")
    return found


def indexed(path: str | Path, skip: Callable[[Skipped], None]) -> Iterator[tuple[bytes, str]]:
    """Return the messages that an index names, with their classes."""
    for label, file in index_of(path):
        found = read_letter(file)
        if isinstance(found, Skipped):
            skip(found)
        else:
            yield found.data, label


def gathered(pairs: Iterable[tuple[bytes, str]]) -> Corpus:
    """Read messages once, to be judged and learned as often as is asked."""
    classes = ["ham", "spam"]
    labels: list[int] = []
    all_heaps = []
    for heap in heaps(pairs, lambda pair: len(pair[0]), TOGETHER, TOGETHER_BYTES):
        all_heaps.append(read([data for data, _ in heap], threads()))
        for _, label in heap:
            if label not in classes:
                classes.append(label)
            labels.append(classes.index(label))
    check_classes({name: labels.count(k) for k, name in enumerate(classes)})
    return Corpus(tuple(all_heaps), tuple(labels), tuple(classes))


def online(
    corpus: Corpus, order: Sequence[int] | None = None, *, train: Train = "all", cuts: tuple[float, float] = CUTS
) -> Outcome:
    r"""Return what a filter that starts from nothing says of each message before it learns it.

    Parameters
    ----------
    corpus
        The messages.
    order
        The order in which they come; as they are if None.
    train
        Which of them it learns.
    cuts
        Where the unsure zone begins and ends, as probabilities.

    Examples
    --------
    >>> ham, spam = [b"\n\nlunch at noon"] * 3, [b"\n\ncheap pills"] * 3
    >>> corpus = gathered((data, label) for pair in zip(ham, spam) for data, label in zip(pair, ("ham", "spam")))
    >>> online(corpus).after(2).roca
    0.0
    """
    order = range(len(corpus)) if order is None else order
    places = corpus.places()
    passing = _Passing(corpus.classes, train, cuts)
    for heap, members in _runs(places, order):
        passing.take(corpus.heaps[heap], [places[k][1] for k in members], [corpus.labels[k] for k in members])
    return passing.outcome()


def streamed(
    pairs: Iterable[tuple[bytes, str]],
    classes: Sequence[str],
    *,
    train: Train = "all",
    cuts: tuple[float, float] = CUTS,
) -> tuple[Outcome, dict[str, int]]:
    """Return the same for messages that come once, and how many of each class there were; little of them is kept."""
    names = tuple(dict.fromkeys(("ham", "spam", *classes)))
    passing = _Passing(names, train, cuts)
    for heap in heaps(pairs, lambda pair: len(pair[0]), TOGETHER, TOGETHER_BYTES):
        letters = read([data for data, _ in heap], threads())
        passing.take(letters, list(range(len(heap))), [names.index(label) for _, label in heap])
    counts = {name: passing.labels.count(k) for k, name in enumerate(names)}
    check_classes(counts)
    return passing.outcome(), counts


def check_classes(counts: Mapping[str, int]) -> None:
    """Refuse mail without spam, or with nothing else."""
    spam = counts.get("spam", 0)
    if spam == 0 or spam == sum(counts.values()):
        raise MailError("an evaluation needs messages of two classes at least, and one of them is spam")


class _Passing:
    """A filter that starts from nothing, and what it said of each message before it learned it."""

    def __init__(self, classes: tuple[str, ...], train: Train, cuts: tuple[float, float]) -> None:
        self.classes, self.train, self.cuts = classes, train, cuts
        self.state = _native.mail.State(len(classes))
        self.scores: list[float] = []
        self.labels: list[int] = []

    def take(self, letters: _native.mail.Letters, members: list[int], labels: list[int]) -> None:
        """Judge and learn messages, one after the other."""
        if self.train == "all":
            counts = _counts(self.state, self.classes)
            flat = self.state.learn_all(letters, members, labels, 1.0, 0)
            wide = len(flat) // len(members)
            for k, (i, label) in enumerate(zip(members, labels, strict=True)):
                share = discount(token_count(letters, i), counts)
                self.scores.append(share * _log_odds(flat[k * wide : (k + 1) * wide], self.classes))
                counts[self.classes[label]] += 1
        else:
            for i, label in zip(members, labels, strict=True):
                self._one(letters, i, label)
        self.labels += labels

    def _one(self, letters: _native.mail.Letters, i: int, label: int) -> None:
        counts = _counts(self.state, self.classes)
        totals = _totals(self.state, letters, i, counts)
        verdict = judged(totals, self.classes, self.cuts, (), counts)
        self.scores.append(_log_odds(totals, self.classes))
        right = verdict.label == self.classes[label]
        if not (right and (self.train == "error" or verdict.certain)):
            self.state.learn(letters, i, label, 1.0, 0, 1)

    def outcome(self) -> Outcome:
        """Return all of it."""
        return _outcome(self.classes, self.labels, self.scores, self.cuts)


def folded(corpus: Corpus, folds: int, *, seed: int = 0, cuts: tuple[float, float] = CUTS) -> Outcome:
    """Return what filters say of messages they have not learned: each part of the mail is judged by one of the rest."""
    if not 2 <= folds <= len(corpus):
        raise MailError(f"folds must be from 2 to the number of messages, {len(corpus)}; got {folds}")
    order = list(range(len(corpus)))
    random.Random(seed).shuffle(order)
    places = corpus.places()
    scores = [0.0] * len(corpus)
    for fold in range(folds):
        state = _native.mail.State(len(corpus.classes))
        rest = [k for j, k in enumerate(order) if j % folds != fold]
        for heap, members in _runs(places, rest):
            labels = [corpus.labels[k] for k in members]
            state.learn_all(corpus.heaps[heap], [places[k][1] for k in members], labels, 1.0, 0)
        counts = _counts(state, corpus.classes)
        for k in order[fold::folds]:
            heap, i = places[k]
            scores[k] = _log_odds(_totals(state, corpus.heaps[heap], i, counts), corpus.classes)
    return _outcome(corpus.classes, corpus.labels, scores, cuts)


def _totals(
    state: _native.mail.State, letters: _native.mail.Letters, i: int, counts: Mapping[str, float]
) -> list[float]:
    """Return the log-odds of a message as a verdict reads them."""
    share = discount(token_count(letters, i), counts)
    return [share * score[0] for score in state.score(letters, i)]


def _counts(state: _native.mail.State, classes: Sequence[str]) -> dict[str, float]:
    return dict(zip(classes, state.messages, strict=True))


def _log_odds(totals: Sequence[float], classes: Sequence[str]) -> float:
    return totals[0] if len(totals) == 1 else totals[classes.index("spam")]


def shuffled(corpus: Corpus, seed: int) -> list[int]:
    """Return another order of the messages."""
    order = list(range(len(corpus)))
    random.Random(seed).shuffle(order)
    return order


def _runs(places: list[tuple[int, int]], order: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Return stretches of an order that lie in one heap."""
    return ((heap, list(members)) for heap, members in groupby(order, lambda k: places[k][0]))


def _outcome(classes: Sequence[str], labels: Sequence[int], scores: list[float], cuts: tuple[float, float]) -> Outcome:
    spam = classes.index("spam")
    low, high = (math.log(p) - math.log1p(-p) if 0 < p < 1 else math.inf * (1 if p else -1) for p in cuts)
    answers: Any = [label == spam for label in labels]
    return Outcome(answers, scores, high, (low, high))  # type: ignore[arg-type]

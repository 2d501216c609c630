"""The mail filter: learns from the user's own mail, and classifies new mail."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from suffice import _native
from suffice.mail.errors import MailError
from suffice.mail.features import available_cores, extract_features
from suffice.mail.message import identify_message
from suffice.mail.paths import default_path
from suffice.mail.store import STEPS, Event, Store, today
from suffice.mail.verdict import Verdict, check_cuts, make_verdict

if TYPE_CHECKING:
    from suffice.mail.explanation import MailExplanation

#: Which messages are learned: all; those that the verdict is wrong about or unsure of; or also less than certain of.
Train = Literal["all", "error", "near"]
#: Largest number of repetitions of a correction until the verdict agrees.
ROUNDS = 20
#: Result of learning one message: see the fields of :class:`LearnCounts`.
LearnResult = Literal["learned", "corrected", "known", "passed", "disputed"]


@dataclass
class LearnCounts:
    """Numbers of messages by the result of learning them."""

    learned: int = 0
    corrected: int = 0  #: were learned as another class before
    known: int = 0  #: were learned before
    passed: int = 0  #: not learned, because the verdict was right and only errors are learned
    disputed: int = 0  #: learned, but the verdict does not agree
    classes: dict[str, int] = field(default_factory=dict)  #: messages learned or corrected of each class

    def add(self, result: LearnResult, label: str) -> None:
        """Count one message."""
        setattr(self, result, getattr(self, result) + 1)
        if result in ("learned", "corrected", "disputed"):
            self.classes[label] = self.classes.get(label, 0) + 1


class MailFilter:
    r"""A spam filter in one file: naive Bayes and logistic regressions on tokens and bytes, combined by a regression.

    Parameters
    ----------
    path
        The filter's file; the user's default if None. It is created when something is learned.
    shared
        Files of shared filters, such as one for a whole site, which are only read: their counts and weights are added
        to those of this one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, MailFilter(Path(folder, "mail.db")) as mail:
    ...     spam = [(f"Subject: cheap pills {i}\n\nBuy cheap pills now".encode(), "spam") for i in range(200)]
    ...     ham = [(f"Subject: lunch {i}\n\nShall we have lunch today".encode(), "ham") for i in range(200)]
    ...     _ = mail.learn_all(spam + ham)
    ...     new = [b"Subject: cheap pills\n\nBuy cheap pills now", b"Subject: hi\n\nlunch today"]
    ...     print(*(verdict.label for verdict in mail.classify_all(new)))
    spam ham
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, shared: Sequence[str | os.PathLike[str]] = ()
    ) -> None:
        self.path = Path(path) if path is not None else default_path()
        self.shared = tuple(Path(each) for each in shared)
        self._store: Store | None = None

    def close(self) -> None:
        """Close the files."""
        if self._store is not None:
            self._store.close()
        self._store = None

    def __enter__(self) -> MailFilter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def store(self, *, create: bool = False) -> Store:
        """Return the open file of the filter; ``create`` creates a missing one."""
        if self._store is not None and self._is_replaced(create):
            self.close()
        if self._store is None:
            for path in self.shared:
                if path.exists() and self.path.exists() and path.samefile(self.path):
                    raise MailError(f"{path} is the filter itself: a filter cannot be shared with itself")
            below = [Store(path, create=False) for path in dict.fromkeys(each.resolve() for each in self.shared)]
            is_shared_only = bool(below) and not create and not self.path.exists()
            self._store = Store(None if is_shared_only else self.path, create=create, below=below)
        return self._store

    def _is_replaced(self, create: bool) -> bool:
        """Return whether the open file is not the one at the path: that was created, replaced or removed."""
        assert self._store is not None  # the caller checks
        if self._store.path != self.path:
            return create or self.path.exists()  # until now, only shared filters were used
        try:
            status = self.path.stat()
        except OSError:
            return True
        return (status.st_dev, status.st_ino) != self._store.file

    @property
    def cuts(self) -> tuple[float, float]:
        """The probabilities of spam between which a verdict is unsure."""
        return self.store().verdict_inputs().cuts

    @cuts.setter
    def cuts(self, cuts: tuple[float, float]) -> None:
        self.store(create=True).put_setting("cuts", check_cuts(cuts))

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of messages."""
        return self.store().classes()

    def classify(self, message: bytes) -> Verdict:
        """Return the verdict on a message."""
        return next(iter(self.classify_all([message])))

    def classify_all(self, messages: Sequence[bytes], *, cores: int = 1) -> list[Verdict]:
        """Return the verdict on each message."""
        return self.judge(extract_features(messages, cores), cores=cores)

    def judge(self, features: _native.mail.Letters, *, cores: int = 1, anyway: bool = False) -> list[Verdict]:
        """Return the verdicts on messages by their features; ``anyway`` says spam even if too little was learned."""
        store = self.store()
        totals = store.state().scores(features, cores)
        classes, cuts, counts = store.verdict_inputs()
        wide = 1 if len(classes) == 2 else len(classes)
        return [
            make_verdict(totals[i * wide : (i + 1) * wide], classes, cuts, features.trouble(i), counts, anyway=anyway)
            for i in range(len(features))
        ]

    def explain(self, message: bytes) -> MailExplanation:
        """Return the verdict on a message with the contribution of each token."""
        from suffice.mail.explanation import explain

        return explain(self, message)

    def mark(self, message: bytes) -> Verdict:
        """Return the verdict on a message, and record it if it is spam: sorting does not learn marked messages."""
        verdict = self.classify(message)
        store = self.store()
        if verdict.label == "spam" and not store.read_only:
            row = (identify_message(message), verdict.label, today())
            with suppress(MailError), store.short_timeout():  # the verdict is returned even if this fails
                store.execute("INSERT OR IGNORE INTO judged VALUES (?, ?, ?)", *row)
        return verdict

    def learned_as(self, message: bytes) -> str | None:
        """Return the class that a message was learned as; None if it was not."""
        store = self.store()
        found = store.query("SELECT label FROM learned WHERE id = ?", identify_message(message))
        if not found:
            return None
        classes, label = store.classes(), found[0][0]
        if not isinstance(label, int) or not 0 <= label < len(classes):
            raise store.damage_error(f"learned: a message has class {str(label)[:20]}, but there are {len(classes)}")
        return classes[label]

    def learn(self, message: bytes, label: str, *, train: Train = "all") -> LearnResult:
        """Learn the class of a message. If it was learned as another class, that is corrected; none is learned twice.

        Parameters
        ----------
        message
            The raw message.
        label
            Its class: "spam", "ham", or the name of another.
        train
            Which messages are learned; see :data:`Train`.
        """
        features = _extract_one(message)
        store = self.store(create=True)
        if train != "all" and self._is_right(features, label, train) and self.learned_as(message) in (None, label):
            return "passed"
        with store.write_transaction():
            return learn_message(store, features, 0, identify_message(message), store.class_index(label))

    def correct(self, message: bytes, label: str) -> LearnResult:
        """Learn the class of a message, and repeat it until the verdict agrees.

        It is repeated :data:`ROUNDS` times at most; the result is "disputed" if the verdict does not agree then. If the
        filter is not ready, the message is learned once.
        """
        features = _extract_one(message)
        store = self.store(create=True)
        with store.write_transaction():
            index = store.class_index(label)
            result = learn_message(store, features, 0, identify_message(message), index, steps=STEPS)
            for _ in range(ROUNDS):
                verdict = self.judge(features)[0]
                if verdict.label == label or not verdict.ready:
                    return result
                store.append(Event(store.day(), index, 0.0, STEPS), features.packed(0))
                result = "corrected" if result == "known" else result
            return result if self.judge(features)[0].label == label else "disputed"

    def forget(self, message: bytes) -> bool:
        """Forget a message, if it was learned; see :meth:`forget_all`."""
        return self.forget_all([message])[0]

    def forget_all(self, messages: Iterable[bytes]) -> list[bool]:
        """Forget messages, and return for each whether it had been learned.

        Counts are then as if the messages had never been learned, and tokens that no other message has are deleted from
        the file with their weights. The weights of tokens and bytes that other messages share are not restored: only
        learning the others again, in a new file, does that.
        """
        store = self.store()
        with store.write_transaction():
            found = [_forget_message(store, message) for message in messages]
            if any(found):
                store.compact()
        if any(found):
            with store.short_timeout():
                store.query("PRAGMA wal_checkpoint(TRUNCATE)")  # SQLite's -wal file holds the previous content
        return found

    def _is_right(self, features: _native.mail.Letters, label: str, train: Train) -> bool:
        verdict = self.judge(features)[0]
        return verdict.label == label and (train == "error" or verdict.certain)

    def learn_all(
        self,
        pairs: Iterable[tuple[bytes, str]],
        *,
        cores: int | None = None,
    ) -> LearnCounts:
        """Learn many messages, thousands per transaction. After an interruption, it can be called again with all.

        Parameters
        ----------
        pairs
            Messages and their classes.
        cores
            Threads that extract features; one per core if None.
        """
        from suffice.mail.batch_learning import learn_batches

        return learn_batches(self.store(create=True), pairs, cores or available_cores())


def _extract_one(message: bytes) -> _native.mail.Letters:
    if not message.strip():
        raise MailError("the message is empty: there is nothing to learn from it")
    return extract_features([message])


def learn_message(
    store: Store, features: _native.mail.Letters, i: int, identity: bytes, label: int, *, steps: int = 1
) -> LearnResult:
    """Learn a message by its features, within a transaction."""
    weight = store.weight()
    day = store.day()
    found = store.query("SELECT label, weight FROM learned WHERE id = ?", identity)
    if found and found[0][0] == label:
        return "known"
    event = Event(day, label, weight, STEPS if found else steps, *_previous(store, identity, found))
    store.execute("INSERT OR REPLACE INTO learned VALUES (?, ?, ?, ?)", identity, label, weight, day)
    store.keep_tokens([(identity, features.hashes(i))])
    store.append(event, features.packed(i))
    store.record_day()
    return "corrected" if found else "learned"


def _forget_message(store: Store, message: bytes) -> bool:
    identity = identify_message(message)
    found = store.query("SELECT label, weight FROM learned WHERE id = ?", identity)
    if not found:
        return False
    was, weight, hashes = _previous(store, identity, found)
    store.execute("DELETE FROM learned WHERE id = ?", identity)
    store.execute("DELETE FROM recent WHERE id = ?", identity)
    event = Event(store.day(), was=was, was_weight=weight, hashes=hashes)
    store.append(event, extract_features([message]).packed(0))
    return True


def _previous(store: Store, identity: bytes, found: list[tuple[int, float]]) -> tuple[int | None, float, bytes | None]:
    """Return the class, weight and tokens with which a message was learned before."""
    if not found:
        return None, 1.0, None
    kept = store.query("SELECT hashes FROM recent WHERE id = ?", identity)
    return *found[0], kept[0][0] if kept else None

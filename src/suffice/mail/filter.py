"""A filter that learns from a person's own mail, and says of new mail what it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from suffice import _native
from suffice.mail.errors import MailError
from suffice.mail.identity import identity
from suffice.mail.places import default_place
from suffice.mail.reading import read, threads, token_count
from suffice.mail.store import STEPS, Event, Store, today
from suffice.mail.tally import Became, Tally
from suffice.mail.verdict import Verdict, check_cuts, discount, judged

if TYPE_CHECKING:
    from suffice.mail.explaining import MailExplanation

#: Which messages are learned: all; those the verdict is wrong about or unsure of; or less than certain of, too.
Train = Literal["all", "error", "near"]
#: How often a correction is repeated at most until the verdict agrees.
ROUNDS = 20


class MailFilter:
    r"""A spam filter in one file: naive Bayes and logistic regression over what is in a message, weighed by a third.

    Parameters
    ----------
    path
        The filter's file; the user's own if None. It is made when something is learned.
    shared
        Other filters' files below it, such as one for a whole site: what they know adds to what this one knows. They
        are only read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, MailFilter(Path(place, "mail.db")) as mine:
    ...     spam = [(f"Subject: cheap pills {i}\n\nBuy cheap pills now".encode(), "spam") for i in range(200)]
    ...     ham = [(f"Subject: lunch {i}\n\nShall we have lunch today".encode(), "ham") for i in range(200)]
    ...     _ = mine.learn_all(spam + ham)
    ...     new = [b"Subject: cheap pills\n\nBuy cheap pills now", b"Subject: hi\n\nlunch today"]
    ...     print(*(verdict.label for verdict in mine.classify_all(new)))
    spam ham
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, shared: Sequence[str | os.PathLike[str]] = ()
    ) -> None:
        self.path = Path(path) if path is not None else default_place()
        self.shared = tuple(Path(place) for place in shared)
        self._opened: Store | None = None

    def close(self) -> None:
        """Let go of the files."""
        if self._opened is not None:
            self._opened.close()
        self._opened = None

    def __enter__(self) -> MailFilter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def store(self, *, make: bool = False) -> Store:
        """Return the filter's file, made if it is to be."""
        if self._opened is not None and self._is_another(make):
            self.close()
        if self._opened is None:
            for place in self.shared:
                if place.exists() and self.path.exists() and place.samefile(self.path):
                    raise MailError(f"{place} is the filter itself: it cannot be shared with itself")
            below = [Store(place, make=False) for place in dict.fromkeys(each.resolve() for each in self.shared)]
            alone = bool(below) and not make and not self.path.exists()
            self._opened = Store(None if alone else self.path, make=make, below=below)
        return self._opened

    def _is_another(self, make: bool) -> bool:
        """Return whether the file that is open is not the one at its place: that was made, replaced or removed."""
        assert self._opened is not None  # asked of it
        if self._opened.path != self.path:
            return make or self.path.exists()  # the shared ones were asked alone until now
        try:
            found = self.path.stat()
        except OSError:
            return True
        return (found.st_dev, found.st_ino) != self._opened.file

    @property
    def cuts(self) -> tuple[float, float]:
        """The probabilities of spam between which a verdict is unsure."""
        return self.store().facts().cuts

    @cuts.setter
    def cuts(self, cuts: tuple[float, float]) -> None:
        self.store(make=True).put("cuts", check_cuts(cuts))

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that messages are told into."""
        return self.store().classes()

    def classify(self, message: bytes) -> Verdict:
        """Return what a message is."""
        return next(iter(self.classify_all([message])))

    def classify_all(self, messages: Sequence[bytes], *, cores: int = 1) -> list[Verdict]:
        """Return what each of some messages is."""
        return self.judge(read(messages, cores), cores=cores)

    def judge(self, letters: _native.mail.Letters, *, cores: int = 1, anyway: bool = False) -> list[Verdict]:
        """Return what each of some messages is that were read; ``anyway`` even if too little was learned to say so."""
        store = self.store()
        totals = store.state().scores(letters, cores)
        classes, cuts, counts = store.facts()
        wide = 1 if len(classes) == 2 else len(classes)
        shares = (discount(token_count(letters, i), counts) for i in range(len(letters)))
        return [
            judged(
                [share * total for total in totals[i * wide : (i + 1) * wide]],
                classes,
                cuts,
                letters.trouble(i),
                counts,
                anyway=anyway,
            )
            for i, share in enumerate(shares)
        ]

    def explain(self, message: bytes) -> MailExplanation:
        """Return what a message is, and what made it so."""
        from suffice.mail.explaining import explain

        return explain(self, message)

    def mark(self, message: bytes) -> Verdict:
        """Return what a message is, and remember it if it is spam: who finds it in a folder knows who put it there."""
        verdict = self.classify(message)
        store = self.store()
        if verdict.label == "spam" and not store.read_only:
            with suppress(MailError), store.hurried():  # the verdict does not wait for it
                store.do("INSERT OR IGNORE INTO judged VALUES (?, ?, ?)", identity(message), verdict.label, today())
        return verdict

    def learned_as(self, message: bytes) -> str | None:
        """Return the class a message was learned as, or None."""
        store = self.store()
        found = store.ask("SELECT label FROM learned WHERE id = ?", identity(message))
        if not found:
            return None
        classes, label = store.classes(), found[0][0]
        if not isinstance(label, int) or not 0 <= label < len(classes):
            raise store.damaged(f"learned: a message is of class {str(label)[:20]}, but there are {len(classes)}")
        return classes[label]

    def learn(self, message: bytes, label: str, *, train: Train = "all") -> Became:
        """Learn that a message is of a class. One that was learned as another is corrected; none is learned twice.

        Parameters
        ----------
        message
            The raw message.
        label
            Its class: "spam", "ham", or a name of your own.
        train
            Which messages are learned at all; see :data:`Train`.
        """
        letters = _read_one(message)
        store = self.store(make=True)
        if train != "all" and self._passes(letters, label, train) and self.learned_as(message) in (None, label):
            return "passed"
        with store.writing():
            return learn_one(store, letters, 0, identity(message), store.class_index(label))

    def correct(self, message: bytes, label: str) -> Became:
        """Learn that a message is of a class whatever was said of it, and teach that until the verdict agrees.

        It is taught :data:`ROUNDS` times at most; "disputed" is returned where the verdict is another even then. A
        filter that is not ready has no verdict yet: there a message is learned once.
        """
        letters = _read_one(message)
        store = self.store(make=True)
        with store.writing():
            place = store.class_index(label)
            became = learn_one(store, letters, 0, identity(message), place, steps=STEPS)
            for _ in range(ROUNDS):
                verdict = self.judge(letters)[0]
                if verdict.label == label or not verdict.ready:
                    return became
                store.append(Event(store.day(), place, 0.0, STEPS), letters.packed(0))
                became = "corrected" if became == "known" else became
            return became if self.judge(letters)[0].label == label else "disputed"

    def forget(self, message: bytes) -> bool:
        """Take a message back, if it was learned; see :meth:`forget_all`."""
        return self.forget_all([message])[0]

    def forget_all(self, messages: Iterable[bytes]) -> list[bool]:
        """Take messages back, and return of each whether it had been learned.

        Counts are then as if they had never been there, and words that no other message has are gone from the file,
        with their weights. What the regressions learned from them about words and bytes that other messages have, too,
        cannot be taken back: only learning the others anew, into a new file, undoes it.
        """
        store = self.store()
        with store.writing():
            found = [_forget_one(store, message) for message in messages]
            if any(found):
                store.fold()
        if any(found):
            with store.hurried():
                store.ask("PRAGMA wal_checkpoint(TRUNCATE)")  # SQLite's notes hold what was there before
        return found

    def _passes(self, letters: _native.mail.Letters, label: str, train: Train) -> bool:
        verdict = self.judge(letters)[0]
        return verdict.label == label and (train == "error" or verdict.certain)

    def learn_all(
        self,
        pairs: Iterable[tuple[bytes, str]],
        *,
        cores: int | None = None,
    ) -> Tally:
        """Learn many messages, some thousands in a transaction. When stopped midway, it can be called again with all.

        Parameters
        ----------
        pairs
            Messages and their classes.
        cores
            How many threads read messages; as many as there are cores if None.
        """
        from suffice.mail.bulk import learn_all

        return learn_all(self.store(make=True), pairs, cores or threads())


def _read_one(message: bytes) -> _native.mail.Letters:
    if not message.strip():
        raise MailError("the message is empty: there is nothing to learn from it")
    return read([message])


def learn_one(
    store: Store, letters: _native.mail.Letters, i: int, name: bytes, label: int, *, steps: int = 1
) -> Became:
    """Learn a message that was read, within a transaction."""
    weight = store.weight()
    day = store.day()
    found = store.ask("SELECT label, weight FROM learned WHERE id = ?", name)
    if found and found[0][0] == label:
        return "known"
    event = Event(day, label, weight, STEPS if found else steps, *_taken_back(store, name, found))
    store.do("INSERT OR REPLACE INTO learned VALUES (?, ?, ?, ?)", name, label, weight, day)
    store.remember([(name, letters.hashes(i))])
    store.append(event, letters.packed(i))
    store.note_day()
    return "corrected" if found else "learned"


def _forget_one(store: Store, message: bytes) -> bool:
    name = identity(message)
    found = store.ask("SELECT label, weight FROM learned WHERE id = ?", name)
    if not found:
        return False
    was, weight, hashes = _taken_back(store, name, found)
    store.do("DELETE FROM learned WHERE id = ?", name)
    store.do("DELETE FROM recent WHERE id = ?", name)
    store.append(Event(store.day(), was=was, was_weight=weight, hashes=hashes), read([message]).packed(0))
    return True


def _taken_back(store: Store, name: bytes, found: list[tuple[int, float]]) -> tuple[int | None, float, bytes | None]:
    """Return what is taken back of a message that was learned: its class, weight, and tokens as they were then."""
    if not found:
        return None, 1.0, None
    kept = store.ask("SELECT hashes FROM recent WHERE id = ?", name)
    return *found[0], kept[0][0] if kept else None

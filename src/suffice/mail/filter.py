"""A filter that learns from a person's own mail, and says of new mail what it is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from suffice import _native
from suffice.mail.errors import MailError
from suffice.mail.identity import identity
from suffice.mail.places import default_place
from suffice.mail.reading import read, threads
from suffice.mail.store import Event, Store, today
from suffice.mail.verdict import CUTS, Verdict, check_cuts, judged

if TYPE_CHECKING:
    from suffice.mail.explaining import Explanation

#: Messages that are learned in one transaction, and bytes of them.
HEAP, HEAP_BYTES = 4096, 1 << 26
#: What became of a message that was to be learned.
Became = Literal["learned", "corrected", "known", "passed"]
#: Which messages are learned: all; those the verdict is wrong about or unsure of; or less than certain of, too.
Train = Literal["all", "error", "near"]
#: Steps that the regressions take at most until they agree with a correction.
STEPS = 25
#: Log-odds beyond which a verdict is certain.
CERTAIN = 8.0


@dataclass
class Tally:
    """How many messages were learned, and what became of the others."""

    learned: int = 0
    corrected: int = 0  #: they had been learned as another class
    known: int = 0  #: they had been learned already
    passed: int = 0  #: the filter was right about them, and learns from errors only
    classes: dict[str, int] = field(default_factory=dict)  #: how many were learned or corrected of each class

    def add(self, became: Became, label: str) -> None:
        """Count one."""
        setattr(self, became, getattr(self, became) + 1)
        if became in ("learned", "corrected"):
            self.classes[label] = self.classes.get(label, 0) + 1


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
    ...     for i in range(5):
    ...         _ = mine.learn(f"Subject: cheap pills {i}\n\nBuy cheap pills now".encode(), "spam")
    ...         _ = mine.learn(f"Subject: lunch {i}\n\nShall we have lunch".encode(), "ham")
    ...     print(mine.classify(b"Subject: pills\n\ncheap").label, mine.classify(b"Subject: hi\n\nlunch").label)
    spam ham
    """

    def __init__(
        self, path: str | os.PathLike[str] | None = None, *, shared: Sequence[str | os.PathLike[str]] = ()
    ) -> None:
        self.path = Path(path) if path is not None else default_place()
        self._shared = tuple(Path(place) for place in shared)
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
        if self._opened is None:
            below = [Store(place, make=False) for place in self._shared]
            self._opened = Store(self.path, make=make or bool(below), below=below)
            _check_layers(self._opened)
        return self._opened

    @property
    def cuts(self) -> tuple[float, float]:
        """The probabilities of spam between which a verdict is unsure."""
        low, high = self.store().get("cuts", CUTS)
        return low, high

    @cuts.setter
    def cuts(self, cuts: tuple[float, float]) -> None:
        self.store(make=True).put("cuts", check_cuts(cuts))

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that messages are told into."""
        store = self.store()
        return max((each.settings().classes for each in (store, *store.below)), key=len)

    def classify(self, message: bytes) -> Verdict:
        """Return what a message is."""
        return next(iter(self.classify_all([message])))

    def classify_all(self, messages: Sequence[bytes], *, cores: int = 1) -> list[Verdict]:
        """Return what each of some messages is."""
        return self.judge(read(messages, cores), cores=cores)

    def judge(self, letters: _native.mail.Letters, *, cores: int = 1) -> list[Verdict]:
        """Return what each of some messages is that were read."""
        totals = self.store().state().scores(letters, cores)
        classes, cuts = self.classes, self.cuts
        wide = 1 if len(classes) == 2 else len(classes)
        return [
            judged(totals[i * wide : (i + 1) * wide], classes, cuts, letters.trouble(i)) for i in range(len(letters))
        ]

    def explain(self, message: bytes) -> Explanation:
        """Return what a message is, and what made it so."""
        from suffice.mail.explaining import explain

        return explain(self, message)

    def mark(self, message: bytes) -> Verdict:
        """Return what a message is, and remember it if it is spam: who finds it in a folder knows who put it there."""
        verdict = self.classify(message)
        store = self.store()
        if verdict.label == "spam" and not store.read_only:
            store.do("INSERT OR IGNORE INTO judged VALUES (?, ?, ?)", identity(message), verdict.label, today())
        return verdict

    def learned_as(self, message: bytes) -> str | None:
        """Return the class a message was learned as, or None."""
        store = self.store()
        found = store.ask("SELECT label FROM learned WHERE id = ?", identity(message))
        return store.settings().classes[found[0][0]] if found else None

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
        letters = read([message])
        store = self.store(make=True)
        if train != "all" and self._passes(letters, label, train) and self.learned_as(message) in (None, label):
            return "passed"
        with store.writing():
            return _learn_one(store, letters, 0, identity(message), store.class_index(label))

    def correct(self, message: bytes, label: str) -> Became:
        """Learn that a message is of a class whatever was said of it; the regressions step until they agree."""
        letters = read([message])
        store = self.store(make=True)
        with store.writing():
            return _learn_one(store, letters, 0, identity(message), store.class_index(label), steps=STEPS)

    def forget(self, message: bytes) -> bool:
        """Take a message back, if it was learned. Counts are then as if it had never been there."""
        store = self.store()
        name = identity(message)
        with store.writing():
            found = store.ask("SELECT label, weight FROM learned WHERE id = ?", name)
            if not found:
                return False
            store.do("DELETE FROM learned WHERE id = ?", name)
            was, weight = found[0]
            store.append(Event(today(), was=was, was_weight=weight), read([message]).packed(0))
        return True

    def _passes(self, letters: _native.mail.Letters, label: str, train: Train) -> bool:
        verdict = self.judge(letters)[0]
        return verdict.label == label and (train == "error" or abs(verdict.log_odds) >= CERTAIN)

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
        from concurrent.futures import ThreadPoolExecutor

        from suffice.mail.heaps import heaps

        cores = cores or threads()
        tally = Tally()
        store = self.store(make=True)
        with ThreadPoolExecutor(1) as ahead:
            waiting = None
            for heap in heaps(pairs, lambda pair: len(pair[0]), HEAP, HEAP_BYTES):
                coming = ahead.submit(_prepared, heap, cores)
                if waiting is not None:
                    _learn_heap(store, *waiting.result(), tally)
                waiting = coming
            if waiting is not None:
                _learn_heap(store, *waiting.result(), tally)
        return tally


def _check_layers(store: Store) -> None:
    own = store.settings().classes
    for below in store.below:
        theirs = below.settings().classes
        if own[: len(theirs)] != theirs[: len(own)]:
            raise MailError(f"{below.path} has the classes {', '.join(theirs)}, but {store.path} has {', '.join(own)}")


def _learn_one(
    store: Store, letters: _native.mail.Letters, i: int, name: bytes, label: int, *, steps: int = 1
) -> Became:
    found = store.ask("SELECT label, weight FROM learned WHERE id = ?", name)
    was, was_weight = found[0] if found else (None, None)
    if was == label:
        return "known"
    day = today()
    weight = store.settings().weight(day)
    store.do("INSERT OR REPLACE INTO learned VALUES (?, ?, ?, ?, ?)", name, label, weight, day, letters.digest(i))
    event = Event(day, label, weight, steps if was is None else STEPS, was, was_weight)
    store.append(event, letters.packed(i))
    store.put("last", day)
    return "learned" if was is None else "corrected"


def _learn_heap(
    store: Store,
    letters: _native.mail.Letters,
    names: list[bytes],
    labels: list[str],
    tally: Tally,
) -> None:
    """Learn a heap: what is new at once, without the journal; what was learned otherwise before, after it."""
    with store.writing():
        places = {label: store.class_index(label) for label in dict.fromkeys(labels)}
        known = {name: store.ask("SELECT label FROM learned WHERE id = ?", name) for name in names}
        news: dict[bytes, int] = {}
        later = []
        for i, name in enumerate(names):
            if known[name] or name in news:
                later.append(i)
            else:
                news[name] = i
                tally.add("learned", labels[i])
        if news:
            day = today()
            order = list(news.values())
            state = store.state()
            weight = store.settings().weight(day)
            state.learn_all(letters, order, [places[labels[i]] for i in order], weight, day & 0xFFFF)
            store.do_all(
                "INSERT INTO learned VALUES (?, ?, ?, ?, ?)",
                [(name, places[labels[i]], weight, day, letters.digest(i)) for name, i in news.items()],
            )
            store.put("last", day)
            store.fold()
        for i in later:
            tally.add(_learn_one(store, letters, i, names[i], places[labels[i]]), labels[i])


def _prepared(heap: list[tuple[bytes, str]], cores: int) -> tuple[_native.mail.Letters, list[bytes], list[str]]:
    return read([data for data, _ in heap], cores), [identity(data) for data, _ in heap], [label for _, label in heap]

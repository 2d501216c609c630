"""All a filter knows, in one file. What is learned goes to a journal, which is folded in now and then.

A message is learned in one transaction that appends a row: whoever is killed meanwhile leaves the file as it was before
or after, and writers that come together wait for each other. The memory is the base with the journal replayed upon it,
in order; so nobody has to read it to write.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import NamedTuple

from suffice import _native
from suffice.mail.database import Database, Settings
from suffice.mail.errors import MailError
from suffice.mail.verdict import CUTS, check_cuts

#: Rows of the journal that are folded into the base together.
FOLD = 256
#: When a message weighs so much more than the first, all weights are made smaller.
HEAVIEST = 2.0**20
#: Messages whose tokens are kept, so that they can be taken back through any copy of them.
RECENT = 500
#: Steps of the regressions that one event takes at most.
STEPS = 25
#: Bytes that one message of the journal, and one token's name, can have.
_MESSAGE, _NAME = 1 << 24, 1 << 10
#: Days for which it is known that a message was marked as spam.
MARKED = 90


@dataclass(frozen=True)
class Event:
    """One thing that happened on a day: a message was learned (label), taken back (was), or both."""

    day: int
    label: int | None = None
    weight: float = 1.0  # that is added to counts
    steps: int = 1  # that the regressions take at most
    was: int | None = None
    was_weight: float = 1.0
    hashes: bytes | None = None  # of the tokens that are taken back; the message's own if None

    def checked(self) -> Event:
        """Return the same if it is something that can have happened."""
        for name, value in (("weight", self.weight), ("was_weight", self.was_weight)):
            if not 0 <= value <= 2 * HEAVIEST:
                raise ValueError(f"{name} is {value}, but must be from 0 to {2 * HEAVIEST:.0f}")
        if not 0 <= self.steps <= STEPS:
            raise ValueError(f"steps is {self.steps}, but must be from 0 to {STEPS}")
        return self


class Facts(NamedTuple):
    """What verdicts go by beside the memory."""

    classes: tuple[str, ...]
    cuts: tuple[float, float]
    counts: dict[str, int]  # messages that were learned, here and below; with a half-life, what is left of them


def today() -> int:
    """Return the number of the day, counted from 1970."""
    return int(time.time() // 86400)


class Store(Database):
    """A filter's file.

    Parameters
    ----------
    path
        The file; None for one in memory.
    make
        Whether it is made where there is none.
    below
        Files that are only read: what they know adds to what this one knows.

    Examples
    --------
    >>> store = Store(None)
    >>> store.settings().classes, len(store.state())
    (('ham', 'spam'), 0)
    >>> store.close()
    """

    def __init__(self, path: str | Path | None, *, make: bool = True, below: Sequence[Store] = ()) -> None:
        self.below = tuple(below)
        super().__init__(path, make=make)
        self._state: _native.mail.State | None = None
        self._settings = Settings()
        self._facts: Facts | None = None
        self._version = -1
        self._position = -1
        self._changes = -1
        try:
            self._check_layers()
        except MailError:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the file, and of those below."""
        for store in self.below:
            store.close()
        super().close()

    def _check_layers(self) -> None:
        own = self.settings().classes
        for below in self.below:
            theirs = below.classes()
            if own[: len(theirs)] != theirs[: len(own)]:
                raise MailError(
                    f"{below.path} has the classes {', '.join(theirs)}, but {self.path} has {', '.join(own)}"
                )

    def _undone(self) -> None:
        self._state = None  # it may hold what was not written

    def classes(self) -> tuple[str, ...]:
        """Return the classes, with those of the files below."""
        return max((self.settings().classes, *(store.classes() for store in self.below)), key=len)

    def class_index(self, label: str) -> int:
        """Return the place of a class, made where there is none."""
        classes = self.classes()
        if label not in classes:
            _check_class(label, classes)
            classes = (*classes, label)
        if classes != self.settings().classes:
            self.fold()  # what was learned before was learned without the new ones
            self.put("classes", classes)
        return classes.index(label)

    def put(self, name: str, value: object) -> None:
        """Change a setting."""
        super().put(name, value)
        self._changes = -1

    def day(self) -> int:
        """Return the number of the day that what is learned now is of.

        With a half-life it never goes back even if the clock does, and since something was last learned at most one
        half-life has passed: a clock that is years ahead for a while costs half the weight, not all of it.
        """
        settings = self.settings()
        if settings.half_life is None:
            return today()
        day, wall = self._clock(settings)
        return day + max(0, min(today() - wall, math.ceil(settings.half_life)))

    def _clock(self, settings: Settings) -> tuple[int, int]:
        """Return the filter's day when it was last written, and what the clock said then."""
        found = self.get("clock")
        if found is None:
            day = max(settings.origin, self.number("last"))
            return day, min(day, today())
        if not (isinstance(found, list) and len(found) == 2 and all(isinstance(n, int) for n in found)):
            raise self.damaged(f"settings: clock is {str(found)[:60]}, but must be two days")
        return found[0], found[1]

    def note_day(self) -> None:
        """Note that the filter was written today."""
        self.put("clock", [self.day(), today()])
        self.put("last", today())

    def weight(self) -> float:
        """Return what a message weighs that is learned now."""
        weight = self.settings().weight(self.day())
        if weight <= HEAVIEST:
            return weight
        self.fold()
        return 1.0

    def append(self, event: Event, features: bytes) -> None:
        """Write down what happened to a message."""
        self.do(
            "INSERT INTO journal (features, day, label, weight, steps, was, was_weight, hashes) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            zlib.compress(features, 1),
            *astuple(event),
        )
        self._changes = -1
        if self.ask("SELECT COUNT(*) FROM journal")[0][0] >= FOLD:
            self.fold()

    def remember(self, rows: list[tuple[bytes, bytes]]) -> None:
        """Keep the tokens of messages that were just learned: identities and hashes."""
        self.do_all("INSERT OR REPLACE INTO recent (id, hashes) VALUES (?, ?)", rows)
        self.do("DELETE FROM recent WHERE number <= (SELECT MAX(number) FROM recent) - ?", RECENT)

    def state(self) -> _native.mail.State:
        """Return the memory as of now."""
        if self._state is not None and not self.within and self.unchanged():
            if self._aged():
                self._facts = None
            return self._state
        changes = self.changes()
        with self.reading():
            state = self._read()
        self._changes = changes
        self._facts = None
        return state

    def _aged(self) -> bool:
        """Let what was learned weigh what it does today, here and below; return whether that is less than before."""
        aged = sum(store._aged() for store in self.below) > 0  # all of them are asked
        if self._state is not None and self._settings.half_life is not None:
            weight = self._settings.weight(self.day())
            aged = aged or weight != self._state.now
            self._state.now = weight
        return aged

    def facts(self) -> Facts:
        """Return what verdicts go by beside the memory."""
        self.state()
        if self._facts is None:
            classes = self.classes()
            counts = dict.fromkeys(classes, 0.0)
            for store in (self, *self.below):
                state = store.state()
                for label, count in zip(classes, state.messages, strict=False):
                    counts[label] += count / state.now
            self._facts = Facts(classes, self._cuts(), {label: round(count) for label, count in counts.items()})
        return self._facts

    def _cuts(self) -> tuple[float, float]:
        try:
            low, high = self.get("cuts", CUTS)
            return check_cuts((float(low), float(high)))
        except (TypeError, ValueError) as error:
            raise self.damaged(f"settings: cuts: {error}") from error

    def unchanged(self) -> bool:
        """Return whether nobody wrote since the memory was last read, here or below."""
        return self.changes() == self._changes and all(store.unchanged() for store in self.below)

    def _read(self) -> _native.mail.State:
        settings = self._settings = self.settings()
        version = self.number("version")
        layers = [store.state() for store in self.below]
        classes = max(len(settings.classes), *(layer.classes for layer in layers), 2)
        state = self._state
        if state is None or version != self._version:
            state = self._base(classes, layers)
            self._version, self._position, self._state = version, -1, state
        state.widen(classes)
        state.lay(layers)
        state.now = settings.weight(self.day())
        news = self.ask(
            "SELECT id, features, day, label, weight, steps, was, was_weight, hashes FROM journal "
            "WHERE id > ? ORDER BY id",
            self._position,
        )
        if news:
            try:
                letters = _native.mail.Letters.unpacked([_inflated(row[1], _MESSAGE) for row in news])
                for i, row in enumerate(news):
                    _replay(state, letters, i, Event(*row[2:]).checked())
                    self._position = row[0]
            except (zlib.error, OverflowError, TypeError, ValueError) as error:
                self._state = None
                raise self.damaged(f"journal: {error}") from error
        return state

    def _base(self, classes: int, layers: list[_native.mail.State]) -> _native.mail.State:
        found = self.ask("SELECT part, data, crc FROM base")
        parts = {part: data for part, data, _ in found}
        for part, data, crc in found:
            if not isinstance(data, bytes) or zlib.crc32(data) != crc:
                raise self.damaged(f"checksum of {part} does not match")
        if not parts:
            state = _native.mail.State(classes)
            if layers and layers[-1].classes == classes:
                state.mix_as(layers[-1])
            return state
        try:
            state = _native.mail.State(max(2, len(parts["messages"]) // 8))
            state.put_columns(parts)
        except (KeyError, TypeError, ValueError) as error:
            raise self.damaged(str(error)) from error
        return state

    def fold(self) -> None:
        """Make the memory as it is now the base, and empty the journal."""
        with self.writing():
            settings = self.settings()
            state = self.state()
            unseen = state.drop_unseen()
            if len(state) > settings.tokens:
                state.prune(settings.tokens * 9 // 10)
            if settings.weight(self.day()) > HEAVIEST:
                self.lighten(state, settings)
            fresh = state.take_fresh()
            if fresh:
                self.do("INSERT INTO names (data) VALUES (?)", zlib.compress(fresh, 1))
            rows = [(part, data, zlib.crc32(data)) for part, data in state.columns().items()]
            self.do_all("INSERT OR REPLACE INTO base VALUES (?, ?, ?)", rows)
            self.do("DELETE FROM journal")
            self.do("DELETE FROM judged WHERE day < ?", today() - MARKED)
            version = self.number("version") + 1
            self.put("version", version)
            self._version = version
            self.put("names", self.number("names") + fresh.count(b"\n"))
            if unseen or self.number("names") > 2 * len(state) + 10_000:
                self._forget_names(state)
            self._tidy()

    def _tidy(self) -> None:
        """Give back to the disk what the file does not need, where that is much."""
        (free,), (pages,) = self.ask("PRAGMA freelist_count")[0], self.ask("PRAGMA page_count")[0]
        if 8 * free > pages:
            for _ in range(free):  # Python's sqlite3 takes one step of this command, and a step frees one page
                self.ask("PRAGMA incremental_vacuum(1)")

    def lighten(self, state: _native.mail.State, settings: Settings) -> None:
        """Let today be the day on which a message weighs 1, and all that was learned weigh as much less."""
        factor = 1 / settings.weight(self.day())
        state.scale(factor)
        self.do("UPDATE learned SET weight = weight * ?", factor)
        self.put("clock", [self.day(), today()])
        self.put("origin", self.day())
        state.now = 1.0

    def _forget_names(self, state: _native.mail.State) -> None:
        """Drop the names of tokens that are no more."""
        kept = state.known(self.names())
        self.do("DELETE FROM names")
        self.do("INSERT INTO names (data) VALUES (?)", zlib.compress(kept, 6))
        self.put("names", kept.count(b"\n"))

    def names(self) -> bytes:
        """Return the names of the tokens in the base, a line each; some may be there twice, or be no more."""
        left = _NAME * (2 * len(self.state()) + 20_000)
        names = []
        try:
            for (data,) in self.ask("SELECT data FROM names ORDER BY id"):
                names.append(_inflated(data, left))
                left -= len(names[-1])
        except (TypeError, ValueError, zlib.error) as error:
            raise self.damaged(f"names: {error}") from error
        return b"".join(names)


def _inflated(data: bytes, most: int) -> bytes:
    """Return what was compressed, if it is so many bytes at most: a few kilobytes can hold gigabytes."""
    inflater = zlib.decompressobj()
    found = inflater.decompress(data, most + 1)
    if len(found) > most:
        raise ValueError(f"there are more than {most:,} bytes where that many are the most")
    if not inflater.eof:
        raise ValueError("compressed data is cut short")
    return found


def _replay(state: _native.mail.State, letters: _native.mail.Letters, i: int, event: Event) -> None:
    """Let a memory learn what happened."""
    if event.was is not None:
        hashes = letters.hashes(i) if event.hashes is None else event.hashes
        state.forget(hashes, event.was, event.was_weight)
    if event.label is not None:
        state.learn(letters, i, event.label, event.weight, event.day & 0xFFFF, event.steps)


def _check_class(label: str, classes: Sequence[str]) -> None:
    for other in classes:
        if label.casefold() == other.casefold():
            raise MailError(f"there is a class {other!r} already: call it so")
    if not label or len(label) > 40 or not all(c.isalnum() or c in "-_" for c in label) or label == "unsure":
        raise MailError(f"{label!r} cannot be a class: take letters, digits, - and _, up to 40, and not 'unsure'")

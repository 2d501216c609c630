"""Everything that a filter has learned, in one SQLite file: a base and a journal of later changes.

Learning a message appends one row to the journal in one transaction, so a killed process leaves the file as it was
before or after, and concurrent writers wait for each other. The learned state is the base with the journal replayed in
order; a writer need not read it. From time to time the journal is compacted into the base.
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
from suffice.mail.database import Database
from suffice.mail.errors import MailError
from suffice.mail.settings import Settings
from suffice.mail.verdict import CUTS, check_cuts

#: Rows of the journal at which it is compacted into the base.
JOURNAL = 256
#: Weight of a new message at which all weights are rescaled.
MAX_WEIGHT = 2.0**20
#: Latest messages whose tokens are kept, so that any copy of such a message can be forgotten exactly.
RECENT = 500
#: Largest number of gradient steps of one event.
STEPS = 25
#: Largest size in bytes of a message in the journal, and of a token's name.
_MESSAGE_SIZE, _NAME_SIZE = 1 << 24, 1 << 10
#: Days for which messages marked as spam are remembered.
MARKED_DAYS = 90


@dataclass(frozen=True)
class Event:
    """One change of the learned state: a message is learned (label), forgotten (was), or both."""

    day: int
    label: int | None = None
    weight: float = 1.0  # added to the counts
    steps: int = 1  # largest number of gradient steps
    was: int | None = None
    was_weight: float = 1.0
    hashes: bytes | None = None  # tokens to forget; those of the message if None

    def checked(self) -> Event:
        """Return the event if its numbers are valid; raise ValueError otherwise."""
        for name, value in (("weight", self.weight), ("was_weight", self.was_weight)):
            if not 0 <= value <= 2 * MAX_WEIGHT:
                raise ValueError(f"{name} is {value}, but must be from 0 to {2 * MAX_WEIGHT:.0f}")
        if not 0 <= self.steps <= STEPS:
            raise ValueError(f"steps is {self.steps}, but must be from 0 to {STEPS}")
        return self


class VerdictInputs(NamedTuple):
    """What a verdict needs beside the learned state."""

    classes: tuple[str, ...]
    cuts: tuple[float, float]
    counts: dict[str, int]  # messages learned, shared filters included; with a half-life, their remaining weight


def today() -> int:
    """Return the number of days since 1970."""
    return int(time.time() // 86400)


class Store(Database):
    """The file of a filter.

    Parameters
    ----------
    path
        The file; None for one in memory.
    create
        Whether a missing file is created.
    below
        Shared filters, which are only read; their counts and weights are added to those of this one.

    Examples
    --------
    >>> store = Store(None)
    >>> store.settings().classes, len(store.state())
    (('ham', 'spam'), 0)
    >>> store.close()
    """

    def __init__(self, path: str | Path | None, *, create: bool = True, below: Sequence[Store] = ()) -> None:
        self.below = tuple(below)
        super().__init__(path, create=create)
        self._state: _native.mail.State | None = None
        self._settings = Settings()
        self._inputs: VerdictInputs | None = None
        self._version = -1
        self._position = -1
        self._changes = -1
        try:
            self._check_classes()
        except MailError:
            self.close()
            raise

    def close(self) -> None:
        """Close the file and the shared ones."""
        for store in self.below:
            store.close()
        super().close()

    def _check_classes(self) -> None:
        own = self.settings().classes
        for below in self.below:
            theirs = below.classes()
            if own[: len(theirs)] != theirs[: len(own)]:
                raise MailError(
                    f"{below.path} has the classes {', '.join(theirs)}, but {self.path} has {', '.join(own)}"
                )

    def _discard_cache(self) -> None:
        self._state = None

    def classes(self) -> tuple[str, ...]:
        """Return the classes, those of shared filters included."""
        return max((self.settings().classes, *(store.classes() for store in self.below)), key=len)

    def class_index(self, label: str) -> int:
        """Return the index of a class; a new class is added."""
        classes = self.classes()
        if label not in classes:
            _check_class(label, classes)
            classes = (*classes, label)
        if classes != self.settings().classes:
            self.compact()  # the journal was written with fewer classes
            self.put_setting("classes", classes)
        return classes.index(label)

    def put_setting(self, name: str, value: object) -> None:
        """Change a setting."""
        super().put_setting(name, value)
        self._changes = -1

    def day(self) -> int:
        """Return the day number of what is learned now.

        With a half-life the day never decreases, even if the clock is set back, and it advances at most one half-life
        between two writes: a clock that is years ahead for a while halves the weights, and no more.
        """
        settings = self.settings()
        if settings.half_life is None:
            return today()
        day, clock = self._last_days(settings)
        return day + max(0, min(today() - clock, math.ceil(settings.half_life)))

    def _last_days(self, settings: Settings) -> tuple[int, int]:
        """Return the filter's day at the last write, and the day of the system clock then."""
        found = self.get_setting("clock")
        if found is None:
            day = max(settings.origin, self.get_integer("last"))
            return day, min(day, today())
        if not (isinstance(found, list) and len(found) == 2 and all(isinstance(n, int) for n in found)):
            raise self.damage_error(f"settings: clock is {str(found)[:60]}, but must be two days")
        return found[0], found[1]

    def record_day(self) -> None:
        """Record that the filter was written today."""
        self.put_setting("clock", [self.day(), today()])
        self.put_setting("last", today())

    def weight(self) -> float:
        """Return the weight of a message that is learned now."""
        weight = self.settings().weight(self.day())
        if weight <= MAX_WEIGHT:
            return weight
        self.compact()
        return 1.0

    def append(self, event: Event, features: bytes) -> None:
        """Append an event to the journal."""
        self.execute(
            "INSERT INTO journal (features, day, label, weight, steps, was, was_weight, hashes) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            zlib.compress(features, 1),
            *astuple(event),
        )
        self._changes = -1
        if self.query("SELECT COUNT(*) FROM journal")[0][0] >= JOURNAL:
            self.compact()

    def keep_tokens(self, rows: list[tuple[bytes, bytes]]) -> None:
        """Keep the tokens of messages that were just learned: identities and hashes."""
        self.execute_many("INSERT OR REPLACE INTO recent (id, hashes) VALUES (?, ?)", rows)
        self.execute("DELETE FROM recent WHERE number <= (SELECT MAX(number) FROM recent) - ?", RECENT)

    def state(self) -> _native.mail.State:
        """Return the learned state as of now."""
        if self._state is not None and not self.in_transaction and self.is_unchanged():
            if self._update_decay():
                self._inputs = None
            return self._state
        changes = self.data_version()
        with self.read_transaction():
            state = self._read_state()
        self._changes = changes
        self._inputs = None
        return state

    def _update_decay(self) -> bool:
        """Set today's weight of a message, here and in shared filters; return whether it changed."""
        changed = sum(store._update_decay() for store in self.below) > 0  # a sum: every store is updated
        if self._state is not None and self._settings.half_life is not None:
            weight = self._settings.weight(self.day())
            changed = changed or weight != self._state.now
            self._state.now = weight
        return changed

    def verdict_inputs(self) -> VerdictInputs:
        """Return what a verdict needs beside the learned state."""
        self.state()
        if self._inputs is None:
            classes = self.classes()
            counts = dict.fromkeys(classes, 0.0)
            for store in (self, *self.below):
                state = store.state()
                for label, count in zip(classes, state.messages, strict=False):
                    counts[label] += count / state.now
            rounded = {label: round(count) for label, count in counts.items()}
            self._inputs = VerdictInputs(classes, self._read_cuts(), rounded)
        return self._inputs

    def _read_cuts(self) -> tuple[float, float]:
        try:
            low, high = self.get_setting("cuts", CUTS)
            return check_cuts((float(low), float(high)))
        except (TypeError, ValueError) as error:
            raise self.damage_error(f"settings: cuts: {error}") from error

    def is_unchanged(self) -> bool:
        """Return whether nobody wrote since the state was last read, here or in a shared filter."""
        return self.data_version() == self._changes and all(store.is_unchanged() for store in self.below)

    def _read_state(self) -> _native.mail.State:
        settings = self._settings = self.settings()
        version = self.get_integer("version")
        layers = [store.state() for store in self.below]
        classes = max(len(settings.classes), *(layer.classes for layer in layers), 2)
        state = self._state
        if state is None or version != self._version:
            state = self._read_base(classes, layers)
            self._version, self._position, self._state = version, -1, state
        state.widen(classes)
        state.lay(layers)
        state.now = settings.weight(self.day())
        rows = self.query(
            "SELECT id, features, day, label, weight, steps, was, was_weight, hashes FROM journal "
            "WHERE id > ? ORDER BY id",
            self._position,
        )
        if rows:
            try:
                features = _native.mail.Letters.unpacked([_decompress(row[1], _MESSAGE_SIZE) for row in rows])
                for i, row in enumerate(rows):
                    _replay(state, features, i, Event(*row[2:]).checked())
                    self._position = row[0]
            except (zlib.error, OverflowError, TypeError, ValueError) as error:
                self._state = None
                raise self.damage_error(f"journal: {error}") from error
        return state

    def _read_base(self, classes: int, layers: list[_native.mail.State]) -> _native.mail.State:
        found = self.query("SELECT part, data, crc FROM base")
        parts = {part: data for part, data, _ in found}
        for part, data, crc in found:
            if not isinstance(data, bytes) or zlib.crc32(data) != crc:
                raise self.damage_error(f"checksum of {part} does not match")
        if not parts:
            state = _native.mail.State(classes)
            if layers and layers[-1].classes == classes:
                state.mix_as(layers[-1])
            return state
        try:
            state = _native.mail.State(max(2, len(parts["messages"]) // 8))
            state.put_columns(parts)
        except (KeyError, TypeError, ValueError) as error:
            raise self.damage_error(str(error)) from error
        return state

    def compact(self) -> None:
        """Write the current state as the base, and empty the journal."""
        with self.write_transaction():
            settings = self.settings()
            state = self.state()
            dropped = state.drop_unseen()
            if len(state) > settings.tokens:
                state.prune(settings.tokens * 9 // 10)
            if settings.weight(self.day()) > MAX_WEIGHT:
                self.rescale_weights(state, settings)
            fresh = state.take_fresh()
            if fresh:
                self.execute("INSERT INTO names (data) VALUES (?)", zlib.compress(fresh, 1))
            rows = [(part, data, zlib.crc32(data)) for part, data in state.columns().items()]
            self.execute_many("INSERT OR REPLACE INTO base VALUES (?, ?, ?)", rows)
            self.execute("DELETE FROM journal")
            self.execute("DELETE FROM judged WHERE day < ?", today() - MARKED_DAYS)
            version = self.get_integer("version") + 1
            self.put_setting("version", version)
            self._version = version
            self.put_setting("names", self.get_integer("names") + fresh.count(b"\n"))
            if dropped or self.get_integer("names") > 2 * len(state) + 10_000:
                self._drop_names(state)
            self._free_pages()

    def _free_pages(self) -> None:
        """Return unused pages to the file system if they are more than an eighth of the file."""
        (free,), (pages,) = self.query("PRAGMA freelist_count")[0], self.query("PRAGMA page_count")[0]
        if 8 * free > pages:
            for _ in range(free):  # Python's sqlite3 runs one step of this command, and a step frees one page
                self.query("PRAGMA incremental_vacuum(1)")

    def rescale_weights(self, state: _native.mail.State, settings: Settings) -> None:
        """Make today the day on which a message has weight 1, and rescale what was learned before."""
        factor = 1 / settings.weight(self.day())
        state.scale(factor)
        self.execute("UPDATE learned SET weight = weight * ?", factor)
        self.put_setting("clock", [self.day(), today()])
        self.put_setting("origin", self.day())
        state.now = 1.0

    def _drop_names(self, state: _native.mail.State) -> None:
        """Drop the names of tokens that are not in the state."""
        kept = state.known(self.names())
        self.execute("DELETE FROM names")
        self.execute("INSERT INTO names (data) VALUES (?)", zlib.compress(kept, 6))
        self.put_setting("names", kept.count(b"\n"))

    def names(self) -> bytes:
        """Return the names of the tokens in the base, one per line; repeated and dropped ones are possible."""
        left = _NAME_SIZE * (2 * len(self.state()) + 20_000)
        names = []
        try:
            for (data,) in self.query("SELECT data FROM names ORDER BY id"):
                names.append(_decompress(data, left))
                left -= len(names[-1])
        except (TypeError, ValueError, zlib.error) as error:
            raise self.damage_error(f"names: {error}") from error
        return b"".join(names)


def _decompress(data: bytes, limit: int) -> bytes:
    """Return decompressed data; raise ValueError beyond the limit: a few kilobytes can hold gigabytes."""
    decompressor = zlib.decompressobj()
    found = decompressor.decompress(data, limit + 1)
    if len(found) > limit:
        raise ValueError(f"decompressed data has more than {limit:,} bytes")
    if not decompressor.eof:
        raise ValueError("compressed data is truncated")
    return found


def _replay(state: _native.mail.State, features: _native.mail.Letters, i: int, event: Event) -> None:
    """Apply an event to a state."""
    if event.was is not None:
        hashes = features.hashes(i) if event.hashes is None else event.hashes
        state.forget(hashes, event.was, event.was_weight)
    if event.label is not None:
        state.learn(features, i, event.label, event.weight, event.day & 0xFFFF, event.steps)


def _check_class(label: str, classes: Sequence[str]) -> None:
    for other in classes:
        if label.casefold() == other.casefold():
            raise MailError(f"the class {label!r} differs from {other!r} only in case: use {other!r}")
    if not label or len(label) > 40 or not all(c.isalnum() or c in "-_" for c in label) or label == "unsure":
        raise MailError(f"{label!r} cannot be a class: use letters, digits, - and _, at most 40, and not 'unsure'")

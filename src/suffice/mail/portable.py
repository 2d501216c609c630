"""A filter as text: for people, for other machines, for other programs."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from suffice import _native
from suffice.mail.bogofilter import counts_of
from suffice.mail.database import Settings
from suffice.mail.errors import MailError
from suffice.mail.filter import MailFilter
from suffice.mail.store import Store, today
from suffice.mail.verdict import CUTS, check_cuts

FIRST = "#suffice-mail 1"
#: Columns of numbers that a dump has in its head.
_HEAD = ("messages", "mix", "mix_squares")


def dump(mail: MailFilter) -> Iterator[str]:
    r"""Return a filter as lines of text: settings, then tokens, weights of grams, and what was learned.

    A token's line has its name, its counts for every class, the day it was last learned, and its weights with the sums
    of their squared slopes. Numbers are written so that they are read back as they were.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, MailFilter(f"{place}/mail.db") as mine:
    ...     _ = mine.learn(b"\n\nlunch", "ham")
    ...     lines = list(dump(mine))
    >>> lines[:3], lines[-1]
    (['#suffice-mail 1', '#classes ham spam', '#messages 1.0 0.0'], '#end 14')
    """
    store = mail.store()
    with store.reading():  # all of it as of one moment
        settings = store.settings()
        cuts = mail.cuts
        state = store.state()
        parts = state.columns()
        rows = state.rows(store.names() + state.fresh())
        learned = store.ask("SELECT id, label, weight, day FROM learned ORDER BY id")
        classes = store.classes()
    lines = [FIRST, "#classes " + " ".join(classes)]
    lines += [f"#{name} " + " ".join(map(repr, _doubles(parts[name]))) for name in _HEAD]
    lines.append(
        f"#settings half_life={settings.half_life or 'never'} origin={settings.origin} tokens={settings.tokens} "
        f"ham_cut={cuts[0]!r} spam_cut={cuts[1]!r} day={store.day()} dumped={today()} "
        f"features={store.number('features', 1)}"
    )
    lines += rows
    lines += state.gram_rows()
    lines += [f"&{name.hex()}\t{classes[label]}\t{weight!r}\t{day}" for name, label, weight, day in learned]
    yield from lines
    yield f"#end {len(lines)}"


def _doubles(data: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(data) // 8}d", data)


def load(mail: MailFilter, lines: Iterable[str]) -> dict[str, int]:
    """Add what is in a dump to a filter: one of ours, or one that ``bogoutil -d`` wrote.

    Counts add up. Weights of regressions are averaged, each filter's by the messages it has learned. A message that
    both have learned is counted twice, since its tokens are not known any more; how many there are is returned. An
    empty filter takes the dump's settings.
    """
    read = _read(lines)
    store = mail.store(make=True)
    with store.writing():
        return read.added(mail, store)


def merge(mail: MailFilter, others: Iterable[MailFilter]) -> list[dict[str, int]]:
    """Add what other filters have learned to one, all of them or none; see :func:`load`."""
    found = []
    for other in others:
        if mail.path.exists() and other.path.exists() and other.path.samefile(mail.path):
            raise MailError(f"{other.path} is the filter itself: it cannot be merged with itself")
        found.append(_read(dump(other)))
    store = mail.store(make=True)
    with store.writing():
        return [each.added(mail, store) for each in found]


def _read(lines: Iterable[str]) -> _Dump | _Bogofilter:
    """Read a dump whole: damaged ones are refused before anything is changed, or made."""
    stream = (line.rstrip("\r\n") for line in lines)
    first = next(stream, "")
    return _Dump(stream) if first == FIRST else _Bogofilter(first, stream)


def _join(store: Store, other: _native.mail.State, places: list[int]) -> dict[str, int]:
    store.state().merge(other, places)
    store.note_day()
    store.fold()
    return {"tokens": len(other), "messages": round(sum(other.messages)), "both": 0}


class _Bogofilter:
    """What bogofilter has learned."""

    def __init__(self, first: str, stream: Iterator[str]) -> None:
        rows, messages, self.unknown = counts_of(first, stream)
        self.state = _native.mail.State(2)
        self.state.take_rows(rows, [], messages)

    def added(self, mail: MailFilter, store: Store) -> dict[str, int]:
        """Add it to a filter."""
        return {**_join(store, self.state, [0, 1]), "unknown": self.unknown}


class _Dump:
    """What a filter of ours has learned."""

    def __init__(self, stream: Iterator[str]) -> None:
        self.head: dict[str, list[str]] = {}
        self.rows: list[tuple[int, str]] = []
        self.grams: list[tuple[int, str]] = []
        self.learned: list[tuple[bytes, str, float, int]] = []
        number = 1
        for number, line in enumerate(stream, 2):
            self._take(number, line)
        if self.head.get("end") != [str(number - 1)]:
            raise MailError(f"the dump is cut short: it ends at line {number} without saying that it does")
        self.classes = self.head.get("classes", [])
        if self.classes[:2] != ["ham", "spam"] or len(set(self.classes)) < len(self.classes):
            raise MailError(f"the dump is damaged: its classes are {', '.join(self.classes) or 'missing'}")
        if any(label not in self.classes for _, label, _, _ in self.learned):
            raise MailError("the dump is damaged: a message was learned as a class that it does not have")
        self.settings, self.cuts = self._settings()
        self.day, self.features = self._read_with()
        self.state = self._state()

    def added(self, mail: MailFilter, store: Store) -> dict[str, int]:
        """Add it to a filter."""
        places = [store.class_index(label) for label in self.classes]
        if not store.ask("SELECT 1 FROM learned LIMIT 1") and not any(store.state().messages):
            for name, value in self.settings.items():
                store.put(name, value)
            store.put("clock", [self.day, today()])
            mail.cuts = self.cuts
        kept = Settings(half_life=self.settings["half_life"], origin=self.settings["origin"])
        scale = store.weight() / kept.weight(self.day)
        store.put("features", min(self.features, store.number("features", 1)))
        self.state.scale(scale)
        both = 0
        for identity, label, weight, day in self.learned:
            row = (identity, places[self.classes.index(label)], scale * weight, day)
            both += 1 - store.do("INSERT OR IGNORE INTO learned VALUES (?, ?, ?, ?)", *row)
        return {**_join(store, self.state, places), "both": both}

    def _take(self, number: int, line: str) -> None:
        if line.startswith("#") and "\t" not in line:
            name, *values = line[1:].split(" ")
            self.head[name] = values
        elif line.startswith("&"):
            try:
                name, label, weight, day = line[1:].split("\t")
                learned = (bytes.fromhex(name), label, _finite(weight), int(day))
                if learned[2] < 0:
                    raise ValueError(f"{weight} is no weight")
            except ValueError as error:
                raise MailError(f"line {number} of the dump is damaged ({error}): {line[:60]!r}") from error
            self.learned.append(learned)
        elif line.startswith("="):
            self.grams.append((number, line))
        elif "\t" in line:
            self.rows.append((number, line))
        else:
            raise MailError(f"line {number} of the dump is damaged: {line[:60]!r}")

    def _settings(self) -> tuple[dict[str, Any], tuple[float, float]]:
        given = dict(value.split("=", 1) for value in self.head.get("settings", []) if "=" in value)
        try:
            half_life = given.get("half_life", "never")
            settings: dict[str, Any] = {
                "half_life": None if half_life == "never" else _finite(half_life),
                "origin": int(given.get("origin", 0)),
                "tokens": int(given.get("tokens", Settings.tokens)),
            }
            Settings(half_life=settings["half_life"], origin=settings["origin"])
            cuts = check_cuts((_finite(given.get("ham_cut", CUTS[0])), _finite(given.get("spam_cut", CUTS[1]))))
        except ValueError as error:
            raise MailError(f"the dump's settings are damaged: {error}") from error
        if settings["tokens"] < 1000:
            raise MailError(f"the dump's settings are damaged: {' '.join(self.head.get('settings', []))}")
        return settings, cuts

    def _read_with(self) -> tuple[int, int]:
        """Return the filter's day, as of today, and how its messages were read into tokens."""
        given = dict(value.split("=", 1) for value in self.head.get("settings", []) if "=" in value)
        half_life, origin = self.settings["half_life"], self.settings["origin"]
        try:
            day, dumped = int(given.get("day", max(origin, today()))), int(given.get("dumped", today()))
            features = int(given.get("features", 1))
            if not (0 <= day <= 10**6 and features >= 1):
                raise ValueError(f"day={day} features={features}")
        except ValueError as error:
            raise MailError(f"the dump's settings are damaged: {error}") from error
        passed = today() - dumped
        return day + (max(0, min(passed, math.ceil(half_life))) if half_life else max(0, passed)), features

    def _state(self) -> _native.mail.State:
        state = _native.mail.State(len(self.classes))
        try:
            columns = {name: [_finite(value) for value in self.head.get(name, [])] for name in _HEAD}
            state.take_rows([line for _, line in self.rows], [line for _, line in self.grams], columns["messages"])
            parts = state.columns()
            for name in _HEAD[1:]:
                parts[name] = struct.pack(f"<{len(columns[name])}d", *columns[name])
            state.put_columns(parts)
        except ValueError as error:
            raise MailError(f"the dump is damaged{self._where()}: {error}") from error
        return state

    def _where(self) -> str:
        """Return the line that is damaged."""
        none = [0.0] * len(self.classes)
        for number, line in (*self.rows, *self.grams):
            try:
                given = ([], [line]) if line.startswith("=") else ([line], [])
                _native.mail.State(len(self.classes)).take_rows(*given, none)
            except ValueError:
                return f" in line {number}"
        return ""


def _finite(value: str | float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value} is no number")
    return number

"""Text dumps of filters: the format of suffice, and that of ``bogoutil -d``, which is only read."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from suffice import _native
from suffice.mail.errors import MailError
from suffice.mail.filter import MailFilter
from suffice.mail.settings import Settings
from suffice.mail.store import Store, today
from suffice.mail.verdict import CUTS, check_cuts

FIRST_LINE = "#suffice-mail 1"
#: Arrays of numbers in the head of a dump.
_HEAD = ("messages", "mix", "mix_squares")
#: Tags of bogofilter's tokens and our tags of these fields. Its tag of all other fields has no counterpart.
_BOGOFILTER_TAGS = {
    "subj": "subject:",
    "from": "from:",
    "to": "to:",
    "rtrn": "return-path:",
    "rcvd": "received:",
    "url": "url:",
}
_BLANKS = re.compile("[ \\t]+")


def dump_filter(mail: MailFilter) -> Iterator[str]:
    r"""Return a filter as lines of text: settings, tokens, weights of byte 4-grams, learned messages.

    The line of a token has its name, its count in each class, the day it was last learned, and its weights with the
    sums of their squared gradients. Numbers are written so that they are read back exactly.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, MailFilter(f"{folder}/mail.db") as mail:
    ...     _ = mail.learn(b"\n\nlunch", "ham")
    ...     lines = list(dump_filter(mail))
    >>> lines[:3], lines[-1]
    (['#suffice-mail 1', '#classes ham spam', '#messages 1.0 0.0'], '#end 14')
    """
    store = mail.store()
    with store.read_transaction():
        settings = store.settings()
        cuts = mail.cuts
        state = store.state()
        parts = state.columns()
        rows = state.rows(store.names() + state.fresh())
        learned = store.query("SELECT id, label, weight, day FROM learned ORDER BY id")
        classes = store.classes()
    lines = [FIRST_LINE, "#classes " + " ".join(classes)]
    lines += [f"#{name} " + " ".join(map(repr, _unpack_doubles(parts[name]))) for name in _HEAD]
    lines.append(
        f"#settings half_life={settings.half_life or 'never'} origin={settings.origin} tokens={settings.tokens} "
        f"ham_cut={cuts[0]!r} spam_cut={cuts[1]!r} day={store.day()} dumped={today()} "
        f"features={store.get_integer('features', 1)}"
    )
    lines += rows
    lines += state.gram_rows()
    lines += [f"&{identity.hex()}\t{classes[label]}\t{weight!r}\t{day}" for identity, label, weight, day in learned]
    yield from lines
    yield f"#end {len(lines)}"


def _unpack_doubles(data: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(data) // 8}d", data)


def load_dump(mail: MailFilter, lines: Iterable[str]) -> dict[str, int]:
    """Add a dump of suffice or of ``bogoutil -d`` to a filter.

    Counts are added. Weights of regressions are averaged, weighted by the messages that each filter has learned. A
    message that both have learned is counted twice, since its tokens are not in the dump; the number of such messages
    is returned. An empty filter takes the settings of the dump.
    """
    dump = _read(lines)
    store = mail.store(create=True)
    with store.write_transaction():
        return dump.add_to(mail, store)


def merge_filters(mail: MailFilter, others: Iterable[MailFilter]) -> list[dict[str, int]]:
    """Add what other filters have learned to one, all of them or none; see :func:`load_dump`."""
    dumps = []
    for other in others:
        if mail.path.exists() and other.path.exists() and other.path.samefile(mail.path):
            raise MailError(f"{other.path} is the filter itself: a filter cannot be merged with itself")
        dumps.append(_read(dump_filter(other)))
    store = mail.store(create=True)
    with store.write_transaction():
        return [dump.add_to(mail, store) for dump in dumps]


def _read(lines: Iterable[str]) -> _Dump | _BogofilterDump:
    """Read a whole dump; a damaged one is refused before anything is changed or created."""
    stream = (line.rstrip("\r\n") for line in lines)
    first = next(stream, "")
    return _Dump(stream) if first == FIRST_LINE else _BogofilterDump(first, stream)


def _merge_state(store: Store, other: _native.mail.State, places: list[int]) -> dict[str, int]:
    store.state().merge(other, places)
    store.record_day()
    store.compact()
    return {"tokens": len(other), "messages": round(sum(other.messages)), "both": 0}


class _Dump:
    """A dump of suffice."""

    def __init__(self, stream: Iterator[str]) -> None:
        self.head: dict[str, list[str]] = {}
        self.rows: list[tuple[int, str]] = []
        self.grams: list[tuple[int, str]] = []
        self.learned: list[tuple[bytes, str, float, int]] = []
        number = 1
        for number, line in enumerate(stream, 2):
            self._parse_line(number, line)
        if self.head.get("end") != [str(number - 1)]:
            raise MailError(f"the dump is truncated: line {number} is the last one, but is not #end")
        self.classes = self.head.get("classes", [])
        if self.classes[:2] != ["ham", "spam"] or len(set(self.classes)) < len(self.classes):
            raise MailError(f"the dump is damaged: its classes are {', '.join(self.classes) or 'missing'}")
        if any(label not in self.classes for _, label, _, _ in self.learned):
            raise MailError("the dump is damaged: a message was learned as a class that it does not have")
        self.settings, self.cuts = self._parse_settings()
        self.day, self.features = self._parse_versions()
        self.state = self._parse_state()

    def add_to(self, mail: MailFilter, store: Store) -> dict[str, int]:
        """Add the dump to a filter."""
        places = [store.class_index(label) for label in self.classes]
        if not store.query("SELECT 1 FROM learned LIMIT 1") and not any(store.state().messages):
            for name, value in self.settings.items():
                store.put_setting(name, value)
            store.put_setting("clock", [self.day, today()])
            mail.cuts = self.cuts
        own = Settings(half_life=self.settings["half_life"], origin=self.settings["origin"])
        scale = store.weight() / own.weight(self.day)
        store.put_setting("features", min(self.features, store.get_integer("features", 1)))
        self.state.scale(scale)
        both = 0
        for identity, label, weight, day in self.learned:
            row = (identity, places[self.classes.index(label)], scale * weight, day)
            both += 1 - store.execute("INSERT OR IGNORE INTO learned VALUES (?, ?, ?, ?)", *row)
        return {**_merge_state(store, self.state, places), "both": both}

    def _parse_line(self, number: int, line: str) -> None:
        if line.startswith("#") and "\t" not in line:
            name, *values = line[1:].split(" ")
            self.head[name] = values
        elif line.startswith("&"):
            try:
                name, label, weight, day = line[1:].split("\t")
                learned = (bytes.fromhex(name), label, _parse_finite(weight), int(day))
                if learned[2] < 0:
                    raise ValueError(f"the weight {weight} is negative")
            except ValueError as error:
                raise MailError(f"line {number} of the dump is damaged ({error}): {line[:60]!r}") from error
            self.learned.append(learned)
        elif line.startswith("="):
            self.grams.append((number, line))
        elif "\t" in line:
            self.rows.append((number, line))
        else:
            raise MailError(f"line {number} of the dump is damaged: {line[:60]!r}")

    def _parse_settings(self) -> tuple[dict[str, Any], tuple[float, float]]:
        given = dict(value.split("=", 1) for value in self.head.get("settings", []) if "=" in value)
        try:
            half_life = given.get("half_life", "never")
            settings: dict[str, Any] = {
                "half_life": None if half_life == "never" else _parse_finite(half_life),
                "origin": int(given.get("origin", 0)),
                "tokens": int(given.get("tokens", Settings.tokens)),
            }
            Settings(half_life=settings["half_life"], origin=settings["origin"])
            cuts = _parse_finite(given.get("ham_cut", CUTS[0])), _parse_finite(given.get("spam_cut", CUTS[1]))
            check_cuts(cuts)
        except ValueError as error:
            raise MailError(f"the dump's settings are damaged: {error}") from error
        if settings["tokens"] < 1000:
            raise MailError(f"the dump's settings are damaged: {' '.join(self.head.get('settings', []))}")
        return settings, cuts

    def _parse_versions(self) -> tuple[int, int]:
        """Return the filter's day as of today, and the version of its feature extraction."""
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

    def _parse_state(self) -> _native.mail.State:
        state = _native.mail.State(len(self.classes))
        try:
            columns = {name: [_parse_finite(value) for value in self.head.get(name, [])] for name in _HEAD}
            state.take_rows([line for _, line in self.rows], [line for _, line in self.grams], columns["messages"])
            parts = state.columns()
            for name in _HEAD[1:]:
                parts[name] = struct.pack(f"<{len(columns[name])}d", *columns[name])
            state.put_columns(parts)
        except ValueError as error:
            raise MailError(f"the dump is damaged{self._damaged_line()}: {error}") from error
        return state

    def _damaged_line(self) -> str:
        """Return which line is damaged, for a message."""
        none = [0.0] * len(self.classes)
        for number, line in (*self.rows, *self.grams):
            try:
                given = ([], [line]) if line.startswith("=") else ([line], [])
                _native.mail.State(len(self.classes)).take_rows(*given, none)
            except ValueError:
                return f" in line {number}"
        return ""


def _parse_finite(value: str | float) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value} is not a finite number")
    return number


class _BogofilterDump:
    """A dump of bogofilter."""

    def __init__(self, first: str, stream: Iterator[str]) -> None:
        rows, messages, self.unknown = parse_bogofilter(first, stream)
        self.state = _native.mail.State(2)
        self.state.take_rows(rows, [], messages)

    def add_to(self, mail: MailFilter, store: Store) -> dict[str, int]:
        """Add the dump to a filter."""
        return {**_merge_state(store, self.state, [0, 1]), "unknown": self.unknown}


def parse_bogofilter(first: str, lines: Iterable[str]) -> tuple[list[str], list[float], int]:
    r"""Return the rows of the tokens, the numbers of ham and spam messages, and the number of unknown tokens.

    Examples
    --------
    >>> dumped = ["subj:free 4 0 20260101", "head:x 1 1 20260101"]
    >>> rows, messages, unknown = parse_bogofilter(".MSG_COUNT 5 7 20260101", dumped)
    >>> rows[0].split("\t")[:3], messages, unknown
    (['subject:free', '0.0', '4.0'], [7.0, 5.0], 1)
    """
    rows: list[str] = []
    messages = [0.0, 0.0]
    unknown = 0
    day = today() & 0xFFFF
    for token, spam, ham in _parse_bogofilter_lines(chain([first], lines)):
        if token == ".MSG_COUNT":
            messages = [ham, spam]
            continue
        name = _translate_token(token)
        if name is None:
            unknown += 1
        else:
            rows.append(f"{name}\t{ham!r}\t{spam!r}\t{day}\t0\t0")
    if not any(messages):
        raise MailError("the dump has no number of learned messages (.MSG_COUNT): write it with bogoutil -d")
    return rows, messages, unknown


def _parse_bogofilter_lines(lines: Iterable[str]) -> Iterator[tuple[str, float, float]]:
    for number, line in enumerate(lines, 1):
        if not line.strip(" \t"):
            continue
        fields = _BLANKS.split(line.strip(" \t"))  # a token may contain other blanks, such as U+00A0
        try:
            token, spam, ham = fields[0], float(fields[1]), float(fields[2])
        except (IndexError, ValueError):
            raise MailError(
                f"line {number} is neither of a dump of suffice nor of bogoutil -d: {line.strip()[:60]!r}"
            ) from None
        if not (0 <= spam < 1e15 and 0 <= ham < 1e15):
            raise MailError(f"line {number} of the dump has invalid counts: {line.strip()[:60]!r}")
        yield token, spam, ham


def _translate_token(token: str) -> str | None:
    """Return our name of a token of bogofilter; None if it has no counterpart."""
    if token[:1] in ".#&=":
        return None
    tag, colon, rest = token.partition(":")
    if not colon or not rest or not tag.isalpha():
        return token
    field = _BOGOFILTER_TAGS.get(tag)
    return None if field is None else field + rest

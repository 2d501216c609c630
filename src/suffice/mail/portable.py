"""A filter as text: for people, for other machines, for other programs."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from suffice import _native
from suffice.mail.errors import MailError
from suffice.mail.filter import MailFilter
from suffice.mail.store import Settings, Store, today

FIRST = "#suffice-mail 1"
#: What bogofilter calls the fields that a token was found in, and what they are called here. It has one name for all
#: other fields, which cannot be told apart.
_BOGOFILTER = {
    "subj:": "subject:",
    "from:": "from:",
    "to:": "to:",
    "rtrn:": "return-path:",
    "rcvd:": "received:",
    "url:": "url:",
}


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
    >>> lines[:3]
    ['#suffice-mail 1', '#classes ham spam', '#messages 1.0 0.0']
    """
    store = mail.store()
    store.fold()
    settings = store.settings()
    state = store.state()
    parts = state.columns()
    yield FIRST
    yield "#classes " + " ".join(settings.classes)
    for name in ("messages", "mix", "mix_squares", "biases", "bias_squares"):
        yield f"#{name} " + " ".join(map(repr, _doubles(parts[name])))
    yield f"#settings half_life={settings.half_life or 'never'} origin={settings.origin} tokens={settings.tokens}"
    yield from state.rows(store.names())
    yield from state.gram_rows()
    for name, label, weight, day in store.ask("SELECT id, label, weight, day FROM learned ORDER BY id"):
        yield f"&{name.hex()}\t{settings.classes[label]}\t{weight!r}\t{day}"


def _doubles(data: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(data) // 8}d", data)


def load(mail: MailFilter, lines: Iterable[str]) -> dict[str, int]:
    """Add what is in a dump to a filter: one of ours, or one that ``bogoutil -d`` wrote.

    Counts add up. Weights of regressions are averaged, each filter's by the messages it has learned. A message that
    both have learned is counted twice, since its tokens are not known any more; how many there are is returned. An
    empty filter takes the dump's settings.
    """
    stream = iter(lines)
    first = next(stream, "").rstrip("\r\n")
    store = mail.store(make=True)
    with store.writing():
        if first == FIRST:
            return _load_own(store, stream)
        return _load_bogofilter(store, first, stream)


def _load_own(store: Store, stream: Iterator[str]) -> dict[str, int]:
    head: dict[str, list[str]] = {}
    rows: list[str] = []
    grams: list[str] = []
    learned: list[list[str]] = []
    for number, raw in enumerate(stream, 2):
        line = raw.rstrip("\r\n")
        if line.startswith("#") and "\t" not in line:
            name, *values = line[1:].split(" ")
            head[name] = values
        elif line.startswith("&") and line.count("\t") == 3:
            learned.append(line[1:].split("\t"))
        elif line.startswith("=") and "\t" in line:
            grams.append(line)
        elif "\t" in line:
            rows.append(line)
        elif line:
            raise MailError(f"line {number} of the dump is damaged: {line[:60]!r}")
    for name in ("classes", "messages", "mix"):
        if name not in head:
            raise MailError(f"the dump is cut short: it does not say its {name}")
    theirs = head["classes"]
    places = [store.class_index(label) for label in theirs]
    if not store.ask("SELECT 1 FROM learned LIMIT 1") and not any(store.state().messages):
        for name, value in _settings(head).items():
            store.put(name, value)
    other = _native.mail.State(len(theirs))
    try:
        other.take_rows(rows, grams, [float(value) for value in head["messages"]])
        parts = other.columns()
        for name in ("mix", "mix_squares", "biases", "bias_squares"):
            numbers = [float(value) for value in head.get(name, [])]
            if len(numbers) == len(_doubles(parts[name])):
                parts[name] = struct.pack(f"<{len(numbers)}d", *numbers)
        other.put_columns(parts)
    except ValueError as error:
        raise MailError(f"the dump is damaged: {error}") from error
    kept = _settings(head)
    scale = store.settings().weight(today()) / Settings(half_life=kept["half_life"], origin=kept["origin"]).weight(
        today()
    )
    other.scale(scale)
    return _join(store, other, places, learned, theirs, scale)


def _settings(head: dict[str, list[str]]) -> dict[str, Any]:
    given = dict(value.split("=", 1) for value in head.get("settings", []) if "=" in value)
    try:
        half_life = given.get("half_life", "never")
        return {
            "half_life": None if half_life == "never" else float(half_life),
            "origin": int(given.get("origin", 0)),
            "tokens": int(given.get("tokens", 1_000_000)),
        }
    except ValueError as error:
        raise MailError(f"the dump's settings are damaged: {error}") from error


def _join(
    store: Store,
    other: _native.mail.State,
    places: list[int],
    learned: list[list[str]],
    theirs: list[str],
    scale: float = 1.0,
) -> dict[str, int]:
    both = 0
    for name, label, weight, day in learned:
        try:
            row = (bytes.fromhex(name), places[theirs.index(label)], scale * float(weight), int(day), 0)
        except ValueError as error:
            raise MailError(f"the dump is damaged: message {name[:40]!r} ({error})") from error
        both += 1 - store.do("INSERT OR IGNORE INTO learned VALUES (?, ?, ?, ?, ?)", *row)
    store.state().merge(other, places)
    store.put("last", today())
    store.fold()
    return {"tokens": len(other), "messages": round(sum(other.messages)), "both": both}


def _load_bogofilter(store: Store, first: str, stream: Iterator[str]) -> dict[str, int]:
    rows, messages, unknown = [], [0.0, 0.0], 0
    for number, raw in enumerate((line for part in ([first], stream) for line in part), 1):
        fields = raw.rstrip("\r\n").rsplit(" ", 3)
        if len(fields) < 3:
            fields = raw.split()
        try:
            token, spam, ham = fields[0], float(fields[1]), float(fields[2])
        except (IndexError, ValueError):
            raise MailError(
                f"line {number} is neither of a dump of ours nor of bogoutil -d: {raw.strip()[:60]!r}"
            ) from None
        if token == ".MSG_COUNT":
            messages = [ham, spam]
            continue
        name = _from_bogofilter(token)
        if name is None:
            unknown += 1
            continue
        rows.append(f"{name}\t{ham:g}\t{spam:g}\t{today() & 0xFFFF}\t0\t0")
    if not any(messages):
        raise MailError("the dump does not say how many messages were learned (.MSG_COUNT): dump it with bogoutil -d")
    other = _native.mail.State(2)
    other.take_rows(rows, [], messages)
    store.class_index("spam")
    return {**_join(store, other, [0, 1], [], ["ham", "spam"]), "unknown": unknown}


def _from_bogofilter(token: str) -> str | None:
    if token[:1] in ".#&=" or any(c <= " " for c in token):
        return None
    tag, colon, rest = token.partition(":")
    if not colon or not rest or not tag.isalpha():
        return token
    name = _BOGOFILTER.get(tag + ":")
    return None if name is None else name + rest


def merge(mail: MailFilter, others: Iterable[MailFilter]) -> list[dict[str, Any]]:
    """Add what other filters have learned to one; see :func:`load`."""
    return [load(mail, dump(other)) for other in others]

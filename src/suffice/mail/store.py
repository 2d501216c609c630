"""One SQLite file that holds all a filter knows. What is learned goes to a journal, which is folded in now and then.

A message is learned in one transaction that appends a row: whoever is killed meanwhile leaves the file as it was before
or after, and writers that come together wait for each other. The memory is the base with the journal replayed upon it,
in order; so nobody has to read it to write.
"""

from __future__ import annotations

import json
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from suffice import _native
from suffice.mail.errors import MailError
from suffice.mail.opening import connect, create

#: Rows of the journal that are folded into the base together.
FOLD = 256
#: When a message weighs so much more than the first, all weights are made smaller.
HEAVIEST = 2.0**20
#: Seconds that a writer waits for another.
PATIENCE = 60.0


@dataclass(frozen=True)
class Settings:
    """What a filter's file says about itself."""

    classes: tuple[str, ...] = ("ham", "spam")
    half_life: float | None = None  # days in which what was learned loses half its weight
    tokens: int = 1_000_000  # kept at most
    origin: int = 0  # the day on which a message weighs 1

    def weight(self, day: int) -> float:
        """Return what a message learned on a day weighs: with decay, later ones more."""
        return 1.0 if self.half_life is None else 2.0 ** ((day - self.origin) / self.half_life)


@dataclass(frozen=True)
class Event:
    """One thing that happened on a day: a message was learned (label), taken back (was), or both."""

    day: int
    label: int | None = None
    weight: float | None = None
    steps: int | None = None  # that the regressions take at most
    was: int | None = None
    was_weight: float | None = None


def today() -> int:
    """Return the number of the day, counted from 1970."""
    return int(time.time() // 86400)


class Store:
    """A filter's file.

    Parameters
    ----------
    path
        The file.
    make
        Whether it is made where there is none.
    below
        Files that are only read: what they know adds to what this one knows.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     store = Store(Path(place, "mail.db"))
    ...     print(store.settings().classes, len(store.state()))
    ...     store.close()
    ('ham', 'spam') 0
    """

    def __init__(self, path: str | Path, *, make: bool = True, below: Sequence[Store] = ()) -> None:
        self.path = Path(path)
        self.below = tuple(below)
        if make and not self.path.exists():
            create(self.path, PATIENCE)
        self._connection = connect(self.path, PATIENCE)
        self.read_only = bool(self._connection.execute("PRAGMA query_only").fetchone()[0])
        self._state: _native.mail.State | None = None
        self._version = -1
        self._position = -1
        self._changes = -1

    def close(self) -> None:
        """Let go of the file, and of those below."""
        for store in self.below:
            store.close()
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a query gives."""
        return self._connection.execute(query, values).fetchall()

    def do(self, command: str, *values: Any) -> int:
        """Run a command, and return how many rows it changed."""
        return self._connection.execute(command, values).rowcount

    def do_all(self, command: str, rows: list[tuple[Any, ...]]) -> None:
        """Run a command for every row."""
        self._connection.executemany(command, rows)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file for writing: all of what is done within happens, or nothing."""
        if self._connection.in_transaction:
            yield
            return
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise MailError(_cannot_write(self.path, error)) from error
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._state = None  # it may hold what was not written
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def settings(self) -> Settings:
        """Return what the file says about itself."""
        kept = {name: json.loads(value) for name, value in self.ask("SELECT name, value FROM settings")}
        return Settings(
            tuple(kept["classes"]),
            kept.get("half_life"),
            int(kept.get("tokens", 1_000_000)),
            int(kept.get("origin", 0)),
        )

    def put(self, name: str, value: Any) -> None:
        """Change a setting."""
        self.do("INSERT OR REPLACE INTO settings VALUES (?, ?)", name, json.dumps(value))

    def get(self, name: str, otherwise: Any = None) -> Any:
        """Return a setting."""
        found = self.ask("SELECT value FROM settings WHERE name = ?", name)
        return json.loads(found[0][0]) if found else otherwise

    def class_index(self, label: str) -> int:
        """Return the place of a class, made where there is none."""
        classes = self.settings().classes
        if label not in classes:
            _check_class(label)
            classes = (*classes, label)
            self.put("classes", classes)
        return classes.index(label)

    def append(self, event: Event, features: bytes) -> None:
        """Write down what happened to a message."""
        self.do(
            "INSERT INTO journal (features, day, label, weight, steps, was, was_weight) VALUES (?, ?, ?, ?, ?, ?, ?)",
            zlib.compress(features, 1),
            *astuple(event),
        )
        self._changes = -1
        if self.ask("SELECT COUNT(*) FROM journal")[0][0] >= FOLD:
            self.fold()

    def state(self) -> _native.mail.State:
        """Return the memory as of now."""
        changes = self._connection.execute("PRAGMA data_version").fetchone()[0]
        still = changes == self._changes and all(store.unchanged() for store in self.below)
        if self._state is not None and still and not self._connection.in_transaction:
            return self._state
        inside = self._connection.in_transaction
        if not inside:
            self._connection.execute("BEGIN")
        try:
            state = self._read()
        finally:
            if not inside:
                self._connection.execute("COMMIT")
        self._changes = changes
        return state

    def unchanged(self) -> bool:
        """Return whether nobody wrote since the memory was last read."""
        return bool(self._connection.execute("PRAGMA data_version").fetchone()[0] == self._changes)

    def _read(self) -> _native.mail.State:
        settings = self.settings()
        version = self.get("version", 0)
        state = self._state
        if state is None or version != self._version:
            parts = dict(self.ask("SELECT part, data FROM base"))
            if parts:
                state = _restored(self.path, parts)
            else:
                state = _native.mail.State(2)
                if self.below:
                    state.mix_as(self.below[-1].state())
            self._version, self._position, self._state = version, -1, state
        layers = [store.state() for store in self.below]
        state.widen(max(len(settings.classes), *(layer.classes for layer in layers), 2))
        state.lay(layers)
        state.now = settings.weight(today())
        news = self.ask(
            "SELECT id, features, day, label, weight, steps, was, was_weight FROM journal WHERE id > ? ORDER BY id",
            self._position,
        )
        if news:
            letters = _native.mail.Letters.unpacked([zlib.decompress(row[1]) for row in news])
            for i, row in enumerate(news):
                _replay(state, letters, i, Event(*row[2:]))
                self._position = row[0]
        return state

    def fold(self) -> None:
        """Make the memory as it is now the base, and empty the journal."""
        with self.writing():
            settings = self.settings()
            state = self.state()
            if len(state) > settings.tokens:
                state.prune(settings.tokens * 9 // 10)
            if settings.weight(today()) > HEAVIEST:
                self.lighten(state, settings)
            fresh = state.fresh()
            if fresh:
                self.do("INSERT INTO names (data) VALUES (?)", zlib.compress(fresh, 6))
            self.do_all("INSERT OR REPLACE INTO base VALUES (?, ?)", list(state.columns().items()))
            self.do("DELETE FROM journal")
            version = self.get("version", 0) + 1
            self.put("version", version)
            self.put("names", self.get("names", 0) + fresh.count(b"\n"))
            if self.get("names") > 2 * len(state) + 10_000:
                self._forget_names(state)
            self._version = version

    def lighten(self, state: _native.mail.State, settings: Settings) -> None:
        """Let today be the day on which a message weighs 1, and all that was learned weigh as much less."""
        factor = 1 / settings.weight(today())
        state.scale(factor)
        self.do("UPDATE learned SET weight = weight * ?", factor)
        self.put("origin", today())
        state.now = 1.0

    def _forget_names(self, state: _native.mail.State) -> None:
        """Drop the names of tokens that are no more."""
        kept = state.known(self.names())
        self.do("DELETE FROM names")
        self.do("INSERT INTO names (data) VALUES (?)", zlib.compress(kept, 6))
        self.put("names", kept.count(b"\n"))

    def names(self) -> bytes:
        """Return the names of the tokens in the base, a line each."""
        return b"".join(zlib.decompress(row[0]) for row in self.ask("SELECT data FROM names ORDER BY id"))


def _replay(state: _native.mail.State, letters: _native.mail.Letters, i: int, event: Event) -> None:
    """Let a memory learn what happened."""
    if event.was is not None:
        state.forget(letters, i, event.was, event.was_weight or 1.0)
    if event.label is not None:
        state.learn(letters, i, event.label, event.weight or 1.0, event.day & 0xFFFF, event.steps or 1)


def _restored(path: Path, parts: dict[str, bytes]) -> _native.mail.State:
    state = _native.mail.State(max(2, len(parts.get("messages", b"")) // 8))
    try:
        state.put_columns(parts)
    except (KeyError, ValueError) as error:
        raise MailError(f"{path} is damaged ({error}): suffice mail doctor says more") from error
    return state


def _check_class(label: str) -> None:
    if not label or len(label) > 40 or not all(c.isalnum() or c in "-_" for c in label) or label == "unsure":
        raise MailError(f"{label!r} cannot be a class: take letters, digits, - and _, up to 40, and not 'unsure'")


def _cannot_write(path: Path, error: Exception) -> str:
    if "locked" in str(error):
        return f"{path} is being written by another program for longer than {PATIENCE:.0f} s: try again"
    if "readonly" in str(error):
        return f"{path} cannot be written: check its permissions, and those of its folder"
    return f"{path} cannot be written: {error}"

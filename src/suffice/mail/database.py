"""A filter's SQLite file: questions, transactions, settings."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suffice.mail.errors import MailError
from suffice.mail.opening import connect, create, fill

#: Seconds that a writer waits for another.
PATIENCE = 60.0
#: How often a half-life can have passed: beyond it, what was learned weighs nothing.
_LONGEST = 1000


@dataclass(frozen=True)
class Settings:
    """What a filter's file says about itself."""

    classes: tuple[str, ...] = ("ham", "spam")
    half_life: float | None = None  # days in which what was learned loses half its weight
    tokens: int = 1_000_000  # kept at most
    origin: int = 0  # the day on which a message weighs 1

    def __post_init__(self) -> None:
        classes = list(self.classes)
        if classes[:2] != ["ham", "spam"] or len(set(classes)) < len(classes):
            raise ValueError(f"classes are {', '.join(classes)[:200]}, but must begin with ham and spam, each once")
        if self.half_life is not None and not 1 <= self.half_life <= 1e6:
            raise ValueError(f"half_life is {self.half_life}, but must be from 1 to 1,000,000 days")
        if not 1 <= self.tokens <= 10**9:
            raise ValueError(f"tokens is {self.tokens}, but must be from 1 to 1,000,000,000")
        if not 0 <= self.origin <= 10**6:
            raise ValueError(f"origin is {self.origin}, but must be a number of days since 1970")

    def weight(self, day: int) -> float:
        """Return what a message learned on a day weighs: with decay, later ones more."""
        if self.half_life is None:
            return 1.0
        passed = (day - self.origin) / self.half_life
        return float(2.0 ** max(-_LONGEST, min(passed, _LONGEST)))


class Database:
    """A filter's file, as a database.

    Parameters
    ----------
    path
        The file; None for one in memory.
    make
        Whether it is made where there is none.
    """

    def __init__(self, path: str | Path | None, *, make: bool = True) -> None:
        self.path = Path(path) if path is not None else Path(":memory:")
        self._settings_read: tuple[list[tuple[Any, ...]], Settings] | None = None
        if path is None:
            self._connection = sqlite3.connect(":memory:", isolation_level=None)
            fill(self._connection)
        else:
            if make and not self.path.exists():
                create(self.path, PATIENCE)
            self._connection = connect(self.path, PATIENCE)
        found = None if path is None else self.path.stat()
        #: Which file it is, whatever is put in its place.
        self.file = (found.st_dev, found.st_ino) if found else None
        self.read_only = bool(self._connection.execute("PRAGMA query_only").fetchone()[0])

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that a query gives."""
        with self._complaining():
            return self._connection.execute(query, values).fetchall()

    def do(self, command: str, *values: Any) -> int:
        """Run a command, and return how many rows it changed."""
        with self._complaining():
            return self._connection.execute(command, values).rowcount

    def do_all(self, command: str, rows: list[tuple[Any, ...]]) -> None:
        """Run a command for every row."""
        with self._complaining():
            self._connection.executemany(command, rows)

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise MailError(self._complaint(error)) from error

    def _complaint(self, error: sqlite3.Error) -> str:
        if "locked" in str(error) or "busy" in str(error):
            return f"{self.path} is being written by another program for longer than {PATIENCE:.0f} s: try again"
        if "readonly" in str(error):
            return f"{self.path} cannot be written: check its permissions, and those of its folder"
        if "full" in str(error):
            return f"{self.path} cannot be written: the disk is full"
        return f"{self.path} is damaged ({error}): suffice mail doctor says more"

    @property
    def within(self) -> bool:
        """Whether a transaction is under way."""
        return self._connection.in_transaction

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file for writing: all of what is done within happens, or nothing."""
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read the file as of one moment."""
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        if self.within:
            yield
            return
        self.do(begin)
        try:
            yield
            self.do("COMMIT")
        except BaseException:
            self._undone()
            with suppress(sqlite3.Error):
                if self.within:
                    self._connection.execute("ROLLBACK")
            raise

    def _undone(self) -> None:
        """Forget what was only true within a transaction that failed."""

    @contextmanager
    def hurried(self) -> Iterator[None]:
        """Wait for other writers for a second only."""
        self.do("PRAGMA busy_timeout = 1000")
        try:
            yield
        finally:
            self.do(f"PRAGMA busy_timeout = {PATIENCE * 1000:.0f}")

    def changes(self) -> int:
        """Return a number that changes when others write."""
        return int(self.ask("PRAGMA data_version")[0][0])

    def settings(self) -> Settings:
        """Return what the file says about itself."""
        rows = self.ask("SELECT name, value FROM settings")
        if self._settings_read is None or self._settings_read[0] != rows:
            self._settings_read = rows, self._parse_settings(rows)
        return self._settings_read[1]

    def _parse_settings(self, rows: list[tuple[Any, ...]]) -> Settings:
        kept = {name: self._value(name, value) for name, value in rows}
        try:
            half_life, classes = kept.get("half_life"), kept["classes"]
            if not isinstance(classes, list) or not all(isinstance(name, str) and name for name in classes):
                raise ValueError(f"classes must be a list of names; got {str(classes)[:60]}")
            return Settings(
                tuple(classes),
                None if half_life is None else float(half_life),
                int(kept.get("tokens", Settings.tokens)),
                int(kept.get("origin", 0)),
            )
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise self.damaged(f"settings: {error}") from error

    def damaged(self, what: str) -> MailError:
        """Return the complaint that something in the file is not as it was written."""
        return MailError(f"{self.path} is damaged ({what}): suffice mail doctor says more")

    def put(self, name: str, value: Any) -> None:
        """Change a setting."""
        self.do("INSERT OR REPLACE INTO settings VALUES (?, ?)", name, json.dumps(value))

    def get(self, name: str, otherwise: Any = None) -> Any:
        """Return a setting."""
        found = self.ask("SELECT value FROM settings WHERE name = ?", name)
        return self._value(name, found[0][0]) if found else otherwise

    def number(self, name: str, otherwise: int = 0) -> int:
        """Return a setting that is a whole number from 0 on."""
        found = self.get(name)
        if found is None:
            return otherwise
        if not isinstance(found, int) or not 0 <= found < 2**53:
            raise self.damaged(f"settings: {name} is {str(found)[:60]}, but must be a whole number")
        return found

    def _value(self, name: Any, text: Any) -> Any:
        if not isinstance(text, str):  # a damaged page may hold NULL or bytes where the schema allows text alone
            raise self.damaged(f"settings: {str(name)[:60]} holds {'nothing' if text is None else 'no text'}")
        try:
            return json.loads(text)
        except (RecursionError, ValueError) as error:
            raise self.damaged(f"settings: {str(name)[:60]}: {error}") from error

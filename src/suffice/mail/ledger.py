"""The ledger of a sorted mailbox: the folder of each message, stored in the filter's file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

from suffice.mail.database import MOVES_TABLE
from suffice.mail.filter import MailFilter
from suffice.mail.store import Store

#: Prefix of a folder's name: the message is being moved there.
MOVING = "\t"
#: Runs whose moves are kept.
RUNS = 1000


class Move(NamedTuple):
    """A move of a message between folders of a mailbox."""

    identity: str
    source: str
    key: str  # in the source
    target: str
    moved: str | None = None  # key in the target; empty if it is unknown, None if the move is unfinished


class Ledger(Protocol):
    """What is known about the messages of one mailbox.

    A message is known by its identity, a file by its folder and key. A call's changes survive the death of the process
    and, after :meth:`flush`, a loss of power.
    """

    def folder_of(self, identity: str) -> str | None:
        """Return the folder in which a message was put or found last; with the prefix ``MOVING``, before its move."""

    def set_folder(self, identity: str, folder: str) -> None:
        """Record the folder of a message; an empty name removes it."""

    def was_marked(self, identity: str) -> bool:
        """Return whether the filter marked a message as spam at delivery, so that a delivery rule may have moved it."""

    def folders_elsewhere(self, identity: str) -> set[str]:
        """Return the folders where runs for other mailboxes, which may share folders with this one, put a message."""

    def known_files(self, folder: str) -> Mapping[str, str]:
        """Return the files of a folder that need not be read again: identities by key; both may be empty."""

    def add_file(self, folder: str, key: str, identity: str) -> None:
        """Record that a file need not be read again."""

    def remove_files(self, folder: str, keys: Iterable[str]) -> None:
        """Remove files of a folder."""

    def begin_moves(self, moves: Iterable[Move]) -> None:
        """Record that messages are about to be moved: the folder of each is its target with the prefix ``MOVING``."""

    def end_move(self, move: Move) -> None:
        """Record that a message was moved: its folder, and its file there."""

    def flush(self) -> None:
        """Flush all changes to disk."""


class StoredLedger:
    """The ledger of a mailbox in the filter's file. File names are stored as bytes, as on disk.

    Parameters
    ----------
    mail
        The filter.
    box
        The path of a Maildir, or the address of a folder on a server.
    read_only
        Whether the ledger is only read: no file is created for it.
    """

    def __init__(self, mail: MailFilter, box: Path | str, *, read_only: bool = False) -> None:
        mail.store(create=not read_only)
        self._mail = mail
        self._box = os.fsencode(box if isinstance(box, str) else box.resolve())
        #: Number of this run; None until it moves something.
        self.run: int | None = None

    @property
    def _store(self) -> Store:
        return self._mail.store()

    def transaction(self) -> AbstractContextManager[object]:
        """Return a context in which all changes are written together."""
        return self._store.write_transaction()

    def folder_of(self, identity: str) -> str | None:
        """Return the folder in which a message was put or found last."""
        found = self._store.query("SELECT folder FROM filed WHERE box = ? AND id = ?", self._box, identity)
        return os.fsdecode(found[0][0]) if found else None

    def set_folder(self, identity: str, folder: str) -> None:
        """Record the folder of a message; an empty name removes it."""
        with self._store.write_transaction():
            if folder:
                row = (self._box, identity, os.fsencode(folder))
                self._store.execute("INSERT OR REPLACE INTO filed VALUES (?, ?, ?)", *row)
            else:
                self._store.execute("DELETE FROM filed WHERE box = ? AND id = ?", self._box, identity)

    def was_marked(self, identity: str) -> bool:
        """Return whether the filter marked a message as spam at delivery."""
        return bool(self._store.query("SELECT 1 FROM judged WHERE id = ?", bytes.fromhex(identity)))

    def folders_elsewhere(self, identity: str) -> set[str]:
        """Return the folders where runs for other mailboxes put or found a message last."""
        query = "SELECT folder FROM filed WHERE box = ? AND id = ?"
        found = (row for box in self._other_boxes for row in self._store.query(query, box, identity))
        return {os.fsdecode(folder).removeprefix(MOVING) for (folder,) in found}

    @cached_property
    def _other_boxes(self) -> list[bytes]:
        """The other mailboxes in the file, each found by the primary key: a list of all rows would take long."""
        boxes, last = list[bytes](), b""
        while last := self._store.query("SELECT MIN(box) FROM filed WHERE box > ?", last)[0][0]:
            boxes.append(last)
        return [box for box in boxes if box != self._box]

    def known_files(self, folder: str) -> Mapping[str, str]:
        """Return the files of a folder that need not be read again: identities by key."""
        query = "SELECT key, id FROM settled WHERE box = ? AND folder = ?"
        return {os.fsdecode(key): name for key, name in self._store.query(query, self._box, os.fsencode(folder))}

    def add_file(self, folder: str, key: str, identity: str) -> None:
        """Record that a file need not be read again."""
        row = (self._box, os.fsencode(folder), os.fsencode(key), identity)
        self._store.execute("INSERT OR REPLACE INTO settled VALUES (?, ?, ?, ?)", *row)

    def remove_files(self, folder: str, keys: Iterable[str]) -> None:
        """Remove files of a folder."""
        with self._store.write_transaction():
            self._store.execute_many(
                "DELETE FROM settled WHERE box = ? AND folder = ? AND key = ?",
                [(self._box, os.fsencode(folder), os.fsencode(key)) for key in keys],
            )

    def begin_moves(self, moves: Iterable[Move]) -> None:
        """Record that messages are about to be moved."""
        store = self._store
        with store.write_transaction():
            if self.run is None:
                store.execute(MOVES_TABLE)
                self.run = 1 + (store.query("SELECT MAX(run) FROM moves WHERE box = ?", self._box)[0][0] or 0)
                store.execute("DELETE FROM moves WHERE box = ? AND run <= ?", self._box, self.run - RUNS)
            for move in moves:
                self.set_folder(move.identity, MOVING + move.target)
                row = (self._box, self.run, os.fsencode(move.source), os.fsencode(move.key), move.identity)
                store.execute(
                    "INSERT OR REPLACE INTO moves VALUES (?, ?, ?, ?, ?, ?, NULL)", *row, os.fsencode(move.target)
                )

    def end_move(self, move: Move) -> None:
        """Record that a message was moved."""
        moved = os.fsencode(move.moved or "")
        row = (moved, self._box, os.fsencode(move.source), os.fsencode(move.key))
        with self._store.write_transaction():
            self.set_folder(move.identity, move.target)
            if moved:
                self.add_file(move.target, os.fsdecode(moved), move.identity)
            self._store.execute(
                "UPDATE moves SET moved = ? WHERE box = ? AND source = ? AND key = ? AND moved IS NULL", *row
            )

    def close_move(self, move: Move) -> None:
        """Record that a message has left its source; where it is, is not known."""
        row = (self._box, os.fsencode(move.source), os.fsencode(move.key))
        self._store.execute("UPDATE moves SET moved = x'' WHERE box = ? AND source = ? AND key = ?", *row)

    def drop_moves(self, moves: Iterable[Move]) -> None:
        """Remove moves that were undone or did not happen."""
        with self._store.write_transaction():
            self._store.execute_many(
                "DELETE FROM moves WHERE box = ? AND source = ? AND key = ?",
                [(self._box, os.fsencode(move.source), os.fsencode(move.key)) for move in moves],
            )

    def unfinished_moves(self) -> list[Move]:
        """Return the moves that an interrupted run began."""
        return self._moves("moved IS NULL")

    def runs(self, source: str) -> dict[int, list[Move]]:
        """Return the finished moves out of a folder of each run that was not undone, the latest run last."""
        numbers = self._query_moves("SELECT DISTINCT run FROM moves WHERE box = ? AND source = ? ORDER BY run", source)
        return {run: self._moves("source = ? AND run = ?", os.fsencode(source), run) for (run,) in numbers}

    def _moves(self, condition: str, *values: object) -> list[Move]:
        if not self._has_moves():
            return []
        rows = self._store.query(
            f"SELECT id, source, key, target, moved FROM moves WHERE box = ? AND {condition}", self._box, *values
        )
        moves = []
        for name, *row, moved in rows:
            source, key, target = map(os.fsdecode, row)
            moves.append(Move(name, source, key, target, None if moved is None else os.fsdecode(moved)))
        return moves

    def _query_moves(self, query: str, source: str) -> list[tuple[int]]:
        return self._store.query(query, self._box, os.fsencode(source)) if self._has_moves() else []

    def _has_moves(self) -> bool:
        return bool(self._store.query("SELECT 1 FROM sqlite_master WHERE name = 'moves'"))

    def flush(self) -> None:
        """Flush all changes to disk."""
        self._store.query("PRAGMA wal_checkpoint(PASSIVE)")

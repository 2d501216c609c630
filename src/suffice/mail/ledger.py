"""The ledger of a sorted mailbox: the folder of each message, stored in the filter's file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from suffice.mail.filter import MailFilter
from suffice.mail.store import Store


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

    def known_files(self, folder: str) -> Mapping[str, str]:
        """Return the files of a folder that need not be read again: identities by key; both may be empty."""

    def add_file(self, folder: str, key: str, identity: str) -> None:
        """Record that a file need not be read again."""

    def remove_files(self, folder: str, keys: Iterable[str]) -> None:
        """Remove files of a folder."""

    def flush(self) -> None:
        """Flush all changes to disk."""


class StoredLedger:
    """The ledger of a Maildir in the filter's file. File names are stored as bytes, as on disk.

    Parameters
    ----------
    mail
        The filter.
    path
        The Maildir.
    """

    def __init__(self, mail: MailFilter, path: Path) -> None:
        mail.store(create=True)
        self._mail = mail
        self._box = os.fsencode(path.resolve())

    @property
    def _store(self) -> Store:
        return self._mail.store()

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

    def flush(self) -> None:
        """Flush all changes to disk."""
        self._store.query("PRAGMA wal_checkpoint(PASSIVE)")

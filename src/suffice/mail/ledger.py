"""What a filter's file knows about the messages of a Maildir, and a filter as sorting asks for it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from suffice.mail.filter import MailFilter
from suffice.mail.identity import identity
from suffice.mail.reading import read
from suffice.mail.store import Store


class StoredLedger:
    """Where the messages of one Maildir are, in the filter's own file. Names of files are bytes there, as on disk.

    Parameters
    ----------
    mail
        The filter.
    box
        The Maildir.
    """

    def __init__(self, mail: MailFilter, box: Path) -> None:
        mail.store(make=True)
        self._mail = mail
        self._box = os.fsencode(box.resolve())

    @property
    def _store(self) -> Store:
        return self._mail.store()

    def filed(self, name: str) -> str | None:
        """Return the folder that a message was last put or seen in."""
        found = self._store.ask("SELECT folder FROM filed WHERE box = ? AND id = ?", self._box, name)
        return os.fsdecode(found[0][0]) if found else None

    def marked(self, name: str) -> bool:
        """Return whether a message was marked as spam on its way to the Maildir."""
        return bool(self._store.ask("SELECT 1 FROM judged WHERE id = ?", bytes.fromhex(name)))

    def file(self, name: str, folder: str) -> None:
        """Note where a message is; an empty name says nowhere."""
        with self._store.writing():
            if folder:
                self._store.do("INSERT OR REPLACE INTO filed VALUES (?, ?, ?)", self._box, name, os.fsencode(folder))
            else:
                self._store.do("DELETE FROM filed WHERE box = ? AND id = ?", self._box, name)

    def settled(self, folder: str) -> Mapping[str, str]:
        """Return the files of a folder that need not be read again, as key to identity."""
        query = "SELECT key, id FROM settled WHERE box = ? AND folder = ?"
        return {os.fsdecode(key): name for key, name in self._store.ask(query, self._box, os.fsencode(folder))}

    def settle(self, folder: str, key: str, name: str) -> None:
        """Note that a file of a folder need not be read again."""
        where = (self._box, os.fsencode(folder), os.fsencode(key))
        self._store.do("INSERT OR REPLACE INTO settled VALUES (?, ?, ?, ?)", *where, name)

    def unsettle(self, folder: str, keys: Iterable[str]) -> None:
        """Forget files of a folder."""
        with self._store.writing():
            self._store.do_all(
                "DELETE FROM settled WHERE box = ? AND folder = ? AND key = ?",
                [(self._box, os.fsencode(folder), os.fsencode(key)) for key in keys],
            )

    def flush(self) -> None:
        """Make sure that all this is on disk."""
        self._store.ask("PRAGMA wal_checkpoint(PASSIVE)")


class FilterJudge:
    """A filter as sorting asks for it.

    Parameters
    ----------
    mail
        The filter.
    anyway
        Whether to go by its verdicts even if it has learned little.
    """

    def __init__(self, mail: MailFilter, *, anyway: bool = False) -> None:
        self._mail, self._anyway = mail, anyway

    def identity(self, data: bytes) -> str:
        """Return what is the same for the same message."""
        return identity(data).hex()

    def verdict(self, data: bytes) -> tuple[str, float]:
        """Return the class of a message and the probability that it is spam."""
        verdict = self._mail.judge(read([data]), anyway=self._anyway)[0]
        return verdict.label, verdict.probability

    def learn(self, data: bytes, label: str) -> bool:
        """Learn what a reader's move says of a message, until the filter agrees."""
        return self._mail.correct(data, label) != "known"

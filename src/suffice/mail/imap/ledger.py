"""The ledger of a folder on an IMAP server, and the completion of moves that were interrupted."""

from __future__ import annotations

import errno
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager

from suffice.mail.errors import MailError
from suffice.mail.filter import MailFilter
from suffice.mail.imap.errors import RequestError
from suffice.mail.imap.folders import ImapFolder
from suffice.mail.ledger import Move, StoredLedger
from suffice.mail.mailboxes import Entry, Message, MessageGoneError
from suffice.mail.message import identify_message
from suffice.mail.sorter import INBOX

#: Seconds that a run waits for another, and seconds after which it looks whether it was interrupted.
WAIT, STEP = 60.0, 0.2


class ImapLedger(StoredLedger):
    """The ledger of a sorted folder, by account, folder, UIDVALIDITY, UID and message identity.

    Parameters
    ----------
    mail
        The filter.
    box
        The folder.
    read_only
        Whether the ledger is only read: known messages of renumbered folders are recognised, and not recorded anew.
    """

    def __init__(self, mail: MailFilter, box: ImapFolder, *, read_only: bool = False) -> None:
        super().__init__(mail, box.connection.address.ledger, read_only=read_only)
        self._folder, self._read_only = box, read_only

    def open(self, name: str) -> ImapFolder:
        """Return a folder by its name in the ledger."""
        return self._folder if name == INBOX else self._folder.open(name)

    def known_files(self, folder: str) -> Mapping[str, str]:
        """Return the identities of known messages by key.

        If the server has renumbered the folder, or does not say the UIDs of moved messages, the messages are read to
        find their keys. If none of a renumbered folder is there, it is another folder of that name: the messages are
        forgotten, since they may be in a folder that was renamed.
        """
        known = dict(super().known_files(folder))
        box = self.open(folder)
        if box.validity is None:
            return known
        prefix = f"{box.validity}."
        stale = {key: name for key, name in known.items() if key and not key.startswith(prefix)}
        if stale:
            unknown = [entry for entry in box.entries() if entry.key not in known]
            renewed = self._identify(box, unknown, set(stale.values()) - {""})
            is_other = not renewed and len(stale) == sum(map(bool, known)) and not any(key[0] == "?" for key in stale)
            here = {"", *renewed.values()}
            replaced = {key for key, name in stale.items() if is_other or name in here}  # the others have left
            if not self._read_only:
                with self._store.write_transaction():
                    self.remove_files(folder, replaced)
                    for key, name in renewed.items():
                        self.add_file(folder, key, name)
                    for name in set(stale.values()) if is_other else ():
                        if self.folder_of(name) == folder:
                            self.set_folder(name, "")
            known = {key: name for key, name in known.items() if key not in replaced} | renewed
        return known

    def _identify(self, box: ImapFolder, entries: list[Entry], known: set[str]) -> dict[str, str]:
        """Return the known identities of messages, by their present keys."""
        found: dict[str, str] = {}
        box.prefetch(entries)
        for entry in entries:
            try:
                message = box.read(entry)
            except MessageGoneError:
                continue
            if isinstance(message, Message) and (name := identify_message(message.data).hex()) in known:
                found[entry.key] = name
        return found


@contextmanager
def exclude_other_runs(mail: MailFilter) -> Iterator[None]:
    """Wait until no other process sorts a folder on a server with the same filter, and let others wait.

    Without that, one run would take the moves that another is making for those of an interrupted run. The lock is that
    of an empty file beside the filter, which the system releases when the process ends.

    Raises
    ------
    MailError
        If the folder of the filter cannot be written.
    RequestError
        If another run takes longer than :data:`WAIT` seconds.
    """
    path = f"{mail.path}-sorting"
    with ExitStack() as opened:
        try:
            lock = opened.enter_context(closing(sqlite3.connect(path, timeout=STEP, isolation_level=None)))
            _wait_for_lock(lock)
        except sqlite3.OperationalError as error:
            raise MailError(f"{path} cannot be written: {error}") from None
        yield


def _wait_for_lock(lock: sqlite3.Connection) -> None:
    end = time.monotonic() + WAIT
    while True:
        try:
            lock.execute("BEGIN EXCLUSIVE")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            if time.monotonic() > end:
                why = f"another run with the same filter has not ended after {WAIT:.0f} s: try again"
                raise RequestError(errno.EAGAIN, why) from None


def finish_moves(ledger: ImapLedger) -> int:
    """Complete the moves that an interrupted run began; return the number of leftover copies that were removed.

    A move by COPY leaves the message in both folders if it is interrupted. The message in the source is then deleted,
    if an equal copy in the target is known to no other run. If there is no copy, the message is judged again.
    """
    moves = ledger.unfinished_moves()
    removed = 0
    for source in dict.fromkeys(move.source for move in moves):
        box = ledger.open(source)
        here = {entry.key: entry for entry in box.entries()}
        for target in dict.fromkeys(move.target for move in moves if move.source == source):
            some = [move for move in moves if (move.source, move.target) == (source, target)]
            removed += _finish(ledger, box, here, some)
    return removed


def _finish(ledger: ImapLedger, box: ImapFolder, here: dict[str, Entry], moves: list[Move]) -> int:
    left = [here[move.key] for move in moves if move.key in here]
    copies = _find_copies(ledger, box, left, moves[0].target) if left else {}
    for move in moves:
        if move.key in copies:
            box.delete([here[move.key]])
            ledger.end_move(move._replace(moved=copies[move.key]))
        elif move.key in here:
            ledger.drop_moves([move])  # it was not copied
            if move.source != INBOX:
                ledger.set_folder(move.identity, move.source)
        else:
            ledger.close_move(move)  # it was moved, or the user was faster
    return len(copies)


def _find_copies(ledger: ImapLedger, box: ImapFolder, left: list[Entry], target: str) -> dict[str, str]:
    """Return the keys of equal copies in the target by the keys of messages; each copy serves one message."""
    to = ledger.open(target)
    try:
        entries = to.entries()
    except OSError:  # the folder does not exist
        return {}
    known = ledger.known_files(target)
    # One that is marked as deleted is no copy that stays: on servers without UIDPLUS, it may be an earlier original.
    unknown = [entry for entry in entries if entry.key not in known and "T" not in entry.flags]
    sizes, copy_sizes = box.sizes(left), to.sizes(unknown)
    found: dict[str, str] = {}
    for entry in left:
        text = box.fetch_texts([entry]).get(entry.key)
        for copy in unknown:
            is_candidate = copy.key not in found.values() and copy_sizes.get(copy.key) == sizes.get(entry.key)
            if text is not None and is_candidate and to.fetch_texts([copy]).get(copy.key) == text:
                found[entry.key] = copy.key
                break
    return found

"""A folder on an IMAP server as a mailbox that can be sorted."""

from __future__ import annotations

import errno
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from suffice.mail.batch_learning import split_batches
from suffice.mail.imap.connection import ImapConnection, Selected
from suffice.mail.imap.errors import RequestError
from suffice.mail.mailboxes import LIMIT, Entry, Message, MessageGoneError, Skipped, describe_os_error
from suffice.mail.mailboxes.roles import Role, folder_role

#: Messages whose sizes are fetched at once; messages that are fetched at once, and bytes of them, at most.
SIZES, BATCH, BATCH_BYTES = 1000, 256, 1 << 24
#: Messages of one search: the numbers of more could be longer than the longest line that imaplib reads, 1 MB.
SEARCHED = 50_000
#: Messages that one request names; servers limit the length of lines.
NAMED = 500
#: Attributes of folders that are not searched for moved messages: views of other folders, and what says nothing.
_EXCLUDED = {
    *(r"\noselect", r"\nonexistent", r"\all", r"\flagged", r"\important"),
    *(r"\junk", r"\trash", r"\sent", r"\drafts"),
}
#: Name of the server's inbox where another folder is sorted, which is INBOX to the ledger.
_OTHER_INBOX = "INBOX of the server"
#: Messages that may arrive while a folder is listed; a server's answer cannot take more memory than for these.
_ARRIVALS = 1000


class ImapFolder:
    """A folder on an IMAP server.

    The key of a message is its UIDVALIDITY and UID: a server that renumbers the messages changes all keys. Messages are
    fetched without setting the flag Seen.

    Parameters
    ----------
    connection
        The connection.
    name
        The full name of the folder.
    """

    def __init__(self, connection: ImapConnection, name: str) -> None:
        self.connection, self.name = connection, name
        self.skipped: list[Skipped] = []
        #: Called with the numbers of messages that were fetched, and that will be.
        self.progress: Callable[[int, int], object] | None = None
        self._state: Selected | None = None
        self._seen: Selected | None = None  # the present state, if it is known before the folder is selected
        self._reported: set[str] = set()  # folders whose names are malformed
        self._states: dict[str, Selected] = {}  # of folders that are about to be listed
        self._entries: list[Entry] = []
        self._size: tuple[Selected | None, int] | None = None
        self._announced: Iterator[list[Entry]] = iter(())
        self._fetched: dict[str, bytes] = {}
        self._opened: dict[str, ImapFolder] = {}

    @property
    def validity(self) -> int | None:
        """The UIDVALIDITY of the last listing."""
        return self._state.validity if self._state else None

    def entries(self) -> list[Entry]:
        """Return the messages of the folder, sorted by UID."""
        seen, self._seen = self._seen, None
        if seen is None or not seen.is_exact or seen != self._state:
            state = self.connection.select(self.name)
            if not state.is_exact or state != self._state:
                self._state = state
                self._entries = self._list(state) if state.messages else []
        return self._entries

    def _list(self, state: Selected) -> list[Entry]:
        """Return the messages by three searches, whose answers are short."""
        uids, deleted, unseen = (self._search_all(word, state.messages) for word in ("ALL", "DELETED", "UNSEEN"))
        if state.messages > SEARCHED and len(uids) != state.messages:
            raise RequestError(errno.EAGAIN, f"{self.name} changed while it was listed: run again")
        gone, new = set(deleted), set(unseen)
        return [
            Entry(
                f"{self.name};UID={uid}",
                f"{state.validity}.{uid}",
                ("" if uid in new else "S") + ("T" if uid in gone else ""),
                uid in new,
            )
            for uid in sorted(set(uids))
        ]

    def _search_all(self, word: str, messages: int) -> list[int]:
        """Return the UIDs of all messages that a word of SEARCH describes, in parts if there are many."""
        if messages <= SEARCHED:
            return self._search(word, limit=messages)
        found: list[int] = []
        for first in range(1, messages + 1, SEARCHED):
            found += self._search(f"{first}:{min(messages, first + SEARCHED - 1)}", word, limit=SEARCHED)
        return found

    def _search(self, *words: str, limit: int) -> list[int]:
        """Return the UIDs that a search finds; more than the limit are possible only if mail arrives meanwhile."""
        client = self.connection.client
        if "ESEARCH" not in self.connection.capabilities:
            return list(self.connection.call(lambda: client.search(list(words))))
        # The answer has ranges: a few bytes instead of a number for each message.
        arguments = [b"RETURN", b"(ALL)", *(word.encode() for word in words)]
        (answer,) = self.connection.call(
            lambda: client._raw_command_untagged(b"SEARCH", arguments, response_name="ESEARCH")
        )
        ranges = re.search(rb" ALL ([0-9:,]+)", answer or b"")
        return _expand(ranges[1].decode(), limit + _ARRIVALS) if ranges else []

    def state(self) -> Selected:
        """Select the folder, and return its state."""
        return self.connection.select(self.name)

    def find(self, key: str) -> Entry | None:
        """Return the message with this key as it is now."""
        return next((entry for entry in self.entries() if entry.key == key), None)

    def prefetch(self, entries: Sequence[Entry]) -> None:
        """Announce the messages that are read next: they are fetched in batches."""
        self._fetched.clear()
        self._announced = self._plan(entries)

    def _plan(self, entries: Sequence[Entry]) -> Iterator[list[Entry]]:
        """Return batches of messages of limited size."""
        done = 0
        for start in range(0, len(entries), SIZES):
            some = entries[start : start + SIZES]
            sizes = self.sizes(some)
            for batch in split_batches(some, lambda entry: min(LIMIT, sizes.get(entry.key, 0)), BATCH, BATCH_BYTES):  # noqa: B023
                yield batch
                done += len(batch)
                if self.progress:
                    self.progress(done, len(entries))

    def sizes(self, entries: Sequence[Entry]) -> dict[str, int]:
        """Return the sizes of messages by key; those that are gone are missing."""
        found = self._fetch(entries, "RFC822.SIZE")
        return {key: each[b"RFC822.SIZE"] for key, each in found.items() if b"RFC822.SIZE" in each}

    def read(self, entry: Entry, limit: int = LIMIT) -> Message:
        """Return a message, cut at the limit.

        Raises
        ------
        MessageGoneError
            If it is no longer in the folder.
        """
        while entry.key not in self._fetched and (batch := next(self._announced, None)) is not None:
            if entry in batch:
                with suppress(RequestError):  # some servers refuse all if one is damaged; they are fetched one by one
                    self._fetched = self.fetch_texts(batch)
                break
        if entry.key not in self._fetched:
            self._fetched |= self.fetch_texts([entry])
        data = self._fetched.pop(entry.key, None)
        if data is None:
            raise MessageGoneError(errno.ENOENT, "another program moved or deleted the message", entry.path)
        return Message(data[:limit], entry.path)

    def fetch_texts(self, entries: Sequence[Entry]) -> dict[str, bytes]:
        """Return messages by key, each cut at :data:`LIMIT`; those that are gone are missing."""
        # All are asked for up to the limit, so that a verdict does not depend on what was fetched together.
        found = self._fetch(entries, f"BODY.PEEK[]<0.{LIMIT}>")
        return {key: text for key, each in found.items() if (text := each.get(b"BODY[]<0>")) is not None}

    def _fetch(self, entries: Sequence[Entry], *what: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for some, uids in _split(entries):
            self._select_for(some)
            answers = self.connection.call(lambda: self.connection.client.fetch(uids, what))  # noqa: B023
            found |= {entry.key: answers[_uid(entry)] for entry in some if _uid(entry) in answers}
        return found

    def _select_for(self, entries: Sequence[Entry], *, to_change: bool = False) -> None:
        self.connection.ensure_selected(self.name, _parse_key(entries[0].key)[0], to_change=to_change)

    def messages(self, limit: int = LIMIT) -> Iterator[Message | Skipped]:
        """Return the messages that are not marked as deleted."""
        entries = [entry for entry in self.entries() if "T" not in entry.flags]
        self.prefetch(entries)
        for entry in entries:
            where = f"{self.connection.address};UID={_uid(entry)}"
            try:
                message = self.read(entry, limit)
                yield message._replace(where=where)
            except MessageGoneError:
                pass
            except RequestError as error:  # some servers cannot read a message that is damaged
                yield Skipped(where, describe_os_error(error))

    def size(self) -> int | None:
        """Return the size of all messages."""
        entries = self.entries()
        if self._size is None or self._size[0] != self._state:
            chunks = (entries[start : start + SIZES] for start in range(0, len(entries), SIZES))
            self._size = (self._state, sum(sum(self.sizes(chunk).values()) for chunk in chunks))
        return self._size[1]

    def move_all(self, entries: Sequence[Entry], to: ImapFolder) -> dict[str, Entry | OSError]:
        """Move messages by MOVE, or by COPY and UID EXPUNGE; no other message that is marked as deleted is expunged.

        If the server has neither MOVE nor UIDPLUS, the messages are copied and marked as deleted; see
        :attr:`leaves_deleted`.
        """
        moved: dict[int, str | OSError] = {}
        for some, uids in _split(entries):
            self._select_for(some, to_change=True)
            if "MOVE" in self.connection.capabilities:
                is_told = "UIDPLUS" in self.connection.capabilities
                moved |= ({} if is_told else dict.fromkeys(uids, "")) | self._transfer("move", uids, to)
            else:
                moved |= self._move_by_copy(some, to)
        gone = MessageGoneError(errno.ENOENT, "another program moved or deleted the message")
        return {entry.key: _describe_outcome(entry, to, moved.get(_uid(entry), gone)) for entry in entries}

    @property
    def leaves_deleted(self) -> bool:
        """Whether moved messages stay here, marked as deleted, because the server cannot expunge them alone."""
        return not {"MOVE", "UIDPLUS"} & self.connection.capabilities

    def _transfer(self, command: str, uids: list[int], to: ImapFolder) -> dict[int, str]:
        """Move or copy messages; return the keys in the target by UID, empty if the server does not say them."""
        client, left, found = self.connection.client, uids, dict[int, str]()
        client._imap.response("COPYUID")  # discards an earlier answer
        while left:
            try:
                self.connection.call(lambda: getattr(client, command)(left, to.name))  # noqa: B023
                break
            except RequestError:
                here = self._find(left)
                if len(here) == len(left):
                    raise
                left = here  # some servers refuse a request if one of its messages is gone
            finally:
                answers = client._imap.response("COPYUID")[1] or ()
                for answer in answers if "UIDPLUS" in self.connection.capabilities else ():
                    found |= _parse_copy_uids(answer or b"", len(uids))
        return found

    def _find(self, uids: list[int], *words: str) -> list[int]:
        """Return which of some messages exist, and have a property."""
        self.connection.call(self.connection.client.noop)  # the server may still hide that messages are gone
        return sorted(self._search(*words, "UID", ",".join(map(str, uids)), limit=len(uids)))

    def _move_by_copy(self, entries: list[Entry], to: ImapFolder) -> dict[int, str | OSError]:
        """Copy messages, and delete those whose copies are verified; return keys or errors by UID, without the gone."""
        here = self._fingerprints(entries)
        if not here:
            return {}
        begin = to._read_numbers()
        copies = self._transfer("copy", sorted(here), to) or to._match_copies(here, *begin)
        end = to._read_numbers()
        # A copy whose UID was assigned existed. If it is no longer there, another client has moved or deleted it.
        verified = {
            uid: key
            for uid, key in copies.items()
            if uid in here and begin <= _parse_key(key) < end and begin[0] == end[0]
        }
        deleted = self.delete([entry for entry in entries if _uid(entry) in verified])
        unverified = sorted(here.keys() - verified)
        self._select_for(entries)
        left = self._find(unverified) if unverified else ()
        missing = RequestError(errno.EIO, f"its copy in {to.name} cannot be found: nothing was deleted")
        why = f"another program moved or deleted the message while it was copied: a copy is in {to.name}"
        twice = dict.fromkeys(verified.keys() - deleted, RequestError(errno.ESTALE, why))
        return {**verified, **twice, **dict.fromkeys(left, missing)}

    def _fingerprints(self, entries: Sequence[Entry]) -> dict[int, tuple[object, ...]]:
        """Return what tells a message from others, without its text, by UID; those that are gone are missing."""
        found = self._fetch(entries, "RFC822.SIZE", "BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)]")
        fields = (b"RFC822.SIZE", b"BODY[HEADER.FIELDS (MESSAGE-ID)]")
        return {_uid(entry): tuple(map(found[entry.key].get, fields)) for entry in entries if entry.key in found}

    def _read_numbers(self) -> tuple[int, int]:
        """Return the UIDVALIDITY and the UID of the next message, without selecting the folder."""

        def read() -> tuple[int, int]:
            found = self.connection.client.folder_status(self.name, ["UIDVALIDITY", "UIDNEXT"])
            return found[b"UIDVALIDITY"], found[b"UIDNEXT"]

        return self.connection.call(read)

    def _match_copies(self, originals: Mapping[int, object], validity: int, first: int) -> dict[int, str]:
        """Return the keys of copies of messages among those from a UID on, if no message has fewer than it needs."""
        self.connection.ensure_selected(self.name, validity)
        uids = self._search("UID", f"{first}:*", limit=len(originals))
        found = self._fingerprints([Entry("", f"{validity}.{uid}", "", False) for uid in uids if uid >= first])
        copies: dict[object, list[int]] = {}
        for uid in sorted(found):
            copies.setdefault(found[uid], []).append(uid)
        needed = Counter(originals.values())
        certain = {each for each, count in needed.items() if len(copies.get(each, ())) >= count}
        return {uid: f"{validity}.{copies[each].pop(0)}" for uid, each in originals.items() if each in certain}

    def delete(self, entries: Sequence[Entry]) -> set[int]:
        """Mark messages as deleted, and expunge them alone if the server can; return the UIDs of those that existed."""
        client = self.connection.client
        found: set[int] = set()
        for some, uids in _split(entries):
            self._select_for(some, to_change=True)
            self.connection.call(lambda: client.add_flags(uids, [rb"\Deleted"], silent=True))  # noqa: B023
            found |= set(self._find(uids, "DELETED"))
            if "UIDPLUS" in self.connection.capabilities:
                self.connection.call(lambda: client.uid_expunge(uids))  # noqa: B023
        return found

    def check_moves(self, name: str) -> None:
        """Do nothing: the server says it when messages are moved."""

    def finish_move(self, entry: Entry, moved: Mapping[str, Entry]) -> bool:
        """Return False: :func:`suffice.mail.imap.ledger.finish_moves` has completed interrupted moves."""
        return False

    def sync(self) -> None:
        """Do nothing: the server has answered."""

    def folder(self, name: str, create: bool = True) -> ImapFolder:
        """Return another folder; raise FileNotFoundError if it is missing."""
        full = self.connection.resolve(name)
        if full != "INBOX" and full not in self.connection.folders():
            if not create:
                raise FileNotFoundError(f"there is no folder {full!r} on {self.connection.address.host}")
            self.connection.create(full)
        return self.open(full)

    def folder_name(self, name: str) -> str:
        """Return the full name of a folder; this one is INBOX."""
        full = self.connection.resolve(name)
        if full == self.name:
            return "INBOX"
        return _OTHER_INBOX if full == "INBOX" else full

    def folders(self, targets: Iterable[str] = ()) -> dict[str, str]:
        """Return the other folders, without views of all mail, sent and deleted mail, and drafts."""
        self.connection.forget_folders()  # the user may have created one
        known = self.connection.folders()
        why = "its name is not valid in modified UTF-7: rename the folder"
        self.skipped = [Skipped(name, why) for name in sorted(self.connection.malformed - self._reported)]
        self._reported |= self.connection.malformed
        self._states = self.connection.read_states()
        return {
            _OTHER_INBOX if name == "INBOX" else name: name
            for name, (attributes, _) in known.items()
            if name != self.name and not attributes & _EXCLUDED
        }

    def at(self, location: str) -> ImapFolder:
        """Return one of :meth:`folders`, which is about to be listed: it is not selected if it is as it was before."""
        found = self.open(location)
        found._seen = self._states.pop(location, None)
        return found

    def roles(self, targets: Iterable[str] = ()) -> dict[str, tuple[Role, str]]:
        """Return what the other folders are for, and their full names, by name, without spam, trash and drafts."""
        found: dict[str, tuple[Role, str]] = {}
        for name, (attributes, _) in self.connection.folders().items():
            role: Role | None = folder_role(name)
            if r"\sent" in attributes:
                role = "sent"
            elif r"\archive" in attributes:
                role = "archive"
            elif attributes & _EXCLUDED:  # the view of flagged messages has those that are in no other folder
                role = "other" if r"\flagged" in attributes else None
            if role and name != self.name:
                found[_OTHER_INBOX if name == "INBOX" else name] = role, name
        return found

    def answered(self) -> list[Entry]:
        """Return the messages that the user answered or flagged, without those marked as deleted."""
        entries = self.entries()
        if not entries:
            return []
        self._select_for(entries)
        found = {uid for word in ("ANSWERED", "FLAGGED") for uid in self._search_all(word, len(entries))}
        return [entry for entry in entries if _uid(entry) in found and "T" not in entry.flags]

    def open(self, name: str) -> ImapFolder:
        """Return the folder of a full name; the same object each time, with its last listing."""
        return self if name == self.name else self._opened.setdefault(name, ImapFolder(self.connection, name))


def _parse_key(key: str) -> tuple[int, int]:
    """Return the UIDVALIDITY and the UID of a key."""
    validity, _, uid = key.partition(".")
    return int(validity), int(uid)


def _uid(entry: Entry) -> int:
    return _parse_key(entry.key)[1]


def _describe_outcome(entry: Entry, to: ImapFolder, outcome: str | OSError) -> Entry | OSError:
    """Return a message as it is after a move to a key in a folder, which is empty if the server does not say it."""
    if isinstance(outcome, OSError):
        return outcome
    return Entry(f"{to.name};UID={outcome}", outcome or f"?{entry.key}", entry.flags, entry.new)


def _split(entries: Sequence[Entry]) -> Iterator[tuple[list[Entry], list[int]]]:
    """Return messages in parts that one request can name, with their UIDs."""
    for start in range(0, len(entries), NAMED):
        some = list(entries[start : start + NAMED])
        yield some, [_uid(entry) for entry in some]


def _parse_copy_uids(answer: bytes, limit: int) -> dict[int, str]:
    """Return the keys of copies by the UIDs of the originals; empty if the answer is malformed.

    Examples
    --------
    >>> _parse_copy_uids(b"38505 3,7:8 21:23", 3)
    {3: '38505.21', 7: '38505.22', 8: '38505.23'}
    >>> _parse_copy_uids(b"38505 1:999999999999 1", 3)
    {}
    """
    try:
        validity, sources, targets = answer.decode("ascii").split()
        pairs = list(zip(_expand(sources, limit), _expand(targets, limit), strict=True))
        return {source: f"{int(validity)}.{target}" for source, target in pairs}
    except ValueError:
        return {}


def _expand(numbers: str, limit: int) -> list[int]:
    """Return the numbers of an IMAP set, one more than the limit at most."""
    found: list[int] = []
    for each in numbers.split(","):
        first, _, last = each.partition(":")
        found += range(int(first), int(last or first) + 1)[: limit + 1]
    return found

"""Mailboxes: messages in files, mboxes, Maildirs and other folders, behind one interface.

A :class:`Mailbox` is read message by message. A :class:`SortableMailbox` also lists its messages with their flags and
moves them between folders. A new kind of mailbox implements them in a module of this package, and
:func:`suffice.mail.mailboxes.streams.open_mailbox` returns it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, Self

from suffice.mail.mailboxes.roles import Role

#: Bytes of a message that are kept; the rest is cut off.
LIMIT = 1 << 26


class Message(NamedTuple):
    """A raw message and its location: a file, or ``inbox.mbox:17`` for the 17th message of an mbox."""

    data: bytes
    where: str


class Skipped(NamedTuple):
    """A file or folder that is not mail or cannot be read, and the reason."""

    where: str
    why: str


class Entry(NamedTuple):
    """A message in the listing of a mailbox."""

    path: str
    key: str  # unique in its folder, and the same after a change of flags
    flags: str  # sorted letters of the Maildir specification: R replied, S seen, T trashed, ...
    new: bool  # no mail program has seen it yet


class MessageGoneError(FileNotFoundError):
    """A listed message is no longer in its folder: another program moved or deleted it."""


class Mailbox(Protocol):
    """A source of messages."""

    def messages(self, limit: int = LIMIT) -> Iterator[Message | Skipped]:
        """Return the messages in order, each cut at ``limit`` bytes, and what was skipped."""

    def size(self) -> int | None:
        """Return the number of bytes of all messages, approximately; None if it is unknown."""


class SortableMailbox(Mailbox, Protocol):
    """A folder of messages that can be moved to other folders of the same account."""

    skipped: list[Skipped]  # what the last call of entries() found that is not a message

    def entries(self) -> list[Entry]:
        """Return the messages of the folder, sorted by key."""

    def find(self, key: str) -> Entry | None:
        """Return the message with this key as it is now, whatever its flags; None if it is gone."""

    def read(self, entry: Entry, limit: int = LIMIT) -> Message | Skipped:
        """Return a message; raise :class:`MessageGoneError` if it is no longer in the folder."""

    def prefetch(self, entries: Sequence[Entry]) -> None:
        """Announce the messages that are read next, in this order; a remote mailbox fetches many at once."""

    def move_all(self, entries: Sequence[Entry], to: Self) -> dict[str, Entry | OSError]:
        """Move messages to another folder; return their entries there, or why one was not moved, by key."""

    def check_moves(self, name: str) -> None:
        """Raise OSError if it is known that no message can be moved to a folder, which need not exist."""

    def finish_move(self, entry: Entry, moved: Mapping[str, Entry]) -> bool:
        """Complete an interrupted move: delete a message if the target's entries contain an equal copy of it."""

    def sync(self) -> None:
        """Flush completed moves from and to the folder to disk."""

    def folder(self, name: str, create: bool = True) -> Self:
        """Return a folder by the name that the user gives; raise FileNotFoundError if it is missing."""

    def folder_name(self, name: str) -> str:
        """Return the canonical name of the folder that the user calls ``name``; the mailbox itself is INBOX."""

    def folders(self, targets: Iterable[str] = ()) -> dict[str, str]:
        """Return the locations of the other folders by canonical name, those near the folders ``targets`` included."""

    def at(self, location: str) -> Self:
        """Return the folder at a location that :meth:`folders` or :meth:`roles` returned."""

    def roles(self, targets: Iterable[str] = ()) -> dict[str, tuple[Role, str]]:
        """Return what the other folders are for, and their locations, by canonical name, without spam and trash."""

    def answered(self) -> list[Entry]:
        """Return the messages that the user answered or flagged, without those marked as deleted."""

    def sizes(self, entries: Sequence[Entry]) -> dict[str, int]:
        """Return the sizes of messages by key; those that are gone are missing."""


def describe_os_error(error: OSError) -> str:
    """Return the reason of an operating system error in a few words."""
    why = error.strerror or type(error).__name__
    return why[:1].lower() + why[1:] if why[1:2].islower() else why

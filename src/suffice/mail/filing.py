"""What sorting goes by: a judge of messages, a ledger of where they are, and what a folder holds beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from suffice.mail.boxes import Skipped
from suffice.mail.maildir import Entry, Maildir

#: What the ledger calls the Maildir itself.
INBOX = "INBOX"
#: Before a folder's name in the ledger: a message that is on its way there.
MOVING = "\t"


class Judge(Protocol):
    """What tells spam from other mail, and learns."""

    def identity(self, data: bytes) -> str:
        """Return what is the same for the same message, whatever headers delivery added."""

    def verdict(self, data: bytes) -> tuple[str, float]:
        """Return the class of a message, such as spam, ham or unsure, and the probability that it is spam."""

    def learn(self, data: bytes, label: str) -> bool:
        """Learn a message; return False if it was learned so already."""


class Ledger(Protocol):
    """What is known about the messages of one Maildir.

    What a call has written is there for the next process, even if this one is killed right after it; after
    :meth:`flush`, even if the power fails.
    """

    def filed(self, identity: str) -> str | None:
        """Return the folder that a message was last put or seen in; after ``MOVING``, one that it is being put in."""

    def marked(self, identity: str) -> bool:
        """Return whether a message was marked as spam on its way to the Maildir, so that a rule may have filed it."""

    def file(self, identity: str, folder: str) -> None:
        """Note where a message is; an empty name says nowhere, so that it may be forgotten."""

    def settled(self, folder: str) -> Mapping[str, str]:
        """Return the files of a folder that need not be read again, as key to identity; both may be empty."""

    def settle(self, folder: str, key: str, identity: str) -> None:
        """Note that a file of a folder need not be read again."""

    def unsettle(self, folder: str, keys: Iterable[str]) -> None:
        """Forget files of a folder."""

    def flush(self) -> None:
        """Make sure that all this is on disk."""


class Moved(NamedTuple):
    """A message that was moved."""

    where: str  # the file it was
    folder: str
    probability: float  # that it is spam


class Learned(NamedTuple):
    """A message that was learned, since its reader moved it."""

    where: str
    label: str


@dataclass
class Sorted:
    """What became of a Maildir's messages."""

    moved: list[Moved] = field(default_factory=list)
    kept: int = 0  # judged, and left in the inbox
    learned: list[Learned] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failed: int = 0  # could not be moved
    gone: int = 0  # moved or deleted by another program meanwhile


class Folder:
    """What a folder holds, beside what the ledger knows of it.

    Parameters
    ----------
    name
        What the ledger calls it.
    box
        The folder; None if it is not there yet.
    ledger
        The ledger.
    label
        What is learned of messages that the reader puts here, if anything.
    ours
        Whether messages are put here by sorting; the inbox counts as such.
    """

    def __init__(self, name: str, box: Maildir | None, ledger: Ledger, label: str | None, ours: bool = True) -> None:
        self.name, self.box, self.label, self.ours = name, box, label, ours
        entries = {entry.key: entry for entry in (box.entries() if box else ()) if entry.key}
        known = ledger.settled(name)
        #: Whether nobody looked at the folder before, which the empty key tells.
        self.first = "" not in known
        #: Its messages by key, less those that are marked as deleted.
        self.entries = {key: entry for key, entry in entries.items() if "T" not in entry.flags}
        self.fresh = [entry for key, entry in self.entries.items() if key not in known]
        #: The identities of messages that are here still, by key, and of those that are not.
        self.here = {key: identity for key, identity in known.items() if identity and key in self.entries}
        self.left = {identity for key, identity in known.items() if identity and key not in self.entries}
        #: The keys that the ledger may forget.
        self.vanished = {key: identity for key, identity in known.items() if key and key not in entries}

    def copies(self, identity: str) -> list[Entry]:
        """Return the files of a message that are here now, not only when the folder was listed."""
        found = [self.box.find(key) for key, known in self.here.items() if known == identity] if self.box else []
        return [entry for entry in found if entry and "T" not in entry.flags]

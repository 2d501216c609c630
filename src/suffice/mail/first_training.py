"""The first training of a filter: spam and ham in a mailbox, without its inbox, where spam may be unsorted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from suffice.mail.errors import MailError
from suffice.mail.mailboxes import LIMIT, Entry, Message, MessageGoneError, Skipped, SortableMailbox, describe_os_error
from suffice.mail.verdict import ENOUGH, MAX_RATIO, MIN_MESSAGES

#: Largest number of messages of a class; the latest are taken.
MOST = 2000


@dataclass(frozen=True)
class Examples:
    r"""Messages of a folder that are learned as one class: a mailbox of them.

    Examples
    --------
    >>> import tempfile
    >>> from suffice.mail.mailboxes.maildir import Maildir
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     box = Maildir(f"{folder}/Mail", create=True)
    ...     _ = box.deliver(b"Subject: hello\n\n", flags="RS"), box.deliver(b"Subject: you have won\n\n", flags="S")
    ...     found = Examples("ham", "INBOX", "answered or flagged", box, box.answered())
    ...     [message.data for message in found.messages()], found.size()
    ([b'Subject: hello\n\n'], 16)
    """

    label: str
    folder: str
    which: str  # "all", or which messages of the folder
    box: SortableMailbox
    entries: Sequence[Entry]

    def messages(self, limit: int = LIMIT) -> Iterator[Message | Skipped]:
        """Return the messages in order, each cut at ``limit`` bytes, and what was skipped."""
        self.box.prefetch(self.entries)
        for entry in self.entries:
            try:
                yield self.box.read(entry, limit)
            except MessageGoneError:
                continue
            except OSError as error:
                yield Skipped(entry.path, describe_os_error(error))

    def size(self) -> int:
        """Return the number of bytes of the messages."""
        return sum(self.box.sizes(self.entries).values())


def find_examples(box: SortableMailbox, spam_folder: str) -> list[Examples]:
    """Return the messages of a mailbox whose class the user has shown, the latest :data:`MOST` of each class.

    Spam is what the spam folder holds. Ham is what the user answered or flagged in any folder, and archived mail. Of
    sent mail, no more is taken than of received ham, and none below :data:`MIN_MESSAGES`: it has no fields of mail
    servers, so with sent mail alone as ham, all received mail looks like spam.

    Parameters
    ----------
    box
        The inbox.
    spam_folder
        The folder of spam.

    Raises
    ------
    MailError
        If there is no spam folder.
    """
    try:
        spam = Examples("spam", box.folder_name(spam_folder), "all", *_open(box.folder(spam_folder, create=False)))
    except FileNotFoundError as error:
        why = f"{error}: name the folder of spam with --spam-folder, or make one and move spam into it"
        raise MailError(why) from None
    received, sent = [Examples("ham", "INBOX", "answered or flagged", box, box.answered())], list[Examples]()
    for name, (role, location) in box.roles([spam_folder]).items():
        if name == spam.folder:
            continue
        folder = box.at(location)
        if role == "other":
            received.append(Examples("ham", name, "answered or flagged", folder, folder.answered()))
        else:
            (sent if role == "sent" else received).append(Examples("ham", name, "all", *_open(folder)))
    ham = _cut(received, _limit(len(spam.entries)))
    count = _count(ham)
    spam_examples = _cut([spam], _limit(count))
    if count >= MIN_MESSAGES:
        ham += _cut(sent, min(count, _limit(len(spam.entries)) - count))
    return spam_examples + ham


def check_examples(examples: Sequence[Examples]) -> None:
    """Raise MailError if there are too few messages of a class."""
    spam, ham = (_count([each for each in examples if each.label == label]) for label in ("spam", "ham"))
    if spam < MIN_MESSAGES:
        raise MailError(f"there are {spam} messages of spam, but {MIN_MESSAGES} are needed: move spam into its folder")
    if ham < MIN_MESSAGES:
        raise MailError(
            f"there are {ham} messages of received ham, but {MIN_MESSAGES} are needed: archive, answer or flag mail, "
            "or name a folder without spam: suffice mail learn --ham FOLDER --spam FOLDER"
        )


def _open(folder: SortableMailbox) -> tuple[SortableMailbox, list[Entry]]:
    return folder, [entry for entry in folder.entries() if "T" not in entry.flags]


def _limit(others: int) -> int:
    """Return how many messages of a class are taken, so that the filter is ready: see ``MAX_RATIO``."""
    return MOST if others >= ENOUGH else min(MOST, MAX_RATIO * others)


def _count(examples: Sequence[Examples]) -> int:
    return sum(len(each.entries) for each in examples)


def _cut(examples: Sequence[Examples], most: int) -> list[Examples]:
    """Return the latest messages of each of some folders, without empty ones; the first folders are taken first."""
    found: list[Examples] = []
    for each in examples:
        entries = each.entries[-min(most - _count(found), len(each.entries)) :] if most > _count(found) else ()
        if entries:
            found.append(Examples(each.label, each.folder, each.which, each.box, entries))
    return found

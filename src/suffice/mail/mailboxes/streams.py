"""Streams of messages from any number of mailboxes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from suffice.mail.mailboxes import LIMIT, Mailbox, Message, Skipped, describe_os_error
from suffice.mail.mailboxes.directories import Directory
from suffice.mail.mailboxes.mbox import SPECIAL, MailFile

Paths = Iterable[str | os.PathLike[str] | Mailbox]


def open_mailbox(path: str | Mailbox) -> Mailbox | Skipped:
    """Return the mailbox at a path, or why it cannot be opened; a mailbox is returned as it is."""
    if not isinstance(path, str):
        return path
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        return Skipped(path, describe_os_error(error))
    if stat.S_ISDIR(mode):
        return Directory(path)
    return MailFile(path) if stat.S_ISREG(mode) else Skipped(path, SPECIAL)


def read_messages(paths: Paths, *, limit: int = LIMIT) -> Iterator[Message | Skipped]:
    r"""Return the messages in files and directories, and what was skipped with the reason.

    Parameters
    ----------
    paths
        Files (:class:`~suffice.mail.mailboxes.mbox.MailFile`), directories
        (:class:`~suffice.mail.mailboxes.directories.Directory`), and open mailboxes.
    limit
        Bytes of a message that are kept; a message of that length may be cut.

    Raises
    ------
    FileNotFoundError
        If a path does not exist; it is raised before anything is read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "1.eml").write_text("Subject: hello\n\nLunch?\n")
    ...     [message.data for message in read_messages([folder])]
    [b'Subject: hello\n\nLunch?\n']
    """
    names = _existing(paths)
    return (message for name in names for message in _read(name, limit))


def total_size(paths: Paths) -> int | None:
    """Return the number of bytes of mail, approximately, for a progress bar; None if some files are compressed.

    No file is opened.
    """
    total = 0
    for name in _existing(paths):
        mailbox = open_mailbox(name)
        if not isinstance(mailbox, Skipped):
            size = mailbox.size()
            if size is None:
                return None
            total += size
    return total


def interleave_classes(
    classes: Mapping[str, Sequence[str | Mailbox]], skip: Callable[[Skipped], object] = lambda _: None
) -> Iterator[tuple[bytes, str]]:
    """Return the messages of several classes with their class, each class spread evenly over the stream.

    Online learning gives more weight to the latest messages; one class after the other would bias it.

    Parameters
    ----------
    classes
        Files, directories and open mailboxes of each class.
    skip
        Called with what is not mail.
    """
    streams = {label: iter(read_messages(paths)) for label, paths in classes.items()}
    sizes = {label: total_size(paths) or 1 for label, paths in classes.items()}
    taken = dict.fromkeys(streams, 0)
    while streams:
        label = min(streams, key=lambda name: taken[name] / sizes[name])
        found = next(streams[label], None)
        if found is None:
            del streams[label]
            continue
        if isinstance(found, Message):
            taken[label] += len(found.data)
            yield found.data, label
        else:
            skip(found)


def _read(name: str | Mailbox, limit: int) -> Iterable[Message | Skipped]:
    mailbox = open_mailbox(name)
    return (mailbox,) if isinstance(mailbox, Skipped) else mailbox.messages(limit)


def _existing(paths: Paths | str | os.PathLike[str]) -> list[str | Mailbox]:
    """Return the paths; raise FileNotFoundError if one of them does not exist."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    names = [os.fspath(path) if isinstance(path, str | os.PathLike) else path for path in given]
    for name in names:
        if not isinstance(name, str):
            continue
        try:
            Path(name).stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            server = ": of mail on a server, learn and sort read" if str(name).startswith(("imaps:", "imap:")) else ""
            raise FileNotFoundError(f"there is no file or folder {name!r}{server}") from None
        except OSError:
            continue  # it exists; reading it reports the error
    return names

"""Directories as mailboxes: Maildirs, MH folders, and any other directory with all that is in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from suffice.mail.mailboxes import LIMIT, Message, Skipped, describe_os_error
from suffice.mail.mailboxes.mbox import SPECIAL, MailFile

#: Files of mail programs that are not mail, and messages that MH deleted.
_NOT_MAIL = re.compile(r"\.|dovecot[.-](uid|keywords|index|mailbox|acl)|maildir(folder|size)$|courierimap|,\d+$")


class Directory:
    """A directory of mail: its files in the order of their names, then those of its subdirectories.

    A directory with ``cur`` and ``new`` is a Maildir, one with ``.mh_sequences`` an MH folder. Mail folders within
    them, such as Junk, are skipped: they are read if they are named. Any other directory is read with all that is in
    it, except hidden files. Symbolic links are followed, and each directory is read once.

    Parameters
    ----------
    path
        The directory.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def messages(self, limit: int = LIMIT) -> Iterator[Message | Skipped]:
        """Return the messages of all files."""
        for file in self.files():
            if isinstance(file, Skipped):
                yield file
            else:
                yield from file.messages(limit)

    def size(self) -> int | None:
        """Return the size of all files; None if some are compressed."""
        total = 0
        for file in self.files():
            if isinstance(file, MailFile):
                size = file.size()
                if size is None:
                    return None
                total += size
        return total

    def files(self) -> Iterator[MailFile | Skipped]:
        """Return the files that may hold mail."""
        visited: set[tuple[int, int]] = set()
        pending = [self.path]
        while pending:
            folder = pending.pop()
            try:
                status = Path(folder).stat()
                listed = _list(folder)
            except OSError as error:
                yield Skipped(folder, describe_os_error(error))
                continue
            if (status.st_dev, status.st_ino) in visited:
                yield Skipped(folder, "a link to a folder that is read already")
                continue
            visited.add((status.st_dev, status.st_ino))
            subfolders: list[str] = []
            for each in listed:
                if isinstance(each, Directory):
                    subfolders.append(each.path)
                else:
                    yield each
            pending += reversed(subfolders)


def _list(folder: str) -> list[MailFile | Skipped | Directory]:
    """Return the content of a directory, sorted by name."""
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    names = {entry.name for entry in inside}
    if {"cur", "new"} <= names and all(entry.is_dir() for entry in inside if entry.name in ("cur", "new")):
        return [*_list_maildir(folder, "cur"), *_list_maildir(folder, "new"), *_skip_mail_folders(inside)]
    if ".mh_sequences" in names:
        numbered = [entry for entry in inside if entry.name.isdecimal() and not entry.is_dir()]
        numbered.sort(key=lambda entry: int(entry.name))
        return [*(_classify(entry, is_message=True) for entry in numbered), *_skip_mail_folders(inside)]
    return [_classify(entry, is_message=False) for entry in inside if not _is_hidden(entry)]


def _list_maildir(folder: str, part: str) -> list[MailFile | Skipped | Directory]:
    """Return the messages in ``cur`` or ``new`` of a Maildir."""
    path = f"{folder}{os.sep}{part}"
    try:
        with os.scandir(path) as entries:
            inside = sorted((entry for entry in entries if entry.name[0] != "."), key=lambda entry: entry.name)
    except OSError as error:
        return [Skipped(path, describe_os_error(error))]
    return [each for entry in inside if not isinstance(each := _classify(entry, is_message=True), Directory)]


def _skip_mail_folders(inside: list[os.DirEntry[str]]) -> list[Skipped]:
    """Return the mail folders within a Maildir or MH folder; they are not read with it."""
    why = "a folder within a mail folder: name it to read it"
    return [
        Skipped(entry.path, why)
        for entry in inside
        if entry.name not in ("cur", "new", "tmp") and entry.is_dir() and _is_mail_folder(Path(entry.path))
    ]


def _is_mail_folder(folder: Path) -> bool:
    return (folder / "cur").is_dir() or (folder / ".mh_sequences").is_file()


def _is_hidden(entry: os.DirEntry[str]) -> bool:
    """Return whether the name of an entry says that it is not mail; Maildirs are mail whatever their names."""
    return _NOT_MAIL.match(entry.name) is not None and not (entry.is_dir() and _is_mail_folder(Path(entry.path)))


def _classify(entry: os.DirEntry[str], is_message: bool) -> MailFile | Skipped | Directory:
    try:
        if entry.is_file():
            return MailFile(entry.path, is_message)
        if entry.is_dir():
            return Directory(entry.path)
    except OSError as error:  # such as a link to itself
        return Skipped(entry.path, describe_os_error(error))
    return Skipped(entry.path, "a broken link" if entry.is_symlink() else SPECIAL)

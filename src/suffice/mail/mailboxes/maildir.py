"""Maildirs: one file per message, moved by atomic renames."""

from __future__ import annotations

import errno
import os
import re
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from suffice.mail.atomic_files import copy_file, create_file, rename_exclusive, sync_folder, unique_name
from suffice.mail.mailboxes import LIMIT, Entry, Message, MessageGoneError, Skipped
from suffice.mail.mailboxes.directories import Directory
from suffice.mail.mailboxes.mbox import read_message
from suffice.mail.mailboxes.roles import Role, folder_role

#: Precedes the flags in a file's name. File names on Windows have no colon.
INFO = "!2," if os.name == "nt" else ":2,"
_PARTS = ("tmp", "new", "cur")
#: UID on an IMAP server, which mbsync (U) and OfflineIMAP (U, FMD5) add to the name; it is valid in one folder.
_UID = re.compile(r",(?:U|FMD5)=[^,]*")
_Result = TypeVar("_Result")


class Maildir:
    r"""A mail folder with its messages in ``new`` and ``cur``.

    Nothing is overwritten, and only a message that was moved elsewhere is deleted. Symbolic links are not followed.

    Parameters
    ----------
    path
        The folder.
    create
        Whether missing parts of it are created, accessible to their owner only.

    Attributes
    ----------
    skipped
        What the last call of :meth:`entries` found that is not a message.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     inbox = Maildir(f"{folder}/Mail", create=True)
    ...     entry = inbox.deliver(b"Subject: hello\n\nLunch?\n")
    ...     moved = inbox.move(entry, inbox.folder("Junk"), seen=True)
    ...     print(len(inbox.entries()), moved.flags, moved.path.removeprefix(folder).split("/")[1:4])
    0 S ['Mail', '.Junk', 'cur']
    """

    def __init__(self, path: str | os.PathLike[str], create: bool = False) -> None:
        self.path = Path(path)
        self.skipped: list[Skipped] = []
        if create:
            for folder in (self.path, *(self.path / part for part in _PARTS)):
                with suppress(FileExistsError):
                    folder.mkdir(0o700)
        if not self.path.exists():
            raise FileNotFoundError(f"there is no folder {str(self.path)!r}")
        root = self.path.resolve()
        for part in _PARTS:
            folder = self.path / part
            if not folder.is_dir():
                raise FileNotFoundError(f"{str(self.path)!r} is not a Maildir: it has no folder {part!r}")
            if folder.resolve().parent != root:
                raise ValueError(f"{str(folder)!r} is a link to a folder outside the Maildir: replace it by a folder")

    def messages(self, limit: int = LIMIT) -> Iterator[Message | Skipped]:
        """Return the messages, first of ``cur``, then of ``new``; to read only, links are followed."""
        return Directory(str(self.path)).messages(limit)

    def size(self) -> int | None:
        """Return the size of all messages."""
        return Directory(str(self.path)).size()

    def entries(self) -> list[Entry]:
        """Return the messages sorted by key; what is not a regular file is added to ``skipped``."""
        self.skipped.clear()
        found: dict[str, Entry] = {}
        for part in ("new", "cur"):  # in this order: a message that is opened meanwhile moves from new to cur
            with os.scandir(self.path / part) as listed:
                for each in listed:
                    if each.name.startswith("."):
                        continue
                    if each.is_file(follow_symlinks=False):
                        entry = _parse_name(each.path, each.name, part == "new")
                        found[entry.key] = entry
                    elif not each.is_dir(follow_symlinks=False):
                        why = "a link, which is not followed" if each.is_symlink() else "not a regular file"
                        self.skipped.append(Skipped(each.path, why))
        return sorted(found.values(), key=lambda entry: entry.key)

    def find(self, key: str) -> Entry | None:
        """Return the message with this key, whatever its flags are now."""
        return next((entry for entry in self.entries() if entry.key == key), None)

    def read(self, entry: Entry, limit: int = LIMIT) -> Message | Skipped:
        """Return a message of this folder.

        Raises
        ------
        MessageGoneError
            If it is no longer in the folder.
        """
        return self._retry_renamed(entry, lambda here: read_message(here.path, limit=limit, follow=False))

    def folders(self, targets: Iterable[str] = ()) -> dict[str, str]:
        """Return the paths of the Maildirs in this one by name: ``.Work`` as mail servers write it, or ``Work``.

        If one of the folders ``targets`` is beside this Maildir, return those beside it, too, named by their paths.
        """
        found = self._list_folders(self.path)
        if any(self.locate(name).parent == self.path.parent for name in targets):
            found |= self._list_folders(Path(os.path.normpath(self.path / "..")))
        return found

    def at(self, location: str) -> Maildir:
        """Return the Maildir at a path that :meth:`folders` or :meth:`roles` returned."""
        return Maildir(location)

    def roles(self, targets: Iterable[str] = ()) -> dict[str, tuple[Role, str]]:
        """Return what the folders of :meth:`folders` are for, and their paths, by name, without spam and trash."""
        return {name: (role, path) for name, path in self.folders(targets).items() if (role := folder_role(name))}

    def answered(self) -> list[Entry]:
        """Return the messages that the user answered or flagged, without those marked as deleted."""
        return [entry for entry in self.entries() if set(entry.flags) & {"R", "F"} and "T" not in entry.flags]

    def sizes(self, entries: Sequence[Entry]) -> dict[str, int]:
        """Return the sizes of messages by key; those that are gone are missing."""
        found: dict[str, int] = {}
        for entry in entries:
            with suppress(OSError):
                found[entry.key] = Path(entry.path).stat().st_size
        return found

    def _list_folders(self, parent: Path) -> dict[str, str]:
        found: dict[str, str] = {}
        with os.scandir(parent) as listed:
            for each in sorted(listed, key=lambda each: each.name):
                path = Path(each.path)
                if (
                    each.name not in _PARTS
                    and path != self.path
                    and all((path / part).is_dir() for part in _PARTS)
                    and not each.is_symlink()
                ):
                    found[self._name_of(path)] = str(path)
        return found

    def _name_of(self, path: Path) -> str:
        if path == self.path:
            return "INBOX"
        return path.name.removeprefix(".") if path.parent == self.path else str(path)

    def folder_name(self, name: str) -> str:
        """Return the canonical name of a folder: its name in this Maildir, or its path."""
        return self._name_of(self.locate(name))

    def locate(self, name: str) -> Path:
        """Return the path of a folder, which need not exist.

        Parameters
        ----------
        name
            ``Junk`` is the folder ``Junk`` in this one if there is such a Maildir, and ``.Junk`` otherwise; letters
            outside ASCII are encoded as IMAP does. A name with a slash is the path of a Maildir relative to this one:
            ``../Junk`` is the folder beside it.
        """
        bare = name.removeprefix(".")
        if not bare or name.endswith(("/", os.sep)) or ".." in name.removeprefix("../") or not name.isprintable():
            raise ValueError(f"{name!r} is not a folder name: use a name such as 'Junk', or the path of a Maildir")
        if "/" in name or os.sep in name:
            return Path(os.path.normpath(self.path / name))
        if name.upper() == "INBOX":
            return self.path
        encoded = _encode_imap_utf7(bare)
        for path in (self.path / each for each in (bare, encoded, f".{bare}", f".{encoded}")):
            if (path / "cur").is_dir() and path.name not in _PARTS:
                return path
        return self.path / f".{encoded}"

    def folder(self, name: str, create: bool = True) -> Maildir:
        """Return another Maildir by its name or path; see :meth:`locate`.

        Raises
        ------
        FileNotFoundError
            If it is missing and ``create`` is false.
        ValueError
            If the name is invalid, or is a link to a folder outside this Maildir.
        """
        path = self.locate(name)
        is_inside = path.is_relative_to(self.path)  # before links are resolved
        if is_inside and not Path(name).is_absolute() and not path.resolve().is_relative_to(self.path.resolve()):
            raise ValueError(
                f"{str(path)!r} is a link to a folder outside {str(self.path)!r}: name that folder's path instead"
            )
        if create and path.name.startswith(".") and not path.exists():
            made = Maildir(path, create=True)
            (path / "maildirfolder").touch(0o600)  # mail servers recognise a subfolder by this file
            return made
        return Maildir(path, create)

    def move(self, entry: Entry, to: Maildir, *, seen: bool | None = None) -> Entry:
        """Move a message of this folder to another one, and return its entry there.

        The message keeps its flags, and its key unless that is taken. The UID that mbsync or OfflineIMAP wrote into the
        name is removed: in another folder, it belongs to another message. Within a file system the move is atomic;
        between file systems, the message is deleted here after its copy is on disk.

        Parameters
        ----------
        entry
            The message.
        to
            The target folder.
        seen
            Sets or clears the flag S; None keeps it.

        Raises
        ------
        MessageGoneError
            If it is no longer in the folder.
        """
        return self._retry_renamed(entry, lambda here: self._move(here, to, seen))

    def prefetch(self, entries: Sequence[Entry]) -> None:
        """Do nothing: files are read one by one."""

    def move_all(self, entries: Sequence[Entry], to: Maildir) -> dict[str, Entry | OSError]:
        """Move messages one by one; see :meth:`move`."""
        found: dict[str, Entry | OSError] = {}
        for entry in entries:
            try:
                found[entry.key] = self.move(entry, to)
            except OSError as error:
                found[entry.key] = error
        return found

    def check_moves(self, name: str) -> None:
        """Raise OSError if the folders of this Maildir, or of the target or its parent, may not be written."""
        target = self.locate(name)
        parts = [target / "new", target / "cur"] if target.exists() else [target.parent]
        for path in (self.path / "new", self.path / "cur", *parts):
            if not os.access(path, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    def finish_move(self, entry: Entry, moved: Mapping[str, Entry]) -> bool:
        """Complete a move between file systems that was interrupted before the message was deleted here."""
        copy = moved.get(_moved_key(entry.key))
        if copy is None or Path(entry.path).read_bytes() != Path(copy.path).read_bytes():
            return False
        Path(entry.path).unlink()
        return True

    def deliver(self, data: bytes, flags: str = "", new: bool = True) -> Entry:
        """Add a message to the folder, flushed to disk, and return its entry.

        Parameters
        ----------
        data
            The message.
        flags
            Its flags; a message with flags is not new.
        new
            Whether no mail program has seen it yet.
        """
        if re.search("[^A-Za-z]", flags):
            raise ValueError(f"flags must be letters, such as 'RS'; got {flags!r}")
        temporary = self.path / "tmp" / unique_name()
        try:
            with create_file(temporary) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            entry = self._rename_into(temporary, temporary.name, "".join(sorted(set(flags))), new and not flags)
        finally:
            temporary.unlink(missing_ok=True)
        self.sync()
        return entry

    def sync(self) -> None:
        """Flush the directories ``new`` and ``cur`` to disk."""
        for part in ("new", "cur"):
            sync_folder(self.path / part)

    def _retry_renamed(self, entry: Entry, act: Callable[[Entry], _Result]) -> _Result:
        """Call a function with an entry; if the file was renamed, which a change of flags does, call it again."""
        here: Entry | None = entry
        for _ in range(10):
            if here is None:
                break
            try:
                return act(here)
            except FileNotFoundError:
                if Path(here.path).exists():
                    raise  # another file is missing
                here = self.find(entry.key)
        raise MessageGoneError(errno.ENOENT, "another program moved or deleted the message", entry.path)

    def _move(self, here: Entry, to: Maildir, seen: bool | None) -> Entry:
        flags = set(here.flags) - ({"S"} if seen is False else set()) | ({"S"} if seen else set())
        letters, new, source = "".join(sorted(flags)), here.new and not flags, Path(here.path)
        try:
            return to._rename_into(source, _moved_key(here.key), letters, new)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
        temporary = to.path / "tmp" / unique_name()
        try:
            copy_file(source, temporary)
            entry = to._rename_into(temporary, _moved_key(here.key), letters, new)
        finally:
            temporary.unlink(missing_ok=True)
        to.sync()
        with suppress(MessageGoneError):
            self._retry_renamed(here, lambda left: Path(left.path).unlink())
        return entry

    def _rename_into(self, source: Path, key: str, flags: str, new: bool) -> Entry:
        """Rename a file to a message of this folder."""
        while True:
            target = self.path / ("new" if new else "cur") / (key if new else f"{key}{INFO}{flags}")
            try:
                if target != source:
                    rename_exclusive(source, target)
                return Entry(str(target), key, flags, new)
            except FileExistsError:
                key = unique_name()


def _moved_key(key: str) -> str:
    """Return the key of a message after a move to another folder.

    Examples
    --------
    >>> _moved_key("1700000000.M1P2.host,S=314,U=15")
    '1700000000.M1P2.host,S=314'
    """
    return _UID.sub("", key)


def _parse_name(path: str, name: str, new: bool) -> Entry:
    key, _, info = name.partition(INFO[0])
    return Entry(path, key, "".join(sorted(info[2:])) if info.startswith("2,") else "", new)


def _encode_imap_utf7(name: str) -> str:
    """Return a folder name in the modified UTF-7 of IMAP (RFC 3501): ASCII, other letters in base 64."""

    def encode(found: re.Match[str]) -> str:
        letters = "" if found[0] == "&" else b2a_base64(found[0].encode("utf-16-be"), newline=False).decode()
        return "&" + letters.rstrip("=").replace("/", ",") + "-"

    return re.sub(r"[^\x20-\x7e]+|&", encode, name)

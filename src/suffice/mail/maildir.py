"""Maildirs: one file a message, moved by renaming, so that nothing is ever half there."""

from __future__ import annotations

import errno
import os
import re
from binascii import b2a_base64
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from suffice.mail.boxes import LIMIT, Letter, Skipped, read
from suffice.mail.renaming import copy, opened, rename, sync, unique

#: What comes before the flags in a name. Windows has no files with a colon in their names.
INFO = "!2," if os.name == "nt" else ":2,"
_PARTS = ("tmp", "new", "cur")
#: What mbsync (U) and OfflineIMAP (U, FMD5) add to a name: the message's number on the server, in one folder only.
_UID = re.compile(r",(?:U|FMD5)=[^,]*")
_Done = TypeVar("_Done")


class Gone(FileNotFoundError):  # noqa: N818  (what it says: another program took the message away)
    """A message is no longer in the folder it was seen in."""


class Entry(NamedTuple):
    """A message in a Maildir."""

    path: str
    key: str  # its name without flags
    flags: str  # letters in their order, such as RS: replied, seen; T: trashed
    new: bool  # whether no mail program has seen it yet


class Maildir:
    r"""A folder of mail with its messages in ``new`` and ``cur``.

    Nothing in it is overwritten, and nothing is removed but a message that has been moved elsewhere. Links are not
    followed.

    Parameters
    ----------
    path
        The folder.
    create
        Whether to make what is missing of it, readable by its owner only.

    Attributes
    ----------
    skipped
        What :meth:`entries` found last that is no message.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     inbox = Maildir(f"{place}/Mail", create=True)
    ...     entry = inbox.deliver(b"Subject: hello\n\nLunch?\n")
    ...     moved = inbox.move(entry, inbox.folder("Junk"), seen=True)
    ...     print(len(inbox.entries()), moved.flags, moved.path.removeprefix(place).split("/")[1:4])
    0 S ['Mail', '.Junk', 'cur']
    """

    def __init__(self, path: str | os.PathLike[str], create: bool = False) -> None:
        self.path = Path(path)
        self.skipped: list[Skipped] = []
        if create:
            for place in (self.path, *(self.path / part for part in _PARTS)):
                with suppress(FileExistsError):
                    place.mkdir(0o700)
        if not self.path.exists():
            raise FileNotFoundError(f"there is no folder {str(self.path)!r}")
        root = self.path.resolve()
        for part in _PARTS:
            place = self.path / part
            if not place.is_dir():
                raise FileNotFoundError(f"{str(self.path)!r} is no Maildir: it has no folder {part!r}")
            if place.resolve().parent != root:
                raise ValueError(f"{str(place)!r} is a link that leads out of the Maildir: put a folder in its place")

    def entries(self) -> list[Entry]:
        """Return the messages by name; what is no file is skipped, and listed in ``skipped``."""
        self.skipped.clear()
        found: dict[str, Entry] = {}
        for part in ("new", "cur"):  # in this order: a message that is seen meanwhile goes from new to cur
            with os.scandir(self.path / part) as listed:
                for each in listed:
                    if each.name.startswith("."):
                        continue
                    if each.is_file(follow_symlinks=False):
                        entry = _entry(each.path, each.name, part == "new")
                        found[entry.key] = entry
                    elif not each.is_dir(follow_symlinks=False):
                        why = "a link, which is not followed" if each.is_symlink() else "no file"
                        self.skipped.append(Skipped(each.path, why))
        return sorted(found.values(), key=lambda entry: entry.key)

    def find(self, key: str) -> Entry | None:
        """Return the message of this key, whatever its flags have become."""
        return next((entry for entry in self.entries() if entry.key == key), None)

    def read(self, entry: Entry, limit: int = LIMIT) -> Letter | Skipped:
        """Return a message of this folder.

        Raises
        ------
        Gone
            Where it is not here any more.
        """
        return self._follow(entry, lambda here: read(here.path, limit=limit, follow=False))

    def folders(self, beside: bool = False) -> dict[str, Path]:
        """Return the Maildirs in this one, by name: ``.Work`` as mail servers keep them, or ``Work``.

        With ``beside``, return those next to this one, by their paths.
        """
        found: dict[str, Path] = {}
        with os.scandir(os.path.normpath(self.path / "..") if beside else self.path) as listed:
            for each in sorted(listed, key=lambda each: each.name):
                place = Path(each.path)
                if (
                    each.name not in _PARTS
                    and place != self.path
                    and all((place / part).is_dir() for part in _PARTS)
                    and not each.is_symlink()
                ):
                    found[self.name_of(place)] = place
        return found

    def name_of(self, place: Path) -> str:
        """Return what a folder is called: its name in this Maildir, or its path."""
        if place == self.path:
            return "INBOX"
        return place.name.removeprefix(".") if place.parent == self.path else str(place)

    def locate(self, name: str) -> Path:
        """Return where the folder of a name is, or would be made.

        Parameters
        ----------
        name
            ``Junk`` is the folder ``Junk`` in this one if there is such a Maildir, and ``.Junk`` otherwise; letters
            outside of ASCII are written as IMAP does. With a slash in it, it is the path to a Maildir, from this one:
            ``../Junk`` is the folder beside it.
        """
        bare = name.removeprefix(".")
        if not bare or name.endswith(("/", os.sep)) or ".." in name.removeprefix("../") or not name.isprintable():
            raise ValueError(f"{name!r} is no name of a folder: name one such as 'Junk', or the path to a Maildir")
        if "/" in name or os.sep in name:
            return Path(os.path.normpath(self.path / name))
        if name.upper() == "INBOX":
            return self.path
        written = _imap_name(bare)
        for place in (self.path / each for each in (bare, written, f".{bare}", f".{written}")):
            if (place / "cur").is_dir() and place.name not in _PARTS:
                return place
        return self.path / f".{written}"

    def folder(self, name: str, create: bool = True) -> Maildir:
        """Return another Maildir by its name, or its path; see :meth:`locate`.

        Raises
        ------
        FileNotFoundError
            Where there is none, and none is to be made.
        ValueError
            Where the name is no good, or leads out of this Maildir by a link.
        """
        place = self.locate(name)
        inside = place.is_relative_to(self.path)  # as it is written
        if inside and not Path(name).is_absolute() and not place.resolve().is_relative_to(self.path.resolve()):
            raise ValueError(
                f"{str(place)!r} is a link that leads out of {str(self.path)!r}: name where it leads instead"
            )
        if create and place.name.startswith(".") and not place.exists():
            made = Maildir(place, create=True)
            (place / "maildirfolder").touch(0o600)  # by which servers know a subfolder
            return made
        return Maildir(place, create)

    def move(self, entry: Entry, to: Maildir, *, seen: bool | None = None) -> Entry:
        """Move a message of this folder to another one, and return it there.

        It keeps its name, unless that is taken there, and its flags. What mbsync or OfflineIMAP wrote into the name is
        left out, the message's number in this folder of the server: in another folder, it is another message's. It is
        there whole before it is gone here: within a file system at the same instant, and otherwise after a copy is
        safe on disk.

        Parameters
        ----------
        entry
            The message.
        to
            Where to.
        seen
            Whether it counts as read there; None leaves that as it is.

        Raises
        ------
        Gone
            Where it is not here any more.
        """
        return self._follow(entry, lambda here: self._move(here, to, seen))

    def finish(self, entry: Entry, moved: Entry) -> bool:
        """Remove a message of this folder whose copy elsewhere is equal to it, as a move that was cut short left it."""
        if Path(entry.path).read_bytes() != Path(moved.path).read_bytes():
            return False
        Path(entry.path).unlink()
        return True

    def deliver(self, data: bytes, flags: str = "", new: bool = True) -> Entry:
        """Put a message in the folder, safe on disk, and return it.

        Parameters
        ----------
        data
            The message.
        flags
            Its flags; with any, it is not new.
        new
            Whether no mail program has seen it yet.
        """
        if re.search("[^A-Za-z]", flags):
            raise ValueError(f"flags are letters, such as 'RS'; got {flags!r}")
        temporary = self.path / "tmp" / unique()
        try:
            with opened(temporary) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            placed = self._place(temporary, temporary.name, "".join(sorted(set(flags))), new and not flags)
        finally:
            temporary.unlink(missing_ok=True)
        self.sync()
        return placed

    def sync(self) -> None:
        """Make sure that what was moved here, or away, is so on disk."""
        for part in ("new", "cur"):
            sync(self.path / part)

    def _follow(self, entry: Entry, act: Callable[[Entry], _Done]) -> _Done:
        """Act on a message, wherever it has gone to in this folder: programs rename it whenever its flags change."""
        here: Entry | None = entry
        for _ in range(10):
            if here is None:
                break
            try:
                return act(here)
            except FileNotFoundError:
                if Path(here.path).exists():
                    raise  # it is another file that is missing
                here = self.find(entry.key)
        raise Gone(errno.ENOENT, "the message was moved or deleted meanwhile", entry.path)

    def _move(self, here: Entry, to: Maildir, seen: bool | None) -> Entry:
        flags = set(here.flags) - ({"S"} if seen is False else set()) | ({"S"} if seen else set())
        letters, new, source = "".join(sorted(flags)), here.new and not flags, Path(here.path)
        try:
            return to._place(source, key_elsewhere(here.key), letters, new)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
        temporary = to.path / "tmp" / unique()
        try:
            copy(source, temporary)
            placed = to._place(temporary, key_elsewhere(here.key), letters, new)
        finally:
            temporary.unlink(missing_ok=True)
        to.sync()
        with suppress(Gone):
            self._follow(here, lambda left: Path(left.path).unlink())
        return placed

    def _place(self, source: Path, key: str, flags: str, new: bool) -> Entry:
        """Rename a file to a message of this folder."""
        while True:
            target = self.path / ("new" if new else "cur") / (key if new else f"{key}{INFO}{flags}")
            try:
                if target != source:
                    rename(source, target)
                return Entry(str(target), key, flags, new)
            except FileExistsError:
                key = unique()


def key_elsewhere(key: str) -> str:
    """Return the key of a message that is moved to another folder.

    Examples
    --------
    >>> key_elsewhere("1700000000.M1P2.host,S=314,U=15")
    '1700000000.M1P2.host,S=314'
    """
    return _UID.sub("", key)


def _entry(path: str, name: str, new: bool) -> Entry:
    key, _, info = name.partition(INFO[0])
    return Entry(path, key, "".join(sorted(info[2:])) if info.startswith("2,") else "", new)


def _imap_name(name: str) -> str:
    """Return a name as IMAP servers write it: in ASCII, other letters in a base 64 of their own."""

    def coded(found: re.Match[str]) -> str:
        letters = "" if found[0] == "&" else b2a_base64(found[0].encode("utf-16-be"), newline=False).decode()
        return "&" + letters.rstrip("=").replace("/", ",") + "-"

    return re.sub(r"[^\x20-\x7e]+|&", coded, name)

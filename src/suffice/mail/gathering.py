"""Which files hold mail: those that are named, and those in folders that are named."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

#: What mail programs keep beside mail, and MH's deleted messages.
_BOOKKEEPING = re.compile(r"\.|dovecot[.-](uid|keywords|index|mailbox|acl)|maildir(folder|size)$|courierimap|,\d+$")
SPECIAL = "a socket, pipe or device, which is never opened"
_PACKED = (".gz", ".bz2", ".xz")


class Skipped(NamedTuple):
    """Something that is no mail, or cannot be read."""

    where: str
    why: str


class Found(NamedTuple):
    """A file that may hold mail."""

    path: str
    whole: bool  # whether the file is one message, whatever its lines look like: so in Maildirs and MH folders


class Folder(NamedTuple):
    """A folder to look into."""

    path: str


def named(paths: Iterable[str | os.PathLike[str]] | str | os.PathLike[str]) -> list[str]:
    """Return the paths, all of which exist.

    Raises
    ------
    FileNotFoundError
        Where one of them does not.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    names = [os.fspath(path) for path in given]
    for name in names:
        try:
            Path(name).stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            raise FileNotFoundError(f"there is no file or folder {name!r}") from None
        except OSError:
            continue  # it is there: what is wrong with it is said in its turn
    return names


def gather(names: Sequence[str]) -> Iterator[Found | Skipped]:
    """Return the files to read: those of a folder by name, then those of its subfolders.

    A folder is a Maildir if it has the folders ``cur`` and ``new``, and an MH folder if it has ``.mh_sequences``. Their
    subfolders are folders of their own, Junk among them: they are read where they are named, and otherwise skipped.
    Any other folder is read with all that is in it, but for hidden files. Links are followed, and a folder is read
    once, however many lead to it.
    """
    for name in names:
        try:
            mode = Path(name).stat().st_mode
        except OSError as error:
            yield Skipped(name, complaint(error))
            continue
        if stat.S_ISDIR(mode):
            yield from _walk(name)
        elif stat.S_ISREG(mode):
            yield Found(name, whole=False)
        else:
            yield Skipped(name, SPECIAL)


def _walk(top: str) -> Iterator[Found | Skipped]:
    seen: set[tuple[int, int]] = set()
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        try:
            about = Path(folder).stat()
            inside = _listed(folder)
        except OSError as error:
            yield Skipped(folder, complaint(error))
            continue
        if (about.st_dev, about.st_ino) in seen:
            yield Skipped(folder, "a link to a folder that is read already")
            continue
        seen.add((about.st_dev, about.st_ino))
        subfolders: list[str] = []
        for each in inside:
            if isinstance(each, Folder):
                subfolders.append(each.path)
            else:
                yield each
        waiting += reversed(subfolders)


def _listed(folder: str) -> list[Found | Skipped | Folder]:
    """Return what a folder holds, by name."""
    with os.scandir(folder) as entries:
        inside = sorted(entries, key=lambda entry: entry.name)
    names = {entry.name for entry in inside}
    if {"cur", "new"} <= names and all(entry.is_dir() for entry in inside if entry.name in ("cur", "new")):
        return [*_messages(folder, "cur"), *_messages(folder, "new"), *_left_alone(inside)]
    if ".mh_sequences" in names:
        numbered = [entry for entry in inside if entry.name.isdecimal() and not entry.is_dir()]
        numbered.sort(key=lambda entry: int(entry.name))
        return [*(_found(entry, whole=True) for entry in numbered), *_left_alone(inside)]
    return [_found(entry, whole=False) for entry in inside if not _hidden(entry)]


def _messages(folder: str, part: str) -> list[Found | Skipped | Folder]:
    """Return the messages in the part ``cur`` or ``new`` of a Maildir."""
    place = f"{folder}{os.sep}{part}"
    try:
        with os.scandir(place) as entries:
            inside = sorted((entry for entry in entries if entry.name[0] != "."), key=lambda entry: entry.name)
    except OSError as error:
        return [Skipped(place, complaint(error))]
    return [each for entry in inside if not isinstance(each := _found(entry, whole=True), Folder)]


def _left_alone(inside: list[os.DirEntry[str]]) -> list[Skipped]:
    """Return the folders of mail within a Maildir or MH folder, none of which is read with it."""
    why = "a folder within a folder of mail: name it to read it"
    return [
        Skipped(entry.path, why)
        for entry in inside
        if entry.name not in ("cur", "new", "tmp") and entry.is_dir() and _holds_mail(Path(entry.path))
    ]


def _holds_mail(folder: Path) -> bool:
    return (folder / "cur").is_dir() or (folder / ".mh_sequences").is_file()


def _hidden(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry of a plain folder is no mail by its name; Maildirs are mail whatever they are called."""
    return _BOOKKEEPING.match(entry.name) is not None and not (entry.is_dir() and _holds_mail(Path(entry.path)))


def _found(entry: os.DirEntry[str], whole: bool) -> Found | Skipped | Folder:
    try:
        if entry.is_file():
            return Found(entry.path, whole)
        if entry.is_dir():
            return Folder(entry.path)
    except OSError as error:  # such as a link that leads to itself
        return Skipped(entry.path, complaint(error))
    return Skipped(entry.path, "a link that leads nowhere" if entry.is_symlink() else SPECIAL)


def size(names: Sequence[str]) -> int | None:
    """Return how many bytes the files have; None where some are packed, going by their names."""
    total = 0
    for each in gather(names):
        if isinstance(each, Found):
            if each.path.endswith(_PACKED):
                return None
            with suppress(OSError):
                total += os.stat(each.path).st_size  # noqa: PTH116  (many files: a Path takes longer than the question)
    return total


def complaint(error: OSError) -> str:
    """Return what went wrong, in a few words."""
    return (error.strerror or type(error).__name__).lower()

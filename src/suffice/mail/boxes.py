"""Any mail on disk as a stream of messages: files of one, mboxes, Maildirs, MH folders and what lies in folders."""

from __future__ import annotations

import importlib
import os
import re
import stat
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import NamedTuple

from suffice.mail.gathering import SPECIAL, Found, Skipped, complaint, gather, named, size
from suffice.mail.mbox import BLANK, CHUNK, LINE, SEPARATOR, Mbox, Read

__all__ = ["LIMIT", "Letter", "Skipped", "count", "letters", "read"]

#: So many bytes of a message are kept.
LIMIT = 1 << 26
#: A packed file that unpacks to more than so many times its size is no mail, which shrinks to a tenth or so.
BOMB = 200

_HEADER = re.compile(rb">?From |[A-Za-z][!-9;-~]*[ \t]*:(?!//)")
_KNOWN = re.compile(
    rb"^(?:Received|Return-Path|Delivered-To|From|To|Cc|Subject|Date|Message-ID|Reply-To|Sender|MIME-Version|"
    rb"Content-Type|X-[A-Za-z-]+):",
    re.MULTILINE | re.IGNORECASE,
)
#: Apple Mail's files begin with the length of the message; what follows it is not mail.
_LENGTH = re.compile(rb"(\d{1,10})[ \t]*\r?\n(?=[A-Za-z>])")
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "lzma"}
_ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
_OPEN = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Letter(NamedTuple):
    """A message, and where it was found: a file, or ``inbox.mbox:17`` for the 17th of several in one."""

    data: bytes
    where: str


class _UnreadableError(Exception):
    """What was read so far is all there is to read."""


def letters(paths: Iterable[str | os.PathLike[str]], *, limit: int = LIMIT) -> Iterator[Letter | Skipped]:
    r"""Return the messages in files and folders, and what was skipped with the reason.

    What a file is, is told by what is in it: a message, an mbox, either of them packed by gzip, bzip2 or xz.

    Parameters
    ----------
    paths
        Files and folders; see :func:`~suffice.mail.gathering.gather` for what is read of a folder.
    limit
        So many bytes of a message are kept: a letter that has as many may be cut.

    Raises
    ------
    FileNotFoundError
        Where a path is missing, before anything is read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as place:
    ...     box = Path(place, "inbox")
    ...     _ = box.write_text(
    ...         "From ann@example.org Thu Aug 22 13:17:22 2002\nSubject: hello\n\nLunch?\n\n"
    ...         "From bob@example.org Thu Aug 22 13:20:07 2002\nSubject: re: hello\n\nYes.\n"
    ...     )
    ...     for letter in letters([box]):
    ...         print(letter.data.splitlines()[0], letter.where.removeprefix(place))
    b'Subject: hello' /inbox:1
    b'Subject: re: hello' /inbox:2
    """
    names = named(paths)
    return (each for found in gather(names) for each in _of(found, limit))


def read(path: str | os.PathLike[str], *, limit: int = LIMIT, follow: bool = True) -> Letter | Skipped:
    """Return the one message that a file holds, whatever its lines look like.

    Parameters
    ----------
    path
        The file.
    limit
        So many bytes of the message are kept.
    follow
        Whether a link is followed; otherwise it is skipped.

    Raises
    ------
    FileNotFoundError
        Where there is no such file.
    """
    flags = 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    try:
        file = os.open(path, _OPEN | flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        return Skipped(os.fspath(path), complaint(error))
    with closing(_opened(Found(os.fspath(path), whole=True), limit, file)) as found:
        return next(found)


def split(data: bytes, limit: int = LIMIT) -> list[Letter]:
    """Return the messages that came as one piece of data: one, or those of an mbox.

    Raises
    ------
    ValueError
        Where it is no mail.
    """
    why = _why_not(data[:CHUNK], is_message=False)
    if why:
        raise ValueError(why)
    if SEPARATOR.match(data):
        messages = Mbox(data, lambda _: b"", limit)
        return [Letter(message, f"-:{number}" if number else "-") for message, number in messages if message]
    return [Letter(data[:limit], "-")]


def count(paths: Iterable[str | os.PathLike[str]]) -> int | None:
    """Return about how many bytes of mail there are, for a bar that grows by the length of each letter.

    No file is opened. None where some file is packed, so that its size says little.
    """
    return size(named(paths))


def _of(found: Found | Skipped, limit: int) -> Iterable[Letter | Skipped]:
    if isinstance(found, Skipped):
        return (found,)
    try:
        return _opened(found, limit, os.open(found.path, _OPEN))
    except OSError as error:
        return (Skipped(found.path, complaint(error)),)


def _opened(found: Found, limit: int, file: int) -> Generator[Letter | Skipped]:
    path = found.path
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            raise _UnreadableError(SPECIAL)
        reading: Read = partial(os.read, file)
        start = reading(min(about.st_size + 1, CHUNK))
        for magic, module in _PACKED.items():
            if start.startswith(magic):
                os.lseek(file, 0, os.SEEK_SET)
                reading = _unpacking(file, module, limit + BOMB * about.st_size)
                start = reading(CHUNK)
        why = _why_not(start, found.whole)
        if why:
            yield Skipped(path, why)
        elif not found.whole and SEPARATOR.match(start):
            for data, number in Mbox(start, reading, limit):
                where = f"{path}:{number}" if number else path
                yield Letter(data, where) if data else Skipped(where, "empty")
        else:
            yield Letter(_whole(start, reading, limit), path)
    except _UnreadableError as error:
        yield Skipped(path, str(error))
    except OSError as error:
        yield Skipped(path, complaint(error))
    finally:
        os.close(file)


def _why_not(start: bytes, is_message: bool) -> str | None:
    """Return why a file that begins so holds no mail; None if it does.

    Where a file is not known to be a message by the folder it is in, it has a field that messages have.
    """
    if not start:
        return "empty"
    if start.startswith(_ARCHIVES) or start[257:262] == b"ustar":
        return "an archive: unpack it, and name the folder"
    end = start.find(b"\n", 0, LINE)
    if b"\0" in start[: end if end >= 0 else LINE]:
        return "binary, not mail"
    text = start.removeprefix(b"\xef\xbb\xbf")
    if SEPARATOR.match(text) or _LENGTH.match(text) or (is_message and _HEADER.match(text)):
        return None
    text = text.lstrip(b"\r\n")
    blank = BLANK.search(text)
    if _KNOWN.search(text, 0, blank.start() if blank else len(text)) or (is_message and _HEADER.match(text)):
        return None
    return "not mail: it begins with no field of a message, such as Subject:" if text else "empty"


def _whole(start: bytes, reading: Read, limit: int) -> bytes:
    """Return the one message of a file, without a line that was put before it."""
    length = _LENGTH.match(start)
    if length:
        limit = min(limit, int(length[1]))
    line = length or SEPARATOR.match(start)
    parts = [start[line.end() :] if line else start]
    wanted = limit - len(parts[0])
    while wanted > 0 and (part := reading(min(wanted, CHUNK))):
        parts.append(part)
        wanted -= len(part)
    return b"".join(parts)[:limit] if len(parts) > 1 else parts[0][:limit]


def _unpacking(file: int, module: str, most: int) -> Read:
    """Return what reads an unpacked file, and refuses one that is damaged or grows without end."""
    unpacked = importlib.import_module(module).open(os.fdopen(file, "rb", closefd=False))
    left = most

    def reading(wanted: int) -> bytes:
        nonlocal left
        try:
            data: bytes = unpacked.read(wanted)
        except Exception as error:  # each way to pack has its own complaints
            raise _UnreadableError(f"damaged, or no {module} file: {error}") from error
        left -= len(data)
        if left < 0:
            raise _UnreadableError(f"unpacks to more than {BOMB} times its size: unpack it yourself if you trust it")
        return data

    return reading

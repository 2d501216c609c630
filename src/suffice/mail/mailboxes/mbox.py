"""Files of mail: one message, or an mbox of many, plain or compressed."""

from __future__ import annotations

import importlib
import os
import re
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress
from functools import partial

from suffice.mail.mailboxes import LIMIT, Message, Skipped, describe_os_error

#: Bytes that are read at a time.
CHUNK = 1 << 20
#: Limit of the size of decompressed data, as a multiple of the file's size. Mail compresses to about a tenth.
MAX_RATIO = 200
SPECIAL = "a socket, pipe or device, which is never opened"

_DAY, _MONTH = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)", rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME = rb"\d{1,2}:\d\d(?::\d\d)?"
#: Bytes of the longest separator line.
LINE = 1000
#: Separator line of an mbox: From, an address or none, a date as asctime or mail writes it; some programs add a zone,
#: before or after the year.
SEPARATOR = re.compile(
    rb"From (?:[^\r\n]{0,500}?[ \t])??(?:"
    rb"%b,?[ \t]+(?:%b[ \t]+\d{1,2}|\d{1,2}[ \t]+%b),?[ \t]+(?:\d{4}[ \t]+%b|%b(?:[ \t]+[\w+-]{1,9}){0,2}?[ \t]+\d{4})"
    rb"|\d{4}-\d\d-\d\d[T ]%b)[^\r\n]{0,200}\r?(?:\n|\Z)" % (_DAY, _MONTH, _MONTH, _TIME, _TIME, _TIME)
)
_QUOTED = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_NUMBER, _NEWLINES = re.compile(rb"[ \t]*\d{1,12}(?=\s)"), re.compile(rb"(?:\r?\n){0,2}")
_BLANK_LINE = re.compile(rb"\n\r?\n")
_HEADER = re.compile(rb">?From |[A-Za-z][!-9;-~]*[ \t]*:(?!//)")
_KNOWN_HEADER = re.compile(
    rb"^(?:Received|Return-Path|Delivered-To|From|To|Cc|Subject|Date|Message-ID|Reply-To|Sender|MIME-Version|"
    rb"Content-Type|X-[A-Za-z-]+):",
    re.MULTILINE | re.IGNORECASE,
)
#: Files of Apple Mail begin with the length of the message; what follows the message is not mail.
_LENGTH = re.compile(rb"(\d{1,10})[ \t]*\r?\n(?=[A-Za-z>])")
_COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "lzma"}
_COMPRESSED_NAMES = (".gz", ".bz2", ".xz")
_ARCHIVES = (b"PK\x03\x04", b"PK\x05\x06", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")
_OPEN = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)

#: Reads at most so many bytes; none at the end.
Read = Callable[[int], bytes]


class _UnreadableError(Exception):
    """The rest of a file cannot be read."""


class MailFile:
    r"""A file of mail. Its content decides: one message or an mbox, either compressed by gzip, bzip2 or xz.

    Parameters
    ----------
    path
        The file.
    is_message
        Whether the file is one message, even if it looks like an mbox: so in Maildirs and MH folders.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "inbox")
    ...     _ = path.write_text(
    ...         "From ann@example.org Thu Aug 22 13:17:22 2002\nSubject: hello\n\nLunch?\n\n"
    ...         "From bob@example.org Thu Aug 22 13:20:07 2002\nSubject: re: hello\n\nYes.\n"
    ...     )
    ...     for message in MailFile(str(path)).messages():
    ...         print(message.data.splitlines()[0], message.where.removeprefix(folder))
    b'Subject: hello' /inbox:1
    b'Subject: re: hello' /inbox:2
    """

    __slots__ = ("is_message", "path")

    def __init__(self, path: str, is_message: bool = False) -> None:
        self.path, self.is_message = path, is_message

    def messages(self, limit: int = LIMIT) -> Iterator[Message | Skipped]:
        """Return the messages of the file."""
        try:
            file = os.open(self.path, _OPEN)
        except OSError as error:
            return iter((Skipped(self.path, describe_os_error(error)),))
        return self._read(file, limit)

    def size(self) -> int | None:
        """Return the size of the file; None if its name says that it is compressed."""
        if self.path.endswith(_COMPRESSED_NAMES):
            return None
        with suppress(OSError):
            return os.stat(self.path).st_size  # noqa: PTH116  (called for many files; a Path is slower than the call)
        return 0

    def _read(self, file: int, limit: int) -> Generator[Message | Skipped]:
        path = self.path
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise _UnreadableError(SPECIAL)
            read: Read = partial(os.read, file)
            start = read(min(status.st_size + 1, CHUNK))
            for magic, module in _COMPRESSED.items():
                if start.startswith(magic):
                    os.lseek(file, 0, os.SEEK_SET)
                    read = _decompressor(file, module, limit + MAX_RATIO * status.st_size)
                    start = read(CHUNK)
            why = _why_not_mail(start, self.is_message)
            if why:
                yield Skipped(path, why)
            elif not self.is_message and SEPARATOR.match(start):
                for data, number in MboxParser(start, read, limit):
                    where = f"{path}:{number}" if number else path
                    yield Message(data, where) if data else Skipped(where, "empty")
            else:
                yield Message(_read_single(start, read, limit), path)
        except _UnreadableError as error:
            yield Skipped(path, str(error))
        except OSError as error:
            yield Skipped(path, describe_os_error(error))
        finally:
            os.close(file)


def read_message(path: str | os.PathLike[str], *, limit: int = LIMIT, follow: bool = True) -> Message | Skipped:
    """Return the one message of a file, even if the file looks like an mbox.

    Parameters
    ----------
    path
        The file.
    limit
        Bytes of the message that are kept.
    follow
        Whether a symbolic link is followed; otherwise it is skipped.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    """
    flags = 0 if follow else getattr(os, "O_NOFOLLOW", 0)
    try:
        file = os.open(path, _OPEN | flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        return Skipped(os.fspath(path), describe_os_error(error))
    with closing(MailFile(os.fspath(path), is_message=True)._read(file, limit)) as found:
        return next(found)


def split_messages(data: bytes, limit: int = LIMIT) -> list[Message]:
    """Return the messages in bytes that hold one message or an mbox.

    Raises
    ------
    ValueError
        If the bytes are not mail.
    """
    why = _why_not_mail(data[:CHUNK], is_message=False)
    if why:
        raise ValueError(why)
    if SEPARATOR.match(data):
        parsed = MboxParser(data, lambda _: b"", limit)
        return [Message(message, f"-:{number}" if number else "-") for message, number in parsed if message]
    return [Message(data[:limit], "-")]


def _why_not_mail(start: bytes, is_message: bool) -> str | None:
    """Return the reason why a file with this beginning is not mail; None if it is mail.

    If the folder of a file does not imply that it is a message, the file must have a header field of messages.
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
    blank = _BLANK_LINE.search(text)
    if _KNOWN_HEADER.search(text, 0, blank.start() if blank else len(text)) or (is_message and _HEADER.match(text)):
        return None
    return "not mail: it has no header field, such as Subject:" if text else "empty"


def _read_single(start: bytes, read: Read, limit: int) -> bytes:
    """Return the one message of a file, without a separator or length line before it."""
    length = _LENGTH.match(start)
    if length:
        limit = min(limit, int(length[1]))
    line = length or SEPARATOR.match(start)
    parts = [start[line.end() :] if line else start]
    wanted = limit - len(parts[0])
    while wanted > 0 and (part := read(min(wanted, CHUNK))):
        parts.append(part)
        wanted -= len(part)
    return b"".join(parts)[:limit] if len(parts) > 1 else parts[0][:limit]


def _decompressor(file: int, module: str, limit: int) -> Read:
    """Return a function that reads decompressed data, and raises if it is damaged or larger than the limit."""
    decompressed = importlib.import_module(module).open(os.fdopen(file, "rb", closefd=False))
    left = limit

    def read(wanted: int) -> bytes:
        nonlocal left
        try:
            data: bytes = decompressed.read(wanted)
        except Exception as error:  # each format has its own exceptions
            raise _UnreadableError(f"damaged, or not a {module} file: {error}") from error
        left -= len(data)
        if left < 0:
            raise _UnreadableError(
                f"decompresses to more than {MAX_RATIO} times its size: decompress it yourself if you trust it"
            )
        return data

    return read


class MboxParser:
    """Iterator over the messages of an mbox, each with its number; the number of a single message is 0.

    The mbox is read in chunks, on demand. A separator line follows a blank line and consists of ``From``, an address
    and a date. ``>From`` at the beginning of a line loses its ``>``. A ``Content-Length`` is used if a message ends
    there.

    Parameters
    ----------
    start
        The beginning of the mbox: its first separator line, and maybe more.
    read
        Reads the rest.
    limit
        Bytes of a message that are kept.
    """

    def __init__(self, start: bytes, read: Read, limit: int) -> None:
        self._data, self._read, self._limit = start, read, limit
        self._at = 0  # offset of the next message's separator line in the data
        self._ended = False  # whether the data contains the end of the file

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        number = 0
        while self._at < len(self._data) or self._read_chunk():
            number += 1
            data = self._next_message()
            is_single = number == 1 and self._at == len(self._data)
            yield data, 0 if is_single else number

    def _read_chunk(self) -> bool:
        """Read more data and drop what precedes the next message; return whether there was more."""
        rest = memoryview(self._data)[self._at :]
        part = self._read(min(max(CHUNK, len(rest)), self._limit + CHUNK))  # doubling keeps the copies linear
        self._ended = not part
        if part:
            self._data, self._at = b"".join((rest, part)), 0
        return bool(part)

    def _next_message(self) -> bytes:
        """Return the message after the separator at ``self._at``, and advance to the next separator."""
        # Offsets are relative to self._at, since data before it is dropped when more is read.
        begin = (self._data.find(b"\n", self._at) + 1 or len(self._data)) - self._at
        stated = self._stated_end(begin)
        if stated:
            end, after = stated
            data = self._data[self._at + begin : self._at + min(end, begin + self._limit)]
            self._at += after
            return data if b"\nFrom " in data else _unquote(data)  # with a Content-Length, quoting is optional
        head, after = self._find_end(begin)
        if head is None:
            end = min(self._before_blank_line(self._at + after), self._at + begin + self._limit)
            head = self._data[self._at + begin : end]
        self._at += after
        return head if len(head) == self._limit else _unquote(head)  # a cut message keeps the length of the limit

    def _find_end(self, begin: int) -> tuple[bytes | None, int]:
        """Return the offset of the next separator; before it, the kept part of a message longer than the limit."""
        head: bytes | None = None
        seek = begin - 1
        while True:
            found = self._data.find(b"\nFrom ", self._at + seek)
            if found >= 0 and (self._ended or len(self._data) - found > LINE):
                before = self._data[max(found - 2, 0) : found]
                if (before.endswith(b"\n") or before == b"\n\r") and SEPARATOR.match(self._data, found + 1):
                    return head, found + 1 - self._at
                seek = found + 1 - self._at
                continue
            length = len(self._data) - self._at
            if self._ended:
                return head, length
            seek = found - self._at if found >= 0 else max(seek, length - len(b"\nFrom"))
            if length - begin > self._limit + CHUNK:
                if head is None:
                    head = self._data[self._at + begin : self._at + begin + self._limit]
                self._at, seek = self._at + seek - 3, 3  # three bytes are enough to see a blank line
            self._read_chunk()

    def _stated_end(self, begin: int) -> tuple[int, int] | None:
        """Return the end of a message by its Content-Length and the offset of the separator there, if there is one."""
        first = self._at + begin
        blank = b"\n\r\n" if self._data[first - 2 : first] == b"\r\n" else b"\n\n"
        while (headers := self._data.find(blank, self._at + begin - 1)) < 0:
            if self._ended or len(self._data) - self._at > CHUNK or not self._read_chunk():
                return None
        name = self._data.find(b"\nContent-Length:", self._at + begin - 1, headers)
        stated = _NUMBER.match(self._data, name + len(b"\nContent-Length:")) if name >= 0 else None
        if stated is None or int(stated[0]) > self._limit:
            return None
        end = headers + len(blank) - self._at + int(stated[0])
        while len(self._data) - self._at < end + LINE and not self._ended:
            self._read_chunk()
        if end > len(self._data) - self._at:
            return None
        newlines = _NEWLINES.match(self._data, self._at + end)
        after = newlines.end() if newlines else self._at + end
        if after == len(self._data) or (self._data[after - 1 : after] == b"\n" and SEPARATOR.match(self._data, after)):
            return end, after - self._at
        return None

    def _before_blank_line(self, end: int) -> int:
        """Return the end of a message without the blank line that an mbox adds to it."""
        last = self._data[max(end - 3, 0) : end]
        if last.endswith(b"\n\n"):
            return end - 1
        return end - 2 if last == b"\n\r\n" else end


def _unquote(data: bytes) -> bytes:
    """Return a message without the ``>`` before its lines that begin with ``From``."""
    if b">From " not in data:
        return data
    blank = _BLANK_LINE.search(data)
    body = blank.end() if blank else 0
    return data[:body] + _QUOTED.sub(b"", data[body:])

"""Mboxes: many messages in a file, each after a line that says From."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

#: About so many bytes are read at a time.
CHUNK = 1 << 20
_DAY, _MONTH = rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)", rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME = rb"\d{1,2}:\d\d(?::\d\d)?"
#: The longest line that can stand between two messages.
LINE = 1000
#: From, an address or none, a date as asctime or mail writes it; some add a zone, before or after the year.
SEPARATOR = re.compile(
    rb"From (?:[^\r\n]{0,500}?[ \t])??(?:"
    rb"%b,?[ \t]+(?:%b[ \t]+\d{1,2}|\d{1,2}[ \t]+%b),?[ \t]+(?:\d{4}[ \t]+%b|%b(?:[ \t]+[\w+-]{1,9}){0,2}?[ \t]+\d{4})"
    rb"|\d{4}-\d\d-\d\d[T ]%b)[^\r\n]{0,200}\r?(?:\n|\Z)" % (_DAY, _MONTH, _MONTH, _TIME, _TIME, _TIME)
)
_QUOTED = re.compile(rb"^>(?=>*From )", re.MULTILINE)
_NUMBER, _LINES = re.compile(rb"[ \t]*\d{1,12}(?=\s)"), re.compile(rb"(?:\r?\n){0,2}")
BLANK = re.compile(rb"\n\r?\n")

Read = Callable[[int], bytes]


class Mbox:
    """The messages of an mbox, which is read as they are wanted; each with its number, or 0 if there is no other.

    The line between two messages follows a blank line and says ``From``, an address and a date. ``>From`` at the
    beginning of a line loses its ``>``. A ``Content-Length`` counts where a message ends there.

    Parameters
    ----------
    start
        How it begins: with the line before the first message.
    reading
        What reads on.
    limit
        So many bytes of a message are kept.
    """

    def __init__(self, start: bytes, reading: Read, limit: int) -> None:
        self._data, self._reading, self._limit = start, reading, limit
        self._at = 0  # where in the data the line before the next message begins
        self._ended = False  # whether the data reaches to the end of the file

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        number = 0
        while self._at < len(self._data) or self._more():
            number += 1
            data = self._message()
            alone = number == 1 and self._at == len(self._data)
            yield data, 0 if alone else number

    def _more(self) -> bool:
        """Read on, and let go of what comes before the next message; say whether there was more."""
        rest = memoryview(self._data)[self._at :]
        part = self._reading(min(max(CHUNK, len(rest)), self._limit + CHUNK))  # doubling: few copies are made
        self._ended = not part
        if part:
            self._data, self._at = b"".join((rest, part)), 0
        return bool(part)

    def _message(self) -> bytes:
        """Return the message after the line at ``self._at``, and go to the next one."""
        # Places are counted from self._at, since data before it is let go when more is read.
        begin = (self._data.find(b"\n", self._at) + 1 or len(self._data)) - self._at
        stated = self._stated_end(begin)
        if stated:
            end, after = stated
            data = self._data[self._at + begin : self._at + min(end, begin + self._limit)]
            self._at += after
            return data if b"\nFrom " in data else _unquoted(data)  # who states lengths need not quote
        head, after = self._found_end(begin)
        if head is None:
            end = min(self._before_blank_line(self._at + after), self._at + begin + self._limit)
            head = self._data[self._at + begin : end]
        self._at += after
        return head if len(head) == self._limit else _unquoted(head)  # one that is cut stays as long as the limit

    def _found_end(self, begin: int) -> tuple[bytes | None, int]:
        """Return where the next separator stands, and what is kept of a message too long to wait for it."""
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
                self._at, seek = self._at + seek - 3, 3  # what tells a blank line stays
            self._more()

    def _stated_end(self, begin: int) -> tuple[int, int] | None:
        """Return where the message ends by its Content-Length, and where the next line From is, if one is there."""
        first = self._at + begin
        blank = b"\n\r\n" if self._data[first - 2 : first] == b"\r\n" else b"\n\n"
        while (headers := self._data.find(blank, self._at + begin - 1)) < 0:
            if self._ended or len(self._data) - self._at > CHUNK or not self._more():
                return None
        name = self._data.find(b"\nContent-Length:", self._at + begin - 1, headers)
        stated = _NUMBER.match(self._data, name + len(b"\nContent-Length:")) if name >= 0 else None
        if stated is None or int(stated[0]) > self._limit:
            return None
        end = headers + len(blank) - self._at + int(stated[0])
        while len(self._data) - self._at < end + LINE and not self._ended:
            self._more()
        if end > len(self._data) - self._at:
            return None
        lines = _LINES.match(self._data, self._at + end)
        after = lines.end() if lines else self._at + end
        if after == len(self._data) or (self._data[after - 1 : after] == b"\n" and SEPARATOR.match(self._data, after)):
            return end, after - self._at
        return None

    def _before_blank_line(self, end: int) -> int:
        """Return where a message ends, after which an mbox puts a blank line."""
        last = self._data[max(end - 3, 0) : end]
        if last.endswith(b"\n\n"):
            return end - 1
        return end - 2 if last == b"\n\r\n" else end


def _unquoted(data: bytes) -> bytes:
    """Return a message without what kept its lines from looking like separators."""
    if b">From " not in data:
        return data
    blank = BLANK.search(data)
    body = blank.end() if blank else 0
    return data[:body] + _QUOTED.sub(b"", data[body:])

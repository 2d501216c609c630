"""What bogofilter has learned, as ``bogoutil -d`` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from suffice.mail.errors import MailError
from suffice.mail.store import today

#: What bogofilter calls the fields that a token was found in, and what they are called here. It has one name for all
#: other fields, which cannot be told apart.
_FIELDS = {
    "subj": "subject:",
    "from": "from:",
    "to": "to:",
    "rtrn": "return-path:",
    "rcvd": "received:",
    "url": "url:",
}


_BLANKS = re.compile("[ \\t]+")


def counts_of(first: str, lines: Iterable[str]) -> tuple[list[str], list[float], int]:
    r"""Return the rows of a dump's tokens, how many messages of ham and spam there were, and how many rows are unknown.

    Examples
    --------
    >>> dumped = ["subj:free 4 0 20260101", "head:x 1 1 20260101"]
    >>> rows, messages, unknown = counts_of(".MSG_COUNT 5 7 20260101", dumped)
    >>> rows[0].split("\t")[:3], messages, unknown
    (['subject:free', '0.0', '4.0'], [7.0, 5.0], 1)
    """
    rows: list[str] = []
    messages = [0.0, 0.0]
    unknown = 0
    day = today() & 0xFFFF
    for token, spam, ham in _fields(chain([first], lines)):
        if token == ".MSG_COUNT":
            messages = [ham, spam]
            continue
        name = _name(token)
        if name is None:
            unknown += 1
        else:
            rows.append(f"{name}\t{ham!r}\t{spam!r}\t{day}\t0\t0")
    if not any(messages):
        raise MailError("the dump does not say how many messages were learned (.MSG_COUNT): dump it with bogoutil -d")
    return rows, messages, unknown


def _fields(lines: Iterable[str]) -> Iterator[tuple[str, float, float]]:
    for number, line in enumerate(lines, 1):
        if not line.strip(" \t"):
            continue
        fields = _BLANKS.split(line.strip(" \t"))  # a token may hold other blanks, such as U+00A0
        try:
            token, spam, ham = fields[0], float(fields[1]), float(fields[2])
        except (IndexError, ValueError):
            raise MailError(
                f"line {number} is neither of a dump of ours nor of bogoutil -d: {line.strip()[:60]!r}"
            ) from None
        if not (0 <= spam < 1e15 and 0 <= ham < 1e15):
            raise MailError(f"line {number} of the dump has counts that are none: {line.strip()[:60]!r}")
        yield token, spam, ham


def _name(token: str) -> str | None:
    """Return what a token of bogofilter's is called here, or None."""
    if token[:1] in ".#&=":
        return None
    tag, colon, rest = token.partition(":")
    if not colon or not rest or not tag.isalpha():
        return token
    field = _FIELDS.get(tag)
    return None if field is None else field + rest

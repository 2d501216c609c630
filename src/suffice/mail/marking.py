"""The field that a filter adds to a message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suffice.mail.verdict import Verdict

FIELD = "X-Suffice"
#: Lines at the top that continue nothing, and would continue ours.
_LOOSE = re.compile(rb"(?:[ \t][^\r\n]*(?:\r\n|\n|\r|\Z))*")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|\Z)")
#: A field of ours, with the lines that continue it.
_OURS = re.compile(
    rb"(?<![^\r\n])x-suffice[!-9;-~]*[ \t]*:[^\r\n]*(?:(?:\r\n|\n|\r)[ \t][^\r\n]*)*(?:\r\n|\n|\r|\Z)", re.IGNORECASE
)
#: What may stand in a field's value.
_PLAIN = re.compile(r"[^!-~]+")


def field(verdict: Verdict) -> str:
    """Return the field of a verdict, without its line's end.

    Examples
    --------
    >>> from suffice.mail.verdict import judged
    >>> field(judged([6.2], ("ham", "spam")))
    'X-Suffice: spam; p=0.9980; log-odds=6.20'
    """
    parts = [verdict.label, f"p={verdict.probability:.4f}", f"log-odds={verdict.log_odds:.2f}"]
    if not verdict.ready:
        parts.append("not-ready")
    if verdict.trouble:
        parts.append("trouble=" + ",".join(name for name, _ in verdict.trouble))
    return f"{FIELD}: " + "; ".join(_PLAIN.sub("_", part) for part in parts)


def marked(message: bytes, line: str | None) -> bytes:
    r"""Return a message with a field on top of it, and without any such field that it came with.

    Nothing else in the message changes. Fields end where the first blank line is, whichever way lines end.

    Examples
    --------
    >>> marked(b"Subject: hi\nx-suffice: ham;\n p=0\n\nX-Suffice: text\n", "X-Suffice: spam")
    b'X-Suffice: spam\nSubject: hi\n\nX-Suffice: text\n'
    """
    begin = 0
    if message.startswith(b"From "):
        begin = _LINE.match(message).end()  # type: ignore[union-attr]
    end = _head_end(message, begin)
    head = _OURS.sub(b"", message[begin:end])
    loose = _LOOSE.match(head).end()  # type: ignore[union-attr]
    ours = b""
    if line is not None:
        newline = b"\r\n" if b"\r\n" in message[: begin + 1000] else b"\n"
        ours = line.encode("ascii") + newline
        if loose and head[loose - 1 : loose] not in (b"\n", b"\r"):
            ours = newline + ours
    return b"".join((message[:begin], head[:loose], ours, head[loose:], message[end:]))


def _head_end(message: bytes, begin: int) -> int:
    """Return where the blank line begins that ends a head, whichever way lines end."""
    if message[begin : begin + 1] in (b"\r", b"\n"):
        return begin
    ends = [at + 1 for pair in (b"\n\n", b"\n\r", b"\r\r") if (at := message.find(pair, begin)) >= 0]
    return min(ends, default=len(message))

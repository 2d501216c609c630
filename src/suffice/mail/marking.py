"""The field that a filter adds to a message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suffice.mail.verdict import Verdict

FIELD = "X-Suffice"
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|$)")
_OURS = re.compile(rb"x-suffice[!-9;-~]*[ \t]*:", re.IGNORECASE)
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
    kept = [message[:begin]]
    at, ours = begin, False
    while at < len(message):
        end = _LINE.match(message, at).end()  # type: ignore[union-attr]
        text = message[at:end]
        if text in (b"\n", b"\r\n", b"\r"):
            break
        if text[:1] not in b" \t":
            ours = _OURS.match(text) is not None
        if not ours:
            kept.append(text)
        at = end
    if line is not None:
        newline = b"\r\n" if b"\r\n" in message[: begin + 1000] else b"\n"
        kept.insert(1, line.encode("ascii") + newline)
    return b"".join(kept) + message[at:]

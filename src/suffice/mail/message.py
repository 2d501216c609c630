"""Raw messages as bytes: their identity, and the header field that the filter adds."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suffice.mail.verdict import Verdict

FIELD = "X-Suffice"

#: Bytes of a body that are part of the identity.
_BODY = 1 << 20
_SENT = re.compile(rb"^(?:from|date|subject):[^\r\n]*", re.IGNORECASE | re.MULTILINE)
#: Continuation lines at the top that continue no field, and would continue ours.
_CONTINUATIONS = re.compile(rb"(?:[ \t][^\r\n]*(?:\r\n|\n|\r|\Z))*")
_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\n|\r|\Z)")
#: A header field of this filter, with its continuation lines. A CR alone before it is part of it, and its own line end
#: then is not: most programs take that CR for a character of the line before, which would swallow the field after.
_FIELD_LINES = rb"x-suffice[!-9;-~]*[ \t]*:[^\r\n]*(?:(?:\r\n|\n|\r)[ \t][^\r\n]*)*"
_OWN_FIELD = re.compile(
    rb"\r%b(?=[\r\n]|\Z)|(?<![^\r\n])%b(?:\r\n|\n|\r|\Z)" % (_FIELD_LINES, _FIELD_LINES), re.IGNORECASE
)
#: Characters that a field's value must not contain.
_NOT_PRINTABLE = re.compile(r"[^!-~]+")


def identify_message(message: bytes) -> bytes:
    r"""Return 16 bytes that identify a message: a digest of its Message-ID and its body.

    Without a Message-ID, the fields From, Date and Subject are used. Line ends, blank lines at the end, the ``>`` that
    mboxes put before ``From``, and other header fields make no difference.

    Examples
    --------
    >>> one = identify_message(b"Message-ID: <1@example.com>\n\nhello\n")
    >>> one == identify_message(b"Received: by example.net\r\nMessage-ID: <1@example.com>\r\n\r\nhello\r\n")
    True
    >>> one == identify_message(b"Message-ID: <1@example.com>\n\nanother text\n")
    False
    """
    text = b"\n" + message  # a message without a header begins with a blank line
    ends = [at for at in (text.find(b"\n\n"), text.find(b"\n\r\n")) if at >= 0]
    end = min(ends, default=len(text))
    header, body = text[:end], text[end : end + 2 * _BODY].replace(b"\r", b"")[:_BODY]
    digest = hashlib.blake2b(
        _message_id(header) or b"\n".join(line.strip() for line in _SENT.findall(header)), digest_size=16
    )
    digest.update(b"\0")
    digest.update(body.replace(b"\n>From ", b"\nFrom ").strip())
    return digest.digest()


def _message_id(header: bytes) -> bytes:
    name = b"\nmessage-id:"
    at = header.lower().find(name)
    if at < 0:
        return b""
    value = header[at + len(name) :].lstrip(b" \t\r\n")
    return value[: len(value.partition(b"\n")[0])].strip()


def format_header_field(verdict: Verdict) -> str:
    """Return the header field of a verdict, without a line end.

    Examples
    --------
    >>> from suffice.mail.verdict import make_verdict
    >>> format_header_field(make_verdict([6.2], ("ham", "spam")))
    'X-Suffice: spam; p=0.9980; log-odds=6.20'
    """
    parts = [verdict.label, f"p={verdict.probability:.4f}", f"log-odds={verdict.log_odds:.2f}"]
    if not verdict.ready:
        parts.append("not-ready")
    if verdict.trouble:
        parts.append("trouble=" + ",".join(name for name, _ in verdict.trouble))
    return f"{FIELD}: " + "; ".join(_NOT_PRINTABLE.sub("_", part) for part in parts)


def set_header_field(message: bytes, line: str | None) -> bytes:
    r"""Return a message with a header field added at the top, and without the fields of that name that it had.

    Nothing else in the message changes. The header ends at the first blank line, for any kind of line end.

    Examples
    --------
    >>> set_header_field(b"Subject: hi\nx-suffice: ham;\n p=0\n\nX-Suffice: text\n", "X-Suffice: spam")
    b'X-Suffice: spam\nSubject: hi\n\nX-Suffice: text\n'
    """
    begin = 0
    if message.startswith(b"From "):
        begin = _LINE.match(message).end()  # type: ignore[union-attr]
    end = _header_end(message, begin)
    header = _OWN_FIELD.sub(b"", message[begin:end])
    continued = _CONTINUATIONS.match(header).end()  # type: ignore[union-attr]
    field = b""
    if line is not None:
        newline = b"\r\n" if b"\r\n" in message[: begin + 1000] else b"\n"
        field = line.encode("ascii") + newline
        if continued and header[continued - 1 : continued] not in (b"\n", b"\r"):
            field = newline + field
    return b"".join((message[:begin], header[:continued], field, header[continued:], message[end:]))


def _header_end(message: bytes, begin: int) -> int:
    """Return the offset of the blank line that ends the header, for any kind of line end."""
    if message[begin : begin + 1] in (b"\r", b"\n"):
        return begin
    ends = [at + 1 for pair in (b"\n\n", b"\n\r", b"\r\r") if (at := message.find(pair, begin)) >= 0]
    return min(ends, default=len(message))

"""Which message is which: the same one is known again, whatever fields delivery put on top of it."""

from __future__ import annotations

import hashlib
import re

#: Bytes of a body that count.
_BODY = 1 << 20
_SENT = re.compile(rb"^(?:from|date|subject):[^\r\n]*", re.IGNORECASE | re.MULTILINE)


def identity(message: bytes) -> bytes:
    r"""Return 16 bytes that are the same for the same message: a digest of its Message-ID and its body.

    Where there is no Message-ID, who sent it, when and about what stand in for it. Line ends, blank lines at the end
    and the ``>`` that mailboxes put before ``From`` make no difference.

    Examples
    --------
    >>> one = identity(b"Message-ID: <1@example.com>\n\nhello\n")
    >>> one == identity(b"Received: by example.net\r\nMessage-ID: <1@example.com>\r\n\r\nhello\r\n")
    True
    >>> one == identity(b"Message-ID: <1@example.com>\n\nanother text\n")
    False
    """
    text = b"\n" + message  # a message without a head begins with a blank line
    ends = [at for at in (text.find(b"\n\n"), text.find(b"\n\r\n")) if at >= 0]
    end = min(ends, default=len(text))
    head, body = text[:end], text[end : end + 2 * _BODY].replace(b"\r", b"")[:_BODY]
    digest = hashlib.blake2b(
        _message_id(head) or b"\n".join(line.strip() for line in _SENT.findall(head)), digest_size=16
    )
    digest.update(b"\0")
    digest.update(body.replace(b"\n>From ", b"\nFrom ").strip())
    return digest.digest()


def _message_id(head: bytes) -> bytes:
    name = b"\nmessage-id:"
    at = head.lower().find(name)
    if at < 0:
        return b""
    value = head[at + len(name) :].lstrip(b" \t\r\n")
    return value[: len(value.partition(b"\n")[0])].strip()

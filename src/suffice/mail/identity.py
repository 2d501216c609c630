"""Which message is which: the same one is known again, whatever fields delivery put on top of it."""

from __future__ import annotations

import hashlib
import re

#: Bytes of a body that count.
_BODY = 1 << 20
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_MESSAGE_ID = re.compile(rb"^message-id:[ \t\r\n]*([^\r\n]*)", re.IGNORECASE | re.MULTILINE)
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
    end = _END_OF_HEAD.search(message)
    head = message[: end.start()] if end else message
    body = message[end.end() : end.end() + _BODY] if end else b""
    named = _MESSAGE_ID.search(head)
    sender = named.group(1).strip() if named else b""
    digest = hashlib.blake2b(sender or b"\n".join(line.strip() for line in _SENT.findall(head)), digest_size=16)
    digest.update(b"\0")
    digest.update(body.replace(b"\r", b"").replace(b"\n>From ", b"\nFrom ").strip())
    return digest.digest()

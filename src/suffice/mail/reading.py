"""Raw messages to what a filter knows of them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from suffice import _native
from suffice.printable import printable

#: Codecs of Python's that turn bytes into text. Others (zlib, hex, idna, rot13, ...) have no business in mail.
_CHARSETS = (
    "big5 big5hkscs cp037 cp437 cp720 cp737 cp775 cp850 cp852 cp855 cp857 cp858 cp860 cp861 cp862 cp863 cp864 cp865 "
    "cp866 cp869 cp874 cp932 cp949 cp950 cp1006 cp1125 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 "
    "euc_jp euc_jis_2004 euc_jisx0213 euc_kr gb2312 gbk gb18030 hz iso2022_jp iso2022_jp_1 iso2022_jp_2 "
    "iso2022_jp_2004 iso2022_jp_3 iso2022_jp_ext iso2022_kr iso8859_2 iso8859_3 iso8859_4 iso8859_5 iso8859_6 "
    "iso8859_7 iso8859_8 iso8859_9 iso8859_10 iso8859_11 iso8859_13 iso8859_14 iso8859_16 johab koi8_r koi8_t "
    "koi8_u kz1048 mac_cyrillic mac_greek mac_iceland mac_latin2 mac_roman mac_turkish ptcp154 shift_jis "
    "shift_jis_2004 shift_jisx0213 tis_620 utf_7 utf_32 utf_32_be utf_32_le"
)
_KNOWN = {name.replace("_", ""): name for name in _CHARSETS.split()}


def decoded(data: bytes, charset: str) -> str | None:
    r"""Return text in a charset that is read by Python, or None if there is no such charset.

    Examples
    --------
    >>> decoded(b"\xd0\xd2\xc9\xd7\xc5\xd4", "koi8-r")
    'привет'
    >>> decoded(b"x", "zlib")
    """
    from encodings.aliases import aliases

    # Python would remember every name that it was ever asked for.
    name = charset.lower().replace("-", "_")
    name = aliases.get(name, aliases.get(name.replace("_", ""), name))
    known = _KNOWN.get(name.replace("_", ""))  # Python itself knows no koi8r
    return None if known is None else data.decode(known, "replace")


def read(messages: Sequence[bytes], threads: int = 1) -> _native.mail.Letters:
    r"""Return the features of messages.

    Parameters
    ----------
    messages
        Raw messages, as they came. Nothing that is in them makes this fail.
    threads
        How many threads read them.

    Examples
    --------
    >>> letters = read([b"Subject: free money\n\nhello"])
    >>> letters.tokens(0)
    ['header:subject', 'subject:free', 'subject:money', 'part:text/plain', 'hello']
    """
    letters = _opened(messages, threads)
    letters.finish(threads)
    return letters


def token_count(letters: _native.mail.Letters, i: int) -> int:
    r"""Return how many different tokens a message has.

    Examples
    --------
    >>> token_count(read([b"Subject: free money\n\nhello hello"]), 0)
    5
    """
    return len(letters.hashes(i)) // 8  # bytes of a hash


def _opened(messages: Sequence[bytes], threads: int = 1) -> _native.mail.Letters:
    """Return messages with their text in characters, not yet taken apart into tokens."""
    letters = _native.mail.Letters(list(messages), threads)
    for i in letters.foreigners():
        for stretch, (charset, data) in enumerate(letters.foreign(i)):
            text = decoded(data, charset)
            if text is not None:
                letters.put(i, stretch, text.encode("utf-8", "replace").decode())
    return letters


def subject_of(message: bytes) -> str:
    r"""Return what a message says it is about, for people.

    Examples
    --------
    >>> subject_of(b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nhello")
    'Grüße'
    """
    for kind, name, text in _opened([message]).pieces(0):
        if (kind, name) == ("header", "subject"):
            return printable(text)
    return "(no subject)"


def threads() -> int:
    """Return how many threads read a heap of messages: one for each core this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

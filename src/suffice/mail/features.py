"""Feature extraction: raw messages to tokens, by the native parser."""

from __future__ import annotations

import os
from collections.abc import Sequence

from suffice import _native
from suffice.printable import printable

#: Characters of a subject that are shown.
SUBJECT = 200
#: Python codecs of character sets. Others (zlib, hex, idna, rot13, ...) are not character sets of mail.
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


def decode_charset(data: bytes, charset: str) -> str | None:
    r"""Return the text of bytes in a charset that Python decodes; None if the charset is unknown.

    Examples
    --------
    >>> decode_charset(b"\xd0\xd2\xc9\xd7\xc5\xd4", "koi8-r")
    'привет'
    >>> decode_charset(b"x", "zlib")
    """
    from encodings.aliases import aliases

    # codecs.lookup would cache every name it is called with.
    name = charset.lower().replace("-", "_")
    name = aliases.get(name, aliases.get(name.replace("_", ""), name))
    known = _KNOWN.get(name.replace("_", ""))  # Python has no alias koi8r
    return None if known is None else data.decode(known, "replace")


def extract_features(messages: Sequence[bytes], threads: int = 1) -> _native.mail.Letters:
    r"""Return the features of messages.

    Parameters
    ----------
    messages
        Raw messages. No content makes this fail.
    threads
        Number of threads.

    Examples
    --------
    >>> features = extract_features([b"Subject: free money\n\nhello"])
    >>> features.tokens(0)
    ['header:subject', 'subject:free', 'subject:money', 'part:text/plain', 'hello']
    """
    features = _parse(messages, threads)
    features.finish(threads)
    return features


def _parse(messages: Sequence[bytes], threads: int = 1) -> _native.mail.Letters:
    """Return parsed messages with their text decoded, not yet tokenised."""
    features = _native.mail.Letters(list(messages), threads)
    for i in features.foreigners():
        for piece, (charset, data) in enumerate(features.foreign(i)):
            text = decode_charset(data, charset)
            if text is not None:
                features.put(i, piece, text.encode("utf-8", "replace").decode())
    return features


def decode_subject(message: bytes) -> str:
    r"""Return the subject of a message as printable text, cut at :data:`SUBJECT` characters.

    Examples
    --------
    >>> decode_subject(b"Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nhello")
    'Grüße'
    """
    for kind, name, text in _parse([message]).pieces(0):
        if (kind, name) == ("header", "subject"):
            return printable(text if len(text) <= SUBJECT else f"{text[: SUBJECT - 1]}…")
    return "(no subject)"


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

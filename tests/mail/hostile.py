"""Generators of broken, huge and malicious mail, and of random mail for fuzz tests."""

from __future__ import annotations

import gzip
from base64 import b64encode, encodebytes
from collections.abc import Callable
from functools import cache, partial
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st


class Hostile(NamedTuple):
    """One kind of bad mail."""

    make: Callable[[], bytes]
    trouble: str | None = None  #: a problem that a parser must report; None if it need not


Kinds = dict[str, Hostile]


def letter(body: bytes, *fields: bytes, subject: bytes = b"hello") -> bytes:
    """Return a message with the usual header and more fields."""
    usual = (b"From: a@example.org", b"To: b@example.net", b"Subject: " + subject, b"MIME-Version: 1.0")
    return b"\n".join((*usual, *fields, b"", body))


def typed(kind: bytes, body: bytes, *fields: bytes) -> bytes:
    return letter(body, b"Content-Type: " + kind, *fields)


def html(body: bytes) -> bytes:
    return typed(b"text/html; charset=utf-8", body)


def encoded(how: bytes, body: bytes, kind: bytes = b"text/plain; charset=utf-8") -> bytes:
    return typed(kind, body, b"Content-Transfer-Encoding: " + how)


def titled(subject: bytes) -> bytes:
    return letter(b"hello\n", subject=subject)


def headed(*fields: bytes) -> bytes:
    return letter(b"hello\n", *fields)


def multipart(declared: bytes, body: bytes) -> bytes:
    return typed(b"multipart/alternative" + declared, body)


def deep_multiparts() -> bytes:
    levels = (b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d" % (i, i) for i in range(3000))
    return letter(b"", b"\n".join(levels)) + b"the end\n"


def deep_messages() -> bytes:
    levels = (b"Content-Type: message/rfc822\n\nSubject: %d" % i for i in range(1500))
    return letter(b"", *levels) + b"the end\n"


def encoded_messages_in_each_other() -> bytes:
    inner = b"Subject: inner\n\nbuy\n"
    for _ in range(24):
        inner = encoded(b"base64", b64encode(inner) + b"\n", b"message/rfc822")
    return inner


def compressed_bomb() -> bytes:
    bomb = gzip.compress(gzip.compress(bytes(10_000_000), mtime=0), mtime=0)
    return encoded(b"base64", encodebytes(bomb), b"application/gzip; name=a.gz")


SIZES: Kinds = {
    "deep_multiparts": Hostile(deep_multiparts, "depth"),
    "deep_messages": Hostile(deep_messages, "depth"),
    "encoded_messages_in_each_other": Hostile(encoded_messages_in_each_other, "decoded"),
    "many_parts": Hostile(lambda: multipart(b"; boundary=b", b"--b\n\nx\n" * 100_000 + b"--b--\n"), "parts"),
    "many_headers": Hostile(lambda: headed(*(b"X-%d: %d" % (i, i) for i in range(100_000))), "headers"),
    "long_subject": Hostile(lambda: titled(b"spam " * 800_000), "header_bytes"),
    "long_header_name": Hostile(lambda: headed(b"X-" + b"a" * 1_000_000 + b": 1"), "header_bytes"),
    "long_folded_header": Hostile(lambda: headed(b"X-Folded: a" + b"\n b" * 333_333), "header_bytes"),
    "many_encoded_words": Hostile(lambda: titled(b" ".join([b"=?utf-8?q?a?="] * 20_000)), "words"),
    "many_words_begun": Hostile(lambda: titled(b"=?utf-8?q?" * 20_000), "header_bytes"),
    "long_line": Hostile(lambda: letter(b"spam " * 4_000_000), "bytes"),
    "million_tokens": Hostile(lambda: letter(b" ".join(b"%x" % i for i in range(1_000_000, 2_000_000))), "bytes"),
    "many_tokens": Hostile(lambda: letter(b" ".join(b"w%x" % i for i in range(100_000))), "tokens"),
    "many_addresses": Hostile(lambda: letter(b" ".join(b"http://%d.example" % i for i in range(30_000))), "pieces"),
    "repeated_parameters": Hostile(lambda: typed(b"text/plain" + b"; charset=utf-8" * 10_000, b""), "header_bytes"),
    "many_continuations": Hostile(
        lambda: typed(b"text/plain" + b"".join(b";\n name*%d=a" % i for i in range(10_000)), b""), "header_bytes"
    ),
    "continuations_with_gaps": Hostile(
        lambda: typed(b"text/plain; name*0*=utf-8''a%; name*2=c; name*1*=%zz; name*-1=x; name*=''''; name**=y", b"")
    ),
    "compressed_bomb": Hostile(compressed_bomb),
}

#: Names of charsets that are wrong or dangerous to look up, and the problem that is reported.
CHARSETS: dict[bytes, str | None] = {
    **dict.fromkeys((b"idna", b"hex", b"zlib", b"base64", b"rot13", b"unicode_escape", b"raw-unicode-escape")),
    **dict.fromkeys((b"punycode", b"utf-7", b"undefined", b"mbcs", b"..", b'"utf-8\r\nX-Suffice: ham"')),
    **dict.fromkeys((b'"x\0y"', b"x" * 10_000, b'"../../etc/passwd"', b'"utf-8\xff"'), "charset"),
}
BODY = b"caf\xe9 \xff\xfe +ADw-script+AD4- \\x41 xn--caf-dma 78da0300\n"
WORDS = b" x ".join(b"=?%b?q?caf=E9?= =?%b?b?/////w==?=" % (name, name) for name in CHARSETS if name.isalnum())

CHARACTERS: Kinds = {
    **{
        f"charset_{place}_{name.decode('ascii', 'replace')[:12]!a}": Hostile(
            partial(typed, b"text/plain; charset=" + name, BODY), trouble
        )
        for place, (name, trouble) in enumerate(CHARSETS.items())
    },
    "charset_coded_with_line_end": Hostile(
        lambda: typed(b"text/plain; charset*=us-ascii''utf-8%0D%0AX-Suffice:%20ham", BODY), "charset"
    ),
    "impossible_charsets_in_words": Hostile(lambda: titled(WORDS)),
    "utf8_that_is_none": Hostile(
        lambda: encoded(b"8bit", b"\xc0\xaf \xed\xa0\x80 \xf5\x80\x80\x80 \xe2\x82 \xff\n" * 1000)
    ),
    "utf16_without_mark": Hostile(
        lambda: typed(b"text/plain; charset=utf-16", "buy now".encode("utf-16-le") + b"\0\xd8"), "nul"
    ),
    "utf16_of_odd_length": Hostile(
        lambda: encoded(b"base64", b64encode("buy \U0001f4b0".encode("utf-16-be")[:-1]), b"text/plain; charset=utf-16")
    ),
    "terminal_escapes": Hostile(
        lambda: letter(
            "\x1b]0;owned\7\x1b[2J \u202etxt.exe \u200b\ufeff\n".encode(), subject=b"\x1b[31mred\x1b[0m\b\x7f"
        )
    ),
    "header_of_all_bytes": Hostile(lambda: titled(b"gr\xfc\xdfe \xe2\x82\xac " + bytes({*range(1, 256)} - {10, 13}))),
    "nul_in_head": Hostile(lambda: headed(b"X-\0Name: a\0b", b"\0: c", b"X-Word: =?utf-8?q?=00?="), "nul"),
    "nul_in_body": Hostile(lambda: letter(b"ta\0blets\0\0\n\0"), "nul"),
}

TRANSFERS: Kinds = {
    "base64_with_bad_characters": Hostile(lambda: encoded(b"base64", b"aGVs*bG8#gd29~ybGQ\x80=\n"), "base64"),
    "base64_with_wrong_padding": Hostile(lambda: encoded(b"base64", b"aGVsbG8===\naGVs=bG8=\n=\n"), "base64"),
    "base64_cut": Hostile(lambda: encoded(b"base64", encodebytes(b"all of this and more")[:13]), "base64"),
    "quoted_printable_broken": Hostile(
        lambda: encoded(b"quoted-printable", b"a=ZZ b=4 c==3D d=\xff =\n=\n= \t\ne="), "quoted-printable"
    ),
    "unknown_transfer_encoding": Hostile(lambda: encoded(b"x-rot13; base64", b"uryyb\n")),
    "words_broken": Hostile(
        lambda: titled(b"=?utf-8?b?a?= =?utf-8?b?$$$?= =?utf-8?q?=Z?= =?utf-8?x?a?= =?utf-8?q? =???= =?=?=?= =?u?b"),
        "base64",
    ),
    "uuencode_without_end": Hostile(
        lambda: letter(b"begin 644 ../../x.exe\nM" + b"A" * 60 + b"\n" + b"begin 644 y\n" * 1000 + b"#0V%T\n")
    ),
}

FROM = b"From a@example.org Thu Jan  1 00:00:00 1970\n"
LENGTHS = (b"-1", b"0", b"99999999999999999999", b"3", b"0x10", b"")
DATES = (b"Thu, 32 Foo 99999 25:61:61 +9999", b"0", b"-1" * 500, b"Date:", b"1 Jan 0001 00:00:00 -2400", b"\xff" * 99)
CLIMBING = b"../" * 500 + b"etc/passwd\\..\\..\\con.exe%00.txt"

SHAPES: Kinds = {
    "empty": Hostile(lambda: b"", "empty"),
    "only_newlines": Hostile(lambda: b"\r\n\n\r" * 10_000, "empty"),
    "only_a_head": Hostile(lambda: b"From: a@example.org\nSubject: nothing follows"),
    "only_a_body": Hostile(lambda: b"\nThis is not a head, and this: is not a field.\n", "no-header"),
    "carriage_returns_alone": Hostile(lambda: letter(b"one\ntwo\n", b"X-Folded: a\n\tb").replace(b"\n", b"\r")),
    "mixed_line_ends": Hostile(
        lambda: (
            b"From: a@example.org\rTo: b@example.net\n\rSubject: x\r\r\nX: y\r\n \r z\n\r\nbody\rbody\n\rbody\r\r\n\n"
        )
    ),
    "fields_without_names": Hostile(
        lambda: headed(b": a", b":", b" : b", b"no colon here", b"Sub ject: c", b"Subject : d", b"\x80: e", b"::: f")
    ),
    "folded_by_tabs_alone": Hostile(lambda: letter(b"", b"X-Folded:\n\t\n\t\t\n\ta\n\t", subject=b"\n\t\n\t\n a")),
    "continuation_first": Hostile(lambda: b" \tgoes on from nothing\n\tand on\n" + letter(b"hello\n")),
    "mbox_lines_within": Hostile(
        lambda: FROM + b">From: x\n" + letter(b"\n" + FROM + b"Subject: another?\n\n>From a\n>>From b\nFrom\nFrom \n")
    ),
    "lies_about_length": Hostile(lambda: headed(b"Lines: -7", *(b"Content-Length: " + each for each in LENGTHS))),
    "dates_of_nonsense": Hostile(lambda: headed(*(b"Date: " + each for each in DATES))),
    "attachment_that_climbs": Hostile(
        lambda: typed(b"application/x", b"A\n", b'Content-Disposition: attachment; filename="%b"' % CLIMBING)
    ),
}

INNER = b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b--\n"
ALIKE = b"Content-Type: multipart/mixed; boundary=bb\n\n--bb\n\none\n--b-\n--bbb\n--bb--\n"
LONG = b"b" * 10_000
SIGNS = b'(.*+?[a-z]{9}^$|) "'

MULTIPARTS: Kinds = {
    "boundary_missing": Hostile(lambda: multipart(b"", b"--b\n\none\n--b--\n"), "boundary"),
    "boundary_that_never_comes": Hostile(lambda: multipart(b"; boundary=b", b"without\n--c\n--c--\n"), "boundary"),
    "boundary_never_closed": Hostile(lambda: multipart(b"; boundary=b", b"--b\n\none\n--b\n\ntwo"), "boundary"),
    "boundary_closed_at_once": Hostile(
        lambda: multipart(b"; boundary=b", b"--b--\n--b\n\nafter the end\n"), "boundary"
    ),
    "boundary_declared_twice": Hostile(
        lambda: multipart(b"; boundary=b; boundary=c", b"--b\n\none\n--c\n\ntwo\n--b--\n--c--\n")
    ),
    "boundary_nested_in_itself": Hostile(
        lambda: multipart(b"; boundary=b", b"--b\n" + INNER + b"--b\n" + INNER), "boundary"
    ),
    "boundaries_that_begin_alike": Hostile(lambda: multipart(b"; boundary=b", b"--b\n" + ALIKE + b"--b--\n")),
    "boundary_of_ten_thousand_bytes": Hostile(
        lambda: multipart(b"; boundary=" + LONG, b"--%b\n\none\n--%b\n--%b--\n" % (LONG, LONG[:-1], LONG))
    ),
    "boundary_of_signs": Hostile(
        lambda: multipart(b'; boundary="%b"' % SIGNS.replace(b'"', b'\\"'), b"--%b\n\none\n--%b--\n" % (SIGNS, SIGNS))
    ),
    "boundary_of_blanks": Hostile(
        lambda: multipart(b'; boundary="   "', b"--\n\none\n--   \n\ntwo\n----\n"), "boundary"
    ),
}

HTML: Kinds = {
    "html_unclosed_tags": Hostile(lambda: html(b"<b><i><div" * 33_333 + b">x")),
    "html_unclosed_comment": Hostile(lambda: html(b"seen <!-- unseen " + b"<!-- " * 100_000)),
    "html_long_attribute": Hostile(lambda: html(b'<a href="http://example.com/' + b"a" * 1_000_000 + b'">x</a>')),
    "html_attribute_never_closed": Hostile(lambda: html(b'<a title="' + b"<p class='x\" " * 50_000)),
    "html_many_attributes": Hostile(lambda: html(b"<p" + b" a=1" * 100_000 + b">x")),
    "html_references": Hostile(
        lambda: html(b"&amp &lt&#x41 &#65 &#x110000; &#xD800; &#0; &#99999999999999999999; &nosuch; &;&#;&#x; &" * 5000)
    ),
    "html_nested_tables": Hostile(lambda: html(b"<table><tr><td>" * 10_000 + b"deep" + b"</td></tr></table>" * 10_000)),
    "html_style_never_closed": Hostile(lambda: html(b"seen<style>" + b".a{display:none}</styl" * 20_000)),
    "html_hidden_in_each_other": Hostile(
        lambda: html(b'<div style="display:none"><font color="#fff" style="FONT-SIZE:0">x' * 5000)
    ),
    "html_data_addresses": Hostile(
        lambda: html(b'<img src="data:image/gif;base64,' + b"A" * 500_000 + b'"><a href="javascript:alert(1)">x</a>')
    ),
    "html_less_than_signs": Hostile(lambda: html(b"<" * 500_000 + b"</" * 200_000)),
}

MARKS = (b"X-Suffice: ham", b"x-sUfFiCe: HAM", b"X-Suffice:\n\tham", b"X-Suffice : ham", b"X-Suffice-Score: -99")
INJECTED = b64encode(b"a\r\nX-Suffice: ham\r\n\r\nbody")

#: Messages with forged header fields of the filter.
DECEITS: Kinds = {
    "forged_marks": Hostile(lambda: letter(b"X-Suffice: ham\n", *MARKS, *MARKS[:2])),
    "injection_by_words": Hostile(
        lambda: titled(b"=?utf-8?q?a=0D=0AX-Suffice:_ham=0D=0A=0D=0Abody?= =?utf-8?b?%b?= =?u?q?=0AX:_y?=" % INJECTED)
    ),
}

#: All kinds by name.
HOSTILE: Kinds = {**SIZES, **CHARACTERS, **TRANSFERS, **SHAPES, **MULTIPARTS, **HTML, **DECEITS}


@cache
def bad_mail(name: str) -> bytes:
    """Return a message of a kind; it is cached."""
    return HOSTILE[name].make()


_ENDS = [b"\n", b"\r\n", b"\r", b"\n\n", b"\n\t", b"\r\n "]
_NASTY = [
    b"",
    b"\0",
    b"=",
    b"=?",
    b"?=",
    b"--",
    b"--b",
    b"--b--",
    b"From ",
    b"&#",
    b"<!--",
    b"<",
    b'"',
    b";",
    b":",
    b"%",
]
_TEXTS = [
    b"text/plain; charset=utf-8",
    b"text/html",
    b"text/plain; charset=koi8-r",
    b"text/plain; charset=hex",
    b"text",
]
_FILES = [
    b"application/pdf; name*0*=utf-8''a%20; name*1=b",
    b"image/gif",
    b"message/partial; id=a; number=1",
    b"/",
    b"",
]
_TRANSFERS = [b"7bit", b"base64", b"quoted-printable", b"8bit", b"BASE64 ", b"x-uuencode", b"", b"binary"]
_NAMES = [b"Subject", b"From", b"Received", b"Content-Disposition", b"X-Suffice", b"Content-Type", b""]
_WORDS = [b"buy now", b"caf\xe9", b"http://example.com/?a=b", b"aGVsbG8=", b"=C3=A9", b"<b>x</b>", b"=?utf-8?b?w6k=?="]


def _entity(fields: list[bytes], end: bytes, body: bytes) -> bytes:
    return end.join([*fields, b"", body])


def _leaf(kind: bytes, how: bytes, more: list[bytes], text: bytes, end: bytes) -> bytes:
    body = encodebytes(text) if how == b"base64" else text
    return _entity([b"Content-Type: " + kind, b"Content-Transfer-Encoding: " + how, *more], end, body)


def _several(declared: bytes, parts: list[bytes], used: bytes | None, closed: bool) -> bytes:
    boundary = declared if used is None else used
    body = b"".join(b"--" + boundary + b"\n" + part + b"\n" for part in parts) + (b"--" + boundary + b"--\n") * closed
    return _entity([b'Content-Type: multipart/mixed; boundary="' + declared + b'"'], b"\n", body)


def _within(entities: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    boundaries = st.sampled_from([b"b", b"b b", b"bb", b"c"])
    several = st.builds(
        _several, boundaries, st.lists(entities, max_size=3), st.none() | st.none() | boundaries, st.booleans()
    )
    return several | entities.map(lambda entity: _entity([b"Content-Type: message/rfc822"], b"\n", entity))


_lines = st.lists(st.sampled_from(_WORDS) | st.sampled_from(_NASTY) | st.binary(max_size=12), max_size=4).map(b" ".join)
_fields = st.lists(st.builds(lambda name, value: name + b": " + value, st.sampled_from(_NAMES), _lines), max_size=3)
_texts = st.builds(lambda lines, end: end.join(lines), st.lists(_lines, max_size=5), st.sampled_from(_ENDS))
_kinds = st.sampled_from(_TEXTS) | st.sampled_from(_FILES)
_leaves = st.builds(_leaf, _kinds, st.sampled_from(_TRANSFERS), _fields, _texts, st.sampled_from(_ENDS[:3]))


def mails() -> st.SearchStrategy[bytes]:
    """Return a strategy for MIME messages with errors."""
    entities = st.recursive(_leaves, _within, max_leaves=6)
    return st.builds(lambda fields, entity: b"\n".join([*fields, entity]), _fields, entities)


def mutated(data: bytes, random: Random) -> bytes:
    """Return a message with a few mutations: bytes deleted, duplicated, reversed, inserted, or truncated."""
    for _ in range(random.randint(1, 5)):
        begin = random.randrange(len(data) + 1)
        end = begin + random.choice((0, 1, 3, 20, 200))
        stretch = data[begin:end]
        nasty, line_end = random.choice(_NASTY), random.choice(_ENDS)
        instead = random.choice((b"", stretch * 2, stretch[::-1], nasty, line_end, random.randbytes(3)))
        data = data[:begin] + instead + (data[end:] if random.random() < 0.9 else b"")
    return data

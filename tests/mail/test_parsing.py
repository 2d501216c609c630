"""Parsing of messages: header fields, MIME parts, encodings, attachments."""

from __future__ import annotations

from base64 import b64encode

import pytest

from tests.mail.hostile import html
from tests.mail.samples import pieces


def found(raw: bytes, kind: str, name: str | None = None) -> list[str]:
    return [text for this, called, text in pieces(raw) if this == kind and name in (None, called)]


def subject(value: bytes) -> list[str]:
    return found(b"Subject: " + value + b"\n\nx", "header", "subject")


def plain(raw: bytes) -> list[str]:
    return found(raw, "text", "plain")


def trouble(raw: bytes) -> list[str]:
    return [name for kind, name, _ in pieces(raw) if kind == "trouble"]


def test_a_message_is_a_list_of_pieces():
    raw = b"Subject: hi\nContent-Type: text/html; charset=utf-8\n\n<a href='http://example.com/'>here</a><!-- there -->"
    assert pieces(raw) == [
        ("header", "subject", "hi"),
        ("header", "content-type", "text/html; charset=utf-8"),
        ("part", "text/html", "charset=utf-8"),
        ("text", "html", "here"),
        ("hidden", "comment", "there"),
        ("link", "", "http://example.com/"),
        ("tag", "a", ""),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"=?iso-8859-1?Q?caf=E9_au?= =?iso-8859-1?q?_lait?=", "café au lait"),
        (b"=?utf-8?B?w6k=?= plain =?utf-8?B?w6k=?=", "é plain é"),
        (b"=?utf-8?Q?=C3?=\n =?utf-8?Q?=A9?=", "é"),  # one character in two encoded words
        (b"=?utf-8?Q?=C3?=\r\n\t=?utf-8?Q?=A9?= x", "é x"),
        (b"a =?utf-8?Q?b?= c", "a b c"),
        (b"a=?utf-8?Q?b?=c", "abc"),
        (b"=?utf-8*en?Q?b?=", "b"),
        (b"=?utf-8?Q?unclosed", "=?utf-8?Q?unclosed"),
        (b"=?=?utf-8?q?x?=", "=?x"),
        (b"=?utf-8?x?y?=", "=?utf-8?x?y?="),
        (b"caf\xe9", "café"),
        (b"caf\xc3\xa9", "café"),
        (b"  folded\n   more  \n\tand more ", "folded more  and more"),
        (b"=?utf-16?B?//5hAGIA?=", "ab"),
        (b"=?windows-1252?Q?=80?=", "€"),
        (b"=?iso-8859-15?Q?=A4?=", "€"),
        (b"", ""),
    ],
)
def test_encoded_words_are_decoded(value, text):
    assert subject(value) == [text]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_a_header_ends_at_a_blank_line_or_before_a_line_that_is_not_a_field(newline):
    def read(raw: bytes) -> tuple[list[tuple[str, str]], list[str]]:
        raw = raw.replace(b"\n", newline)
        text = [each.replace(newline.decode(), "\n") for each in plain(raw)]
        return [(name, value) for kind, name, value in pieces(raw) if kind == "header"], text

    assert read(b"A: 1\nb : 2\n\nbody") == ([("a", "1"), ("b", "2")], ["body"])
    assert read(b"From me Thu\nA: 1\n>From x y\nB: 2\n\nbody") == ([("a", "1"), ("b", "2")], ["body"])
    assert read(b"A: 1\nno colon here\nB: 2") == ([("a", "1")], ["no colon here\nB: 2"])
    assert read(b": x\n\nbody") == ([], ["body"])
    assert read(b"\nA: 1") == ([], ["A: 1"])


MIXED = b"""Content-Type: multipart/mixed; boundary="b:1"

preamble
--b:1
Content-Type: text/plain
X: y

one
--b:1
Content-Type: multipart/alternative; boundary=c

--c

two
--c--
epilogue
--b:1
Content-Type: image/gif; name="=?utf-8?Q?=C3=A9.gif?="
Content-Transfer-Encoding: base64

AAAA
--b:1
Content-Type: message/rfc822

Subject: in

three
--b:1--
end"""


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_multiparts_are_split(newline):
    raw = MIXED.replace(b"\n", newline)
    assert plain(raw) == ["one", "two", "three"]
    assert found(raw, "part", "multipart/mixed") == ["parts=4"]
    assert found(raw, "part", "multipart/alternative") == ["parts=1"]
    assert found(raw, "part", "image/gif") == ["encoding=base64"]
    assert found(raw, "attachment", "image/gif") == ["é.gif"]
    assert found(raw, "header", "part-x") == ["y"]
    assert found(raw, "header", "inner-subject") == ["in"]
    assert found(raw, "hidden") == trouble(raw) == []


def multipart(body: bytes, declared: bytes = b"; boundary=b") -> bytes:
    return b"Content-Type: multipart/mixed" + declared + b"\n\n" + body


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (multipart(b"hello\nworld"), ["hello\nworld"]),
        (multipart(b"hello", b""), ["hello"]),
        (multipart(b"--b\n\nhello"), ["hello"]),
        (multipart(b"--b--\n--b\n\nafter the end\n"), ["after the end\n"]),
        (multipart(b"--b--\nafter the end\n"), ["--b--\nafter the end\n"]),
        (
            multipart(b"--b\n" + multipart(b"--c--\ninner\n", b"; boundary=c") + b"--b\n\nouter\n--b--\n"),
            ["--c--\ninner", "outer"],
        ),
    ],
)
def test_text_of_a_broken_multipart_is_visible(raw, text):
    assert plain(raw) == text
    assert trouble(raw) == ["boundary"]


def test_a_part_after_the_end_of_a_multipart_is_decoded():
    coded = b"Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n" + b64encode(b"<b>buy</b> now")
    assert found(multipart(b"--b--\n--b\n" + coded + b"\n--b--\n"), "text", "html") == ["buy now"]


def test_text_outside_of_parts_is_hidden():
    long = b"words that few programs show " * 10
    raw = multipart(long + b"\n--b\n\nseen\n--b--\n" + long.upper())
    assert plain(raw) == ["seen"]
    assert found(raw, "hidden", "outside") == [long.decode(), long.upper().decode()]
    assert [kind for kind, _, _ in pieces(raw)][-2:] == ["hidden", "hidden"]  # after all visible text
    usual = b"This is a multi-part message in MIME format.\n"
    assert found(multipart(usual + b"--b\n\nseen\n--b--\n"), "hidden") == []
    inner = multipart(b"--c\n\none\n--c--\n" + long + b"\n", b"; boundary=c")
    nested = multipart(b"--b\n" + inner + b"--b\n\ntwo\n--b--")
    assert (plain(nested), found(nested, "hidden", "outside")) == (["one", "two"], [long.decode()])


def test_nested_messages_are_parsed():
    digest = b"Content-Type: multipart/digest; boundary=z\n\n--z\n\nSubject: d\n\nhello\n--z--"
    coded = b"Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + b64encode(b"Subject: d\n\nhello")
    for raw in (digest, coded):
        assert (found(raw, "header", "inner-subject"), plain(raw)) == (["d"], ["hello"])


@pytest.mark.parametrize(
    ("how", "body", "text", "problem"),
    [
        (b"quoted-printable", b"a=3Db=\nc=20=  \r\nd", "a=bc d", []),
        (b"quoted-printable", b"=zz=E2=82=AC=", "=zz€", ["quoted-printable"]),
        (b"BASE64", b"aGVs\nbG8=\n\n", "hello", []),
        (b" base64 ", b"aGVsbG8", "hello", []),
        (b"base64", b"aG*Vs\nbG8", "hello", ["base64"]),
        (b"base64", b"aGVsbG8=\naGVsbG8=", "hello", ["base64"]),
        (b"8bit", b"caf\xe9", "café", []),
        (b"x-unknown", b"=3D", "=3D", []),
    ],
)
def test_transfer_encodings_are_decoded(how, body, text, problem):
    raw = b"Content-Transfer-Encoding: " + how + b"\n\n" + body
    assert plain(raw) == [text]
    assert trouble(raw) == problem


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (b"Content-Type: application/x; name=a.txt", "a.txt"),
        (b'Content-Type: application/x; name="a b; c.txt"', "a b; c.txt"),
        (b"Content-Type: application/x; name*=utf-8''%c3%a9.txt", "é.txt"),
        (b"Content-Type: application/x; name*0*=iso-8859-1'en'%e9; name*1=\".txt\"", "é.txt"),
        (b'Content-Type: application/x;\n name*1="b.txt";\n name*0="a"', "ab.txt"),
        (b"Content-Disposition: attachment; filename==?utf-8?q?=C3=A9?=\nContent-Type: application/x", "é"),
        (b"Content-Type: application/x; name=a\nContent-Disposition: attachment; filename=b", "b"),
        (b"Content-Type: application/x", ""),
    ],
)
def test_attachments_have_names(fields, name):
    assert found(fields + b"\n\nAAAA", "attachment", "application/x") == [name]


def test_links_and_uuencoded_files_are_found_in_plain_text():
    raw = b"A: b\n\nhi\nbegin 644 x.gif\n#86)C\n`\nend\nthere http://a.example/c, (www.x.example) awww.no HTTPS://Q.example/s."
    rest = "there http://a.example/c, (www.x.example) awww.no HTTPS://Q.example/s."
    assert plain(raw) == ["hi\n", rest]
    assert found(raw, "attachment", "uuencode") == ["x.gif"]
    assert found(raw, "link") == ["http://a.example/c", "www.x.example", "HTTPS://Q.example/s"]
    assert found(b"A: b\n\nhttps:// www. http://", "link") == []


def test_undeclared_html_is_detected():
    assert found(b"X: y\n\n<p>foo <html>bar</html>", "text", "html") == ["foo\nbar"]
    assert found(multipart(b" <HTML>hello"), "text", "html") == ["hello"]
    assert plain(b"Content-Type: text/plain\n\n<html>x") == ["<html>x"]


def test_links_images_and_styles_are_found():
    raw = html(
        b"<A HREF='http://x.example/?a=1&amp;b=2&copy=3'>l</A><form action=/go METHOD=Post><img src=cid:1>"
        b"<iframe src=i><area href=ar><font color=#FF0000 size=5 class=q>t<font size=5 color=#FF0000>"
    )
    assert found(raw, "link") == ["http://x.example/?a=1&b=2&copy=3", "/go", "i", "ar"]
    assert found(raw, "image") == ["cid:1"]
    assert found(raw, "tag", "font") == ["color=#ff0000 size=5"]
    assert found(raw, "tag", "form") == ["method=post"]
    assert found(html(b"<title>T &amp; t</title>body"), "text", "title") == ["T & t"]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"\xe9 \x80", "é €"),
        (b"Via\0gra", "Viagra"),
        (b"\xef\xbb\xbfmark", "mark"),
        (b"half \xc3\xa9\xc3", "half é"),
    ],
)
def test_a_missing_charset_is_guessed(raw, text):
    assert plain(b"Content-Type: text/plain; charset=us-ascii\n\n" + raw) == [text]

"""Feature extraction of messages in any charset, compared with Python's parser."""

from __future__ import annotations

import encodings
import re
import subprocess
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from email import message_from_bytes
from email.header import decode_header
from email.message import Message as ParsedMessage
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

from suffice.demo import mailbox as demo
from suffice.mail.features import available_cores, decode_charset, decode_subject, extract_features
from suffice.mail.mailboxes import Message
from suffice.mail.mailboxes.streams import read_messages
from tests.mail.samples import pieces
from tests.references.data import unpacked

#: Sample text of each charset.
SAID = {
    "koi8-r": "Срочно: выгодное предложение",
    "koi8-u": "Ласкаво просимо, їжак",
    "windows-1251": "Срочно: выгодное предложение",
    "iso-8859-5": "Срочно: выгодное предложение",
    "cp866": "Срочно: выгодное предложение",
    "iso-8859-2": "Zażółć gęślą jaźń",
    "windows-1250": "Zażółć gęślą jaźń",
    "iso-8859-7": "Καλημέρα κόσμε",
    "iso-8859-9": "Güneşli İstanbul ığdır",
    "windows-1254": "Güneşli İstanbul ığdır",
    "iso-8859-8": "שלום עולם",
    "windows-1256": "مرحبا بالعالم",
    "gb2312": "免费发票优惠",
    "gbk": "免費發票優惠",
    "gb18030": "免费发票优惠",
    "hz-gb-2312": "免费发票优惠",
    "big5": "免費發票優惠",
    "iso-2022-jp": "無料で登録できます",
    "shift_jis": "無料で登録できます",
    "euc-jp": "無料で登録できます",
    "euc-kr": "무료 광고 메일",
    "ks_c_5601-1987": "무료 광고 메일",
    "iso-2022-kr": "무료 광고 메일",
    "tis-620": "สวัสดีครับ",
    "utf-7": "Grüße & привет",
    "utf-16": "Grüße, привет 𠮷",
    "utf-16le": "Grüße, привет 𠮷",
    "utf-16be": "Grüße, привет 𠮷",
    "utf-32": "Grüße, привет 𠮷",
    "iso-8859-1": "Grüße, señor",
    "iso-8859-15": "Grüße für 5 €",
    "windows-1252": "“Grüße” für 5 €",
    "utf-8": "Grüße, привет 你好",
}
each_charset = pytest.mark.parametrize("charset", SAID)


def tokens(raw: bytes, tag: str = "") -> list[str]:
    """Return the tokens of a message with a tag; those of its text without one."""
    found = extract_features([raw]).tokens(0)
    return [token for token in found if (token.startswith(tag) if tag else ":" not in token)]


def texted(kind: str, charset: str, text: str) -> bytes:
    head = f"Content-Type: {kind}; charset={charset}\nContent-Transfer-Encoding: base64\n\n"
    return head.encode() + b64encode(text.encode(charset))


@each_charset
def test_a_charset_makes_no_difference(charset):
    text = SAID[charset]
    assert tokens(texted("text/plain", charset, text)) == tokens(texted("text/plain", "utf-8", text)) != []


@each_charset
def test_a_charset_makes_no_difference_in_html(charset):
    page = f"<p>{SAID[charset]}</p>"
    assert tokens(texted("text/html", charset, page)) == tokens(texted("text/plain", "utf-8", SAID[charset])) != []


@each_charset
def test_a_charset_makes_no_difference_in_fields_and_file_names(charset):
    text = SAID[charset]
    word = f"=?{charset}?b?{b64encode(text.encode(charset)).decode()}?="
    plain = tokens(f"Subject: {text}\n\n".encode(), "subject:")
    assert tokens(f"Subject: {word}\n\n".encode(), "subject:") == plain != []
    for name in (f'name="{word}"', f"name*={charset}''{quote(text.encode(charset))}"):
        found = tokens(f"Content-Type: application/x; {name}\n\n".encode(), "attachment:")
        assert found == ["attachment:application/x", *(each.replace("subject:", "attachment:") for each in plain)]


@pytest.mark.parametrize("charset", ["gb2312", "koi8-r", "shift_jis", "euc-kr"])
def test_the_charset_declared_in_html_is_used(charset):
    page = f'<meta http-equiv=content-type content="text/html; charset={charset}"><p>{SAID[charset]}'.encode(charset)
    assert tokens(b"Content-Type: text/html\n\n" + page) == tokens(texted("text/plain", charset, SAID[charset]))


def test_unknown_charsets_are_guessed():
    for charset in ("x-nosuch", "zlib", "rot13", "idna", "unicode_escape", "punycode", "hex", "undefined", "mbcs"):
        assert decode_charset(b"78da", charset) is None
        raw = f"Content-Type: text/plain; charset={charset}\n\n".encode()
        assert tokens(raw + "Grüße \\x41".encode()) == tokens(raw + "Grüße \\x41".encode("cp1252")) == ["Grüße", "x41"]


@pytest.mark.parametrize("name", ["koi8r", "KOI8--R", "koi8_r"])
def test_separators_in_charset_names_are_ignored(name):
    text = "привет дорогой друг"
    raw = f"Content-Type: text/plain; charset={name}\n\n".encode() + text.encode("koi8-r")
    assert {"привет", "дорогой"} <= set(extract_features([raw]).tokens(0))
    assert decode_charset(text.encode("koi8-r"), name) == text


def test_several_decoded_pieces_keep_their_order():
    raw = b"Subject: a =?koi8-r?b?8NLJ18XU?= b =?gb2312?b?xOO6ww==?= c\n\n"
    found = tokens(raw, "subject:")
    assert found == [f"subject:{word}" for word in ("a", "Привет", "b", "你", "你好", "c")]


@pytest.mark.parametrize("charset", ["koi8-r", "gb2312", "iso-2022-jp"])
def test_an_encoded_subject_is_decoded(charset):
    word = b64encode(SAID[charset].encode(charset)).decode()
    assert decode_subject(f"Subject: =?{charset}?b?{word}?=\n\n".encode()) == SAID[charset]


def test_unknown_charset_names_are_not_cached():
    before = len(encodings._cache)  # type: ignore[attr-defined]  # noqa: SLF001
    extract_features([b"Subject: =?x-nosuch%d?q?=E9?=\n\n" % i for i in range(100)])
    assert len(encodings._cache) < before + 50  # type: ignore[attr-defined]  # noqa: SLF001


def test_calls_in_the_wrong_order_do_not_crash():
    program = """
from suffice._native import mail
from suffice.mail.features import extract_features
raw = [b"x"]
packed = [extract_features(raw).packed(0)]
for asked in (
    lambda: extract_features(raw).foreign(0),
    lambda: extract_features(raw).foreigners(),
    lambda: extract_features(raw).finish(1),
    lambda: mail.Letters.unpacked(packed).finish(1),
):
    try:
        asked()
    except (IndexError, ValueError):
        pass
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_batches_have_the_features_of_single_messages():
    raw = [texted("text/plain", charset, text) for charset, text in SAID.items()] * 3
    together = extract_features(raw, threads=available_cores())
    assert [together.tokens(i) for i in range(len(raw))] == [extract_features([each]).tokens(0) for each in raw]


def test_a_message_without_a_subject_has_a_placeholder():
    assert decode_subject(b"From: a\n\nx") == "(no subject)"


def test_a_long_subject_is_cut():
    assert decode_subject(b"Subject: " + b"x" * 1_000_000 + b"\n\n") == "x" * 199 + "…"


OURS = {"", "us-ascii", "utf-8", "iso-8859-1", "windows-1252"}


def guessed(data: bytes, charset: str) -> str:
    data = data.replace(b"\0", b"")
    if charset in ("", "us-ascii", "utf-8"):
        try:
            return data.decode()
        except UnicodeDecodeError:
            pass
    return "".join(bytes([byte]).decode("cp1252", "replace").replace("\ufffd", chr(byte)) for byte in data)


def charset_of(part: ParsedMessage) -> str:
    charset = part.get_param("charset")
    return charset.strip().lower() if isinstance(charset, str) else ""


def leaves(message: ParsedMessage, kind: str) -> Iterator[ParsedMessage]:
    for part in message.walk():
        if not part.is_multipart() and part.get_content_type() == kind:
            yield part


def same_text(raw: bytes, message: ParsedMessage) -> bool:
    """Return whether plain text equals that of Python's parser."""
    found = [text for kind, name, text in pieces(raw) if (kind, name) == ("text", "plain")]
    theirs = [guessed(part.get_payload(decode=True), charset_of(part)) for part in leaves(message, "text/plain")]
    return "".join("".join(found).split()) == "".join("".join(theirs).split())


def same_head(raw: bytes, message: ParsedMessage) -> bool:
    """Return whether header fields equal those of Python's parser."""

    def even(text: str) -> str:
        return re.sub(r"\s+", " ", text).strip()

    found = [(name, even(text)) for kind, name, text in pieces(raw) if kind == "header"]
    theirs = []
    for name, value in message.raw_items():
        text = str(value).encode("ascii", "surrogateescape")
        words = decode_header(str(value)) if b"=?" in text else [(text, None)]
        said = "".join(
            each if isinstance(each, str) else guessed(each, (charset or "").lower()) for each, charset in words
        )
        theirs.append((name.lower(), even(said)))
    return found[: len(theirs)] == theirs


class Page(HTMLParser):
    """All words of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.skipping = "", False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.skipping = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self.skipping = False

    def handle_data(self, data: str) -> None:
        self.text += "" if self.skipping else data


def same_page(raw: bytes, message: ParsedMessage) -> bool:
    """Return whether all letters of HTML are visible or hidden text."""
    said = "".join(
        text
        for kind, name, text in pieces(raw)
        if (kind == "text" and name in ("html", "title")) or (kind == "hidden" and name not in ("comment", "outside"))
    )
    pages = [Page(guessed(part.get_payload(decode=True), charset_of(part))) for part in leaves(message, "text/html")]
    theirs = "".join(page.text for page in pages)
    return Counter(re.sub(r"\s", "", said)) == Counter(re.sub(r"\s", "", theirs))


def agreeing(found: list[bytes]) -> tuple[int, int, int, int]:
    """Return how many messages Python can decode, and in how many text, header and pages are equal."""
    all_, text, head, page = 0, 0, 0, 0
    for raw in found:
        message = message_from_bytes(raw)
        if {charset_of(part) for part in message.walk()} <= OURS:
            all_ += 1
            text += same_text(raw, message)
            head += same_head(raw, message)
            page += same_page(raw, message)
    return all_, text, head, page


def test_the_demo_mail_is_parsed_as_by_python():
    found = [each.data for which in ("ham", "spam", "new") for each in read_messages([demo(which)])]
    all_, text, head, page = agreeing(found)
    assert all_ >= len(found) - 1 > 100
    assert text == head == page == all_


@pytest.mark.slow
def test_real_mail_is_parsed_as_by_python():
    corpus: Path = unpacked("spamassassin")
    folders = [corpus / name for name in ("easy_ham", "easy_ham_2", "hard_ham", "spam", "spam_2")]
    found = [each.data for each in read_messages(folders) if isinstance(each, Message)]
    all_, text, head, page = agreeing(found)
    assert all_ > 0.95 * len(found)
    assert text > 0.99 * all_  # Python reads uuencoded files as text
    assert head > 0.999 * all_
    assert page > 0.99 * all_

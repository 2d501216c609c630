"""Broken, huge and malicious mail is parsed, judged and marked quickly, and its problems are reported."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from time import thread_time

import pytest

from suffice.mail import MailFilter
from suffice.mail.features import decode_subject, extract_features
from suffice.mail.message import format_header_field, identify_message, set_header_field
from suffice.mail.verdict import Verdict
from tests.each import for_each
from tests.mail.hostile import HOSTILE, bad_mail, html, letter, multipart, typed
from tests.mail.samples import pieces

#: Limit of the CPU seconds of one message. It takes a few milliseconds; test machines are slow.
MOST = 1.0
#: Large inputs that are slow for quadratic parsers.
SLOW = {
    **{
        f"html_{i}": html(stretch * (1_000_000 // len(stretch)))
        for i, stretch in enumerate(
            (
                *(b"<b>", b"<div style=color:red>", b"<table>", b"<table><tr><td>", b"<b ", b'<b a="', b"<b a='\""),
                *(
                    b"<!--",
                    b"<!-",
                    b"<!-- -- ",
                    b"</b>",
                    b"<title>",
                    b"<title></titl",
                    b"<script></scrip ",
                    b"&",
                    b"&#",
                ),
                *(
                    b"&nbs",
                    b"<!x>",
                    b"<td></table>",
                    b"<td><b style=color:red></i>",
                    b"<a href='>",
                    b"<li style=color:red>",
                ),
                *(b"<p hidden></p>", b"<img src=x>", b"<x/", b" \n", b"<font color=white>x</font>", b"</table><td>"),
            )
        )
    },
    "html_tags": html(b"".join(b"<x%d>" % i for i in range(130_000))),
    "html_styles": html(b"<b style='" + b"color:red;" * 100_000 + b"'>x"),
    "html_digits": html(b"<b style='font-size:" + b"9" * 1_000_000 + b"'>x"),
    "plain_hosts": letter(b"www." * 250_000),
    "plain_addresses": letter(b"http://" * 140_000),
    "plain_blocks": letter(b"begin 644 x\n" * 80_000),
    "plain_blocks_of_returns": letter(b"begin 644 x\r#86)C\r" * 50_000),
    "plain_one_block": letter(b"begin 644 x\n" + b"#86)C\n" * 150_000),
    "quoted_blanks": typed(b"text/plain", (b"=" + b" " * 1000) * 1000, b"Content-Transfer-Encoding: quoted-printable"),
    "words_never_closed": letter(b"", *[b"S: " + b"=?utf-8?q?a " * 1300] * 990),
    "boundaries_nearly": multipart(b"; boundary=" + b"b" * 60, (b"--" + b"b" * 59 + b"\n") * 16_000),
    "returns": letter(b"x\r" * 500_000).replace(b"\n", b"\r"),
    "unseen": letter("a\u200b".encode() * 250_000),
    "addresses_in_fields": letter(b"", b"To: " + b"a@b.example," * 80_000),
    "dots_in_hosts": letter(b"", b"Received: from " + b"a.b." * 4_000),
    "foreign_stretches": letter(b"", *[b"S: " + b"=?koi8-r?q?=c1?= =?big5?q?=c1?= " * 90] * 500),
}


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailFilter]:
    with MailFilter(Path(tmp_path_factory.mktemp("bad"), "mail.db")) as trained:
        for i in range(30):
            trained.learn(letter(b"cheap pills, buy now %d\n" % i, subject=b"pills"), "spam")
            trained.learn(letter(b"shall we have lunch at noon %d\n" % i, subject=b"lunch"), "ham")
        yield trained


def within_limit(work, *arguments):
    """Return the result of a function; fail if it takes too long."""
    for _ in range(3):  # other work of the process, such as garbage collection, may fall into one round
        before = thread_time()
        result = work(*arguments)
        taken = thread_time() - before
        if taken < MOST:
            break
    assert taken < MOST
    return result


def check(verdict: Verdict) -> None:
    assert math.isfinite(verdict.log_odds)
    assert 0 <= verdict.probability <= 1
    assert verdict.label in ("ham", "unsure", "spam")
    assert sum(verdict.probabilities.values()) == pytest.approx(1)


@for_each("name", HOSTILE)
def test_bad_mail_is_parsed_and_its_problems_reported(name):
    trouble = HOSTILE[name].trouble
    extracted = within_limit(extract_features, [bad_mail(name)])
    problems = extracted.trouble(0)
    assert trouble is None or trouble in [what for what, _ in problems]
    assert all(what and detail for what, detail in problems)
    assert len(dict(problems)) == len(problems)
    if "tokens" not in dict(problems):
        assert [token for token in extracted.tokens(0) if token.startswith("trouble:")] == [
            f"trouble:{what}" for what, _ in problems
        ]
    assert len(extracted.tokens(0)) <= 8192
    assert len(extracted.grams(0)) <= 3500


@for_each("name", HOSTILE)
def test_bad_mail_is_judged_and_marked(mine, name):
    raw = bad_mail(name)
    verdict = within_limit(mine.classify, raw)
    check(verdict)
    assert verdict.trouble == tuple(extract_features([raw]).trouble(0))
    line = format_header_field(verdict)
    assert [what for what, _ in verdict.trouble] == line.partition("trouble=")[2].split(",") * bool(verdict.trouble)
    out = within_limit(set_header_field, raw, line)
    assert out.count(line.encode()) == 1
    assert len(within_limit(identify_message, raw)) == 16
    assert "\0" not in within_limit(decode_subject, raw)


@for_each("name", HOSTILE)
def test_bad_mail_is_explained(mine, name):
    why = mine.explain(bad_mail(name))
    total = math.fsum(each.effect for each in why.contributions) + why.base
    assert total == pytest.approx(why.total, abs=1e-6)
    assert all(why.describe(each).strip() for each in why.shown())


@for_each("name", SLOW)
def test_no_shape_takes_long(mine, name):
    check(within_limit(mine.classify, SLOW[name]))


def test_bad_mail_can_be_learned_and_forgotten(tmp_path):
    small = {name: raw for name in HOSTILE if len(raw := bad_mail(name)) < 200_000 and raw.strip()}
    with MailFilter(tmp_path / "mail.db") as mine:
        for i, raw in enumerate(small.values()):
            mine.learn(raw, ("ham", "spam")[i % 2])
        for raw in small.values():
            check(mine.classify(raw))
            mine.forget(raw)
        assert mine.store().state().messages == [0, 0]
        check(mine.classify(letter(b"hello")))


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("many_parts", "more than 200 parts"),
        ("many_headers", "more than 1000 fields in a head"),
        ("long_subject", "more than 16384 bytes in a header field"),
        ("long_line", "more than 1048576 bytes in the body"),
        ("many_tokens", "more than 8192 tokens"),
        ("deep_multiparts", "more than 20 multiparts and messages in each other"),
    ],
)
def test_an_exceeded_limit_is_described(mine, name, limit):
    assert limit in [detail for _, detail in mine.classify(bad_mail(name)).trouble]


def test_text_before_a_limit_is_used(mine):
    """Spam longer than a limit is still spam."""
    said = letter(b"cheap pills, buy now\n", subject=b"pills")
    assert mine.classify(said).label == "spam"
    assert mine.classify(said + b"x" * 2_000_000).label != "ham"
    assert mine.classify(multipart(b"; boundary=b", b"--b\n\ncheap pills, buy now\n" * 300)).label != "ham"


def test_text_after_invisible_text_is_used():
    """Text before the first part does not displace visible text."""
    many = b" ".join(b"w%x" % i for i in range(20_000))
    found = extract_features([multipart(b"; boundary=b", many + b"\n--b\n\npills\n--b--\n")])
    assert "pills" in found.tokens(0)
    assert "hidden:w1" in found.tokens(0)
    assert [what for what, _ in found.trouble(0)] == ["tokens"]


@for_each("name", HOSTILE)
def test_pieces_are_valid_text(name):
    for kind, called, text in pieces(bad_mail(name)):
        assert "\0" not in called + text
        assert (kind, called, text) == (kind, called.encode().decode(), text.encode().decode())
